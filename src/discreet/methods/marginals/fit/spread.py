"""A fitted table spread over many cells: the same margins, as even as they allow beyond them.

The sparse fit puts all records on a few hundred cells, which is a poor guess of anything that was
not measured. Of all tables with its margins the most even one assumes least about the rest. So rows
are drawn along a tree of the most dependent pairs (Chow and Liu), the fit's own cells are added so
that its margins stay within reach, all are raked to the margins, rounded, and single records moved
while the margins come nearer to the fit. Only the fit is looked at, so this costs nothing; where it
would bring the margins farther from the fit than a small part of the noise, the table stays as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np

from ....core.control import Control
from ....core.product import Margin, Reals, Rows, Shape, Whole, addresses
from ...shared.rounding import systematic
from ...shared.synthetic_table import SyntheticTable
from .cells import least, rows_at, summed

_SEED = 20070611
_FEWEST = 4_000
MOST_ROWS, MOST_PLACES = 120_000, 10_000_000
"""Rows drawn at most, whatever the number of records; and rows times margins."""
_ALL_CELLS = 300_000
"""Up to so many cells times margins every cell is taken instead of drawn ones."""
_OWN = 0.05
"""The share of the fit's own cells among the rows to begin with."""
_RAKES = 20
_NEAR = 0.3
_MOVES = 150
_BATCH = 2_000
_SINGLE, _LOOK, _WORK = 400, 8, 30_000_000
_OF_NOISE = 0.02
_ENOUGH = 0.001
"""How much farther from the fit margins may be, and when they are near enough to stop, as parts of
the variance of the noise."""


def spread_out(
    table: SyntheticTable,
    targets: Mapping[Margin, Reals],
    *,
    noise: float,
    allowed: Callable[[Rows], Reals] | None = None,
    control: Control | None = None,
) -> SyntheticTable:
    """A table of as many records with nearly these margins, spread as evenly as they allow.

    `targets` are the fitted margins, none within another; `noise` is the mean variance of their
    cells. What comes back is no farther from them, in mean square, than `table` and
    `_OF_NOISE` of the noise more; else it is `table`.
    """
    every = range(len(table.shape))
    if table.total == 0 or not targets or list(targets) == [tuple(every)]:
        return table
    rows, weights = _candidates(table, targets, allowed)
    sums = _Sums(rows, table.shape, targets)
    own = _Sums(table.rows, table.shape, targets)
    before = own.distance(table.counts)
    weights = sums.raked(weights)
    if not weights.sum() > 0:
        return table
    counts = systematic(weights * (table.total / weights.sum()))
    counts[int(np.argmax(counts))] += table.total - int(counts.sum())
    enough = _ENOUGH * noise * sums.cells
    counts = sums.nearest(sums.nearer(counts, enough, control), enough)
    if sums.distance(counts) > before + _OF_NOISE * noise * sums.cells:
        return table
    return SyntheticTable.of(table.shape, rows, counts)


class _Sums:
    """Margins of weights on some rows, all in one list."""

    def __init__(self, rows: Rows, shape: Shape, targets: Mapping[Margin, Reals]) -> None:
        self.target: Reals = np.concatenate([table.ravel() for table in targets.values()])
        self.cells = len(self.target)
        starts = np.cumsum([0, *(table.size for table in targets.values())])
        self.parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(starts)]
        self.places = np.stack([addresses(rows, shape, margin) for margin in targets])

    def raked(self, weights: Reals) -> Reals:
        """Weights scaled to one margin after the other, a few rounds or until all are near."""
        for _ in range(_RAKES):
            off = 0.0
            for place, part in zip(self.places, self.parts, strict=True):
                wanted = self.target[part]
                seen = np.bincount(place, weights=weights, minlength=len(wanted))
                off = max(off, float(np.abs(seen - wanted).max()))
                scale = np.divide(wanted, seen, out=np.zeros(len(wanted)), where=seen > 0)
                weights = weights * scale[place]
            if off < _NEAR:
                break
        return weights

    def off(self, counts: Whole) -> Reals:
        """How far every cell of every margin is from its target."""
        seen = [
            np.bincount(place, weights=counts, minlength=part.stop - part.start)
            for place, part in zip(self.places, self.parts, strict=True)
        ]
        return np.concatenate(seen) - self.target

    def distance(self, counts: Whole) -> float:
        """The sum of squares of that."""
        return float((self.off(counts) ** 2).sum())

    def nearer(self, counts: Whole, enough: float, control: Control | None) -> Whole:
        """Records moved between rows in batches while that brings the margins nearer."""
        random = np.random.default_rng(_SEED)
        off = self.off(counts)
        score, batch = float((off**2).sum()), min(_BATCH, len(counts))
        for move in range(_MOVES):
            if batch < 1 or score <= enough:
                break
            (control or Control()).step(0.95 + 0.05 * move / _MOVES, "spreading the table")
            slope = random.normal(0.0, 0.05, len(counts))  # breaks ties; decides nothing else
            for place, part in zip(self.places, self.parts, strict=True):
                slope += off[part][place]
            full = np.flatnonzero(counts > 0)
            out = full[least(-slope[full], min(batch, len(full)))]
            into = least(slope, len(out))
            useful = slope[out] > slope[into]
            trial = counts.copy()
            np.subtract.at(trial, out[useful], 1)
            np.add.at(trial, into[useful], 1)
            after = self.off(trial)
            reached = float((after**2).sum())
            if reached < score:
                counts, off, score = trial, after, reached
                batch = min(len(counts), batch + batch // 8 + 1)
            else:
                batch //= 2
        return counts

    def nearest(self, counts: Whole, enough: float) -> Whole:
        """Single records moved, each to the row that helps most, while any helps."""
        counts, off = counts.copy(), self.off(counts)
        score = float((off**2).sum())
        margins, many = self.places.shape
        for _ in range(min(_SINGLE, _WORK // (_LOOK * margins * many))):
            slope = np.zeros(many)
            for place, part in zip(self.places, self.parts, strict=True):
                slope += off[part][place]
            full = np.flatnonzero(counts > 0)
            out = full[least(-slope[full], min(_LOOK, len(full)))]
            apart = (self.places[:, out, None] != self.places[:, None, :]).sum(axis=0)
            gain = 2 * (slope[None, :] - slope[out][:, None] + apart)
            best = int(np.argmin(gain))
            if gain.flat[best] >= -1e-6 or score <= enough:
                break
            source, into = out[best // many], best % many
            counts[source] -= 1
            counts[into] += 1
            off, score = self.off(counts), score + float(gain.flat[best])
        return counts


def _candidates(
    table: SyntheticTable,
    targets: Mapping[Margin, Reals],
    allowed: Callable[[Rows], Reals] | None,
) -> tuple[Rows, Reals]:
    """Rows that may hold records, each once, and weights to begin with."""
    shape, total = table.shape, float(table.total)
    cells = math.prod(shape)
    one_way, pairs = _narrow(shape, targets, total)
    if cells * len(targets) <= _ALL_CELLS:
        rows = rows_at(np.arange(cells), shape)
        weights: Reals = np.full(cells, total)
        for axis, share in enumerate(one_way):
            weights = weights * share[rows[:, axis]]
    else:
        most = min(MOST_ROWS, MOST_PLACES // len(targets))
        many = int(min(max(2 * table.total, _FEWEST), max(most, _FEWEST)))
        rows = _drawn(shape, one_way, pairs, many)
        weights = np.full(many, total / many)
    if allowed is not None:
        fine = np.flatnonzero(allowed(rows) > 0)
        rows, weights = rows[fine], weights[fine]
    both = np.concatenate([rows, table.rows])
    mass = np.concatenate([(1 - _OWN) * weights, _OWN * table.counts])
    return summed(both, mass)


def _narrow(
    shape: Shape, targets: Mapping[Margin, Reals], total: float
) -> tuple[list[Reals], dict[Margin, Reals]]:
    """Shares of every one-way margin, and the two-way margins there are."""
    one_way: list[Reals] = [np.full(n, 1.0 / n) for n in shape]
    pairs: dict[Margin, Reals] = {}
    for margin, table in targets.items():
        places = range(len(margin))
        for place, axis in enumerate(margin):
            summed = table.sum(axis=tuple(p for p in places if p != place))
            one_way[axis] = np.maximum(summed, 0.0) / total
        for first, second in itertools.combinations(places, 2):
            pairs[margin[first], margin[second]] = table.sum(
                axis=tuple(p for p in places if p not in (first, second))
            )
    return one_way, pairs


def _drawn(shape: Shape, one_way: list[Reals], pairs: Mapping[Margin, Reals], many: int) -> Rows:
    """Rows drawn variable by variable, each given its neighbour in the tree, from a fixed seed."""
    random = np.random.default_rng(_SEED)
    near: dict[int, list[int]] = {axis: [] for axis in range(len(shape))}
    for first, second in _tree(len(shape), pairs):
        near[first].append(second)
        near[second].append(first)
    rows = np.full((many, len(shape)), -1, dtype=np.int64)
    for root in range(len(shape)):
        if rows[0, root] >= 0:
            continue
        share = one_way[root] + 1e-12
        rows[:, root] = random.choice(shape[root], many, p=share / share.sum())
        waiting = [root]
        while waiting:
            known = waiting.pop()
            for axis in near[known]:
                if rows[0, axis] >= 0:
                    continue
                pair = (known, axis)
                table = pairs[pair] if pair in pairs else pairs[pair[::-1]].T
                shares = np.maximum(table, 0.0) + 1e-12
                upto = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
                drawn = (random.random(many)[:, None] > upto[rows[:, known]]).sum(axis=1)
                rows[:, axis] = np.minimum(drawn, shape[axis] - 1)
                waiting.append(axis)
    return rows


def _tree(axes: int, pairs: Mapping[Margin, Reals]) -> list[Margin]:
    """The tree (or forest) of pairs that tell most about each other."""

    def told(table: Reals) -> float:
        share = np.maximum(table, 0.0) + 1e-12
        share = share / share.sum()
        alone = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
        return float((share * np.log(share / alone)).sum())

    group = list(range(axes))
    out: list[Margin] = []
    for first, second in sorted(pairs, key=lambda pair: (-told(pairs[pair]), pair)):
        one, other = group[first], group[second]
        if one != other:
            group = [one if g == other else g for g in group]
            out.append((first, second))
    return out
