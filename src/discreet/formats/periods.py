"""Periods as codes write them: years, half-years, quarters, months, weeks and days, in order of time."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WRITTEN = {
    "A1": re.compile(r"([0-9]{4})"),
    "H1": re.compile(r"([0-9]{4})-?[HS]([12])"),
    "Q1": re.compile(r"([0-9]{4})-?[QK]([1-4])"),
    "M1": re.compile(r"([0-9]{4})[-M](0[1-9]|1[0-2])"),
    "W1": re.compile(r"([0-9]{4})-?W(0[1-9]|[1-4][0-9]|5[0-3])"),
    "D1": re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"),
}
"""By the names that PX has for them."""


def periods(codes: Sequence[str]) -> tuple[str, list[str]] | None:
    """The unit of these codes and each as digits that sort by time; None where they are no periods.

    All must be of one unit and each another.

    >>> periods(["2020-Q4", "2021Q1"])
    ('Q1', ['20204', '20211'])
    >>> periods(["2020", "2020-01"]) is None
    True
    """
    for unit, written in _WRITTEN.items():
        matches = [written.fullmatch(code) for code in codes]
        if codes and all(matches):
            digits = ["".join(match.groups()) for match in matches if match is not None]
            return (unit, digits) if len(set(digits)) == len(digits) else None
    return None
