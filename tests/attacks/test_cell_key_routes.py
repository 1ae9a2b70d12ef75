"""The same cell through different questions: one number, whatever the route."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.core.description import Description, Weight
from discreet.core.domain import Condition, variable
from discreet.core.table import Status
from discreet.core.text import Text

from ..methods.cellkey.world import World, spec


def world(weighted: bool = False, **parameters) -> World:
    """Sixty people in 6 × 4 × 3 cells, most of them empty; weights far apart between areas."""
    area = variable(
        "area",
        [f"a{i}" for i in range(6)],
        levels={
            "pair": {f"a{i}": f"p{i // 2}" for i in range(6)},
            "half": {"p0": "h0", "p1": "h0", "p2": "h1"},
        },
    )
    # A level with the very member sets of the finest: another name for the same cells.
    sex = variable("sex", ["f", "m", "x", "u"], levels={"twin": {c: c.upper() for c in "fmxu"}})
    age = variable("age", ["0", "1", "2"], levels={"old": {"0": "young", "1": "young", "2": "old"}})
    weight = Weight("w", 10, None) if weighted else None
    description = Description("people", Text.of("People"), (area, age, sex), weight=weight)
    rng = np.random.default_rng(4)
    codes = {
        "area": rng.choice(6, 60, p=[0.5, 0.3, 0.1, 0.05, 0.05, 0.0]),
        "sex": rng.choice(4, 60, p=[0.6, 0.3, 0.1, 0.0]),
        "age": rng.choice(3, 60, p=[0.7, 0.25, 0.05]),
    }
    weights = np.where(codes["area"] == 0, 7, 95) + rng.integers(0, 9, 60) if weighted else None
    given = {"epsilon": "1", "delta": "0.01", "zeros": "perturbed", **parameters}
    return World(description, codes, given, weights)


def every_route(w: World, weighted: bool) -> dict[tuple, set[int]]:
    """Every published value of every cell, by the sets of finest categories it stands for."""
    found: dict[tuple, set[int]] = {}
    description = w.description
    filters = [
        (),
        (Condition("area", "half", ("h0",)),),
        (Condition("area", "pair", ("p0", "p1")),),
        (Condition("area", "area", ("a0", "a1")),),
        (Condition("sex", "sex", ("f",)),),
        (Condition("sex", "twin", ("F",)),),
        (Condition("sex", "sex", ("u",)),),
        (Condition("age", "age", ("0", "1")), Condition("sex", "sex", ("m", "u"))),
    ]
    axes = [(), ("area",), ("area:pair",), ("area:half",), ("sex",), ("sex:twin",), ("age:old",)]
    axes += [("area", "sex"), ("age", "sex"), ("area:pair", "age:old"), ("area", "age", "sex")]
    for names, where, totals in product(axes, filters, (True, False)):
        one = replace(spec(*names, totals=totals, weighted=weighted), where=where)
        (table,) = w.tables(one)
        for place in np.ndindex(*table.shape):
            sets = {}
            for ref, i in zip(one.axes, place, strict=True):
                level = description.variable(ref.variable).level(ref.level)
                inside = (
                    set(range(len(level.of_finest)))
                    if i == len(level)
                    else {f for f, c in enumerate(level.of_finest) if c == i}
                )
                sets[ref.variable] = inside
            for part in where:
                level = description.variable(part.variable).level(part.level)
                passes = {level.index[code] for code in part.codes}
                inside = {f for f, c in enumerate(level.of_finest) if c in passes}
                sets[part.variable] = sets.get(part.variable, inside) & inside
            if any(not inside for inside in sets.values()):
                continue  # outside the filter: cut before anything is shown
            key = tuple(
                frozenset(sets.get(v.name, range(len(v.finest)))) for v in description.variables
            )
            found.setdefault(key, set()).add(int(table.values[place]))
    return found


@pytest.mark.parametrize(
    ("weighted", "sameness"),
    [(False, "participants"), (True, "participants"), (False, "participants and description")],
)
@pytest.mark.slow
def test_a_cell_has_one_number_by_every_route(weighted, sameness):
    """Margin, level, filter, total or not: what selects the same records has one value, ever.

    Empty cells too, and weighted ones: a number that moved with the question would average the
    noise for nothing, and would show which cells are empty. Weighted ones by description are refused.
    """
    found = every_route(world(weighted, sameness=sameness), weighted)
    several = {key: values for key, values in found.items() if len(values) > 1}
    assert len(found) > 100
    assert len({v for values in found.values() for v in values}) > 10
    assert not several


@pytest.mark.parametrize("limit", ["threshold", "display_floor"])
def test_weights_do_not_lift_a_cell_over_a_limit(limit):
    """What the plain table hides, the weighted table of the same cells hides too."""
    w = world(True, **{limit: "6"})
    plain, weighted = (w.tables(spec("area", "sex", weighted=yes))[0] for yes in (False, True))
    hidden = np.isin(plain.status, (Status.LOW, Status.BELOW_THRESHOLD))
    assert hidden.any()
    assert np.array_equal(hidden, np.isin(weighted.status, (Status.LOW, Status.BELOW_THRESHOLD)))
    assert not weighted.values[hidden].any()
