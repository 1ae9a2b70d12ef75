"""Losses of many draws at once and their expectations, against print and plain loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import discreet as dc
from discreet.core.count_law import CountLaw
from discreet.core.noise_law import AnyLaw
from discreet.errors import InputError
from discreet.methods.cellkey.design import ptable
from discreet.quality import losses as quality
from discreet.quality.association import association, moments, two_way
from discreet.quality.expectation import expected

TABLE = np.array(dc.uk_census().counts)
SHAPE = (12, 11)
NAMES = ("l1", "l2", "l3", "changed", "on_diagonal", "bias", "false_zeros")
# ℓ1, ℓ2, ℓ3, changed, diagonal, bias, false zeros of rinott's Table 1, negatives shown as 0;
# computed once by an independent program
REFERENCE = {
    ("laplace", "0.1", 7): "396.97 1805.5 62.060 .8746 .6800 33.68 9.42",
    ("laplace", "0.5", 7): "215.46 697.4 35.813 .7238 .7723 14.38 5.44",
    ("laplace", "1", 7): "106.45 222.3 18.732 .5193 .8525 5.37 2.74",
    ("laplace", "1.5", 7): "59.44 92.4 10.764 .3524 .9039 2.55 1.51",
    ("laplace", "2", 7): "35.02 45.7 6.433 .2303 .9383 1.38 .87",
    ("laplace", "3", 7): "12.71 14.0 2.363 .0916 .9758 .47 .31",
    ("normal", "0.1", 8): "476.29 2506.2 72.575 .9010 .6506 44.46 10.92",
    ("normal", "0.5", 10): "418.21 2123.3 64.482 .8800 .6746 37.73 9.71",
    ("normal", "1", 12): "341.82 1468.3 54.330 .8569 .7029 27.50 8.29",
    ("normal", "1.5", 12): "281.03 997.0 46.019 .8324 .7274 19.92 7.08",
    ("normal", "2", 13): "253.42 813.2 42.106 .8176 .7397 16.81 6.48",
    ("normal", "3", 14): "214.67 588.3 36.446 .7906 .7585 12.84 5.58",
}


@pytest.mark.parametrize("law", REFERENCE, ids=str)
def test_expectations_are_the_reference(law: tuple[str, str, int]) -> None:
    """Every number that is printed, to its last digit (some were rounded twice)."""
    name, epsilon, reach = law
    found = expected(getattr(dc, name)(epsilon, reach), TABLE)
    for measure, printed in zip(NAMES, REFERENCE[law].split(), strict=True):
        digits = len(printed.partition(".")[2])
        assert abs(found[measure] - float(printed)) < 0.55 * 10**-digits, measure


def test_association_is_the_reference() -> None:
    """χ² and V of rinott's Table 1; over 4,000 draws V within 5 standard errors of the reference."""
    found = association(two_way(TABLE[None], SHAPE))
    assert round(float(found.chi_square[0]), 3) == 3839.047
    assert round(float(found.cramers_v[0]), 6) == 0.257631
    for law, mean in ((dc.laplace("0.5", 7), 0.25816), (dc.normal("0.5", 10), 0.25877)):
        drawn = TABLE + law.draw(4000 * TABLE.size).reshape(4000, -1)
        values = quality.losses(TABLE, drawn, SHAPE)["cramers_v"]
        assert abs(values.mean() - mean) < 5 * values.std() / 4000**0.5 + 5e-5


COUNTS = arrays(np.int64, 12, elements=st.integers(0, 1200))
MOVED = arrays(np.int64, (3, 12), elements=st.integers(-30, 1300))


@given(COUNTS.filter(lambda a: a.any()), MOVED)
def test_losses_are_their_formulas(before: np.ndarray, after: np.ndarray) -> None:
    """An independent computation, cell by cell and draw by draw."""
    found = quality.losses(before, after, (3, 4))
    for draw, row in enumerate(after.tolist()):
        pairs = [(a, max(b, 0)) for a, b in zip(before.tolist(), row, strict=True)]
        roots = [abs(math.sqrt(a) - math.sqrt(b)) for a, b in pairs]
        largest = sorted(pairs, key=lambda p: -p[0])[: quality.RANKED]
        apart = [(p, q) for p, q in combinations(largest, 2) if p[0] > q[0]]
        plain = {
            "l1": sum(abs(a - b) for a, b in pairs),
            "l2": sum((a - b) ** 2 for a, b in pairs),
            "l3": sum(roots),
            "L2": math.sqrt(sum((a - b) ** 2 for a, b in pairs)),
            "hellinger": math.sqrt(sum(r * r for r in roots) / 2),
            "changed": sum(a != b for a, b in pairs) / 12,
            "false_zeros": sum(a > 0 and b == 0 for a, b in pairs),
            "false_positives": sum(a == 0 and b > 0 for a, b in pairs),
            "bias": sum(b - a for a, b in pairs),
            "turned": sum(p[1] < q[1] for p, q in apart) / max(1, len(apart)),
        }
        for name, value in plain.items():
            assert math.isclose(found[name][draw], value, rel_tol=1e-9, abs_tol=1e-9), name


@given(arrays(np.int64, (2, 3, 4), elements=st.integers(0, 50)))
def test_association_is_that_of_scipy(tables: np.ndarray) -> None:
    """χ², degrees of freedom and p-value where no row or column is empty; moments by expansion."""
    from scipy.stats import chi2_contingency

    found, moved = association(tables.astype(float)), moments(tables.astype(float))
    for draw, table in enumerate(tables):
        if not (table.sum(axis=0).all() and table.sum(axis=1).all()):
            continue
        chi_square, p_value, df, _ = chi2_contingency(table, correction=False)
        assert math.isclose(found.chi_square[draw], chi_square, rel_tol=1e-8, abs_tol=1e-8)
        assert math.isclose(found.p_value[draw], p_value, rel_tol=1e-6, abs_tol=1e-9)
        assert found.df[draw] == df
        rows, columns = np.repeat(np.indices((3, 4)).reshape(2, -1), table.ravel(), axis=1)
        assert math.isclose(moved.row_mean[draw], rows.mean(), abs_tol=1e-9)
        assert math.isclose(moved.column_variance[draw], columns.var(), abs_tol=1e-9)
        together = np.cov(rows, columns, bias=True)[0, 1]
        assert math.isclose(moved.covariance[draw], together, abs_tol=1e-9)
        assert math.isclose(moved.slope[draw], np.polyfit(rows, columns, 1)[0], abs_tol=1e-7)


def test_expectations_are_the_means_of_draws() -> None:
    """Over 4,000 draws within 5 standard errors, for a law that depends on the count too."""
    laws: list[AnyLaw] = [dc.laplace("1"), ptable(5, "3")]
    for law in laws:
        drawn = np.empty((4000, TABLE.size), dtype=np.int64)
        for place, count in enumerate(TABLE.tolist()):
            drawn[:, place] = law.for_count(count).draw(4000)
        found, wanted = quality.losses(TABLE, TABLE + drawn), expected(law, TABLE)
        for name, value in wanted.items():
            error = found[name].std() / 4000**0.5
            assert abs(found[name].mean() - value) <= 5 * error + 1e-9, (name, law.name)
    assert isinstance(laws[1], CountLaw)
    assert expected(laws[1], TABLE)["false_positives"] == 0  # zeros are kept


def test_transitions_biases_and_distances() -> None:
    """Bands before by after, as a mean over draws; biases by band and category; d1, d2, d3."""
    before = np.array([0, 1, 7, 30])
    after = np.array([[0, 2, 7, 30], [0, 1, 12, 27]])
    matrix = quality.transitions(before, after)
    assert matrix.sum() == 4
    assert (matrix[1, 2], matrix[5, 6], matrix[7, 7]) == (0.5, 0.5, 1.0)
    by_band = {one.group: one.mean for one in quality.bias_by_band(before, after)}
    assert by_band == {"0": 0.0, "1": 0.5, "5-10": 2.5, "26-50": -1.5}
    first, second = quality.bias_by_category(before, after, (2, 2), 0, ("x", "y"))
    assert (first.mean, second.mean, first.cells) == (0.25, 0.5, 2)
    found = quality.distances(before, after)
    assert found["d1"]["1"] == 5
    assert found["d2"]["1"] == 1.0  # a count of 1 published as 2; the true 0 is left out
    assert math.isclose(found["d3"]["1"], math.sqrt(12) - math.sqrt(7))


def test_too_little_to_measure_is_said() -> None:
    """One cell, no records, another shape, one variable: a sentence each."""
    for before, after in (([5], [[5]]), ([0, 0], [[0, 1]])):
        with pytest.raises(InputError, match="measured with 2 cells"):
            quality.losses(np.array(before), np.array(after))
    with pytest.raises(InputError, match="one shape"):
        quality.losses(np.array([1, 2]), np.array([[1, 2, 3]]))
    with pytest.raises(InputError, match="at least two variables"):
        two_way(np.array([[1, 2]]), (2,))
