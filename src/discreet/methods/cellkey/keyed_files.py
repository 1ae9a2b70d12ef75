"""Lines of (count, key, perturbation) to rows of a p-table: the ONS and Cantabular files.

An ONS file of 4096 keys has three million lines, so whole columns are read and checked at once;
the line at fault is looked for only when there is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...core.count_law import MOST_KEYS, Row
from ...core.product import Whole
from ...errors import LawError

Span = tuple[int, int, int, int]
"""A count, its keys from the first up to, not including, the second, and their perturbation."""

WHOLE = re.compile(r"[+-]?\d{1,9}")
_SPAN = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?")


def read_keyed(text: str, head: Sequence[str], *, ranges: bool) -> tuple[dict[int, Row], int]:
    """The rows of a file by count, and how many keys it has."""
    first, _, body = text.partition("\n")
    columns = [name.strip().strip('"').casefold() for name in first.split(",")]
    missing = [name for name in head if name not in columns]
    if missing:
        raise LawError(
            f"The p-table has no column {missing[0]}; its first line needs {','.join(head)}."
        )
    order = [columns.index(name) for name in head]
    if ranges:
        return _grouped(_spans(body, len(columns), order))
    return _grouped(_runs(_integers(body, len(columns))[:, order]))


def _integers(body: str, width: int) -> Whole:
    cells = body.replace("\n", ",").split(",")
    if cells and not cells[-1].strip():
        cells.pop()
    if len(cells) % width == 0 and body.count(",") == (width - 1) * (len(cells) // width):
        try:
            return np.array(cells, dtype=np.int64).reshape(-1, width)
        except (ValueError, OverflowError):
            pass
    for number, line in enumerate(body.split("\n"), 2):
        parts = line.split(",")
        if line.strip() and (
            len(parts) != width or not all(WHOLE.fullmatch(part.strip()) for part in parts)
        ):
            raise LawError(
                f"Line {number} of the p-table is {line[:40]!r}; expected {width} whole numbers."
            )
    kept = [line.split(",") for line in body.split("\n") if line.strip()]
    return np.array(kept, dtype=np.int64).reshape(-1, width)


def _runs(table: Whole) -> list[Span]:
    """Lines of one key each as runs of keys with one perturbation."""
    if not len(table):
        return []
    counts, keys, values = table[np.lexsort((table[:, 1], table[:, 0]))].T
    least = min(int(counts.min()), int(keys.min()))
    if least < 0:
        raise LawError(f"A count or key of the p-table is {least}; allowed is 0 or more.")
    if int(keys.max()) < 1:
        raise LawError("The p-table has only key 0; it needs 256 or 4096 keys for each count.")
    ends = (np.diff(counts) != 0) | (np.diff(keys) != 1) | (np.diff(values) != 0)
    first, last = np.flatnonzero(np.r_[True, ends]), np.flatnonzero(np.r_[ends, True])
    columns = counts[first], keys[first], keys[last] + 1, values[first]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _spans(body: str, width: int, order: Sequence[int]) -> list[Span]:
    found = []
    for number, line in enumerate(body.split("\n"), 2):
        if not line.strip():
            continue
        parts = [part.strip().strip('"') for part in line.split(",")]
        span = _SPAN.fullmatch(parts[order[1]]) if len(parts) == width else None
        if (
            span is None
            or not WHOLE.fullmatch(parts[order[0]])
            or not WHOLE.fullmatch(parts[order[2]])
        ):
            raise LawError(
                f"Line {number} of the p-table is {line[:40]!r}; expected a count, a key or a "
                "range of keys a-b, and a whole perturbation."
            )
        low = int(span[1])
        high = int(span[2]) if span[2] else low
        if high < low or high >= MOST_KEYS:
            raise LawError(f"Line {number} of the p-table has the key range {parts[order[1]]}.")
        count = int(parts[order[0]])
        if count < 0:
            raise LawError(f"Line {number} of the p-table has count {count}; allowed is ≥ 0.")
        found.append((count, low, high + 1, int(parts[order[2]])))
    return found


def _grouped(lines: list[Span]) -> tuple[dict[int, Row], int]:
    if not lines:
        raise LawError("The p-table has no rows below its first line.")
    number = max(high for _, _, high, _ in lines)
    by_count: dict[int, list[tuple[int, int, int]]] = {}
    for count, low, high, v in lines:
        by_count.setdefault(count, []).append((low, high, v))
    rows = {}
    for count, spans in by_count.items():
        spans.sort()
        at = 0
        for low, high, _ in [*spans, (number, number, 0)]:
            if low < at:
                raise LawError(
                    f"Row {count} of the p-table gives key {low} twice. "
                    "Keep one line for each count and key."
                )
            if low > at:
                have = sum(high - low for low, high, _ in spans)
                raise LawError(
                    f"Row {count} of the p-table does not add up: key {at} is missing and "
                    f"{have} of {number} keys are there."
                )
            at = high
        rows[count] = Row.of([(v, high - low) for low, high, v in spans])
    return rows, number
