"""Rounding keeps every sum it promises to keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.errors import InputError
from discreet.methods.shared.rounding import (
    controlled,
    largest_remainder,
    swap_repair,
    systematic,
    whole_numbers,
)

from ...examples import examples

NEAR = 1 + 1e-6


def worst_sum(off: np.ndarray) -> float:
    """How far the farthest of cells, rows, columns and the total is off."""
    sums = (off, off.sum(axis=0), off.sum(axis=1), off.sum())
    return max(float(np.abs(one).max(initial=0)) for one in sums)


@pytest.mark.parametrize("share", [1, 0.3, 0.03])
def test_controlled_rounding_of_a_large_table(share: float) -> None:
    """251 × 300: every sum within 1."""
    rng = np.random.default_rng(0)
    table = rng.gamma(0.4, 5, (251, 300)) * (rng.random((251, 300)) < share)
    off = controlled(table) - table
    assert worst_sum(off) < 1
    # Nearest rounding is the least possible distance and keeps no margin: hardly more is paid.
    assert np.abs(off).mean() < 1.25 * np.abs(np.rint(table) - table).mean()


def test_nearest_rounding_would_fail_the_same_check() -> None:
    """The twin: rounding each cell to its nearest integer misses margins by far more than 1."""
    table = np.random.default_rng(0).gamma(0.4, 5, (251, 300))
    assert worst_sum(np.rint(table) - table) > 5


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """A table in tenths, or of huge numbers."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    tenths = draw(hnp.arrays(np.int64, shape, elements=st.integers(-15, 45)))
    return tenths / 10 * draw(st.sampled_from([1, 1, 1, 10**6 + 1]))


@given(tables())
@examples(150)
def test_controlled_rounding_always_exists(table: np.ndarray) -> None:
    """Any table: cells, rows, columns and the total within 1."""
    rounded = controlled(table)
    assert worst_sum(rounded - table) < 1 - 1e-9
    whole = table == np.rint(table)
    assert (rounded[whole] == table[whole]).all(), "an integer stays what it is"


@pytest.mark.proof
@given(tables())
@settings(max_examples=5_000, deadline=None)
def test_controlled_rounding_always_exists_many(table: np.ndarray) -> None:
    """5,000 random tables are rounded with each cell, row, column and total moved by less than 1."""
    assert worst_sum(controlled(table) - table) < 1 - 1e-9


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (3, 0), (1, 1), (1, 500), (500, 1)])
def test_thin_and_empty_tables(shape: tuple[int, int]) -> None:
    """No rows, one row, one column: nothing special."""
    table = np.random.default_rng(2).gamma(0.5, 3, shape)
    rounded = controlled(table)
    assert rounded.shape == shape
    assert worst_sum(rounded - table) < 1


def test_values_may_be_huge() -> None:
    """Numbers near 10^15 whose fractions are eighths."""
    table = np.random.default_rng(3).integers(10**15, 2 * 10**15, (6, 6)) / 8
    assert worst_sum(controlled(table) - table) < 1


@given(
    hnp.arrays(
        np.float64, hnp.array_shapes(max_dims=4, max_side=5), elements=st.floats(0, 9, width=16)
    )
)
def test_systematic_rounding_keeps_runs_and_the_total(table: np.ndarray) -> None:
    """No cell below 0; every run of cells, so the total too, is within 1."""
    rounded = systematic(table)
    assert (rounded >= 0).all()
    assert abs(rounded.sum() - table.sum()) <= 1
    off = np.cumsum(rounded.ravel()) - np.cumsum(table.ravel())
    runs = off[:, None] - np.concatenate([[0], off])[None, :]
    assert np.abs(runs).max(initial=0) <= NEAR


@given(st.lists(st.floats(0, 50, width=16), min_size=1, max_size=30))
def test_largest_remainder_keeps_the_total(values: list[float]) -> None:
    """The total is met exactly and every value is within 1."""
    total = round(sum(values))
    rounded = largest_remainder(values, total)
    assert rounded.sum() == total
    assert np.abs(rounded - values).max() <= NEAR


def test_repair_brings_crossed_margins_closer_and_keeps_the_total() -> None:
    """Three crossed margins of a sparse table: closer by half, total kept, nothing below 0."""
    rng = np.random.default_rng(3)
    table = rng.gamma(0.1, 3, (12, 10, 8))
    keep = [(0, 1), (0, 2), (1, 2)]
    targets = {k: table.sum(axis=tuple({0, 1, 2} - set(k))) for k in keep}
    first = systematic(table)
    banned = table < np.quantile(table, 0.2)
    first[banned] = 0
    second = swap_repair(first, targets, allowed=~banned)

    def distance(rounded: np.ndarray) -> float:
        return sum(
            float(((rounded.sum(axis=tuple({0, 1, 2} - set(k))) - t) ** 2).sum())
            for k, t in targets.items()
        )

    assert second.min() >= 0
    assert second.sum() == first.sum()
    assert not second[banned].any()
    assert distance(second) < 0.5 * distance(first)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: controlled(np.zeros(3)), "2 axes"),
        (lambda: controlled(np.full((2, 2), np.nan)), "not finite"),
        (lambda: controlled(np.full((2, 2), 1e30)), "below 2"),
        (lambda: systematic([-1.0]), "≥ 0"),
        (lambda: largest_remainder([0.2, 0.2], 5), "Scale the list"),
    ],
)
def test_bad_tables_get_one_sentence(call: object, words: str) -> None:
    """What cannot be rounded is refused with the reason."""
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def drift(shape: tuple[int, int], tables: int) -> tuple[float, float]:
    """By how much totals go up on average when tables are rounded, and its standard error."""
    off = []
    for seed in range(tables):
        table = np.random.default_rng(seed).normal(3, 8, shape)
        off.append(whole_numbers(table).sum() - table.sum())
    return float(np.mean(off)), float(np.std(off)) / math.sqrt(tables)


def test_totals_of_many_tables_are_right_on_average() -> None:
    """25 × 12, 60 tables from seeds: totals once went down by half a record each."""
    mean, error = drift((25, 12), 60)
    assert abs(mean) < 3.5 * error
    assert error < 0.05


@pytest.mark.proof
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (11, 4), (25, 12), (40, 30)])
def test_totals_of_thousands_of_tables_are(shape: tuple[int, int], record_property) -> None:
    """2,000 tables of each shape: the mean total is that of the fractions, within 3.5 standard errors."""
    mean, error = drift(shape, 2000)
    record_property("mean", f"{mean:+.4f} ± {error:.4f}")
    assert abs(mean) < 3.5 * error


def test_a_total_halfway_goes_to_the_even_number() -> None:
    """So that halves, which estimates of whole numbers often have, do not all go one way."""
    half = np.full((2, 2), 0.125)
    totals = [int(controlled(half + np.array([[n, 0], [0, 0]])).sum()) for n in range(-3, 5)]
    assert totals == [-2, -2, 0, 0, 2, 2, 4, 4]
