"""A protected table for people in a terminal: title, the grid of numbers, and the words below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..core.guarantee import Kind
from ..core.table import ProtectedTable, Status
from ..languages import counted, say
from .flat import Flat, flatten
from .notes import SUBJECTS, SYNTHETIC, Note, notes
from .terminal_grid import MARKS, Grid, Limits, Line
from .terminal_text import safe, wrapped

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Limits", "render", "to_text"]

MORE = "print(table.notes)"
"""Where further notes are, for somebody in Python."""


def render(
    table: ProtectedTable,
    *,
    limits: Limits | None = None,
    color: bool = True,
    cost: str = "",
    more: str = MORE,
) -> Group:
    """The table as something rich can print; `more` says where further notes are, "" shows them."""
    from rich.console import Group
    from rich.text import Text

    lines = [
        Text("").join(Text(words, style if color else "") for words, style in line)
        for line in _lines(table, limits or Limits(), cost, more)
    ]
    for line in lines:
        line.no_wrap, line.overflow = True, "ignore"
    return Group(*lines)


def to_text(
    table: ProtectedTable, *, limits: Limits | None = None, cost: str = "", more: str = MORE
) -> str:
    """The table as plain text, without colour."""
    lines = _lines(table, limits or Limits(), cost, more)
    return "".join("".join(words for words, _ in line).rstrip() + "\n" for line in lines)


def _lines(table: ProtectedTable, limits: Limits, cost: str, more: str) -> Iterator[Line]:
    flat = flatten(table)
    layers, rows, _ = table.sides
    grid = Grid(flat, layers, rows, limits)
    yield from _paragraph(table.tells(table.title or say("Table")), limits.width, "bold")
    under = [table.provenance.dataset_title, table.provenance.population, table.provenance.period]
    words = " · ".join(table.tells(part) for part in under if part)
    yield from _paragraph(words, limits.width, "dim")
    synthetic = table.tells(SYNTHETIC)
    if table.provenance.synthetic:
        yield from _paragraph(synthetic, limits.width, "dim")
    yield []
    yield from grid.lines()
    yield from _paragraph(_legend(flat), limits.width, "dim")
    yield []
    # Green says "protected by a promise that composes": no other kind may wear it.
    mood = "green" if table.guarantee.kind is Kind.DP else "yellow"
    said = notes(table, flat)
    promise = table.tells(table.guarantee.sentence())
    for note in said:
        if note.depth == 1 and note.words not in (synthetic, promise):
            yield from _paragraph(note.words, limits.width, "")
    short = table.tells(table.guarantee.brief())
    yield from _paragraph(short if more else promise, limits.width, mood)
    if cost:
        yield from _paragraph(table.tells(say("Cost: {cost}", cost=cost)), limits.width, "")
    rest = _deeper(table, said)
    if more and rest:
        many = table.tells(counted("{n} more note", "{n} more notes", len(rest)))
        yield from _paragraph(f"{many}: {table.tells(more)}", limits.width, "dim")
    if not more:
        yield from _all(table, rest, limits.width)


def all_notes(table: ProtectedTable, width: int = 100) -> str:
    """Everything there is to say about a table, without its numbers."""
    said = notes(table)
    first = [line for note in said if note.depth == 1 for line in wrapped(safe(note.words), width)]
    more = [
        "".join(words for words, _ in line) for line in _all(table, _deeper(table, said), width)
    ]
    return "\n".join([*first, *more])


def _deeper(table: ProtectedTable, said: list[Note]) -> list[Note]:
    """What does not stand under every table; the guarantee's own details come last."""
    rest = [note for note in said if note.depth > 1]
    return rest + [Note(table.tells(words), "privacy", 3) for words in table.guarantee.risks]


def _all(table: ProtectedTable, said: list[Note], width: int) -> Iterator[Line]:
    """Every note, those on one subject together."""
    for kind, title in SUBJECTS.items():
        if any(note.kind == kind for note in said):
            yield []
            yield [(table.tells(title), "bold")]
        for note in said:
            first = "· "
            for words in wrapped(safe(note.words), width - 2) if note.kind == kind else ():
                yield [(first + words, "dim")]
                first = "  "


def _paragraph(words: str, width: int, style: str) -> Iterator[Line]:
    for line in wrapped(safe(words), width):
        yield [(line, style)]


def _legend(flat: Flat) -> str:
    present = {Status(int(code)) for code in np.unique(flat.status)}
    marks = ((mark, s.meaning.says(flat.language)) for s, mark in MARKS.items() if s in present)
    return " · ".join(f"{mark} {words}" for mark, words in marks)
