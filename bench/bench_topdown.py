"""The top-down method: seconds, memory and error on the demo deaths, the pilot's own mode and mbi beside it.

    python -m bench.bench_topdown [--every N]

The 14 tables of the ons pilot, ε = 2, over all 251 areas (5,421,600 cells), every second (2.7 million) and
every tenth of them (0.56 million): plan, measure (exact noise) and fit, from counts in memory. Seconds
and memory are to grow no faster than cells. Each run has a process of its own. Error
is the mean absolute error of a cell, first over the cells of a table, then over tables. mbi is given
the same noisy numbers of the smallest run: its model of these tables is one clique of all cells.
`--every N` makes one run, of every Nth area.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import yaml

from bench import bars
from bench.peers import Peer
from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import Category, Level, Variable, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.demo import deaths
from discreet.demo.places import REGIONS, areas
from discreet.methods.base import Facts
from discreet.methods.topdown.design import design_of
from discreet.methods.topdown.method import TopDownMethod
from discreet.recipe import from_mapping

MBI = Peer("mbi", ("mbi==2.0.0",))
MBI_PROGRAM = Path(__file__).parent / "mbi_tree_peer.py"
RECIPE = Path(deaths.__file__).parent / "recipes" / "hierarchy.yaml"
EVERY = (10, 2, 1)
"""Every tenth area, every second, all of them."""


def description(every: int) -> Description:
    """The demo's variables, with every so many-th area only, in their regions."""
    places = areas()[::every]
    held = sorted({area.region for area in places})
    ccg = Level(
        "ccg",
        Text.of("ccg"),
        tuple(Category.of(a.code) for a in places),
        tuple(range(len(places))),
    )
    region = Level(
        "region",
        Text.of("region"),
        tuple(Category.of(REGIONS[i].code) for i in held),
        tuple(held.index(area.region) for area in places),
    )
    area = Variable("area", Text.of("area"), (ccg, region), declared=True, kind="geography")
    others = (variable(name, [code for code, _ in codes]) for name, _, codes, _ in deaths.SINGLE)
    return Description("deaths", Text.of("Deaths"), (area, *others))


def records(described: Description, every: int) -> dict[str, Any]:
    """The demo's records of these areas, areas and regions numbered anew."""
    codes = deaths.codes()
    kept = codes["ccg"] % every == 0
    found = {name: values[kept] for name, values in codes.items()}
    found["ccg"] = found["ccg"] // every
    found["region"] = described.variable("area").level("region").places[found["ccg"]]
    return found


def run(every: int, mode: str, numbers: str = "") -> dict[str, float]:
    """One release: seconds, gigabytes, error; what was measured is written to a file `numbers`."""
    described = description(every)
    codes = records(described, every)
    said: dict[str, Any] = {
        "method": "topdown",
        "epsilon": "2",
        "tables": yaml.safe_load(RECIPE.read_text("utf-8"))["tables"],
        "mode": mode,
        "records_about": round(len(codes["ccg"]), -4),
    }
    policy = Policy(Family.DP, "topdown", {}, budget=PureLoss(10))
    facts = Facts(described, policy, "1", policy.version)
    recipe, method = from_mapping(said, described, policy), TopDownMethod()
    began = time.process_time()
    plan = method.plan(recipe.question, recipe.treatment, facts)
    planned = time.process_time() - began
    domain = described.domain(plan.counts[0].axes)
    named = {"area": codes["ccg"], **codes}
    rows = np.stack([named[axis.variable.name] for axis in domain.axes], axis=1)
    at, counts = np.unique(domain.address(rows), return_counts=True)
    table = seal(domain, Cells(at, counts.astype(np.int64)))
    del rows, at
    began = time.process_time()
    measured = method.measure(plan, [table], None, Control())
    released = method.fit(plan, measured, facts, Control())
    seconds = planned + time.process_time() - began
    most = memory()
    true = [_true(codes, one.domain) for one in released]
    inside = [one.values[tuple(slice(0, n) for n in one.domain.shape)] for one in released]
    if numbers:
        write_numbers(Path(numbers), plan, measured, released, true)
    off = [float(np.abs(a - b).mean()) for a, b in zip(inside, true, strict=True)]
    return {
        "seconds": seconds,
        "memory": most,
        "error": float(np.mean(off)),
        "cells": float(domain.size),
    }


def _true(codes: dict[str, Any], domain: Any) -> Any:
    true = np.zeros(domain.shape, dtype=np.int64)
    np.add.at(true, tuple(codes[axis.name] for axis in domain.axes), 1)
    return true


def write_numbers(path: Path, plan: Any, measured: Any, released: Any, true: Any) -> None:
    """The noisy tables with their deviations, and the true tables, for mbi."""
    design = design_of(plan)
    names = [ref.variable for ref in design.workload.refs]
    tables = [
        {
            "level": m.level,
            "axes": [names[axis] for axis in m.margin],
            "sd": math.sqrt(m.variance),
            "array": m.name,
        }
        for m in design.allocation.measured
    ]
    depth = design.tree.depth
    asked = [
        ["area" if axis.variable.name == "area" else axis.name for axis in one.domain.axes]
        for one in released
    ]
    regions = ["region" in one.domain.names for one in released]
    facts = {
        "shape": dict(zip(names, design.shape, strict=True)),
        "into": [design.tree.of_finest[level].tolist() for level in range(depth + 1)],
        "measured": tables,
        "asked": asked,
        "regions": regions,
        "region": design.tree.names.index("region"),
    }
    arrays = {m.name: measured.arrays[m.name] for m in design.allocation.measured}
    truths = {f"true {i}": one for i, one in enumerate(true)}
    np.savez(path, facts=json.dumps(facts), **arrays, **truths)


def memory() -> float:
    """The most memory used so far, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def apart(*words: str) -> dict[str, float]:
    """A run in a process of its own."""
    said = [sys.executable, "-m", "bench.bench_topdown", "--run", *words]
    done = subprocess.run(said, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def beside_mbi(folder: Path) -> None:
    """mbi's fit of the same noisy numbers, for every tenth area."""
    file = folder / "numbers.npz"
    ours = apart("10", "modern", str(file))
    what = "0.56 M cells: mbi's CPU ÷ ours"
    mbi = MBI.run(MBI_PROGRAM.read_text("utf-8"), str(file))
    if mbi is None:
        bars.measured(what, None, "×", note="mbi could not run")
        return
    told = f"mbi {mbi['cpu']:.0f} s, ours {ours['seconds']:.1f} s"
    bars.measured(what, mbi["cpu"] / ours["seconds"], "×", at_least=1, note=told)
    told = f"mbi {mbi['error']:.3g} a cell (fractions), ours {ours['error']:.3g} (whole counts)"
    ratio = ours["error"] / mbi["error"]
    bars.measured("0.56 M cells: error, ours ÷ mbi's of the same noise", ratio, "×", note=told)


def main() -> None:
    parser = argparse.ArgumentParser(description="Top-down: seconds, memory, error.")
    parser.add_argument("--run", nargs="+", help="one run, told as JSON: EVERY MODE [FILE]")
    parser.add_argument("--every", type=int, help="one run of every so many-th area")
    asked = parser.parse_args()
    if asked.run:
        every, mode, *file = asked.run
        print(json.dumps(run(int(every), mode, *file)))
        return
    if asked.every:
        print(json.dumps(apart(str(asked.every), "modern"), indent=1))
        return
    small, half, full = (apart(str(every), "modern") for every in EVERY)
    pilot = apart("1", "pilot")
    bars.measured("5.4 M cells, 14 tables, ε = 2: seconds", full["seconds"], "s", at_most=45)
    bars.measured("5.4 M cells: largest memory", full["memory"], "GB", at_most=1)
    bars.measured("5.4 M cells: error", full["error"], "a cell", at_most=5.5)
    for name, one in (("0.56 M", small), ("2.7 M", half)):
        times = full["cells"] / one["cells"]
        ratio = full["seconds"] / one["seconds"] / times
        bars.measured(f"seconds a cell, 5.4 M ÷ {name} cells", ratio, "×", at_most=1.25)
        grown = full["memory"] / one["memory"] / times
        bars.measured(f"memory a cell, 5.4 M ÷ {name} cells", grown, "×", at_most=1)
    gain = pilot["error"] / full["error"]
    bars.measured("the pilot's own mode: error ÷ ours", gain, "×", at_least=10)
    bars.measured("the pilot's own mode: seconds", pilot["seconds"], "s", at_most=45)
    with tempfile.TemporaryDirectory() as folder:
        beside_mbi(Path(folder))


if __name__ == "__main__":
    main()
