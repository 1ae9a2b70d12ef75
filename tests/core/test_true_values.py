"""Margins in memory: totals equal plain sums for any shape and any choice of axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.core import true_values
from discreet.core.domain import Axis, Domain, variable
from discreet.core.true_values import add_totals, cube, dense


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (3, 2), (4, 1, 3), (2, 3, 1, 4), (3, 0)])
def test_totals_are_sums(shape: tuple[int, ...]) -> None:
    """Every position of the result is the sum of what its totals stand for."""
    values = np.random.default_rng(1).integers(-(2**50), 2**50, shape)
    for wanted in itertools.chain([None], itertools.product((False, True), repeat=len(shape))):
        axes = None if wanted is None else [i for i, chosen in enumerate(wanted) if chosen]
        made = add_totals(values, axes)
        longer = range(len(shape)) if axes is None else axes
        assert made.shape == tuple(n + (i in longer) for i, n in enumerate(shape))
        assert made.dtype == np.int64
        assert made.flags.c_contiguous
        for position in np.ndindex(*made.shape):
            part = tuple(
                slice(None) if p == shape[i] else slice(p, p + 1) for i, p in enumerate(position)
            )
            assert made[position] == values[part].sum()


def test_a_transposed_table_has_the_same_totals() -> None:
    values = np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
    assert (add_totals(values) == add_totals(values.copy())).all()


def test_dense_puts_zeros_where_no_cell_is() -> None:
    domain = Domain(tuple(Axis(v, v.finest) for v in (variable("a", "xy"), variable("b", "pqr"))))
    made = dense(domain, np.array([1, 5]), np.array([7, 9]))
    assert made.tolist() == [[0, 7, 0], [0, 0, 9]]


@pytest.mark.parametrize("in_place", [-1, 10**9])
@pytest.mark.parametrize(
    "shape",
    [(), (17,), (2, 17), (17, 2), (3, 20, 2), (2, 3, 4, 5), (1, 1, 3), (9, 1, 8), (2,) * 7, (0, 3)],
)
def test_a_cube_is_dense_with_totals_mod_2_to_the_64(
    shape: tuple[int, ...], in_place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Axes short and long, first and last, by both ways; sums wrap as those of key sums must."""
    monkeypatch.setattr(true_values, "_IN_PLACE", in_place)
    monkeypatch.setattr(true_values, "_LITTLE_MORE", 10**9)
    rng = np.random.default_rng(8)
    size = int(np.prod(shape))
    held = rng.choice(size, size - size // 3, replace=False) if size else np.arange(0)
    values = rng.integers(-(1 << 62), 1 << 62, held.size)
    plain = np.zeros(size, dtype=object)
    plain[held] = values.tolist()
    plain = plain.reshape(shape)
    assert cube(shape, held, values, False).tolist() == plain.tolist()
    for axis in range(len(shape)):
        plain = np.concatenate([plain, plain.sum(axis=axis, keepdims=True)], axis=axis)
    made = cube(shape, held, values, True)
    assert made.shape == plain.shape
    assert all(
        (a - b) % (1 << 64) == 0 for a, b in zip(plain.ravel(), made.ravel().tolist(), strict=True)
    )


def test_totals_leave_what_they_were_given_alone() -> None:
    values = np.arange(6).reshape(2, 3)
    assert not np.shares_memory(add_totals(values, ()), values)
    assert add_totals(values, ()).tolist() == values.tolist()
