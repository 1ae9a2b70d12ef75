"""What an intruder recovers of a table with hidden cells: intervals, and what the rule adds (nabar §3).

From the totals every hidden count lies in an interval; for two-way tables its ends are whole numbers,
so integrality adds nothing to them. Who knows the rule by which cells were hidden can try every table
that fits the totals and keep those the rule would have hidden in just this way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ...languages import say

optimize: Any = import_module("scipy.optimize")

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MOST_TABLES = 400
"""So many fitting tables are tried against the rule; with more, that attack is not run."""
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
            said.append(say("Attack by the rule: not tried on linked tables and hidden totals."))
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
    low, high = _ends(places, left_rows, left_columns, bounds)
    if rule is None:
        return Attacked(tuple(places), low, high)
    every = _fitting(places, grid, left_rows, left_columns, low, high)
    fitting = list(itertools.islice(every, MOST_TABLES + 1))
    if len(fitting) > MOST_TABLES:
        return Attacked(tuple(places), low, high)
    tables = tuple(table for table in fitting if np.array_equal(rule(table), hidden))
    return Attacked(tuple(places), low, high, tables, len(fitting))


def _ends(
    places: list[tuple[int, int]],
    rows: Whole,
    columns: Whole | None,
    bounds: list[tuple[int, int]],
) -> tuple[Whole, Whole]:
    """The least and the largest each hidden count can be."""
    lines = [[k for k, place in enumerate(places) if place[0] == i] for i in range(len(rows))]
    sums = list(rows)
    if columns is not None:
        lines += [
            [k for k, place in enumerate(places) if place[1] == j] for j in range(len(columns))
        ]
        sums += list(columns)
    matrix = np.zeros((len(lines), len(places)))
    for line, members in enumerate(lines):
        matrix[line, members] = 1
    used = matrix.any(axis=1)
    return intervals(matrix[used], np.array(sums)[used], np.eye(len(places)), bounds)


def intervals(
    published: Any, values: Whole, wanted: Any, bounds: list[tuple[int, int]]
) -> tuple[Whole, Whole]:
    """Between what sums of unknown counts lie, given published sums of them; rows of 0 and 1."""
    low, high = (np.zeros(wanted.shape[0], np.int64) for _ in range(2))
    for k in range(wanted.shape[0]):
        goal = np.asarray(wanted[k]).ravel()
        for sign, ends in ((1, low), (-1, high)):
            solved = optimize.linprog(
                sign * goal, A_eq=published, b_eq=values, bounds=bounds, method="highs"
            )
            ends[k] = round(sign * solved.fun)
    return low, high


def _fitting(
    places: list[tuple[int, int]],
    grid: Whole,
    rows: Whole,
    columns: Whole | None,
    low: Whole,
    high: Whole,
) -> Iterator[Whole]:
    """Every table that fits, hidden cells filled in one after the other."""
    last_row = {place[0]: k for k, place in enumerate(places)}
    last_column = {place[1]: k for k, place in enumerate(places)}
    table = grid.copy()
    rows, columns = rows.copy(), None if columns is None else columns.copy()

    def fill(k: int) -> Iterator[Whole]:
        if k == len(places):
            yield table.copy()
            return
        i, j = places[k]
        room = int(rows[i]) if columns is None else min(int(rows[i]), int(columns[j]))
        for count in range(int(low[k]), min(int(high[k]), room) + 1):
            if last_row[i] == k and count != rows[i]:
                continue
            if columns is not None and last_column[j] == k and count != columns[j]:
                continue
            table[i, j] = count
            rows[i] -= count
            if columns is not None:
                columns[j] -= count
            yield from fill(k + 1)
            rows[i] += count
            if columns is not None:
                columns[j] += count

    yield from fill(0)
