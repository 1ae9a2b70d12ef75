"""What a cell-key table says of its cells is what keys do, by enumeration of every key."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.cell_law import CellLaw
from discreet.core.control import Control
from discreet.core.count_law import CountLaw
from discreet.core.description import Description, StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.law_kinds import PrivateLaw
from discreet.core.table import Status
from discreet.core.text import Text
from discreet.errors import LawError
from discreet.methods.base import Measurements, stored_name
from discreet.methods.cellkey.lookup import Lookup
from discreet.methods.cellkey.method import Detail

from .world import World, spec

TOWN = variable("town", ["a", "b", "c"])
SEX = variable("sex", ["f", "m"])


def make(parameters: dict[str, Any], **facts: Any) -> World:
    codes = {"town": np.array([0] * 9 + [1]), "sex": np.array([0, 1] * 5)}
    description = Description("tiny", Text.of("Tiny"), (TOWN, SEX), **facts)
    weights = np.full(10, 10) if "weight" in facts else None
    return World(description, codes, {"key_bits": 8, **parameters}, weights=weights)


def symbol(table: Any, place: tuple[int, ...]) -> int | str:
    """A number, or the letter of a status without one."""
    status = Status(int(table.status[place]))
    return int(table.values[place]) if status.has_value else status.letter


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_perturbation": "3", "variance": "1"},
        {"epsilon": "1", "delta": "1e-2", "zeros": "kept"},
        {"max_perturbation": "2", "variance": "1", "threshold": "3"},
        {"max_perturbation": "2", "variance": "1", "display_floor": "4"},
        {"max_perturbation": "2", "variance": "1", "threshold": "2", "display_floor": "4"},
        {"epsilon": "1", "delta": "1e-2"},
        {"epsilon": "1", "delta": "1e-2", "negatives": "clipped"},
    ],
)
def test_the_law_of_every_cell_is_that_of_all_keys(parameters: dict[str, Any]) -> None:
    """For each true count, all 256 keys through lookup and fit: exactly what the law says."""
    world = make(parameters)
    asked = spec("town", "sex")
    plan = world.plan(asked)
    assert isinstance(plan.detail, Detail)
    table = plan.detail.ready.settings.table
    lookup, keys = Lookup(table), np.arange(256, dtype=np.uint64)
    for true in range(9):
        moved = true + lookup(np.full(256, true, dtype=np.int64), keys).astype(np.int64)
        seen: Counter[int | str] = Counter()
        for value, times in Counter(moved.tolist()).items():
            kept = Measurements(
                {stored_name(asked): np.full((4, 3), value, dtype=np.int64)},
                {"p_table": table.digest},
            )
            (fitted,) = world.method.fit(plan, kept, world.facts, Control())
            seen[symbol(fitted, (1, 1))] += times
        for released in (*range(-12, 25), "low", "c"):
            want = Fraction(seen[released], 256)
            for cell in ({"town": 1, "sex": 1}, {"town": None, "sex": 0}, {}):
                assert fitted.law.probability(released, true, cell) == want


def test_the_whole_p_table_travels_never_the_row_that_was_used() -> None:
    """Two data sets under one policy have one law, whatever their counts are."""
    policy = {"max_perturbation": "3", "variance": "1"}
    (table,) = make(policy).tables(spec("town"))
    law = table.law.sources[0].law
    assert isinstance(law, CountLaw)
    assert law.digest == make(policy).plan(spec("town")).detail.ready.settings.table.digest
    assert CellLaw.from_json(table.law.to_json()) == table.law
    (other,) = make(policy).tables(spec("sex"))
    assert other.law == table.law
    assert table.law.shared == "keys"


def test_a_private_law_is_not_told_and_the_risk_is_the_same() -> None:
    """`law: private` takes rows, parameters and digest away; figures of risk assume the rows."""
    policy = {"max_perturbation": "3", "variance": "1"}
    (told,) = make(policy).tables(spec("town"))
    (kept,) = make({**policy, "law": "private"}).tables(spec("town"))
    assert kept.law.sources[0].law == PrivateLaw("p-table")
    assert kept.law.about["risk"] == told.law.about["risk"]
    text = str(kept.law.to_json())
    assert told.law.sources[0].law.digest not in text
    assert "perturbations" not in text
    assert "variance" not in text
    with pytest.raises(LawError, match="not published"):
        kept.law.probability(3, 3, {"town": 0})
    assert kept.values.tolist() == told.values.tolist()
    with pytest.raises(LawError, match="law must be"):
        make({**policy, "law": "secret"}).plan(spec("town"))


def test_impossible_cells_and_weights_are_said() -> None:
    """A structural zero has no draw; a weighted value depends on a mean that is not published."""
    zero = StructuralZero((Condition("town", "town", ("c",)),))
    (table,) = make({}, structural_zeros=(zero,)).tables(spec("town", "sex"))
    assert table.law.probability(0, 0, {"town": 2, "sex": 0}) == 1
    assert table.law.probability(0, 0, {"town": 2}) == 1
    assert table.law.margin({"town": 1}).at({"town": 1}) == 1
    weighted = make({}, weight=Weight("w", 10, Fraction(2)))
    (heavy,) = weighted.tables(spec("sex", weighted=True))
    assert heavy.law.mean_weight
    with pytest.raises(LawError, match="no law of their own"):
        heavy.law.probability(3, 3, {"sex": 0})
