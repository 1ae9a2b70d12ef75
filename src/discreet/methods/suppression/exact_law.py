"""The exact law of every unknown cell given what is public, where few sums are on one side.

Columns (right sums) are taken one after the other; what is kept is the joint law of what they have
used of all left sums but the last, which follows. Sums of products of non-negative numbers: nothing
cancels. Weights are tilted first, so that what is conditioned on is not in a far tail. This is the
paper's dynamic programme (§5.2.1) with one weight a cell in the place of one person a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .board import Board, Whole, components
from .cell_weights import CellLaw, Floats
from .tilt import Cumulants, Equations

DIRECT = 200_000
"""Products of array sizes up to which sums are made one by one; beyond, by Fourier transforms."""


class Undecided(Exception):
    """A law could not be computed with the accuracy a decision needs."""


def parts(board: Board, cells: Whole) -> list[Whole]:
    """The unknown cells in sets that hang together."""
    labels = components(board, cells)[board.left[cells]]
    return [cells[labels == label] for label in np.unique(labels)]


def effort(board: Board, cells: Whole) -> float:
    """About how many products one exact law of these cells takes."""
    sides = (board.left, board.left_sums), (board.right, board.right_sums)
    few, sums = min(((np.unique(s[cells]), total) for s, total in sides), key=lambda s: len(s[0]))
    kept = float(np.prod(np.sort(sums[few] + 1.0)[:-1])) if len(few) > 1 else 1.0
    kernel = float(np.prod(np.sort(np.minimum(sums[few], board.most[cells].max()) + 1.0)[:-1]))
    return 3 * kept * min(kernel, 50 * math.log2(kept + 2)) * len(cells) / len(few)


def marginals(
    board: Board, cells: Whole, laws: Sequence[CellLaw], cumulants: Cumulants
) -> dict[int, Floats]:
    """The law of each of these unknown cells, which hang together, given all sums."""
    swapped = len(np.unique(board.right[cells])) < len(np.unique(board.left[cells]))
    near, far = (board.right, board.left) if swapped else (board.left, board.right)
    near_sums = board.right_sums if swapped else board.left_sums
    far_sums = board.left_sums if swapped else board.right_sums
    order = sorted(np.unique(near[cells]).tolist(), key=lambda vertex: int(near_sums[vertex]))
    goal = tuple(int(near_sums[vertex]) for vertex in order[:-1])
    weights = _tilted(board, cells, laws, cumulants)
    columns = [
        _Column(cells[far[cells] == vertex], near, order, int(far_sums[vertex]), goal, weights)
        for vertex in np.unique(far[cells]).tolist()
    ]
    found: dict[int, Floats] = {}
    for column, rest in zip(columns, _rests([c.kernel for c in columns], goal), strict=True):
        flipped = rest[tuple(slice(None, None, -1) for _ in goal)] if goal else rest
        joint = column.kernel * flipped
        total = float(joint.sum())
        if not total > 0 or not math.isfinite(total):
            raise Undecided
        found |= column.cell_laws(joint / total, weights)
    return found


def _tilted(
    board: Board, cells: Whole, laws: Sequence[CellLaw], cumulants: Cumulants
) -> dict[int, Floats]:
    """The weights of these cells, tilted where a tilt is found, their largest 1."""
    equations = Equations(board, cells, cumulants)
    sums = np.concatenate([board.left_sums, board.right_sums]).astype(float)[None]
    tilted = equations.solve(sums)
    shifts = tilted.shift[0] if bool(tilted.solved[0]) else np.zeros(len(cells))
    weights = {}
    for cell, shift in zip(cells.tolist(), shifts.tolist(), strict=True):
        logged = laws[cell].log_weight + shift * np.arange(laws[cell].most + 1)
        weights[cell] = np.exp(logged - logged.max())
    return weights


def _rests(kernels: list[Floats], goal: tuple[int, ...]) -> list[Floats]:
    """For each column the joint law of all others, up to the goal."""
    none = np.zeros([size + 1 for size in goal])
    none[(0,) * len(goal)] = 1.0
    before, after = [none], [none]
    for kernel in kernels[:-1]:
        before.append(_sum(before[-1], kernel))
    for kernel in reversed(kernels[1:]):
        after.append(_sum(after[-1], kernel))
    return [_sum(one, two) for one, two in zip(before, reversed(after), strict=True)]


def _convolve(one: Floats, two: Floats, *, direct: bool) -> Floats:
    """The sum's law before it is scaled, as large as both together."""
    full = tuple(a + b - 1 for a, b in zip(one.shape, two.shape, strict=True))
    if not direct:
        sizes = [_quick(size) for size in full]
        axes = list(range(one.ndim))
        waves = np.fft.rfftn(one, sizes, axes) * np.fft.rfftn(two, sizes, axes)
        return np.fft.irfftn(waves, sizes, axes)[tuple(slice(0, size) for size in full)]
    # laid out in one row, with room beside each axis but the first, no sum runs into the next
    row = np.convolve(_in_a_row(one, full[1:]), _in_a_row(two, full[1:]))
    whole = np.zeros(math.prod(full))
    whole[: row.size] = row
    return whole.reshape(full)


def _in_a_row(law: Floats, room: tuple[int, ...]) -> Floats:
    """An array as one row, its axes but the first as long as `room`; without zeros at the end."""
    wide = np.zeros((law.shape[0], *room))
    wide[tuple(slice(0, size) for size in law.shape)] = law
    row = wide.ravel()
    return row[: int(np.flatnonzero(row).max(initial=0)) + 1]


def _quick(size: int) -> int:
    """The next length without prime factors above 5, for which Fourier transforms are quick.

    >>> [_quick(size) for size in (1, 7, 11, 17, 121)]
    [1, 8, 12, 18, 125]
    """
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _sum(one: Floats, two: Floats) -> Floats:
    """The law of a sum, up to the size of the first; its largest number 1."""
    if not one.shape:
        product = one * two
    else:
        box = two[tuple(slice(0, int(k.max(initial=0)) + 1) for k in np.nonzero(two))]
        direct = one.size * box.size <= DIRECT
        product = np.maximum(_convolve(one, box, direct=direct), 0)
        product = product[tuple(slice(0, size) for size in one.shape)]
    most = float(product.max())
    if not most > 0:
        raise Undecided
    return np.asarray(product / most, dtype=np.float64)


class _Column:
    """The unknown cells of one far sum, by the near sums they are part of."""

    def __init__(
        self,
        cells: Whole,
        near: Whole,
        order: list[int],
        total: int,
        goal: tuple[int, ...],
        weights: dict[int, Floats],
    ) -> None:
        self.total, self.goal = total, goal
        self.members = [cells[near[cells] == vertex].tolist() for vertex in order]
        self.merged = [_merged([weights[cell] for cell in some]) for some in self.members]
        grids = np.ogrid[tuple(slice(0, size + 1) for size in goal)]
        last = total - sum(grids) if goal else np.array(total)
        self.last = np.asarray(last)
        weight = self.merged[-1]
        fits = (self.last >= 0) & (self.last < len(weight))
        self.kernel: Floats = np.where(fits, weight[np.clip(self.last, 0, len(weight) - 1)], 0.0)
        for axis, size in enumerate(goal):
            part = np.zeros(size + 1)
            kept = min(size + 1, len(self.merged[axis]))
            part[:kept] = self.merged[axis][:kept]
            shape = [1] * len(goal)
            shape[axis] = size + 1
            self.kernel = self.kernel * part.reshape(shape)

    def cell_laws(self, joint: Floats, weights: dict[int, Floats]) -> dict[int, Floats]:
        """The law of each cell, from the joint law of what the near sums get from here."""
        found: dict[int, Floats] = {}
        for axis, members in enumerate(self.members):
            if not members:
                continue
            if axis < len(self.goal):
                others = tuple(k for k in range(len(self.goal)) if k != axis)
                law = joint.sum(axis=others)
            else:
                fits = np.broadcast_to(self.last >= 0, joint.shape)
                places = np.broadcast_to(self.last, joint.shape)[fits]
                law = np.bincount(places, joint[fits], minlength=1)
            for cell in members:
                found[cell] = _own_law(cell, members, law, self.merged[axis], weights)
        return found


def _merged(weights: list[Floats]) -> Floats:
    joint = np.ones(1)
    for weight in weights:
        joint = np.convolve(joint, weight)
        joint = joint / joint.max()
    return joint


def _own_law(
    cell: int, members: list[int], law: Floats, merged: Floats, weights: dict[int, Floats]
) -> Floats:
    """The law of one cell among several whose sum has this law."""
    own = weights[cell]
    full = np.zeros(len(merged))
    full[: min(len(law), len(full))] = law[: len(full)]
    if len(members) == 1:
        return full
    rest = _merged([weights[other] for other in members if other != cell])
    exact = np.convolve(own, rest)
    per_sum = np.divide(full, exact, out=np.zeros_like(full), where=exact > 0)
    found: Floats = own * np.correlate(per_sum, rest, mode="valid")
    return found
