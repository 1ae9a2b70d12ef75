"""R cellKey 1.0.2, reproduced cell by cell: counts, perturbations, weighted values."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.core.description import Description, Weight
from discreet.core.domain import variable
from discreet.core.text import Text
from discreet.methods.cellkey.dialects import read

from .world import World, spec

REFERENCE = Path(__file__).parent / "reference"
NAMES = ("area", "age", "sex", "cause")


def lines(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((REFERENCE / name).read_text().splitlines()))


def world(name: str) -> World:
    records = lines("synth_microdata.csv")
    cells = lines(f"synth_cellkey_{name}.csv")
    codes = {v: sorted({c[v] for c in cells} - {"Total"}) for v in NAMES}
    variables = tuple(variable(v, codes[v]) for v in NAMES)
    keys = np.array([int(Fraction(r["rkey"]) * 10**8) for r in records])
    return World(
        Description("synth", Text.of("Synthetic"), variables, weight=Weight("w", 100)),
        {v: np.array([codes[v].index(r[v]) for r in records]) for v in NAMES},
        {"ptable": (REFERENCE / f"{name}_ptable.csv").read_text(), "keys": "r-cellkey"},
        np.array([int(Fraction(r["w"]) * 100) for r in records]),
        (keys, np.zeros_like(keys)),
    )


@pytest.mark.parametrize("name", ["D3V1js0", "D5V3js2"])
def test_all_cells_of_r_cellkey(name):
    """1,638 cells: true count, perturbation, perturbed count; the weighted value unrounded here only."""
    here = world(name)
    shape = spec(*NAMES)
    values, true = here.values(shape), here.true(shape)
    weighted = here.values(spec(*NAMES, weighted=True))
    axes = [axis.level.codes for axis in here.description.domain(shape.axes).axes]
    cells = lines(f"synth_cellkey_{name}.csv")
    assert len(cells) == values.size == 1638
    changed = 0
    for cell in cells:
        at = tuple(
            len(codes) if cell[v] == "Total" else codes.index(cell[v])
            for v, codes in zip(NAMES, axes, strict=True)
        )
        n, v = int(true[at]), int(values[at] - true[at])
        assert n == int(cell["uwc"])
        assert v == int(cell["pert"])
        assert int(values[at]) == int(cell["puwc"])
        exact = Fraction(cell["wc"]) * (n + v) / n if n else Fraction(0)
        assert float(exact) == pytest.approx(float(cell["pwc"]), abs=1e-6)
        assert int(weighted[at]) == int(exact + Fraction(1, 2))
        changed += v != 0
    assert changed > 300


def test_the_fractional_table_is_used_as_it_is():
    """Bounds × 10^8 are whole numbers: nothing of R's table is rounded."""
    table = read((REFERENCE / "D5V3js2_ptable.csv").read_text())
    assert table.keys == 10**8
    assert [row.keys for row in table.rows] == [10**8] * 9
