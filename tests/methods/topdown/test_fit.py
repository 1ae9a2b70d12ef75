"""The fit as work: it goes on where it was stopped, says how far it is and what rounding moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import Description
from discreet.core.domain import variable
from discreet.core.text import Text
from discreet.errors import Cancelled
from discreet.methods.base import Measurements
from discreet.methods.topdown.design import design_of
from discreet.methods.topdown.fit import kept_parts, top_down
from discreet.methods.topdown.fit.rounded import UNIT, moved_in, upwards
from discreet.methods.topdown.fit.synthesis import Fitted, synthetic_table
from discreet.methods.topdown.method import _tables

from .test_method import TABLES, small
from .trees import made, nested

FIXTURES = Path(__file__).parents[2] / "fixtures"


class Shelf:
    """Parts of a fit in memory."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self.parts.get(name)

    def put(self, name: str, part: bytes) -> None:
        self.parts[name] = part


def counted_blocks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every block that is fitted from now on, as it was fitted."""
    fitted: list[Any] = []
    original = top_down.fit_block

    def counting(*values: Any, **named: Any) -> Any:
        fitted.append(original(*values, **named))
        return fitted[-1]

    monkeypatch.setattr(top_down, "fit_block", counting)
    return fitted


def stopped_after(steps: int, shelf: Shelf) -> Control:
    """A control that stops the work after so many steps."""
    left = iter(range(steps))
    return Control(cancelled=lambda: next(left, None) is None, keep=shelf)


def same(one: Fitted, other: Fitted) -> bool:
    """Whether two fits are the same to the last number."""
    tables = np.array_equal(one.table.rows, other.table.rows) and np.array_equal(
        one.table.counts, other.table.counts
    )
    moved = all(np.array_equal(one.moved[key], other.moved[key]) for key in one.moved)
    return tables and moved and set(one.moved) == set(other.moved)


def test_a_fit_goes_on_where_it_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped at every step: the same table, and no block that was done is fitted again."""
    monkeypatch.setattr(kept_parts, "WORTH", 1)
    world = small(500)
    plan = world.plan(TABLES, epsilon="1")
    design, measured = design_of(plan), world.measure(plan)
    tables = _tables(design, measured)
    blocks, said = counted_blocks(monkeypatch), []
    whole = synthetic_table(design, tables, Control(lambda share, doing: said.append(share)))
    needed, steps = len(blocks), len(said)
    assert said == sorted(said)
    assert said[0] == 0
    assert said[-1] <= 1
    saved = set()
    for stop in range(1, steps, 3):
        shelf = Shelf()
        blocks.clear()
        with pytest.raises(Cancelled):
            synthetic_table(design, tables, stopped_after(stop, shelf))
        done = len(blocks)
        again = synthetic_table(design, tables, Control(keep=shelf))
        assert len(blocks) == needed
        assert same(whole, again)
        saved.add(done)
    assert set(range(needed)) <= saved <= set(range(needed + 1))


def test_a_part_that_is_lost_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_parts, "WORTH", 1)
    world = small(300, seed=4)
    plan = world.plan(TABLES, rho="0.3")
    design = design_of(plan)
    tables = _tables(design, world.measure(plan))
    shelf = Shelf()
    whole = synthetic_table(design, tables, Control(keep=shelf))
    assert len(shelf.parts) > 3
    del shelf.parts["part 2"]
    assert same(whole, synthetic_table(design, tables, Control(keep=shelf)))


@pytest.mark.parametrize("seed", range(4))
def test_what_rounding_moved_is_printed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound under each table is the largest difference to the fit, worked out another way."""
    area = nested("area", [[0, 0, 0, 0, 0]])
    ages = variable("age", [str(i) for i in range(9)])
    others = variable("sex", ["f", "m"]), variable("job", ["x", "y", "z"]), ages
    world = made(Description("flat", Text.of("Flat"), (area, *others)), 300, seed)
    asked = [{"rows": ["area:area"], "columns": ["sex"]}, {"rows": ["job"]}]
    asked.append({"rows": ["area:area"], "columns": ["job"], "where": {"sex": "m"}})
    asked.append({"rows": ["age"]})
    plan = world.plan(asked, epsilon="0.8")
    measured, design, blocks = world.measure(plan), design_of(plan), counted_blocks(monkeypatch)
    tables = world.method.fit(plan, measured, world.facts(), Control())
    whole, areas = blocks  # the table of the whole, then its cells that hold somebody by area
    table = world.method.synthesise(plan, measured)
    counts = np.zeros(design.shape, dtype=np.int64)
    np.add.at(counts, tuple(table.rows.T), table.counts)
    names = [ref.variable for ref in design.workload.refs]
    counts = counts.transpose([names.index(name) for name in ("area", "age", "job", "sex")])
    assert [name for name in names if name != "area"] == ["age", "job", "sex"]
    top = counts.sum(axis=0)
    fitted = np.zeros((*top.shape, 5))
    fitted[top > 0] = areas
    off = counts - np.moveaxis(fitted, -1, 0)
    expected = [
        _most(off.sum(axis=(1, 2))),
        np.abs((top - whole.reshape(top.shape)).sum(axis=(0, 2))).max(),
        _most(off.sum(axis=1)[..., 1]),
        np.abs((top - whole.reshape(top.shape)).sum(axis=(1, 2))).max(),
    ]
    for one, most in zip(tables, expected, strict=True):
        (said,) = [note for note in one.notes if note.startswith("Rounding")]
        assert said.endswith(f"by more than {upwards(float(most))}.")


def _most(off: Any) -> float:
    """The largest of a table and its totals."""
    every = [off, off.sum(axis=0), off.sum(axis=1), off.sum()]
    return max(float(np.abs(one).max()) for one in every)


def test_a_narrower_table_has_the_bound_of_a_wider_one() -> None:
    found = {(1, (1, 2)): np.array([[UNIT, 0, -UNIT // 2, UNIT]])}
    narrow = moved_in(found, 1, (1,), (9, 2, 2))
    assert narrow is not None
    assert narrow.tolist() == [[1.0, 0.5]]
    assert moved_in(found, 2, (1,), (9, 2, 2)) is None


OLD = [
    {"rows": ["area:area"], "columns": ["sex", "job"]},
    {"rows": ["area1"], "columns": ["job"]},
    {"rows": ["area:area"], "columns": ["sex"]},
    {"rows": ["area2"], "columns": ["sex"]},
]


def test_an_old_answer_is_fitted_as_it_was() -> None:
    """Measured by a plan of another day, before fits were refined: the same numbers as then.

    `fixtures/topdown-fit-1.json` holds what that version measured and what it answered.
    """
    old = json.loads((FIXTURES / "topdown-fit-1.json").read_text("utf-8"))
    world = small(20000)
    plan = world.plan(OLD, epsilon="6", records_about=20000)
    arrays = {name: np.array(values) for name, values in old["arrays"].items()}
    answers = {}
    for name, more in (("then", {}), ("now", {"fit": "refined"})):
        stored = Measurements(arrays, {**old["facts"], **more})
        measured = world.method.measured(plan, stored, world.facts())
        tables = world.method.fit(measured, stored, world.facts(), Control())
        answers[name] = [table.values.tolist() for table in tables]
    assert answers["then"] == old["values"]
    assert answers["now"] != old["values"]
    assert world.measure(plan).facts["fit"] == "refined"
