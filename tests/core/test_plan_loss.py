"""The loss of a fixed plan: never below enumeration, close to it, and no cap for adaptivity."""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction
from math import erf, exp, log, sqrt

import numpy as np
import pytest

from discreet.core.charge import Charge, sum_of
from discreet.core.composition import delta_of_cells
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law import Law
from discreet.core.law_builders import laplace, normal
from discreet.core.loss import ApproxLoss
from discreet.core.plan_loss import FixedPlan, Move, moves_of, worst_rows
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import Bug

CUT = laplace("0.5", 4)
BELL = normal("0.6", 3)


def e_to(epsilon: Fraction) -> Fraction:
    """e^ε from above, so that the enumerated δ is a hair below the truth: a fair lower bound."""
    context = Context(prec=50)
    power = context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    return Fraction(power) * (1 + Fraction(1, 10**45))


def enumerated_delta(moves: list[tuple[Law, int]], epsilon: Fraction) -> Fraction:
    """δ(ε) over every outcome of every cell, the law's own weights."""
    rise, delta = e_to(epsilon), Fraction(0)
    for outcome in itertools.product(*(law.pmf for law, _ in moves)):
        here = there = Fraction(1)
        for value, (law, shift) in zip(outcome, moves, strict=True):
            here *= law.pmf[value]
            there *= law.pmf.get(value - shift, Fraction(0))
        delta += max(Fraction(0), here - rise * there)
    return delta


@pytest.mark.parametrize(
    "moves",
    [
        [(CUT, 1)],
        [(CUT, 1)] * 3,
        [(CUT, 1), (BELL, 1), (BELL, 1)],
        [(CUT, 2), (BELL, 3)],
        [(BELL, 7), (CUT, 1)],
    ],
)
@pytest.mark.parametrize("epsilon", ["0", "0.3", "0.9", "2"])
def test_never_below_enumeration_and_close(moves, epsilon):
    """Unlike laws, moved by one or by more: at least the enumerated δ, at most 10^-6 above it."""
    at = Fraction(epsilon)
    plan = FixedPlan(moves_of((Move(law, shift), 1) for law, shift in moves))
    true, bound = enumerated_delta(moves, at), plan.delta(at)
    assert true <= bound <= true + Fraction(1, 10**6)
    assert plan.failing == 1 - np.prod([1 - sum(list(m.pmf.values())[-s:]) for m, s in moves])


@pytest.mark.parametrize("cells", [1, 3, 16])
@pytest.mark.parametrize("law", [CUT, normal("0.5", 12)])
def test_agrees_with_the_audit_of_one_law(law, cells):
    """Two independent ways to the same figure: within the bracket of `delta_of_cells`."""
    for epsilon in ("0", "0.4", "1.1"):
        bracket = delta_of_cells(law, epsilon, cells)
        bound = FixedPlan(((Move(law), cells),)).delta(epsilon)
        assert bracket.low <= bound <= bracket.high + Fraction(1, 10**5)


def test_pure_laws_compose_to_less_than_their_sum():
    """Twenty times ε = 0.1: the sum at δ = 0, well below it at δ = 1e-6; ε and δ agree."""
    plan = FixedPlan(((Move(PureLaplace.of("0.1")), 20),))
    assert plan.epsilon("0") == plan.most == 2
    assert plan.delta("2") == 0
    epsilon = plan.epsilon("1e-6")
    assert Fraction(3, 2) < epsilon < 2
    assert plan.delta(epsilon) <= Fraction(1, 10**6) < plan.delta(epsilon - Fraction(1, 10**6))


def test_the_gaussian_is_near_its_continuous_twin():
    """Ten cells that cost ρ = 1/8 together: Φ(√(2ρ)/2), and δ(ε) of the continuous law."""
    plan = FixedPlan(((Move(DiscreteGaussian.of(40)), 10),))
    half = (1 + erf(0.25 / sqrt(2))) / 2
    assert float(plan.rightly) == pytest.approx(half, abs=1e-4)
    assert plan.most is None
    small = FixedPlan(((Move(DiscreteGaussian.of(1)), 1),))  # whole numbers tell a little more
    assert float(small.rightly) > (1 + erf(0.5 / sqrt(2))) / 2 + 0.005


def test_a_loss_that_few_releases_exceed():
    """P(loss > t) ≤ the share, and > it for anything less: the tail of the law itself."""
    law = DiscreteGaussian.of(3)
    t = FixedPlan(((Move(law), 1),)).exceeded("0.001")
    losses = {z: Fraction(1 - 2 * z, 6) for z in range(-40, 41)}
    tail = {y: sum(law.probability(z) for z, x in losses.items() if x > y) for y in losses.values()}
    least = min(y for y, share in tail.items() if share <= 0.001)
    assert float(t) == pytest.approx(float(least), abs=1e-9)
    assert t >= least


@pytest.mark.parametrize(
    "law", [PureLaplace.of("0.4"), DiscreteGaussian.of(2), laplace("0.4", 40), normal("1", 9)]
)
@pytest.mark.parametrize("parts", [(1, 1), (1, 2), (1, 1, 1), (2, 2), (1, 1, 2)])
def test_all_records_in_one_cell_are_the_worst(law, parts):
    """Moving one cell by a + b costs no less than two cells by a and b, at every ε."""
    together = FixedPlan(((Move(law, 1, sum(parts)), 1),))
    apart = FixedPlan(moves_of((Move(law, part), 1) for part in parts))
    for epsilon in ("0", "0.1", "0.5", "1", "1.5"):
        assert together.delta(epsilon) >= apart.delta(epsilon) - Fraction(1, 10**7)


def test_a_plan_too_wide_for_a_lattice_is_spread_on_a_grid():
    """Weights of up to 75,000 units, three cells: near the law with a hundredth of the steps."""
    wide, fine = (
        FixedPlan(((Move(PureLaplace.of("5", reach), reach), 3),)) for reach in (75_000, 750)
    )
    assert float(wide.rightly) == pytest.approx(float(fine.rightly), abs=1e-6)
    assert wide.rightly < FixedPlan(((Move(PureLaplace.of("5", 1 << 22), 1 << 22), 3),)).rightly
    many = FixedPlan(((Move(DiscreteGaussian.of(10**6)), 100),))
    assert float(many.rightly) == pytest.approx((1 + erf(0.005 / sqrt(2))) / 2, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 4, 15])
def test_agrees_with_dp_accounting(d):
    """Truncated Laplace in d cells: δ(ε) as dp-accounting's, within its grid."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    step = 1e-3
    upper = {z: log(p) for z, p in CUT.pmf.items()}
    lower = {z + 1: log(p) for z, p in CUT.pmf.items()}
    theirs = pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=step, symmetric=False
    ).self_compose(d)
    ours = FixedPlan(((Move(CUT), d),))
    for epsilon in (0.1 * d, 0.25 * d, 0.4 * d):
        near = float(ours.delta(Fraction(epsilon)))
        # Theirs rounds each loss up to its grid: our δ lies between δ at ε and at ε + d·step.
        assert theirs.get_delta_for_epsilon(epsilon + d * step) <= near * (1 + 1e-6)
        assert near <= theirs.get_delta_for_epsilon(epsilon) * (1 + 1e-3) + 1e-9


def test_no_epsilon_where_the_laws_fail_more_often():
    """A δ below the mass at the ends of a law is kept by no ε."""
    plan = FixedPlan(((Move(CUT), 2),))
    assert plan.epsilon(plan.failing / 2) is None
    assert plan.epsilon(plan.failing) <= plan.most
    with pytest.raises(Bug, match="moves no cell"):
        FixedPlan(())


def test_too_many_ways_are_bounded_by_one():
    """Rows that others surpass are left out; more than sixteen others become the row above all."""
    assert worst_rows([(0, 1), (1, 0), (0, 0)]) == [(0, 1), (1, 0)]
    many = [(i, 40 - i) for i in range(41)]
    assert worst_rows(many) == [(40, 40)]


class ConvolutionCap:
    """A cap of the wrong kind: grants while the convolution of what was asked so far fits."""

    def __init__(self, cap: ApproxLoss) -> None:
        self.cap = cap
        self.asked: list[tuple[Move, int]] = []

    def grants(self, law: PureLaplace | Law) -> bool:
        asked = [*self.asked, (Move(law), 1)]
        if FixedPlan(moves_of(asked)).delta(self.cap.epsilon) > self.cap.delta:
            return False
        self.asked = asked
        return True


def test_an_adaptive_sequence_cheats_a_convolution_cap_and_is_stopped_by_the_sum():
    """Asking what the first answer makes profitable overspends a convolution cap by a quarter.

    First a count with ε = 1. Where its answer speaks for one neighbour, a second one with ε = 1;
    where it speaks against it, a law that is flat but for its ends, which fail with probability δ.
    Each branch alone fits (1.2, δ) by convolution, the two branches together do not.
    """
    first, cap_epsilon = PureLaplace.of("1"), Fraction(6, 5)
    ratio = float(first.ratio)
    speaks = 1 / (1 + ratio)  # P(answer ≤ 0) where the count is 0; else ratio / (1 + ratio)
    against = 1 - speaks
    twice = FixedPlan(((Move(first), 2),)).delta(cap_epsilon)
    bits = 16
    end = int(twice * 2**bits)
    leak = Law("flat", {}, 0, (end, 2**bits - 2 * end, end), bits)
    flat = float(Fraction(end, 2**bits))
    cap = ApproxLoss(cap_epsilon, twice * Fraction(5, 4))
    for second in (first, leak):
        naive = ConvolutionCap(ApproxLoss(cap_epsilon, max(twice, Fraction(1))))
        assert naive.grants(first)
        assert naive.grants(second)
    rise = exp(6 / 5)
    fixed = speaks**2 - rise * against**2
    assert fixed == pytest.approx(float(twice), abs=1e-9)
    adaptive = fixed + against * flat  # in the second branch the end is impossible elsewhere
    assert adaptive > fixed * 5 / 4
    table = Charge.laplace("1", cells=1, neighbours="add-remove", question="q")
    assert sum_of("approximate", [table]).fits(cap)
    assert not sum_of("approximate", [table, table]).fits(cap)


def test_rare_losses_far_away_do_not_make_the_grid_endless():
    """Large ε beside small ones, or beside each other: bounded memory, never below the truth."""
    for first, second in (("20", "0.1"), ("30", "0.5"), ("25", "24.9"), ("12", "0.001")):
        plan = FixedPlan(
            moves_of((Move(PureLaplace.of(epsilon)), 1) for epsilon in (first, second))
        )
        assert len(plan._curve.masses) < 1 << 19
        assert float(plan.rightly) >= 1 / (1 + math.exp(-float(first)))
