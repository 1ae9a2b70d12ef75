"""Percentages of published totals, made where a layout asks for them; they cost nothing.

A percentage divides one published number by another: the total of its row, its column, its layer
or the whole table, as published, so no reader has to add. It has the interval from the lowest
cell over the highest total to the highest cell over the lowest total. Both noise intervals hold at
once in at least 2c − 1 of releases where each holds in at least c, and then so does this one,
whatever the two have to do with each other. A true part is between 0 and 100 % of its total, so both
interval and percentage are cut to that, and a percentage to its own interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..languages import Sentence, number, say
from .numerals import Mask, Real, Whole

PLACES = 4
"""Decimals of a percentage in files; ends of an interval are rounded outwards."""

_HUNDRED = 100 * 10**PLACES
_SAFE = 4 * 10**12
"""Up to here twice a number times a hundred per cent fits 64 bits."""


@dataclass(frozen=True)
class Percent:
    """Percentages of every cell; `shown` marks where there is one."""

    of: str
    values: Real = field(repr=False)
    shown: Mask = field(repr=False)
    lower: Real | None = field(default=None, repr=False)
    upper: Real | None = field(default=None, repr=False)
    coverage: Fraction = Fraction(0)
    decimals: int = 1
    """How many a reader sees."""

    @property
    def columns(self) -> dict[str, Real]:
        """The columns by name, as files have them."""
        named = {"percent": self.values}
        if self.lower is not None and self.upper is not None:
            named |= {"percent_lower": self.lower, "percent_upper": self.upper}
        return named

    @property
    def words(self) -> Sentence:
        """Of what, in words."""
        return _WORDS[self.of]

    @property
    def widest(self) -> str:
        """The longest percentage there can be."""
        return f"{100:.{self.decimals}f} %"

    def at(self, cell: int, language: str = "") -> str:
        """A cell's percentage as people read it; empty where there is none."""
        written = f"{self.values[cell]:.{self.decimals}f} %"
        return number(written).says(language) if self.shown[cell] else ""


NAMES = ("percent", "percent_lower", "percent_upper")
"""The columns a table with percentages has more."""

_WORDS = {
    "rows": say("the total of their row"),
    "columns": say("the total of their column"),
    "layers": say("the total of their layer"),
    "all": say("the total of the table"),
}


def axes_added(of: str, layers: int, rows: int, columns: int) -> tuple[int, ...]:
    """The axes whose total a percentage is of; axes stand as layers, rows, columns.

    >>> axes_added("rows", 1, 1, 2), axes_added("layers", 1, 1, 2)
    ((2, 3), (1, 2, 3))
    """
    every = range(layers + rows + columns)
    begin, end = {
        "rows": (layers + rows, None),
        "columns": (layers, layers + rows),
        "layers": (layers, None),
        "all": (0, None),
    }[of]
    return tuple(every[begin:end])


def percentages(
    of: str,
    axes: tuple[int, ...],
    totals: tuple[bool, ...],
    values: Whole,
    shown: Mask,
    lower: Whole | None = None,
    upper: Whole | None = None,
    coverage: Fraction = Fraction(0),
) -> Percent:
    """Percentages of the totals over some axes; arrays have the table's shape, totals last.

    There is none where cell or total is not published, or where the total is not above 0.

    >>> cells = np.array([[30, 70, 100], [0, 0, 0]])
    >>> made = percentages("rows", (1,), (False, True), cells, cells >= 0)
    >>> made.values.tolist(), made.shown.tolist()
    ([30.0, 70.0, 100.0, 0.0, 0.0, 0.0], [True, True, True, False, False, False])
    """
    if not all(totals[axis] for axis in axes):
        raise InputError(
            say(
                "Percentages are of published totals, and this table has none there. Ask for totals: "
                "all, or leave out percent."
            )
        )
    whole = _whole(values, axes)
    good = shown & _whole(shown, axes) & (whole > 0)
    value = _share(values, whole, good, 0)
    if lower is None or upper is None:
        return Percent(of, np.clip(value, 0, 100).reshape(-1), good.reshape(-1))
    least, most = _whole(lower, axes), _whole(upper, axes)
    low = _share(np.maximum(lower, 0), most, good & (most > 0), -1)
    high = _share(np.maximum(upper, 0), least, good & (least > 0), 1)
    high[least <= 0] = 100
    itself = np.zeros(values.shape, dtype=np.bool_)  # the very total it would be divided by
    itself[_at_total(values.ndim, axes)] = True
    low, high = (np.where(itself, 100, np.clip(end, 0, 100)) * good for end in (low, high))
    value = np.clip(value, low, high)
    ends = low.reshape(-1), high.reshape(-1)
    return Percent(of, value.reshape(-1), good.reshape(-1), *ends, _of_both(coverage))


def given(
    of: str, columns: Mapping[str, npt.NDArray[np.float64]], shown: Mask, coverage: Fraction
) -> Percent:
    """Percentages that were made where their totals are; NaN is none."""
    good = shown & ~np.isnan(columns["percent"].reshape(-1))
    made = {name: np.where(good, column.reshape(-1), 0) for name, column in columns.items()}
    lower, upper = made.get("percent_lower"), made.get("percent_upper")
    both = Fraction(0) if lower is None else _of_both(coverage)
    return Percent(of, made["percent"], good, lower, upper, both)


def _of_both(coverage: Fraction) -> Fraction:
    """In how many releases two intervals hold at once, at least."""
    return max(2 * coverage - 1, Fraction(0))


def _whole(array: npt.NDArray[Any], axes: tuple[int, ...]) -> npt.NDArray[Any]:
    """For every cell the entry at the total of these axes."""
    return np.broadcast_to(array[_at_total(array.ndim, axes)], array.shape)


def _at_total(many: int, axes: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(-1, None) if axis in axes else slice(None) for axis in range(many))


def _share(part: Whole, whole: Whole, good: Mask, direction: int) -> Real:
    """Part ÷ whole in per cent to four places, by whole numbers: to the nearest, down or up."""
    shares = np.zeros(part.shape, dtype=np.float64)
    a, b = part[good], whole[good]
    if a.size and (np.abs(a).max() > _SAFE or b.max() > _SAFE):
        a, b = a.astype(object), b.astype(object)
    a = a * _HUNDRED
    if not direction:
        a, b = 2 * a + b, 2 * b
    quotient = -(-a // b) if direction > 0 else a // b
    shares[good] = quotient.astype(np.float64) / 10**PLACES
    return shares
