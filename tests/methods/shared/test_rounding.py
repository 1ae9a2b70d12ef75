"""Rounding keeps every sum it promises to keep."""

from __future__ import annotations

import itertools

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
    worst_sum,
)

NEAR = 1 + 1e-6


def every_sum(off: np.ndarray, rows: list[np.ndarray], columns: list[np.ndarray]) -> dict:
    """Each level of rows with each of columns, added up cell by cell: 0 is the side itself."""
    sides = [np.arange(off.shape[0]), *rows, np.zeros(off.shape[0], int)]
    across = [np.arange(off.shape[1]), *columns, np.zeros(off.shape[1], int)]
    out = {}
    for (a, g), (b, h) in itertools.product(enumerate(sides), enumerate(across)):
        sums = np.zeros((g.max(initial=0) + 1, h.max(initial=0) + 1))
        np.add.at(sums, (g[:, None], h[None, :]), off)
        out[a, b] = float(np.abs(sums).max(initial=0))
    return out


def certain(sums: dict, rows: list[np.ndarray], columns: list[np.ndarray]) -> float:
    """The worst of the sums that are always kept: not both a group of rows and one of columns."""
    groups = set(itertools.product(range(1, len(rows) + 1), range(1, len(columns) + 1)))
    return max(worst for levels, worst in sums.items() if levels not in groups)


REGIONS = np.repeat(np.arange(13), [1, 11, 33, 23, 19, 22, 19, 32, 32, 16, 5, 31, 7])
CAUSES = np.repeat(np.arange(15), 20)


@pytest.mark.parametrize("share", [1, 0.3, 0.03])
def test_controlled_rounding_of_a_large_nested_table(share: float) -> None:
    """Show 7: 251 × 300 with subtotals on both sides, every sum within 1, regions × causes too."""
    rng = np.random.default_rng(0)
    table = rng.gamma(0.4, 5, (251, 300)) * (rng.random((251, 300)) < share)
    groups = {"row_groups": [REGIONS], "column_groups": [CAUSES]}
    rounded = controlled(table, **groups)
    off = rounded - table
    assert max(every_sum(off, [REGIONS], [CAUSES]).values()) < 1
    assert worst_sum(table, rounded, **groups) < 1
    # Nearest rounding is the least possible distance and keeps no margin: hardly more is paid.
    assert np.abs(off).mean() < 1.25 * np.abs(np.rint(table) - table).mean()


def test_nearest_rounding_would_fail_the_same_check() -> None:
    """The twin: rounding each cell to its nearest integer misses margins by far more than 1."""
    table = np.random.default_rng(0).gamma(0.4, 5, (251, 300))
    assert np.abs((np.rint(table) - table).sum(axis=1)).max() > 5


@st.composite
def nested_tables(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """A table in tenths or of huge numbers, and up to two nested lists of groups on either side."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    tenths = draw(hnp.arrays(np.int64, shape, elements=st.integers(-15, 45)))
    table = tenths / 10 * draw(st.sampled_from([1, 1, 1, 10**6 + 1]))
    chains = []
    for length in shape:
        chain: list[np.ndarray] = []
        for _ in range(draw(st.integers(0, 2))):
            inside = chain[-1] if chain else np.arange(length)
            above = draw(hnp.arrays(np.int64, int(inside.max()) + 1, elements=st.integers(0, 3)))
            chain.append(above[inside])
        chains.append(chain)
    return table, *chains


@given(nested_tables())
@settings(max_examples=150, deadline=None)
def test_controlled_rounding_always_exists(
    made: tuple[np.ndarray, list[np.ndarray], list[np.ndarray]],
) -> None:
    """Any table, any nested groups: cells, rows, columns, subtotals within them, total within 1."""
    table, rows, columns = made
    rounded = controlled(table, row_groups=rows, column_groups=columns)
    sums = every_sum(rounded - table, rows, columns)
    assert certain(sums, rows, columns) < 1 - 1e-9
    if not rows or not columns:
        assert max(sums.values()) < 1 - 1e-9, "groups on one side: every sum is kept"
    whole = table == np.rint(table)
    assert (rounded[whole] == table[whole]).all(), "an integer stays what it is"
    assert worst_sum(table, rounded, row_groups=rows, column_groups=columns) == pytest.approx(
        max(sums.values()), abs=1e-6
    )


@pytest.mark.proof
@given(nested_tables())
@settings(max_examples=5_000, deadline=None)
def test_controlled_rounding_always_exists_many(
    made: tuple[np.ndarray, list[np.ndarray], list[np.ndarray]],
) -> None:
    """The same, often."""
    table, rows, columns = made
    rounded = controlled(table, row_groups=rows, column_groups=columns)
    assert certain(every_sum(rounded - table, rows, columns), rows, columns) < 1 - 1e-9


@pytest.mark.slow
def test_groups_in_groups_are_kept_in_nearly_every_small_table() -> None:
    """200 random tables with groups on both sides: all sums within 1 in at least 195 of them."""
    rng, kept = np.random.default_rng(8), 0
    for _ in range(200):
        shape = tuple(rng.integers(2, 12, 2))
        table = rng.integers(0, 40, shape) / 10 * (rng.random(shape) < rng.choice([1, 0.5, 0.3]))
        rows, columns = (rng.integers(0, 3, n) for n in shape)
        rounded = controlled(table, row_groups=[rows], column_groups=[columns])
        kept += max(every_sum(rounded - table, [rows], [columns]).values()) < 1
    assert kept >= 195


def test_a_table_that_has_no_rounding_with_all_groups() -> None:
    """Four halves: row 0, column 0 and the first block ask for one each of two; the total for two.

    With the corner up the others are down and the total is 1, else it is 3: no table keeps all sums
    (all 16 are tried). What comes back keeps everything but groups in groups, and says so.
    """
    table = np.zeros((4, 4))
    halves = ([0, 0, 1, 3], [0, 3, 1, 0])
    table[halves] = 0.5
    groups = [np.array([0, 0, 1, 1])]
    for ups in itertools.product((0, 1), repeat=4):
        rounded = np.zeros((4, 4))
        rounded[halves] = ups
        assert max(every_sum(rounded - table, groups, groups).values()) >= 1
    found = controlled(table, row_groups=groups, column_groups=groups)
    assert certain(every_sum(found - table, groups, groups), groups, groups) < 1
    assert worst_sum(table, found, row_groups=groups, column_groups=groups) == 1


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (3, 0), (1, 1), (1, 500), (500, 1)])
def test_thin_and_empty_tables(shape: tuple[int, int]) -> None:
    """No rows, one row, one column: nothing special."""
    table = np.random.default_rng(2).gamma(0.5, 3, shape)
    rows, columns = (np.arange(n) // 3 for n in shape)
    rounded = controlled(table, row_groups=[rows], column_groups=[columns])
    assert rounded.shape == shape
    assert max(every_sum(rounded - table, [rows], [columns]).values()) < 1


def test_labels_may_be_any_numbers_and_values_huge() -> None:
    """Groups 5 and 10^12; numbers near 10^15 whose fractions are eighths."""
    table = np.random.default_rng(3).integers(10**15, 2 * 10**15, (6, 6)) / 8
    groups = np.array([5, 5, 5, 10**12, 10**12, 7])
    rounded = controlled(table, row_groups=[groups], column_groups=[groups])
    labels = [np.array([0, 0, 0, 2, 2, 1])]
    assert max(every_sum(rounded - table, labels, labels).values()) < 1


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
        (lambda: controlled(np.full((2, 2), 1e30)), "below 2"),
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
