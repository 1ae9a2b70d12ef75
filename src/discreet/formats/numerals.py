"""Columns of numbers as text, a whole column at once.

Whole numbers are put together from four-digit blocks of bytes that are made once; real numbers
have few different values in a table (the noise of a law), and each is written once. The text is
that of Python's `repr`, which JSON and CSV use as well: exact, and as short as it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Blocks = npt.NDArray[np.uint32]

_FEW_WHOLE, _FEW_REAL = 256, 64
"""Up to so many numbers are written one by one: for them that is the quicker way."""
_FOUR = 10_000
_MOST = _FOUR * _FOUR
_WIDTH = 10  # sign, four digits, four digits, comma
_BITS = 8
_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)


def listed(numbers: Whole | Real) -> list[str]:
    """Every number as text.

    >>> listed(np.array([1.5, 0.25, 1.5]))
    ['1.5', '0.25', '1.5']
    """
    few = _FEW_REAL if numbers.dtype == np.float64 else _FEW_WHOLE
    if numbers.size <= few:
        return list(map(repr, numbers.tolist()))
    if numbers.dtype == np.float64:
        written = _by_bits(numbers)  # type: ignore[arg-type]
        if written is not None:
            return written
        return list(map(repr, numbers.tolist()))
    values = numbers.tolist()
    different = {one: repr(one) for one in set(values)}
    return [different[one] for one in values]


def joined(numbers: Whole | Real, hidden: Sequence[int] = ()) -> bytes:
    """All numbers with commas between them, `null` for the hidden ones.

    >>> joined(np.array([12, -3, 40_000]), [1])
    b'12,null,40000'
    """
    if numbers.size > _FEW_WHOLE and numbers.dtype == np.int64:
        least, most = int(numbers.min()), int(numbers.max())
        if least > -_MOST and most < _MOST:
            return _from_blocks(numbers, hidden, least < 0)  # type: ignore[arg-type]
    column = listed(numbers)
    for place in hidden:
        column[place] = "null"
    return ",".join(column).encode()


def _from_blocks(numbers: Whole, hidden: Sequence[int], negative: bool) -> bytes:
    first, then = _blocks()
    size = (np.abs(numbers) if negative else numbers).astype(np.uint32)
    high = size // np.uint32(_FOUR)
    low = size - high * np.uint32(_FOUR)
    low[high > 0] += np.uint32(_FOUR)
    room = np.zeros((numbers.size, _WIDTH), dtype=np.uint8)
    if negative:
        room[numbers < 0, 0] = ord("-")
    _at(room, 1)[:] = first.take(high)
    _at(room, 5)[:] = then.take(low)
    if len(hidden):
        room[hidden, :9] = np.frombuffer(b"null\0\0\0\0\0", dtype=np.uint8)
    room[:, 9] = ord(",")
    return room.tobytes().translate(None, b"\0")[:-1]


def _at(room: Bytes, place: int) -> Blocks:
    """Four bytes of each row, as one number a row."""
    return np.ndarray(len(room), np.uint32, room, place, (_WIDTH,))


@lru_cache(maxsize=1)
def _blocks() -> tuple[Blocks, Blocks]:
    """Four digits as four bytes: for the high half nothing if it is 0; for the low half plain,
    and from 10,000 on with the zeros that stand behind a high half.
    """
    plain = [str(n) for n in range(_FOUR)]
    padded = [f"{n:04d}" for n in range(_FOUR)]
    first = np.array(["", *plain[1:]], dtype="S4").view(np.uint32)
    return first, np.array(plain + padded, dtype="S4").view(np.uint32)


def _by_bits(numbers: Real) -> list[str] | None:
    """Each different number written once, found by a hash of its bits; None where two collide."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    place = ((bits * _SPREAD) >> np.uint64(64 - _BITS)).astype(np.intp)
    slots = np.zeros(1 << _BITS, dtype=np.uint64)
    slots[place] = bits
    if not np.array_equal(slots[place], bits):
        return None
    texts = np.empty(1 << _BITS, dtype=object)
    used = np.flatnonzero(np.bincount(place, minlength=1 << _BITS))
    texts[used] = [repr(number) for number in slots[used].view(np.float64).tolist()]
    written: list[str] = texts[place].tolist()
    return written
