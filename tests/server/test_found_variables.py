"""Before protection only public facts: what was found in the data is nobody's but the custodian's.

Workspaces that differ in one person, with variables that nobody declared: no byte that a reader gets
differs, whichever route is asked by whichever role, but through protected values, keyed hashes
and times. Measurements are replaced by fixed numbers here, so that protected values are the same too.
"""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

import discreet as dc
from discreet import formats, server, workspace
from discreet.methods import registry
from discreet.server import Settings
from discreet.workspace import DataSet

from ..patience import wait_until
from . import custody_rows, drafting
from .custody_rows import WISHES
from .serving import Served, add_accounts, every_route, serving

READERS = (None, "ana", "odo")
"""Without login, an analyst, an auditor: every role but the custodian's."""
WORLDS = ("base", "added", "replaced", "more")

ASKED = {"rows": ["sex"], "columns": ["band"], "epsilon": "0.5"}
BY_SEX = "rows=sex&columns=band&epsilon=0.5"
NAMES = ("disease", "convicted", "ward", "region", "area", "area:region", "age", "age_5", "weight")
"""What `init` made of the columns, in one world or another; some are variables in none."""
CODES = ("flu", "kuru", "zika", "rabies", "asthma,flu,none", "asthma,flu,kuru,none", "yes", "s")
TEXTS = (*NAMES, "kuru", "zika", "flu", "dis", "deseas", "Convict", "reg", "sexx")
QUESTIONS: list[dict[str, Any]] = [
    ASKED,
    *({**ASKED, "rows": ["sex", text]} for text in TEXTS),
    *({**ASKED, "where": {name: ["yes"]}} for name in NAMES),
    *({**ASKED, "where": {"disease": codes}} for codes in CODES),
    {**ASKED, "where": {"band": ["9"]}},
    {**ASKED, "where": {"disease": []}},
    {**ASKED, "weighted": True},
    {**ASKED, "rows": ["sex", "disease"], "columns": ["band", "ward", "convicted", "age"]},
    {"rows": ["sex"], "epsilon": "1"},  # the policy wants band: what would work is offered
    {"rows": ["sex", "disease"], "epsilon": "1"},
    {"workload": "all 2-way", "method": "marginals", "epsilon": "1"},
    {"workload": "all 2-way of sex, disease", "method": "marginals", "epsilon": "1"},
    {"workload": "all 3-way with band", "epsilon": "1"},
    {**ASKED, "epsilon": "999"},
    {**ASKED, "language": "fr"},
]
"""Questions that pass, fail and are refused."""


def people(world: str) -> list[str]:
    """Records of one world; who differs is the only one with his disease, his conviction, his region
    of a ward, his age and no weight."""
    rng = random.Random(3)
    lines = ["id,sex,band,ward,region,disease,convicted,age,weight"]
    for i in range(240):
        ward = rng.randrange(12)
        codes = [rng.choice("fm"), rng.randrange(4), f"w{ward}", "ns"[ward % 2]]
        codes += [
            rng.choice(("asthma", "flu", "none")),
            "no",
            20 + i % 30,
            f"{rng.randint(1, 2)}.5",
        ]
        lines.append(",".join(map(str, [f"p{i}", *codes])))
    if world == "replaced":
        lines[7] = "p6,f,2,w6,s,zika,yes,93,0"
    if world == "added":
        lines.append("p999,f,2,w6,s,kuru,yes,93,0")
    if world == "more":
        lines.append("p999,f,2,w6,n,flu,no,26,1.5")
    return lines


def make(folder: Path, world: str) -> Path:
    """A workspace: in `people` sex and band are declared, in `raw` nothing is."""
    folder.mkdir()
    (folder / "people.csv").write_text("\n".join(people(world)) + "\n")
    for name in ("people", "raw"):
        data = folder / name
        workspace.init(folder / "people.csv", data, family="dp", budget={"epsilon": "50"})
        said = yaml.safe_load((data / "discreet.yaml").read_text())
        said["rules"] |= {"mandatory": ["band"]}
        (data / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    workspace.declare(folder / "people", ["sex", "band"])
    return folder


# -- what readers get --------------------------------------------------------------------------

DATA = "/api/v1/datasets"
ROWS: dict[str, list[tuple[str, Any]]] = {
    "GET /": [("/", None)],
    "GET /health": [("/health", None)],
    "GET /metrics": [("/metrics", None)],
    "GET /ready": [("/ready", None)],
    "GET /login": [("/login?next=/build/people", None)],
    "POST /login": [("/login", {"name": "x"})],
    "POST /logout": [("/logout", {})],
    "POST /look": [("/look", {})],
    "GET /account": [("/account", None)],
    "POST /account/tokens": [("/account/tokens", {"label": "x"})],
    "POST /account/tokens/{token}/end": [("/account/tokens/none/end", {})],
    "GET /assets/{name}": [("/assets/none.css", None)],
    "GET /about": [("/about", None)],
    "GET /search": [("/search", None), *((f"/search?query={text}", None) for text in TEXTS)],
    "GET /build/{dataset}/find": [
        (f"/build/people/find?query={text}&at=rows%3Dsex", None) for text in TEXTS[::2]
    ],
    "GET /build/{dataset}/pick/{level}": [
        (f"/build/people/pick/{text}?{BY_SEX}", None) for text in ("sex", *TEXTS[::3])
    ],
    "GET /build/{dataset}/chosen": [
        ("/build/people/chosen?level=sex&code=f", None),
        *((f"/build/people/chosen?level=disease&code={code}", None) for code in CODES[:3]),
    ],
    "GET /build/{dataset}/compare": [
        ("/build/people/compare?cell=f,0&cell=m,0&at=rows%3Dsex%26columns%3Dband", None)
    ],
    "GET /saved": [("/saved", None)],
    "POST /saved": [("/saved", {"dataset": "people", "at": "rows=disease"})],
    "GET /saved/{saved}": [("/saved/none", None)],
    "POST /saved/{saved}/forget": [("/saved/none/forget", {"csrf": ""})],
    "GET /jobs": [("/jobs/none", None)],
    "GET /jobs/{job}": [("/jobs/none", None)],
    "POST /jobs/{job}/cancel": [("/jobs/none/cancel", {"csrf": ""})],
    "GET /audit": [("/audit?dataset=none", None)],
    "GET /audit/{dataset}": [("/audit/people", None)],
    "GET /audit/{dataset}/export": [("/audit/nowhere/export", None)],
    "GET /data": [("/data", None)],
    "GET /data/{dataset}": [("/data/people", None), ("/data/raw", None)],
    "GET /build/{dataset}/file": [
        (f"/build/people/file?{BY_SEX}&format=csv", None),
        *((f"/build/people/file?rows={text}&format=csv", None) for text in TEXTS[::4]),
    ],
    "POST /build/{dataset}/release": [("/build/people/release", {"at": BY_SEX})],
    "GET /build/{dataset}": [
        ("/build/people", None),
        ("/build/raw", None),
        (f"/build/people?{BY_SEX}", None),
        *((f"/build/people?rows={text}&columns=band", None) for text in TEXTS[::3]),
        *((f"/build/people?{BY_SEX}&where=disease:{code}", None) for code in CODES[:3]),
        ("/build/raw?rows=sex", None),
    ],
    "GET /api/v1/config": [("/api/v1/config", None)],
    "GET /api/v1/docs": [("/api/v1/docs", None)],
    "GET /api/v1/docs/{name}": [("/api/v1/docs/swagger-ui.css", None)],
    "GET /api/v1/datasets": [
        (DATA, None),
        *((f"{DATA}?query={text}", None) for text in TEXTS[::4]),
    ],
    "GET /api/v1/datasets/{dataset}": [(f"{DATA}/people", None), (f"{DATA}/raw", None)],
    "GET /api/v1/datasets/{dataset}/variables": [
        (f"{DATA}/people/variables", None),
        (f"{DATA}/raw/variables", None),
        *((f"{DATA}/people/variables?query={text}", None) for text in TEXTS),
    ],
    "GET /api/v1/datasets/{dataset}/variables/{variable}": [
        *((f"{DATA}/people/variables/{text}", None) for text in ("sex", *TEXTS)),
        (f"{DATA}/raw/variables/disease", None),
    ],
    "GET /api/v1/datasets/{dataset}/codelists/{level}": [
        *((f"{DATA}/people/codelists/{text}", None) for text in ("sex", *TEXTS)),
        (f"{DATA}/raw/codelists/disease", None),
        (f"{DATA}/people/codelists/sex?query=kuru&parent=flu&limit=1&offset=1", None),
    ],
    "GET /api/v1/search": [
        *((f"/api/v1/search?query={text}", None) for text in TEXTS),
        *((f"/api/v1/search?query={code}&dataset=people", None) for code in CODES[:3]),
        ("/api/v1/search?query=kuruu", None),
    ],
    "POST /api/v1/datasets/{dataset}/tables:check": [
        *((f"{DATA}/people/tables:check", question) for question in QUESTIONS),
        *((f"{DATA}/people/tables:check?free=true", question) for question in QUESTIONS[::4]),
        *((f"{DATA}/raw/tables:check", question) for question in QUESTIONS[:8]),
        (f"{DATA}/people/tables:check?ladder=true", ASKED),
    ],
    "POST /api/v1/datasets/{dataset}/tables:options": [
        *((f"{DATA}/people/tables:options", question) for question in QUESTIONS[::2]),
        (f"{DATA}/raw/tables:options", ASKED),
    ],
    "POST /api/v1/datasets/{dataset}/tables:infer": [
        (f"{DATA}/people/tables:infer", {"recipe": question, "question": "posterior"})
        for question in QUESTIONS[::4]
    ],
    "POST /api/v1/datasets/{dataset}/tables:difference": [
        (
            f"{DATA}/people/tables:difference",
            {"recipe": question, "a": {"sex": "F"}, "b": {"sex": "M"}},
        )
        for question in QUESTIONS[::4]
    ],
    "POST /api/v1/datasets/{dataset}/tables": [
        *((f"{DATA}/people/tables", question) for question in QUESTIONS[::3]),
        (f"{DATA}/people/tables?free=true", {"rows": ["band"], "epsilon": "0.5"}),
        (f"{DATA}/people/tables?free=true", {"rows": ["disease"], "epsilon": "0.5"}),
        (f"{DATA}/raw/tables", ASKED),
    ],
    "GET /api/v1/datasets/{dataset}/tables": [
        *((f"{DATA}/people/tables?{BY_SEX}&format={name}", None) for name in formats.FORMATS),
        *((f"{DATA}/people/tables?{BY_SEX}&where=disease:{code}", None) for code in CODES[:3]),
    ],
    "GET /api/v1/datasets/{dataset}/tables/metadata": [
        (f"{DATA}/people/tables/metadata?{BY_SEX}", None),
        (f"{DATA}/people/tables/metadata?rows=disease&epsilon=1", None),
    ],
    "GET /api/v1/datasets/{dataset}/questions/{question}": [
        (f"{DATA}/people/questions/{'0' * 64}", None),
        (f"{DATA}/raw/questions/{'f' * 64}", None),
    ],
    "GET /api/v1/datasets/{dataset}/requests": [(f"{DATA}/people/requests", None)],
    "POST /api/v1/datasets/{dataset}/requests": [
        (f"{DATA}/people/requests", {"words": "please", "recipe": question})
        for question in QUESTIONS[:6]
    ],
    "POST /api/v1/datasets/{dataset}/requests/{request_id}/answer": [
        (f"{DATA}/people/requests/none/answer", {"words": "no"})
    ],
    "GET /api/v1/datasets/{dataset}/ledger:verify": [(f"{DATA}/people/ledger:verify", None)],
    "POST /api/v1/session/keep": [("/api/v1/session/keep", None)],
    "GET /api/v1/datasets/{dataset}/budget": [(f"{DATA}/people/budget", None)],
    "GET /api/v1/datasets/{dataset}/register": [(f"{DATA}/people/register", None)],
    "GET /api/v1/datasets/{dataset}/ledger": [(f"{DATA}/people/ledger", None)],
    "GET /api/v1/datasets/{dataset}/policies": [(f"{DATA}/people/policies", None)],
    "PUT /api/v1/datasets/{dataset}/budgets/{scope}": [
        (f"{DATA}/people/budgets/project:x", {"epsilon": "1", "reason": "a share"})
    ],
    "GET /api/v1/jobs": [("/api/v1/jobs", None)],
    "GET /api/v1/jobs/{job}": [("/api/v1/jobs/{job}", None)],
    "DELETE /api/v1/jobs/{job}": [("/api/v1/jobs/{job}", None)],
    "GET /api/v1/jobs/{job}/events": [("/api/v1/jobs/{job}/events", None)],
    "GET /api/v1/jobs/{job}/result": [
        ("/api/v1/jobs/{job}/result", None),
        ("/api/v1/jobs/{job}/result?format=csv", None),
    ],
    "GET /api/v1/saved": [("/api/v1/saved", None)],
    "POST /api/v1/saved": [
        ("/api/v1/saved", {"dataset": "people", "recipe": question}) for question in QUESTIONS[1::4]
    ],
    "GET /api/v1/saved/{saved}": [("/api/v1/saved/{saved}", None)],
    "DELETE /api/v1/saved/{saved}": [("/api/v1/saved/{saved}", None)],
    "GET /api/v1/saved/{saved}/table": [("/api/v1/saved/{saved}/table", None)],
    "GET /api/v1/releases": [("/api/v1/releases", None)],
    "POST /api/v1/releases": [
        ("/api/v1/releases", {"dataset": "people", "recipe": ASKED, "title": "Mine"})
    ],
    "GET /api/v1/releases/{release}": [
        ("/api/v1/releases/{release}", None),
        ("/api/v1/releases/{waiting}", None),
    ],
    "GET /api/v1/releases/{release}/tables": [
        ("/api/v1/releases/{release}/tables?format=" + name, None) for name in formats.FORMATS
    ],
    "GET /api/v1/releases/{release}/documents/{name}": [
        ("/api/v1/releases/{release}/documents/" + name, None)
        for name in ("report.html", "manifest.json", "register.json")
    ],
    "POST /api/v1/releases/{release}/withdraw": [
        ("/api/v1/releases/{release}/withdraw", {"reason": "wrong"})
    ],
    "GET /pxweb/v2/config": [("/pxweb/v2/config", None)],
    "GET /pxweb/v2/tables": [
        ("/pxweb/v2/tables", None),
        *((f"/pxweb/v2/tables?query={text}", None) for text in TEXTS[:4]),
    ],
    "GET /pxweb/v2/tables/{table}": [("/pxweb/v2/tables/{saved}", None)],
    "GET /pxweb/v2/tables/{table}/defaultselection": [
        ("/pxweb/v2/tables/{saved}/defaultselection", None)
    ],
    "GET /pxweb/v2/tables/{table}/metadata": [("/pxweb/v2/tables/{saved}/metadata", None)],
    "GET /pxweb/v2/tables/{table}/data": [
        ("/pxweb/v2/tables/{saved}/data", None),
        ("/pxweb/v2/tables/{saved}/data?valuecodes[disease]=kuru", None),
    ],
    "POST /pxweb/v2/tables/{table}/data": [
        ("/pxweb/v2/tables/{saved}/data", {"selection": []}),
    ],
    "GET /api/v1/session": [("/api/v1/session", None)],
    "POST /api/v1/session": [("/api/v1/session", {"name": "zoe", "password": "not the one"})],
    "DELETE /api/v1/session": [("/api/v1/session", None)],
    "GET /api/v1/tokens": [("/api/v1/tokens", None)],
    "POST /api/v1/tokens": [("/api/v1/tokens", {"label": "more", "scopes": []})],
    "DELETE /api/v1/tokens/{token}": [("/api/v1/tokens/none", None)],
    "GET /api/v1/users": [("/api/v1/users", None)],
    "POST /api/v1/users": [("/api/v1/users", {"name": "zoe", "role": "analyst"})],
    "DELETE /api/v1/users/{user}": [("/api/v1/users/none", None)],
    "GET /api/v1/audit": [
        ("/api/v1/audit?user=ana&dataset=people&most=1000", None),
        ("/api/v1/audit?user=cas&most=1000", None),
        ("/api/v1/audit?group=rule&dataset=people", None),
        ("/api/v1/audit?group=question&dataset=people", None),
    ],
    "GET /api/v1/proposals": [("/api/v1/proposals", None)],
    "POST /api/v1/proposals": [
        ("/api/v1/proposals", {"dataset": "people", "epsilon": "50", "reason": "more"})
    ],
    "GET /api/v1/proposals/{proposal}": [("/api/v1/proposals/none", None)],
    "POST /api/v1/proposals/{proposal}/accept": [("/api/v1/proposals/none/accept", None)],
    "POST /api/v1/proposals/{proposal}/reject": [("/api/v1/proposals/none/reject", None)],
    **custody_rows.READ,
    **custody_rows.REFUSED,
}
"""What is asked of each route; names in braces are filled in from what a custodian made."""

_VOLATILE = {"date", "last-modified", "x-request-id", "ratelimit", "set-cookie", "content-length"}
_PATTERNS = (
    (r"[0-9a-f]{64}", "HASH"),  # questions, ledger entries and files: keyed by the data version
    (r'"[0-9a-f]{40}"', "ETAG"),
    (r'etag: (W/)?"[0-9a-f]{32}"', "ETAG"),  # of a job's file: its time and size
    (r"-[0-9a-f]{8}(?=\.[a-z]+\")|table [0-9a-f]{16}", "table HASH"),
    (r'(token |/saved/|/tokens/|Request |<span>|"id": ?")[0-9a-f]{16}', "ID"),  # drawn by chance
    (r"dct_[0-9a-f]{16}_[\w-]+", "TOKEN"),
    (r"<code>[0-9a-f]{12,16}</code>", "HASH"),  # the beginnings of such hashes
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "TIME"),
    (r"\d{8} \d\d:\d\d", "TIME"),
    (r"\b\d{1,2} [A-Z][a-zä]+ \d{4}(, \d\d:\d\d)?", "TIME"),  # as pages write it
    (r"\b1[789]\d{8}(\.\d+)?\b", "TIME"),  # seconds since 1970
    (r'"milliseconds": ?[\d.]+', "MILLISECONDS"),
    (r'"request": ?"[0-9a-f]{16}"', "REQUEST"),
    (r'"number": ?\d+', "NUMBER"),  # of a row of the audit log: jobs write some in their own time
    (r"127\.0\.0\.1:\d+", "HOST"),
)


@dataclass
class World:
    """A served workspace, and the names of what a custodian made in it."""

    served: Served
    wire: httpx.Client | None
    names: dict[str, str] = field(default_factory=dict)
    question: str = "nothing asked yet"
    """The hash of what all ask, whose first letters are in the names of files and tables."""

    def ask(self, who: str | None, method: str, path: str, body: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.served.tokens[who]}"} if who else {}
        page = not path.startswith(("/api/", "/pxweb/")) and method == "POST"
        sent = {"data" if page else "json": self.filled(body)}
        address = self.served.url + path.format_map(self.names)
        assert self.wire is not None
        return self.wire.request(method, address, headers=headers, **sent)

    def filled(self, body: Any) -> Any:
        """A body with the names of what was made."""
        text = json.dumps(body)
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return json.loads(text)

    def same(self, text: str) -> str:
        """A text without what may differ: names made by chance, keyed hashes, times."""
        for name, value in self.names.items():
            text = text.replace(value, name.upper())
        text = re.sub(rf"{self.question[:8]}[0-9a-f]*", "QUESTION", text, flags=re.IGNORECASE)
        for pattern, word in _PATTERNS:
            text = re.sub(pattern, word, text)
        return text

    def seen(self, answer: httpx.Response) -> tuple[int, str, str]:
        """Status, headers and body as a reader may compare them."""
        headers = [f"{k}: {v}" for k, v in answer.headers.items() if k not in _VOLATILE]
        return answer.status_code, self.same("\n".join(headers)), self.same(read(answer.content))


def read(content: bytes) -> str:
    """Any answer or file as text: packed files part by part."""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            parts = sorted(packed.namelist())
            return "\n".join(f"{part}\n{read(packed.read(part))}" for part in parts)
    if content.startswith(b"PAR1"):
        table = pq.read_table(io.BytesIO(content))
        fields = [(str(column), column.metadata) for column in table.schema]
        return f"{fields}\n{table.schema.metadata}\n{table.to_pydict()}"
    return content.decode("utf-8", "replace")


def prepared(served: Served, wire: httpx.Client) -> World:
    """A world with a release, one that waits, a shared table and a finished job."""
    world = World(served, wire)

    def made(who: str, path: str, body: dict[str, Any], **headers: str) -> str:
        token = {"Authorization": f"Bearer {served.tokens[who]}"}
        answer = wire.post(served.url + path, json=body, headers=token | headers)
        assert answer.is_success, answer.text
        return str(answer.json()["id"])

    with DataSet.open(served.workspace / "people") as data:
        world.names["version"] = data.data_version
    with DataSet.open(served.workspace / "raw") as data:
        world.names["raw_version"] = data.data_version
    release = {"dataset": "people", "recipe": ASKED, "title": "People"}
    later = release | {"recipe": ASKED | {"epsilon": "1"}, "publish_at": "2090-01-01T00:00:00Z"}
    shared = {"dataset": "people", "recipe": ASKED, "shared": True}
    world.names["release"] = made("cas", "/api/v1/releases", release)
    world.names["waiting"] = made("cas", "/api/v1/releases", later)
    world.names["saved"] = made("cas", "/api/v1/saved", shared)
    world.names["job"] = made("ana", f"{DATA}/people/tables", ASKED, Prefer="respond-async")
    assert "event: end" in world.ask("ana", "GET", "/api/v1/jobs/{job}/events", None).text
    published = world.ask("ana", "GET", "/api/v1/releases/{release}", None).json()
    world.question = published["question"]
    world.names |= in_custody(world, made)
    return world


def in_custody(world: World, made: Callable[..., str]) -> dict[str, str]:
    """What custodians hold that nobody else may see: the very records as a draft, a rehearsal on
    them that has ended, a release to approve, a proposal and what somebody asked for."""
    release = {"dataset": "people", "recipe": ASKED | {"epsilon": "2"}, "title": "P", "draft": True}
    proposal = {"dataset": "people", "policy": custody_rows.RULES, "reason": "fewer"}
    query = {"tableId": "{saved}", "language": "en", "selection": {"selection": []}}
    query["selection"]["selection"] = custody_rows.CHOSEN
    with world.served.client("cas") as cas, world.served.client("dora") as dora:
        content = (world.served.workspace / "people.csv").read_bytes()
        draft = drafting.begin(cas, "persons.csv", content)
        assert drafting.send(cas, draft, content).is_success
        found = drafting.until(dora, draft, "open")
        assert "disease" in json.dumps(found["review"])
        begun = dora.post("/datasets/people/rehearsals", json={"what": "simulate", **WISHES})
        assert begun.status_code == 202, begun.text
        rehearsal = begun.json()["id"]
        ends = ("done", "failed")
        wait_until(
            lambda: dora.get(f"/rehearsals/{rehearsal}").json()["state"] in ends, "a rehearsal"
        )
        assert dora.get(f"/rehearsals/{rehearsal}/report").json()["custodian_only"]
        token = dora.get("/users/ana/tokens").json()["tokens"][0]["id"]
    return {
        "draft": draft,
        "rehearsal": rehearsal,
        "token": token,
        "ready": made("cas", "/api/v1/releases", release),
        "proposal": made("cas", "/api/v1/proposals", proposal),
        "request": made("ana", f"{DATA}/people/requests", {"words": "May we?", "recipe": ASKED}),
        "query": made("ana", "/pxweb/v2/savedqueries", world.filled(query)),
    }


Answer = tuple[tuple[str, ...], tuple[int, str, str]]
Answers = Mapping[tuple[str, ...], tuple[int, str, str]]


def answers(world: World) -> Iterator[Answer]:
    """Every answer every reader gets, route by route."""
    for route, rows in ROWS.items():
        method = route.split()[0]
        for path, body in rows:
            for who in READERS:
                said = (route, path, json.dumps(body), str(who))
                yield said, world.seen(world.ask(who, method, path, body))


def differences(expected: Answers, got: Iterable[Answer]) -> Iterator[str]:
    """Which answers differ, and where they begin to."""
    for said, answer in got:
        for one, other in zip(expected[said], answer, strict=True):
            if one != other:
                pairs = enumerate(zip(f"{one}\0", f"{other}\1", strict=False))
                at = next(i for i, (mine, yours) in pairs if mine != yours)
                parts = [str(text)[max(0, at - 60) : at + 60] for text in (one, other)]
                yield f"{' '.join(said)}: {parts[0]!r}, not {parts[1]!r}"
                break


MADE = ("draft", "rehearsal", "ready", "proposal", "request", "token")


def refusals_that_tell(got: Answers) -> list[str]:
    """Where somebody else than a custodian got more than a refusal of a custodian's route, or could
    tell by it what is there from what is not."""
    told = []
    for (route, path, body, who), answer in got.items():
        if route not in custody_rows.REFUSED:
            continue
        if answer[0] != (403 if who != "None" else 401):
            told.append(f"{route} {who}: {answer[0]}")
        unmade = path
        for name in MADE:
            unmade = unmade.replace(f"{{{name}}}", "none")
        if without_names(answer) != without_names(got[route, unmade, body, who]):
            told.append(f"{route} {who}: {path} is not refused as {unmade}")
    return told


def without_names(answer: tuple[int, str, str]) -> str:
    """An answer that no longer says what was asked for."""
    text = "\n".join(map(str, answer))
    for name in MADE:
        text = text.replace(name.upper(), "none")
    return text


@pytest.fixture(scope="module")
def fixed_measurements() -> Iterator[None]:
    """What is measured is the same in every world: all that differs comes by another way."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("noise", "marginals"):
            kind = type(registry.get(name))
            patch.setattr(kind, "measure", _fixed(kind.measure))
        yield


def _fixed(measure: Any) -> Any:
    def fixed(*arguments: Any, **more: Any) -> Any:
        found = measure(*arguments, **more)
        arrays = {
            name: (np.arange(values.size, dtype=np.int64).reshape(values.shape) + 20)
            for name, values in found.arrays.items()
        }
        return replace(found, arrays=arrays)

    return fixed


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("found")
    return {world: make(base / world, world) for world in WORLDS}


def serve(stack: ExitStack, made: Path, folder: Path) -> World:
    """A copy of a workspace, served."""
    shutil.copytree(made, folder)
    settings = Settings(public=("*",), calls_per_minute=10**6, logins_per_minute=10**6)
    tokens = add_accounts(folder)
    served = Served(stack.enter_context(serving(folder, settings)), folder, tokens)
    return prepared(served, stack.enter_context(httpx.Client(timeout=300)))


def published(folder: Path, out: Path) -> dict[str, str]:
    """The files of a release that may be published, in every format, by name."""
    with dc.open(folder / "people") as data:
        version = data._data.data_version
        made = data.table(**ASKED).release()
        made.write(out, formats=list(formats.FORMATS))
        world = World(
            Served("", folder), None, {"version": version}, made.detail.plan.question_hash
        )
    files = sorted(path for path in out.rglob("*") if path.is_file())
    public = [path for path in files if path.name != "report-internal.html"]
    return {
        world.same(str(path.relative_to(out))): world.same(read(path.read_bytes()))
        for path in public
    }


def test_every_route_has_a_row():
    """A new route that no reader asks here fails."""
    assert sorted(ROWS) == every_route()


def test_one_function_of_the_server_reads_what_was_found():
    """Whatever else names a variable takes it from there, or from what is public."""
    modules = Path(server.__file__).parent.rglob("*.py")
    reading = {path.name: path.read_text("utf-8").count(".described") for path in modules}
    assert {name: count for name, count in reading.items() if count} == {"service.py": 1}


@pytest.mark.parametrize(
    "others",
    [pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.proof)],
)
def test_no_reader_sees_a_difference(
    folders: dict[str, Path], tmp_path: Path, fixed_measurements: None, others: int
):
    """Every route, every role but the custodian's: the same bytes with a person more, another
    person, or one more like the others, whatever `init` found of him."""
    with ExitStack() as stack:
        names = WORLDS[: others + 1]
        worlds = {name: serve(stack, folders[name], tmp_path / name) for name in names}
        expected = dict(answers(worlds["base"]))
        for name in names[1:]:
            found = "\n".join(differences(expected, answers(worlds[name])))
            assert not found, f"{name}:\n{found}"
        custodian = worlds["added"]
        lists = custodian.ask("cas", "GET", f"{DATA}/people/codelists/disease", None)
        assert "kuru" in [each["code"] for each in lists.json()["categories"]]
        page = custodian.ask("cas", "GET", "/build/people", None).text
        assert "found in the data, not declared" in page
        assert "disease" in page
        refused = custodian.ask("cas", "POST", f"{DATA}/people/tables:check", QUESTIONS[1]).json()
        assert refused["rule"] == "declared-domain"
    assert refusals_that_tell(expected) == []
    texts = [text for _, _, text in expected.values()]
    assert {status for status, _, _ in expected.values()} >= {200, 400, 401, 403, 404}
    assert not any("asthma" in text.replace("asthma,flu", "") for text in texts)


@pytest.mark.slow
def test_published_files_are_the_same(
    folders: dict[str, Path], tmp_path: Path, fixed_measurements: None
):
    """Tables in every format, report, manifest and register of a release."""
    base = published(folders["base"], tmp_path / "base")
    assert len(base) > len(formats.FORMATS)
    for world in WORLDS[1:]:
        assert published(folders[world], tmp_path / world) == base


@pytest.mark.slow
def test_a_twin_that_tells_is_caught(
    folders: dict[str, Path],
    tmp_path: Path,
    fixed_measurements: None,
    monkeypatch: pytest.MonkeyPatch,
):
    """Were found variables told to everybody, the comparison above would see it on many routes."""
    monkeypatch.setattr(DataSet, "description", property(lambda data: data.described.description))
    telling = (
        "variables",
        "codelists/{level}",
        "tables:check",
        "/build/{dataset} ",
        "/api/v1/datasets ",
    )
    some = {route: rows for route, rows in ROWS.items() if any(t in f"{route} " for t in telling)}
    with ExitStack() as stack:
        one, other = (serve(stack, folders[n], tmp_path / n) for n in ("base", "added"))
        monkeypatch.setitem(globals(), "ROWS", some)
        told = "\n".join(differences(dict(answers(one)), answers(other)))
    assert all(f"{route} " in told for route in some), told
