"""The top-down method: seconds, memory and error on the demo deaths, the pilot's own mode beside it.

    python -m bench.bench_topdown [--cells N]

The 14 tables of the ons pilot over all 5,421,600 cells, ε = 2: plan, measure (exact noise) and fit, from
counts in memory. Then the same over fewer variables, 0.5 million cells: seconds and memory beyond a
start are to grow no faster than cells. Each run has a process of its own. Error is the mean absolute
error of a cell, first over the cells of a table, then over tables. mbi is left out: its model of these
tables has one clique of all 5.4 million cells.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import yaml

from bench import bars
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
from discreet.methods.topdown.method import TopDownMethod
from discreet.recipe import from_mapping

RECIPE = Path(deaths.__file__).parent / "recipes" / "hierarchy.yaml"
SMALL = ("cause", "age", "sex", "marital")
"""Of these and the areas there are 451,800 cells."""


def description() -> Description:
    """The demo's variables, areas in regions."""
    places = areas()
    ccg = Level(
        "ccg", Text.of("ccg"), tuple(Category.of(a.code) for a in places), tuple(range(251))
    )
    region = Level(
        "region",
        Text.of("region"),
        tuple(Category.of(one.code) for one in REGIONS),
        tuple(area.region for area in places),
    )
    area = Variable("area", Text.of("area"), (ccg, region), declared=True, kind="geography")
    others = (variable(name, [code for code, _ in codes]) for name, _, codes, _ in deaths.SINGLE)
    return Description("deaths", Text.of("Deaths"), (area, *others), about=530_000)


def run(small: bool, mode: str) -> dict[str, float]:
    """One release: seconds, gigabytes, error."""
    described, codes = description(), deaths.codes()
    tables: list[dict[str, Any]] = yaml.safe_load(RECIPE.read_text("utf-8"))["tables"]
    if small:
        tables = [
            t
            for t in tables
            if "month" not in [*t["rows"], *t.get("columns", [])]
            and "month" not in t.get("layers", [])
            and t["name"] != "t14"
        ]
    policy = Policy(Family.DP, "topdown", {}, budget=PureLoss(10))
    facts = Facts(described, policy, "1", policy.version)
    said: dict[str, Any] = {"method": "topdown", "epsilon": "2", "tables": tables, "mode": mode}
    recipe, method = from_mapping(said, described, policy), TopDownMethod()
    before = memory()
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
    errors = []
    for one in released:
        true = np.zeros(one.domain.shape, dtype=np.int64)
        np.add.at(true, tuple(codes[axis.name] for axis in one.domain.axes), 1)
        cells = one.values[tuple(slice(0, n) for n in one.domain.shape)]
        errors.append(float(np.abs(cells - true).mean()))
    return {
        "seconds": seconds,
        "memory": memory(),
        "more": memory() - before,
        "error": float(np.mean(errors)),
        "cells": float(domain.size),
    }


def memory() -> float:
    """The most memory used so far, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def apart(*words: str) -> dict[str, float]:
    """A run in a process of its own."""
    said = [sys.executable, "-m", "bench.bench_topdown", "--run", *words]
    done = subprocess.run(said, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Top-down: seconds, memory, error.")
    parser.add_argument("--run", nargs=2, metavar=("SIZE", "MODE"), help="one run, told as JSON")
    asked = parser.parse_args()
    if asked.run:
        print(json.dumps(run(asked.run[0] == "small", asked.run[1])))
        return
    full, small, pilot = apart("full", "modern"), apart("small", "modern"), apart("full", "pilot")
    bars.measured("5.4 M cells, 14 tables, ε = 2: seconds", full["seconds"], "s", at_most=45)
    bars.measured("5.4 M cells: largest memory", full["memory"], "GB", at_most=1)
    bars.measured("5.4 M cells: error", full["error"], "a cell", at_most=5.5)
    times = full["cells"] / small["cells"]
    ratio = full["seconds"] / small["seconds"] / times
    bars.measured("seconds a cell, 5.4 M ÷ 0.45 M cells", ratio, "×", at_most=1.25)
    grown = full["more"] / max(small["more"], 1e-9) / times
    bars.measured("memory a cell, 5.4 M ÷ 0.45 M cells", grown, "×", at_most=1.25)
    bars.measured(
        "the pilot's own mode: error ÷ ours", pilot["error"] / full["error"], "×", at_least=10
    )
    bars.measured("the pilot's own mode: seconds", pilot["seconds"], "s", at_most=45)


if __name__ == "__main__":
    main()
