"""What is measured, what it costs, and the exact draws.

A measured table counts, for every node of one level of the tree, the cells of a margin of the other
variables, in whole numbers.

**Sensitivity.** Every record is in exactly one cell of every table. Adding or removing one moves each
table by 1, in L1 and in squared L2. Replacing one moves a table by 2, or by 0 where both records
fall in the same cell; two records can differ in every variable and lie in different nodes of every
level that has two or more, so the worst pair moves every table of two or more cells, all at once.
So `cost` is exact: the sum of the rates, or twice the sum over tables of more than one cell.
Structural zeros may rule the worst pair out; then it is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...core.neighbours import Neighbours
from ...core.product import Margin, Rows, Shape, Whole, addresses, size
from ...core.random_source import RandomSource
from ...errors import Bug
from ..shared.drawn_noise import (
    Noise,
    NoiseOf,
    check_least,
    law_of,
    letter_of,
    most_rate,
    variance_of,
)
from .tree import Tree


@dataclass(frozen=True)
class Measured:
    """One table to be measured: a level of the tree, and axes of the product but the tree's own."""

    level: int
    margin: Margin
    rate: Fraction
    noise: Noise = "laplace"
    unit: int = 1
    """Counts and draws are in parts of 1/unit: the pilot's Laplace noise has three decimals."""
    contrast: Margin = ()

    @property
    def name(self) -> str:
        """A name for stored arrays: the level, then axes by position."""
        return f"level {self.level} of " + (".".join(map(str, self.margin)) or "all")

    @property
    def law(self) -> NoiseOf:
        """The law of its noise: exact, untruncated."""
        return law_of(self.noise, self.rate, self.unit)

    @property
    def worst_law(self) -> NoiseOf:
        """A law of whole counts that tells at least as much of a record, at the same rate.

        One step of whole Laplace noise has a loss of ±rate and nothing between, which no mechanism
        of that rate surpasses; and shifts by more follow from shifts by one.
        """
        return law_of(self.noise, self.rate)

    @property
    def variance(self) -> float:
        """The exact variance of one number's noise, as a float."""
        return variance_of(self.noise, self.rate, self.unit) / self.unit**2

    @property
    def said(self) -> str:
        """Its noise as stored beside the numbers."""
        return f"{self.noise} {self.rate}" + (f" in 1/{self.unit}" if self.unit > 1 else "")

    @classmethod
    def read(cls, name: str, said: str) -> Measured:
        """A table again from its `name` and what it `said`.

        >>> one = Measured(2, (0, 3), Fraction(1, 3), "gaussian")
        >>> Measured.read(one.name, one.said) == one
        True
        """
        level, _, axes = name.removeprefix("level ").partition(" of ")
        margin = () if axes == "all" else tuple(int(axis) for axis in axes.split("."))
        said, _, unit = said.partition(" in 1/")
        noise, _, rate = said.partition(" ")
        if noise not in ("laplace", "gaussian"):
            raise Bug(f"Stored measurements name a noise {noise!r} that there is not.")
        kind: Noise = "laplace" if noise == "laplace" else "gaussian"
        return cls(int(level), margin, Fraction(rate), kind, int(unit or 1))

    def cells(self, tree: Tree, shape: Shape) -> int:
        """How many numbers it has."""
        return tree.sizes[self.level] * size(shape, self.margin)


def cost(
    measured: Sequence[Measured], tree: Tree, shape: Shape, neighbours: Neighbours
) -> Fraction:
    """The ε (or ρ) that all measurements cost together, one record being the change."""
    if len({m.noise for m in measured}) > 1:
        raise Bug("A plan mixes two kinds of noise.")
    if neighbours is Neighbours.ADD_REMOVE:
        return sum((m.rate for m in measured), Fraction(0))
    return 2 * sum((m.rate for m in measured if m.cells(tree, shape) > 1), Fraction(0))


def scaled_to(
    weights: Mapping[tuple[int, Margin], Fraction],
    budget: Fraction,
    tree: Tree,
    shape: Shape,
    neighbours: Neighbours,
    noise: Noise,
) -> tuple[Measured, ...]:
    """Measured tables whose rates are in these proportions and cost at most `budget`, exactly."""
    first = [Measured(*key, weight, noise) for key, weight in weights.items()]
    spent = cost(first, tree, shape, neighbours)
    if spent == 0:
        raise Bug("A plan measures nothing that a record can change.")
    most = most_rate(noise)
    made = tuple(
        Measured(m.level, m.margin, min(m.rate * budget / spent, most), noise) for m in first
    )
    check_least(noise, min(m.rate for m in made))
    if cost(made, tree, shape, neighbours) > budget:
        raise Bug(f"A plan costs more than its {letter_of(noise)}.")
    return made


def draw_all(
    measured: Sequence[Measured],
    tree: Tree,
    shape: Shape,
    rows: Rows,
    counts: Whole,
    source: RandomSource | None = None,
) -> dict[str, Whole]:
    """Noisy whole numbers of every measured table by name, from all cells that hold somebody.

    A `source` of randomness is given by studies only; without one it is the operating system's.
    """
    out = {}
    for m in measured:
        table = counted(m, tree, shape, rows, counts)
        out[m.name] = table * m.unit + m.law.draw(table.size, source).astype(np.int64).reshape(
            table.shape
        )
    return out


def counted(m: Measured, tree: Tree, shape: Shape, rows: Rows, counts: Whole) -> Whole:
    """The true numbers of a table: nodes of its level first, then its axes."""
    nodes, cells = tree.sizes[m.level], size(shape, m.margin)
    at = addresses(rows, shape, m.margin)
    if m.level:
        at = at + tree.of_finest[m.level][rows[:, tree.axis]] * cells
    table = np.zeros(nodes * cells, dtype=np.int64)
    np.add.at(table, at, counts)
    return table.reshape(nodes, *(shape[axis] for axis in m.margin))


def measured_facts(measured: Sequence[Measured]) -> list[list[str]]:
    """What was measured and at which rate, as stored beside the numbers."""
    return [[m.name, m.said] for m in measured]
