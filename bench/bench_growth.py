"""What a workspace collects over years, and what it makes each thing that is asked often cost.

    python -m bench.bench_growth [--most 10000]

Processor seconds of one process, at sizes a factor of ten apart; the exponent is that of the last
factor. Charges are real ones: every entry has its own question, plan and measurements.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

import discreet
from bench.bars import measured
from bench.bench_server import Server
from discreet import demo
from discreet.core.control import Control
from discreet.core.domain import variable
from discreet.demo import deaths
from discreet.errors import did_you_mean
from discreet.server.search import Query, chosen_places
from discreet.store import Jobs
from discreet.store.audit_log import AuditLog
from discreet.store.published import Published, Releases
from discreet.store.workspace_database import WorkspaceDatabase
from discreet.workspace import checks, initialising, loading
from discreet.workspace.draft import CategoryDraft, Draft, LevelDraft, VariableDraft
from discreet.workspace.unit_choice import UnitChoice
from discreet.workspace.writer import write

RECORDS = 20_000


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The least processor time of some goes."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def made(folder: Path) -> Path:
    (folder / "source").mkdir(parents=True)
    pq.write_table(deaths.table().slice(0, RECORDS), folder / demo.SOURCE)
    draft = demo.draft("deaths-dp")
    draft.budget = {"epsilon": "1000000"}
    write(draft, folder)
    loading.load(folder)
    return folder


def fill(folder: Path, start: int, end: int) -> None:
    """Charge questions numbered from `start` to `end`, each with measurements of its own.

    The first of a go is planned and counted; the others differ from it in ε, are drawn anew, and are
    kept under names of their own.
    """
    with discreet.open(folder) as opened:
        data = opened._data
        ledger = data.ledger()
        asked = opened.table(rows="region", columns="sex", epsilon=f"0.2{start:06}1").preview()
        plan = asked.plan
        counted = data.engine().count(plan.counts, keys=False, weights=False)
        for number in range(start, end):
            drawn = asked.method.measure(plan, counted, data.secrets, Control())
            question = plan.question.canonical()
            question["settings"] = {**question["settings"], "epsilon": f"0.2{number:06}1"}
            facts = {**drawn.facts, "question": question}
            name = hashlib.sha256(f"growth {number}".encode()).hexdigest()[
                : len(plan.question_hash)
            ]
            ledger.commit(
                replace(plan.charge, question=name),
                replace(drawn, facts=facts).to_bytes(),
                idempotency_key=name,
                data_version=data.data_version,
                policy_version=data.policy.version,
            )


def costs(folder: Path, size: int) -> dict[str, float]:
    """Processor seconds of what is asked of a ledger of this size."""

    def opening() -> None:
        with discreet.open(folder) as again:
            again._data.ledger()

    with discreet.open(folder) as opened:
        opened._data.ledger()
        fresh = iter(range(10**9))

        def draft() -> discreet.Draft:
            return opened.table(rows="region", columns="sex", epsilon=f"0.5{size:06}{next(fresh)}")

        return {
            "opening the ledger": seconds(opening),
            "a preview": seconds(lambda: draft().preview().to_json()),
            "a verdict": seconds(lambda: draft().preview().to_json(look_back=False)),
            "a charge": seconds(lambda: draft().release(), 5),
            "--free": seconds(
                lambda: opened.table(rows="region", epsilon="0.1").release(free=True), 1
            ),
            "ledger show": seconds(lambda: opened.ledger_facts(short=True), 1),
            "the register": seconds(lambda: opened._data.ledger().export_register(), 1),
            "a page of the register": seconds(
                lambda: opened._data.ledger().export_register(size // 2, 1000), 1
            ),
        }


PAGES = {
    "the catalogue": "/api/v1/datasets",
    "a data set": "/api/v1/datasets/deaths",
    "a search": "/api/v1/search?query=region",
    "what is left": "/api/v1/datasets/deaths/budget",
    "the register": "/api/v1/datasets/deaths/register?most=100",
    "a page": "/data/deaths",
}
DESCRIPTION = {
    "the catalogue": "/api/v1/datasets",
    "a data set": "/api/v1/datasets/wide",
    "a search": "/api/v1/search?query={variable}",
    "a verdict": "/api/v1/datasets/wide/tables/metadata?rows={variable}",
    "a table": "/api/v1/datasets/wide/tables?rows={variable}&format=csv",
    "a page": "/data/wide",
    "the builder": "/build/wide?rows={variable}",
}
LIST = {
    "a code list": "/api/v1/datasets/wide/codelists/place",
    "a filter": "/api/v1/datasets/wide/tables?rows=sex&where=place:P000007",
}


def costs_of_a_server(
    workspace: Path, pages: Mapping[str, str] = PAGES, variable: str = ""
) -> dict[str, float]:
    """Processor seconds of a server until it is ready, and of what it is asked often."""
    with Server(workspace, 1) as server:

        def get(page: str) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{page}") as answer:
                assert answer.status == 200
                answer.read()

        get("/ready")
        found = {"a server's start": server.processor_seconds()}
        for name, path in pages.items():
            page = path.format(variable=variable)
            get(page)
            before = server.processor_seconds()
            for _ in range(50):
                get(page)
            found[f"{name}, served"] = max((server.processor_seconds() - before) / 50, 0.001)
    return found


def report(name: str, found: dict[int, float]) -> None:
    sizes = sorted(found)
    last, before = sizes[-1], sizes[-2]
    exponent = math.log(found[last] / found[before]) / math.log(last / before)
    told = ", ".join(f"{size:,}: {found[size] * 1000:,.1f} ms" for size in sizes)
    measured(f"{name}, exponent", exponent, at_most=1.1, note=told)


def ledgers(root: Path, most: int) -> None:
    sizes = [size for size in (100, 1_000, 10_000, 100_000) if size <= most]
    folder, filled = made(root / "deaths"), 0
    found: dict[str, dict[int, float]] = {}
    for size in sizes:
        fill(folder, filled, size)
        filled = size
        with discreet.open(folder) as opened:
            entries = sum(1 for _ in opened._data.ledger().entries())
        assert entries >= size, entries
        for name, value in {**costs(folder, size), **costs_of_a_server(root)}.items():
            found.setdefault(name, {})[size] = value
    for name, by_size in found.items():
        report(f"{name} by charges", by_size)
    for name in ("a preview", "a verdict", "a charge"):
        ratio = found[name][sizes[-1]] / found[name][sizes[0]]
        measured(f"{name}, {sizes[-1]:,} charges ÷ {sizes[0]:,}", ratio, "×", at_most=1.5)


def audits(root: Path, most: int) -> None:
    """Pages of an audit log by what they are asked by, and how much a row costs."""
    found: dict[str, dict[int, float]] = {}
    log, filled = AuditLog(root), 0
    for size in (size for size in (1_000, 10_000, 100_000) if size <= 10 * most):
        while filled < size:
            row = {"user": f"u{filled % 50}", "dataset": f"d{filled % 5}", "status": 200}
            waits = log.add(row | ({"rule": "budget"} if filled % 100 == 0 else {}))
            filled += 1
        waits.result()
        for name, work in {
            "an audit page": log.page,
            "an audit page by data set": lambda: log.page(dataset="d3"),
            "an audit page by user": lambda: log.page(user="u7"),
            "an audit page by rule": lambda: log.page(rule="budget"),
            "refusals by rule": log.refusals,
            "a row": lambda: log.add({"status": 200}).result(),
        }.items():
            found.setdefault(name, {})[size] = seconds(work, 5)
    log.close()
    for name, by_size in found.items():
        report(f"{name} by audit rows", by_size)


def served(root: Path, most: int) -> None:
    """Jobs: what making, claiming and listing cost as they collect."""
    found: dict[str, dict[int, float]] = {}
    jobs, filled = Jobs(root), 0
    for size in (size for size in (100, 1_000, 10_000) if size <= most):
        for _ in range(filled, size):
            jobs.create("table", {"question": "x"}, user="public")
            claimed = jobs.claim()
            assert claimed is not None
            jobs.finish(claimed[0].id, claimed[1], "nowhere")
        filled = size
        for name, work in {
            "unended jobs": lambda: jobs.unended(user="public"),
            "claiming a job": jobs.claim,
            "a page of jobs": lambda: jobs.list(user="public", most=50),
        }.items():
            found.setdefault(name, {})[size] = seconds(work, 5)
    jobs.close()
    for name, by_size in found.items():
        report(f"{name} by jobs", by_size)


def released(root: Path, most: int) -> None:
    """Releases, of which one in a hundred waits: what every question asks of them."""
    found: dict[str, dict[int, float]] = {}
    database = WorkspaceDatabase(root)
    releases, filled, recipe = Releases(database), 0, {"rows": ["ccg", "cause"], "where": {}}
    for size in (size for size in (100, 1_000, 10_000) if size <= most):
        with database.writing() as connection:
            for number in range(filled, size):
                name, then = f"{number:064x}", float(number)
                waits = None if number % 100 == 0 else then
                facts = ("deaths", "A title", recipe, name, "A guarantee.", {"csv": "t.csv"}, "ana")
                one = Published(name, *facts, then, then, None, ready=then, approved_at=waits)
                database.add(connection, "releases", one)
        filled = size
        for name, work in {
            "what is held": partial(releases.held, "deaths"),
            "what waits to be approved": partial(releases.undecided, "deaths"),
            "one release": partial(releases.all, f"{1:064x}"),
        }.items():
            found.setdefault(name, {})[size] = seconds(work, 5)
    database.close()
    for name, by_size in found.items():
        report(f"{name} by releases", by_size)


def descriptions(root: Path, most: int) -> None:
    """What hundreds of variables and tens of thousands of categories cost, from `init` to a page."""
    found: dict[str, dict[int, float]] = {}
    for count in (count for count in (50, 500) if count <= most):
        workspace = root / f"wide-{count}"
        source, into = workspace.with_suffix(".csv"), workspace / "wide"
        head = ",".join(f"v{i}" for i in range(count))
        chance = random.Random(count)  # columns that say the same would become few variables
        rows = (",".join(chance.choices("0123456789", k=count)) for _ in range(5_000))
        source.write_text(f"{head}\n" + "\n".join(rows) + "\n")
        unit = UnitChoice("record")
        costs = {
            "init": seconds(partial(initialising.init, source, into, unit=unit), 1),
            "check": seconds(partial(checks.check, into), 1),
            **costs_of_a_server(workspace, DESCRIPTION, "v1"),
        }
        for name, value in costs.items():
            found.setdefault(f"{name} by variables", {})[count] = value
    for count in (count for count in (5_000, 50_000) if count <= 5 * most):
        workspace = root / f"long-{count}"
        load_places(workspace / "wide", count)
        level = variable("place", [(f"P{i:06}", f"Place {i}") for i in range(count)])
        asked = Query.of("place 4321")
        costs = {
            "a wrong code": seconds(partial(did_you_mean, "P00432X", level.finest.codes)),
            "a search of a list": seconds(partial(chosen_places, level, level.finest, asked, "")),
            "check": seconds(partial(checks.check, workspace / "wide"), 1),
            **costs_of_a_server(workspace, {**DESCRIPTION, **LIST}, "place"),
        }
        for name, value in costs.items():
            found.setdefault(f"{name} by categories", {})[count] = value
    for name, by_size in found.items():
        report(name, by_size)


def load_places(folder: Path, count: int) -> None:
    """A data set of four records in each of so many places."""
    source = folder / "source.csv"
    folder.mkdir(parents=True)
    lines = (f"P{i % count:06},{i % 2}" for i in range(4 * count))
    source.write_text("place,sex\n" + "\n".join(lines) + "\n")
    places = [CategoryDraft(f"P{i:06}", f"Place {i}") for i in range(count)]
    sides = [
        VariableDraft("place", [LevelDraft("place", "place", places)], declared=True),
        VariableDraft(
            "sex",
            [LevelDraft("sex", "sex", [CategoryDraft("0"), CategoryDraft("1")])],
            declared=True,
        ),
    ]
    write(Draft("wide", "Wide", {"file": "source.csv"}, sides, unit="record"), folder)
    loading.load(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=10_000, help="charges of the largest ledger")
    parts = {part.__name__: part for part in (ledgers, audits, served, released, descriptions)}
    parser.add_argument("--only", choices=parts)
    asked = parser.parse_args()
    for part in [parts[asked.only]] if asked.only else parts.values():
        with tempfile.TemporaryDirectory() as root:
            part(Path(root), asked.most)


if __name__ == "__main__":
    main()
