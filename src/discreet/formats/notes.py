"""What is said under a table, written from this table's own law, rules and published numbers.

Nothing here sees more than the reader does: statuses, published numbers and what the method
says of its law. Counts of a fault (unreliable cells, totals that do not add) are rounded up.

Each note has a kind and a depth: 1 is what stands under every table, 2 is how to read its numbers,
3 is everything else. What attacks on the method achieve belongs to the guarantee's details
(`Guarantee.risks`), not under a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..core.exact import plain, rounded_down
from ..core.table import ProtectedTable, Status
from .flat import Flat, flatten
from .numerals import Mask

_ESTIMATED = ("least squares", "integers")
SYNTHETIC = "Synthetic data: no real person is described."


SUBJECTS = {
    "noise": "Noise",
    "totals": "Totals",
    "negatives": "Numbers below zero",
    "percent": "Percentages",
    "privacy": "Privacy",
    "limits": "What is not here",
    "data": "The data",
}
"""The kinds of notes, and the heading each has where all are shown."""


@dataclass(frozen=True)
class Note:
    """One sentence or two about a table, what they are about, and how deep they stand."""

    words: str
    kind: str
    """One of `SUBJECTS`."""
    depth: int

    def to_json(self) -> dict[str, str | int]:
        """As plain values."""
        return {"depth": self.depth, "kind": self.kind, "words": self.words}


def notes(table: ProtectedTable, flat: Flat | None = None) -> list[Note]:
    """What belongs under this table, by depth, the most important first; nothing twice.

    `flat` is the table as columns, where the caller has it.
    """
    flat = flatten(table) if flat is None else flat
    found = [
        *_noted("data", 1, [SYNTHETIC] if table.provenance.synthetic else []),
        *_noted("noise", 1, [_typical(table, flat)]),
        *_noted("privacy", 1, [table.guarantee.sentence()]),
        *_noted("limits", 1, table.guarantee.notices),
        *_noted("noise", 2, _noise(table, flat)),
        *_statuses(flat),
        *_noted("totals", 2, _totals(table)),
        *_noted("negatives", 2, _negatives(flat)),
        *_noted("percent", 2, _percentages(flat, _share(table))),
        *_noted("privacy", 2, table.guarantee.odds),
        *_noted("privacy", 3, table.guarantee.caveats),
        *_noted("data", 3, table.notes),
    ]
    once: dict[str, Note] = {}
    for note in found:
        once.setdefault(_bare(note.words), note)
    return list(once.values())


def footnote(table: ProtectedTable, flat: Flat | None = None) -> list[str]:
    """The sentences that belong under this table, the most important first."""
    return [note.words for note in notes(table, flat)]


def _noted(kind: str, depth: int, sentences: Iterable[str]) -> Iterator[Note]:
    return (Note(words, kind, depth) for words in sentences if words)


def _bare(words: str) -> str:
    """What a note says, apart from how it is written; of no real person it is said once."""
    if words.startswith("Synthetic data: no real person"):
        return SYNTHETIC
    return " ".join(words.casefold().split()).rstrip(".")


def typical_error(table: ProtectedTable) -> str:
    """The typical and the largest noise of the shown cells in one sentence; empty where unknown."""
    return _typical(table, flatten(table))


def _typical(table: ProtectedTable, flat: Flat) -> str:
    if table.noise is None:
        return ""
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


_STATUS_NOTES = {
    Status.UNRELIABLE: ("noise", "unreliable [u]: the noise is large beside the number"),
    Status.LOW: ("privacy", "shown as [low]: the protected number is below the display floor"),
    Status.BELOW_THRESHOLD: (
        "privacy",
        "not shown [c]: the protected number is below the publication threshold",
    ),
    Status.SUPPRESSED: ("privacy", "suppressed: a star, [c] in spreadsheets"),
    Status.DERIVED: ("privacy", "derived [d]: the number follows from other published ones"),
    Status.STRUCTURAL_ZERO: ("data", "zero by definition [z]: declared impossible, not counted"),
    Status.NOT_RELEASED: ("limits", "not part of this release [x]"),
}


def _statuses(flat: Flat) -> list[Note]:
    counts = np.bincount(flat.status, minlength=len(Status))
    return [
        Note(f"{_of(n, len(flat))} {'is' if n == 1 else 'are'} {words}.", kind, 2)
        for status, (kind, words) in _STATUS_NOTES.items()
        if (n := int(counts[status]))
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
