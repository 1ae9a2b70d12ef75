"""Rules that `init` proposes for columns that hold no codes: months of dates, bands of numbers.

The ends of a rule are round and no finer than they must be, but they were chosen by looking: the
variable is *found* until the custodian declares it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ..core.derived import FORMATS, Dates

if TYPE_CHECKING:
    from ..engines.coding import ColumnProfile

_MOST_BANDS = 12


def rule_for(column: ColumnProfile, missing: Collection[str]) -> tuple[Mapping[str, Any], str]:
    """A rule for a column and what to tell of it; or no rule, and why not."""
    return _months(column, missing) if column.type == "date" else _bands(column, missing)


def _months(column: ColumnProfile, missing: Collection[str]) -> tuple[Mapping[str, Any], str]:
    texts = [text for text, _ in column.values if text not in missing]
    ends = datetime.date.min, datetime.date.max
    forms = [
        form
        for form in FORMATS
        if all(Dates("month", *ends, form).read(text) is not None for text in texts)
    ]
    if column.years is None or not column.years[0]:
        return {}, "holds dates without the century: write years with four digits."
    if not forms:
        return {}, "holds dates in more than one form: mend them, or write a `derive` rule."
    if len(forms) > 1:
        return {}, (
            f"holds dates that may be {' or '.join(forms)}: write `derive: {{dates: month, first: …, "
            "last: …, format: …}`."
        )
    form = {} if forms[0] == FORMATS[0] else {"format": forms[0]}
    first, last = column.years
    units = ["month", "quarter", "year"]
    return (
        {"dates": units, "first": first, "last": last, **form},
        "Months, quarters and years of the dates. first and last are the years found in the data: "
        "write those that are public before you declare.",
    )


def _bands(column: ColumnProfile, missing: Collection[str]) -> tuple[Mapping[str, Any], str]:
    texts = [text for text, _ in column.values if text not in missing]
    ends = [end for end in (column.minimum, column.maximum) if end and end not in missing]
    try:
        numbers = [Decimal(text.replace(",", ".")) for text in [*texts, *ends]]
    except InvalidOperation:
        numbers = []
    if not numbers or min(numbers) == max(numbers):
        return {}, "holds numbers that make no bands: write a `derive` rule with `cuts`."
    low, high = min(numbers), max(numbers)
    low = Decimal(0) if 0 <= low <= high / 4 else low
    width = _round_width((high - low) / _MOST_BANDS)
    start = (low / width).to_integral_value("ROUND_FLOOR") * width
    end = max((high / width).to_integral_value("ROUND_FLOOR") * width, start + width)
    mark = {} if column.mark == "." else {"mark": column.mark}
    return (
        {"bands": _plain(width), "from": _plain(start), "to": _plain(end), **mark},
        "Bands of the numbers. Where they begin and end was chosen by looking at the data: write ends "
        "that are public before you declare.",
    )


def _round_width(least: Decimal) -> Decimal:
    """The smallest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) that is not below `least`.

    >>> [str(_round_width(Decimal(least))) for least in ("7.3", "0.013", "123")]
    ['10', '0.02', '200']
    """
    ten = Decimal(10) ** least.adjusted()
    return next(step * ten for step in (1, 2, 5, 10) if step * ten >= least)


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}" if number else "0"
