"""Bad input and hostility: one sentence, no 5xx, nothing leaked, others served meanwhile."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.memory.engine import MemoryEngine
from discreet.server import Settings, logs, slow_clients
from discreet.server.limits import Buckets, Slots
from discreet.server.problems import Problem
from discreet.server.requests import read_json

from ..patience import wait_until
from .serving import Served, add_accounts, serving

TABLES = "/datasets/deaths/tables"
DP = "/datasets/deaths-dp/tables"


def post(served: Served, path: str, body: bytes, **headers: str) -> httpx.Response:
    with served.client("ana") as ana:
        return ana.post(path, content=body, headers={"Content-Type": "application/json"} | headers)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 422, "missing"),
        (b"{", 400, "not JSON"),
        (b"[]", 422, ""),
        (b"null", 422, ""),
        (b"\xff\xfe", 400, "UTF-8"),
        (b'{"rows": ["region"], "epsilon": NaN}', 400, "NaN"),
        (b'{"rows": ["region"], "epsilon": Infinity}', 400, "Infinity"),
        (b'{"rows": ["region"], "epsilon": 1e400}', 422, "epsilon must be a number written as text"),
        (b'{"rows": ["region"], "epsilon": 0.5}', 422, "epsilon must be a number written as text"),
        (b'{"rows": ["region"], "epsilon": "NaN"}', 422, "epsilon"),
        (b'{"rows": ["region"], "epsilon": "1e400"}', 400, "epsilon must be > 0"),
        (b'{"rows": ["region"], "epsilon": "-1"}', 400, "epsilon must be > 0"),
        (b'{"rows": ["region"], "epsilon": "0"}', 400, "epsilon must be > 0"),
        (b'{"rows": ["region"], "rows": ["sex"]}', 400, "twice"),
        (b'{"rows": ["\\ud800"]}', 400, "UTF-8"),
        (b'{"rows": ["region"], "colour": "red"}', 422, "'colour' is not known here"),
        (b'{"rows": ["regoin"]}', 400, "Did you mean region?"),
        (b'{"rows": ["mean(age)"]}', 400, "counts only"),
        (b'{"rows": ["region", "area:ccg"]}', 400, "used twice"),
        (b'{"rows": ["region\\u0000"]}', 400, "is no variable"),
        (b'{"rows": ["region; DROP TABLE records"]}', 400, "is no variable"),
        (b'{"rows": ["<script>alert(1)</script>"]}', 400, "is no variable"),
        (b'{"where": {"sex": ["\' OR 1=1 --"]}, "rows": ["sex"]}', 400, "is no category"),
        (b'{"where": {"sex": []}, "rows": ["sex"]}', 400, "names no category"),
        (b'{"tables": []}', 400, "at least one table"),
        (b'{"rows": ["region"], "totals": 7}', 422, "totals"),
        (b'{"rows": ["region"], "max_perturbation": ' + b"9" * 5000 + b"}", 400, "too long"),
        (b"[" * 500_000, 400, "nested"),
        (b'{"rows":' * 40 + b"1" + b"}" * 40, 400, "nested 40 deep"),
        (b'{"rows": ["' + b"a" * 10_000 + b'"]}', 422, "rows"),
        (b'{"rows": ["region"], "method": "noize"}', 400, "Did you mean noise?"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_bad_bodies_get_one_sentence(served: Served, body: bytes, status: int, words: str):
    """What cannot be read is refused with what is wrong; nothing of ours shows."""
    for path in (DP, f"{DP}:check"):
        answer = post(served, path, body)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert words in answer.json()["detail"]
        assert len(answer.json()["detail"]) < 600
        for leak in ("Traceback", "sqlite", "SELECT", str(served.workspace), "site-packages"):
            assert leak not in answer.text


def test_nothing_is_charged_for_what_is_refused(served: Served):
    """All of the above left the ledger without a charge."""
    with served.client("odo") as odo:
        entries = odo.get("/datasets/deaths-dp/ledger").json()["entries"]
    assert not [entry for entry in entries if entry["kind"] == "charge"]


def test_other_media_types_and_methods(served: Served):
    """Forms and unknown methods are refused as problems."""
    with served.client("ana") as ana:
        assert ana.post(TABLES, data={"rows": "sex"}).status_code == 415
        assert (
            ana.post(TABLES, content=b"<x/>", headers={"Content-Type": "text/xml"}).status_code
            == 415
        )
        assert ana.patch(TABLES, json={}).status_code == 405
        assert ana.get("/nowhere").status_code == 404
        for path in ("/datasets/..%2F..%2Fetc%2Fpasswd", "/datasets/%00", "/jobs/%2e%2e"):
            answer = ana.get(path)
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(served: Served):
    """A declared length past the limit is refused at once; an undeclared one when it is passed."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as wire:
        wire.sendall(
            b"POST /api/v1/datasets/deaths/tables HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n{"
        )
        assert wire.recv(100).startswith(b"HTTP/1.1 413")
    with socket.create_connection((host, int(port)), timeout=300) as wire:
        wire.sendall(
            b"POST /api/v1/datasets/deaths/tables HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(OSError):  # the server may have hung up
            for _ in range(40):
                wire.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        wire.settimeout(300)
        assert b"413" in wire.recv(100)


SLOW_BODY = (
    b"POST /api/v1/datasets/deaths/tables HTTP/1.1\r\nHost: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)
SLOW_HEAD = b"GET /api/v1/config HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@contextlib.contextmanager
def dripping(url: str, *beginnings: bytes) -> Iterator[list[socket.socket]]:
    """Clients that begin like this and then send nothing more."""
    host, port = url.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        wires = []
        for beginning in beginnings:
            wire = socket.create_connection((host, int(port)), timeout=300)
            wires.append(stack.enter_context(wire))
            wire.sendall(beginning)
        yield wires


def test_clients_that_drip_do_not_hold_up_others(served: Served):
    """While 50 send their body by drops, 50 their head and 50 nothing, another is answered."""
    drips = [*[SLOW_BODY] * 50, *[SLOW_HEAD] * 50, *[b""] * 50]
    with dripping(served.url, *drips), served.client("ana") as ana:
        for _ in range(5):
            assert ana.post(TABLES, json={"rows": ["sex"]}).status_code == 200


def test_bodies_that_drip_are_let_go(served: Served):
    """Clients that send their body by drops get 408."""
    quick = Settings(public=("deaths",), calls_per_minute=10**6, body_seconds=1)
    with serving(served.workspace, quick) as url, dripping(url, *[SLOW_BODY] * 50) as wires:
        for wire in wires:
            assert wire.recv(100).startswith(b"HTTP/1.1 408")


def test_giant_tables_are_refused_by_their_size(served: Served, monkeypatch):
    """A billion cells: refused from the dictionary, before the engine is asked to count."""
    counted: list[object] = []
    count = MemoryEngine.count
    monkeypatch.setattr(
        MemoryEngine, "count", lambda *words, **more: counted.append(words) or count(*words, **more)
    )
    giant = {"rows": ["ccg", "cause", "age"], "columns": ["sex", "month", "marital"]}
    with served.client("ana") as ana:
        for path in (TABLES, f"{TABLES}:check"):
            assert ana.post(path, json=giant).status_code in (200, 403)
        many = {"tables": [{"rows": ["sex"]}] * 1001}
        assert ana.post(TABLES, json=many).status_code == 422
        assert not counted
        assert ana.post(TABLES, json={"rows": ["sex", "month"]}).status_code == 200
        assert counted  # the watch works


def test_headers_have_limits(served: Served):
    """Too many or too long headers, or an endless address, are refused."""
    with served.client("ana") as ana:
        assert ana.get("/config", headers={"X-Long": "x" * 20_000}).status_code in (400, 431)
        assert ana.get("/config", headers={f"X-{i}": "x" for i in range(150)}).status_code == 431
        assert ana.get("/datasets", params={"query": "x" * 9000}).status_code == 413


@pytest.mark.slow
def test_answers_carry_security_headers_and_no_foreign_address(served: Served):
    """Every page and answer: strict content policy, nosniff, no framing; nothing from elsewhere."""
    page = httpx.get(f"{served.url}/api/v1/docs")
    script = httpx.get(f"{served.url}/api/v1/docs/docs.js")
    for answer in (page, script, httpx.get(f"{served.url}/api/v1/nowhere")):
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<script>" not in page.text
    paths = httpx.get(f"{served.url}/api/v1/openapi.json").json()["paths"]
    for path in paths:
        assert path in page.text


def test_rate_limits_say_how_long_to_wait(demo: Path, tmp_path: Path):
    """Past the limit: 429 with Retry-After and RateLimit headers; others are not held up."""
    workspace = tmp_path / "demo"
    workspace.mkdir()
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(calls_per_minute=5, logins_per_minute=3)) as url:
        mine = Served(url, workspace, tokens)
        with mine.client("ana") as ana, mine.client("ben") as ben:
            codes = [ana.get("/datasets").status_code for _ in range(7)]
            assert codes == [200] * 5 + [429] * 2
            held = ana.get("/datasets")
            assert int(held.headers["retry-after"]) >= 1
            assert held.headers["ratelimit-policy"] == '"default";q=5;w=60'
            assert ben.get("/datasets").status_code == 200
        wrong = {"name": "ana", "password": "not the right phrase"}
        codes = [httpx.post(f"{url}/api/v1/session", json=wrong).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]


def test_a_bucket_refills_evenly():
    """Sixty a minute: one a second, and never more than a minute's worth."""
    now = [0.0]
    buckets = Buckets(60, clock=lambda: now[0])
    assert all(buckets.take("a").allowed for _ in range(60))
    assert not buckets.take("a").allowed
    assert buckets.take("b").allowed
    now[0] = 1.0
    assert buckets.take("a").allowed
    assert not buckets.take("a").allowed
    now[0] = 10_000.0
    assert sum(buckets.take("a").allowed for _ in range(200)) == 60


def test_slots_refuse_the_one_too_many():
    """One at work, one waiting: the third is told to come back, at once."""
    slots = Slots(1, 1, seconds=300)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with slots.one():
            inside.set()
            leave.wait(300)

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(300)
    wait_until(lambda: slots._places._value == 0, "one to wait")
    with pytest.raises(Problem) as busy, slots.one():
        pass
    assert busy.value.status == 503
    leave.set()
    for thread in threads:
        thread.join()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=100).map(lambda text: json.dumps(text).encode()))
@pytest.mark.slow
def test_any_bytes_are_json_or_a_problem(body: bytes):
    """The strict reader returns a value or raises a problem; never anything else."""
    found = None
    try:
        value = read_json(body)
    except Problem as problem:
        found = problem
    if found is None:
        assert json.loads(body) == value
    else:
        assert found.status == 400


NAMES = st.text(max_size=40) | st.sampled_from(["region", "sex", "ccg", "age", "area:ccg", "cause"])


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "rows": st.lists(NAMES, max_size=4) | NAMES,
            "columns": st.lists(NAMES, max_size=3),
            "where": st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=2),
            "totals": st.booleans() | st.sampled_from(["all", "none"]),
            "epsilon": st.text(max_size=10) | st.floats() | st.sampled_from(["0.0001", "1/3"]),
            "title": st.text(max_size=20),
            "language": st.text(max_size=5),
        },
    )
)
def test_random_recipes_never_break_the_server(served: Served, recipe: dict[str, object]):
    """Whatever a recipe holds, the verdict is 200 or a 4xx problem."""
    with served.client("ana") as ana:
        body = json.dumps(recipe, allow_nan=True).encode()
        for path in (f"{DP}:check", TABLES):
            answer = ana.post(path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code < 500, (recipe, answer.text)


CANARY_COUNT = 42_424


def canary_workspace(folder: Path) -> None:
    """42,424 people in one cell, one of them with a telling id and everybody with a key."""
    import csv as csv_module

    source = folder / "people.csv"
    folder.mkdir(parents=True)
    with source.open("w", newline="") as stream:
        out = csv_module.writer(stream)
        out.writerow(["id", "town", "sex"])
        for i in range(CANARY_COUNT):
            out.writerow([f"CANARYID{i:07d}", "Northam", "F"])
        for i in range(300):
            out.writerow([f"OTHER{i:07d}", ["Southam", "Northam"][i % 2], "M"])
    for name, more in (("keyed", []), ("dp", ["--family", "dp", "--budget", "10"])):
        subprocess.run(
            [
                *(sys.executable, "-m", "discreet", "init", str(source), "--into"),
                *(str(folder / "work" / name), *more),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "discreet", "declare", str(folder / "work" / name), "--all"],
            check=True,
            capture_output=True,
        )
    source.unlink()


@pytest.mark.slow
def test_no_true_count_id_or_key_leaves_at_debug_level(tmp_path: Path):
    """With logs at debug level, errors provoked and jobs run: a planted true count, record ids and
    secrets are in no log, response, error, audit row or kept result."""
    from .serving import Processes

    canary_workspace(tmp_path / "canary")
    workspace = tmp_path / "canary" / "work"
    tokens = add_accounts(workspace)
    log = tmp_path / "log.jsonl"
    server = Processes(workspace, 1, "--log-level", "debug", log=log)
    seen: list[bytes] = []  # everything that left
    said: list[bytes] = []  # what left beside tables
    try:
        server.wait()
        mine = Served(server.url, workspace, tokens)
        with mine.client("ana") as ana, mine.client("cas") as cas, mine.client("odo") as odo:
            calls: list[httpx.Response] = []
            for name, more in (("keyed", {}), ("dp", {"epsilon": "0.1"})):
                path = f"/datasets/{name}/tables"
                for recipe in (
                    {"rows": ["town"], "columns": ["sex"]},
                    {"rows": ["town"], "where": {"sex": ["F"]}},
                    {"rows": ["id"]},
                    {"rows": ["town"], "columns": ["sex"], "epsilon": "1000"},
                    {"rows": ["CANARYID0000001"]},
                ):
                    for format in ("json-stat", "csv"):
                        calls.append(
                            ana.post(path, json={**more, **recipe}, params={"format": format})
                        )
                    calls.append(ana.post(f"{path}:check", json={**more, **recipe}))
                    calls.append(
                        ana.post(path, json={**more, **recipe}, headers={"Prefer": "respond-async"})
                    )
                calls.append(ana.get(f"/datasets/{name}"))
                calls.append(odo.get(f"/datasets/{name}/ledger"))
                calls.append(ana.get(f"/datasets/{name}/register"))
            wait_until(
                lambda: (
                    not {"waiting", "running"}
                    & {job["state"] for job in ana.get("/jobs").json()["jobs"]}
                ),
                "the jobs to end",
            )
            calls.append(ana.get("/jobs"))
            calls.append(odo.get("/audit?most=1000"))
            calls.append(cas.get("/users"))
            assert any(call.status_code == 200 for call in calls)
            assert any(call.status_code >= 400 for call in calls)
            assert all(call.status_code < 500 for call in calls)
            # what was asked for may come back in the sentence that refuses it
            said += [
                call.content
                for call in calls
                if call.status_code != 200 or not call.url.path.endswith("/tables")
            ]
            seen += [
                call.content.replace(b"CANARYID0000001", b"") + str(call.headers).encode()
                for call in calls
            ]
    finally:
        server.close()
    kept = list((workspace / "job-results").iterdir())
    assert kept
    seen += [path.read_bytes() for path in kept]
    text = log.read_bytes()
    assert b'"event": "request"' in text
    seen += [text, (workspace / "audit.sqlite3").read_bytes()]
    said += [text, (workspace / "audit.sqlite3").read_bytes()]
    hidden = [b"CANARYID"]
    for name in ("keyed", "dp"):
        for secret in (workspace / name / "secret").rglob("*"):
            if secret.is_file():
                raw = secret.read_bytes()
                hidden += [raw.strip(), raw.strip().hex().encode()]
    hidden += [token.encode() for token in tokens.values()]
    hidden += [(workspace / "accounts.key").read_bytes()]
    for words in hidden:
        if len(words) >= 4:
            assert not [piece for piece in seen if words in piece], words[:12]
    # a published number may be the true one by chance, so tables are left out of this one
    count = re.compile(rb"(?<![0-9A-Fa-f.])%d(?![0-9A-Fa-f.])" % CANARY_COUNT)
    assert not [piece for piece in said if count.search(piece)]


def test_logs_hold_allowed_fields_only():
    """A library's message with values, or an exception, is reduced to its place and class."""
    line = logs.OneLine()
    values = logging.LogRecord("duckdb", 10, "x.py", 7, "count was %s", (424242,), None)
    assert "424242" not in line.format(values)
    try:
        raise ValueError("true count 424242")
    except ValueError:
        caught = logging.LogRecord("x", 40, "x.py", 7, "failed", None, sys.exc_info())
    assert "424242" not in line.format(caught)
    assert json.loads(line.format(caught))["error"] == "ValueError"
    ours = logging.LogRecord("discreet.server", 20, "x.py", 7, "", None, None)
    ours.fields = {"event": "request", "body": "424242"}
    assert json.loads(line.format(ours))["event"] == "request"
    assert "424242" not in line.format(ours)


@pytest.mark.slow
def test_bandit_finds_nothing_medium_or_above():
    """The static checker has nothing to say; where a line is excused, it says which finding and why."""
    root = Path(__file__).parent.parent.parent / "src"
    done = subprocess.run(
        [sys.executable, "-m", "bandit", "-q", "-ll", "-f", "json", "-r", str(root)],
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    assert not report["errors"]
    assert not [f"{one['filename']}:{one['line_number']}" for one in report["results"]]
    excused = [
        line
        for path in root.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "nosec" in line
    ]
    kinds = sorted(line.partition("# nosec ")[2] for line in excused)
    assert kinds == ["B305", "B314", *["B608"] * 4]


def test_heads_that_drip_are_let_go(served: Served, monkeypatch):
    """Clients that never end their headers, never begin, or drip the second time lose the connection."""
    with dripping(served.url, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as (wire,):
        assert wire.recv(4000).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(slow_clients, "HEAD_SECONDS", 1.0)
        wire.sendall(b"GET /health HTTP/1.1\r\n")  # and the next one drips
        assert wire.recv(100) == b""
    with dripping(served.url, *[SLOW_HEAD] * 30, *[b""] * 30) as wires:
        for wire in wires:
            assert wire.recv(100) == b""


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /api/v1/datasets?query=" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00\xff\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem(served: Served, request_bytes: bytes):
    """Whatever cannot be read is answered as every other error is, and the connection ends."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as wire:
        wire.sendall(request_bytes)
        said = b""
        while part := wire.recv(4000):
            said += part
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 4")
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] in (400, 413)


def test_endless_heads_are_cut(served: Served):
    """Headers without an end do not fill the memory: the connection ends after a megabyte or so."""
    host, port = served.url.removeprefix("http://").split(":")
    sent = 0
    with socket.create_connection((host, int(port)), timeout=300) as wire:
        wire.sendall(b"GET /api/v1/config HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            for number in range(40_000):
                wire.sendall(b"X-%d: " % number + b"x" * 8000 + b"\r\n")
                sent += 8000
    assert sent < 40_000 * 8000


@pytest.mark.parametrize(
    "recipe",
    [
        {"rows": ["regoin"]},
        {"rows": ["sex"], "dataset": "deaths-dp"},
        {"rows": ["sex"], "dataset": "nowhere"},
        {"rows": ["sex"], "method": "noise"},
        {"rows": ["sex"], "method": "magic"},
        {"rows": ["sex"], "epsilon": "0.5"},
        {"rows": ["sex"], "epsilon": "1e400"},
        {"rows": ["sex"], "epsilon": "\uff11"},
        {"rows": ["sex", "sex"]},
        {"rows": ["sex"], "where": {"sex": ["X"]}},
        {"rows": ["sex"], "weighted": True},
        {"rows": ["sex"], "share": "0.5"},
        {"tables": []},
    ],
)
def test_one_verdict_everywhere(served: Served, recipe: dict[str, object]):
    """A wrong recipe has one status and sentence: checked, asked, made a job, saved; and a data set
    one may not know of is as one that is not there."""
    with served.client("ana") as ana, served.client() as public:
        for name in ("deaths", "deaths-dp"):
            path = f"/datasets/{name}/tables"
            check = ana.post(f"{path}:check", json=recipe)
            asked = ana.post(path, json=recipe)
            later = ana.post(path, json=recipe, headers={"Prefer": "respond-async"})
            if check.status_code != 200:
                for answer in (asked, later):
                    assert answer.status_code == check.status_code
                    assert answer.json()["detail"] == check.json()["detail"]
        answers = {
            public.post(f"/datasets/{name}/tables{end}", json=recipe).content
            for name in ("deaths-dp", "nowhere")
            for end in ("", ":check")
        }
        assert len({json.loads(answer)["status"] for answer in answers}) == 1


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("user:nobody", "no account 'nobody'"),
        ("user:ANA", "Did you mean ana?"),
        ("user:", "user:NAME or project:NAME"),
        ("dataset", "user:NAME or project:NAME"),
        ("group:x", "user:NAME or project:NAME"),
        ("project:%00", "can be printed"),
        ("project:%20x", "no blanks"),
        ("project:" + "x" * 101, "100 characters"),
    ],
)
def test_shares_are_of_somebody(served: Served, scope: str, words: str):
    """A share for nobody, or of an odd name, is refused and nothing is written."""
    with served.client("cas") as cas, served.client("odo") as odo:
        before = odo.get("/datasets/deaths-dp/ledger").json()["entry_count"]
        body = {"epsilon": "0.5", "reason": "a share"}
        answer = cas.put(f"/datasets/deaths-dp/budgets/{scope}", json=body)
        assert answer.status_code == 400
        assert words in answer.json()["detail"]
        assert odo.get("/datasets/deaths-dp/ledger").json()["entry_count"] == before


def test_shares_fit_into_the_budget(served: Served):
    """More than the whole cannot be shared, and what nobody has cannot be taken away."""
    path = "/datasets/deaths-dp/budgets"
    with served.client("cas") as cas:
        over = cas.put(f"{path}/user:ana", json={"epsilon": "5000", "reason": "much"})
        assert (over.status_code, "more than the whole" in over.text) == (400, True)
        none = cas.put(f"{path}/user:odo", json={"reason": "no longer"})
        assert (none.status_code, "no share" in none.text) == (400, True)
        assert cas.put(f"{path}/project:health", json={"epsilon": "1", "reason": "r"}).is_success
        assert cas.put(f"{path}/project:health", json={"reason": "over"}).is_success


def test_asking_about_changes_nothing(served: Served):
    """HEAD: as GET without the body; it never spends and begins no job."""
    with served.client("ana") as ana, served.client("odo") as odo:
        for path in ("/config", "/datasets/deaths", "/datasets/deaths/tables?rows=sex&format=csv"):
            full, head = ana.get(path), ana.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == full.headers["content-length"]
            assert head.headers.get("etag") == full.headers.get("etag")
        for path in ("/", "/health", "/api/v1/docs", "/build/deaths"):
            assert httpx.head(served.url + path).status_code == 200
        assert ana.head("/datasets/nowhere").status_code == 404
        before = odo.get("/datasets/deaths-dp/ledger").content
        new = "/datasets/deaths-dp/tables?rows=sex&epsilon=0.0321"
        assert ana.head(new).status_code == 403
        assert odo.get("/datasets/deaths-dp/ledger").content == before
        assert ana.get(new).is_success
        assert ana.head(new).is_success
        rows = odo.get("/audit?user=ana&most=3").json()["rows"]
        assert "HEAD" in [row["method"] for row in rows]
