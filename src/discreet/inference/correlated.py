"""Tables whose noise is correlated because several measured tables were fitted together.

No cell of such a table has a law of its own, so nothing that takes cells one by one is honest. What
is: the estimates before any rounding to a consistent whole, published as values of a least-squares
table or as the column *unbiased*, with the covariance that the file carries as one variance for each
set of axes. Tests minimise (y − μ)' (diag μ + C)⁻¹ (y − μ), which is χ² where counts are large beside
the noise; elsewhere, and where no covariance is known, they are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..core.product import subsets
from ..core.residual_law import ResidualAxis, Residuals
from ..core.table import Status
from ..errors import CannotConclude
from ..languages import number, say
from . import chi_square
from .answer import percent
from .channel import Reals
from .evidence import Evidence, Place, Reading, require_counts
from .statistics import Model
from .verdict import LEVEL, Tested, smallest_effect_words

_MOST_CELLS = 2_000
_ROUNDED = 1 / 12
"""The variance that rounding to whole numbers adds."""
_ROOT_2 = math.sqrt(2)
"""P(a Laplace draw is beyond z standard deviations) is e^(−√2 z): 5 % beyond 2.118, normal 1.96."""


def is_fitted(reading: Reading) -> bool:
    """Whether the table's numbers are estimates from several measured tables together."""
    return reading.law.consistency != "none" and not reading.law.mean_weight


@dataclass(frozen=True)
class Estimates:
    """The unbiased estimates of a fitted table, and how their noise goes together."""

    reading: Reading

    def __post_init__(self) -> None:
        reading = self.reading
        law = reading.law
        if not law.measured:
            raise CannotConclude(
                say(
                    "These variables were never measured together: what this table shows of them "
                    "follows from the model only, and nothing can be concluded. Ask for a table "
                    "that was measured."
                )
            )
        require_counts(reading.table)
        if law.residual_variance is None:
            raise CannotConclude(
                say(
                    "The numbers of this table were fitted to several tables together "
                    "({consistency}), and its file carries no covariance of their noise. Use the "
                    "measured tables.",
                    consistency=law.consistency,
                )
            )
        if not law.column and (law.consistency != "least squares" or law.negatives != "keep"):
            raise CannotConclude(
                say(
                    "The estimates of this table were rounded to a consistent whole or cut at 0, "
                    "which no covariance describes. Ask for it with consistency none or least "
                    "squares, and keep the negatives: that costs nothing more."
                )
            )
        if law.column and law.column not in reading.table.extra:
            raise CannotConclude(
                say("The column {column} of this table's estimates is missing.", column=law.column)
            )

    @property
    def values(self) -> Any:
        """The estimates, totals included."""
        column = self.reading.law.column
        return self.reading.table.extra[column] if column else self.reading.table.values

    @cached_property
    def covariance(self) -> Reals:
        """Of the cells without totals, last axis fastest; rounding included."""
        cells = int(np.prod(self.reading.shape))
        if cells > _MOST_CELLS:
            raise CannotConclude(
                say(
                    "The covariance of {cells} fitted cells is too large to be tested; "
                    "{most} is the most. Ask for a table with fewer cells.",
                    cells=cells,
                    most=_MOST_CELLS,
                )
            )
        residuals = self.reading.law.residual_variance
        assert residuals is not None
        parts = [self._sides(axis) for axis in residuals.axes]
        order = [self._place(axis) for axis in residuals.axes]
        total = np.zeros((cells, cells))
        for kept in subsets(tuple(range(len(parts)))):
            factors = [parts[i][0] if i in kept else parts[i][1] for i in range(len(parts))]
            if any(np.abs(factor).max() < 1e-12 for factor in factors):
                continue
            scale, more, places = self._known(residuals, kept)
            if scale > 0:
                total += scale * self._product([*factors, *more], [*order, *places])
        return total + _ROUNDED * np.eye(cells)

    def _known(
        self, residuals: Residuals, kept: tuple[int, ...]
    ) -> tuple[float, list[Reals], list[int]]:
        """How well a set of axes is known: a variance, or a factor for an axis of nodes."""
        nodes = residuals.nodes
        variances = dict(residuals.variances)
        if kept not in (variances if nodes is None else nodes.by_set):
            raise CannotConclude(
                say(
                    "Not all parts of this table were measured, so the covariance of its noise is "
                    "not known. Ask for a table that was measured."
                )
            )
        if nodes is None:
            return variances[kept], [], []
        picked = self._picked(nodes.axis)
        return 1.0, [picked @ nodes.by_set[kept] @ picked.T], [self._place(nodes.axis)]

    def _place(self, axis: ResidualAxis) -> int:
        """The table's axis, or −1 for one that the table only filters by."""
        return -1 if axis.summed else self.reading.names.index(axis.name)

    def _sides(self, axis: ResidualAxis) -> tuple[Reals, Reals]:
        """What an axis contributes inside and outside of a set: over pairs of its categories."""
        picked = self._picked(axis)
        size = picked.sum(1)
        both = np.outer(size, size)
        return picked @ picked.T - both / axis.length, both / axis.length**2

    def _picked(self, axis: ResidualAxis) -> Reals:
        """For each category of the table which of the measured ones it sums."""
        places: list[int | None] = [None]
        if not axis.summed:
            places = list(range(self.reading.shape[self._place(axis)]))
        return np.array([axis.picked(place) for place in places])

    def _product(self, factors: list[Reals], order: list[int]) -> Reals:
        """The Kronecker product in the order of the table's axes."""
        sides = [np.ones((n, n)) for n in self.reading.shape]
        scale = 1.0
        for factor, place in zip(factors, order, strict=True):
            if place < 0:
                scale *= float(factor[0, 0])
            else:
                sides[place] = factor
        product = np.full((1, 1), scale)
        for side in sides:
            product = np.kron(product, side)
        return product

    def variance(
        self, one: Place, other: Place | None = None, factors: tuple[float, float] = (1.0, 1.0)
    ) -> float:
        """Of the estimate of a cell or total; with `other`, of their difference, each by its factor."""
        residuals = self.reading.law.residual_variance
        assert residuals is not None
        first = dict(zip(self.reading.names, one, strict=True))
        total = factors[0] ** 2 * (residuals.covariance(first) + _ROUNDED)
        if other is not None:
            second = dict(zip(self.reading.names, other, strict=True))
            total += factors[1] ** 2 * (residuals.covariance(second) + _ROUNDED)
            total -= 2 * factors[0] * factors[1] * residuals.covariance(first, second)
        if not np.isfinite(total):
            raise CannotConclude(say("How well this cell is known was not measured."))
        return max(total, 0.0)

    def value(self, place: Place) -> int:
        """The estimate of one cell or total."""
        index = self.reading.index(place)
        if not Status(int(self.reading.table.status[index])).has_value:
            raise CannotConclude(
                say("{place} is not published.", place=self.reading.cell_label(place))
            )
        return int(self.values[index])

    def half_width(self, variance: float, level: float) -> float:
        """How far an interval reaches: as far as one Laplace draw or a normal one, if that is more.

        An estimate is a sum of draws, so its tails lie between the two; Gaussian draws are normal.
        """
        width = float(ndtri((1 + level) / 2))
        if not self._gaussian:
            width = max(width, -math.log1p(-level) / _ROOT_2)
        return float(width * variance**0.5)

    def tail(self, gap: float, variance: float) -> float:
        """P(noise of this variance is as far from 0), by the same two laws; 1 where there is no gap."""
        if not gap:
            return 1.0
        if variance <= 0:
            return 0.0
        away = abs(gap) / variance**0.5
        normal = float(2 * ndtr(-away))
        return normal if self._gaussian else max(normal, math.exp(-_ROOT_2 * away))

    @property
    def _gaussian(self) -> bool:
        return all(source.law.name == "gaussian" for source in self.reading.law.sources)


def evidence_of(estimates: Estimates) -> Evidence:
    """The shape of a fitted table and which cells count; their symbols are not evidence by cell."""
    reading = estimates.reading
    inside = tuple(slice(0, n) for n in reading.shape)
    status = reading.table.status[inside].ravel()
    if (~np.isin(status, [Status.OK, Status.UNRELIABLE, Status.STRUCTURAL_ZERO])).any():
        raise CannotConclude(
            say("Some cells of this fitted table are not published; it cannot be tested.")
        )
    used = status != Status.STRUCTURAL_ZERO
    none = np.zeros(0, dtype=np.int64)
    return Evidence(none, none, (), used, reading.shape)


def judged_together(estimates: Estimates, used: Any, model: Model, *, effect: str) -> Tested:
    """Test a log-linear null on a fitted table through its covariance."""
    if model.df < 1:
        raise CannotConclude(
            say("There is nothing to test: the model has a parameter for every cell.")
        )
    inside = tuple(slice(0, n) for n in estimates.reading.shape)
    shown = estimates.values[inside].ravel()[used].astype(np.float64)
    noise = estimates.covariance[np.ix_(used, used)]
    statistic, means = quadratic_statistic(shown, model.design, noise)
    spread = float(np.diag(noise).max())
    mean = float(means.mean())
    if mean < 2 * spread or mean < 10:
        raise CannotConclude(
            say(
                "Counts of {mean} on average are too small beside correlated noise of variance "
                "{spread} to be tested. Use a table with larger cells, or the measured table "
                "itself.",
                mean=number(f"{mean:,.0f}"),
                spread=number(f"{spread:,.0f}"),
            )
        )
    p = float(chi_square.tail(statistic, model.df))
    weights = np.linalg.inv(np.diag(means) + noise)
    known = float(means @ weights @ means) / len(means)
    seen = float(np.sqrt(chi_square.needed_size(model.df, LEVEL, 0.8) / (known * model.df)))
    numbers: dict[str, Any] = {
        "p": p,
        "p_by": "chi-square of a quadratic form with the noise covariance",
        "statistic": statistic,
        "df": model.df,
        "mean_count": mean,
        "noise_sd": spread**0.5,
        "smallest_effect": seen,
    }
    column = estimates.reading.law.column
    caveats = [
        say(
            "The noise of this table is correlated; its covariance was used, and {estimates} as "
            "the estimates. A test that takes cells one by one would be wrong.",
            estimates=say("the column {column}", column=column)
            if column
            else say("the least-squares values"),
        ),
        smallest_effect_words(seen, effect),
        say(
            "At these counts the test's level is at most {share}, not quite 5 %.",
            share=percent(0.09),
        ),
    ]
    return Tested(p, "covariance", None, numbers, tuple(caveats))


def quadratic_statistic(shown: Reals, design: Reals, noise: Reals) -> tuple[float, Reals]:
    """min over b of (y − μ)' (diag μ + C)⁻¹ (y − μ) with log μ = X b, by Gauss–Newton steps."""
    start = np.log(np.maximum(shown, 0.5 + 0.25 * np.sqrt(np.diag(noise))))
    parameters = np.linalg.lstsq(design, start, rcond=None)[0]
    means = np.exp(design @ parameters)
    for _ in range(60):
        slopes = means[:, None] * design
        solved = np.linalg.solve(np.diag(means) + noise, np.column_stack([slopes, shown - means]))
        curve, slope = slopes.T @ solved[:, :-1], slopes.T @ solved[:, -1]
        step = np.linalg.lstsq(curve, slope, rcond=None)[0]
        longest = float(np.abs(design @ step).max())
        parameters = parameters + step * min(1.0, 1.5 / max(longest, 1e-300))
        means = np.exp(np.clip(design @ parameters, -30, 40))
        if float(slope @ step) < 1e-10:
            break
    rest = shown - means
    return float(rest @ np.linalg.solve(np.diag(means) + noise, rest)), means
