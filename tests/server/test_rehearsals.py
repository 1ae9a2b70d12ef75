"""A policy tried out over HTTP: public facts for those who oversee, true data for one custodian.

What a rehearsal finds is in its report and nowhere else: a planted count and planted labels are
looked for in every other file, answer and log line.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.errors import Cancelled, InputError
from discreet.file_names import REHEARSAL_REPORTS
from discreet.server import Settings, create_app, rehearsal_jobs
from discreet.server.service import Service

from ..command import run
from ..conftest import CANARIES
from ..patience import wait_until
from .serving import Served, add_accounts, serving, serving_app

SETTINGS = Settings(calls_per_minute=10**6, lease_seconds=2)
PLANTED = 424_242


@pytest.fixture(scope="module")
def served(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    workspace = tmp_path_factory.mktemp("rehearsals") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


def ended(client: object, begun: dict[str, object]) -> dict[str, object]:
    """A rehearsal once it has ended."""
    seen: dict[str, object] = {}

    def over() -> bool:
        nonlocal seen
        seen = client.get(f"/rehearsals/{begun['id']}").json()  # type: ignore[attr-defined]
        return seen["state"] in ("done", "failed", "cancelled")

    wait_until(over, "the rehearsal to end")
    return seen


def test_a_simulation_is_that_of_the_command(served: Served) -> None:
    """The same object as `discreet policy simulate --json`, a difference included; by wishes too."""
    folder = served.workspace / "deaths-dp"
    wishes = ("--within", "10", "--risk", "5:20", "--tables", "3", "--records", "500000")
    said = run("policy", "simulate", folder, *wishes, "--most", "20", "--json").stdout
    body = {"within": 10, "risk": [["5%", "20%"]], "tables": 3, "records": 500_000, "most": 20}
    with served.client("odo") as auditor, served.client("cas") as cas:
        answer = auditor.post("/datasets/deaths-dp/policies:simulate", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json() == json.loads(said)
        both = cas.post(
            "/datasets/deaths-dp/policies:simulate", json={"most": 5, "against": "deaths"}
        ).json()
        assert any("different kinds" in words for words in both["difference"])
        draft = {"rules": {"max_variables": 1}, "reliable": {}}
        changed = cas.post(
            "/datasets/deaths-dp/policies:simulate", json={"most": 30, "draft": draft}
        ).json()
        assert changed["policy_version"] != answer.json()["policy_version"]
        assert changed["tables_allowed"] < 30
        assert changed["difference"][0].startswith("The second policy refuses")
        risky = cas.post("/datasets/deaths/policies:simulate", json={"most": 1}).json()
        assert risky["risks"]
        german = cas.post(
            "/datasets/deaths-dp/policies:simulate",
            json={"most": 2, "against": "deaths"},
            headers={"Accept-Language": "de"},
        ).json()
        said = " ".join(german["scale"]["sentences"] + german["sentences"] + german["difference"])
        assert "Untergrenze: ε = 0,539" in said
        assert " the " not in said


def test_bad_wishes_and_drafts_get_one_sentence(served: Served) -> None:
    """Nothing is guessed; a draft may read no file that the policy does not name."""
    bad: list[tuple[dict[str, object], str]] = [
        ({"within": -1}, "within"),
        ({"of": "200%"}, "100 %"),
        ({"risk": []}, "risk"),
        ({"risk": [["30%", "20%"]]}, "0.2"),
        ({"against": "nothing"}, "data set"),
        ({"draft": {"title": "x"}}, "title"),
        ({"draft": {"rules": {"max_variables": "many"}}}, "max_variables"),
        ({"draft": {"methods": {"cell-key": {"ptable": "secret/keys.json"}}}}, "files"),
        ({"draft": {"methods": {"cell-key": {"populations": {"file": "../x.csv"}}}}}, "files"),
        ({"draft": {"family": "dp"}}, "budget"),
        ({"draft": {}, "against": "deaths-dp"}, "both"),
        ({"nonsense": 1}, "nonsense"),
    ]
    with served.client("cas") as cas, served.client("odo") as auditor:
        for body, word in bad:
            answer = cas.post("/datasets/deaths/policies:simulate", json=body)
            assert answer.status_code in (400, 404, 422), (body, answer.text)
            assert word in answer.json()["detail"], answer.text
            assert str(served.workspace) not in answer.text
        refused = auditor.post("/datasets/deaths/policies:simulate", json={"draft": {}})
        assert refused.status_code == 403
        for body, word in (
            ({"what": "compare", "methods": ["magic"]}, "magic"),
            ({"what": "compare", "tables": ["nowhere"]}, "nowhere"),
            ({"what": "compare", "draws": 0}, "draws"),
            ({"what": "attack", "attacks": ["magic"]}, "magic"),
            ({"what": "attack", "epsilon": "1"}, "spend no ε"),
            ({"what": "simulate", "of": "0"}, "share"),
            ({"what": "else"}, "what"),
        ):
            answer = cas.post("/datasets/deaths/rehearsals", json=body)
            assert answer.status_code in (400, 422), answer.text
            assert word in answer.json()["detail"], answer.text


@pytest.mark.slow
def test_a_rehearsal_is_its_custodians_alone(served: Served) -> None:
    """Begun, followed, read as JSON and page by who asked; noted; gone when deleted."""
    options = {"tables": ["sex,marital"], "methods": ["laplace"], "epsilons": ["1"], "draws": 5}
    with served.client("cas") as cas, served.client("dora") as dora:
        begun = cas.post("/datasets/deaths-dp/rehearsals", json={"what": "compare", **options})
        assert begun.status_code == 202, begun.text
        assert "no-store" in begun.headers["Cache-Control"]
        assert begun.headers["Location"] == f"/api/v1/rehearsals/{begun.json()['id']}"
        seen = ended(cas, begun.json())
        assert seen["state"] == "done", seen
        address = str(seen["report"]).removeprefix("/api/v1")
        answer = cas.get(address)
        assert "no-store" in answer.headers["Cache-Control"]
        assert "etag" not in answer.headers
        assert answer.json()["rehearsal"] is True
        assert answer.json()["results"][0]["draws"] == 5
        page = cas.get(address, params={"format": "html"})
        assert page.headers["Content-Disposition"].startswith("attachment")
        assert "true data" in page.text
        # another custodian, and the ways that tables of jobs are read, know nothing of it
        for path in (address, f"/rehearsals/{seen['id']}"):
            assert dora.get(path).status_code == 404
        for path in (f"/jobs/{seen['id']}", f"/jobs/{seen['id']}/result"):
            assert cas.get(path).status_code == 404
        assert all(job["id"] != seen["id"] for job in cas.get("/jobs").json()["jobs"])
        # that somebody looked is in the ledger, and under every later table
        entries = cas.get("/datasets/deaths-dp/ledger").json()["entries"]
        looked = [one for one in entries if one["kind"] == "rehearsal"]
        assert [one["who"] for one in looked] == ["cas"]
        table = cas.post("/datasets/deaths-dp/tables", json={"rows": ["sex"], "epsilon": "1"})
        assert "tried on the true records" in table.text
        folder = served.workspace / REHEARSAL_REPORTS
        for path in (folder, *folder.iterdir()):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path.name
        gone = cas.delete(f"/rehearsals/{seen['id']}").json()
        assert gone["report"] is None
        assert cas.get(address).status_code == 404
        assert not list(folder.glob(f"{seen['id']}*"))


@pytest.mark.slow
def test_the_client_rehearses(served: Served, tmp_path: Path) -> None:
    """`simulate` and `rehearse` of a data set on a server; an error is the command's sentence."""
    with dc.connect(served.url, served.tokens["cas"]) as server:
        deaths = server.open("deaths")
        assert deaths.simulate(most=2)["tables_in_all"] == 73
        own = tmp_path / "own.html"
        found = deaths.rehearse("attack", attacks=["same-set"], save=own)
        assert found["attacks"][0]["group"] == "same set"
        assert stat.S_IMODE(own.stat().st_mode) == 0o600
        looked = deaths.rehearse("simulate", most=3)
        assert any("small" in words or "hides" in words for words in looked["custodian_only"])
        with pytest.raises(InputError, match="would take"):
            # two draws of a fit that take longer than a minute allows are said in the report
            deaths.rehearse(
                "compare",
                tables=["region,cause,age"],
                methods=["marginals"],
                epsilons=["1"],
                fitted_draws=1000,
                minutes=1,
            )


@pytest.mark.slow
def test_a_stopped_rehearsal_leaves_nothing(served: Served) -> None:
    """Stopped by the client: its process ends, no file stays."""
    stops = iter([False, False])
    control = Control(cancelled=lambda: next(stops, True))
    with dc.connect(served.url, served.tokens["dora"]) as server, pytest.raises(Cancelled):
        server.open("deaths").rehearse("compare", draws=10_000, control=control)
    with served.client("dora") as dora:
        (begun,) = dora.get("/rehearsals").json()["rehearsals"]
        assert ended(dora, begun)["state"] == "cancelled"
    assert not list((served.workspace / REHEARSAL_REPORTS).glob(f"{begun['id']}*"))


def test_reports_are_deleted_after_a_day(served: Served) -> None:
    """By whoever looks first: a reader, or a worker with nothing to do; left-overs too."""
    service = Service(served.workspace, SETTINGS)
    try:
        job = service.jobs.create(rehearsal_jobs.KIND, {"dataset": "d", "what": "attack"}, user="x")
        job, lease = service.jobs.claim(kind=rehearsal_jobs.KIND) or (job, "")
        assert job.user == "x"
        job = service.jobs.finish(job.id, lease, "{}")
        folder = served.workspace / REHEARSAL_REPORTS
        folder.mkdir(exist_ok=True)
        young, old = folder / f"{job.id}.json", folder / f"{job.id}.html"
        left_over = folder / f"{job.id}.making"
        left_over.mkdir()
        for path in (young, old):
            path.write_text("{}")
        day = time.time() - rehearsal_jobs.KEEP_SECONDS - 1
        os.utime(old, (day, day))
        assert rehearsal_jobs.facts(service, job)["formats"] == ["json"]
        assert not old.exists(), "who reads it finds it gone"
        os.utime(young, (day, day))
        rehearsal_jobs.sweep(service)
        assert not young.exists()
        assert not left_over.exists()
        assert rehearsal_jobs.facts(service, job)["report"] is None
    finally:
        service.close()


@pytest.mark.slow
def test_findings_are_in_the_report_and_nowhere_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A data set whose one cell holds the planted count; found in no file, answer, row or log."""
    caplog.set_level(logging.DEBUG)
    many = PLANTED + 1000
    table = {
        "person": ["canary-person-77", *(f"p{i}" for i in range(1, many))],
        "place": ["here"] * PLANTED + ["there"] * 1000,
        "kind": [("a", "b", "c")[i % 3] for i in range(many)],
    }
    pq.write_table(pa.table(table), tmp_path / "people.parquet")
    workspace = tmp_path / "all"
    folder = workspace / "people"
    dc.init(tmp_path / "people.parquet", folder, Control(), family="cell-key")
    dc.declare(folder)
    tokens = add_accounts(workspace)
    told = []
    app = serving_app(create_app(workspace, SETTINGS))
    with app as url, Served(url, workspace, tokens).client("cas") as cas:
        for body in (
            {"what": "simulate"},
            {"what": "compare", "tables": ["place"], "methods": ["cell-key"], "draws": 3},
            # nobody can guess the time of this: it ends with an error after looking
            {"what": "compare", "tables": ["place"], "methods": ["marginals"], "minutes": 1}
            | {"epsilons": ["1"], "fitted_draws": 1000},
        ):
            begun = cas.post("/datasets/people/rehearsals", json=body).json()
            told.append(str(ended(cas, begun)))
        told += [cas.get(path).text for path in ("/rehearsals", "/audit", "/jobs")]
    out, err = capfd.readouterr()
    told += [caplog.text, out, err]
    assert not [canary for canary in CANARIES if canary in "\n".join(told)]
    reports = list((workspace / REHEARSAL_REPORTS).glob("*.json"))
    assert len(reports) >= 2
    for path in workspace.rglob("*"):
        private = {"versions", "secret", REHEARSAL_REPORTS} & set(path.relative_to(workspace).parts)
        if path.is_file() and not private:
            content = path.read_bytes()
            assert not any(canary.encode() in content for canary in CANARIES), path.name
            assert PLANTED.to_bytes(8, "little") not in content, path.name
