"""barak §3 and §4: bounds of Theorems 7 and 8, and how loose Theorem 6 is, from dry runs."""

from __future__ import annotations

import csv
import re
from itertools import combinations
from math import comb, log
from pathlib import Path
from typing import Any

from .bench import Bench, Figure, Grid, Section, compare, holds

DELTA = 0.05


def section(bench: Bench) -> Section:
    """All 2-way margins of 6 binary variables, ε = 1."""
    k = 6
    names = [f"v{i}" for i in range(k)]
    rows = [",".join(names), *(",".join(str(i >> j & 1) for j in range(k)) for i in range(64))]
    folder = bench.folder("bits", rows)
    pairs = list(combinations(names, 2))

    def planned(*settings: str, only: tuple[str, ...] = ("--dry-run",)) -> dict[str, Any]:
        recipe = bench.scratch / "two-way.yaml"
        tables = "".join(f"  - {{rows: [{a}], columns: [{b}], totals: none}}\n" for a, b in pairs)
        head = "".join(f"{setting}\n" for setting in settings)
        text = f'epsilon: "1"\nmethod: marginals\n{head}tables:\n{tables}'
        recipe.write_text(text, encoding="utf-8")
        words = " ".join((*only, "-o out"))
        said = f"discreet release bits two-way.yaml {words}   # {', '.join(settings)}"
        out = str(bench.scratch / "out")
        return bench.run("release", str(folder), str(recipe), "-o", out, *only, said=said)

    shift = planned("mode: classic", "objective: shift")
    classic, cells = planned("mode: classic"), planned("mode: classic", "noise_on: cells")
    modern = planned("mode: modern")
    closure = sum(comb(k, i) for i in range(3))
    values = 4 * len(pairs)
    sevenths = 4 * 8 * closure * log(closure / DELTA) + closure
    eighths = 4 * 8 * len(pairs) * log(values / DELTA) + values
    figures: list[Figure] = [
        compare(
            "(12), Theorem 7 evaluated: L1 bound of a 2-way margin",
            f"{sevenths:.0f}",
            _bound(classic),
        ),
        compare(
            "(13), Theorem 8 evaluated: the same without Fourier", f"{eighths:.0f}", _bound(cells)
        ),
        compare(
            "Theorem 6, k = 10, all margins up to 2-way: sensitivity times 2^(k/2)",
            str(2 * sum(comb(10, i) for i in range(3))),
            _sensitivity(10),
            "valid and loose: two records differ in the signs of at most so many coefficients",
        ),
        compare(
            "§1.2.3: sensitivity of the 15 margins, one record replaced",
            str(len(pairs)),
            _touched(bench, folder),
            "two cells of each margin change",
        ),
        compare(
            "§4.3, Corollary 1 with t = 3: records spread over all cells, 4tb²/ε for b coefficients",
            str(12 * closure**2),
            _said(r"([\d,]+) records are spread", shift),
        ),
        _none_negative(planned("mode: classic", "objective: shift", only=())),
    ]
    plans = (("classic", classic), ("classic, noise_on: cells", cells), ("modern", modern))
    sds = tuple((name, f"{_sd(seen):.2f}") for name, seen in plans)
    grid = Grid("Expected sd of a cell of the unbiased estimate, ε = 1", ("mode", "sd"), sds)
    return Section("barak", "§3 and §4: bounds", tuple(figures), bench.commands(), (grid,))


def _sensitivity(k: int) -> int:
    """Over all pairs of records: twice the coefficients of order up to 2 whose sign differs."""
    alphas = [a for a in range(2**k) if a.bit_count() <= 2]
    return max(2 * sum((a & other).bit_count() % 2 for a in alphas) for other in range(2**k))


def _touched(bench: Bench, folder: Path) -> int:
    """The cells that one unit touches when each margin gets its own noise and n is public."""
    described = folder / "discreet.yaml"
    text = described.read_text("utf-8")
    described.write_text(text.replace("records: private", "records: 64"), encoding="utf-8")
    recipe = bench.scratch / "two-way.yaml"
    lines = [line for line in recipe.read_text("utf-8").splitlines() if not line.startswith("m")]
    recipe.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = str(bench.scratch / "out")
    said = "discreet release bits two-way.yaml --dry-run -o out   # method: noise, records: 64"
    seen = bench.run("release", str(folder), str(recipe), "-o", out, "--dry-run", said=said)
    found: int = next(plan["d"] for plan in seen["plans"] if plan["name"] == "wanted")
    return found


def _none_negative(released: dict[str, Any]) -> Figure:
    """§4.3 released: without a program, no number of any margin is below 0."""
    numbers = [
        int(row["count"])
        for name in released["files"]
        if name.endswith(".csv")
        for row in csv.DictReader((Path(released["folder"]) / name).read_text("utf-8").splitlines())
    ]
    below = sum(number < 0 for number in numbers)
    return holds(
        "§4.3: numbers below 0 in the 15 margins, no linear program solved",
        "none, with probability 1 − e^−3",
        below == 0,
        f"{below} of {len(numbers)}",
    )


def _bound(seen: dict[str, Any]) -> float:
    return _said(r"≤ ([\d,]+)\.", seen)


def _said(pattern: str, seen: dict[str, Any]) -> float:
    """A whole number that the plan says of its first table."""
    said = re.search(pattern, seen["errors"][0]["note"])
    assert said is not None
    return float(said[1].replace(",", ""))


def _sd(seen: dict[str, Any]) -> float:
    found: float = seen["errors"][0]["noise_sd"]
    return found
