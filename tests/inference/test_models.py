"""Goodness of fit, log-linear models and regressions on noisy counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.cell_law import CellLaw, MarginLaw
from discreet.core.law_builders import laplace
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import CannotConclude, InputError
from discreet.inference import regression as regression_module
from discreet.inference.channel import AS_DRAWN, channel
from discreet.inference.effects import effects, effects_of_many
from discreet.inference.goodness import binomial, goodness_of_fit
from discreet.inference.grouped import fit_odds
from discreet.inference.likelihood import Cells
from discreet.inference.loglinear import loglinear
from discreet.inference.questions import Conclusions, answer
from discreet.inference.regression import logistic_fit, odds_of_many, poisson_fit, regression
from discreet.inference.statistics import Model

from .tables import LAWS, cell_law, released, table


def test_rinott_6_2_by_enumeration() -> None:
    """N = 80, ε = 0.5: the 95 % points of null 0.5, and the power of data p = 0.5 against null 0.7."""
    short, wide = (binomial(channel(laplace("0.5", reach)), 80, 0.5) for reach in (5, 10))
    assert short.cumulative(3.3611) == pytest.approx(0.9463, abs=1e-4)
    assert wide.cumulative(3.8162) == pytest.approx(0.9558, abs=1e-4)
    assert short.critical()[0] == pytest.approx(4.152, abs=1e-3)
    assert short.power(0.7, 3.3611) == pytest.approx(0.920, abs=5e-4)
    short, wide = (binomial(channel(laplace("0.5", reach)), 80, 0.7) for reach in (5, 10))
    assert short.power(0.5, 3.361) == pytest.approx(0.936, abs=1e-4)
    assert wide.power(0.5, 3.816) == pytest.approx(0.896, abs=1e-4)


def test_one_proportion_is_exact() -> None:
    """The p-value is the probability of statistics as large; an attained level is said."""
    made = table(np.array([40, 44]), cell_law(laplace("0.5", 5)))
    found = goodness_of_fit(made, {"R0": "0.7"}, records=80)
    whole = binomial(channel(laplace("0.5", 5)), 80, 0.7)
    assert found.p == whole.p_value(40)
    assert found.p < 0.01
    assert found.attained_level <= 0.05
    assert whole.power(found.smallest_seen[0], found.critical) == pytest.approx(0.8, abs=1e-6)
    assert whole.power(found.smallest_seen[1], found.critical) == pytest.approx(0.8, abs=1e-6)
    laws = np.random.default_rng(4).binomial(80, 0.7, (40_000, 1))
    shown = channel(laplace("0.5", 5)).release(laws, np.random.default_rng(5)).ravel()
    places = np.searchsorted(whole.symbols, shown)
    rejected = (whole.ordinary(0.7)[places] <= 0.05).mean()
    assert found.naive_level == pytest.approx(rejected, abs=3 * 0.5 / 200)
    assert found.naive_level > 0.06


def test_proportions_of_several_categories() -> None:
    """Right ones are not rejected, wrong ones are; without noise it is Pearson's test."""
    from scipy.stats import chisquare

    counts = np.array([210, 305, 488])
    shares = {"R0": "0.2", "R1": "0.3", "R2": "0.5"}
    exact = goodness_of_fit(table(counts, CellLaw(cells=(MarginLaw(None, None),))), shares)
    expected = counts.sum() * np.array([0.2, 0.3, 0.5])
    assert exact.score == pytest.approx(chisquare(counts, expected).statistic, rel=1e-5)
    noisy = table(counts, cell_law(PureLaplace.of("0.5")))
    assert goodness_of_fit(noisy, shares).p > 0.05
    assert goodness_of_fit(noisy, {"R0": Fraction(1, 3), "R1": "1/3", "R2": "1/3"}).p < 0.001
    with pytest.raises(InputError, match="add up to 1"):
        goodness_of_fit(noisy, {"R0": "0.2", "R1": "0.3", "R2": "0.4"})
    with pytest.raises(InputError, match="each of the 3 categories"):
        goodness_of_fit(noisy, {"R0": "0.2"})


def test_log_linear_models_have_their_degrees_of_freedom() -> None:
    """Mutual, joint, conditional and no three-way term of 3 × 4 × 2."""
    shown, _ = released(LAWS["laplace 0.1, 10"], np.full((3, 4, 2), 60.0))
    made = table(shown, cell_law(LAWS["laplace 0.1, 10"]))
    expected = {
        "region cause sex": 17, "region,cause sex": 11, "region,sex cause,sex": 12,
        "region,cause region,sex cause,sex": 6,
    }  # fmt: skip
    for model, df in expected.items():
        found = loglinear(made, [term.split(",") for term in model.split()])
        assert found.df == df
        assert found.p > 0.001
    with pytest.raises(InputError, match="leaves out sex"):
        loglinear(made, ["region", "cause"])


def areas(tables: int, law: object, seed: int) -> tuple[Cells, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x, size = random.normal(0, 1, 60), random.lognormal(7, 0.5, 60)
    made = channel(law)  # type: ignore[arg-type]
    means = size * np.exp(-4.4 + 0.25 * x)
    shown = made.release(random.poisson(np.broadcast_to(means, (tables, 60))), random)
    return Cells([made], np.zeros(60, dtype=np.int64), shown), x[:, None], np.log(size)


@pytest.mark.parametrize("name", ["pure laplace 0.5", "p-table 8, 4, blocked 2"])
def test_poisson_regression_covers(name: str) -> None:
    """400 data sets of 60 areas: the slope's interval holds in 95 % ± 3.3 (3 standard errors)."""
    cells, x, offset = areas(400, LAWS[name], 3)
    fitted = poisson_fit(cells, x, offset)
    assert fitted.sound.all()
    held = np.abs(fitted.coefficients[:, 1] - 0.25) < 1.96 * fitted.errors[:, 1]
    assert 0.917 <= held.mean() <= 0.983
    assert abs(fitted.coefficients[:, 1].mean() - 0.25) < 0.006


def test_logistic_regression_of_groups() -> None:
    """Odds of an event in 30 groups behind noise: unbiased, intervals that hold."""
    random = np.random.default_rng(5)
    z, many = random.normal(0, 1, 30), random.integers(40, 200, 30)
    chance = 1 / (1 + np.exp(0.5 - 0.4 * z))
    means = np.stack([many * chance, many * (1 - chance)], axis=1).ravel()
    made = channel(PureLaplace.of("0.5"))
    shown = made.release(random.poisson(np.broadcast_to(means, (150, 60))), random)
    fitted = logistic_fit(Cells([made], np.zeros(60, dtype=np.int64), shown), z[:, None])
    held = np.abs(fitted.coefficients[:, 1] - 0.4) < 1.96 * fitted.errors[:, 1]
    assert held.mean() >= 0.89
    assert fitted.coefficients.mean(0) == pytest.approx([-0.5, 0.4], abs=0.03)


def test_a_regression_of_a_table() -> None:
    """By codes; without noise the coefficients are those of ordinary Poisson regression."""
    counts = np.array([12, 25, 31, 60, 88])
    data = {f"R{i}": {"x": i, "population": 100 * (i + 1)} for i in range(5)}
    made = table(counts, CellLaw(cells=(MarginLaw(None, None),)))
    found = regression(made, data, "x", offset="population")
    design = np.column_stack([np.ones(5), np.arange(5)])
    b = np.zeros(2)
    for _ in range(50):
        mean = 100 * np.arange(1, 6) * np.exp(design @ b)
        b += np.linalg.solve(design.T @ (mean[:, None] * design), design.T @ (counts - mean))
    assert found.coefficients["x"]["estimate"] == pytest.approx(b[1], abs=1e-5)
    assert found.coefficients["intercept"]["estimate"] == pytest.approx(b[0], abs=1e-4)
    with pytest.raises(InputError, match="no 'x' for 'R4'"):
        regression(made, {code: row for code, row in data.items() if code != "R4"}, "x")
    with pytest.raises(InputError, match="same value everywhere"):
        regression(made, {code: {"x": 1} for code in data}, "x")


def test_effects_without_noise_are_those_of_an_ordinary_regression() -> None:
    """Rao's score and the likelihood ratio of two covariates, worked out plainly."""
    counts = np.array([12, 25, 31, 60, 88, 70])
    data = {f"R{i}": {"x": i, "z": (-1) ** i, "population": 100 * (i + 1)} for i in range(6)}
    found = regression(
        table(counts, CellLaw(cells=(MarginLaw(None, None),))),
        data,
        ["x", "z"],
        offset="population",
    )
    sizes = 100.0 * np.arange(1, 7)
    design = np.column_stack([np.ones(6), np.arange(6), (-1.0) ** np.arange(6)])
    null = sizes * counts.sum() / sizes.sum()
    slope = design.T @ (counts - null)
    score = slope @ np.linalg.solve(design.T @ (null[:, None] * design), slope)
    b = np.array([np.log(counts.sum() / sizes.sum()), 0, 0])
    for _ in range(50):
        mean = sizes * np.exp(design @ b)
        b += np.linalg.solve(design.T @ (mean[:, None] * design), design.T @ (counts - mean))
    lr = 2 * (counts @ np.log(mean / null) - mean.sum() + null.sum())
    assert found.df == 2
    assert found.score == pytest.approx(score, rel=1e-6)
    assert found.lr == pytest.approx(lr, rel=1e-6)
    assert found.naive == pytest.approx(lr, rel=1e-6)
    assert found.certificate["boundary"] is False
    assert any("Together the covariates" in words for words in found.caveats)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pure laplace 0.5", "p-table 8, 4, blocked 2"])
def test_effects_that_are_not_there_are_seldom_found(name: str) -> None:
    """60 regressions of 12 areas without an effect: at most 13.4 % rejected (5 %, 3 standard errors);
    the ordinary test's own level is told within 18 points; an effect that is there is found."""
    random, made = np.random.default_rng(8), channel(LAWS[name])
    data = {f"R{i}": {"x": i / 4} for i in range(12)}
    rejected, naive, told, seen = 0, 0, [], 0
    for _ in range(60):
        shown = made.release(random.poisson(np.full((1, 12), 20.0)), random)[0]
        found = regression(table(shown, cell_law(LAWS[name])), data, "x")
        assert found.coefficients["x"]["p"] == found.p
        rejected += found.p <= 0.05
        naive += found.naive_p <= 0.05
        told.append(found.naive_level)
    for _ in range(20):
        means = 20 * np.exp(0.5 * np.arange(12) / 4)
        shown = made.release(random.poisson(means[None]), random)[0]
        seen += regression(table(shown, cell_law(LAWS[name])), data, "x").p <= 0.05
    assert rejected / 60 <= 0.134
    assert naive / 60 == pytest.approx(float(np.mean(told)), abs=0.18)
    assert seen >= 15


def test_effects_of_many_groups_are_those_of_few() -> None:
    """Group by group and as one dense system: the same score and likelihood ratio."""
    random, made = np.random.default_rng(9), channel(PureLaplace.of("1"))
    z = random.normal(0, 1, 25)
    chance = 1 / (1 + np.exp(0.3 - 0.3 * z))
    means = np.stack([90 * chance, 90 * (1 - chance)], axis=1).ravel()
    cells = Cells(
        [made], np.zeros(50, dtype=np.int64), made.release(random.poisson(means[None]), random)
    )
    dense = logistic_fit(cells, z[:, None])
    null, whole = (Model(part, np.zeros(50)) for part in (dense.design[:, :26], dense.design))
    one = effects(cells, null, whole, float(dense.fit.loglik[0]))
    scaled = (z - z.mean()) / z.std()
    terms = np.column_stack([np.ones(25), scaled])
    other = effects_of_many(cells, terms, fit_odds(cells, terms).loglik)
    assert other["score"] == pytest.approx(one["score"], rel=1e-4)
    assert other["lr"] == pytest.approx(one["lr"], rel=1e-4)


def test_questions_by_name_check_their_arguments() -> None:
    """What is asked over HTTP: unknown questions, missing and misshapen arguments get a sentence."""
    made = table(np.array([[30, 14], [22, 25]]), cell_law(laplace("0.5", 7)))
    assert answer(made, "independence", {}).df == 1
    for question, arguments, words in (
        ("indepedence", {}, "There is no question"),
        ("interval", {}, "interval needs cell"),
        ("interval", {"cell": ["R0"]}, "cell must be"),
        ("interval", {"cell": {"region": 3}}, "cell must be"),
        ("ranking", {"axis": 3}, "axis must be a text"),
        ("independence", {"given": 5}, "given must be"),
        ("difference", {"a": {}, "b": {}, "exposures": ["1"]}, "two numbers"),
        ("regression", {"data": {"R0": 3}, "terms": "x"}, "data must be"),
        ("posterior", {"cell": {}, "why": "x"}, "takes cell"),
        ("interval", {"cell": {"region": "R0", "cause": "C0"}, "level": 0.95}, "level"),
    ):
        with pytest.raises(InputError, match=words):
            answer(made, question, arguments)


def many_groups(groups: int, seed: int) -> tuple[Cells, Any]:
    """Two cells a group behind noise, and two covariates."""
    random = np.random.default_rng(seed)
    covariates = random.normal(size=(groups, 2))
    size = random.gamma(4, 12, groups)
    odds = np.exp(-0.5 + 0.3 * covariates[:, 0] - 0.2 * covariates[:, 1])
    true = random.poisson(np.stack([size * odds, size], axis=1)).ravel()
    made = channel(laplace("0.5", 7), 1, AS_DRAWN)
    shown = made.release(true, random)
    return Cells([made], np.zeros(2 * groups, dtype=np.int64), shown[None]), covariates


@pytest.mark.parametrize("seed", range(2))
def test_odds_group_by_group_are_the_dense_fit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients and errors of 40 groups: the same whichever way they are fitted."""
    cells, covariates = many_groups(40, seed)
    dense = logistic_fit(cells, covariates)
    monkeypatch.setattr(regression_module, "DENSE_GROUPS", 0)
    apart = odds_of_many(cells, covariates)
    assert dense.sound[0]
    assert apart.sound[0]
    assert np.allclose(dense.coefficients, apart.coefficients, atol=1e-7)
    assert np.allclose(dense.errors, apart.errors, atol=1e-7)


def test_odds_of_more_than_300_groups() -> None:
    """700 groups: what the counts were drawn from lies within four standard errors."""
    fitted = odds_of_many(*many_groups(700, 5))
    assert fitted.sound[0]
    off = (fitted.coefficients[0] - [-0.5, 0.3, -0.2]) / fitted.errors[0]
    assert np.abs(off).max() < 4
    assert fitted.errors.max() < 0.05


@pytest.mark.parametrize(
    ("groups", "size", "epsilon", "good"),
    [(500, 40, "1", True), (500, 10, "0.3", False), (40, 40, "1", True), (40, 5, "0.3", False)],
)
def test_odds_of_groups_near_their_noise_are_refused(
    groups: int, size: int, epsilon: str, good: bool
) -> None:
    """500 groups of 10 with noise of sd 4.7: 95 % intervals held the truth in 58 of 100 tables."""
    random, made = np.random.default_rng(2), channel(PureLaplace.of(epsilon))
    covariates = random.normal(size=(groups, 1))
    odds = np.exp(-0.5 + 0.5 * covariates[:, 0])
    means = size * np.stack([odds / (1 + odds), 1 / (1 + odds)], axis=1)
    shown = made.release(random.poisson(means).ravel(), random)
    cells = Cells([made], np.zeros(2 * groups, dtype=np.int64), shown[None])
    if good:
        assert odds_of_many(cells, covariates).sound[0]
        return
    with pytest.raises(CannotConclude, match=f"{groups} groups are too small"):
        odds_of_many(cells, covariates)


def test_odds_need_no_totals() -> None:
    """A table without totals: the other category, or the exact sum of the others."""
    data = {f"R{i}": {"x": i} for i in range(4)}
    event = {"cause": "C0"}
    law = cell_law(PureLaplace.of("0.5"))
    counts = np.array([[60, 40, 21], [66, 35, 18], [82, 30, 20], [90, 33, 17]])
    two, three = (Conclusions(table(counts[:, :n], law)) for n in (2, 3))
    joined = Conclusions(table(np.column_stack([counts[:, 0], counts[:, 1:].sum(1)]), law))
    found = [t.regression(data, "x", event=event).coefficients["x"] for t in (two, three, joined)]
    assert found[0]["estimate"] > 0
    assert found[1]["estimate"] == pytest.approx(found[2]["estimate"], abs=0.02)
    assert found[1]["se"] > found[2]["se"]
