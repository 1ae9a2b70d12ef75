"""The best linear unbiased estimate of every margin at every node, with exact variances.

A margin splits into residuals (`shared.residuals`) that no two measured tables mix; for each
residual every level of the tree was measured with some precision, so its estimate is that of least
squares over the tree (`tree_estimate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.product import Margin, Reals, Shape, Whole, subsets
from ..shared.residuals import HARD, information
from .measured_tables import Measured
from .tree import Tree
from .tree_estimate import TreeEstimate


class Estimates:
    """Estimates from measured tables; before they are drawn, their variances."""

    def __init__(
        self,
        tree: Tree,
        shape: Shape,
        measured: Sequence[Measured],
        tables: Sequence[Whole | Reals] = (),
        total: int | None = None,
        public: Mapping[tuple[int, Margin], tuple[Margin, Whole]] | None = None,
    ) -> None:
        """`public`: by level and residual, a margin that is known exactly, and its counts."""
        self.tree, self.shape, self.measured, self.tables = tree, shape, measured, tables
        self.total, self.public = total, public or {}
        self._trees: dict[tuple[float, ...], TreeEstimate] = {}
        self._found: dict[Margin, list[Reals]] = {}

    def over_tree(self, residual: Margin) -> TreeEstimate | None:
        """Least squares over the tree for one residual; None where nothing is known of it."""
        precisions = [0.0] * len(self.tree.sizes)
        for m in self.measured:
            precisions[m.level] += information(self.shape, m, residual) / m.variance
        if residual == () and self.total is not None:
            precisions[0] = HARD
        for level in range(len(precisions)):
            if (level, residual) in self.public:
                precisions[level] = HARD
        if not any(precisions):
            return None
        key = tuple(precisions)
        if key not in self._trees:
            self._trees[key] = TreeEstimate(self.tree, precisions)
        return self._trees[key]

    def residual(self, residual: Margin) -> list[Reals]:
        """The estimates of a residual at every level: nodes first, then its axes."""
        if residual not in self._found:
            self._found[residual] = self._estimated(residual)
        return self._found[residual]

    def _estimated(self, residual: Margin) -> list[Reals]:
        lengths = [self.shape[axis] for axis in residual]
        sizes = self.tree.sizes
        over = self.over_tree(residual)
        if over is None:
            return [np.zeros((n, *lengths)) for n in sizes]
        sums: list[Reals | None] = [None] * len(sizes)
        for m, table in zip(self.measured, self.tables, strict=True):
            weight = information(self.shape, m, residual) / m.variance
            if weight > 0:
                seen = weight * _seen(m.margin, table, residual)
                before = sums[m.level]
                sums[m.level] = seen if before is None else before + seen
        if residual == () and self.total is not None:
            sums[0] = np.array([HARD * self.total])
        for level in range(len(sizes)):
            if (level, residual) in self.public:
                sums[level] = HARD * _seen(*self.public[level, residual], residual)
        means = [
            None if s is None else (s / over.precisions[level]).reshape(sizes[level], -1)
            for level, s in enumerate(sums)
        ]
        return [
            values.reshape(n, *lengths)
            for values, n in zip(over.estimate(means), sizes, strict=True)
        ]

    def margin(self, level: int, margin: Margin) -> Reals:
        """The unbiased estimate of a margin at every node of a level."""
        out = np.zeros([self.tree.sizes[level], *(self.shape[axis] for axis in margin)])
        for kept in subsets(margin):
            others = math.prod(self.shape[axis] for axis in margin if axis not in kept)
            lengths = [self.shape[axis] if axis in kept else 1 for axis in margin]
            out = out + self.residual(kept)[level].reshape(-1, *lengths) / others
        return out

    def sum_variance(
        self, level: int, margin: Margin, groups: tuple[Whole, int], sizes: Sequence[Whole]
    ) -> Reals:
        """The variance of sums over product sets: groups of nodes first, then groups of categories.

        `groups`: the place of each node (−1: none) and how many places there are. `sizes`: for each
        axis of the margin how many of its categories each place sums. Infinite where not measured.
        """
        out = np.zeros([groups[1], *(len(s) for s in sizes)])
        sides = []
        for axis, held in zip(margin, sizes, strict=True):
            many, n = np.asarray(held, dtype=np.float64), self.shape[axis]
            sides.append(((many / n) ** 2, np.maximum(many - many**2 / n, 0.0)))
        for kept in subsets(margin):
            part = np.ones(())
            for axis, side in zip(margin, sides, strict=True):
                part = np.multiply.outer(part, side[axis in kept])
            over = self.over_tree(kept)
            nodes = (
                np.where(np.bincount(groups[0] + 1, minlength=groups[1] + 1)[1:] > 0, np.inf, 0.0)
                if over is None
                else over.variances(level, *groups)
            )
            with np.errstate(invalid="ignore"):
                both = np.multiply.outer(nodes, np.where(part > 1e-12, part, 0.0))
            out = out + np.where(np.isnan(both), 0.0, both)  # nothing summed of what is not known
        return np.where(out < 1e-9, 0.0, out)  # what is public is exact

    def mean_variance(self, level: int, margin: Margin) -> float:
        """The variance of a cell of a margin at a level, on average over its nodes."""
        total = 0.0
        for kept in subsets(margin):
            part = 1.0
            for axis in margin:
                n = self.shape[axis]
                part *= 1 - 1 / n if axis in kept else 1 / n**2
            over = self.over_tree(kept)
            if part > 1e-12:
                known = np.inf if over is None else float(over.node_variances()[level].mean())
                total += part * known
        return total


def _seen(margin: Margin, table: Whole | Reals, residual: Margin) -> Reals:
    """What a table says of a residual: the other axes summed, each kept one centred."""
    gone = tuple(1 + i for i, axis in enumerate(margin) if axis not in residual)
    reals = table.astype(np.float64).sum(axis=gone) if gone else table.astype(np.float64)
    for axis in range(1, reals.ndim):
        reals = reals - reals.mean(axis=axis, keepdims=True)
    return np.asarray(reals)
