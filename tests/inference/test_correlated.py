"""Fitted tables: a test through the covariance keeps its level, cells one by one would not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.core.cell_law import CellLaw, MarginLaw
from discreet.core.description import Description
from discreet.core.domain import Text, variable
from discreet.core.table import ProtectedTable
from discreet.errors import CannotConclude
from discreet.inference.correlated import Estimates
from discreet.inference.evidence import Reading
from discreet.inference.independence import independence_test
from discreet.inference.intervals import interval
from discreet.inference.questions import Conclusions
from discreet.methods.topdown.method import TopDownMethod

from ..methods.marginals import people
from ..methods.noise.conftest import World
from ..methods.topdown.trees import World as Tree
from ..methods.topdown.trees import nested

SHAPE = (5, 4)


class Tabled(World):
    """A world of two variables whose counts are an array."""

    def __init__(self, **facts: Any) -> None:
        names = zip("ab", SHAPE, strict=True)
        super().__init__([variable(name, [str(i) for i in range(n)]) for name, n in names], **facts)
        self.counts = np.zeros(SHAPE, dtype=np.int64)

    def dense(self, count: Any, weighted: bool = False) -> np.ndarray:
        kept = [ref.variable for ref in count.axes]
        away = tuple(i for i, name in enumerate("ab") if name not in kept)
        found = self.counts.sum(axis=away)
        return found if kept != ["b", "a"] else found.T


def independent_counts(random: np.random.Generator, mean: float) -> np.ndarray:
    effects = [np.exp(random.uniform(-0.3, 0.3, n)) for n in SHAPE]
    return random.poisson(mean * np.outer(*effects))


def least_squares(
    releases: int, mean: float, seed: int = 1, epsilon: str = "2"
) -> list[ProtectedTable]:
    """Interior, margins and total measured apart and fitted together."""
    random, world = np.random.default_rng(seed), Tabled()
    plan = world.plan(
        world.spec("a", "b"), epsilon=epsilon, plan="everything", consistency="least squares"
    )
    tables = []
    for _ in range(releases):
        world.counts = independent_counts(random, mean)
        tables.append(world.release(plan)[0])
    return tables


def marginals(releases: int, mean: float, seed: int = 1) -> list[ProtectedTable]:
    """A table of consistent margins: its counts are synthetic, its column unbiased is not."""
    random = np.random.default_rng(seed)
    described = people.described(SHAPE)
    asked = people.question(described, [["v0", "v1"]], epsilon="1")
    tables = []
    for _ in range(releases):
        counts = independent_counts(random, mean).ravel()
        rows = np.repeat(
            np.stack(np.unravel_index(np.arange(counts.size), SHAPE), 1), counts, axis=0
        )
        tables.append(people.released(rows, described, asked)[2][0])
    return tables


def topdown(releases: int, mean: float, seed: int = 1, epsilon: str = "2") -> list[ProtectedTable]:
    """Areas of a tree by a variable independent of them: estimates are joined over the tree."""
    random = np.random.default_rng(seed)
    area = nested("area", [[0, 0, 1, 1, 1]])
    described = Description("tree", Text.of("Tree"), (area, variable("b", list("wxyz"))))
    asked = [{"rows": ["area:area"], "columns": ["b"]}, {"rows": ["area1"], "columns": ["b"]}]
    tables = []
    for _ in range(releases):
        counts = independent_counts(random, mean).ravel()
        rows = np.repeat(np.arange(counts.size), counts)
        codes = dict(zip(("area", "b"), np.unravel_index(rows, SHAPE), strict=True))
        world = Tree(described, codes, TopDownMethod())
        tables.append(world.release(asked, epsilon=epsilon)[2][0])
    return tables


def rejected(tables: list[ProtectedTable]) -> float:
    return float(np.mean([independence_test(table).p <= 0.05 for table in tables]))


def as_if_each_cell_had_a_law(table: ProtectedTable) -> ProtectedTable:
    """The shortcut that is wrong: the estimates taken for counts with nothing added."""
    law = CellLaw(cells=(MarginLaw(None, None),))
    values = table.extra[table.law.column] if table.law.column else table.values
    return replace(table, values=np.maximum(values, 0), law=law)


def test_the_covariance_is_that_of_the_law() -> None:
    """Entry by entry, with the variance that rounding adds."""
    for table in (least_squares(1, 40)[0], marginals(1, 40)[0], topdown(1, 40)[0]):
        estimates = Estimates(Reading(table))
        residuals = table.law.residual_variance
        assert residuals is not None
        names = estimates.reading.names
        for i, one in enumerate(np.ndindex(*SHAPE)):
            for j, other in enumerate(np.ndindex(*SHAPE)):
                cells = (dict(zip(names, place, strict=True)) for place in (one, other))
                expected = residuals.covariance(*cells) + (i == j) / 12
                assert estimates.covariance[i, j] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_level_of_least_squares_tables_reduced() -> None:
    """60 releases: at most 11 below 0.05 (level 9 %, 3 standard errors)."""
    assert rejected(least_squares(60, 60)) <= 11 / 60


@pytest.mark.proof
@pytest.mark.parametrize("mean", [40, 100])
def test_level_of_least_squares_tables(mean: float) -> None:
    """Of 500 least-squares tables of independent variables at most 9 % are rejected at level 5 %."""
    assert rejected(least_squares(500, mean)) <= 0.09


@pytest.mark.proof
@pytest.mark.parametrize("mean", [60, 150])
def test_level_of_marginals_tables(mean: float) -> None:
    """Of 500 marginals tables of independent variables at most 9 % are rejected at level 5 %."""
    assert rejected(marginals(500, mean)) <= 0.09


@pytest.mark.slow
def test_level_of_top_down_tables_reduced() -> None:
    """60 releases: at most 11 below 0.05 (level 9 %, 3 standard errors)."""
    assert rejected(topdown(60, 60)) <= 11 / 60


@pytest.mark.proof
@pytest.mark.parametrize("mean", [60, 150])
def test_level_of_top_down_tables(mean: float, record_property: Any) -> None:
    """Independence of area and a variable, 500 top-down releases: at most 9 % rejected at 5 %."""
    found = rejected(topdown(500, mean))
    record_property(f"mean {mean}, rejected", found)
    assert found <= 0.09


@pytest.mark.slow
@pytest.mark.parametrize(("made", "epsilon"), [(least_squares, "0.7"), (topdown, "0.15")])
def test_the_shortcut_is_caught(made: Any, epsilon: str) -> None:
    """Noisy tables of mean 60, each cell taken for itself: far too many rejections."""
    tables = made(60, 60, seed=2, epsilon=epsilon)
    assert rejected([as_if_each_cell_had_a_law(table) for table in tables]) > 0.3
    with pytest.raises(CannotConclude, match="correlated"):
        Reading(tables[0]).evidence()


def test_what_was_rounded_or_never_measured_is_refused() -> None:
    """Whole consistent numbers, cut numbers, and no covariance: one sentence each."""
    table = least_squares(1, 60)[0]
    for change, words in (
        ({"consistency": "integers"}, "rounded to a consistent whole"),
        ({"negatives": "clip"}, "cut at 0"),
        ({"residual_variance": None}, "no covariance"),
        ({"measured": False}, "never measured together"),
    ):
        with pytest.raises(CannotConclude, match=words):
            independence_test(replace(table, law=replace(table.law, **change)))
    with pytest.raises(CannotConclude, match="too small beside correlated noise"):
        independence_test(least_squares(1, 3)[0])


@pytest.mark.parametrize(("plan", "consistency"), [("interior", "none"), ("best", "integers")])
def test_balanced_tables_have_no_cell_law(plan: str, consistency: str) -> None:
    """Values moved together to stay above 0 and add up: no question reads them as cut at 0."""
    world = Tabled()
    world.counts = independent_counts(np.random.default_rng(3), 6)
    asked = world.plan(
        world.spec("a", "b"), epsilon="1", plan=plan, consistency=consistency, negatives="balance"
    )
    t = Conclusions(world.release(asked)[0])
    one, other = {"a": "1", "b": "2"}, {"a": "2", "b": "2"}
    for ask in (
        t.independence_test,
        lambda: t.loglinear(["a", "b"]),
        lambda: t.goodness_of_fit({str(i): "0.2" for i in range(5)}, "a"),
        lambda: t.cell_interval(one, level="0.9"),
        lambda: t.rate(one),
        lambda: t.total([one, other]),
        lambda: t.difference(one, other),
        lambda: t.ratio(one, other),
        lambda: t.share(one),
        lambda: t.ranking("a"),
        lambda: t.posterior(one),
    ):
        with pytest.raises(CannotConclude, match="moved together"):
            ask()


def test_intervals_and_differences_of_estimates() -> None:
    """They use the covariance: near the intervals that the table carries, and named as about."""
    table = least_squares(1, 60)[0]
    cell, other = {"a": "1", "b": "2"}, {"a": "1", "b": "3"}
    found = interval(table, cell)
    assert table.noise is not None
    assert abs(found.lower - table.noise.lower[1, 2]) <= 1
    assert abs(found.upper - table.noise.upper[1, 2]) <= 1
    assert "about 95 %" in found.sentence
    apart = Conclusions(table).difference(cell, other)
    both = Estimates(Reading(table))
    residuals = table.law.residual_variance
    assert residuals is not None
    places = {"a": 1, "b": 2}, {"a": 1, "b": 3}
    expected = sum(residuals.covariance(one) for one in places) - 2 * residuals.covariance(*places)
    assert apart.noise_sd == pytest.approx((expected + 1 / 6) ** 0.5)
    assert both.value((1, 2)) == apart.released[0]


def test_rates_of_estimates_are_per_exposure() -> None:
    """What rates are of counts in fitted tables too: alike per head, whatever the sizes' unit."""
    made = Conclusions(least_squares(1, 60)[0])
    one, other = {"a": "1"}, {"a": "2", "b": "1"}
    plain, same = made.difference(one, other), made.difference(one, other, exposures=("7", "7"))
    assert plain.p_same_rate < 0.001
    assert same.p_same_rate == pytest.approx(plain.p_same_rate)
    assert plain.exposures is None
    per_head = made.difference(one, other, exposures=tuple(map(str, plain.released)))
    assert per_head.p_same_rate == 1.0
    assert per_head.p_same_count == plain.p_same_count
    assert "per exposure" in per_head.sentence


def test_estimates_reach_as_far_as_laplace_draws() -> None:
    """At 99 and 99.9 % an interval holds a Laplace draw so often, and p-values agree with it."""
    estimates = Estimates(Reading(least_squares(1, 60)[0]))
    for level in (0.8, 0.9, 0.95, 0.99, 0.999):
        half = estimates.half_width(4.0, level)
        assert 1 - math.exp(-half / 2 * 2**0.5) >= level - 1e-12
        assert 2 * ndtr(half / 2) - 1 >= level - 1e-12
        assert estimates.tail(half, 4.0) == pytest.approx(1 - level)
    assert estimates.tail(0, 4.0) == 1.0
