"""One estimator for margins: least squares by matrices says the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.product import closure, subsets
from discreet.errors import Bug
from discreet.methods.shared.residuals import Cells, Components, precisions, sum_variance

from ...examples import examples


def rows_of(shape, margin) -> np.ndarray:
    """A row for each cell of a margin: which cells of the whole table it sums."""
    grid = np.indices(shape).reshape(len(shape), -1)
    sides = [range(shape[axis]) for axis in margin]
    return np.array(
        [
            np.all([grid[axis] == at for axis, at in zip(margin, cell, strict=True)], axis=0)
            if margin
            else np.ones(grid.shape[1])
            for cell in itertools.product(*sides)
        ],
        dtype=float,
    )


@st.composite
def readings(draw):
    """A small table and some margins of it with variances."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    every = subsets(tuple(range(len(shape))))
    margins = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    return shape, tuple(Cells(m, draw(st.sampled_from([0.5, 1.0, 4.0]))) for m in margins)


@given(readings(), st.randoms(use_true_random=False))
@examples(80)
def test_estimate_and_variances_are_those_of_generalised_least_squares(made, random):
    """Every margin that can be had: its cells, their variance, and that of sums over categories."""
    shape, parts = made
    matrix = np.concatenate([rows_of(shape, p.margin) / np.sqrt(p.variance) for p in parts])
    values = [
        np.array([random.randint(-9, 9) for _ in range(int(np.prod([shape[a] for a in p.margin])))])
        .reshape([shape[a] for a in p.margin])
        .astype(np.int64)
        for p in parts
    ]
    read = np.concatenate(
        [v.ravel() / np.sqrt(p.variance) for v, p in zip(values, parts, strict=True)]
    )
    inverse = np.linalg.pinv(matrix.T @ matrix, rcond=1e-10)
    solved = inverse @ matrix.T @ read
    components = Components(shape, parts)
    targets = closure(part.margin for part in parts)
    found = components.estimate(values, targets)
    for target in targets:
        rows = rows_of(shape, target)
        assert np.allclose(found[target].ravel(), rows @ solved, atol=1e-7)
        spread = rows @ inverse @ rows.T
        assert np.allclose(np.diag(spread), components.variance(target), atol=1e-7)
        known = precisions(shape, parts, targets, total=False)
        sizes = [np.array([1, shape[axis]]) for axis in target]
        sums = sum_variance(shape, known, target, sizes)
        assert np.isclose(sums.ravel()[0], np.diag(spread)[0], atol=1e-7)
        assert np.isclose(sums.ravel()[-1], spread.sum(), atol=1e-7)


def test_what_was_not_measured_is_not_made_up():
    """A margin nobody read is refused, and its variance is infinite; a known total is not."""
    one = Components((2, 3), (Cells((0,), 1.0),))
    assert one.variance((1,)) == np.inf
    with pytest.raises(Bug, match="cannot be had"):
        one.estimate([np.array([1, 2])], [(0, 1)])
    known = Components((2, 3), (Cells((0,), 1.0),), total_known=True)
    assert known.variance(()) == 0
    assert float(known.estimate([np.array([1, 2])], [()], 7)[()]) == 7
    with pytest.raises(Bug, match="known total"):
        known.estimate([np.array([1, 2])], [()])
