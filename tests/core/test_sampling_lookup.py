"""A cell key gives the z with c(z − 1) ≤ key < c(z), for every key."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from discreet.core.law import CountLaw, Law
from discreet.core.law_builders import laplace, max_entropy_for, normal
from discreet.core.lookup import lookup, lookup_rows
from discreet.errors import LawError


def by_definition(law: Law, key: int) -> int:
    return law.start + sum(c <= key for c in law.thresholds)


@pytest.mark.parametrize("bits", [8, 12, 16])
@pytest.mark.parametrize("quantiser", ["symmetric", "ceil"])
def test_every_key_of_a_small_law(bits: int, quantiser: str) -> None:
    """All 2^bits keys: the counts are the weights, and keys rise with perturbations."""
    law = max_entropy_for("0.5", 25, key_bits=bits, quantiser=quantiser)
    found = lookup(law, np.arange(1 << bits, dtype=np.uint32))
    counted = Counter(found.tolist())
    assert {z: w for z, w in zip(range(-25, 26), law.weights, strict=True) if w} == counted
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("bits", [20, 32, 63, 64])
def test_large_keys_at_every_threshold(bits: int) -> None:
    law = normal("0.5", 12, key_bits=bits)
    keys = sorted({c + k for c in law.thresholds[:-1] for k in (-1, 0, 1)} | {0, law.total - 1})
    found = lookup(law, np.array(keys, dtype=np.uint64))
    assert found.tolist() == [by_definition(law, key) for key in keys]


def test_example_2_keys() -> None:
    """sadeghi, after (41): key 2552 gives −25, key 1200124 gives −23; key 0 gives −25."""
    law = max_entropy_for("0.5", 25, key_bits=32, quantiser="ceil")
    keys = np.array([2552, 1200124, 0, 2**32 - 1], dtype=np.uint32)
    assert lookup(law, keys).tolist() == [-25, -23, -25, 25]


def test_rows_have_their_own_laws() -> None:
    laws = [laplace("0.5", m) for m in range(1, 8)]
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 2**64, 3000, dtype=np.uint64)
    rows = rng.integers(0, 7, 3000)
    edges = np.array([c for law in laws for c in law.thresholds[:-1]], dtype=np.uint64)
    keys[: edges.size] = edges
    expected = [by_definition(laws[r], int(k)) for r, k in zip(rows, keys, strict=True)]
    assert lookup_rows(laws, rows, keys).tolist() == expected
    assert lookup_rows(CountLaw("x", {}, tuple(laws)), rows, keys).tolist() == expected
    shaped = lookup_rows(laws, rows.reshape(50, 60), keys.reshape(50, 60))
    assert shaped.ravel().tolist() == expected


def test_shapes_and_types() -> None:
    law = laplace("1", 2, key_bits=8)
    assert lookup(law, np.zeros((2, 3), dtype=np.uint8)).shape == (2, 3)
    assert lookup(law, np.zeros(0, dtype=np.uint64)).shape == (0,)
    narrow = laplace("1", 2, key_bits=32)
    assert lookup(narrow, np.array([200], dtype=np.uint8)).tolist() == [-2]


def test_bad_keys_are_refused_without_showing_them() -> None:
    law = laplace("1", 2, key_bits=8)
    with pytest.raises(LawError, match="unsigned") as signed:
        lookup(law, np.array([3]))
    with pytest.raises(LawError, match=r"not below 2\^8") as large:
        lookup(law, np.array([77777], dtype=np.uint32))
    assert "77777" not in str(large.value)
    assert "3" not in str(signed.value).replace("int64", "")
    with pytest.raises(LawError, match="A row must be from 0 to 0"):
        lookup_rows([law], np.array([1]), np.array([1], dtype=np.uint8))
    with pytest.raises(LawError, match="one shape"):
        lookup_rows([law], np.array([0, 0]), np.array([1], dtype=np.uint8))
    with pytest.raises(LawError, match="share key_bits"):
        lookup_rows([law, laplace("1", 2)], np.array([1]), np.array([1], dtype=np.uint8))
