"""Integers that keep their sums, for methods that fit a table of fractions.

    largest_remainder   one list: the total kept, every value within 1
    controlled          a two-way table: cells, rows, columns and the total all become a
                        neighbouring integer (network flows)
    systematic          any table: every run of cells in order is within 1, so the total too
    whole_numbers       any table, negative numbers too: as controlled or systematic does
    swap_repair         moves single units about until chosen margins come no closer

Everything here works on numbers that are protected already, so floats are fine; what comes back
is whole numbers whose promises hold exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...core.control import Control
from ...core.product import Reals, Whole
from ...errors import InputError
from .controlled import WHOLE, controlled, finite

__all__ = ["controlled", "largest_remainder", "swap_repair", "systematic", "whole_numbers"]
_BATCH = 2000


def largest_remainder(values: npt.ArrayLike, total: int) -> Whole:
    """Round down, then up where most was lost, until the total is met; ties go to the first.

    >>> largest_remainder([1.4, 2.4, 3.4], 7)
    array([2, 2, 3])
    """
    reals = finite(values)
    if reals.ndim != 1:
        raise InputError(f"largest_remainder takes one list, got a table of {reals.ndim} axes.")
    down = np.floor(reals + WHOLE)
    more = total - int(down.sum())
    if not 0 <= more <= len(reals):
        raise InputError(
            f"A list that adds up to {reals.sum():.6g} cannot be rounded to {total}: every "
            "value may move by less than 1. Scale the list to the total first."
        )
    down[np.argsort(down - reals, kind="stable")[:more]] += 1
    return down.astype(np.int64)


def systematic(values: npt.ArrayLike) -> Whole:
    """Round a table of any shape by its running sum: a whole total is kept.

    Every run of cells in order, so every margin over the leading axes and the total itself, goes
    to one of its two nearest integers.

    >>> systematic([[0.25, 0.25], [0.25, 0.25], [0.5, 0.5]])
    array([[0, 1],
           [0, 0],
           [1, 0]])
    """
    reals = finite(values)
    if (reals < 0).any():
        raise InputError("systematic rounds numbers ≥ 0. Fit the table first.")
    running = np.floor(np.cumsum(reals.ravel()) + 0.5 + WHOLE)
    return np.diff(running, prepend=0.0).astype(np.int64).reshape(reals.shape)


def whole_numbers(values: Reals, total: int | None = None) -> Whole:
    """Whole numbers near the values whose sums are near the values' sums.

    Two axes: every cell, row, column and the total goes to one of its two nearest integers.
    Otherwise running sums are rounded instead of cells, so that the error of one cell is carried
    to the next: a cell moves by at most 1, and so does every sum over the last axes and the total.
    A `total` that is known is met exactly if the values add up to it.

    >>> whole_numbers(np.array([0.4, 0.4, 0.4, 0.8]))
    array([0, 1, 0, 1])
    """
    if values.ndim == 2:
        rounded = controlled(values)
        if total is None or int(rounded.sum()) == total:
            return rounded
    running = np.cumsum(values.reshape(-1), dtype=np.longdouble)
    steps: Whole = np.floor(running + 0.5).astype(np.int64)
    return np.asarray(np.diff(steps, prepend=np.int64(0)).reshape(values.shape), np.int64)


def swap_repair(
    table: Whole,
    targets: Mapping[tuple[int, ...], npt.ArrayLike],
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
    sweeps: int = 200,
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
    wanted = {kept: finite(margin) for kept, margin in targets.items()}
    noise = np.random.default_rng(0)  # breaks ties; decides nothing else
    residuals, score = _residuals(now, wanted)
    size = min(_BATCH, now.size)
    for sweep in range(sweeps):
        if size < 1 or score == 0:
            break
        (control or Control()).step(sweep / sweeps, "repairing the rounded table")
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
