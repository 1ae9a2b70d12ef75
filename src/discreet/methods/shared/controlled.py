"""Controlled rounding: a two-way table with subtotals in whole numbers, every sum kept.

A sum is *kept* if it goes to one of its two nearest integers. Let rows i lie in groups g, columns j
in groups h. The sums of such a table are

    i×j  cells        i×all, g×all  rows and their groups        g×j  a group in one column
    all×all  total    all×j, all×h  columns and their groups     i×h  a row in one group
                                                                 g×h  a group in a group

**What is certain.** All of them but g×h are two nested families, (i×h ⊂ i ⊂ g ⊂ all) and
(g×j ⊂ j ⊂ h ⊂ all): a network whose bounds are integers and which the fractions themselves satisfy,
so it has an integer flow. With groups on one side only there is no g×h, and every sum is kept.

**What is tried.** With groups on both sides the g×h make it a problem in which an answer need not
exist, and finding one is hard in general. So from the top down: first groups × columns with the
column groups, which is a network again, then the rows of each group with the group's columns given.
Where that fails it is tried the other way about and in another order; tables with few fractions
(`_SMALL`) then as an integer program. Only if everything fails are g×h left to themselves, and all
else is kept. Dense tables of any size tried succeed at once; large ones with few fractions in a
group (a tenth of 1000 × 1000 cells) may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ...errors import Bug, InputError

Whole: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]

_UNIT = 1 << 36
"""Fractions are counted in units of 2^−36, so that sums of them are exact."""
_WHOLE = 1e-9
"""A number this close to an integer is that integer."""
_MOST = float(1 << 62)
_MOST_CELLS = 1 << 26
_WINDOWS = (0.02, 0.06, 0.15, 0.3, 0.5)
_ORDERS = 4
_SMALL = 4000
_NODES = 200


def controlled(
    table: npt.ArrayLike,
    *,
    row_groups: Sequence[npt.ArrayLike] = (),
    column_groups: Sequence[npt.ArrayLike] = (),
) -> Whole:
    """Round a two-way table so that each of its sums goes to one of its two nearest integers.

    That always holds for cells, rows, columns, the total, every subtotal of `row_groups` and of
    `column_groups`, also within one column or row. Each is a list of labels from 0 on, one for each
    row (column), finest first, every group lying within one group of the next list. Subtotals over
    a group of rows *and* a group of columns are kept too wherever such a table is found; there need
    not be one, and `worst_sum` says how far they are off.

    Cells near one half are the first to go to the farther integer.

    >>> rounded = controlled([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    >>> rounded.sum(axis=0), int(rounded.sum())
    (array([1, 1, 1]), 3)
    """
    reals = _checked(table)
    rows = _laminar(row_groups, reals.shape[0], "row_groups")
    columns = _laminar(column_groups, reals.shape[1], "column_groups")
    down = np.floor(reals + _WHOLE)
    parts = _Parts.of(reals, down)
    if not parts.units.any():
        return down.astype(np.int64)
    return down.astype(np.int64) + _ups(parts, rows, columns)


def worst_sum(
    table: npt.ArrayLike,
    rounded: npt.ArrayLike,
    *,
    row_groups: Sequence[npt.ArrayLike] = (),
    column_groups: Sequence[npt.ArrayLike] = (),
) -> float:
    """The farthest any sum is from its own: groups in groups, rows, columns, cells, the total.

    >>> worst_sum([[0.5, 0.5]], [[1, 1]])
    1.0
    """
    off = np.asarray(rounded, dtype=np.float64) - _checked(table)
    rows = _laminar(row_groups, off.shape[0], "row_groups")
    columns = _laminar(column_groups, off.shape[1], "column_groups")
    sums = (_grouped(_grouped(off, side, 0), across, 1) for side, across in _crosses(rows, columns))
    return max(float(np.abs(found).max(initial=0.0)) for found in sums)


def _checked(table: npt.ArrayLike) -> Reals:
    reals = np.asarray(table, dtype=np.float64)
    if not np.isfinite(reals).all():
        raise InputError("A table to be rounded holds a number that is not finite.")
    if reals.ndim != 2:
        raise InputError(
            f"controlled rounds a table of 2 axes, got {reals.ndim}. "
            "Use systematic and swap_repair for more."
        )
    if (np.abs(reals) >= _MOST).any() or reals.size > _MOST_CELLS:
        raise InputError(
            f"A table to be rounded may have up to {_MOST_CELLS:,} cells, each below 2^62. Split it."
        )
    return reals


def _laminar(groups: Sequence[npt.ArrayLike], length: int, name: str) -> list[Whole]:
    """The chain of labels, checked: each list as long as the side, each group inside the next."""
    chain: list[Whole] = []
    for given in groups:
        labels = np.asarray(given, dtype=np.int64)
        if labels.shape != (length,) or (labels < 0).any():
            raise InputError(
                f"{name} must hold lists of {length} labels from 0 on, got one of shape "
                f"{labels.shape}."
            )
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        if chain:
            pairs = np.unique(np.stack([chain[-1], labels]), axis=1)
            if len(np.unique(pairs[0])) != pairs.shape[1]:
                raise InputError(
                    f"{name} must be nested: a group lies in two groups of the next list. "
                    "Give the finest list first."
                )
        chain.append(labels)
    return chain


def _crosses(rows: Sequence[Whole], columns: Sequence[Whole]) -> Iterator[tuple[Any, Any]]:
    """Every level of one side with every level of the other; None is the side itself."""
    for side in (None, *rows, "all"):
        for across in (None, *columns, "all"):
            yield side, across


def _grouped(table: npt.NDArray[Any], labels: Any, axis: int) -> npt.NDArray[Any]:
    """Sums over groups of one axis; whole numbers stay whole."""
    if labels is None:
        return table
    if isinstance(labels, str) or table.shape[axis] == 0:
        return np.asarray(table.sum(axis=axis, keepdims=True))
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    return np.asarray(np.add.reduceat(np.take(table, order, axis=axis), first, axis=axis))


def _pairs(left: Whole, right: Whole) -> Whole:
    """One label for each pair of labels."""
    return left * (int(right.max()) + 1) + right


def _places(table: Whole) -> tuple[Whole, Whole]:
    """The row and the column of every element."""
    places = np.indices(table.shape, dtype=np.int64)
    return np.asarray(places[0]), np.asarray(places[1])


class _Parts(NamedTuple):
    """The fractions of a table in whole units, and how well each is known, in units too."""

    units: Whole
    slack: Whole

    @classmethod
    def of(cls, reals: Reals, down: Reals) -> _Parts:
        """What is left of each number above the integer below it.

        A fraction is known to a unit, and to what the number's own float holds; ten times 0.1 is 1.
        All slack together stays far below 1, so it cannot leave a network without a flow.
        """
        part = np.clip(reals - down, 0.0, 1.0)
        units = np.where(part < _WHOLE, 0, np.rint(part * _UNIT)).astype(np.int64)
        most = max(1, _UNIT // 64 // max(1, int(np.count_nonzero(units))))
        slack = np.minimum(1 + np.abs(reals) * (2.0**-52 * _UNIT), most).astype(np.int64)
        return cls(units, np.where(units > 0, slack, 0))

    @property
    def turned(self) -> _Parts:
        """Rows as columns."""
        return _Parts(self.units.T, self.slack.T)

    def grouped(self, labels: Whole) -> _Parts:
        """The parts of sums over groups of rows."""
        return _Parts(_grouped(self.units, labels, 0), _grouped(self.slack, labels, 0))

    def by(self, labels: Whole) -> _Parts:
        """The parts of sums over elements with one label, in a list."""
        units, slack = np.zeros((2, int(labels.max()) + 1), dtype=np.int64)
        np.add.at(units, labels, self.units)
        np.add.at(slack, labels, self.slack)
        return _Parts(units, slack)

    @property
    def bounds(self) -> tuple[Whole, Whole]:
        """The two integers each may become: one, where it is one already."""
        return (self.units + self.slack) // _UNIT, -((self.slack - self.units) // _UNIT)


# -- which cells go up --------------------------------------------------------------------------


def _ups(parts: _Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole:
    """0 or 1 for each cell of the fractions, by the first way that keeps every sum."""
    if not rows or not columns:
        return _at_once(parts, rows, columns)
    for turn in range(_ORDERS):
        found = _from_the_top(parts, rows, columns, turn)
        if found is not None:
            return found
        found = _from_the_top(parts.turned, columns, rows, turn)
        if found is not None:
            return found.T
    if np.count_nonzero(parts.units) <= _SMALL:
        found = _as_program(parts, rows, columns)
        if found is not None:
            return found
    return _at_once(parts, rows, columns)


def _at_once(parts: _Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole:
    """One network for all sums but groups in groups; always finds a table."""
    i, j = _places(parts.units)
    first = [*(_pairs(i, h[j]) for h in columns), i, *(g[i] for g in rows)]
    second = [*(_pairs(j, g[i]) for g in rows), j, *(h[j] for h in columns)]
    found = _Network(parts, first, second, np.zeros_like(i)).solve()
    if found is None:
        raise Bug("A table has no controlled rounding.")
    return found


def _from_the_top(
    parts: _Parts, rows: Sequence[Whole], columns: Sequence[Whole], turn: int
) -> Whole | None:
    """The coarsest row groups × columns; then each finer level, given what its parents hold."""
    above: Whole | None = None
    parents: Whole = np.zeros(0, dtype=np.int64)
    for labels in [*rows[::-1], np.arange(parts.units.shape[0])]:
        sums = parts.grouped(labels)
        g, j = _places(sums.units)
        first = [*(_pairs(g, h[j]) for h in columns), g]
        if above is None:
            second, apart = [j, *(h[j] for h in columns)], np.zeros_like(g)
        else:
            parent = np.zeros(g.shape[0], dtype=np.int64)
            parent[labels] = parents
            second, apart = [parent[g] * g.shape[1] + j], parent[g]
        above = _Network(sums, first, second, apart, above, turn).solve()
        if above is None:
            return None
        parents = labels
    return above


class _Network:
    """Elements that each lie in one node of either of two trees; every node's sum is kept.

    A circulation: total → first tree → elements → second tree → total. `first` and `second` give
    each element its node at every level, finest first; `apart` says which of several such networks,
    side by side, it belongs to. With `given` the finest nodes of the second tree hold exactly that.
    """

    def __init__(
        self,
        parts: _Parts,
        first: Sequence[Whole],
        second: Sequence[Whole],
        apart: Whole,
        given: Whole | None = None,
        seed: int = 0,
    ) -> None:
        self.shape = parts.units.shape
        self.parts = _Parts(parts.units.ravel(), parts.slack.ravel())
        self.least, self.most = self.parts.bounds
        self.apart = apart.ravel()
        self.roots = int(self.apart.max()) + 1
        self.nodes = 2 * self.roots
        self.owner = [np.tile(np.arange(self.roots), 2)]
        self.arcs: list[tuple[Whole, Whole, Whole, Whole]] = []
        self.tails = self._tree([f.ravel() for f in first], outward=True)
        self.heads = self._tree([s.ravel() for s in second], outward=False, given=given)
        roots = np.arange(self.roots)
        self.arcs.append((roots + self.roots, roots, *self.parts.by(self.apart).bounds))
        # A flow fills arcs in the order it finds them: mixed up, so that no corner gets all the ups.
        self.mixed = np.random.default_rng(seed).permutation(self.nodes)

    def _tree(self, levels: Sequence[Whole], *, outward: bool, given: Whole | None = None) -> Whole:
        """Arcs between the roots and the finest level; returns each element's finest node."""
        start = self.nodes
        for place, labels in enumerate(levels):
            count = int(labels.max()) + 1
            here = self.nodes + np.arange(count)
            self.nodes += count
            owner = np.zeros(count, dtype=np.int64)
            owner[labels] = self.apart
            self.owner.append(owner)
            if place + 1 < len(levels):
                above = np.full(count, self.nodes)
                above[labels] += levels[place + 1]
            else:
                above = owner if outward else owner + self.roots
            if given is not None and place == 0:
                bounds = given.ravel(), given.ravel()
            else:
                bounds = self.parts.by(labels).bounds
            self.arcs.append((*((above, here) if outward else (here, above)), *bounds))
        return start + levels[0]

    def solve(self) -> Whole | None:
        """What each element becomes, as near as a few tries go; None where there is no flow."""
        part = (self.parts.units - self.least * _UNIT) / _UNIT
        near = np.where(part > 0.5, self.most, self.least)
        step = np.zeros(self.roots, dtype=np.int64)
        while True:
            reach = np.array(_WINDOWS)[step][self.apart]
            free = np.flatnonzero((self.most > self.least) & (np.abs(part - 0.5) <= reach))
            made, stuck = self._flow(near, free)
            if len(stuck) == 0:
                return made.reshape(self.shape)
            step[stuck] += 1
            if step.max() == len(_WINDOWS):
                return None

    def _flow(self, near: Whole, free: Whole) -> tuple[Whole, Whole]:
        """Elements after one flow, and the networks that did not work out.

        All start at their nearer integer; the flow moves free ones to the other where it must.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        made: Whole = near.copy()
        back = near[free] > self.least[free]
        leaves = np.where(back, self.heads[free], self.tails[free])
        enters = np.where(back, self.tails[free], self.heads[free])
        tails, heads, least, most = (
            np.concatenate(parts) for parts in zip(*self.arcs, strict=True)
        )
        supply = np.zeros(self.nodes, dtype=np.int64)
        for nodes, amounts in ((heads, least), (self.heads, made)):
            np.add.at(supply, nodes, amounts)
        for nodes, amounts in ((tails, least), (self.tails, made)):
            np.add.at(supply, nodes, -amounts)
        source, sink = self.nodes, self.nodes + 1
        place = np.append(self.mixed, [source, sink])
        gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
        wide = np.flatnonzero(most > least)
        parts = (
            (tails[wide], heads[wide], (most - least)[wide]),
            (leaves, enters, np.ones(len(free), dtype=np.int64)),
            (np.full(len(gives), source), gives, supply[gives]),
            (takes, np.full(len(takes), sink), -supply[takes]),
        )
        leave, enter, room = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        make: Any = coo_array
        shape = (self.nodes + 2,) * 2
        graph = make((room.astype(np.int32), (place[leave], place[enter])), shape=shape).tocsr()
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
        flow = maximum_flow(graph, source, sink).flow.tocsr()
        flow.sort_indices()
        begin, end = flow.indptr[source : source + 2]
        given = np.zeros(shape[0], dtype=np.int64)
        given[flow.indices[begin:end]] = flow.data[begin:end]
        owner = np.concatenate(self.owner)
        stuck = np.unique(owner[gives[given[place[gives]] < supply[gives]]])
        arcs = np.repeat(np.arange(shape[0]), np.diff(flow.indptr)) * shape[0] + flow.indices
        wanted = place[leaves] * shape[0] + place[enters]
        at = np.minimum(np.searchsorted(arcs, wanted), len(arcs) - 1)
        if len(free):
            moved = np.where(arcs[at] == wanted, np.maximum(flow.data[at], 0), 0)
            made[free] += np.where(back, -moved, moved)
        return made, stuck


def _as_program(parts: _Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole | None:
    """An integer program for a small table: the nearest one found that keeps every sum."""
    from scipy import optimize, sparse

    solver, arrays = cast(Any, optimize), cast(Any, sparse)
    cells = np.flatnonzero(parts.units)
    i, j = np.unravel_index(cells, parts.units.shape)
    free = _Parts(parts.units.ravel()[cells], parts.slack.ravel()[cells])
    blocks, least, most = [], [], []
    for side, across in _crosses(rows, columns):
        if side is None and across is None:
            continue
        first = i if side is None else np.zeros_like(i) if isinstance(side, str) else side[i]
        second = j if across is None else np.zeros_like(j) if isinstance(across, str) else across[j]
        label = np.unique(_pairs(first, second), return_inverse=True)[1]
        blocks.append(arrays.coo_array((np.ones(len(cells)), (label, np.arange(len(cells))))))
        low, high = free.by(label).bounds
        least.append(low)
        most.append(high)
    low, high = free.bounds
    found = solver.milp(
        1 - 2 * free.units / _UNIT,
        integrality=np.ones(len(cells)),
        bounds=solver.Bounds(low, high),
        constraints=solver.LinearConstraint(
            arrays.vstack(blocks, format="csr"), np.concatenate(least), np.concatenate(most)
        ),
        options={"node_limit": _NODES, "mip_rel_gap": 0.1},
    )
    if found.x is None:
        return None
    out = np.zeros(parts.units.size, dtype=np.int64)
    out[cells] = np.rint(found.x).astype(np.int64)
    return out.reshape(parts.units.shape)
