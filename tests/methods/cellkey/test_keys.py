"""Cell keys: the strong one against a plain reading of its definition, the classical ones, and why."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import chi2

from discreet.core.count_law import Row
from discreet.core.law_builders import max_entropy
from discreet.errors import LawError
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.keys import (
    FAMILY,
    StrongKeys,
    classical,
    sum_of_halves,
    top_bits,
)
from discreet.methods.cellkey.lookup import Lookup
from discreet.methods.cellkey.ptable import PTable

from .world import ten_five

SECRET = bytes(range(32))


def plain_mac(secret: bytes, total: int, count: int, description: int, family: int) -> int:
    """The definition, one cell at a time: CBC-MAC of two blocks."""
    message = b"".join(
        x.to_bytes(8, "little") for x in (total % (1 << 64), count, description, family)
    )
    encryptor = Cipher(algorithms.AES(secret), modes.CBC(bytes(16))).encryptor()
    return int.from_bytes(encryptor.update(message)[16:24], "little")


def test_strong_keys_are_the_mac_of_their_definition():
    """Vectorised keys equal AES-CBC-MAC over (sum, count), (description, family), cell by cell."""
    rng = np.random.default_rng(3)
    sums = rng.integers(0, 1 << 64, 50, dtype=np.uint64)
    counts = rng.integers(0, 1 << 40, 50)
    names = rng.integers(0, 1 << 64, 50, dtype=np.uint64)
    got = StrongKeys(SECRET).cell_keys(sums, counts, names)
    want = [
        plain_mac(SECRET, int(s), int(n), int(d), FAMILY)
        for s, n, d in zip(sums, counts, names, strict=True)
    ]
    assert got.tolist() == want


def test_every_input_matters():
    """Sum, count, description, family and secret each change the key."""
    base = (5, 2, 9)
    keys = StrongKeys(SECRET)

    def key(total, count, name, family=FAMILY, who=keys):
        arrays = (
            np.array([total], np.uint64),
            np.array([count], np.int64),
            np.array([name], np.uint64),
        )
        return int(who.cell_keys(*arrays, family)[0])

    found = {key(*base), key(6, 2, 9), key(5, 3, 9), key(5, 2, 8), key(*base, family=1)}
    found.add(key(*base, who=StrongKeys(bytes(32))))
    assert len(found) == 6


def test_sums_of_halves_wrap_at_64_bits():
    """low + high·2^32 mod 2^64, whatever the halves summed to."""
    rng = np.random.default_rng(4)
    low, high = rng.integers(0, 1 << 62, 100), rng.integers(0, 1 << 62, 100)
    want = [(int(a) + (int(b) << 32)) % (1 << 64) for a, b in zip(low, high, strict=True)]
    assert sum_of_halves(low, high).tolist() == want


def test_secrets_are_sealed():
    """A repr shows nothing, and nothing can be copied out."""
    keys = StrongKeys(SECRET)
    assert "sealed" in repr(keys)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(keys)


@pytest.mark.parametrize(
    ("preset", "sums", "keys"),
    [
        ("ons-256", [255, 256, 511, 1000], [255, 0, 255, 232]),
        ("ons-4096", [4095, 4096, 8193], [4095, 0, 1]),
        ("r-cellkey", [99_999_999, 100_000_000, 250_000_001], [99_999_999, 0, 50_000_001]),
    ],
)
def test_presets_reduce_the_sum(preset, sums, keys):
    """ONS: sum mod 256 or 4096; R: sum of fractions × 10^8, mod 10^8."""
    assert classical(preset).cell_keys(np.array(sums, np.uint64)).tolist() == keys


def test_sadeghi_folds_the_bytes():
    """Eq. 36–37: mod bigN, then four bytes XORed; two halves at 16 bits, nothing at 32."""
    sums = np.array([17312941 + 0x00A1B2C3, 0x00A1B2C3], np.uint64)
    eight = classical("sadeghi", key_bits=8, big_n=17312941)
    assert eight.cell_keys(sums).tolist() == [0xA1 ^ 0xB2 ^ 0xC3] * 2
    sixteen = classical("sadeghi", key_bits=16, big_n=17312941)
    assert sixteen.cell_keys(sums).tolist() == [0x00A1 ^ 0xB2C3] * 2
    assert classical("sadeghi").cell_keys(sums[1:]).tolist() == [0x00A1B2C3]
    with pytest.raises(LawError, match="key_bits must be from 8 to 32"):
        classical("sadeghi", key_bits=64)
    with pytest.raises(LawError, match="Did you mean strong"):
        classical("stron")


# Lookup ------------------------------------------------------------------------------------------

LOOKUPS = {
    "256 keys": design(5, "3", 2, keys=256),
    "shuffled": PTable(256, (Row.of([(0, 256)]), Row.of([(2, 7), (-1, 100), (2, 9), (0, 140)]))),
    "ons": ten_five(),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_lookup_over_all_keys_is_the_table(name):
    """Enumerated: every key of every row gives what the row says, counts beyond included."""
    table = LOOKUPS[name]
    lookup = Lookup(table)
    keys = np.arange(table.keys, dtype=np.uint64)
    for count in (*range(min(len(table.rows), 12)), 750, 751, 1000, 1001, 123_456):
        want = [table.row(count).at(int(k)) for k in keys]
        assert lookup(np.full(keys.size, count), keys).tolist() == want


@pytest.mark.parametrize("keys", [10**8, 1 << 32, 1 << 64, 1 << 13])
def test_lookup_at_every_bound(keys):
    """Large key spaces: the key at each bound, before and after it, and both ends."""
    table = design(5, "3", 2, keys=keys)
    lookup = Lookup(table)
    for count, row in enumerate(table.rows):
        near = {0, keys - 1}
        for upper in row.uppers:
            near |= {k for k in (upper - 1, upper, upper + 1) if 0 <= k < keys}
        tried = sorted(near)
        got = lookup(np.full(len(tried), count), np.array(tried, dtype=np.uint64))
        assert got.tolist() == [row.at(k) for k in tried]


def test_sadeghi_example_2_lookups():
    """Example 2: key 2552 means −25 and key 1200124 means −23."""
    from discreet.core.design import design as design_law

    law = design_law("0.5", "1e-4", rule="sadeghi", key_bits=32, quantiser="ceil").law
    lookup = Lookup(PTable.from_law(law))
    keys = np.array([2552, 1200124, 425759, 425760], dtype=np.uint64)
    assert lookup(np.zeros(4, np.int64), keys).tolist() == [-25, -23, -25, -24]


# Why strong --------------------------------------------------------------------------------------


def mutual_information(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[float, int]:
    """Plug-in I(c ; a, b) in bits and its degrees of freedom; values in −5 … 5."""
    joint = np.bincount((a + 5) * 121 + (b + 5) * 11 + (c + 5), minlength=1331).reshape(121, 11)
    n = joint.sum()
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    expected = rows * columns / n
    held = joint > 0
    bits = float((joint[held] * np.log2(joint[held] / expected[held])).sum() / n)
    return bits, (int((rows > 0).sum()) - 1) * (int((columns > 0).sum()) - 1)


def noises(size: int, strong: bool, seed: int = 5):
    """Perturbations of two sets and of their union, under strong or classical 32-bit keys."""
    rng = np.random.default_rng(seed)
    table = PTable.from_law(max_entropy(5, "2", key_bits=32))
    lookup = Lookup(table)
    counts = [rng.integers(1, 50, size) for _ in range(2)]
    bits = 64 if strong else 32
    sums = [rng.integers(0, (1 << bits) - 1, size, dtype=np.uint64) for _ in range(2)]
    counts.append(counts[0] + counts[1])
    sums.append(sums[0] + sums[1])
    keys = StrongKeys(SECRET)
    scheme = classical("sadeghi", big_n=1 << 32)
    found = []
    for total, count in zip(sums, counts, strict=True):
        if strong:
            full = keys.cell_keys(total, count, np.zeros(1, np.uint64))
            found.append(lookup(count, top_bits(full, 32)).astype(np.int64))
        else:
            found.append(lookup(count, scheme.cell_keys(total)).astype(np.int64))
    return found


@pytest.mark.parametrize(
    "size", [400_000, pytest.param(10_000_000, marks=pytest.mark.proof)], ids=["reduced", "full"]
)
def test_a_margin_tells_nothing_of_its_parts(size):
    """Strong: 2n·ln 2·I is chi-square under independence and stays below its 1 − 1e-8 quantile.

    Classical 32-bit keys are the twin that must be rejected: they share about 1.27 of 2.55 bits.
    """
    bits, freedom = mutual_information(*noises(size, strong=True))
    assert 2 * size * np.log(2) * bits < chi2.isf(1e-8, freedom)
    bits, freedom = mutual_information(*noises(size, strong=False))
    assert 2 * size * np.log(2) * bits > chi2.isf(1e-8, freedom)
    assert bits == pytest.approx(1.27, abs=0.02)


def test_the_entropy_of_the_law_is_2_55_bits():
    """What there is to learn: the entropy of the maximum-entropy law, D = 5, variance 2."""
    p = np.array([float(x) for x in max_entropy(5, "2").pmf.values()])
    assert -(p * np.log2(p)).sum() == pytest.approx(2.55, abs=0.005)
