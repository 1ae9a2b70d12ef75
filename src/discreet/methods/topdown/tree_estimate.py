"""Least squares over a tree, in two passes, with exact variances (Hay et al. 2010).

Every node has an unknown number (or a vector of them, all alike), that of a parent being the sum of
its children's. Each level is measured with one precision, 0 where it is not. Upwards, a node's own
measurement is combined with the sum of its children's estimates; downwards, what a parent knows
better is handed to its children in proportion to their variances. The result is the best linear
unbiased estimate of every node, and the variance of any sum of nodes is exact:

    Σ wᵢ x̂ᵢ over the children of a parent = Σ wᵢ (uᵢ − aᵢ Σ u) + (Σ wᵢ aᵢ) · parent,  aᵢ = vᵢ / Σ v

whose two terms are uncorrelated, so sums are followed from the finest level up to the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.product import Reals, Whole
from .tree import Tree

_GROUPS = 1 << 22
"""Weights of sums are held for so many pairs of sum and node at once."""


class TreeEstimate:
    """One tree whose levels are measured with these precisions, the whole first."""

    def __init__(self, tree: Tree, precisions: Sequence[float]) -> None:
        self.tree, self.precisions = tree, tuple(precisions)
        own = [np.full(n, p) for n, p in zip(tree.sizes, precisions, strict=True)]
        self._up: list[Reals] = own
        """The precision of each node's estimate from its own and all measurements below."""
        self._below: list[Reals] = [np.zeros(n) for n in tree.sizes]
        for level in range(tree.depth, 0, -1):
            open_ = self._up[level] <= 0
            spread = self._summed(
                level, np.where(open_, 0.0, 1 / np.where(open_, 1, self._up[level]))
            )
            unknown = self._summed(level, open_.astype(np.float64))
            below = np.where(unknown > 0, 0.0, 1 / np.maximum(spread, 1e-300))
            self._below[level - 1] = below
            self._up[level - 1] = own[level - 1] + below

    def _summed(self, level: int, values: Reals) -> Reals:
        """Sums of a level's values over the children of each node above."""
        return summed_up(self.tree, level, values)

    def _parts(self, level: int) -> tuple[Reals, Reals, Reals]:
        """For each node of a level: its variance, 0 where open; whether it is open; its portion.

        The portion is what it takes of a difference between its parent and the sum of its siblings.
        """
        up = self._up[level]
        open_ = (up <= 0).astype(np.float64)
        variance = np.where(up > 0, 1 / np.where(up > 0, up, 1), 0.0)
        parents = self.tree.parents[level]
        opened = self._summed(level, open_)[parents]
        total = self._summed(level, variance)[parents]
        portion = np.where(
            opened > 0,
            open_ / np.maximum(opened, 1),
            variance / np.maximum(total, 1e-300),
        )
        return variance, open_, portion

    def estimate(self, measured: Sequence[Reals | None]) -> list[Reals]:
        """The estimates at every level, from what was measured: nodes by numbers, None: nothing."""
        tree = self.tree
        width = next(m.shape[1] for m in measured if m is not None)
        up: list[Reals] = [np.zeros((n, width)) for n in tree.sizes]
        for level in range(tree.depth, -1, -1):
            own, precision = measured[level], self.precisions[level]
            below = self._below[level]
            total = np.maximum(self._up[level], 1e-300)[:, None]
            if own is not None:
                up[level] += own * (precision / total)
            if level < tree.depth and below.any():
                sums = summed_up(tree, level + 1, up[level + 1])
                up[level] += sums * (below[:, None] / total)
        out = [up[0]]
        for level in range(1, tree.depth + 1):
            _, _, portion = self._parts(level)
            off = out[-1] - summed_up(tree, level, up[level])
            out.append(up[level] + portion[:, None] * off[tree.parents[level]])
        return out

    def node_variances(self) -> list[Reals]:
        """The variance of every node's estimate, level by level; infinite where it is not known."""
        found = [np.where(self._up[0] > 0, 1 / np.maximum(self._up[0], 1e-300), np.inf)]
        for level in range(1, self.tree.depth + 1):
            variance, open_, portion = self._parts(level)
            parents = self.tree.parents[level]
            total = self._summed(level, variance)[parents]
            opened = self._summed(level, open_)[parents]
            above = found[-1][parents]
            with np.errstate(invalid="ignore"):
                known = variance - variance * portion + portion**2 * above
                alone = total + above
            one = (opened == 1) & (open_ > 0)
            lost = (open_ > 0) & (opened > 1)
            mixed = np.where(opened > 0, variance, known)
            found.append(np.where(lost, np.inf, np.where(one, alone, mixed)))
        return found

    def covariance(self, level: int) -> Reals:
        """How the estimates of a level's nodes go together; where all of them are known."""
        found = np.full((1, 1), 1 / max(float(self._up[0][0]), 1e-300))
        for here in range(1, level + 1):
            variance, _, portion = self._parts(here)
            parents = self.tree.parents[here]
            siblings = parents[:, None] == parents[None, :]
            total = self._summed(here, variance)[parents]
            within = np.diag(variance) + siblings * (
                np.outer(portion, portion * total)
                - np.outer(portion, variance)
                - np.outer(variance, portion)
            )
            found = within + np.outer(portion, portion) * found[np.ix_(parents, parents)]
        return np.asarray(found)

    def variances(self, level: int, places: Whole, groups: int) -> Reals:
        """The variance of the sum of a level's nodes in each group; −1: in none."""
        if level == 0:
            held = np.bincount(places[places >= 0], minlength=groups)
            return np.asarray(held**2 * self.node_variances()[0][0], dtype=np.float64)
        if groups == len(places) and np.array_equal(places, np.arange(groups)):
            return self.node_variances()[level]
        out = np.zeros(groups)
        step = max(1, _GROUPS // max(1, len(places)))
        for first in range(0, groups, step):
            wanted = np.arange(first, min(groups, first + step))
            weights = (places[None, :] == wanted[:, None]).astype(np.float64)
            out[wanted] = self._of_weights(level, weights)
        return out

    def _of_weights(self, level: int, weights: Reals) -> Reals:
        out = np.zeros(len(weights))
        for here in range(level, 0, -1):
            variance, open_, portion = self._parts(here)
            parents = self.tree.parents[here]
            opened = self._summed(here, open_)
            total = self._summed(here, variance)
            up = summed_up(self.tree, here, (weights * portion).T).T
            whole = opened == 0
            both = summed_up(self.tree, here, (weights * variance).T).T
            within = (weights**2 * variance * whole[parents]).sum(axis=1)
            within -= (both**2 / np.maximum(total, 1e-300) * whole).sum(axis=1)
            apart = (weights - up[:, parents]) ** 2
            within += (apart * variance * ~whole[parents]).sum(axis=1)
            unequal = (apart * open_ > 1e-18).any(axis=1)
            out += np.where(unequal, np.inf, np.maximum(within, 0.0))
            weights = up
        root = self._up[0][0]
        last = weights[:, 0] ** 2
        return out + (last / root if root > 0 else np.where(last > 1e-18, np.inf, 0.0))


def summed_up(tree: Tree, level: int, values: Reals) -> Reals:
    """Sums over the children of each node of the level above; along the first axis."""
    out = np.zeros((tree.sizes[level - 1], *values.shape[1:]), dtype=values.dtype)
    np.add.at(out, tree.parents[level], values)
    return out
