"""The measures of ons §5, against their formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.errors import InputError
from discreet.quality.measures import (
    BANDS,
    Utility,
    hellinger,
    l1,
    l2,
    on_diagonal,
    transition_matrix,
)

COUNTS = arrays(np.int64, 12, elements=st.integers(0, 3000))


def band(count: int) -> str:
    """The band of ons Table 6 a count is in."""
    if count <= 4:
        return str(count)
    for name in ("5-10", "11-25", "26-50", "51-100", "101-1000"):
        low, high = map(int, name.split("-"))
        if low <= count <= high:
            return name
    return "1000+"


@given(COUNTS, COUNTS)
def test_measures_are_their_formulas(before: np.ndarray, after: np.ndarray) -> None:
    """Sums over cells, one by one."""
    pairs = list(zip(before.tolist(), after.tolist(), strict=True))
    assert l1(before, after) == sum(abs(a - b) for a, b in pairs)
    assert math.isclose(l2(before, after), math.sqrt(sum((a - b) ** 2 for a, b in pairs)))
    roots = sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in pairs)
    assert math.isclose(hellinger(before, after), math.sqrt(roots / 2), abs_tol=1e-9)
    matrix = transition_matrix(before, after)
    for i, row in enumerate(BANDS):
        for j, column in enumerate(BANDS):
            assert matrix[i, j] == sum((band(a), band(b)) == (row, column) for a, b in pairs)
    assert on_diagonal(matrix) == sum(band(a) == band(b) for a, b in pairs) / 12


def test_table_6_has_its_on_diagonal_share() -> None:
    """The cells of ons Table 6 that stay in their band."""
    diagonal = [622, 58, 25, 18, 16, 201, 328, 269, 312, 1034, 56]
    matrix = np.diag(diagonal)
    matrix[0, 1:9] = [300, 129, 64, 52, 78, 11, 8, 6]
    assert on_diagonal(np.diag(diagonal)) == 1.0
    assert math.isclose(on_diagonal(matrix), sum(diagonal) / (sum(diagonal) + 648))


def test_negative_numbers_have_no_hellinger_distance() -> None:
    """Refused alone, left out of the whole; other shapes are refused."""
    with pytest.raises(InputError, match="not defined for negative"):
        hellinger(np.array([1]), np.array([-1]))
    assert Utility.of(np.array([1]), np.array([-1])).hellinger is None
    with pytest.raises(InputError, match="one shape"):
        l1(np.array([1]), np.array([1, 2]))
