"""How a budget is spent: what all ways of spending share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....core.neighbours import Neighbours
from ....core.product import Margin, Shape, closure
from ...shared.residuals import HARD, mean_variance, precisions
from ..measured_tables import Measured, Noise, scaled_to

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

    @classmethod
    def of(
        cls,
        amount: Fraction,
        neighbours: Neighbours,
        noise: Noise = "laplace",
        published: Iterable[Margin] = (),
    ) -> Spending:
        """With everything public that follows from the neighbours and the published margins."""
        known = set(closure(published))
        if neighbours is Neighbours.REPLACE_ONE:
            known.add(())
        return cls(amount, neighbours, noise, frozenset(known))

    @property
    def power(self) -> int:
        """How a table's precision grows with its share of the budget: squared for ε, in line for ρ."""
        return 2 if self.noise == "laplace" else 1

    def noise_of_one(self, tables: int) -> float:
        """The standard deviation of a number if so many tables share alike."""
        moved = self.neighbours.moved
        if self.noise == "laplace":
            return math.sqrt(2) * tables * moved / float(self.amount)
        return math.sqrt(tables * moved / (2 * float(self.amount)))

    def times(self, share: float) -> Spending:
        """The same with a part of the amount, for predictions."""
        return Spending(
            self.amount * Fraction(share).limit_denominator(10**9),
            self.neighbours,
            self.noise,
            self.public,
        )


@dataclass(frozen=True)
class Allocation:
    """A way to spend: measured tables, what is left out, and how well residuals will be known."""

    name: str
    measured: tuple[Measured, ...]
    dropped: tuple[Margin, ...]
    known: dict[Margin, float]
    rms: float
    """Predicted root mean squared error of a cell, mean over the tables that are measured."""
    one_way: bool


def as_measured(
    shape: Shape,
    workload: Sequence[Margin],
    measured: tuple[Measured, ...],
    public: Iterable[Margin],
) -> Allocation:
    """The budget of measurements already made, whatever would be planned today."""
    known = precisions(shape, measured, closure(workload), total=() in set(public))
    known |= {margin: HARD for margin in known if margin in set(public)}
    variances = {margin: mean_variance(shape, known, margin) for margin in workload}
    dropped = tuple(m for m, v in variances.items() if len(m) > 1 and not math.isfinite(v))
    kept = [v for m, v in variances.items() if m not in dropped]
    rms = math.sqrt(sum(kept) / len(kept)) if kept else math.inf
    orders = {len(m.margin) for m in measured if not m.contrast}
    return Allocation("as measured", measured, dropped, known, rms, 1 in orders and max(orders) > 1)


def finished(
    name: str,
    shape: Shape,
    workload: Sequence[Margin],
    shares: dict[Key, float],
    spending: Spending,
    *,
    dropped: Iterable[Margin] = (),
    one_way: bool = False,
) -> Allocation:
    """A budget from shares: rates that cost the amount exactly, and what they will tell."""
    measured = scaled_to(shares, spending.amount, len(shape), spending.neighbours, spending.noise)
    left_out = tuple(dropped)
    known = precisions(shape, measured, closure(workload), total=() in spending.public)
    known |= {margin: HARD for margin in known if margin in spending.public}
    kept = [margin for margin in workload if margin not in left_out]
    variances = [mean_variance(shape, known, margin) for margin in kept]
    rms = math.sqrt(sum(variances) / len(variances)) if variances else math.inf
    return Allocation(name, measured, left_out, known, rms, one_way)
