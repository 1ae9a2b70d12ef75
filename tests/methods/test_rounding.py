"""Rounding keeps every sum it promises to keep."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.errors import InputError
from discreet.methods.rounding import controlled, largest_remainder, swap_repair, systematic

NEAR = 1 + 1e-6


def test_controlled_rounding_of_a_large_nested_table() -> None:
    """Show 7: 251 × 300 with subtotals on both sides, every controlled margin within 1."""
    rng = np.random.default_rng(0)
    table = rng.gamma(0.4, 5, (251, 300))
    regions = np.repeat(np.arange(13), [1, 11, 33, 23, 19, 22, 19, 32, 32, 16, 5, 31, 7])
    causes = np.repeat(np.arange(15), 20)
    rounded = controlled(table, row_groups=[regions], column_groups=[causes])
    off = rounded - table
    assert np.abs(off).max() < 1
    assert np.abs(off.sum(axis=1)).max() < 1
    assert np.abs(off.sum(axis=0)).max() < 1
    assert np.abs(np.bincount(regions, off.sum(axis=1))).max() < 1
    assert np.abs(np.bincount(causes, off.sum(axis=0))).max() < 1
    assert abs(off.sum()) < 1
    # Nearest rounding is the least possible distance and keeps no margin: hardly more is paid.
    assert np.abs(off).mean() < 1.15 * np.abs(np.rint(table) - table).mean()


def test_nearest_rounding_would_fail_the_same_check() -> None:
    """The twin: rounding each cell to its nearest integer misses margins by far more than 1."""
    table = np.random.default_rng(0).gamma(0.4, 5, (251, 300))
    assert np.abs((np.rint(table) - table).sum(axis=1)).max() > 5


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_controlled_rounding_always_exists(data: st.DataObject) -> None:
    """Any table, any nested groups: cells, rows, columns, subtotals, total all within 1."""
    shape = data.draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    tenths = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-15, 45)))
    table = tenths / 10
    fine = data.draw(hnp.arrays(np.int64, shape[0], elements=st.integers(0, 3)))
    coarse = data.draw(hnp.arrays(np.int64, 4, elements=st.integers(0, 1)))[fine]
    columns = data.draw(hnp.arrays(np.int64, shape[1], elements=st.integers(0, 2)))
    rounded = controlled(table, row_groups=[fine, coarse], column_groups=[columns])
    off = rounded - table
    sums = [off, off.sum(axis=1), off.sum(axis=0), np.array(off.sum())]
    sums += [np.bincount(g, off.sum(axis=1)) for g in (fine, coarse)]
    sums += [np.bincount(columns, off.sum(axis=0))]
    assert all(np.abs(part).max() < 1 - 1e-9 for part in sums)
    whole = tenths % 10 == 0
    assert (rounded[whole] == table[whole]).all(), "an integer stays what it is"


@given(
    hnp.arrays(
        np.float64, hnp.array_shapes(max_dims=4, max_side=5), elements=st.floats(0, 9, width=16)
    ),
    st.floats(0, 0.99),
)
def test_systematic_rounding_keeps_runs_and_the_total(table: np.ndarray, start: float) -> None:
    """No cell below 0; every run of cells, so the total too, is within 1."""
    rounded = systematic(table, start)
    assert (rounded >= 0).all()
    assert abs(rounded.sum() - table.sum()) <= 1
    off = np.cumsum(rounded.ravel()) - np.cumsum(table.ravel())
    runs = off[:, None] - np.concatenate([[0], off])[None, :]
    assert np.abs(runs).max(initial=0) <= NEAR


@given(st.lists(st.floats(0, 50, width=16), min_size=1, max_size=30))
def test_largest_remainder_keeps_the_total(values: list[float]) -> None:
    """The total is met exactly and every value is within 1."""
    rounded = largest_remainder(values)
    assert rounded.sum() == np.rint(sum(values))
    assert np.abs(rounded - values).max() <= NEAR


@given(st.lists(st.tuples(st.floats(0, 9, width=16), st.integers(0, 3)), min_size=1, max_size=30))
def test_largest_remainder_keeps_every_group(pairs: list[tuple[float, int]]) -> None:
    """Each group's rounded sum is met."""
    values, groups = np.array([v for v, _ in pairs]), np.array([g for _, g in pairs])
    rounded = largest_remainder(values, groups=groups)
    sums = np.bincount(groups, values)
    assert np.abs(np.bincount(groups, rounded) - sums).max() <= 0.5 + 1e-6
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
        (lambda: controlled(np.full((2, 2), 0.5), row_groups=[[0]]), "labels"),
        (
            lambda: controlled(np.full((3, 2), 0.5), row_groups=[[0, 0, 1], [0, 1, 1]]),
            "nested",
        ),
        (lambda: systematic([-1.0]), "≥ 0"),
        (lambda: systematic([1.0], 1.0), "start"),
        (lambda: largest_remainder([0.2, 0.2], 5), "Scale the list"),
    ],
)
def test_bad_tables_get_one_sentence(call: object, words: str) -> None:
    """What cannot be rounded is refused with the reason."""
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


@pytest.mark.slow
def test_controlled_rounding_takes_less_than_ten_times_its_bar() -> None:
    """The bar is 1 s on an idle machine; on a busy one ten times that is still a failure."""
    table = np.random.default_rng(1).gamma(0.4, 5, (251, 300))
    began = time.perf_counter()
    controlled(table, row_groups=[np.arange(251) // 20], column_groups=[np.arange(300) // 20])
    assert time.perf_counter() - began < 10
