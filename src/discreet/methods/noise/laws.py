"""The laws this method draws from, and what sums of their draws are like.

*laplace* untruncated has δ = 0; truncated, and *normal*, have δ; *gaussian* is the discrete
Gaussian, counted in ρ. A margin's law is made from what entering or leaving that margin may cost
(`one_sided`) and from how far one unit can move a cell (`reach`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.brackets import exp_bracket
from ...core.exact import plain
from ...core.gaussian import DiscreteGaussian
from ...core.law import Law
from ...core.law_builders import MAX_PERTURBATION_MOST, laplace, normal
from ...core.pure_laplace import PureLaplace
from ...core.random_source import RandomSource
from ...core.sampling import draw
from ...errors import LawError

NoiseLaw: TypeAlias = PureLaplace | Law | DiscreteGaussian
COVERAGE = Fraction(95, 100)
_MOST_POINTS = 1 << 17
_SLACK = 1e-9
"""Added to a float tail before it is compared, far above its rounding error."""


@lru_cache(maxsize=512)
def pure(one_sided: Fraction, reach: int) -> PureLaplace:
    """The untruncated Laplace with which a cell moved by `reach` costs at most `one_sided`."""
    return PureLaplace.of(one_sided, reach)


@lru_cache(maxsize=512)
def truncated(name: str, one_sided: Fraction, reach: int, max_perturbation: int) -> Law:
    """A law cut at `max_perturbation`, each step of a cell by 1 costing one_sided / reach."""
    build = laplace if name == "laplace" else normal
    return build(one_sided / reach, max_perturbation)


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
    raw = np.exp(-rate * (z if name == "laplace" else z * z / (2 * m + 1)))
    return float(raw[m - reach + 1 :].sum() / (2 * raw.sum() - 1))


def end_mass(law: Law, reach: int) -> Fraction:
    """δ of a cell moved by `reach` at ε = reach × the law's own ε: the mass that is then impossible.

    Holds because no step between possible values is steeper than e^ε, which is checked here in
    whole numbers, so a move by s is at most e^(sε) wherever both are possible. The mass of the
    last s values grows faster than s, so all of a unit's records in one cell is the worst.
    """
    step = exp_bracket(Fraction(law.parameters["epsilon"]))[0]
    weights = [w for w in law.weights if w]
    first = next(i for i, w in enumerate(law.weights) if w)
    if law.weights[first : first + len(weights)] != tuple(weights) or not law.symmetric:
        raise LawError(f"The {law.name} law has gaps at this size. Lower max_perturbation.")
    # From the middle outwards: falling, so that the ends' mass grows faster than s, and not too fast.
    for inner, outer in pairwise(weights[len(weights) // 2 :]):
        if outer > inner or inner * step.denominator > outer * step.numerator:
            raise LawError(
                f"The {law.name} law exceeds its epsilon of {law.parameters['epsilon']} by "
                "rounding. Lower max_perturbation."
            )
    if reach > len(weights) // 2:
        return Fraction(1)
    return Fraction(sum(weights[-reach:]), law.total)


def sample(law: NoiseLaw, count: int, source: RandomSource | None) -> npt.NDArray[Any]:
    """So many independent draws."""
    return (
        law.draw(count, source) if isinstance(law, DiscreteGaussian) else draw(law, count, source)
    )


def variance(law: NoiseLaw) -> float:
    """The variance of one draw."""
    return float(law.variance)


def continuous_variance(law: NoiseLaw) -> float:
    """What the continuous namesake would have: 2/ε² for Laplace, σ² for Gaussian."""
    if isinstance(law, PureLaplace):
        return 2 * float(law.sensitivity / law.epsilon) ** 2
    if isinstance(law, DiscreteGaussian):
        return float(law.sigma2)
    rate = Fraction(law.parameters["epsilon"])
    if law.name == "laplace":
        return 2 / float(rate) ** 2
    return float((2 * law.max_perturbation + 1) / (2 * rate))


def unchanged(law: NoiseLaw) -> float:
    """The probability that a draw is 0."""
    if isinstance(law, DiscreteGaussian):
        return float(law.masses[0])
    return float(law.probability(0) if isinstance(law, PureLaplace) else law.pmf[0])


def bias_at(law: NoiseLaw, threshold: int, true: int) -> float:
    """How far off on average a true count comes out when values below `threshold` become 0.

    With threshold 0 this is clipping: at true 0 the mean of the positive part of the noise.

    >>> round(bias_at(PureLaplace.of("1"), 0, 0), 4)
    0.4255
    """
    masses = _side(law, 1e-18)
    z = np.arange(-len(masses) + 1, len(masses))
    both = np.concatenate([masses[:0:-1], masses])
    shown = np.where(true + z < max(threshold, 0), 0, true + z)
    return float(np.sum(both * (shown - true)))


def half_width(law: NoiseLaw, cells: int = 1, level: Fraction = COVERAGE) -> int:
    """The least h with |sum of so many draws| ≤ h in at least `level` of releases.

    One draw: exact, from the law's own numbers. More: the law's transform raised to the power,
    with 10^-9 to spare; past 131,072 possible values on a coarser lattice, rounded outwards.

    >>> half_width(PureLaplace.of("0.5")), half_width(PureLaplace.of("0.5"), 40)
    (6, 35)
    """
    return 0 if cells == 0 else _half_width(law, cells, level)


@lru_cache(maxsize=4096)
def _half_width(law: NoiseLaw, cells: int, level: Fraction) -> int:
    if cells == 1:
        if not isinstance(law, Law):
            return law.half_width(plain(level))
        inside, size = law.weight(0), 0
        while inside < level * law.total:
            size += 1
            inside += law.weight(size) + law.weight(-size)
        return size
    coarse, reach = 1, _sum_reach(law, cells)
    while 2 * reach + 2 > _MOST_POINTS:
        coarse, reach = coarse * 2, reach // 2 + 1
    points = 1 << (2 * reach + 2).bit_length()
    transform = _transform(law, points, coarse)
    masses = np.fft.irfft(transform**cells, points)[: points // 2]
    inside_mass = 2 * np.cumsum(masses) - masses[0]
    found = int(np.searchsorted(inside_mass, float(level) + _SLACK))
    return found if coarse == 1 else (found + 1) * coarse


def _sum_reach(law: NoiseLaw, cells: int) -> int:
    """Beyond this less than 10^-12 of a sum is left (or nothing, for a truncated law)."""
    far = 9 * math.sqrt(variance(law) * cells)
    if isinstance(law, Law):
        return min(law.max_perturbation * cells, math.ceil(far + 40 * math.sqrt(variance(law))))
    if isinstance(law, PureLaplace):
        far += 40 * float(law.sensitivity / law.epsilon)
    return math.ceil(far) + 1


def _transform(law: NoiseLaw, points: int, coarse: int) -> npt.NDArray[np.float64]:
    """The characteristic function on the grid.

    With coarse > 1 that of a law on multiples of `coarse`, in such units: for the untruncated
    Laplace one of the same variance, else each value moved to the nearest multiple, ties outwards.
    """
    angles = 2 * np.pi * np.arange(points // 2 + 1) / points
    if isinstance(law, PureLaplace):
        ratio, v = float(law.ratio), variance(law) / coarse**2
        if coarse > 1:  # 2r / (1 − r)² = v
            ratio = (v + 1 - math.sqrt(2 * v + 1)) / v
        return np.asarray((1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio * ratio))
    masses = _side(law, 1e-18)
    if coarse > 1:
        near = (np.arange(len(masses)) + coarse // 2) // coarse
        binned = np.asarray(np.bincount(near, weights=masses), dtype=np.float64)
        binned[0] = 2 * binned[0] - masses[0]
        masses = binned
    row = np.zeros(points)
    places = np.arange(len(masses))
    np.add.at(row, places % points, masses)
    np.add.at(row, -places[1:] % points, masses[1:])
    return np.fft.rfft(row).real


def _side(law: NoiseLaw, least: float) -> npt.NDArray[np.float64]:
    """Probabilities of 0, 1, 2, … as floats, until they fall below `least`."""
    if isinstance(law, DiscreteGaussian):
        return law.masses
    if isinstance(law, Law):
        return np.array([law.weight(z) / law.total for z in range(law.end + 1)])
    ratio = float(law.ratio)
    count = min(math.ceil(math.log(least) / math.log(ratio)) + 1, 1 << 22)
    return np.asarray((1 - ratio) / (1 + ratio) * ratio ** np.arange(count, dtype=np.float64))


def describe(law: NoiseLaw) -> Mapping[str, str]:
    """The law as exact text, enough to compute with it again."""
    if isinstance(law, PureLaplace):
        ratio = f"{law.ratio.numerator}/{law.ratio.denominator}"
        return {"name": "laplace", **law.parameters, "ratio": ratio}
    if isinstance(law, DiscreteGaussian):
        return {"name": "gaussian", **law.parameters}
    bits = {"key_bits": str(law.key_bits), "digest": law.digest}
    return {"name": law.name, **dict(law.parameters), **bits}


def made_again(described: Mapping[str, str]) -> NoiseLaw:
    """A law from its description.

    >>> made_again(describe(pure(Fraction(1, 3), 2))) == pure(Fraction(1, 3), 2)
    True
    """
    if described["name"] == "gaussian":
        return DiscreteGaussian.of(Fraction(described["sigma2"]))
    epsilon = Fraction(described["epsilon"])
    if "max_perturbation" in described:
        return truncated(described["name"], epsilon, 1, int(described["max_perturbation"]))
    return pure(epsilon, int(described.get("sensitivity", 1)))


def asked(described: Mapping[str, str]) -> dict[str, str]:
    """What was asked of a described law, without what was computed for it."""
    return {k: v for k, v in described.items() if k not in ("ratio", "digest", "key_bits")}
