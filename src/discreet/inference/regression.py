"""Poisson and grouped logistic regression on published counts, with the noise in the likelihood.

log μ = offset + b₀ + x'b for the categories of an axis; with an event, log μ = α_g + s (b₀ + x'b) where
s is 1 for the event's cell of group g and 0 for the others, so that b are log odds. Standard errors come
from the observed information. Covariates and offsets must be public or exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.exact import Exact
from ..core.table import ProtectedTable
from ..errors import CannotConclude, InputError
from ..languages import say
from .answer import Answer
from .channel import Additive, Channel, Reals
from .effects import effects, effects_of_many
from .evidence import Place, Reading, require_counts
from .grouped import GroupedFit, fit_odds, how_far_off
from .independence import axis_places
from .intervals import Cell, read_level
from .likelihood import Cells
from .maximum import Fit
from .regression_words import answer_of
from .starts import maximise_globally
from .statistics import Model
from .sums import combination

DENSE_GROUPS, _MOST_GROUPS = 60, 50_000
"""Odds of up to so many groups are fitted as one dense system; of more, group by group."""
_MOST_OFF = 0.5
"""Standard errors by which the odds of many groups may be off on average: 95 % is then 92 %."""
Data = Mapping[str, Mapping[str, Any]]
"""For each code of the axis, covariates and offsets by name."""


def regression(
    table: ProtectedTable,
    data: Data,
    terms: Sequence[str] | str,
    *,
    axis: str = "",
    offset: str = "",
    event: Cell | None = None,
    cell: Cell | None = None,
    level: Exact = "0.95",
) -> Answer:
    """Regress the counts of an axis on covariates; `offset` names the size that rates are of."""
    share = read_level(level)
    require_counts(table)
    reading = Reading(table)
    names = [terms] if isinstance(terms, str) else list(terms)
    position = _axis(reading, axis, event)
    codes = table.domain.axes[position].level.codes
    covariates = np.array([[_number(data, code, name) for name in names] for code in codes])
    covariates = covariates.reshape(len(codes), len(names))
    fitted: Fitted | ManyFitted
    if event is None:
        parts = [_part(reading, {**(cell or {}), reading.axes[position]: code}) for code in codes]
        sizes = np.array([_number(data, code, offset) if offset else 1.0 for code in codes])
        if (sizes <= 0).any():
            raise InputError(say("The offset {offset} must be above 0 everywhere.", offset=offset))
        cells, kept, offsets = _cells(parts), 1, np.log(sizes)
        fitted = poisson_fit(cells, covariates, offsets)
    else:
        if offset:
            raise InputError(
                say("A regression of odds has no offset: each group is compared with itself.")
            )
        parts = _event_parts(reading, position, codes, event)
        cells, kept, offsets = _cells(parts), len(codes) + 1, np.zeros(len(parts))
        fitted = odds_of_many(cells, covariates)
    if not fitted.sound[0]:
        raise CannotConclude(
            say(
                "The fit has no certified maximum: the noise is too large beside these counts. "
                "Use larger counts or fewer terms."
            )
        )
    if isinstance(fitted, ManyFitted):
        tested = effects_of_many(cells, fitted.terms, fitted.fit.loglik)
    else:
        null, whole = (Model(part, offsets) for part in (fitted.design[:, :kept], fitted.design))
        tested = effects(cells, null, whole, float(fitted.fit.loglik[0]))
    tested["groups"] = len(codes)
    return answer_of(
        names,
        fitted.coefficients[0],
        fitted.errors[0],
        fitted.fit,
        tested,
        share,
        odds=event is not None,
    )


def _axis(reading: Reading, axis: str, event: Cell | None) -> int:
    if axis:
        return axis_places(reading, axis)[0]
    used = set(axis_places(reading, list(event or {})))
    free = [place for place in range(len(reading.axes)) if place not in used]
    if len(free) != 1:
        raise InputError(
            say(
                "Say which axis the counts are regressed over: {names}.",
                names=", ".join(reading.axes),
            )
        )
    return free[0]


def _number(data: Data, code: str, name: str) -> float:
    try:
        number = float(data[code][name])
    except KeyError:
        raise InputError(
            say(
                "The data have no {name} for {code}; give one for each category.",
                name=repr(name),
                code=repr(code),
            )
        ) from None
    except (TypeError, ValueError):
        raise InputError(
            say(
                "{name} of {code} must be a number, got {value}.",
                name=name,
                code=code,
                value=repr(str(data[code][name])[:40]),
            )
        ) from None
    if not np.isfinite(number):
        raise InputError(say("{name} of {code} must be a finite number.", name=name, code=code))
    return number


def _part(reading: Reading, cell: Cell) -> tuple[int, Channel]:
    place = reading.place(cell)
    return reading.symbol(place), reading.channel(place)


def _event_parts(
    reading: Reading, position: int, codes: Sequence[str], event: Cell
) -> list[tuple[int, Channel]]:
    """For each group the event's cell, then what is left of the group."""
    parts = []
    name = reading.axes[position]
    for code in codes:
        cell = reading.place({**event, name: code})
        parts.append((reading.symbol(cell), reading.channel(cell)))
        parts.append(_others(reading, cell, position))
    return parts


def _others(reading: Reading, cell: Place, position: int) -> tuple[int, Channel]:
    """The rest of a group: the other one of two cells, what its total leaves, or a sum of cells."""
    free = [axis for axis, at in enumerate(cell) if at is not None and axis != position]
    siblings = [
        other
        for other in itertools.product(
            *(range(n) if axis in free else (cell[axis],) for axis, n in enumerate(reading.shape))
        )
        if other != cell
    ]
    if len(siblings) == 1:
        return reading.symbol(siblings[0]), reading.channel(siblings[0])
    if all(reading.table.totals[axis] for axis in free):
        group = tuple(None if axis in free else at for axis, at in enumerate(cell))
        rest = combination(reading, {group: 1, cell: -1})
    else:
        rest = combination(reading, dict.fromkeys(siblings, 1))
    return rest.value, Additive(rest.start, rest.masses)


def _cells(parts: Sequence[tuple[int, Channel]]) -> Cells:
    channels = list(dict.fromkeys(channel for _, channel in parts))
    kinds = np.array([channels.index(channel) for _, channel in parts])
    return Cells(channels, kinds, np.array([[symbol for symbol, _ in parts]]))


class Fitted:
    """Coefficients of many tables, intercept first, with their covariance."""

    def __init__(self, fit: Fit, design: Reals, kept: Reals, back: Reals) -> None:
        """`kept` picks the parameters wanted; `back` takes them to the scale of the covariates."""
        weights = fit.means - fit.variance
        self.fit, self.design = fit, design
        information = np.einsum("ti,ij,ik->tjk", weights, design, design)
        self.sound = fit.converged & (fit.eigenvalue > 0)
        ridge = (
            1e-12 * np.eye(design.shape[1]) * np.trace(information, axis1=1, axis2=2)[:, None, None]
        )
        transform = back @ kept
        self.coefficients = fit.parameters @ transform.T
        covariance = transform @ np.linalg.inv(information + ridge) @ transform.T
        self.errors = np.sqrt(np.maximum(np.einsum("tjj->tj", covariance), 0.0))


def _standardised(covariates: Reals) -> tuple[Reals, Reals]:
    """Covariates with mean 0 and sd 1, and the matrix that takes (b₀, b) back."""
    middle, spread = covariates.mean(0), covariates.std(0)
    if (spread <= 1e-12 * np.maximum(np.abs(middle), 1.0)).any():
        raise InputError(
            say("A covariate has the same value everywhere, so its effect cannot be told.")
        )
    scaled = (covariates - middle) / spread
    if (
        np.linalg.matrix_rank(np.column_stack([np.ones(len(scaled)), scaled]))
        <= covariates.shape[1]
    ):
        raise InputError(say("The covariates follow from one another; leave one out."))
    many = covariates.shape[1]
    back = np.zeros((many + 1, many + 1))
    back[0, 0], back[0, 1:] = 1.0, -middle / spread
    back[1:, 1:] = np.diag(1 / spread)
    return scaled, back


def poisson_fit(cells: Cells, covariates: Reals, offset: Reals) -> Fitted:
    """log μ = offset + b₀ + x'b, for many tables of the same design."""
    scaled, back = _standardised(covariates)
    design = np.column_stack([np.ones(len(scaled)), scaled])
    if len(design) <= design.shape[1]:
        raise CannotConclude(
            say(
                "{many} categories cannot tell {shape} coefficients; use fewer terms.",
                many=len(design),
                shape=design.shape[1],
            )
        )
    fit = maximise_globally(cells, design, offset)
    return Fitted(fit, design, np.eye(design.shape[1]), back)


def logistic_fit(cells: Cells, covariates: Reals) -> Fitted:
    """log μ = α_g + s (b₀ + x'b), cells in pairs: the event's, then the others."""
    groups = len(covariates)
    scaled, back = _standardised(covariates)
    event = np.tile([1.0, 0.0], groups)
    own = np.repeat(np.eye(groups), 2, axis=0)
    slopes = np.repeat(np.column_stack([np.ones(groups), scaled]), 2, axis=0) * event[:, None]
    design = np.column_stack([own, slopes])
    kept = np.eye(design.shape[1])[groups:]
    return Fitted(maximise_globally(cells, design), design, kept, back)


def odds_of_many(cells: Cells, covariates: Reals) -> Fitted | ManyFitted:
    """The regression of odds, dense or group by group."""
    groups = len(covariates)
    if groups > _MOST_GROUPS:
        raise CannotConclude(
            say(
                "A regression of odds takes up to {most} groups, got {groups}. Ask for a "
                "coarser level.",
                most=_MOST_GROUPS,
                groups=groups,
            )
        )
    scaled, back = _standardised(covariates)
    terms = np.column_stack([np.ones(groups), scaled])
    if groups > DENSE_GROUPS:
        found = fit_odds(cells, terms)
        _require_near(found.certified, found.off, groups)
        return ManyFitted(found, terms, back)
    dense = logistic_fit(cells, covariates)
    figures = cells.variance, dense.fit.means, dense.fit.variance
    noise, means, variance = (one.reshape(-1, 2) for one in figures)
    _require_near(bool(dense.sound[0]), how_far_off(noise, means, variance, terms), groups)
    return dense


def _require_near(sound: bool, off: float, groups: int) -> None:
    """Refuse odds that the sizes of their groups take too far off."""
    if sound and off > _MOST_OFF:
        raise CannotConclude(
            say(
                "Beside this noise the counts of {groups} groups are too small for a regression of "
                "odds: it would be off by more than its intervals allow for. Ask for a coarser "
                "level.",
                groups=groups,
            )
        )


class ManyFitted:
    """The same as `Fitted`, of one table with very many groups."""

    def __init__(self, fit: GroupedFit, terms: Reals, back: Reals) -> None:
        self.fit, self.terms, self.sound = fit, terms, np.array([fit.certified])
        self.coefficients = (back @ fit.coefficients)[None]
        covariance = back @ fit.covariance @ back.T
        self.errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))[None]
