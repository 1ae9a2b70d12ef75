"""Is this difference real, and which rows may swap: exact p-values and simultaneous ranks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.core.law_builders import laplace
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import CannotConclude, InputError
from discreet.inference.channel import Treatment, channel
from discreet.inference.comparison import _gap_tail, difference, p_same_count, p_same_rate
from discreet.inference.questions import Conclusions
from discreet.inference.ranking import range_quantile, ranking

from .tables import LAWS, TREATMENTS, cell_law, ptable, table


def test_the_teaching_example() -> None:
    """52 against 41 at ε = 0.5: real as a count, not as a rate; both are said."""
    made = table(np.array([52, 41, 7]), cell_law(PureLaplace.of("0.5")))
    answer = difference(made, {"region": "R0"}, {"region": "R1"})
    assert answer.p_same_count == pytest.approx(0.0183, abs=5e-5)
    assert answer.p_same_rate == pytest.approx(0.31, abs=0.01)
    assert (
        "really differ in the data (p = 0.018), but the rates behind them may be" in answer.sentence
    )


def test_same_count_is_the_exact_tail() -> None:
    """By definition: the difference of two draws; for a p-table the largest over common counts."""
    law = laplace("0.5", 3)
    made = channel(law)
    exact = sum(
        float(law.probability(x) * law.probability(y))
        for x, y in itertools.product(range(-3, 4), repeat=2)
        if abs(x - y) >= 4
    )
    assert p_same_count((made, made), (20, 24)) == pytest.approx(exact)
    keyed = channel(ptable(5, "2"))
    assert p_same_count((keyed, keyed), (2, 6)) == pytest.approx(0.0771, abs=5e-5)
    assert p_same_count((keyed, keyed), (20, 26)) == pytest.approx(0.0054, abs=5e-5)
    assert p_same_count((made, made), (20, 20)) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("treatment", [Treatment(), Treatment(least=0), Treatment(hidden_below=3)])
def test_the_level_of_same_rate(treatment: Treatment) -> None:
    """Equal rates with exposures 1 and 3: at most 9 % of 200 tables below 0.05 (3 standard errors)."""
    random = np.random.default_rng(8)
    for name, mean in (("pure laplace 0.5", 3.0), ("p-table 8, 4, blocked 2", 12.0)):
        made = channel(LAWS[name], 1, treatment)
        low = 0
        for _ in range(200):
            one, other = made.release(random.poisson([mean, 3 * mean]), random).tolist()
            low += p_same_rate((made, made), (one, other), (1.0, 3.0)) <= 0.05
        assert low <= 19


def test_the_range_law_by_enumeration() -> None:
    """Three draws of a small law: the least gap that holds in 95 % is the one enumeration finds."""
    law = laplace("1", 3)
    weights = {z: float(law.probability(z)) for z in range(-3, 4)}
    masses = np.array(list(weights.values()))
    for level in (0.5, 0.8, 0.95):
        inside = dict.fromkeys(range(7), 0.0)
        for draws in itertools.product(weights, repeat=3):
            chance = float(np.prod([weights[z] for z in draws]))
            for gap in range(max(draws) - min(draws), 7):
                inside[gap] += chance
        expected = next(gap for gap, share in inside.items() if share >= level)
        assert range_quantile(masses, 3, level) == expected


def test_ranks_name_what_may_swap() -> None:
    """A sure first, two that may swap, and the gap that is sure."""
    made = table(np.array([200, 60, 57, 10]), cell_law(PureLaplace.of("0.5")))
    answer = ranking(made, "region")
    ranks = {row["category"]: row["ranks"] for row in answer.numbers["ranking"]}
    assert ranks == {"region 0": [1, 1], "region 1": [2, 3], "region 2": [2, 3], "region 3": [4, 4]}
    assert answer.may_swap == [["region 1", "region 2"]]
    assert answer.sure_gap == 11


@pytest.mark.parametrize("law", [PureLaplace.of("0.5"), ptable(8, "4", 2)])
@pytest.mark.slow
def test_rank_sets_hold_all_together(law: object) -> None:
    """200 releases of close rows: every rank set holds its true rank in at least 95 % of them."""
    random = np.random.default_rng(4)
    true = np.array([30, 29, 26, 22, 22, 12, 5])
    made = channel(law)  # type: ignore[arg-type]
    wrong = 0
    for _ in range(200):
        shown = table(made.release(true, random), cell_law(law))  # type: ignore[arg-type]
        rows = ranking(shown, "region").numbers["ranking"]
        for row in rows:
            at = true[int(row["category"].split()[1])]
            best, worst = 1 + (true > at).sum(), (true >= at).sum()
            if not (row["ranks"][0] <= worst and row["ranks"][1] >= best):
                wrong += 1
                break
    assert wrong <= 19


def test_comparisons_of_what_overlaps_are_refused() -> None:
    """A cell and its own total; the same cell twice; one row to rank."""
    made = table(
        np.array([[30, 14, 44], [22, 25, 47], [52, 39, 91]]),
        cell_law(LAWS["p-table 5, 2"]),
        totals=True,
    )
    with pytest.raises(InputError, match="records in common"):
        difference(made, {"region": "R0", "cause": "C0"}, {"region": "R0"})
    with pytest.raises(CannotConclude, match="nothing to rank"):
        ranking(table(np.array([[5, 7]]), cell_law(laplace("1", 3))), "region", {"cause": "C0"})


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_counts_with_one_law_need_no_second_look(treatment: str) -> None:
    """Two cells of a p-table: the same as when every common count is gone through."""
    made = channel(LAWS["p-table 8, 4, blocked 2"], 1, TREATMENTS[treatment])
    for symbols in ((2000, 2009), (30, 36), (40, 900), (9, 14)):
        windows = [made.weights(symbol) for symbol in symbols]
        first = min(low for low, _ in windows)
        last = max(low + len(weights) - 1 for low, weights in windows)
        gap = float(abs(symbols[0] - symbols[1]))
        every = max(_gap_tail((made, made), n, gap) for n in range(first, last + 1))
        assert p_same_count((made, made), symbols) == pytest.approx(every, abs=1e-12)


def test_ranks_and_sums_need_possible_numbers() -> None:
    """−9 where noise ends at −7: no rank and no sum is concluded from it."""
    made = table(np.array([-9, 14, 22]), cell_law(laplace("0.5", 7)))
    with pytest.raises(CannotConclude, match="which its law cannot give"):
        ranking(made, "region")
    with pytest.raises(CannotConclude, match="which its law cannot give"):
        Conclusions(made).total([{"region": "R0"}, {"region": "R1"}])
