"""Cell keys: what protecting a table adds to counting it, and whether ONS's package agrees.

    python -m bench.bench_cellkey [--records N] [--rounds N] [--no-peer] [--json]

Speed: the 133,056 cells of ccg × cause × age × sex with all margins. Counting is the engine's
count with key sums and the cube of counts; protecting is what `measure` does, cube of counts and
of key sums, AES over every cell and look-up included. Bar: protecting adds at most 30 %.

Agreement: 100,000 records, 256 keys, the 10-5 rule and a designed p-table; every cell of
cell-key-perturbation 3.1.0 against ours, with its threshold of 10. Then the same with a missing
category: the package gives all cells of that category the key 0, and we do not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.bars import measured
from bench.peers import CELL_KEY_PERTURBATION
from bench.records import DEATHS, coding, description, write
from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import AxisRef, variable
from discreet.core.family import Family
from discreet.core.question import Treatment
from discreet.core.table import Status
from discreet.core.text import Text
from discreet.core.true_values import Cells, cube, reveal, seal
from discreet.engines.coding import Source
from discreet.engines.duckdb.loading import load
from discreet.engines.opening import open_engine
from discreet.methods.base import Facts
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.dialects import write as write_ptable
from discreet.methods.cellkey.method import CellKeyMethod
from discreet.recipe import Question, TableSpec

AXES = ("ccg", "cause", "age", "sex")
POLICIES: dict[str, dict[str, str]] = {
    "designed p-table": {},
    "sadeghi's Example 1": {"epsilon": "0.5", "delta": "1e-4"},
    "with description": {"sameness": "participants and description"},
}
SHAPE = {"area": 12, "age": 7, "sex": 2, "cause": 9}
PEER = """
import contextlib, io, json, sys
import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
data, ptable = pd.read_parquet(sys.argv[1]), pd.read_csv(sys.argv[2])
names = [c for c in data.columns if c != "record_key"]
with contextlib.redirect_stdout(io.StringIO()):
    made = create_perturbed_table(
        data=data, ptable=ptable, geog=[], tab_vars=names, record_key="record_key",
        use_existing_ons_id=False, threshold=10,
    )
cells = [
    [[None if pd.isna(row[n]) else int(row[n]) for n in names], int(row["ckey"]),
     None if pd.isna(row["count"]) else int(row["count"])]
    for _, row in made.iterrows()
]
print(json.dumps({"cells": cells}))
"""


class BenchSecrets:
    """Secrets for a bench: they protect nobody."""

    def derive(self, purpose: str) -> bytes:
        return bytes(range(32))


def facts(about: Description, parameters: dict[str, Any]) -> Facts:
    policy = Policy(Family.CELL_KEY, "cell-key", {"cell-key": parameters})
    return Facts(about, policy, "bench", policy.version)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed(records: int, rounds: int) -> dict[str, Any]:
    """Milliseconds to count and to protect the 4-way table, rounds alternating."""
    method, about = CellKeyMethod(), description()
    question = Question("bench", (TableSpec(tuple(AxisRef(n, n) for n in AXES)),), "cell-key")
    plans = {
        name: method.plan(question, Treatment(), facts(about, p)) for name, p in POLICIES.items()
    }
    times: dict[str, list[float]] = {name: [] for name in ("counting", *plans)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "records.parquet", records)
        load(Source.guess(folder / "records.parquet"), coding(), folder / "version")
        with closing(open_engine(folder / "version", about)) as engine:
            counts = next(iter(plans.values())).counts

            def count() -> object:
                (table,) = engine.count(counts, keys=True)
                cells = reveal(table)
                return cube(table.domain.shape, cells.addresses, cells.counts, True)

            tables = engine.count(counts, keys=True)
            for _ in range(rounds + 2):
                times["counting"].append(timed(count))
                for which, plan in plans.items():
                    work = lambda plan=plan: method.measure(  # noqa: E731 - a name for a short formula
                        plan, tables, BenchSecrets(), Control()
                    )
                    times[which].append(timed(work))
    times = {which: found[2:] for which, found in times.items()}
    middle = {which: 1000 * statistics.median(found) for which, found in times.items()}
    best = {which: 1000 * min(found) for which, found in times.items()}
    return {
        "records": records,
        "cells": plans["designed p-table"].cells,
        "milliseconds": middle,
        "best_milliseconds": best,
        "added": {
            which: statistics.median(
                part / whole for part, whole in zip(times[which], times["counting"], strict=True)
            )
            for which in plans
        },
        "added_best": {which: best[which] / best["counting"] for which in plans},
    }


def people(records: int, missing: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Skewed records and their keys 0 … 255; with `missing`, a tenth lack their cause."""
    rng = np.random.default_rng(7)
    codes = {}
    for name, size in SHAPE.items():
        weights = rng.random(size) ** 3 + 0.01
        codes[name] = rng.choice(size, records, p=weights / weights.sum())
    if missing:
        codes["cause"][rng.random(records) < 0.1] = SHAPE["cause"] - 1
    return codes, rng.integers(0, 256, records)


def ours(codes: dict[str, np.ndarray], keys: np.ndarray, text: str) -> dict[tuple[int, ...], Any]:
    """Every cell of our table: its published number, or None below the threshold of 10."""
    variables = tuple(variable(n, [str(i) for i in range(size)]) for n, size in SHAPE.items())
    about = Description("peer", Text.of("Peer"), variables)
    known = facts(about, {"ptable": text, "keys": "ons-256", "threshold": "10"})
    method = CellKeyMethod()
    spec = TableSpec(tuple(AxisRef(n, n) for n in SHAPE), totals=False)
    plan = method.plan(Question("peer", (spec,), "cell-key"), Treatment(), known)
    domain = about.domain(spec.axes)
    addresses = domain.address(np.stack([codes[n] for n in SHAPE], axis=1))
    held, inverse = np.unique(addresses, return_inverse=True)
    sums = np.bincount(inverse, weights=keys).astype(np.int64)
    table = seal(domain, Cells(held, np.bincount(inverse), sums, np.zeros_like(sums)))
    measured = method.measure(plan, [table], BenchSecrets(), Control())
    (made,) = method.fit(plan, measured, known, Control())
    hidden = made.status == Status.BELOW_THRESHOLD
    return {at: None if hidden[at] else int(value) for at, value in np.ndenumerate(made.values)}


def agreement(records: int, missing: bool, text: str) -> dict[str, int] | None:
    """How many cells the peer and we publish alike; None where the peer cannot run."""
    codes, keys = people(records, missing)
    lacks = SHAPE["cause"] - 1 if missing else -1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = {
            n: pa.array(values.astype(np.float64), mask=(n == "cause") & (values == lacks))
            if missing and n == "cause"
            else pa.array(values)
            for n, values in codes.items()
        }
        pq.write_table(pa.table({**columns, "record_key": pa.array(keys)}), folder / "data.parquet")
        (folder / "ptable.csv").write_text(text)
        theirs = CELL_KEY_PERTURBATION.run(
            PEER, str(folder / "data.parquet"), str(folder / "ptable.csv")
        )
    if theirs is None:
        return None
    mine = ours(codes, keys, text)
    found = {"cells": 0, "alike": 0, "missing": 0, "missing_with_key_0": 0, "missing_alike": 0}
    for raw, key, value in theirs["cells"]:
        at = tuple(lacks if part is None else part for part in raw)
        alike = mine[at] == value
        if None in raw:
            found["missing"] += 1
            found["missing_with_key_0"] += key == 0
            found["missing_alike"] += alike
        else:
            found["cells"] += 1
            found["alike"] += alike
    return found


def ptables() -> dict[str, str]:
    """The 10-5 rule and a designed p-table of 256 keys, as ONS files."""
    steps = {n: -n if n < 10 else (0, -1, -2, 2, 1)[n % 5] for n in range(1, 751)}
    rule = [f"{n},{key},{v}" for n, v in steps.items() for key in range(256)]
    return {
        "10-5 rule": "\n".join(["pcv,ckey,pvalue", *rule]),
        "D=5 V=3 js=2": write_ptable(design(5, "3", 2, keys=256), "ons"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=DEATHS)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = {"speed": speed(options.records, options.rounds), "peer": {}}
    if not options.no_peer:
        for name, text in ptables().items():
            for missing in (False, True):
                which = f"{name}, {'with' if missing else 'without'} missing"
                result["peer"][which] = agreement(100_000, missing, text)
    if options.json:
        print(json.dumps(result))
        return
    quick = result["speed"]
    print(f"{quick['records']:,} records, {quick['cells']:,} cells with all margins")
    print(f"  counting                   {quick['milliseconds']['counting']:8.1f} ms")
    for name in POLICIES:
        measured(
            f"protecting adds to counting, {name}",
            100 * quick["added"][name],
            "%",
            at_most=30,
            note=f"{quick['milliseconds'][name]:.1f} ms, best {quick['best_milliseconds'][name]:.1f}",
        )
    for name, found in result["peer"].items():
        what = f"cells as the ONS package's, {name}"
        if found is None:
            measured(what, None, "%", at_least=100, note="the peer could not run")
            continue
        note = f"{found['alike']} of {found['cells']}"
        if found["missing"]:
            note += (
                f"; of {found['missing']} more with a missing category it gives "
                f"{found['missing_with_key_0']} the key 0, {found['missing_alike']} are alike"
            )
        measured(what, 100 * found["alike"] / found["cells"], "%", at_least=100, note=note)


if __name__ == "__main__":
    main()
