"""The laws one can ask for by name, each with its paper and equation.

Every builder reads exact numbers from text, computes probabilities to 80 digits and hands them to a
quantiser; the `Law` that comes back is whole numbers. Where an ε was asked it is in
`law.parameters["epsilon"]`, and `audit(law)` measures the weights against it. Where a δ is asked
too, a law whose exact δ is larger is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import overload

from ..errors import LawError
from .count_law import CountLaw
from .exact import Exact, exact, plain, rounded_up, shown, whole
from .law import Law, check_key_bits
from .masses import NEAR, exponent, gamma_for_epsilon, gamma_for_variance, mass, powers
from .pure_laplace import PureLaplace, read_epsilon
from .quantise import ceil_weights, check_quantiser, nearest_weights, reachable, within_epsilon

MAX_PERTURBATION_MOST = 20_000
IOTA_SHARE = Fraction(1, 10)
"""sadeghi's choice of |ι|, in parts of its largest value."""
Utility = Callable[[int], Exact] | Mapping[int, Exact]


@overload
def laplace(epsilon: Exact, *, sensitivity: int = ...) -> PureLaplace: ...
@overload
def laplace(
    epsilon: Exact,
    max_perturbation: int,
    *,
    delta: Exact | None = ...,
    sensitivity: int = ...,
    key_bits: int = ...,
    quantiser: str = ...,
) -> Law: ...


def laplace(
    epsilon: Exact,
    max_perturbation: int | None = None,
    *,
    delta: Exact | None = None,
    sensitivity: int = 1,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law | PureLaplace:
    """The discrete Laplace law, rinott (5.1); truncated at `max_perturbation`, (5.2).

    Untruncated it is ε-differentially private with δ = 0. Truncated, δ is the mass of one end.
    A record of weight up to `sensitivity` gets ε / sensitivity.

    epsilon           exact, as text: "0.5", "1/3"
    max_perturbation  no number moves further than this; None: untruncated, δ = 0
    delta             the law must keep this δ, else it is refused
    sensitivity       how far one unit moves a count
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> law = laplace(epsilon="0.5", max_perturbation=7)
    >>> float(law.pmf[7]), law.mean
    (0.007568475196759471, Fraction(0, 1))
    """
    if max_perturbation is None:
        if delta is not None:
            raise LawError(
                "delta is for truncated laws: the untruncated Laplace has delta 0, got "
                f"{delta}. Leave delta out, or give max_perturbation."
            )
        return PureLaplace.of(epsilon, sensitivity)
    asked = read_epsilon(epsilon)
    m = _read_max(max_perturbation)
    rate = PureLaplace.of(asked, sensitivity).epsilon / sensitivity
    side = powers(exponent(-rate), range(m + 1))
    parameters = {"epsilon": plain(asked), "max_perturbation": str(m)}
    if sensitivity != 1:
        parameters["sensitivity"] = str(sensitivity)
    return _law("laplace", parameters, _both(side), key_bits, quantiser, rate=rate, delta=delta)


def normal(
    epsilon: Exact,
    max_perturbation: int,
    *,
    delta: Exact | None = None,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law:
    """The truncated normal law of rinott (5.3): p(z) ∝ exp(−ε z² / (2m + 1)).

    epsilon           exact, as text: "0.5", "1/3"
    max_perturbation  no number moves further than this
    delta             the law must keep this δ, else it is refused
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> law = normal(epsilon="1", max_perturbation=10)
    >>> round(float(law.pmf[10]), 7)
    0.0010538
    """
    asked = read_epsilon(epsilon)
    m = _read_max(max_perturbation)
    masses = _bell(exponent(-asked / (2 * m + 1)), m)
    parameters = {"epsilon": plain(asked), "max_perturbation": str(m)}
    return _law("normal", parameters, masses, key_bits, quantiser, rate=asked, delta=delta)


def discrete_normal(
    variance: Exact,
    max_perturbation: int,
    *,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law:
    """The discrete Gaussian p(z) ∝ exp(−z² / 2σ²) cut at m; σ² is the parameter `variance`.

    Its exact δ(ε), for one cell or many, is what `audit` says; the mass lost by the cut is part
    of it.

    variance          σ² before the cut, exact, as text
    max_perturbation  no number moves further than this
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> round(float(discrete_normal("4", 30).variance), 6)
    4.0
    """
    square = exact(variance, "variance", above=0, most=10**9, error=LawError)
    m = _read_max(max_perturbation)
    masses = _bell(exponent(-1 / (2 * square)), m)
    parameters = {"variance": plain(square), "max_perturbation": str(m)}
    return _law("discrete-normal", parameters, masses, key_bits, quantiser)


def exponential(
    utility: Utility,
    epsilon: Exact,
    max_perturbation: int,
    *,
    delta: Exact | None = None,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law:
    """The exponential mechanism for any utility of the perturbation, rinott (4.6), Theorem 4.2.

    p(z) ∝ exp(ε u(z) / Δ), Δ the largest step of u between neighbours. A function is also asked at
    ±(m + 1), as (4.8) does for (5.3); a table may stop at ±m.

    utility           a function of the perturbation, or a table of its values
    epsilon           exact, as text: "0.5", "1/3"
    max_perturbation  no number moves further than this
    delta             the law must keep this δ, else it is refused
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> law = exponential(lambda z: -z * z, "1", 10)
    >>> law.weights == normal("1", 10).weights
    True
    """
    asked = read_epsilon(epsilon)
    m = _read_max(max_perturbation)
    values: dict[int, Fraction] = {}
    for z in range(-m - 1, m + 2):
        if callable(utility):
            given = utility(z)
        elif z in utility:
            given = utility[z]
        elif abs(z) <= m:
            raise LawError(
                f"The utility table must give a number for every perturbation from {-m} to {m}, "
                f"got none for {z}. Add it, or lower max_perturbation."
            )
        else:
            continue
        values[z] = exact(given, f"utility of {z}", error=LawError)
    steps = [abs(values[z + 1] - values[z]) for z in values if z + 1 in values]
    widest = max(steps, default=Fraction(0))
    if widest == 0:
        raise LawError(
            "The utility must differ between neighbouring perturbations, got a constant. "
            "A constant utility is the uniform law: use max_entropy."
        )
    best = max(values[z] for z in range(-m, m + 1))
    masses = [mass(exponent(asked * (values[z] - best) / widest)) for z in range(-m, m + 1)]
    parameters = {"epsilon": plain(asked), "max_perturbation": str(m)}
    if masses != masses[::-1]:
        parameters["quantiser"] = quantiser
    return _law("exponential", parameters, masses, key_bits, quantiser, rate=asked, delta=delta)


def max_entropy(
    max_perturbation: int,
    variance: Exact,
    *,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law:
    """The law of greatest entropy with support ±D and variance V: sadeghi (6)–(10).

    p(z) ∝ exp(−γ z²), γ solved from V to 80 digits. V must lie in (0, D(D + 1) / 3).

    max_perturbation  no number moves further than this
    variance          exact, as text: "2"
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> round(float(max_entropy(11, "4").variance), 12)
    4.0
    """
    d = _read_max(max_perturbation)
    v = exact(variance, "variance", error=LawError)
    most = Fraction(d * (d + 1), 3)
    if not 0 < v < most:
        raise LawError(
            f"variance must be > 0 and < D(D + 1)/3 = {plain(most)} for max_perturbation {d}, "
            f"got {shown(variance)}. Lower the variance or raise max_perturbation."
        )
    masses = _bell(NEAR.exp(gamma_for_variance(d, v).copy_negate()), d)
    parameters = {"max_perturbation": str(d), "variance": plain(v)}
    return _law("max-entropy", parameters, masses, key_bits, quantiser)


def max_entropy_for(
    epsilon: Exact,
    max_perturbation: int,
    *,
    iota_share: Exact = IOTA_SHARE,
    delta: Exact | None = None,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Law:
    """The maximum-entropy law for ε and D: sadeghi (30), γ = ε/(2D − 1) − |ι| (see the errata).

    |ι| is `iota_share` of its largest value 2ε / (4D² − 1); a tenth is the paper's choice.

    epsilon           exact, as text: "0.5", "1/3"
    max_perturbation  no number moves further than this
    iota_share        how much of its largest value |ι| takes
    delta             the law must keep this δ, else it is refused
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> law = max_entropy_for("0.5", 25)
    >>> round(float(law.variance), 4), round(float(law.pmf[25]), 10)
    (49.0022, 9.91298e-05)
    """
    asked = read_epsilon(epsilon)
    d = _read_max(max_perturbation)
    share = exact(iota_share, "iota_share", least=0, most=1, error=LawError)
    masses = _bell(exponent(-gamma_for_epsilon(asked, d, share)), d)
    parameters = {"epsilon": plain(asked), "max_perturbation": str(d), "iota_share": plain(share)}
    return _law("max-entropy", parameters, masses, key_bits, quantiser, rate=asked, delta=delta)


def hellinger(
    epsilon: Exact,
    max_count: int,
    max_value: int,
    *,
    key_bits: int = 64,
) -> CountLaw:
    """The Hellinger-type law, rinott (5.4): p(a, b) ∝ exp(−ε |√b − √a| / 2), b = 0 … max_value.

    It depends on the count a, so it is one law for each a ≤ max_count. Every count shares the
    range 0 … max_value, so cutting it there costs no δ (Theorem 4.1). Larger counts are refused.

    epsilon           exact, as text: "0.5", "1/3"
    max_count         the largest true count served
    max_value         the largest number that can be published
    key_bits          weights are whole numbers over 2 to this power

    >>> rows = hellinger("1", 3, 40)
    >>> rows.row(2).start, rows.row(2).end
    (-2, 38)
    """
    asked = read_epsilon(epsilon)
    bits = check_key_bits(key_bits)
    whole(max_count, "max_count", 0, 100_000)
    whole(max_value, "max_value", 1, 100_000)
    if max_value < max_count:
        raise LawError(
            f"max_value must be ≥ max_count = {max_count}, got {max_value}. "
            "Every count must be able to come out as itself."
        )
    roots = [NEAR.sqrt(Decimal(b)) for b in range(max_value + 1)]
    half = NEAR.divide(Decimal(asked.numerator), Decimal(2 * asked.denominator))
    growth = [NEAR.exp(NEAR.multiply(half, root)) for root in roots]
    rows = []
    for a in range(max_count + 1):
        masses = [
            mass(NEAR.divide(growth[min(a, b)], growth[max(a, b)])) for b in range(max_value + 1)
        ]
        parameters = {"epsilon": plain(asked), "count": str(a), "max_value": str(max_value)}
        weights = reachable(nearest_weights(masses, bits))
        rows.append(Law("hellinger", parameters, -a, weights, bits))
    given = {"epsilon": plain(asked), "max_count": str(max_count), "max_value": str(max_value)}
    return CountLaw.of_laws("hellinger", given, rows, cycle=0)


def _both(side: list[int]) -> list[int]:
    """The masses of −m … m from those of 0 … m."""
    return [*side[:0:-1], *side]


def _bell(step: Decimal, m: int) -> list[int]:
    """step^(z²) for −m … m."""
    return _both(powers(step, (z * z for z in range(m + 1))))


def _law(
    name: str,
    parameters: dict[str, str],
    masses: list[int],
    key_bits: int,
    quantiser: str,
    *,
    rate: Fraction | None = None,
    delta: Exact | None = None,
) -> Law:
    """The law of masses from −m to m; refused where its δ at the ε asked for is above `delta`."""
    bits = check_key_bits(key_bits)
    if check_quantiser(quantiser) == "ceil":
        weights = ceil_weights(masses, bits)
        parameters = parameters | {"quantiser": "ceil"}
    else:
        weights = nearest_weights(masses, bits)
        if rate is not None and masses == masses[::-1]:
            weights = within_epsilon(weights, rate)
    law = Law(name, parameters, -(len(masses) // 2), weights, bits)
    if delta is not None:
        _refuse_excess(law, delta)
    return law


def _refuse_excess(law: Law, delta: Exact) -> None:
    from .audit import audit

    allowed = exact(delta, "delta", above=0, below=1, error=LawError)
    reached = audit(law)
    if reached.delta > allowed:
        raise LawError(
            f"The {law.name} law asked for has delta {rounded_up(reached.delta)} at epsilon "
            f"{plain(reached.at_epsilon)}, more than the {plain(allowed)} allowed. "
            "Raise max_perturbation, key_bits or delta."
        )


def _read_max(value: object) -> int:
    return whole(value, "max_perturbation", 1, MAX_PERTURBATION_MOST)
