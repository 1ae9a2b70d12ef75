"""`negatives: balance`: values ≥ 0 that add up to the totals measured, and the bias this brings.

The bias is simulated from public things alone: the published values in the place of true ones, the
published law, and the same steps again. A treatment is a function, so the simulation's draws are
always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...core.domain import Flags
from ...core.noise_law import NoiseLaw
from ...core.product import Margin, Reals, Whole
from ...languages import Sentence, number, say, together
from ..shared.balance import Balanced, balanced, nearest

_CELLS = 5_000
"""Cells in all that a simulation looks at, in several tables where one has fewer."""
_MOST_TABLES = 100
_STILL = 1e-4
"""How far a simulation follows a table to its nearest: a bias is said to two digits."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], Reals]
"""Draws of the noise of some cells, as many tables side by side as the shape has in front."""


@dataclass(frozen=True)
class Measured:
    """A table before it is balanced: numbers by kept axes, cells and grand total among them.

    `noise` has the draws of the cells, and of each total with noise of its own; a total without is
    the sum of the cells, or known exactly (`exact`).
    """

    numbers: Mapping[Margin, Reals | Whole]
    possible: Flags | None
    noise: Mapping[Margin, Draw]
    exact: bool = False

    @property
    def axes(self) -> Margin:
        """All axes: those of the cells."""
        return max(self.numbers, key=len)

    @property
    def targets(self) -> dict[Margin, Reals | Whole]:
        """What is kept: cells, grand total, one-way totals, and those with noise of their own."""
        return {
            kept: numbers
            for kept, numbers in self.numbers.items()
            if len(kept) <= 1 or kept == self.axes or kept in self.noise
        }

    def balanced(self) -> Balanced:
        """The nearest whole numbers ≥ 0; axes turned about give the same, turned about."""
        return balanced(self.targets, self.possible)

    def bias(self, cells: Whole) -> tuple[float | None, float | None]:
        """How far off cells shown as 0, and all others, come out on average: simulated."""
        axes, shape = self.axes, cells.shape
        many = min(_MOST_TABLES, max(1, _CELLS // max(cells.size, 1)))
        random = np.random.default_rng(0)
        drawn = cells + self.noise[axes](random, (many, *shape))
        if self.possible is not None:
            drawn = np.where(self.possible, drawn, 0.0)
        parts: dict[Margin, Reals] = {}
        for kept in self.targets:
            gone = tuple(axis for axis in axes if axis not in kept)
            held = tuple(axis + 1 for axis in kept)
            true = cells.sum(axis=gone)
            if kept == axes:
                numbers = drawn
            elif not kept and self.exact:
                numbers = np.full(many, float(true))
            elif kept in self.noise:
                numbers = true + self.noise[kept](random, (many, *true.shape))
            else:
                numbers = drawn.sum(axis=tuple(axis + 1 for axis in gone))
            parts[(0, *held)] = numbers
        alike = None if self.possible is None else self.possible[None]
        found = nearest(parts, alike, whole=False, still=_STILL)
        again = found[(0, *(axis + 1 for axis in axes))]
        off = again.mean(axis=0) - cells
        free = np.ones(shape, dtype=bool) if self.possible is None else self.possible
        groups = free & (cells == 0), free & (cells != 0)
        empty, other = (float(off[where].mean()) if where.any() else None for where in groups)
        return empty, other


def draws_of(law: NoiseLaw, unit: int) -> Draw:
    """One draw of a law for each cell, in published units; float precision is enough here."""
    start, masses = law.masses()
    running = np.cumsum(masses)

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Reals:
        places = np.searchsorted(running, random.random(shape) * running[-1], side="right")
        return np.asarray((places + start) / unit, dtype=np.float64)

    return draw


def normal_draws(sd: Reals | float) -> Draw:
    """Draws with these standard deviations, for sums of draws and for estimates."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Reals:
        return np.asarray(random.normal(0.0, 1.0, shape) * sd, dtype=np.float64)

    return draw


def notes_of(measured: Measured, result: Balanced, totals: bool) -> list[str]:
    """What a reader is told of a balanced table."""
    cells, grand = result.cells, float(measured.numbers[()])
    notes: list[str] = [say("Values are the nearest that are not negative and add up.")]
    if round(grand) < 0:
        return [
            *notes,
            say("The grand total came out below 0 and is shown as 0, as is every cell."),
        ]
    if not result.keeps_totals:
        notes.append(
            say(
                "Cells that cannot exist leave no room for all totals measured, so only the "
                "grand total is as measured."
            )
        )
    elif totals:
        notes.append(_moved(measured, cells))
    else:
        notes.append(say("Their sum is as measured."))
    empty, other = measured.bias(cells)
    said = []
    if empty is not None:
        said.append(say("cells shown as 0 come out {off}", off=_off(empty)))
    if other is not None and said:
        said.append(say("all others {off}", off=_off(other)))
    elif other is not None:
        said.append(say("cells come out {off}", off=_off(other)))
    if said:
        notes.append(
            say(
                "Simulated with the published values in the place of true ones, {said} on average.",
                said=together(*said, between=", "),
            )
        )
    return notes


def _moved(measured: Measured, cells: Whole) -> str:
    """Which totals are as measured, and how many are not."""
    axes, many, most, every = measured.axes, 0, 0, 1
    for axis in axes if len(axes) > 1 else ():
        gone = tuple(other for other in axes if other != axis)
        off = np.abs(cells.sum(axis=gone) - np.rint(measured.numbers[axis,]).astype(np.int64))
        many += int(np.count_nonzero(off))
        most = max(most, int(off.max(initial=0)))
        every += off.size
    if every == 1:
        text = say("The grand total is as measured.")
    elif not many:
        text = say("The grand total is as measured, as are the totals of single categories.")
    else:
        text = say(
            "The grand total is as measured, as are the totals of single categories but for {many} "
            "of {every}, which were below 0 or did not add up to the grand total and moved by up to "
            "{most}.",
            many=many,
            every=every,
            most=most,
        )
    if len(axes) > 2:
        text = together(text, say("Totals over several variables are sums of the cells shown."))
    return text


def _off(bias: float) -> Sentence:
    size = number(f"{abs(bias):.2g}")
    return say("{size} too large", size=size) if bias >= 0 else say("{size} too small", size=size)
