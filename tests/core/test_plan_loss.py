"""The loss of a fixed plan: never below enumeration, close to it, and no cap for adaptivity."""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.charge import Charge, sum_of
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.plan_loss import FixedPlan, Part
from discreet.errors import InputError, LawError


def truncated_laplace(epsilon: float, widest: int, key_bits: int = 32) -> dict[int, Fraction]:
    """Integer weights over 2^key_bits close to e^(−ε|z|), |z| ≤ widest; symmetric, sum exact."""
    ideal = [exp(-epsilon * abs(z)) for z in range(-widest, widest + 1)]
    whole = sum(ideal)
    weights = [max(1, round(w / whole * 2**key_bits)) for w in ideal]
    weights[widest] += 2**key_bits - sum(weights)
    return {z - widest: Fraction(w, 2**key_bits) for z, w in enumerate(weights)}


def e_to(epsilon: Fraction) -> Fraction:
    """e^ε from above, so that the enumerated δ is a hair below the truth: a fair lower bound."""
    context = Context(prec=50)
    power = context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    return Fraction(power) * (1 + Fraction(1, 10**45))


def enumerated_delta(laws: list[tuple[dict[int, Fraction], int]], epsilon: Fraction) -> Fraction:
    """δ(ε) over every outcome of every cell, both directions."""
    rise = e_to(epsilon)
    worst = Fraction(0)
    for sign in (1, -1):
        delta = Fraction(0)
        for outcome in product(*(law for law, _ in laws)):
            here = there = Fraction(1)
            for value, (law, shift) in zip(outcome, laws, strict=True):
                here *= law[value]
                there *= law.get(value - sign * shift, Fraction(0))
            delta += max(Fraction(0), here - rise * there)
        worst = max(worst, delta)
    return worst


LAPLACE = truncated_laplace(0.5, 7)
SKEWED = {-2: Fraction(1, 16), -1: Fraction(5, 16), 0: Fraction(1, 2), 1: Fraction(1, 8)}


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0", "0.2", "0.5", "0.75", "1", "1.5"])
def test_never_below_enumeration_and_close(d, epsilon):
    """At d ≤ 3 cells the bound is at least the enumerated δ and at most a millionth of it above."""
    at = Fraction(epsilon)
    true = enumerated_delta([(LAPLACE, 1)] * d, at)
    bound = FixedPlan([Part.of_law(LAPLACE, times=d)]).delta(at)
    assert true <= bound <= true * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("epsilon", ["0", "0.3", "0.9", "2"])
def test_unlike_laws_and_directions(epsilon):
    """Different laws, asymmetric ones and cells a unit leaves: still never below."""
    at = Fraction(epsilon)
    laws = [(LAPLACE, 1), (SKEWED, -1), (SKEWED, 1)]
    bound = FixedPlan([Part.of_law(law, shift=shift) for law, shift in laws]).delta(at)
    true = enumerated_delta(laws, at)
    assert true <= bound <= true + Fraction(1, 10**5)


small_laws = st.lists(st.integers(0, 20), min_size=1, max_size=5).filter(lambda w: sum(w) > 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(small_laws, min_size=1, max_size=3), st.fractions(0, 3, max_denominator=50))
def test_never_below_enumeration_for_any_law(weights, epsilon):
    laws = [({i: Fraction(w, sum(law)) for i, w in enumerate(law) if w}, 1) for law in weights]
    bound = FixedPlan([Part.of_law(law) for law, _ in laws]).delta(epsilon)
    assert enumerated_delta(laws, epsilon) <= bound <= 1


@pytest.mark.parametrize("d", range(1, 16))
def test_agrees_with_dp_accounting(d):
    """d = 1 … 15 cells of truncated Laplace: δ(ε) as dp-accounting's, within its grid."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    step = 1e-3
    upper = {z: log(p) for z, p in LAPLACE.items()}
    lower = {z + 1: log(p) for z, p in LAPLACE.items()}
    theirs = pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=step, symmetric=False
    ).self_compose(d)
    ours = FixedPlan([Part.of_law(LAPLACE, times=d)])
    for epsilon in (0.1 * d, 0.25 * d, 0.4 * d):
        near = float(ours.delta(Fraction(epsilon)))
        # Theirs rounds each loss up to its grid: our δ lies between δ at ε and at ε − d·step.
        assert theirs.get_delta_for_epsilon(epsilon + d * step) <= near * (1 + 1e-6)
        assert near <= theirs.get_delta_for_epsilon(epsilon) * (1 + 1e-3) + 1e-9


def test_pure_parts_compose_to_less_than_their_sum():
    """Twenty times ε = 0.1: the sum at δ ≈ 0, well below it at δ = 1e-6; ε and δ agree."""
    plan = FixedPlan([Part.of_loss(PureLoss("0.1"), times=20)])
    assert plan.epsilon("0") == 2
    assert plan.delta("2") == 0
    epsilon = plan.epsilon("1e-6")
    assert Fraction(3, 2) < epsilon < 2
    assert plan.delta(epsilon) <= Fraction(1, 10**6)
    approximate = FixedPlan([Part.of_loss(ApproxLoss("0.1", "1e-7"), times=20)])
    assert (
        plan.delta("1") + Fraction(19, 10**7)
        < approximate.delta("1")
        <= plan.delta("1") + Fraction(20, 10**7)
    )


def test_pure_part_is_the_discrete_laplace():
    """Untruncated discrete Laplace noise and the pure part have the same δ(ε), d = 4."""
    wide = truncated_laplace(0.5, 60, key_bits=64)
    law = FixedPlan([Part.of_law(wide, times=4)])
    pure = FixedPlan([Part.of_loss(PureLoss("0.5"), times=4)])
    for epsilon in ("0.5", "1", "1.5"):
        assert float(law.delta(epsilon)) == pytest.approx(float(pure.delta(epsilon)), rel=1e-4)


def test_weights_and_refusals():
    counts = Counter({0: 3, 1: 1})
    part = Part.of_weights(0, [counts[0], counts[1]], 2)
    assert FixedPlan([part]).delta("0") >= Fraction(1, 2)
    with pytest.raises(LawError, match="exactly 1"):
        Part.of_law({0: Fraction(1, 2)})
    with pytest.raises(InputError, match="No epsilon keeps delta at 1e-09"):
        FixedPlan([part]).epsilon("1e-9")
    with pytest.raises(InputError, match="at least one part"):
        FixedPlan([])
    with pytest.raises(InputError, match="times must be"):
        Part.of_law(LAPLACE, times=0)


def test_many_cells_of_a_wide_law_stay_bounded():
    """A plan too wide for the grid is coarsened, not refused, and stays below the plain sum."""
    law = truncated_laplace(1.0, 40, key_bits=64)
    plan = FixedPlan([Part.of_law(law, times=120)])
    assert plan.epsilon("1e-5") < 120


class ConvolutionCap:
    """A cap of the wrong kind: grants while the convolution of what was asked so far fits."""

    def __init__(self, cap: ApproxLoss) -> None:
        self.cap = cap
        self.asked: list[Part] = []

    def grants(self, part: Part) -> bool:
        if FixedPlan([*self.asked, part]).delta(self.cap.epsilon) > self.cap.delta:
            return False
        self.asked.append(part)
        return True


def test_an_adaptive_sequence_cheats_a_convolution_cap_and_is_stopped_by_the_sum():
    """Asking what the first answer makes profitable overspends a convolution cap by a third.

    First a table with ε = 1. Where its answer speaks for one neighbour, a second one with ε = 1;
    where it speaks against it, a law that fails outright with probability δ. Each branch alone
    fits (1.2, δ) by convolution, the pair of branches does not: enumerated, δ is exceeded.
    The sum of (ε, δ) refuses the second question in the first branch.
    """
    step = Fraction(1, 2**20)
    high = Fraction(int(Fraction(exp(1)) * 2**20), 2**20)  # a rational e, from below
    first = {0: high / (1 + high), 1: 1 / (1 + high)}  # one cell, answer 0 or 1; pure ε ≤ 1
    other_of = {0: 1 / (1 + high), 1: high / (1 + high)}
    loss = PureLoss(1)
    cap_epsilon = Fraction(6, 5)
    rise = e_to(cap_epsilon)

    # δ of first ∘ first at 1.2: only the outcome (0, 0) exceeds e^1.2.
    both = first[0] ** 2 - rise * other_of[0] ** 2
    delta = Fraction(-(-both // step)) * step + 2 * step
    leak = {0: 1 - delta, 1: delta}  # shows the truth with probability δ, else nothing
    cap = ApproxLoss(cap_epsilon, delta)

    def fixed_delta(second: dict[int, Fraction], second_other: dict[int, Fraction]) -> Fraction:
        return sum(
            (
                max(Fraction(0), first[a] * second[b] - rise * other_of[a] * second_other[b])
                for a in (0, 1)
                for b in (0, 1)
            ),
            Fraction(0),
        )

    no_leak = {0: 1 - delta, 1: Fraction(0)}
    # Both fixed plans keep the cap, by enumeration and by convolution.
    assert fixed_delta(first, other_of) <= delta
    assert fixed_delta(leak, no_leak) <= delta
    for second in (Part.of_loss(loss), Part.of_loss(ApproxLoss(0, delta))):
        naive = ConvolutionCap(ApproxLoss(cap_epsilon, delta + step))
        assert naive.grants(Part.of_loss(loss))
        assert naive.grants(second)

    # The adaptive sequence: `first` again after answer 0, `leak` after answer 1.
    adaptive = sum(
        (
            max(Fraction(0), first[a] * here[b] - rise * other_of[a] * there[b])
            for a, here, there in ((0, first, other_of), (1, leak, no_leak))
            for b in (0, 1)
        ),
        Fraction(0),
    )
    assert adaptive > delta * Fraction(5, 4)  # what the convolution cap let through
    assert adaptive > delta + step

    table = Charge.laplace("1", cells=1, neighbours="add-remove", question="q")
    assert sum_of("approximate", [table]).fits(cap)
    assert not sum_of("approximate", [table, table]).fits(cap)


@pytest.mark.parametrize("cells", [1, 3, 8])
@pytest.mark.parametrize("neighbours", ["add or remove one", "replace one"])
def test_agrees_with_the_audit_of_one_law(cells, neighbours):
    """Two independent ways to the same figure: within the bracket of `delta_of_cells`."""
    from discreet.core.composition import delta_of_cells
    from discreet.core.law_builders import laplace, normal

    for law in (laplace("0.5", max_perturbation=7), normal("0.5", 12)):
        parts = [Part.of_weights(law.start, law.weights, law.key_bits, times=cells)]
        if neighbours == "replace one":
            parts.append(
                Part.of_weights(law.start, law.weights, law.key_bits, times=cells, shift=-1)
            )
        for epsilon in ("0.4", "1.1"):
            bracket = delta_of_cells(law, epsilon, cells, neighbours=neighbours)
            bound = FixedPlan(parts).delta(epsilon)
            assert bracket.low <= bound <= bracket.high * (1 + Fraction(1, 10**4))
