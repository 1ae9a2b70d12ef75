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
from ..languages import Number, Sentence, counted, number, say, says, together
from .flat import Flat, flatten
from .numerals import Mask

_ESTIMATED = ("least squares", "integers")
SYNTHETIC = say("Synthetic data: no real person is described.")


SUBJECTS = {
    "noise": say("Noise"),
    "totals": say("Totals"),
    "negatives": say("Numbers below zero"),
    "percent": say("Percentages"),
    "privacy": say("Privacy"),
    "limits": say("What is not here"),
    "data": say("The data"),
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
    """What belongs under this table in its language, by depth, the most important first.

    Nothing is said twice. `flat` is the table as columns, where the caller has it.
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
        *_noted("percent", 2, _percentages(table, flat)),
        *_noted("privacy", 2, table.guarantee.odds),
        *_noted("privacy", 3, table.guarantee.caveats),
        *_noted("data", 3, table.notes),
    ]
    once: list[Note] = []
    told: set[str] = set()
    for note in found:
        said = says(note.words, table.layout.language)
        same = {
            _bare(note.words),
            _bare(said),
        }  # a table that was read back has them as they were said
        if not same & told:
            once.append(Note(said, note.kind, note.depth))
        told |= same
    return once


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
    return table.tells(_typical(table, flatten(table)))


def _typical(table: ProtectedTable, flat: Flat) -> str:
    if table.noise is None:
        return ""
    noisy = _noisy(flat)
    if flat.lower is None or flat.upper is None or not noisy.any():
        return ""
    reach = np.maximum(flat.upper - flat.values, flat.values - flat.lower)[noisy]
    typical, largest = int(np.ceil(np.median(reach))), int(reach.max())
    share = _percent(table.noise.coverage)
    if largest > typical:
        return say(
            "Typical error ±{typical}, largest ±{largest} ({share} noise interval; not sampling "
            "error).",
            typical=typical,
            largest=largest,
            share=share,
        )
    return say(
        "Typical error ±{typical} ({share} noise interval; not sampling error).",
        typical=typical,
        share=share,
    )


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
        return [say("The law of this table adds no noise to the numbers shown.")]
    low, high = (number(three_digits(float(end))) for end in (sd.min(), sd.max()))
    spread = high if low == high else say("between {low} and {high}", low=low, high=high)
    added = say(
        "Random noise was added to the numbers; its standard deviation is {spread}.", spread=spread
    )
    share = _percent(table.noise.coverage)
    if _estimated(table):
        held = say(
            "The interval from lower to upper holds the number without noise in about {share} of "
            "releases; it says nothing of sampling error.",
            share=share,
        )
    else:
        held = say(
            "The interval from lower to upper holds the number without noise in at least {share} of "
            "releases; it says nothing of sampling error.",
            share=share,
        )
    return [together(added, held)]


_STATUS_NOTES = {
    Status.UNRELIABLE: ("noise", say("unreliable [u]: the noise is large beside the number")),
    Status.LOW: ("privacy", say("shown as [low]: the protected number is below the display floor")),
    Status.BELOW_THRESHOLD: (
        "privacy",
        say("not shown [c]: the protected number is below the publication threshold"),
    ),
    Status.SUPPRESSED: ("privacy", say("suppressed: a star, [c] in spreadsheets")),
    Status.DERIVED: ("privacy", say("derived [d]: the number follows from other published ones")),
    Status.STRUCTURAL_ZERO: (
        "data",
        say("zero by definition [z]: declared impossible, not counted"),
    ),
    Status.NOT_RELEASED: ("limits", say("not part of this release [x]")),
}


def _statuses(flat: Flat) -> list[Note]:
    counts = np.bincount(flat.status, minlength=len(Status))
    return [
        Note(_of(n, len(flat), words), kind, 2)
        for status, (kind, words) in _STATUS_NOTES.items()
        if (n := int(counts[status]))
    ]


def _of(part: int, whole: int, words: str) -> Sentence:
    share = number(f"{100 * part / whole:.3g}")
    if whole == 1:
        return say("1 of 1 cell (100 %) is {words}.", words=words)
    return counted(
        "{n} of {whole} cells ({share} %) is {words}.",
        "{n} of {whole} cells ({share} %) are {words}.",
        part,
        whole=whole,
        share=share,
        words=words,
    )


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
        return [say("Every total whose cells are all shown is their sum.")]
    if not differ:
        return [say("Totals need not be the sum of their cells.")]
    return [
        counted(
            "Totals need not be the sum of their cells: {n} of {compared} differs, by up to {most}. "
            "Use the published totals; do not add cells.",
            "Totals need not be the sum of their cells: {n} of {compared} differ, by up to {most}. "
            "Use the published totals; do not add cells.",
            differ,
            compared=compared,
            most=most,
        )
    ]


def _negatives(flat: Flat) -> list[str]:
    below = int(np.count_nonzero(flat.shown & (flat.values < 0)))
    if not below:
        return []
    return [
        counted(
            "{n} number is below zero: noise around small counts, left as drawn. Setting such "
            "numbers to zero would make sums too large.",
            "{n} numbers are below zero: noise around small counts, left as drawn. Setting such "
            "numbers to zero would make sums too large.",
            below,
        )
    ]


def _percentages(table: ProtectedTable, flat: Flat) -> list[str]:
    percent = flat.percent
    if percent is None:
        return []
    parts = [say("Percentages are of {what} as published", what=percent.words)]
    missing = int(np.count_nonzero(flat.shown & ~percent.shown))
    if missing:
        parts.append(
            say(
                "where that is not shown or not above zero there is none ({missing} cells)",
                missing=missing,
            )
        )
    if percent.lower is not None:
        share = _percent(percent.coverage)
        if _estimated(table):
            held = say(
                "the interval from percent_lower to percent_upper holds the percentage without "
                "noise in about {share} of releases",
                share=share,
            )
        else:
            held = say(
                "the interval from percent_lower to percent_upper holds the percentage without "
                "noise in at least {share} of releases",
                share=share,
            )
        parts.append(held)
    return [together(together(*parts, between="; "), ".", between="")]


def _estimated(table: ProtectedTable) -> bool:
    """Whether intervals hold about so often, as of estimates from several tables; else at least."""
    return table.law.consistency in _ESTIMATED


def _percent(share: Fraction) -> Number:
    hundred = share * 100
    text = plain(hundred) if hundred.denominator == 1 else rounded_down(hundred, 5)
    return number(f"{text} %")
