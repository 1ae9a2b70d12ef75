"""How a budget is spent: what all ways of spending share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ....core.neighbours import Neighbours
from ....core.product import Margin, Shape, closure
from ...shared.drawn_noise import Noise
from ...shared.residuals import HARD, mean_variance, precisions
from ..measured_tables import Measured, scaled_to

Key = tuple[Margin, Margin]
"""A table to measure: its axes, and which of them as differences."""


@dataclass(frozen=True)
class Spending:
    """What one record may cost, in ε (Laplace noise) or ρ (Gaussian), and what is public anyway."""

    amount: Fraction
    neighbours: Neighbours
    noise: Noise = "laplace"
    public: frozenset[Margin] = frozenset()
    """Residuals known exactly without measuring: a public total, published margins."""

    @property
    def power(self) -> int:
        """How a table's precision grows with its share of the budget: squared for ε, in line for ρ."""
        return 2 if self.noise == "laplace" else 1

    def noise_of_one(self, tables: int) -> float:
        """The standard deviation of a number if so many tables share alike."""
        return math.sqrt(self.variance_of_one(tables))

    def variance_of_one(self, tables: int) -> float:
        """Its variance, of whole numbers: with a large share it falls far faster than 1/share²."""
        rate = float(self.amount) / (tables * self.neighbours.moved)
        if self.noise == "laplace":
            return 2 * math.exp(-rate) / math.expm1(-rate) ** 2
        if rate < 0.5:  # from σ² = 1 on the Gaussian of whole numbers has σ² to seven digits
            return 1 / (2 * rate)
        near = [math.exp(-rate * k * k) for k in range(1, 12)]
        return 2 * sum(k * k * p for k, p in enumerate(near, 1)) / (1 + 2 * sum(near))

    def times(self, share: float) -> Spending:
        """The same with a part of the amount, for predictions."""
        return replace(self, amount=self.amount * Fraction(share).limit_denominator(10**9))


def public_residuals(neighbours: Neighbours, published: Iterable[Margin] = ()) -> frozenset[Margin]:
    """Everything public that follows from the neighbours and the published margins."""
    total = [()] if neighbours is Neighbours.REPLACE_ONE else []
    return frozenset([*closure(published), *total])


@dataclass(frozen=True)
class Allocation:
    """A way to spend: measured tables, what is left out, and how well residuals will be known."""

    name: str
    measured: tuple[Measured, ...]
    dropped: tuple[Margin, ...]
    known: dict[Margin, float]
    rms: float
    """Predicted root mean squared error of a cell, mean over the tables that are measured."""


def told(
    name: str,
    shape: Shape,
    workload: Sequence[Margin],
    measured: tuple[Measured, ...],
    public: Collection[Margin] = (),
    dropped: Collection[Margin] | None = None,
) -> Allocation:
    """What measured tables will tell; without `dropped` it is every wider table they cannot."""
    known = precisions(shape, measured, closure(workload), total=() in public)
    known |= {margin: HARD for margin in known if margin in public}
    variances = {margin: mean_variance(shape, known, margin) for margin in workload}
    if dropped is None:
        dropped = [m for m, v in variances.items() if len(m) > 1 and not math.isfinite(v)]
    kept = [v for m, v in variances.items() if m not in dropped]
    rms = math.sqrt(sum(kept) / len(kept)) if kept else math.inf
    return Allocation(name, measured, tuple(dropped), known, rms)


def finished(
    name: str,
    shape: Shape,
    workload: Sequence[Margin],
    shares: dict[Key, float],
    spending: Spending,
    dropped: Collection[Margin] = (),
) -> Allocation:
    """A budget from shares: rates that cost the amount exactly, and what they will tell."""
    measured = scaled_to(shares, spending.amount, len(shape), spending.neighbours, spending.noise)
    return told(name, shape, workload, measured, spending.public, dropped)
