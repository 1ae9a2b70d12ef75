"""What is said under a table, written from this table's own law, rules and published numbers.

Nothing here sees more than the reader does: statuses, published numbers and what the method
says of its law. Counts of a fault (unreliable cells, totals that do not add) are rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.exact import plain, rounded_down
from ..core.table import ProtectedTable, Status
from .flat import Flat, flatten
from .numerals import Mask

_JSON_WHOLE = 1 << 53

_ESTIMATED = ("least squares", "integers")
VERSIONS = ("question_hash", "data_version", "policy_version")
"""What names a table for ever."""
SYNTHETIC = "Synthetic data: no real person is described."


def footnote(table: ProtectedTable, flat: Flat | None = None) -> list[str]:
    """The sentences that belong under this table, the most important first.

    `flat` is the table as columns, where the caller has it.
    """
    flat = flatten(table) if flat is None else flat
    sentences = [SYNTHETIC] if table.provenance.synthetic else []
    sentences += _noise(table, flat)
    sentences += _statuses(flat)
    sentences += _totals(table)
    sentences += _negatives(flat)
    sentences += _percentages(flat, _share(table))
    sentences += [*table.guarantee.caveats, *table.notes]
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def citation(table: ProtectedTable) -> str:
    """How to cite the table: enough to ask for the very same numbers again."""
    about = table.provenance
    source = about.source or about.dataset_title or about.dataset
    parts = [f"{source}: {table.title or 'Table'}"]
    if about.dataset_title and about.dataset_title != source:
        parts.append(about.dataset_title)
    if about.period:
        parts.append(about.period)
    parts.append(f"data version {about.data_version}, policy version {about.policy_version}")
    if about.release:
        parts.append(f"release {about.release}")
    parts.append(f"table {about.question_hash[:16]}")
    parts.append(f"protected by {about.method} with {about.software}")
    text = "; ".join(parts) + "."
    if about.licence:
        text += f" Licence: {about.licence}."
    return f"{text} {SYNTHETIC}" if about.synthetic else text


def typical_error(table: ProtectedTable) -> str:
    """The typical and the largest noise of the shown cells in one sentence; empty where unknown."""
    if table.noise is None:
        return ""
    flat = flatten(table)
    noisy = _noisy(flat)
    if flat.lower is None or flat.upper is None or not noisy.any():
        return ""
    reach = np.maximum(flat.upper - flat.values, flat.values - flat.lower)[noisy]
    typical, largest = int(np.ceil(np.median(reach))), int(reach.max())
    share = _percent(table.noise.coverage)
    text = f"Typical error ±{typical:,}"
    if largest > typical:
        text += f", largest ±{largest:,}"
    return f"{text} ({share} noise interval; not sampling error)."


def three_digits(value: float) -> str:
    """A figure people read: three digits, whole from 1,000 on.

    >>> three_digits(22.94), three_digits(0.0312), three_digits(1930.5), three_digits(999.7)
    ('22.9', '0.0312', '1,930', '1,000')
    """
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _noisy(flat: Flat) -> Mask:
    """The cells whose published number holds noise."""
    noisy: Mask = flat.shown & (flat.status != Status.STRUCTURAL_ZERO)
    return noisy


def _noise(table: ProtectedTable, flat: Flat) -> list[str]:
    if table.noise is None or flat.noise_sd is None:
        return []
    sd = flat.noise_sd[_noisy(flat)]
    if not sd.size:
        return []
    if not sd.any():
        return ["The law of this table adds no noise to the numbers shown."]
    low, high = three_digits(float(sd.min())), three_digits(float(sd.max()))
    spread = high if low == high else f"between {low} and {high}"
    return [
        f"Random noise was added to the numbers; its standard deviation is {spread}. "
        f"The interval from lower to upper holds the number without noise in {_share(table)} "
        f"{_percent(table.noise.coverage)} of releases; it says nothing of sampling error."
    ]


def _statuses(flat: Flat) -> list[str]:
    counts = np.bincount(flat.status, minlength=len(Status))
    sentences = {
        Status.UNRELIABLE: "unreliable [u]: the noise is large beside the number",
        Status.LOW: "shown as [low]: the protected number is below the display floor",
        Status.BELOW_THRESHOLD: "not shown [c]: the protected number is below the publication threshold",
        Status.SUPPRESSED: "suppressed: a star, [c] in spreadsheets",
        Status.DERIVED: "derived [d]: the number follows from other published ones",
        Status.STRUCTURAL_ZERO: "zero by definition [z]: declared impossible, not counted",
        Status.NOT_RELEASED: "not part of this release [x]",
    }
    return [
        f"{_of(int(counts[status]), len(flat))} {'is' if counts[status] == 1 else 'are'} {words}."
        for status, words in sentences.items()
        if counts[status]
    ]


def _of(part: int, whole: int) -> str:
    cells = "cell" if whole == 1 else "cells"
    return f"{part:,} of {whole:,} {cells} ({100 * part / whole:.3g} %)"


def _totals(table: ProtectedTable) -> list[str]:
    """Whether totals add up, found by adding the published numbers."""
    if not any(table.totals):
        return []
    compared = differ = most = 0
    every = bool(table.shown.all())
    for axis in np.flatnonzero(table.totals).tolist():
        values = table.values.swapaxes(axis, 0)
        gap = np.abs(values[:-1].sum(axis=0) - values[-1])
        if not every:
            gap = gap[table.shown.swapaxes(axis, 0).all(axis=0)]
        compared += gap.size
        differ += int(np.count_nonzero(gap))
        most = max(most, int(gap.max(initial=0)))
    if compared and not differ:
        return ["Every total whose cells are all shown is their sum."]
    words = "Totals need not be the sum of their cells"
    if not differ:
        return [f"{words}."]
    return [
        f"{words}: {differ:,} of {compared:,} {'differs' if differ == 1 else 'differ'}, by up to "
        f"{most:,}. Use the published totals; do not add cells."
    ]


def _negatives(flat: Flat) -> list[str]:
    below = int(np.count_nonzero(flat.shown & (flat.values < 0)))
    if not below:
        return []
    verb = "number is" if below == 1 else "numbers are"
    return [
        f"{below:,} {verb} below zero: noise around small counts, left as drawn. "
        "Setting such numbers to zero would make sums too large."
    ]


def _percentages(flat: Flat, share: str) -> list[str]:
    percent = flat.percent
    if percent is None:
        return []
    words = f"Percentages are of {percent.words} as published"
    missing = int(np.count_nonzero(flat.shown & ~percent.shown))
    if missing:
        words += f"; where that is not shown or not above zero there is none ({missing:,} cells)"
    if percent.lower is not None:
        words += (
            "; the interval from percent_lower to percent_upper holds the percentage without noise "
            f"in {share} {_percent(percent.coverage)} of releases"
        )
    return [f"{words}."]


def _share(table: ProtectedTable) -> str:
    """Whether intervals hold so often at least, or about: as of estimates from several tables."""
    return "about" if table.law.consistency in _ESTIMATED else "at least"


def _percent(share: Fraction) -> str:
    hundred = share * 100
    return f"{plain(hundred) if hundred.denominator == 1 else rounded_down(hundred, 5)} %"


def law_elsewhere(table: ProtectedTable) -> list[str]:
    """For formats without a place for the law of the cells: its digest, and which files have it."""
    if not table.law.to_json():
        return []
    return [
        f"The law of the cells is {table.law.digest}; the JSON-stat, CSVW, Parquet and XLSX files of "
        f"table {table.provenance.question_hash[:16]} hold it in full."
    ]


def about(table: ProtectedTable, flat: Flat | None = None) -> dict[str, Any]:
    """Everything a file says beside its numbers, as plain values ready for JSON."""
    where = table.provenance
    present = np.flatnonzero(np.bincount(table.status.ravel())).tolist()
    facts: dict[str, Any] = {
        "title": table.title,
        "dataset": where.dataset,
        "dataset_title": where.dataset_title,
        "question": jsonable(where.question),
        **{name: getattr(where, name) for name in (*VERSIONS, "method")},
        "guarantee": table.guarantee.to_json(),
        "law": table.law.to_json(),
        "status": {
            Status(code).letter: Status(code).meaning for code in present if Status(code).letter
        },
        "footnote": footnote(table, flat),
        "citation": citation(table),
        **{name: getattr(where, name) for name in ("software", "unit", "synthetic")},
    }
    if table.noise is not None:
        facts["noise_interval_coverage"] = plain(table.noise.coverage)
    for name in ("release", "source", "licence", "contact", "population", "period"):
        if getattr(where, name):
            facts[name] = getattr(where, name)
    return facts


def jsonable(value: Any) -> Any:
    """The same value in JSON's own types; fractions and numbers past 2^53 become exact text.

    >>> jsonable({"epsilon": Fraction(1, 2), "axes": ("a", "b")})
    {'epsilon': '0.5', 'axes': ['a', 'b']}
    >>> jsonable({"keys": 2**64, "weights": np.array([1, 2])})
    {'keys': '18446744073709551616', 'weights': [1, 2]}
    """
    if isinstance(value, str):  # most of what comes here
        return value
    if isinstance(value, list | tuple | set | frozenset):
        inners = sorted(value) if isinstance(value, set) else value
        return [inner if type(inner) is str else jsonable(inner) for inner in inners]
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, np.generic | np.ndarray):
        return jsonable(value.tolist())
    # Readers that take every number for a double would round a large one.
    large = isinstance(value, int) and abs(value) > _JSON_WHOLE
    return value if isinstance(value, int | float | None) and not large else str(value)
