"""The laws this method draws from, and what sums of their draws are like.

*laplace* untruncated has δ = 0; truncated, *normal*, *max-entropy* and *exponential* have δ;
*gaussian* is the discrete Gaussian, counted in ρ; *hellinger* has a law for each count and δ = 0.
Hellinger's law, and *max-entropy* asked by its variance, cost what their weights are audited to lose
(`step_loss`), both ways. A margin's law is made from what entering or leaving that margin may cost
(`one_sided`) and from how far one unit can move a cell (`reach`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ...core.audit import audit
from ...core.brackets import exp_bracket
from ...core.gaussian import DiscreteGaussian
from ...core.hellinger_law import HellingerLaw, six_digits_up
from ...core.law import Law
from ...core.law_builders import (
    IOTA_SHARE,
    MAX_PERTURBATION_MOST,
    exponential,
    laplace,
    max_entropy,
    max_entropy_for,
    normal,
)
from ...core.masses import gamma_for_epsilon
from ...core.noise_law import NoiseLaw
from ...core.product import Whole
from ...core.pure_laplace import PureLaplace
from ...errors import LawError

COVERAGE = Fraction(95, 100)
TableLaw = NoiseLaw | HellingerLaw
"""A law that a table may be drawn from."""


@lru_cache(maxsize=512)
def pure(one_sided: Fraction, reach: int) -> PureLaplace:
    """The untruncated Laplace with which a cell moved by `reach` costs at most `one_sided`."""
    return PureLaplace.of(one_sided, reach)


@lru_cache(maxsize=512)
def truncated(name: str, one_sided: Fraction, reach: int, max_perturbation: int) -> Law:
    """A law cut at `max_perturbation`, each step of a cell by 1 costing one_sided / reach."""
    return _BUILDERS[name](one_sided / reach, max_perturbation)


_BUILDERS: Mapping[str, Callable[[Fraction, int], Law]] = {
    "laplace": laplace,
    "normal": normal,
    "max-entropy": max_entropy_for,
}


@lru_cache(maxsize=512)
def by_utility(utility: str, one_sided: Fraction, reach: int) -> Law:
    """The exponential mechanism for a utility, each step of a cell by 1 costing one_sided / reach.

    Where a unit moves a cell by more than 1, the utility must fall ever faster, as those of the
    laws with a name do: only then is a unit with all its records in one cell the worst.
    """
    worth = [Fraction(word) for word in utility.split()]
    steps = [inner - outer for inner, outer in pairwise(worth)]
    if reach > 1 and any(inner > outer for inner, outer in pairwise(steps)):
        raise LawError(
            f"One unit may move a cell by {reach} here, and this utility does not fall ever faster "
            "away from 0. Use one whose steps never shrink, or law laplace."
        )
    table = {sign * z: one for z, one in enumerate(worth) for sign in (1, -1)}
    law = exponential(table, one_sided / reach, len(worth) - 1)
    return replace(law, parameters={**law.parameters, "utility": utility})


@lru_cache(maxsize=512)
def by_variance(variance: Fraction, max_perturbation: int) -> Law:
    """The law of greatest entropy with this variance, whatever it costs."""
    return max_entropy(max_perturbation, variance)


@lru_cache(maxsize=512)
def step_loss(law: Law | HellingerLaw) -> Fraction:
    """The audited ε of a cell moved by 1, both ways, rounded up to six digits.

    >>> float(step_loss(by_variance(Fraction(4), 11)))
    2.625
    """
    if isinstance(law, HellingerLaw):
        return law.step_loss
    found = audit(law).epsilon
    if found is None:
        raise LawError(
            f"The {law.name} law gives every count away: it moves no count by one. Raise variance."
        )
    return six_digits_up(found)


@lru_cache(maxsize=512)
def gaussian(one_sided: Fraction, reach: int) -> DiscreteGaussian:
    """The discrete Gaussian with which a cell moved by `reach` costs ρ = `one_sided`."""
    return DiscreteGaussian.of(Fraction(reach * reach) / (2 * one_sided))


@lru_cache(maxsize=512)
def shortest(name: str, one_sided: Fraction, reach: int, delta: Fraction) -> Law:
    """The law with the smallest `max_perturbation` whose δ for a cell moved by `reach` is ≤ delta.

    >>> shortest("laplace", Fraction(1), 1, Fraction(1, 10**6)).max_perturbation
    14
    """
    rate = float(one_sided / reach)
    low, high = reach, MAX_PERTURBATION_MOST
    if _end_mass(name, rate, high, reach) > float(delta):
        raise LawError(
            f"No {name} law with max_perturbation ≤ {MAX_PERTURBATION_MOST} has delta ≤ "
            f"{float(delta):.3g} here. Raise epsilon or delta."
        )
    while low < high:  # floats find the neighbourhood, whole weights decide
        middle = (low + high) // 2
        if _end_mass(name, rate, middle, reach) <= float(delta):
            high = middle
        else:
            low = middle + 1
    size = max(low - 1, reach)
    while size <= MAX_PERTURBATION_MOST:
        law = truncated(name, one_sided, reach, size)
        if end_mass(law, reach) <= delta:
            return law
        size += 1
    raise LawError(f"No {name} law has delta ≤ {float(delta):.3g} here. Raise epsilon or delta.")


def _end_mass(name: str, rate: float, m: int, reach: int) -> float:
    z = np.arange(m + 1, dtype=np.float64)
    if name == "max-entropy":
        bell = float(gamma_for_epsilon(Fraction(1), m, IOTA_SHARE))
    else:
        bell = 1 / (2 * m + 1)
    raw = np.exp(-rate * (z if name == "laplace" else z * z * bell))
    return float(raw[m - reach + 1 :].sum() / (2 * raw.sum() - 1))


def end_mass(law: Law, reach: int) -> Fraction:
    """δ of a cell moved by `reach` at ε = reach × the law's own ε: the mass that is then impossible.

    The law's own ε is the one it was asked for, or what a step was audited to lose.

    Holds because no step between possible values is steeper than e^ε, which is checked here in
    whole numbers, so a move by s is at most e^(sε) wherever both are possible. The mass of the
    last s values grows faster than s, so all of a unit's records in one cell is the worst.
    """
    asked = law.parameters.get("epsilon")
    step = exp_bracket(step_loss(law) if asked is None else Fraction(asked))[0]
    weights = [w for w in law.weights if w]
    first = next(i for i, w in enumerate(law.weights) if w)
    if law.weights[first : first + len(weights)] != tuple(weights) or not law.symmetric:
        raise LawError(f"The {law.name} law has gaps at this size. Lower max_perturbation.")
    # From the middle outwards: falling, so that the ends' mass grows faster than s, and not too fast.
    for inner, outer in pairwise(weights[len(weights) // 2 :]):
        if outer > inner or inner * step.denominator > outer * step.numerator:
            raise LawError(
                f"The {law.name} law exceeds its epsilon{f' of {asked}' if asked else ''} by "
                "rounding. Lower max_perturbation."
            )
    if reach > len(weights) // 2:
        return Fraction(1)
    return Fraction(sum(weights[-reach:]), law.total)


def noised(law: TableLaw, true: Whole) -> Whole:
    """True counts with one exact draw each."""
    if isinstance(law, HellingerLaw):
        return law.draw_for(np.asarray(true, dtype=np.int64))
    return np.asarray(true + law.draw(true.size).reshape(true.shape), dtype=np.int64)


def bias_at(law: NoiseLaw, threshold: int, true: int) -> float:
    """How far off on average a true count comes out when values below `threshold` become 0.

    With threshold 0 this is clipping: at true 0 the mean of the positive part of the noise.

    >>> round(bias_at(PureLaplace.of("1"), 0, 0), 4)
    0.4255
    """
    start, masses = law.masses()
    z = np.arange(start, start + len(masses))
    shown = np.where(true + z < max(threshold, 0), 0, true + z)
    return float(np.sum(masses * (shown - true)))


def describe(law: TableLaw) -> Mapping[str, str]:
    """What was asked of a law, as exact text, and the digest of what it came to."""
    return {"name": law.name, **law.parameters, "digest": law.digest}


def made_again(described: Mapping[str, str]) -> TableLaw:
    """A law from its description.

    >>> made_again(describe(pure(Fraction(1, 3), 2))) == pure(Fraction(1, 3), 2)
    True
    """
    if described["name"] == "gaussian":
        return DiscreteGaussian.of(Fraction(described["sigma2"]))
    if "variance" in described:
        return by_variance(Fraction(described["variance"]), int(described["max_perturbation"]))
    if "max_count" in described:
        counts = int(described["max_count"]), int(described["max_value"])
        return HellingerLaw.of(described["epsilon"], *counts)
    epsilon = Fraction(described["epsilon"])
    if "utility" in described:
        return by_utility(described["utility"], epsilon, 1)
    if "max_perturbation" in described:
        return truncated(described["name"], epsilon, 1, int(described["max_perturbation"]))
    return pure(epsilon, int(described.get("sensitivity", 1)))


def asked(described: Mapping[str, str]) -> dict[str, str]:
    """What was asked of a described law, without what was computed for it."""
    return {
        k: v for k, v in described.items() if k not in ("ratio", "digest", "key_bits", "iota_share")
    }
