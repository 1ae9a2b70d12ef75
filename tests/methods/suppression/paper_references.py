"""nabar's own two ways to the law of a data set given its totals, for tables of a few people.

§5.2.1 takes people one after the other and keeps the joint law of all totals so far. §5.2.2 sees a data
set as a flow: people are edges between rows and columns, those with the attribute are chosen, and each
row and column has as many chosen edges as its total; such sets of edges are perfect matchings of a
larger graph, counted by a permanent. Neither knows of weights of cells.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class People:
    """Everybody by cell and probability, and the totals that are out."""

    cells: tuple[tuple[int, int], ...]
    chance: tuple[float, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def by_dynamic_programme(people: People) -> list[float]:
    """P(a person has the attribute | totals), for each: §5.2.1, forwards and backwards."""
    forward = [{(people.rows, people.columns): 1.0}]
    for (i, j), p in zip(people.cells, people.chance, strict=True):
        forward.append(_step(forward[-1], i, j, p))
    end = (0,) * len(people.rows), (0,) * len(people.columns)
    backward: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {end: 1.0}
    found = [0.0] * len(people.cells)
    whole = forward[-1].get(end, 0.0)
    for k in reversed(range(len(people.cells))):
        (i, j), p = people.cells[k], people.chance[k]
        before: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for state, weight in forward[k].items():
            taken = _less(state, i, j)
            with_it = p * backward.get(taken, 0.0) if taken is not None else 0.0
            before[state] = with_it + (1 - p) * backward.get(state, 0.0)
            found[k] += weight * with_it
        backward = before
    return [one / whole for one in found]


def _step(states: dict, i: int, j: int, p: float) -> dict:
    after: dict = defaultdict(float)
    for state, weight in states.items():
        after[state] += weight * (1 - p)
        taken = _less(state, i, j)
        if taken is not None:
            after[taken] += weight * p
    return after


def _less(state: tuple, i: int, j: int) -> tuple | None:
    rows, columns = state
    if not rows[i] or not columns[j]:
        return None
    return (
        (*rows[:i], rows[i] - 1, *rows[i + 1 :]),
        (*columns[:j], columns[j] - 1, *columns[j + 1 :]),
    )


def by_matchings(people: People) -> list[float]:
    """The same by permanents: §5.2.2."""
    odds = [p / (1 - p) for p in people.chance]
    whole = permanent(_graph(people, odds))
    return [
        1 - permanent(_graph(people, [0.0 if k == one else w for k, w in enumerate(odds)])) / whole
        for one in range(len(odds))
    ]


def data_sets_by_matchings(people: People) -> float:
    """Σ of the odds of all data sets with these totals."""
    odds = [p / (1 - p) for p in people.chance]
    spare = [
        sum(cell[side] == vertex for cell in people.cells) - total
        for side, totals in enumerate((people.rows, people.columns))
        for vertex, total in enumerate(totals)
    ]
    return permanent(_graph(people, odds)) / math.prod(math.factorial(n) for n in spare)


def _graph(people: People, odds: list[float]) -> np.ndarray:
    """A bipartite graph whose perfect matchings are the data sets.

    Each person has an end at its row and one at its column, joined by an edge with its odds: matched
    so, it has the attribute. Otherwise both ends are matched to spare vertices, of which every total
    has as many as people of its that do not have the attribute.
    """
    size = len(people.cells)
    spare_columns = _spare(people, 1)
    spare_rows = _spare(people, 0)
    graph = np.zeros((size + len(spare_columns), size + len(spare_rows)))
    for k, (i, j) in enumerate(people.cells):
        graph[k, k] = odds[k]
        for place, row in enumerate(spare_rows):
            graph[k, size + place] = row == i
        for place, column in enumerate(spare_columns):
            graph[size + place, k] = column == j
    return graph


def _spare(people: People, side: int) -> list[int]:
    totals = (people.rows, people.columns)[side]
    found = []
    for vertex, total in enumerate(totals):
        found += [vertex] * (sum(cell[side] == vertex for cell in people.cells) - total)
    return found


def permanent(matrix: np.ndarray) -> float:
    """By rows, with the law of which columns are taken: exact for a few rows, nothing cancels."""
    taken = {0: 1.0}
    for row in matrix:
        after: dict[int, float] = defaultdict(float)
        places = np.flatnonzero(row).tolist()
        for (used, weight), place in itertools.product(taken.items(), places):
            if not used >> place & 1:
                after[used | 1 << place] += weight * float(row[place])
        taken = after
    return sum(taken.values())
