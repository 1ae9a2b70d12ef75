"""The Python client: the same verbs, numbers, guarantees and errors as on disk, over a real server.

Connections are lost by a proxy between client and server that passes requests on and then closes
without passing the answer back: what is charged then must be charged once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

import discreet as dc
from discreet import formats
from discreet.client import Server
from discreet.client.connection import Connection
from discreet.core.control import Control
from discreet.errors import (
    BudgetExceeded,
    Cancelled,
    EngineError,
    InputError,
    Refusal,
    StoreError,
)
from discreet.formats import reading
from discreet.server import Settings

from .formats.tables import axis, deaths, make
from .server.serving import Processes, Served, add_accounts, serving

SETTINGS = Settings(public=("deaths",), calls_per_minute=10**6, long_cells=5000, lease_seconds=2)


@pytest.fixture(scope="module")
def served(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    workspace = tmp_path_factory.mktemp("client") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


@pytest.fixture
def server(served: Served) -> Iterator[Server]:
    with dc.connect(served.url, served.tokens["ana"]) as found:
        yield found


@pytest.mark.slow
def test_catalogue_is_the_same_as_on_disk(served: Served, server: Server) -> None:
    """Data sets, variables, levels, codes and labels."""
    assert set(server.datasets) == {"deaths", "deaths-dp", "genes"}
    with dc.open(served.workspace / "deaths") as local:
        remote = server.open("deaths")
        assert remote.variables == local.variables
        for name in ("region", "sex", "area:region"):
            assert remote.categories(name) == local.categories(name)
    assert "deaths" in repr(server)
    assert "marital" in repr(server.dataset("deaths"))


@pytest.mark.parametrize(
    "asked",
    [
        {"rows": ["region"], "columns": ["sex"]},
        {"rows": "sex", "layers": "region", "where": {"sex": "F"}, "totals": False},
        {},
    ],
    ids=["two ways", "filtered", "grand total"],
)
def test_a_keyed_table_is_the_same_as_on_disk(
    served: Served, server: Server, asked: dict[str, object]
) -> None:
    """Frame, intervals, guarantee, query and text: equal."""
    with dc.open(served.workspace / "deaths") as disk:
        draft = disk.table(**asked)  # type: ignore[arg-type]
        local = draft.release()
        sent = server.open("deaths").table(**asked)  # type: ignore[arg-type]
        remote = sent.release()
        assert sent.query == remote.query == draft.query
        assert sent.cost == remote.cost == "nothing"
        assert remote.to_pandas().equals(local.to_pandas())
        assert remote.interval("0.95").equals(local.interval("0.95"))
        assert remote.guarantee.sentence() == local.guarantee.sentence()
        assert formats.footnote(remote.protected) == formats.footnote(local.protected)
        assert repr(remote) == repr(local)


def test_files_are_the_servers_own_and_the_same_as_on_disk(
    served: Served, server: Server, tmp_path: Path
) -> None:
    """In every format the bytes that the local API writes, and the same files beside them."""
    (tmp_path / "here").mkdir()
    with dc.open(served.workspace / "deaths") as disk:
        local = disk.table(rows=["region"], columns=["sex"]).release()
        remote = server.open("deaths").table(rows=["region"], columns=["sex"]).release()
        for name, made in formats.FORMATS.items():
            path = remote.write(tmp_path / f"t{made.extension}")
            here = local.write(tmp_path / "here" / f"t{made.extension}")
            assert remote.files == local.files
            for file in remote.files:
                assert (path.parent / file).read_bytes() == (here.parent / file).read_bytes(), name
    with pytest.raises(InputError, match="Cannot write"):
        remote.write(tmp_path / "none" / "t.csv")


def test_a_file_is_replaced_whole_or_stays(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the new name cannot be given, the old file is as it was and no draft is left."""
    table = server.open("deaths").table(rows=["region"], columns=["sex"]).release()
    path = tmp_path / "t.csv"
    path.write_text("the file before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match="Nothing was replaced"):
        table.write(path)
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "the file before"


@pytest.mark.slow
def test_write_makes_a_file_or_a_folder_as_on_disk(
    served: Served, server: Server, tmp_path: Path
) -> None:
    """A path with a known ending, or one format, is a file; anything else a folder with tables."""
    with dc.open(served.workspace / "deaths") as disk:
        local = disk.table(rows=["region"], columns=["sex"]).release()
        remote = server.open("deaths").table(rows=["region"], columns=["sex"]).release()
        for name, table in (("local", local), ("remote", remote)):
            folder = tmp_path / name
            folder.mkdir()
            assert table.write(folder / "t.xlsx").is_file()
            assert table.write(folder / "plain", "px").is_file()
            assert table.write(folder / "out") == folder / "out"
            assert {path.suffix for path in (folder / "out" / "tables").iterdir()} >= {
                ".csv",
                ".xlsx",
            }
            table.write(folder / "some", formats=["parquet"])
            assert {path.suffix for path in (folder / "some" / "tables").iterdir()} == {".parquet"}
            assert "tables" in table.files[0]
            data = disk if name == "local" else server.open("deaths")
            two = data.recipe({"tables": [{"rows": ["sex"]}, {"rows": ["age"]}]}).release()
            with pytest.raises(InputError, match="holds one table"):
                two.write(folder / "two.csv")
        for ending in (".xlsx", ".json"):
            ours, theirs = tmp_path / "local" / f"b{ending}", tmp_path / "remote" / f"b{ending}"
            assert local.write(ours).read_bytes() == remote.write(theirs).read_bytes()


def test_free_answers_as_on_disk(served: Served, server: Server, tmp_path: Path) -> None:
    """What follows from a release is answered at no cost, here and on disk alike; else refused."""
    deaths = server.open("deaths-dp")
    with pytest.raises(dc.Refusal) as no:
        deaths.table(rows=["month"], epsilon="0.5").release(free=True)
    assert no.value.rule == "nothing-released"
    deaths.table(rows=["month"], columns=["sex"], epsilon="0.125").release()
    with dc.connect(served.url, served.tokens["odo"]) as auditor:
        before = auditor.open("deaths-dp").ledger_facts()["spent"]
    free = deaths.table(rows=["month"], epsilon="0.5").release(free=True)
    assert free.cost == "nothing"
    with dc.open(served.workspace / "deaths-dp") as disk:
        local = disk.table(rows=["month"], epsilon="0.5").release(free=True)
        assert free.to_pandas().equals(local.to_pandas())
    assert free.write(tmp_path / "free.csv").is_file()
    with dc.connect(served.url, served.tokens["odo"]) as auditor:
        assert auditor.open("deaths-dp").ledger_facts()["spent"] == before
    whole = deaths.recipe("rows=month&columns=sex&epsilon=0.125").release()
    file = tmp_path / "recipe.yaml"
    file.write_text("rows: [month]\ncolumns: [sex]\nepsilon: 0.125\n", "utf-8")
    assert deaths.recipe(file).release().to_pandas().equals(whole.to_pandas())
    assert whole.cost == "nothing"


def test_a_free_table_needs_no_epsilon(served: Served, server: Server, tmp_path: Path) -> None:
    """A draft without ε is understood, shown, and read off a release of consistent margins."""
    deaths = server.open("deaths-dp")
    draft = deaths.table(rows=["marital"], method="marginals")
    assert repr(draft) == "<draft rows=marital&method=marginals>"
    assert "Costs" not in draft._repr_html_()
    with pytest.raises(InputError, match="epsilon"):
        draft.preview()
    with pytest.raises(Refusal, match="on this version of the data"):
        draft.release(free=True)
    with pytest.raises(InputError, match="maritla"):
        deaths.table(rows=["maritla"], method="marginals")
    pairs = {"method": "marginals", "epsilon": "0.25", "workload": "all 2-way of marital, sex"}
    deaths.recipe(pairs).release()
    free = draft.release(free=True)
    assert free.cost == "nothing"
    with dc.open(served.workspace / "deaths-dp") as disk:
        local = disk.table(rows=["marital"], method="marginals").release(free=True)
        assert free.to_pandas().equals(local.to_pandas())
    folder = free.write(tmp_path / "out")
    assert {path.name for path in folder.iterdir()} == {"tables"}


def test_a_drawn_table_is_charged_once_and_is_the_same_for_ever(
    served: Served, server: Server
) -> None:
    """Cost and guarantee before; charged at release; free and equal after, here and on disk."""
    remote = server.open("deaths-dp")
    draft = remote.table(rows=["region"], epsilon="0.25")
    assert "0.25" in draft.cost
    assert draft.guarantee is not None
    before = draft.preview().left
    table = draft.release()
    assert "0.25" in table.cost
    assert table.guarantee.sentence() == draft.guarantee.sentence()
    assert draft.preview().left != before
    again = draft.release()
    assert (draft.cost, again.cost) == ("nothing", "nothing")
    assert again.to_pandas().equals(table.to_pandas())
    with dc.open(served.workspace / "deaths-dp") as disk:
        local = disk.table(rows=["region"], epsilon="0.25").release()
        assert local.cost == "nothing"
        assert local.to_pandas().equals(table.to_pandas())
        assert local.guarantee.sentence() == table.guarantee.sentence()


def test_several_tables_come_as_one_release(server: Server) -> None:
    """A recipe of two tables is one question; each table is there."""
    recipe = {"tables": [{"rows": ["sex"]}, {"rows": ["region"], "columns": ["sex"]}]}
    made = server.open("deaths").recipe(recipe).release()
    assert [len(table.domain.axes) for table in made.tables] == [1, 2]
    assert len(made.to_pandas(1)) == made.tables[1].cells


def test_errors_are_those_of_the_local_api(served: Served, server: Server) -> None:
    """The same class and sentence here and there; a refusal has its rule and what would work."""
    remote = server.open("deaths-dp")
    with dc.open(served.workspace / "deaths-dp") as local:
        for asked in (
            {"rows": ["regoin"]},
            {"rows": ["sex"], "where": {"sex": "X"}},
            {"rows": ["sex"], "epsilon": 0.5},
            {"rows": ["sex"], "epsilon": "-1"},
        ):
            with pytest.raises(InputError) as there:
                remote.table(**asked).release()  # type: ignore[arg-type]
            with pytest.raises(InputError) as here:
                local.table(**asked).release()  # type: ignore[arg-type]
            assert type(there.value) is type(here.value), asked
            assert there.value.message == here.value.message
        for asked in (
            {"rows": ["sex"], "epsilon": "90"},
            {"rows": ["sex"], "method": "cell-key"},
        ):
            with pytest.raises(Refusal) as there:
                remote.table(**asked).release()  # type: ignore[arg-type]
            with pytest.raises(Refusal) as here:
                local.table(**asked).release()  # type: ignore[arg-type]
            assert type(there.value) is type(here.value)
            assert there.value.rule == here.value.rule
            assert there.value.message == here.value.message
            assert there.value.alternatives == here.value.alternatives


def test_a_budget_exceeded_says_what_fits_and_that_is_taken(server: Server) -> None:
    """The offered recipe, sent as it is, is accepted."""
    remote = server.open("deaths-dp")
    draft = remote.table(rows=["age"], epsilon="50")
    with pytest.raises(BudgetExceeded) as caught:
        draft.release()
    assert caught.value.rule == "budget"
    assert "largest epsilon that fits" in caught.value.message
    (offer,) = caught.value.alternatives
    assert offer.change is not None
    fits = remote.table(rows=["age"], epsilon=offer.change["epsilon"])
    assert fits.preview().affordable


def test_wrong_addresses_tokens_and_names_get_one_sentence(served: Served, server: Server) -> None:
    with pytest.raises(InputError, match="begins with http:// or https://"):
        dc.connect("demo/deaths")
    with pytest.raises(InputError, match="unencrypted to tables"):
        dc.connect("http://tables.example.org", token="dct_x")
    with pytest.raises(InputError, match="must not hold a name or password"):
        dc.connect("https://me:secret@tables.example.org")
    with pytest.raises(InputError, match="unknown, expired or revoked"):
        dc.connect(served.url, token="dct_wrong")
    with pytest.raises(InputError, match=r"no data set 'deths'.*Did you mean deaths"):
        server.open("deths")
    with dc.connect(served.url) as anyone:
        assert set(anyone.datasets) == {"deaths"}
        with pytest.raises(InputError):
            anyone.open("deaths-dp")
    with dc.connect(served.url + "/api/v1/") as same:
        assert "deaths" in same.datasets


def test_nothing_there_is_said_after_some_attempts() -> None:
    """A closed port: tried six times, then one sentence."""
    slept: list[float] = []
    connection = Connection("http://127.0.0.1:9", sleep=slept.append, timeout=1)
    with (
        closing(connection),
        pytest.raises(EngineError, match="nothing answers there, after 6 attempts"),
    ):
        connection.json("GET", "/config")
    assert len(slept) == 5
    assert slept == sorted(slept)


@dataclass
class Lossy:
    """A proxy that loses answers, or is busy, as often as it is told to."""

    url: str
    lose: int = 0
    busy: int = 0
    seen: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def lossy(served: Served) -> Iterator[Lossy]:
    facts = Lossy("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            sent = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            table = self.command == "POST" and self.path.partition("?")[0].endswith("/tables")
            if table and facts.busy:
                facts.busy -= 1
                text = b'{"type": "urn:discreet:busy", "detail": "Busy."}'
                self.send_response(503)
                self.send_header("Retry-After", "1")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                return
            answer = httpx.request(
                self.command, served.url + self.path, content=body, headers=sent, timeout=300
            )
            if table:
                facts.seen.append((self.path, self.headers.get("Idempotency-Key")))
                if facts.lose:
                    facts.lose -= 1
                    self.close_connection = True
                    return
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name not in ("content-encoding", "content-length", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_DELETE = _pass

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    facts.url = f"http://127.0.0.1:{proxy.server_address[1]}"
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    yield facts
    proxy.shutdown()
    thread.join()
    proxy.server_close()


def spent(served: Served) -> tuple[int, str]:
    with dc.open(served.workspace / "deaths-dp") as data:
        facts = data.ledger_facts()
    return facts["entry_count"], facts["spent"]


def quick(url: str, token: str) -> Server:
    """A server whose waits are counted and not waited."""
    return Server(Connection(url, token, sleep=lambda _: None))


def test_lost_answers_are_asked_for_again_and_charged_once(served: Served, lossy: Lossy) -> None:
    """Three answers lost after the charge: one entry in the ledger, one key, the right cost."""
    entries, _ = spent(served)
    lossy.lose = 3
    with quick(lossy.url, served.tokens["ana"]) as server:
        table = server.open("deaths-dp").table(rows=["sex"], epsilon="0.3125").release()
    assert "0.3125" in table.cost
    assert len(lossy.seen) == 4
    assert len({key for _, key in lossy.seen}) == 1
    assert lossy.seen[0][1]
    assert spent(served)[0] == entries + 1


def test_a_busy_server_is_asked_again(served: Served, lossy: Lossy) -> None:
    """503 with Retry-After is waited for as long as the server says."""
    waits: list[float] = []
    lossy.busy = 2
    with Server(Connection(lossy.url, served.tokens["ana"], sleep=waits.append)) as server:
        server.open("deaths").table(rows=["sex"]).release()
    assert waits == [1.0, 1.0]


def test_two_requests_have_two_keys(served: Served, lossy: Lossy) -> None:
    with quick(lossy.url, served.tokens["ana"]) as server:
        draft = server.open("deaths").table(rows=["sex"])
        draft.release()
        draft.release()
    assert len({key for _, key in lossy.seen}) == 2


def test_a_long_table_is_followed_as_a_job(served: Served, server: Server) -> None:
    """More cells than one request may have: progress is told, the numbers are those on disk."""
    told: list[float] = []
    asked = {"rows": ["ccg"], "columns": ["sex", "age"]}
    draft = server.open("deaths").table(**asked)  # type: ignore[arg-type]
    assert draft.preview().as_job
    table = draft.release(control=Control(lambda share, _: told.append(share)))
    assert told[0] == 0.0
    assert told[-1] == 1.0
    with dc.open(served.workspace / "deaths") as disk:
        assert table.to_pandas().equals(disk.table(**asked).release().to_pandas())  # type: ignore[arg-type]


def test_a_job_that_charges_says_its_cost(served: Served, server: Server) -> None:
    asked = {"rows": ["ccg"], "columns": ["sex", "age"], "epsilon": "0.0625"}
    table = server.open("deaths-dp").table(**asked).release()  # type: ignore[arg-type]
    assert "0.0625" in table.cost


def test_a_stop_is_passed_on_to_the_job(served: Served, server: Server) -> None:
    """A cancelled control cancels the job on the server, or finds it ended."""
    calls = iter([False, True])
    control = Control(cancelled=lambda: next(calls, True))
    draft = server.open("deaths").table(rows=["ccg"], columns=["sex", "age", "marital"])
    with pytest.raises(Cancelled):
        draft.release(control=control)
    with served.client("ana") as client:
        newest = client.get("/jobs").json()["jobs"][0]
    assert newest["cancel_requested"] or newest["state"] in ("done", "cancelled")


def test_a_notebook_shows_table_intervals_guarantee_and_cost(server: Server) -> None:
    """Numbers with their noise intervals, the promise in words, what was charged; all escaped."""
    draft = server.open("deaths-dp").table(rows=["sex"], epsilon="0.5")
    shown = draft._repr_html_()
    assert draft.guarantee is not None
    assert "ε" in shown
    assert draft.guarantee.sentence() in shown
    table = draft.release()
    page = table._repr_html_()
    noise = table.protected.noise
    assert noise is not None
    low, high = int(noise.lower.reshape(-1)[0]), int(noise.upper.reshape(-1)[0])
    assert f"<small>{low:,}–{high:,}</small>" in page
    assert table.guarantee.sentence() in page
    assert f"Charged: {table.cost}" in page
    assert repr(draft).startswith("<draft rows=sex")


@pytest.mark.parametrize(
    "table",
    [deaths(), make([], (), values=[7]), make([axis("<b>", ["x"])], (False,), noise=False)],
    ids=["every status", "grand total", "no noise"],
)
def test_json_stat_reads_back_to_the_same_table(table: formats.flat.ProtectedTable) -> None:  # type: ignore[name-defined]
    """What the client builds writes the very same files in every format."""
    import json

    text = formats.to_bytes(table, "json-stat")
    (back,) = reading.tables(json.loads(text))
    for name in ("csv", "parquet", "json-stat", "px", "sdmx-csv"):
        assert formats.to_bytes(back, name) == formats.to_bytes(table, name), name


def test_what_is_not_ours_is_refused_in_one_sentence() -> None:
    for document in ({}, {"class": "dataset", "id": ["a"]}, {"class": "collection", "link": {}}):
        with pytest.raises(InputError, match="not a JSON-stat table that discreet wrote"):
            reading.tables(document)


def test_an_answer_that_is_no_problem_document_is_said_plainly(served: Served) -> None:
    """An address that is something else's: no trace, no guess."""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"no")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=other.serve_forever)
    thread.start()
    try:
        with pytest.raises(EngineError, match="404 without saying why"):
            dc.connect(f"http://127.0.0.1:{other.server_address[1]}")
    finally:
        other.shutdown()
        thread.join()
        other.server_close()


@pytest.mark.slow
def test_workers_killed_under_the_client_cost_nothing_twice(demo: Path, tmp_path: Path) -> None:
    """Two workers, one killed during every eighth question: all 40 are answered, each charged once."""
    import os
    import signal

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    processes = Processes(workspace, 2)
    killed: list[int] = []

    def kill() -> None:
        for child in processes.children()[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    def asked(number: int) -> str:
        table = data.table(rows=["sex"], epsilon=f"0.01{number:02d}")
        if number % 8 == 7:  # at some moment of the release
            killer = threading.Timer(number / 1000, kill)
            killer.start()
            cost = table.release().cost
            killer.join()
            return cost
        return table.release().cost

    try:
        processes.wait()
        served = Served(processes.url, workspace, tokens)
        entries, _ = spent(served)
        with dc.connect(processes.url, tokens["ana"]) as server:
            data = server.open("deaths-dp")
            costs = [asked(number) for number in range(40)]
    finally:
        processes.close()
    assert len(killed) >= 3
    assert spent(served)[0] == entries + 40
    assert all(cost.startswith("epsilon = 0.01") for cost in costs)
