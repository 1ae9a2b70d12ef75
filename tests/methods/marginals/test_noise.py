"""The noise that is drawn is the law that is charged; the box is kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.core.control import Control
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.product import closure
from discreet.core.pure_laplace import PureLaplace
from discreet.methods.marginals.design import design_of
from discreet.methods.marginals.fit.classic import Features
from discreet.methods.marginals.measured_tables import Measured, Noise, draw_all, farthest, read_all
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.marginals.plan.bound import bound_in_words, box, held_numbers, within_bounds
from discreet.methods.shared.synthetic_table import SyntheticTable

from .people import described, facts_of, latent, question, released, true_margin

DRAWS = 60_000


def statistic(values: np.ndarray, law: PureLaplace | DiscreteGaussian) -> tuple[float, int]:
    """Chi-square of the values −8 … 8 and both tails against the exact law."""
    if isinstance(law, PureLaplace):
        shares = np.array([float(law.probability(z)) for z in range(-8, 9)])
    else:
        shares = law.side[np.abs(np.arange(-8, 9))]
    counts = np.array([(values == z).sum() for z in range(-8, 9)])
    shares = np.append(shares, 1 - shares.sum())
    counts = np.append(counts, len(values) - counts.sum())
    expected = shares * len(values)
    return float(((counts - expected) ** 2 / expected).sum()), len(shares) - 1


@pytest.mark.parametrize(
    ("noise", "rates"),
    [
        ("laplace", (Fraction(1, 3), Fraction(1, 2))),
        ("gaussian", (Fraction(1, 60), Fraction(1, 40))),
    ],
)
def test_measured_noise_follows_its_own_rate(
    noise: Noise, rates: tuple[Fraction, Fraction]
) -> None:
    """Two tables of different rates in one draw: each follows its law.

    n = 60,000 draws each, chi-square with 17 degrees of freedom, false alarms 1e-7 each. The twin:
    a table's noise held against the other's rate is rejected.
    """
    shape = (DRAWS, 2)
    one = Measured((0,), (), rates[0], noise)
    two = Measured((0, 1), (1,), rates[1], noise)
    true = {(0,): np.full(DRAWS, 7), (0, 1): np.stack([np.full(DRAWS, 5), np.full(DRAWS, 2)], 1)}
    drawn = read_all([one, two], draw_all([one, two], lambda m: true[m]), shape)
    for table, exactly, right, wrong in (
        (drawn[0], 7, one.law, two.law),
        (drawn[1], 3, two.law, one.law),
    ):
        value, freedom = statistic(table.ravel() - exactly, right)
        assert value < chi2.isf(1e-7, freedom)
        assert statistic(table.ravel() - exactly, wrong)[0] > chi2.isf(1e-7, freedom)


def test_single_numbers_are_drawn_in_order() -> None:
    """Coefficients come back to the tables they belong to: huge rates leave values as they are."""
    measured = [Measured(m, m, Fraction(50)) for m in ((), (0,), (1,), (0, 1))]
    rows = np.array([[0, 0]] * 9 + [[0, 1]] * 5 + [[1, 1]] * 2)
    found = read_all(measured, draw_all(measured, lambda m: true_margin(rows, (2, 2), m)), (2, 2))
    assert [int(table.ravel()[0]) for table in found] == [16, 12, 2, 6]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(1, 7), Fraction(3)])
@pytest.mark.parametrize("share", [0.05, 1e-4, 1e-9])
def test_how_far_noise_goes(noise: Noise, rate: Fraction, share: float) -> None:
    """The least whole number exceeded with at most so much probability, by the law's own numbers."""
    measured = Measured((0,), (), rate, noise)
    reach, law = int(farthest(measured, share)), measured.law
    if isinstance(law, PureLaplace):
        r = float(law.ratio)
        masses = (1 - r) / (1 + r) * r ** np.arange(3000.0)
    else:
        masses = law.side
    tail = 2 * float(masses[reach + 1 :].sum())
    assert tail <= share * (1 + 1e-9)
    assert reach == 0 or tail + 2 * masses[reach] > share


PAIRS = [[f"v{a}", f"v{b}"] for a in range(10) for b in range(a)]


@pytest.mark.parametrize(
    ("shape", "names"), [((2,) * 10, PAIRS), ((3, 4, 2), [["v0", "v1"], ["v2"]])]
)
@pytest.mark.slow
def test_a_fit_outside_the_box_gives_way_to_the_program(
    shape: tuple[int, ...], names: list[list[str]]
) -> None:
    """A table far from what was measured is replaced by one in which every number is in its box."""
    made = described(shape, records=500)
    plan = MarginalsMethod().plan(*question(made, names, epsilon="1"), facts_of(made))
    design = design_of(plan)
    rows = latent(shape, 500, 3)
    tables = [m.of(true_margin(rows, shape, m.margin)) for m in design.allocation.measured]
    held = held_numbers(design, tables)
    wrong = np.zeros((1, len(shape)), dtype=np.int64)
    cells, mass = within_bounds(design, tables, wrong, np.array([500.0]), Control())
    features = Features(shape, [h.measured for h in held])
    target = np.concatenate([h.noisy.ravel() for h in held])
    reach = np.repeat(box(held), np.diff(features.starts))
    assert (np.abs(features.columns(cells) @ mass - target) <= reach * (1 + 1e-9)).all()
    far = np.abs(features.columns(wrong) @ np.array([500.0]) - target)
    assert (far > reach).any(), "the twin: the table given was outside"


def test_a_fit_hardly_outside_the_box_hardly_moves() -> None:
    """One number a tenth beyond its bound: all are within it after, and no number moved by more than a
    third of its own bound (the program's table is anywhere within them)."""
    shape = (2,) * 12
    made = described(shape, records=4000)
    names = [[f"v{a}", f"v{b}"] for a in range(12) for b in range(a)]
    design = design_of(MarginalsMethod().plan(*question(made, names, epsilon="1"), facts_of(made)))
    rows = latent(shape, 4000, 3)
    tables = [m.of(true_margin(rows, shape, m.margin)) for m in design.allocation.measured]
    held = held_numbers(design, tables)
    features = Features(shape, [h.measured for h in held])
    reach = np.repeat(box(held), np.diff(features.starts))
    target = np.concatenate([h.noisy.ravel() for h in held]).astype(np.float64)
    at = int(np.argmax(reach == reach.max()))
    shifted = target.copy()
    shifted[at] += 1.1 * reach[at]  # what was measured, not the fit, is off in one number
    given, mass = np.unique(rows, axis=0, return_counts=True)
    starts = features.starts
    noisy = [
        shifted[starts[i] : starts[i + 1]].reshape(h.noisy.shape).round().astype(np.int64)
        for i, h in enumerate(held)
    ]
    cells, weights = within_bounds(design, noisy, given, mass.astype(np.float64), Control())
    before, after = features.columns(given) @ mass, features.columns(cells) @ weights
    goal = np.concatenate([table.ravel() for table in noisy])
    assert (np.abs(before - goal) > reach).sum() == 1
    assert (np.abs(after - goal) <= reach * (1 + 1e-9)).all()
    assert (np.abs(after - before) < reach / 3).all()


@pytest.mark.parametrize(
    ("shape", "spent"),
    [((3, 4, 5), {"epsilon": "1"}), ((2,) * 7, {"epsilon": "1"}), ((2,) * 7, {"rho": "0.5"})],
)
def test_every_release_says_whether_its_bound_holds(
    shape: tuple[int, ...], spent: dict[str, str]
) -> None:
    """On the published numbers; wide tables are held in their margins; a wrong table is found out."""
    made = described(shape)
    names = [[f"v{a}", f"v{b}"] for a in range(len(shape)) for b in range(a)]
    plan, stored, tables = released(latent(shape, 900, 3), made, question(made, names, **spent))
    design = design_of(plan)
    noisy = read_all(design.allocation.measured, stored.arrays, design.shape)
    assert {m for h in held_numbers(design, noisy) for m in [h.measured.margin]} <= set(
        closure(design.margins)
    )
    said = bound_in_words(design, noisy, MarginalsMethod().synthesise(plan, stored))
    assert said in tables[0].notes
    empty = SyntheticTable(shape, np.zeros((1, len(shape)), dtype=np.int64), np.array([900]))
    assert "beyond the bound of their noise" in bound_in_words(design, noisy, empty)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_sums_of_draws_stay_within_their_bound(noise: Noise) -> None:
    """20,000 sums of 12 draws: none beyond a bound of share 1e-13 (false alarms ≤ 2e-9).

    The twin: a bound of share 0.9 divided by four is passed by one of them, certainly.
    """
    measured = Measured((0,), (), Fraction(1, 5), noise)
    table = read_all(
        [measured], draw_all([measured], lambda m: np.zeros(240_000, dtype=np.int64)), (240_000,)
    )[0]
    sums = np.abs(table.reshape(20_000, 12).sum(axis=1))
    assert sums.max() <= farthest(measured, 1e-13, 12)
    assert sums.max() > farthest(measured, 0.9, 12) / 4
