"""The published figures: rinott §7 from the planner, ons Tables 1–3 from the laws."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.core.domain import variable
from discreet.core.loss import PureLoss
from discreet.core.question import Question
from discreet.core.unchanged import unchanged
from discreet.methods.noise.planner import Planner
from discreet.methods.noise.settings import for_question

EPSILONS = ("0.1", "1", "2", "5", "10")
# ons 2021, Tables 1 to 3, "unaltered" (Table 1 as printed has the two row labels exchanged).
LAPLACE = (0.0488, 0.3935, 0.6321, 0.9179, 0.9933)
GAUSSIAN = (0.0157, 0.1562, 0.3065, 0.6755, 0.9512)
GEOMETRIC = (0.05, 0.4621, 0.7616, 0.9866, 0.9999)


def _alternatives(four_way, epsilon, total_known=True):
    world = four_way()
    wanted = [world.spec(a, b, totals=False) for a, b in itertools.combinations("abcd", 2)]
    settings = for_question({}, Question("tiny", tuple(wanted), "noise", {"epsilon": epsilon}))
    planner = replace(Planner.of(wanted, world.description, settings), total_known=total_known)
    schemes = planner.schemes(Fraction(epsilon))
    return (
        {scheme.name: scheme for scheme in schemes},
        planner.choose(schemes, Fraction(epsilon))[1],
        wanted,
    )


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_rinott_four_way_standard_deviations(four_way, epsilon):
    """rinott §7, six 2-way margins, C = 10: 14.1/ε, 8.5/ε and 21.2/ε, and wanted is advised."""
    schemes, recommended, _ = _alternatives(four_way, epsilon)
    printed = {"interior": ("14.1", 1), "wanted": ("8.5", 6), "everything": ("21.2", 15)}
    assert set(schemes) == set(printed)
    for name, (figure, d) in printed.items():
        (continuous,) = {t.continuous_variance for t in schemes[name].targets.values()}
        assert f"{math.sqrt(continuous) * float(epsilon):.1f}" == figure
        assert schemes[name].touched == d
        assert schemes[name].loss == PureLoss(epsilon)
    assert recommended.name == "wanted"


def test_exact_discrete_beside_continuous(four_way):
    """The exact variance of a draw is 2r/(1 − r)², below 2/ε² by about 1/6."""
    schemes, _, _ = _alternatives(four_way, "1")
    r = math.exp(-1)
    (exact,) = {t.variance for t in schemes["interior"].targets.values()}
    assert exact == pytest.approx(100 * 2 * r / (1 - r) ** 2, rel=1e-12)
    assert 0 < 2 - exact / 100 < 1 / 6


def test_a_total_that_is_not_public_is_paid_for(four_way):
    """d is 2^t where the total is measured too, and 2·(2^t − 1) where records are replaced."""
    schemes, _, _ = _alternatives(four_way, "1", total_known=None)
    assert schemes["everything"].touched == 16
    world = four_way(records=5000)
    wanted = [world.spec(a, b, totals=False) for a, b in itertools.combinations("abcd", 2)]
    told = {a["name"]: a for a in world.plan(*wanted, epsilon="1").alternatives}
    assert [told[n]["d"] for n in ("interior", "wanted", "everything")] == [2, 12, 30]
    assert next(iter(told["everything"]["sd_continuous"].values())) == pytest.approx(42.426, 1e-4)


def test_rinott_three_way_unequal_shares(world):
    """rinott §7: {ijk} and {ij} with ε/3, the other five tables with ε/15, all of it DP(ε)."""
    w = world([variable(n, ["0", "1", "2"]) for n in ("income", "education", "ethnicity")])
    tables = {
        ("income", "education", "ethnicity"): "1/3",
        ("income", "education"): "1/3",
        ("income", "ethnicity"): "1/15",
        ("education", "ethnicity"): "1/15",
        ("income",): "1/15",
        ("education",): "1/15",
        ("ethnicity",): "1/15",
    }
    specs = [w.spec(*axes, totals=False, share=share) for axes, share in tables.items()]
    plan = w.plan(*specs, epsilon="0.9")
    assert plan.charge.loss == PureLoss("0.9")
    spent = {
        tuple(ref.variable for ref in part.margin.axes): (part.one_sided, part.law.epsilon)
        for part in plan.detail.scheme.measured
    }
    wanted = {axes: Fraction(share) * Fraction(9, 10) for axes, share in tables.items()}
    assert spent == {axes: (epsilon, epsilon) for axes, epsilon in wanted.items()}
    assert plan.detail.scheme.touched == 7


@pytest.mark.parametrize(
    ("law", "printed"),
    [
        ("rounded_laplace", LAPLACE),
        ("rounded_gaussian", GAUSSIAN),
        ("discrete_laplace", GEOMETRIC),
    ],
)
def test_ons_tables_to_four_decimals(law, printed):
    """ons Tables 1, 2 (with its δ = 0.05) and 3, every figure to the four decimals printed."""
    assert tuple(round(getattr(unchanged(e), law), 4) for e in EPSILONS) == printed


def test_share_unchanged_of_a_plan_is_the_geometric_one(people):
    """What a plan predicts for its own law is the probability of 0: ons Table 3."""
    plan = people().plan(people().spec("region", "sex"), epsilon="1")
    assert round(plan.errors[0].share_unchanged, 4) == 0.4621


def test_a_share_unchanged_is_said_only_where_one_law_decides_it(people):
    """Sums of draws, and values that least squares moved, have no such share."""
    world = people()
    tables = (world.spec("region", "sex"), world.spec("region"))
    summed = world.plan(*tables, epsilon="1", plan="interior")
    assert [error.share_unchanged is None for error in summed.errors] == [False, True]
    fitted = world.plan(*tables, epsilon="1", plan="wanted", consistency="least squares")
    assert [error.share_unchanged for error in fitted.errors] == [None, None]
