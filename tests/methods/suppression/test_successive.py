"""Three questions one after the other, of every kind that is allowed: one history, one bound.

Everything a reader sees of all three, stars and refusals included, is enumerated over every data set
of a few people. Under each point of the prior, what breaks is at most what is spent on average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.methods.suppression.cell_weights import CellPeople, Law
from discreet.methods.suppression.decisions import Decided
from discreet.methods.suppression.past import Earlier, Past, Split, _can_follow
from discreet.methods.suppression.table_plan import Result

from .brute_force import DataSets
from .test_end_to_end import HALF, THREE, TWO, WHOLE, broken_and_spent, cell_of, plan, published

LOW, HIGH = (0.54, 0.46), (0.46, 0.54)
SKEWED = (0.3, 0.4, 0.3)


@dataclass(frozen=True)
class Asked:
    """One of the questions: which of its cells each of the finest belongs to, −1 for none."""

    of: tuple[int, ...]
    shape: tuple[int, ...]
    delta: float
    cells: bool = True
    follows: int | None = None
    """The earlier question that is the same table, or that this one splits."""
    split: Split | None = None
    bins: tuple[int, ...] = ()

    def people(self, finest: list[CellPeople]) -> list[CellPeople]:
        """The people of its cells."""
        joined: list[dict[Law, int]] = [{} for _ in range(int(np.prod(self.shape)))]
        for place, some in zip(self.of, finest, strict=True):
            if place >= 0:
                for law, many in zip(some.laws, some.counts, strict=True):
                    joined[place][law] = joined[place].get(law, 0) + many
        return [CellPeople.of(one) for one in joined]

    def counts(self, table: np.ndarray) -> np.ndarray:
        """Its counts from those of the finest cells."""
        of = np.array(self.of)
        size = int(np.prod(self.shape))
        return np.bincount(of[of >= 0], table[of >= 0], size).astype(np.int64)


def answered(
    questions: list[Asked], points: list[list[CellPeople]], epsilon: float, table: np.ndarray
) -> tuple[bytes, tuple[float, ...], list[Result | None]]:
    """All that is published about one data set, what it spent by point, and each result."""
    out, spent = b"", (0.0,) * len(points)
    results: list[Result | None] = []
    for one in questions:
        earlier = None
        if one.follows is not None and (before := results[one.follows]) is not None:
            cells = questions[one.follows].cells
            earlier = Earlier(before.values, before.decided, cells, one.split, before.bins)
        try:
            if earlier is not None:
                spec: Any = SimpleNamespace(axes=one.shape)
                _can_follow(earlier, spec, None)  # type: ignore[arg-type]
            elif one.follows is not None:
                raise Refusal("What it stands on was refused.", rule="test")
            people = [one.people(finest) for finest in points]
            past = Past(spent, earlier)
            made = plan(people, one.shape, epsilon, one.delta, past, cells=one.cells, bins=one.bins)
        except Refusal:
            out += b"refused"
            results.append(None)
            continue
        result = made.run(one.counts(table))
        spent = tuple(a + b for a, b in zip(spent, result.charged, strict=True))
        assert max(spent) <= one.delta + 1e-9
        out += published(result)
        results.append(result)
    return out, spent, results


def judged(
    questions: list[Asked], points: list[list[CellPeople]], epsilon: float
) -> tuple[list[tuple[float, float]], list[int], int]:
    """What breaks and what is spent by point; how often each question is answered; stars."""
    every = [DataSets(finest) for finest in points]
    runs: dict[bytes, tuple[bytes, tuple[float, ...]]] = {}
    answers, stars = [0] * len(questions), 0
    for table in np.unique(every[0].tables, axis=0):
        out, spent, results = answered(questions, points, epsilon, table)
        runs[table.tobytes()] = out, spent
        for place, result in enumerate(results):
            answers[place] += result is not None
            stars += 0 if result is None else int((result.decided == Decided.SUPPRESSED).sum())
    found = [
        broken_and_spent(
            one, epsilon, {table: (out, spent[point]) for table, (out, spent) in runs.items()}
        )
        for point, one in enumerate(every)
    ]
    return found, answers, stars


def same(size: int) -> tuple[int, ...]:
    return tuple(range(size))


def totals_cells_more(shape: tuple[int, int], deltas: tuple[float, float, float]) -> list[Asked]:
    """Totals alone, then cells, then cells again under a larger δ."""
    of = same(shape[0] * shape[1])
    return [
        Asked(of, shape, deltas[0], cells=False),
        Asked(of, shape, deltas[1], follows=0),
        Asked(of, shape, deltas[2], follows=1),
    ]


def of_others(delta: float, sizes: tuple[int, ...] = (2, 2, 2)) -> list[Asked]:
    """Three tables of people none of the others is about."""
    of_table = np.repeat(np.arange(len(sizes)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.arange(len(of_table)) - first
    return [
        Asked(tuple(np.where(of_table == k, place, -1).tolist()), (size,), delta)
        for k, size in enumerate(sizes)
    ]


def split_and_more(first: bool, deltas: tuple[float, float, float]) -> list[Asked]:
    """Two rows by two columns; the first row split in two; the split table under a larger δ."""
    return [
        Asked((0, 1, 0, 1, 2, 3), (2, 2), deltas[0], cells=first),
        Asked(same(6), (3, 2), deltas[1], follows=0, split=Split(0, (0, 0, 1))),
        Asked(same(6), (3, 2), deltas[2], follows=1),
    ]


def split_both_ways(delta: float) -> list[Asked]:
    """Two by two, its first row split, then its first column; totals only until the last."""
    columns = (0, 0, 1, 0, 0, 1, 2, 2, 3)
    rows = (0, 0, 1, 2, 2, 3, 4, 4, 5)
    return [
        Asked(columns, (2, 2), delta, cells=False),
        Asked(rows, (3, 2), delta, cells=False, follows=0, split=Split(0, (0, 0, 1))),
        Asked(same(9), (3, 3), delta, follows=1, split=Split(1, (0, 0, 1))),
    ]


def bins_and_more(shape: tuple[int, int], deltas: tuple[float, float, float]) -> list[Asked]:
    """Bins and their totals, then cells, then cells again under a larger δ."""
    return [replace(one, bins=shape) for one in totals_cells_more(shape, deltas)]


def bins_of_others(delta: float) -> list[Asked]:
    """Bins of three categories, a plain table of other people, and bins of a third set of them."""
    return [
        Asked((0, 1, 2, *[-1] * 5), (3,), delta, bins=(3,)),
        Asked((*[-1] * 3, 0, 1, *[-1] * 3), (2,), delta),
        Asked((*[-1] * 5, 0, 1, 2), (3,), delta, bins=(2,)),
    ]


def others_then_split(delta: float) -> list[Asked]:
    """A table of other people, then one whose row is split."""
    return [
        Asked((-1,) * 6 + (0,), (1,), delta),
        Asked((0, 1, 0, 1, 2, 3, -1), (2, 2), delta, cells=False),
        Asked((*same(6), -1), (3, 2), delta, follows=1, split=Split(0, (0, 0, 1))),
    ]


def alike(laws: list[Law], cells: int) -> list[list[CellPeople]]:
    """One point: the same people in every cell."""
    return [[cell_of(laws) for _ in range(cells)]]


def between(people: int, cells: int) -> list[list[CellPeople]]:
    """Three points of an interval."""
    return [[cell_of([law] * people) for _ in range(cells)] for law in (LOW, HALF, HIGH)]


CASES = {
    "totals, cells, a larger delta": (totals_cells_more((2, 2), (0.5, 0.5, 0.8)), alike([HALF] * 3, 4), 0.8),
    "the same of two types": (totals_cells_more((2, 2), (0.7, 0.7, 0.9)), alike([TWO, TWO, THREE], 4), 0.9),
    "the same of whole numbers": (totals_cells_more((2, 2), (0.98, 0.98, 0.999)), alike([WHOLE, SKEWED], 4), 0.97),
    "the same of an interval": (totals_cells_more((2, 2), (0.6, 0.6, 0.9)), between(3, 4), 0.85),
    "three tables of other people": (of_others(0.6), alike([HALF] * 2, 6), 0.9),
    "the same, two types": (of_others(0.7), alike([TWO, THREE], 6), 0.9),
    "the same, whole numbers": (of_others(0.98, (1, 1, 2)), [[cell_of([SKEWED] * many) for many in (3, 3, 2, 1)]], 0.97),
    "the same, an interval": (of_others(0.7), between(2, 6), 0.9),
    "a split, then a larger delta": (split_and_more(False, (0.7, 0.7, 0.9)), alike([HALF] * 2, 6), 0.9),
    "cells, a split, a larger delta": (split_and_more(True, (0.6, 0.8, 0.9)), alike([HALF] * 2, 6), 0.9),
    "a split of two types": (split_and_more(False, (0.8, 0.8, 0.95)), alike([TWO, THREE], 6), 0.95),
    "a split of an interval": (split_and_more(False, (0.8, 0.8, 0.95)), between(2, 6), 0.95),
    "splits of both sides": (split_both_ways(0.95), alike([HALF], 9), 0.97),
    "bins, cells, a larger delta": (bins_and_more((2, 2), (0.4, 0.5, 0.8)), alike([HALF] * 3, 4), 0.8),
    "bins of two types": (bins_and_more((3, 2), (0.7, 0.7, 0.9)), alike([TWO, THREE], 6), 0.9),
    "bins of an interval": (bins_and_more((2, 2), (0.6, 0.6, 0.9)), between(3, 4), 0.85),
    "bins of whole numbers": (bins_and_more((2, 2), (0.9, 0.95, 0.999)), alike([WHOLE, SKEWED], 4), 0.97),
    "bins of other people": (bins_of_others(0.7), alike([HALF] * 2, 8), 0.9),
    "other people, then a split": (others_then_split(0.95), alike([HALF] * 2, 7), 0.97),
}  # fmt: skip
QUICK = ("the same, whole numbers", "splits of both sides")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=pytest.mark.slow if name in QUICK else pytest.mark.proof)
        for name in CASES
    ],
)
def test_three_questions_break_at_most_what_is_spent(case: str, record_property):
    """Of three questions together the chance to break ε is at most what is spent, at every prior."""
    questions, points, epsilon = CASES[case]
    found, answers, stars = judged(questions, points, epsilon)
    assert all(answers)
    assert stars
    for broken, spent in found:
        assert broken <= spent + 1e-9
        assert spent <= max(one.delta for one in questions) + 1e-9
    record_property(case, f"broken {found[0][0]:.4f}, spent {found[0][1]:.4f}")
