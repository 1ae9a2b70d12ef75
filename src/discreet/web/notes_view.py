"""What is said of a table, in three depths: one line, one paragraph, everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ..core.guarantee import Kind
from ..core.table import ProtectedTable
from ..formats.footnote import citation
from ..formats.notes import SUBJECTS, Note, notes
from ..languages import say


@dataclass(frozen=True)
class Notes:
    """A table's notes as a page shows them."""

    line: list[Note]
    paragraph: list[Note]
    rest: Sequence[tuple[str, Sequence[Note]]]
    facts: list[tuple[str, str]]
    guess: list[str]
    dots: list[tuple[str, int]]
    """How often the best guesser says that somebody is in the data: who is not, and who is."""
    footnote: str
    cite: str


def notes_of(table: ProtectedTable, language: str) -> Notes:
    """The notes of a table by depth, in the reader's language; the deepest by what they are about.

    Labels stay in the data set's own language where it has no other.
    """
    table = table.in_language(language or "en")
    said = notes(table)
    odds = list(table.guarantee.odds) if table.guarantee.kind is Kind.DP else []
    deep = [note for note in said if note.depth == 3]
    rest = [
        (heading, [note for note in deep if note.kind == kind])
        for kind, heading in SUBJECTS.items()
        if any(note.kind == kind for note in deep)
    ]
    paragraph = [note for note in said if note.depth == 2 and note.words not in odds]
    line = [note for note in said if note.depth == 1]
    line.sort(
        key=lambda note: note.kind == "data"
    )  # the page says beside the title what it is about
    footnote = " ".join(str(note.words) for note in (*line, *paragraph))
    return Notes(line, paragraph, rest, _facts(table), odds, _dots(odds), footnote, citation(table))


def _dots(odds: Sequence[str]) -> list[tuple[str, int]]:
    """The figures of the first device, whole, against the custodian; nothing where it is not told."""
    for words in odds:
        told = getattr(words, "values", {})
        if {"wrongly", "rightly"} <= set(told):
            wrongly, rightly = (Fraction(str(told[name])) for name in ("wrongly", "rightly"))
            return [("wrongly", floor(wrongly)), ("rightly", ceil(rightly))]
    return []


def _facts(table: ProtectedTable) -> list[tuple[str, str]]:
    where = table.provenance
    facts = [
        (say("Method"), where.method),
        (say("Guarantee"), table.guarantee.sentence()),
        (
            say("Data"),
            say(
                "version {data}, policy {policy}",
                data=where.data_version[:12],
                policy=where.policy_version[:12],
            ),
        ),
        (say("Question"), where.question_hash),
        (say("Cite as"), citation(table)),
    ]
    return [(words, value) for words, value in facts if value]
