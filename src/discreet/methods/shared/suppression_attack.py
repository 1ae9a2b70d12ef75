"""What an intruder recovers of a table with hidden cells: intervals, and what the rule adds (nabar §3).

From the totals every hidden count lies in an interval; for two-way tables its ends are whole numbers,
so integrality adds nothing to them. Who knows the rule by which cells were hidden can try every table
that fits the totals and keep those the rule would have hidden in just this way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ...languages import say

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MOST_TABLES, MOST_LINKED = 400, 25
"""So many fitting tables are tried against the rule, of linked ones fewer: each is hidden anew."""
MOST_STEPS = 200_000
"""So many counts are filled in in search of fitting tables; with more of either it is not run."""
NEAR = 2


@dataclass(frozen=True)
class Attacked:
    """What is known of each hidden cell, in the order of its place."""

    places: tuple[tuple[int, ...], ...]
    low: Whole
    high: Whole
    tables: tuple[Whole, ...] | None = field(default=None, repr=False)
    """Every table that fits totals, bounds and the rule; None where there are too many to try."""
    fitting: int | None = None
    """How many fit totals and bounds."""
    linked: bool = False
    """Whether totals are hidden too, or other tables are published with this one."""

    @property
    def exact(self) -> int:
        """How many hidden counts totals and bounds alone give away."""
        return int((self.low == self.high).sum())

    def by_rule(self) -> tuple[Whole, Whole] | None:
        """The interval of each hidden count for who knows the rule."""
        if not self.tables:
            return None
        found = np.array([[table[place] for place in self.places] for table in self.tables])
        return found.min(axis=0), found.max(axis=0)

    def sentences(self) -> tuple[str, ...]:
        """The figures in words."""
        many, width = len(self.places), self.high - self.low
        facts = {
            "many": many,
            "exact": self.exact,
            "near": int((width <= 2 * NEAR).sum()),
            "near_2": NEAR,
            "median": int(np.median(width)) + 1,
        }
        said = [
            say(
                "Attack by linked tables and totals: of {many} hidden counts {exact} can be worked "
                "out exactly, {near} to within ± {near_2}; the median interval is {median} counts "
                "wide.",
                **facts,
            )
            if self.linked
            else say(
                "Attack by totals: of {many} hidden counts {exact} can be worked out exactly, "
                "{near} to within ± {near_2}; the median interval is {median} counts wide.",
                **facts,
            )
        ]
        ends = self.by_rule()
        if ends is not None:
            sure = int((ends[1] - ends[0] == 0).sum())
            said.append(
                say(
                    "Attack by the rule: of {fitting} tables that fit, {many} would be hidden in "
                    "this way; who tries them all knows {sure} of {many_2} hidden counts exactly.",
                    fitting=self.fitting,
                    many=len(self.tables or ()),
                    sure=sure,
                    many_2=many,
                )
            )
        elif self.linked:
            said.append(
                say("Attack by the rule: too many linked tables fit what is shown to try them all.")
            )
        else:
            said.append(
                say("Attack by the rule: too many tables fit the totals to try them all here.")
            )
        return tuple(said)


def attack(
    grid: Whole,
    rows: Whole,
    columns: Whole | None,
    rule: Callable[[Whole], Flags] | None = None,
    most: Whole | None = None,
) -> Attacked:
    """Attack a table: −1 where a count is hidden, its row totals and, where published, columns'."""
    hidden = grid == -1
    places = [(int(i), int(j)) for i, j in np.argwhere(hidden)]
    shown = np.where(hidden, 0, grid)
    left_rows = rows - shown.sum(axis=1)
    left_columns = None if columns is None else columns - shown.sum(axis=0)
    bounds = [(0, int(most[p]) if most is not None else int(left_rows[p[0]])) for p in places]
    published, sums = _sums(places, left_rows, left_columns)
    low, high = intervals(published, sums, np.eye(len(places)), bounds)
    if rule is None:
        return Attacked(tuple(places), low, high)
    fitting = fitting_counts(published, sums, low, high, MOST_TABLES)
    if fitting is None:
        return Attacked(tuple(places), low, high)
    tables = []
    for counts in fitting:
        table = grid.copy()
        table[hidden] = counts
        if np.array_equal(rule(table), hidden):
            tables.append(table)
    return Attacked(tuple(places), low, high, tuple(tables), len(fitting))


def _sums(
    places: list[tuple[int, int]], rows: Whole, columns: Whole | None
) -> tuple[npt.NDArray[np.int64], Whole]:
    """What is published of hidden counts: which of them each row and column sums, and to what."""
    lines = [[k for k, place in enumerate(places) if place[0] == i] for i in range(len(rows))]
    sums = list(rows)
    if columns is not None:
        lines += [
            [k for k, place in enumerate(places) if place[1] == j] for j in range(len(columns))
        ]
        sums += list(columns)
    matrix = np.zeros((len(lines), len(places)), dtype=np.int64)
    for line, members in enumerate(lines):
        matrix[line, members] = 1
    used = matrix.any(axis=1)
    return matrix[used], np.array(sums)[used]


def intervals(
    published: Any, values: Whole, wanted: Any, bounds: list[tuple[int, int]]
) -> tuple[Whole, Whole]:
    """Between what sums of unknown counts lie, given published sums of them; rows of 0 and 1."""
    optimize: Any = import_module("scipy.optimize")
    low, high = (np.zeros(wanted.shape[0], np.int64) for _ in range(2))
    for k in range(wanted.shape[0]):
        goal = np.asarray(wanted[k]).ravel()
        for sign, ends in ((1, low), (-1, high)):
            solved = optimize.linprog(
                sign * goal, A_eq=published, b_eq=values, bounds=bounds, method="highs"
            )
            ends[k] = round(sign * solved.fun)
    return low, high


def fitting_counts(
    published: Any, values: Whole, low: Whole, high: Whole, most: int
) -> list[Whole] | None:
    """Every way to fill in hidden counts with these published sums; None: too many to find them.

    >>> rows = np.array([[1, 1, 0], [0, 1, 1]])
    >>> low, high = np.zeros(3, int), np.full(3, 2)
    >>> [one.tolist() for one in fitting_counts(rows, np.array([2, 1]), low, high, 9)]
    [[1, 1, 0], [2, 0, 1]]
    """
    sums = np.asarray(published, dtype=np.int64)
    many = sums.shape[1]
    least, largest = (
        np.cumsum((sums * ends)[:, ::-1], axis=1)[:, ::-1] for ends in (low, high)
    )  # of the counts from each on
    nothing = np.zeros((len(sums), 1), dtype=np.int64)
    least, largest = np.hstack([least, nothing]), np.hstack([largest, nothing])
    found: list[Whole] = []
    counts, steps = np.zeros(many, dtype=np.int64), itertools.count()

    def fill(k: int, left: Whole) -> bool:
        """Fill in the counts from one on; False: stopped."""
        if k == many:
            found.append(counts.copy())
            return len(found) <= most
        for count in range(int(low[k]), int(high[k]) + 1):
            rest = left - count * sums[:, k]
            if next(steps) > MOST_STEPS:
                return False
            if (rest < least[:, k + 1]).any() or (rest > largest[:, k + 1]).any():
                continue
            counts[k] = count
            if not fill(k + 1, rest):
                return False
        return True

    return found if fill(0, np.asarray(values, dtype=np.int64)) else None
