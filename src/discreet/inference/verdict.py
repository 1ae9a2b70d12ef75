"""Testing a log-linear null on one table: the p-value, the verdict, and what stands beside them.

The verdict rests on the score statistic. By χ² where mean and median count are at least twice the
standard deviation of the noise and at least 4 (and twice any cut), and the degrees of freedom are not
fewer than 10 unless counts dwarf the noise, and few cells are near empty (the statistic's variance is at
most 1.2 times that of χ²); elsewhere by the larger of the χ² p-value and that of
tables drawn from the fitted null. The likelihood ratio gets a χ² p-value of its own only where counts
dwarf the noise (mean at least 25 times its variance and at least 15): below, it would mislead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CannotConclude
from ..languages import number, say
from . import chi_square
from .answer import p_text, percent
from .channel import LOW, Reals
from .evidence import Evidence
from .information import kurtosis
from .statistics import (
    BOOTSTRAPS,
    Model,
    Statistics,
    bootstrap,
    drawn,
    naive_level,
    naive_statistic,
    statistics,
)

LEVEL = 0.05
POWER = 0.8
_FEW = 10
"""With fewer degrees of freedom χ² needs counts that dwarf the noise."""
_LARGE, _LARGEST = 200_000, 10_000_000
"""Sizes of a design from which fewer tables are drawn, and beyond which nothing is tested."""
_WIDE = 1.2
"""A score statistic that varies by so much more than χ² has heavier tails."""
_LEAST_INFORMATION = 2.0
"""Expected information a parameter below which nothing can be concluded."""


@dataclass(frozen=True)
class Tested:
    """What a test of one table found, before it is put into words for its own question."""

    p: float
    by: str
    """How the p-value was found: chi-square, or bootstrap."""
    found: Statistics | None
    numbers: dict[str, Any]
    caveats: tuple[str, ...]

    @property
    def rejected(self) -> bool:
        """Whether the null is rejected at 5 %."""
        return self.p <= LEVEL


def judged(evidence: Evidence, model: Model, *, effect: str) -> Tested:
    """Test a null; `effect` names what departs from it, for the sentence on what could be seen."""
    if model.df < 1:
        raise CannotConclude(
            say("There is nothing to test: the model has a parameter for every cell.")
        )
    _require_something(evidence, model)
    if model.design.size > _LARGEST:
        raise CannotConclude(
            say(
                "{shape} cells and {shape_2} parameters are too many for a test here. Ask for a "
                "table with fewer categories.",
                shape=model.design.shape[0],
                shape_2=model.design.shape[1],
            )
        )
    found = statistics(evidence.channels, evidence.kinds, evidence.released[None], model)
    known = float(found.information.sum())
    if known < _LEAST_INFORMATION * model.design.shape[1]:
        raise _nothing(evidence)
    means, mean = found.fit.means[0], float(found.fit.means.mean())
    sparse = is_sparse(evidence, means, model.df)
    by_chi2 = float(found.p_score[0])
    p, by, share = by_chi2, "chi-square", None
    if sparse:
        score = float(found.score[0])
        times = _draws(model)
        share = bootstrap(
            evidence.channels, evidence.kinds, model, means, score, evidence.seed, times
        )
        p, by = max(by_chi2, share), "larger of chi-square and bootstrap"
    naive, wrong = _naive(evidence, model, found)
    seen = smallest_effect(found.information[0], model.df)
    safe = dwarfs(mean, float(evidence.variance.max()))
    numbers: dict[str, Any] = {
        "p": p,
        "p_by": by,
        "score": float(found.score[0]),
        "lr": float(found.lr[0]),
        "df": model.df,
        "p_score_chi_square": by_chi2,
        "p_score_bootstrap": share,
        "p_lr_chi_square": float(found.p_lr[0]) if safe else None,
        "noise_sd": float(np.sqrt(evidence.variance.max())),
        "mean_count": mean,
        "smallest_effect": seen,
        "naive": naive,
        "naive_p": float(chi_square.tail(naive, model.df)),
        "naive_level": wrong,
        "certificate": certificate(found),
    }
    caveats = [*naive_words(numbers), smallest_effect_words(seen, effect)]
    caveats += _lr_words(safe) + _sparse_words(sparse) + _certificate_words(found)
    return Tested(p, by, found, numbers, (*caveats, *evidence.caveats))


def is_sparse(evidence: Evidence, means: Reals, df: int) -> bool:
    """Whether χ² cannot be trusted by itself: counts near the noise or a cut, or very few cells.

    Mean and median count have to be large, and few cells near empty: those make heavy tails.
    """
    mean = min(float(means.mean()), float(np.median(means)))
    variance = float(evidence.variance.max())
    cut = max(channel.treatment.cut for channel in evidence.channels)
    near = mean < 2 * variance**0.5 or mean < 4 or (cut > 0 and mean < 2 * cut)
    few = df < _FEW and not dwarfs(mean, variance)
    return near or few or spread(evidence, means) > _WIDE


def spread(evidence: Evidence, means: Reals) -> float:
    """The variance of the score statistic beside that of χ²: 1 where every cell's part is normal."""
    tails = np.minimum(kurtosis(evidence.channels, evidence.kinds, means), 100.0)
    return float((tails - 1).mean() / 2)


def dwarfs(mean: float, variance: float) -> bool:
    """Whether counts dwarf the noise, so that any χ² law holds."""
    return mean >= 25 * variance and mean >= 15


def _draws(model: Model) -> int:
    """How many tables are drawn: fewer where each takes long."""
    if model.design.size <= _LARGE:
        return BOOTSTRAPS
    if model.design.size <= 10 * _LARGE:
        return BOOTSTRAPS // 5
    raise CannotConclude(
        say(
            "The table is too sparse for its noise, and with {shape} cells too large to be judged "
            "by drawn tables. Ask for a table with fewer, larger cells.",
            shape=model.design.shape[0],
        )
    )


def _require_something(evidence: Evidence, model: Model) -> None:
    """Refuse tables in which the noise drowns all that could be estimated, before any fit."""
    cut = np.array([channel.treatment.cut for channel in evidence.channels])[evidence.kinds]
    numbers = np.where(evidence.released <= LOW, cut, evidence.released)
    for kind, symbol in set(zip(evidence.kinds.tolist(), evidence.released.tolist(), strict=True)):
        evidence.channels[kind].require(symbol)
    if not (evidence.released > 0).any():
        raise CannotConclude(
            say("No cell of this table shows a number above 0, so there is nothing to test.")
        )
    count = len(numbers)
    sd = np.sqrt(evidence.variance)
    most = float(numbers.mean() + 3 * sd.max() / np.sqrt(count))
    most = max(most, 0.5)
    if count * most * most / (most + evidence.variance.min()) < model.design.shape[1]:
        raise _nothing(evidence)


def _nothing(evidence: Evidence) -> CannotConclude:
    sd = float(np.sqrt(evidence.variance.max()))
    return CannotConclude(
        say(
            "Nothing can be concluded: noise of standard deviation {sd} in each cell hides "
            "whatever these counts could say. Use a table with fewer, larger cells, or one with "
            "less noise.",
            sd=number(f"{sd:.3g}"),
        )
    )


def _naive(evidence: Evidence, model: Model, found: Statistics) -> tuple[float, float]:
    """The ordinary statistic, and how often it would reject a true null: by cumulants or draws."""
    naive = float(naive_statistic(evidence.released[None], model)[0])
    means, df = found.fit.means, model.df
    plenty = bool((means[0] >= np.maximum(2 * np.sqrt(evidence.variance), 4)).all())
    if plenty or model.design.size > _LARGE:
        return naive, float(naive_level(evidence.channels, evidence.kinds, means, df)[0])
    released = drawn(evidence.channels, evidence.kinds, means[0], evidence.seed, BOOTSTRAPS)
    rejected = chi_square.tail(naive_statistic(released, model), df) <= LEVEL
    return naive, float(rejected.mean())


def smallest_effect(known: Any, df: int, power: float = POWER) -> float:
    """The departure, as the root mean square change of log means, seen with 80 % power."""
    needed = chi_square.needed_size(df, LEVEL, power)
    return float(np.sqrt(needed / (float(np.mean(known)) * df)))


def certificate(found: Statistics) -> dict[str, Any]:
    """What is certain of the maximum behind a statistic."""
    fit = found.fit
    return {
        "converged": bool(fit.converged[0]),
        "decrement": float(fit.decrement[0]),
        "largest_slope": float(fit.slope[0]),
        "least_eigenvalue": float(fit.eigenvalue[0]),
        "boundary": bool(fit.boundary[0]),
        "starts": int(fit.starts[0]),
        "maxima": int(fit.maxima[0]),
    }


def said(tested: Tested, nothing: str, something: str) -> str:
    """The first sentence: what may be said, and the p-value it rests on."""
    words = something if tested.rejected else nothing
    how = (
        say("score test that knows the noise")
        if tested.found
        else say("test that knows the covariance")
    )
    return say("{words} ({p}, {how}).", words=words, p=p_text(tested.p), how=how)


def naive_words(numbers: dict[str, Any]) -> list[str]:
    """What an ordinary test would say, and how wrong it would be."""
    level = numbers["naive_level"]
    if level < LEVEL + 0.005:
        return [
            say(
                "An ordinary test of the published numbers would do as well ({p}).",
                p=p_text(numbers["naive_p"]),
            )
        ]
    return [
        say(
            "An ordinary test that takes the published numbers for counts says {p}; do not "
            "use it: with this noise it rejects {share} of tables in which nothing is there to "
            "be found, not 5 %.",
            p=p_text(numbers["naive_p"]),
            share=percent(level),
        )
    ]


def smallest_effect_words(seen: float, effect: str) -> str:
    """What could have been seen, in a sentence."""
    if seen > 3:
        return say("Hardly any {effect} could have been seen through this noise.", effect=effect)
    size = float(np.exp(seen) - 1)
    return say(
        "The smallest {effect} that would have been seen with 80 % chance moves cells by about "
        "{share} (root mean square).",
        effect=effect,
        share=percent(size, 0 if size >= 0.02 else 1),
    )


def _lr_words(safe: bool) -> list[str]:
    if safe:
        return []
    return [
        say("The likelihood ratio has no p-value here: beside this noise its χ² law does not hold.")
    ]


def _sparse_words(sparse: bool) -> list[str]:
    if not sparse:
        return []
    return [
        say(
            "The table is too small or too sparse for its noise to rely on χ² alone; the p-value "
            "is the larger of that of χ² and that of tables drawn from the fitted model."
        )
    ]


def _certificate_words(found: Statistics) -> list[str]:
    fit = found.fit
    words: list[str] = []
    if not fit.converged[0]:
        words.append(say("The fit did not reach a certified maximum: read the result with care."))
    if fit.maxima[0] > 1:
        words.append(
            say(
                "The likelihood has several maxima ({maxima} found from {starts} starts); the "
                "best of them was used, and a better one may exist.",
                maxima=fit.maxima[0],
                starts=fit.starts[0],
            )
        )
    elif fit.starts[0] > 1:
        words.append(
            say(
                "Counts are near the noise; {starts} starts led to one maximum, which is no proof "
                "that there is no other.",
                starts=fit.starts[0],
            )
        )
    if fit.boundary[0]:
        words.append(
            say("Some rows or columns are estimated to be empty: they add nothing to the test.")
        )
    return words
