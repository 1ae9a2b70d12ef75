"""Cell keys: strong ones with the secret in the last step, classical ones to reproduce others.

*Strong*: S = sum of 64-bit record keys mod 2^64; cell key = first 64 bits of a two-block CBC-MAC
with AES-256 over (S, count) and (description, family). Both lengths are fixed, so the MAC is a
pseudo-random function; a leaked salt or key column reveals no noise. The same participants give the
same key whatever the question; with `description` in the key, the same participants and
description do. An empty cell has no participants and is keyed on its description always.

*Classical*: the custodian's own secret key column, summed and folded as published systems do it.
The sum itself is the key, so the noise of a margin can be predicted from that of its parts; a
leaked key column removes all noise. Empty cells are keyed on their description here too: sadeghi's
key 0 would make every empty cell announce itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ...core.exact import exact
from ...core.product import Whole
from ...errors import Bug, LawError, did_you_mean
from .declaration import KEYS
from .ptable import FRACTIONAL

Keys = npt.NDArray[np.uint64]

FAMILY = int.from_bytes(b"cell-key", "little")
"""What else a cell key depends on: the family of tables, one for all cell-key tables."""

BIG_N = 4_294_967_291
"""The largest prime below 2^32, for sadeghi's eq. 36 where the policy names none."""


class StrongKeys:
    """The last step of a strong cell key; holds the secret and never shows it."""

    __slots__ = ("_encryptor", "_name_key")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != 32:
            raise Bug(f"A cell key secret has 32 bytes, got {len(secret)}.")
        # single blocks, as a keyed function of one cell: nothing is encrypted to be read again
        self._encryptor = Cipher(algorithms.AES(secret), modes.ECB()).encryptor()  # nosec B305
        self._name_key = hashlib.blake2b(b"description", key=secret, digest_size=32).digest()

    def __repr__(self) -> str:
        return "<strong cell keys; secret sealed>"

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("Cell keys cannot be copied, pickled or sent.")

    def name(self, text: bytes) -> int:
        """A 64-bit pseudo-random name of one part of a description."""
        return int.from_bytes(
            hashlib.blake2b(text, key=self._name_key, digest_size=8).digest(), "little"
        )

    def cell_keys(
        self, sums: Keys, counts: Whole, descriptions: Keys, family: int = FAMILY
    ) -> Keys:
        """The cell keys of flat arrays of cells, 64 bits each.

        `descriptions` is 0 where the description is no part of the key.
        """
        size = sums.size
        if not size:
            return np.zeros(0, dtype=np.uint64)
        blocks = np.empty((size, 2), dtype="<u8")
        blocks[:, 0] = sums
        blocks[:, 1] = counts.view(np.uint64)
        room = np.empty(16 * size + 16, dtype=np.uint8)
        first = room[: 16 * size].view("<u8").reshape(size, 2)
        self._encryptor.update_into(blocks.data.cast("B"), room.data)
        np.bitwise_xor(first[:, 0], descriptions, out=blocks[:, 0])
        np.bitwise_xor(first[:, 1], np.uint64(family), out=blocks[:, 1])
        self._encryptor.update_into(blocks.data.cast("B"), room.data)
        return np.ascontiguousarray(first[:, 0]).astype(np.uint64, copy=False)


def sum_of_halves(low: Whole, high: Whole) -> Keys:
    """S = low + high·2^32 mod 2^64 from sums of the two 32-bit halves of record keys.

    >>> sum_of_halves(np.array([2**32 + 1]), np.array([2**33 + 3]))
    array([17179869185], dtype=uint64)
    """
    sums: Keys = np.left_shift(high.view(np.uint64), np.uint64(32))
    sums += low.view(np.uint64)
    return sums


def top_bits(keys: Keys, key_bits: int) -> Keys:
    """The first `key_bits` bits of 64-bit keys, as numbers below 2^key_bits."""
    return keys if key_bits == 64 else np.right_shift(keys, np.uint64(64 - key_bits))


@dataclass(frozen=True)
class Classical:
    """How a published system makes a cell key from the sum of record keys.

    `modulus` is what the sum is reduced by; `fold_bits` XORs the parts of the 32-bit remainder into
    so many bits (sadeghi eq. 37: four bytes at 8), 0 where it is the key itself.
    """

    name: str
    modulus: int
    fold_bits: int = 0

    @property
    def keys(self) -> int:
        """How many cell keys there are."""
        return 1 << self.fold_bits if self.fold_bits else self.modulus

    def cell_keys(self, sums: Keys) -> Keys:
        """The cell keys of sums of record keys.

        >>> classical("sadeghi", key_bits=8).cell_keys(np.array([0x01020408], dtype=np.uint64))
        array([15], dtype=uint64)
        """
        keys: Keys = np.remainder(sums, np.uint64(self.modulus))
        if not self.fold_bits:
            return keys
        folded = np.zeros_like(keys)
        for at in range(0, 32, self.fold_bits):
            folded ^= keys >> np.uint64(at)
        folded &= np.uint64((1 << self.fold_bits) - 1)
        return folded


def classical(preset: str, *, key_bits: int = 32, big_n: object = BIG_N) -> Classical:
    """The key scheme of a published system: one of `KEYS` but strong.

    *sadeghi* eq. 36–37 (sum mod `big_n`, folded to 2^8 … 2^32), *r-cellkey* (fractions × 10^8, sum
    mod 10^8), *ons-256* and *ons-4096* (sum mod so many).
    """
    if preset == "r-cellkey":
        return Classical(preset, FRACTIONAL)
    if preset in ("ons-256", "ons-4096"):
        return Classical(preset, int(preset[4:]))
    if preset != "sadeghi":
        raise LawError(
            f"keys must be {', '.join(KEYS)}, got {str(preset)[:40]}."
            f"{did_you_mean(str(preset), KEYS)}"
        )
    if not 8 <= key_bits <= 32:
        raise LawError(
            f"key_bits must be from 8 to 32 for sadeghi's keys, got {key_bits}. Use strong keys "
            "for more."
        )
    modulus = exact(big_n, "big_n", least=2, most=1 << 32, error=LawError)
    if modulus.denominator != 1:
        raise LawError(f"big_n must be a whole number, got {big_n}.")
    return Classical(preset, int(modulus), key_bits)
