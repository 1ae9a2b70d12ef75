"""Networks of integer flows: fractions that go up or down so that the sums of two trees are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.product import Reals, Whole

UNIT = 1 << 36
"""Fractions are counted in units of 2^−36, so that sums of them are exact."""
WHOLE = 1e-9
"""A number this close to an integer is that integer."""
_WINDOWS = (0.02, 0.06, 0.15, 0.3, 0.5)


def grouped(table: npt.NDArray[Any], labels: Any, axis: int) -> npt.NDArray[Any]:
    """Sums over groups of one axis; whole numbers stay whole."""
    if labels is None:
        return table
    if isinstance(labels, str) or table.shape[axis] == 0:
        return np.asarray(table.sum(axis=axis, keepdims=True))
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    return np.asarray(np.add.reduceat(np.take(table, order, axis=axis), first, axis=axis))


class Parts(NamedTuple):
    """The fractions of a table in whole units, and how well each is known, in units too."""

    units: Whole
    slack: Whole

    @classmethod
    def of(cls, reals: Reals, down: Reals) -> Parts:
        """What is left of each number above the integer below it.

        A fraction is known to a unit, and to what the number's own float holds; ten times 0.1 is 1.
        All slack together stays far below 1, so it cannot leave a network without a flow.
        """
        part = np.clip(reals - down, 0.0, 1.0)
        units = np.where(part < WHOLE, 0, np.rint(part * UNIT)).astype(np.int64)
        most = max(1, UNIT // 64 // max(1, int(np.count_nonzero(units))))
        slack = np.minimum(1 + np.abs(reals) * (2.0**-52 * UNIT), most).astype(np.int64)
        return cls(units, np.where(units > 0, slack, 0))

    @property
    def turned(self) -> Parts:
        """Rows as columns."""
        return Parts(self.units.T, self.slack.T)

    def grouped(self, labels: Whole) -> Parts:
        """The parts of sums over groups of rows."""
        return Parts(grouped(self.units, labels, 0), grouped(self.slack, labels, 0))

    def by(self, labels: Whole) -> Parts:
        """The parts of sums over elements with one label, in a list."""
        units, slack = np.zeros((2, int(labels.max()) + 1), dtype=np.int64)
        np.add.at(units, labels, self.units)
        np.add.at(slack, labels, self.slack)
        return Parts(units, slack)

    @property
    def bounds(self) -> tuple[Whole, Whole]:
        """The two integers each may become: one, where it is one already."""
        return (self.units + self.slack) // UNIT, -((self.slack - self.units) // UNIT)


class Network:
    """Elements that each lie in one node of either of two trees; every node's sum is kept.

    A circulation: total → first tree → elements → second tree → total. `first` and `second` give
    each element its node at every level, finest first; `apart` says which of several such networks,
    side by side, it belongs to. With `given` the finest nodes of the second tree hold exactly that.
    """

    def __init__(
        self,
        parts: Parts,
        first: Sequence[Whole],
        second: Sequence[Whole],
        apart: Whole,
        given: Whole | None = None,
        seed: int = 0,
    ) -> None:
        self.shape = parts.units.shape
        self.parts = Parts(parts.units.ravel(), parts.slack.ravel())
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
        part = (self.parts.units - self.least * UNIT) / UNIT
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
