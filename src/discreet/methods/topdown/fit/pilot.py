"""The pilot's own way from noisy levels to whole counts (ons §4, method 2, Figure 2), as written.

Each level's noisy cells are clipped at 0.001, multiplied so that they add up to the level above, and
rounded by the largest remainder. Negative noise is lost by the clipping and positive noise is not,
so rare categories come out far too large (ons Table 12): kept for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....core.control import Control
from ....core.domain import Flags
from ....core.product import Reals, Whole
from ..tree import Tree
from .kept_parts import Cells

CLIP = 0.001
"""What a number below it is set to."""

Impossible = Callable[[int, int, Whole], Flags]


def adjusted(noisy: Reals, above: Reals | float) -> Reals:
    """Clipped, and multiplied so that sums over the first axis are those of the level above.

    >>> adjusted(np.array([891.0, 739.0, 879.0, 870.0]), 3398).round(2).tolist()   # ons Figure 2
    [896.01, 743.16, 883.94, 874.89]
    """
    clipped = np.maximum(noisy, CLIP)
    sums = clipped.sum(axis=0)
    return np.asarray(clipped * np.where(sums > 0, above / np.maximum(sums, CLIP), 0.0))


def largest_remainders(table: Reals, totals: Whole | int) -> Whole:
    """Whole numbers whose sums over the first axis are these; ties go to the first.

    >>> parts = [1.68, 0.16, 0.001, 1.92, 0.001, 1.28, 0.001, 0.001, 4.24, 1.44]   # ons Table 12
    >>> largest_remainders(np.array(parts), 10).tolist()
    [2, 0, 0, 2, 0, 1, 0, 0, 4, 1]
    """
    down = np.floor(table)
    more = np.asarray(totals) - down.sum(axis=0)
    order = np.argsort(down - table, axis=0, kind="stable")
    rank = np.empty_like(order)
    places = np.arange(len(table)).reshape(-1, *(1,) * (table.ndim - 1))
    np.put_along_axis(rank, order, np.broadcast_to(places, order.shape), axis=0)
    return np.asarray(down + (rank < more), dtype=np.int64)


def fit_variables_first(
    tree: Tree, levels: Sequence[Reals], impossible: Impossible | None, control: Control
) -> list[Cells]:
    """The total, then the national table of all variables, then each level within the one above.

    `levels` are the noisy total (one number) and a table of nodes by cells for each level.
    """
    total = max(0, round(float(levels[0].ravel()[0])))
    cells = levels[1].shape[1]
    every = np.arange(cells)
    national = _possible(levels[1][0], impossible, 0, 0, every)
    parents = [largest_remainders(adjusted(national, total) * (national > 0), total)]
    for level in range(1, tree.depth + 1):
        below: list[Whole] = [parents[0]] * tree.sizes[level]
        for node, parent in enumerate(parents):
            control.step(level / (tree.depth + 1), f"adjusting {tree.names[level]}")
            children = tree.children(level - 1, node)
            noisy = np.stack(
                [_possible(levels[1 + level][c], impossible, level, c, every) for c in children]
            )
            fitted = adjusted(noisy, parent.astype(np.float64)) * (noisy > 0)
            scale = fitted.sum(axis=0)
            fitted *= np.where(scale > 0, parent / np.maximum(scale, 1e-300), 0.0)
            for child, counts in zip(
                children.tolist(), largest_remainders(fitted, parent), strict=True
            ):
                below[child] = counts
        parents = below
    return [_cells(counts) for counts in parents]


def fit_geography_first(
    tree: Tree, levels: Sequence[Reals], impossible: Impossible | None, control: Control
) -> list[Cells]:
    """The total, then the totals of each level within the one above, then every area's own cells."""
    totals = np.array([max(0, round(float(levels[0].ravel()[0])))], dtype=np.int64)
    for level in range(1, tree.depth + 1):
        below = np.zeros(tree.sizes[level], dtype=np.int64)
        for node, parent in enumerate(totals.tolist()):
            children = tree.children(level - 1, node)
            fitted = adjusted(levels[level][children, 0], parent)
            below[children] = largest_remainders(fitted, parent)
        totals = below
    every = np.arange(levels[-1].shape[1])
    found = []
    for area, total in enumerate(totals.tolist()):
        control.step(area / len(totals), f"adjusting {tree.names[-1]}")
        noisy = _possible(levels[-1][area], impossible, tree.depth, area, every)
        fitted = adjusted(noisy, total) * (noisy > 0)
        fitted *= total / max(float(fitted.sum()), 1e-300)
        found.append(_cells(largest_remainders(fitted, total)))
    return found


def _possible(
    noisy: Reals, impossible: Impossible | None, level: int, node: int, every: Whole
) -> Reals:
    """The noisy cells of a node, clipped; 0 where no record can be."""
    clipped = np.maximum(noisy, CLIP)
    return clipped if impossible is None else np.where(impossible(level, node, every), 0.0, clipped)


def _cells(counts: Whole) -> Cells:
    at = np.flatnonzero(counts)
    return Cells(at, counts[at])
