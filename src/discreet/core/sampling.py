"""Exact draws from a law, in blocks.

A draw is one uniform number U in [0, 1) held against the law's cumulative distribution. The first
16 bits of U decide nearly always, by one look into a guide table; 48 more decide nearly all the
rest, against 64-bit thresholds; where U still equals a threshold of the untruncated Laplace, more
bits are drawn and compared with ever longer exact brackets of the threshold. Nothing is rounded:
the distribution of the result *is* the law.

The far tails of the untruncated Laplace are drawn again from its own law, which has no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import LawError
from .brackets import power_bracket
from .random_source import BLOCK_BYTES, SLACK_BYTES, RandomSource, system_source, uniform_words

if TYPE_CHECKING:
    from .law import Law
    from .pure_laplace import PureLaplace

IntArray = NDArray[np.signedinteger]
_WIDTHS = (np.int8, np.int16, np.int32, np.int64)
_TABLE_MOST = 1 << 15
_TAIL_BITS = 30
_CHAIN_BITS = 320


class Guide:
    """Ordered outcomes 0 … n of a uniform number between n exact thresholds.

    `floors` are ⌊c · 2^word_bits⌋ for the n thresholds c; `bracket(i, bits)` gives whole numbers
    with c_i · 2^bits between them, or None where the floors are exact. Smaller `guide_bits`,
    `word_bits` and `step_bits` make an instance that can be enumerated.
    """

    def __init__(
        self,
        floors: list[int],
        bracket: Callable[[int, int], tuple[int, int]] | None,
        *,
        guide_bits: int = 16,
        word_bits: int = 64,
        step_bits: int = 64,
    ) -> None:
        self.bracket = bracket
        self.step_bits = step_bits
        self.guide_bits, self.word_bits = guide_bits, word_bits
        self.floors = np.array(floors, dtype=np.uint64)
        rest = word_bits - guide_bits
        # Cell i holds the words [i << rest, (i + 1) << rest). It decides if both ends fall in one
        # outcome and no threshold lies strictly inside; a floor that equals the first word of the
        # cell is inside unless it is exact.
        cells = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(rest)
        last = cells + np.uint64((1 << rest) - 1)
        low = np.searchsorted(self.floors, cells, side="right" if bracket is None else "left")
        high = np.searchsorted(self.floors, last, side="right")
        self.outcome = np.where(low == high, low, -1)

    def resolve(self, words: NDArray[np.uint64], more: Callable[[], int]) -> NDArray[np.int64]:
        """The outcomes of whole words; `more` gives further 64 bits where a word equals a floor."""
        outcomes = np.searchsorted(self.floors, words, side="right").astype(np.int64)
        if self.bracket is None:
            return outcomes
        tied = np.flatnonzero(self.floors[np.maximum(outcomes - 1, 0)] == words)
        for at in tied:
            if outcomes[at]:
                outcomes[at] = self._exactly(int(words[at]), more)
        return outcomes

    def _exactly(self, word: int, more: Callable[[], int]) -> int:
        """Extend one word until it lies on a known side of every threshold it ties with."""
        assert self.bracket is not None
        first = int(np.searchsorted(self.floors, word, side="left"))
        last = int(np.searchsorted(self.floors, word, side="right"))
        bits = self.word_bits
        while True:
            outcome = first
            for index in range(first, last):
                low, high = self.bracket(index, bits)
                if word >= high:
                    outcome = index + 1
                elif word < low:
                    return outcome
                else:
                    break
            else:
                return outcome
            word = (word << self.step_bits) | (more() >> (64 - self.step_bits))
            bits += self.step_bits


class Draws:
    """Blocks of outcomes of one guide, mapped to values; sentinel where 16 bits do not decide."""

    def __init__(
        self,
        guide: Guide,
        values: NDArray[np.int64],
        tails: tuple[int, ...],
        dtype: type[np.signedinteger] | None = None,
    ) -> None:
        self.guide, self.values, self.tails = guide, values, tails
        inside = np.delete(values, list(tails)) if tails else values
        self.dtype = dtype or _narrowest(int(inside.min()), int(inside.max()))
        self.sentinel = int(np.iinfo(self.dtype).min)
        decided = guide.outcome >= 0
        for tail in tails:
            decided &= guide.outcome != tail
        table = np.where(decided, values[np.maximum(guide.outcome, 0)], self.sentinel)
        self.table = table.astype(self.dtype)


def _narrowest(low: int, high: int) -> type[np.signedinteger]:
    for width in _WIDTHS:
        if np.iinfo(width).min < low and high <= np.iinfo(width).max:
            return width
    raise LawError(f"Perturbations up to {max(-low, high)} do not fit 64 bits. Raise epsilon.")


class Bits:
    """Bytes of a source in caller-owned scratch, as 16-bit or 64-bit words."""

    def __init__(self, source: RandomSource, most: int = BLOCK_BYTES // 2) -> None:
        self.source = source
        self.buffer = np.empty(min(2 * most, BLOCK_BYTES) + SLACK_BYTES, dtype=np.uint8)

    def uint16(self, count: int) -> NDArray[np.uint16]:
        """Fresh words, valid until the next call."""
        self.source.fill(self.buffer, 2 * count)
        return self.buffer[: 2 * count].view(np.uint16)

    def forget(self) -> None:
        """Overwrite the last block: noise must not be readable from memory left behind."""
        self.buffer.fill(0)

    def more(self) -> int:
        """One fresh word, for exact comparisons."""
        return int(uniform_words(self.source, 1)[0])


Tail: TypeAlias = Callable[[], "Draws"]
"""The sampler of what runs past a table; made when something does, about once in 2^30 draws."""


def drawn(draws: Draws, tail: Tail | None, count: int, source: RandomSource | None) -> IntArray:
    """So many draws of one sampler, from a source whose bytes are overwritten afterwards."""
    if count < 0:
        raise LawError(f"The number of draws must be ≥ 0, got {count}.")
    bits = Bits(system_source() if source is None else source, count)
    try:
        return draw_blocks(draws, count, bits, tail)
    finally:
        bits.forget()


def draw_blocks(draws: Draws, count: int, bits: Bits, tail: Tail | None) -> IntArray:
    """So many values of one sampler; `tail` draws what runs past its table."""
    out: IntArray = np.empty(count, dtype=draws.dtype)
    block = BLOCK_BYTES // 2
    shift = np.uint16(16 - draws.guide.guide_bits)
    # What 16 bits leave open is settled for many blocks at once: each settling has a fixed cost.
    waiting: list[tuple[NDArray[np.intp], NDArray[np.uint16]]] = []
    held = 0
    for at in range(0, count, block):
        size = min(block, count - at)
        first = bits.uint16(size)
        part = out[at : at + size]
        np.take(draws.table, first if shift == 0 else first >> shift, out=part, mode="wrap")
        open_at = np.flatnonzero(part == draws.sentinel)
        if open_at.size:
            waiting.append((open_at + at, first[open_at]))
            held += open_at.size
        if held and (held >= block or at + size == count):
            places = np.concatenate([place for place, _ in waiting])
            words = np.concatenate([word for _, word in waiting])
            values = _settle(draws, words, bits, tail)
            wide = _narrowest(int(values.min()), int(values.max()))
            if np.iinfo(wide).bits > np.iinfo(out.dtype).bits:  # a tail past this width
                out = out.astype(wide)
                draws = Draws(draws.guide, draws.values, draws.tails, wide)
            out[places] = values
            waiting, held = [], 0
    return out


def _settle(
    draws: Draws, first: NDArray[np.uint16], bits: Bits, tail: Tail | None
) -> NDArray[np.int64]:
    """Values where 16 bits did not decide: 48 more bits, exact arithmetic, then the tails."""
    outcomes = _words(draws, first, bits)
    values = draws.values[outcomes]
    if tail is None:
        return values
    low, high = draws.tails
    for side, sign in ((low, -1), (high, 1)):
        at = np.flatnonzero(outcomes == side)
        if at.size:
            values[at] += sign * _memoryless(tail(), at.size, bits)
    return values


def _words(draws: Draws, first: NDArray[np.uint16], bits: Bits) -> NDArray[np.int64]:
    guide = draws.guide
    rest = guide.word_bits - guide.guide_bits
    top = first.astype(np.uint64) >> np.uint64(16 - guide.guide_bits)
    low = uniform_words(bits.source, first.size) >> np.uint64(64 - rest)
    return guide.resolve((top << np.uint64(rest)) | low, bits.more)


def _memoryless(tail: Draws, count: int, bits: Bits) -> NDArray[np.int64]:
    """Geometric numbers: what runs past the table is its length plus a fresh geometric number."""
    total = np.zeros(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        outcomes = _words(tail, uniform_words(bits.source, left.size).astype(np.uint16), bits)
        total[left] += tail.values[outcomes]
        left = left[outcomes == tail.tails[0]]
    return total


@lru_cache(maxsize=64)
def finite_draws(law: Law, *, guide_bits: int = 16, word_bits: int = 64) -> Draws:
    """The sampler of a finite law; smaller sizes serve enumeration (key_bits ≤ word_bits)."""
    shift = word_bits - law.key_bits
    floors = [threshold << shift for threshold in law.thresholds[:-1]]
    reachable = law.thresholds.index(law.total)  # after it nothing can happen
    floors = floors[:reachable]
    guide = Guide(floors, None, guide_bits=guide_bits, word_bits=word_bits)
    values = np.arange(law.start, law.start + reachable + 1, dtype=np.int64)
    return Draws(guide, values, ())


def _table_size(law: PureLaplace) -> int:
    """How far a table reaches: until the tail is 2^-30, at most 32768 values a side."""
    size = 1
    limit = 1 << (256 - _TAIL_BITS)
    while size < _TABLE_MOST and power_bracket(law.ratio, size + 1, 256)[1] > limit:
        size = size * 5 // 4 + 1
    return min(size, _TABLE_MOST)


@lru_cache(maxsize=64)
def two_sided_draws(
    law: PureLaplace,
    *,
    size: int | None = None,
    guide_bits: int = 16,
    word_bits: int = 64,
    step_bits: int = 64,
) -> Draws:
    """Outcomes: the lower tail, −size … size, the upper tail, of the untruncated Laplace.

    The thresholds are its cumulative distribution at −size − 1 … size.
    """
    reach = _table_size(law) if size is None else size

    def bracket(index: int, bits: int) -> tuple[int, int]:
        z = index - reach - 1
        power = -z if z < 0 else z + 1
        low, high = power_bracket(law.ratio, power, bits + 16)
        return _share(law, low, high, bits, upper=z >= 0)

    lower: list[int] = []
    upper: list[int] = []
    for k, (low, high) in enumerate(_chain(law, reach + 1), 1):
        for z, into in ((-k, lower), (k - 1, upper)):
            ends = _share(law, low << 16, high << 16, _CHAIN_BITS, upper=z >= 0)
            into.append(_floor(ends, word_bits, partial(law.cumulative, z)))
    floors = lower[::-1] + upper
    guide = Guide(floors, bracket, guide_bits=guide_bits, word_bits=word_bits, step_bits=step_bits)
    values = np.arange(-reach - 1, reach + 2, dtype=np.int64)
    return Draws(guide, values, (0, len(floors)))


def _share(law: PureLaplace, low: int, high: int, bits: int, *, upper: bool) -> tuple[int, int]:
    """From a bracket of r^k · 2^(bits + 16) to one of F · 2^bits with F = r^k/(1+r) or 1 − that."""
    scale = 1 + law.ratio
    below = (low * scale.denominator // scale.numerator) >> 16
    above = -((-high * scale.denominator // scale.numerator) >> 16)
    return ((1 << bits) - above, (1 << bits) - below) if upper else (below, above)


def _chain(law: PureLaplace, count: int) -> Iterator[tuple[int, int]]:
    """Brackets of r, r², … · 2^320: one product each, instead of a power each."""
    r_low, r_high = power_bracket(law.ratio, 1, _CHAIN_BITS)
    low = high = 1 << _CHAIN_BITS
    for _ in range(count):
        low, high = low * r_low >> _CHAIN_BITS, -(-high * r_high >> _CHAIN_BITS)
        yield low, high


def _floor(ends: tuple[int, int], word_bits: int, exactly: Callable[[], Fraction]) -> int:
    """⌊c · 2^word_bits⌋ from a bracket of c · 2^320, or from c itself if that does not settle it."""
    floors = {end >> (_CHAIN_BITS - word_bits) for end in ends}
    return floors.pop() if len(floors) == 1 else int(exactly() * (1 << word_bits))


@lru_cache(maxsize=64)
def one_sided_draws(
    law: PureLaplace,
    *,
    size: int | None = None,
    guide_bits: int = 16,
    word_bits: int = 64,
    step_bits: int = 64,
) -> Draws:
    """Outcomes 0 … size − 1 of a geometric number with ratio r, and `size` for all beyond."""
    reach = _table_size(law) if size is None else size

    def bracket(index: int, bits: int) -> tuple[int, int]:
        low, high = power_bracket(law.ratio, index + 1, bits)
        return (1 << bits) - high, (1 << bits) - low

    floors = []
    for k, (low, high) in enumerate(_chain(law, reach), 1):
        one = 1 << _CHAIN_BITS
        ends = one - high, one - low
        floors.append(_floor(ends, word_bits, partial(lambda k: 1 - law.ratio**k, k)))
    guide = Guide(floors, bracket, guide_bits=guide_bits, word_bits=word_bits, step_bits=step_bits)
    return Draws(guide, np.arange(reach + 1, dtype=np.int64), (reach,))
