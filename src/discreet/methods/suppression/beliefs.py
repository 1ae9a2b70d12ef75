"""What a reader believes of the people in unknown cells, and whether that is within ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .board import Board, Whole
from .cell_weights import TIE, CellLaw, CellPeople, Flags, Floats, cell_law, rest_law
from .exact_law import marginals, parts
from .tilt import Cumulants, Tilted


@dataclass
class Model:
    """The public laws of a table's cells under one prior, and ε."""

    laws: list[CellLaw]
    cumulants: Cumulants
    epsilon: float
    safe: list[Flags]
    logs: Floats
    """The log weights of all cells, −inf beyond their end: (cells, counts)."""
    allowed: Flags
    """Safe counts of all cells, False beyond their end."""
    peopled: Flags
    """Which cells hold people; others stand for what is not known of a sum."""

    @classmethod
    def of(cls, people: Sequence[CellPeople], epsilon: float, rests: Sequence[int] = ()) -> Model:
        """The model of cells with these people, and of rests from 0 to these numbers after them."""
        laws = [cell_law(one) for one in people] + [rest_law(most) for most in rests]
        safe = [law.safe(epsilon) for law in laws]
        width = max([law.most for law in laws] + [0]) + 1
        logs = np.full((len(laws), width), -np.inf)
        allowed = np.zeros((len(laws), width), dtype=bool)
        for place, law in enumerate(laws):
            logs[place, : law.most + 1] = law.log_weight
            allowed[place, : law.most + 1] = safe[place]
        peopled = np.arange(len(laws)) < len(people)
        return cls(laws, Cumulants(laws), epsilon, safe, logs, allowed, peopled)

    @cached_property
    def most(self) -> Whole:
        """The largest sum beyond the smallest one, by cell."""
        return np.array([law.most for law in self.laws], dtype=np.int64)

    @cached_property
    def shifts(self) -> Whole:
        """The smallest sum there can be, by cell."""
        return np.array([law.shift for law in self.laws], dtype=np.int64)

    @cached_property
    def even(self) -> Flags:
        """Which cells have laws that a smooth one can stand for (`CellLaw.is_even`)."""
        return np.array([law.is_even for law in self.laws], dtype=bool)

    def off(self, cell: int, belief: Floats) -> float:
        """The largest |1 − posterior/prior| in a cell whose count has this law."""
        law = self.laws[cell]
        if not len(law.ratios):
            return 0.0
        return float(np.abs(1 - law.ratios @ belief[: law.most + 1]).max())

    def safe_exactly(self, board: Board) -> bool:
        """Whether everybody's belief is within ε given what is public; exact."""
        if not self.known_safe(board):
            return False
        for some in parts(board, board.unknown):
            for cell, law in marginals(board, some, self.laws, self.cumulants).items():
                if self.off(cell, law) > self.epsilon + TIE:
                    return False
        return True

    def known_safe(self, board: Board) -> bool:
        """Whether every count that is out is a safe one."""
        out = np.flatnonzero(board.known >= 0)
        return bool(self.allowed[out, board.known[out]].all())

    def first_order(self, cells: Whole, tilts: Floats) -> Floats:
        """The largest |1 − ratio| of each cell by its tilt alone: exp(s·a) ÷ its mean; (…, cells).

        This is what the ratio tends to in large cells; a screen, never a decision by itself.
        """
        laws, counts = self.cumulants.laws[cells], self.cumulants.counts[cells]
        if self.cumulants.boolean:
            return _first_order(tilts, laws[:, :, 1].T, counts.T, self.peopled[cells])
        grown = tilts[..., None] * self.cumulants.values
        powers = np.exp(grown - grown.max(axis=-1, keepdims=True))
        mean = (laws * powers[..., None, :]).sum(-1)
        there = (laws > 0) & (counts > 0)[..., None] & self.peopled[cells, None, None]
        ratio = np.where(there, powers[..., None, :] / mean[..., None], 1.0)
        off: Floats = np.abs(1 - ratio).max(axis=(-1, -2))
        return off


def _first_order(tilts: Floats, chances: Floats, counts: Floats, peopled: Flags) -> Floats:
    """`Model.first_order` for values 0 and 1: |1 − ratio| is p·|expm1(s)| or (1 − p)·|expm1(s)| ÷ mean."""
    raised = np.expm1(tilts)
    off = np.zeros(tilts.shape)
    for many, chance in zip(counts, chances, strict=True):
        there = (many > 0) & peopled
        if there.any():
            largest = np.maximum(chance, 1 - chance) * there * (chance > 0) * (chance < 1)
            np.maximum(off, largest / (1 + chance * raised), out=off)
    return np.asarray(off * np.abs(raised))


@dataclass(frozen=True)
class NearLaws:
    """The laws of some cells near their means; beyond, all counts together have less than 1e-11."""

    start: Whole
    """The first count of each cell's part."""
    chance: Floats
    """(cells, counts from the start on)."""

    def full(self, place: int, size: int) -> Floats:
        """One cell's law of the counts 0 to `size` − 1."""
        law = np.zeros(max(size, int(self.start[place]) + self.chance.shape[1]))
        law[self.start[place] :][: self.chance.shape[1]] = self.chance[place]
        return law[:size]


FAR = 28.0
"""exp(−FAR) is what Bernstein's inequality leaves beyond either end of a part."""


def look_ahead(model: Model, tilted: Tilted, resistance: Floats) -> tuple[NearLaws, Floats]:
    """The law of every unknown cell with all others taken as normal, and its chance to be unsafe.

    resistance is d·P·d for each cell: its variance given everything else is 1/(1/V + τ), with
    τ = resistance / (1 − leverage). The cell's own weight is kept exactly.
    """
    cells = tilted.cells
    variance, mean, shift = tilted.variance[0], tilted.mean[0], tilted.shift[0]
    leverage = np.minimum(variance * resistance, 1 - 1e-9)
    tension = resistance / (1 - leverage)
    width, largest = model.logs.shape[1], FAR * model.cumulants.largest_step / 3
    reach = largest + np.sqrt(largest**2 + 2 * FAR * variance.max(initial=0.0))
    near = np.arange(min(width, 2 * int(np.ceil(reach)) + 3))
    start = np.clip(np.rint(mean).astype(np.int64) - len(near) // 2, 0, width - len(near))
    places = (cells * width + start)[:, None] + near
    counts = start[:, None] + near
    off = counts - mean[:, None]
    logged = model.logs.ravel()[places] + shift[:, None] * off
    logged -= (0.5 * tension[:, None]) * (off * off)
    logged -= logged.max(axis=1, keepdims=True)
    weight = np.exp(logged, out=logged)
    weight /= weight.sum(axis=1, keepdims=True)
    unsafe = np.einsum("ij,ij->i", weight, (~model.allowed.ravel()[places]).astype(np.float64))
    return NearLaws(start, weight), unsafe
