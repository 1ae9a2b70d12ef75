"""Integers that keep their sums; shared by the methods that fit a table of fractions.

    largest_remainder   one list, or one in each group: totals kept, every value within 1
    controlled          a two-way table with nested subtotals on both sides: cells, rows, columns,
                        subtotals and the total all become a neighbouring integer (a network flow)
    systematic          any table: every run of cells in order is within 1, so the total too
    swap_repair         moves single units about until chosen margins come no closer

Everything here works on numbers that are protected already, so floats are fine; what comes back
is whole numbers whose promises hold exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..core.control import Control
from ..errors import Bug, InputError

Whole: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]

_WHOLE = 1e-9
"""A number this close to an integer is that integer."""
_WINDOWS = (0.02, 0.06, 0.15, 0.3, 0.5)
_FLOW_MOST = 1 << 30


def largest_remainder(
    values: npt.ArrayLike, total: int | None = None, *, groups: npt.ArrayLike | None = None
) -> Whole:
    """Round down, then up where most was lost, until the total is met; ties go to the first.

    Without a `total` it is the sum, rounded. `groups` gives each value a group from 0 on, and then
    each group keeps its own rounded sum (`total` is not allowed with it).

    >>> largest_remainder([1.4, 2.4, 3.4], 7)
    array([2, 2, 3])
    >>> largest_remainder([0.5, 0.5, 0.4, 0.6], groups=[0, 0, 1, 1])
    array([1, 0, 0, 1])
    """
    reals = _reals(values)
    if reals.ndim != 1:
        raise InputError(f"largest_remainder takes one list, got a table of {reals.ndim} axes.")
    down = np.floor(reals + _WHOLE)
    lost = reals - down
    if groups is None:
        wanted = int(np.rint(reals.sum())) if total is None else total
        more = wanted - int(down.sum())
        if not 0 <= more <= len(reals):
            raise InputError(
                f"A list that adds up to {reals.sum():.6g} cannot be rounded to {wanted}: every "
                "value may move by less than 1. Scale the list to the total first."
            )
        down[np.argsort(-lost, kind="stable")[:more]] += 1
        return down.astype(np.int64)
    label = np.asarray(groups, dtype=np.int64)
    if total is not None or label.shape != reals.shape:
        raise InputError("groups gives each value one group, and each group has its own total.")
    needed = np.rint(np.bincount(label, weights=lost)).astype(np.int64)
    order = np.lexsort((-lost, label))
    first = np.searchsorted(label[order], np.arange(len(needed)))
    rank = np.arange(len(order)) - first[label[order]]
    down[order] += rank < needed[label[order]]
    return down.astype(np.int64)


def controlled(
    table: npt.ArrayLike,
    *,
    row_groups: Sequence[npt.ArrayLike] = (),
    column_groups: Sequence[npt.ArrayLike] = (),
) -> Whole:
    """Round a two-way table so that each of its sums goes to one of its two nearest integers.

    That holds for cells, rows, columns, the total, and every subtotal of `row_groups` and
    `column_groups`: each a list of labels from 0 on, one for each row (column), finest first,
    every group lying within one group of the next list. A subtotal over a group of rows *and* a
    group of columns is not controlled: no network can do that.

    Cells near one half are the first to go to the farther integer. Such a rounding always exists
    (the fractions themselves are a flow, and a network whose bounds are integers has an integer
    flow), so this cannot fail.

    >>> rounded = controlled([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    >>> rounded.sum(axis=0), int(rounded.sum())
    (array([1, 1, 1]), 3)
    """
    reals = _reals(table)
    if reals.ndim != 2:
        raise InputError(
            f"controlled rounds a table of 2 axes, got {reals.ndim}. "
            "Use systematic and swap_repair for more."
        )
    down = np.floor(reals + _WHOLE)
    part = np.clip(reals - down, 0.0, 1.0)
    part[part < _WHOLE] = 0.0
    if part.size == 0 or not part.any():
        return down.astype(np.int64)
    rows = _laminar(row_groups, reals.shape[0], "row_groups")
    columns = _laminar(column_groups, reals.shape[1], "column_groups")
    # A flow fills arcs in the order it finds them: mixed up, so that no corner gets all the ups.
    mix = np.random.default_rng(0)
    down_side, across = mix.permutation(reals.shape[0]), mix.permutation(reals.shape[1])
    grid = np.ix_(down_side, across)
    rows, columns = [g[down_side] for g in rows], [g[across] for g in columns]
    for window in _WINDOWS:
        ups = _Network(part[grid], rows, columns, window).solve()
        if ups is not None:
            rounded = down.astype(np.int64)
            rounded[grid] += ups
            return rounded
    raise Bug("A table has no controlled rounding.")


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
        if chain:
            pairs = np.unique(np.stack([chain[-1], labels]), axis=1)
            if len(np.unique(pairs[0])) != pairs.shape[1]:
                raise InputError(
                    f"{name} must be nested: a group lies in two groups of the next list. "
                    "Give the finest list first."
                )
        chain.append(labels)
    return chain


class _Network:
    """A circulation: total → row groups → rows → columns → column groups → total.

    Every arc must carry the floor or the ceiling of its fraction. Cells farther than `window` from
    one half are held at their nearer integer.
    """

    def __init__(
        self, part: Reals, rows: Sequence[Whole], columns: Sequence[Whole], window: float
    ) -> None:
        self.shape = part.shape
        self.nodes = 2
        self.tails: list[Whole] = []
        self.heads: list[Whole] = []
        self.least: list[Whole] = []
        self.most: list[Whole] = []
        sums = part.sum(axis=1), part.sum(axis=0)
        self.rows = self._side(sums[0], rows, root=0, outward=True)
        self.columns = self._side(sums[1], columns, root=1, outward=False)
        near = np.rint(part)
        free = (np.abs(part - 0.5) <= window + _WHOLE) & (part > 0)
        tails = np.repeat(self.rows + np.arange(self.shape[0]), self.shape[1])
        heads = np.tile(self.columns + np.arange(self.shape[1]), self.shape[0])
        self._arcs(tails, heads, np.where(free, 0, near).ravel(), np.where(free, 1, near).ravel())
        total = part.sum(keepdims=True).ravel()
        self._between(np.array([1]), np.array([0]), total)

    def _side(self, sums: Reals, chain: Sequence[Whole], *, root: int, outward: bool) -> int:
        """The tree over the rows (or columns); returns where their own nodes start."""
        start = self.nodes
        self.nodes += len(sums)
        here: Whole = start + np.arange(len(sums))
        values = sums
        place = np.arange(len(sums))  # the row that stands for each node of this layer
        for labels in chain:
            group = labels[place]
            above = self.nodes + group
            self._between(above if outward else here, here if outward else above, values)
            count = int(labels.max()) + 1
            grouped = np.bincount(group, weights=values, minlength=count)
            known, first = np.unique(group, return_index=True)
            here, values, place = self.nodes + known, _reals(grouped[known]), place[first]
            self.nodes += count
        ends = np.full(len(here), root)
        self._between(ends if outward else here, here if outward else ends, values)
        return start

    def _between(self, tails: Whole, heads: Whole, values: Reals) -> None:
        self._arcs(tails, heads, np.floor(values + _WHOLE), np.ceil(values - _WHOLE))

    def _arcs(
        self,
        tails: Whole,
        heads: Whole,
        least: npt.NDArray[np.generic],
        most: npt.NDArray[np.generic],
    ) -> None:
        self.tails.append(np.asarray(tails, dtype=np.int64))
        self.heads.append(np.asarray(heads, dtype=np.int64))
        self.least.append(least.astype(np.int64))
        self.most.append(most.astype(np.int64))

    def solve(self) -> Whole | None:
        """Which cells go up, or None where the window is too narrow."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        tails, heads = np.concatenate(self.tails), np.concatenate(self.heads)
        least, most = np.concatenate(self.least), np.concatenate(self.most)
        if int(most.max(initial=0)) > _FLOW_MOST:
            raise InputError("A table this large cannot be rounded by one flow; split it.")
        supply = np.zeros(self.nodes, dtype=np.int64)
        np.add.at(supply, heads, least)
        np.add.at(supply, tails, -least)
        source, sink = self.nodes, self.nodes + 1
        gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
        room = most - least
        open_arcs = np.flatnonzero(room)
        ends = (
            np.concatenate([tails[open_arcs], np.full(len(gives), source), takes]),
            np.concatenate([heads[open_arcs], gives, np.full(len(takes), sink)]),
        )
        capacity = np.concatenate([room[open_arcs], supply[gives], -supply[takes]])
        make: Any = coo_array
        graph = make((capacity.astype(np.int32), ends), shape=(self.nodes + 2,) * 2).tocsr()
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
        found = maximum_flow(graph, source, sink)
        if found.flow_value != int(supply[gives].sum()):
            return None
        flow = found.flow.tocsr()[
            self.rows : self.rows + self.shape[0], self.columns : self.columns + self.shape[1]
        ]
        held = self.least[-2].reshape(self.shape)
        return held + np.asarray(flow.toarray(), dtype=np.int64)


def systematic(values: npt.ArrayLike, start: float = 0.5) -> Whole:
    """Round a table of any shape by its running sum: a whole total is kept.

    Every run of cells in order, so every margin over the leading axes and the total itself, goes
    to one of its two nearest integers. `start` in [0, 1) is where counting begins: a random one
    makes each cell right on average.

    >>> systematic([[0.25, 0.25], [0.25, 0.25], [0.5, 0.5]])
    array([[0, 1],
           [0, 0],
           [1, 0]])
    """
    reals = _reals(values)
    if (reals < 0).any():
        raise InputError("systematic rounds numbers ≥ 0. Fit the table first.")
    if not 0 <= start < 1:
        raise InputError(f"start must be ≥ 0 and < 1, got {start}.")
    running = np.floor(np.cumsum(reals.ravel()) + start + _WHOLE)
    return np.diff(running, prepend=0.0).astype(np.int64).reshape(reals.shape)


def swap_repair(
    table: Whole,
    targets: Mapping[tuple[int, ...], npt.ArrayLike],
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
    sweeps: int = 200,
    batch: int = 2000,
    control: Control | None = None,
) -> Whole:
    """Move single units between cells while the squared distance to the target margins falls.

    `targets` maps kept axes to a margin. No cell goes below 0, the total never changes, and cells
    not `allowed` stay empty. Moves are made in batches; a batch that does not help is taken back
    and a smaller one tried, so the result is never farther away than the table given.

    >>> swap_repair(np.array([[2, 0], [0, 0]]), {(0,): [1, 1], (1,): [1, 1]})
    array([[1, 0],
           [0, 1]])
    """
    shape, now = table.shape, np.array(table, dtype=np.int64)
    wanted = {kept: _reals(margin) for kept, margin in targets.items()}
    noise = np.random.default_rng(0)  # breaks ties; decides nothing else
    residuals, score = _residuals(now, wanted)
    size = min(batch, now.size)
    for sweep in range(sweeps):
        if size < 1 or score == 0:
            break
        if control is not None:
            control.step(sweep / sweeps, "repairing the rounded table")
        slope: Reals = np.zeros((1,) * len(shape))
        for kept, residual in residuals.items():
            slope = slope + residual.reshape(
                [length if axis in kept else 1 for axis, length in enumerate(shape)]
            )
        flat = np.broadcast_to(slope, shape).ravel() + noise.normal(0.0, 0.05, now.size)
        full = np.flatnonzero(now.ravel() > 0)
        into = np.arange(now.size) if allowed is None else np.flatnonzero(allowed.ravel())
        moved = min(size, len(full), len(into))
        if moved == 0:
            break
        out = full[np.argsort(-flat[full])[:moved]]
        better = into[np.argsort(flat[into])[:moved]]
        useful = flat[out] - flat[better] > 0
        trial = now.ravel().copy()
        np.subtract.at(trial, out[useful], 1)
        np.add.at(trial, better[useful], 1)
        after, reached = _residuals(trial.reshape(shape), wanted)
        if reached < score:
            now, residuals, score = trial.reshape(shape), after, reached
            size = min(now.size, size + size // 8 + 1)
        else:
            size //= 2
    return now


def _residuals(
    table: Whole, targets: Mapping[tuple[int, ...], Reals]
) -> tuple[dict[tuple[int, ...], Reals], float]:
    found = {}
    for kept, target in targets.items():
        gone = tuple(axis for axis in range(table.ndim) if axis not in kept)
        found[kept] = table.sum(axis=gone) - target
    return found, float(sum((residual**2).sum() for residual in found.values()))


def _reals(values: npt.ArrayLike) -> Reals:
    reals = np.asarray(values, dtype=np.float64)
    if not np.isfinite(reals).all():
        raise InputError("A table to be rounded holds a number that is not finite.")
    return reals
