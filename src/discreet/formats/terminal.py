"""A protected table for people in a terminal: title, the grid of numbers, and the words below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..core.guarantee import Kind
from ..core.table import ProtectedTable, Status
from .flat import Flat, flatten
from .footnote import SYNTHETIC, footnote, typical_error
from .terminal_grid import MARKS, Grid, Limits, Line
from .terminal_text import safe, wrapped

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Limits", "render", "to_text"]


def render(
    table: ProtectedTable, *, limits: Limits | None = None, color: bool = True, cost: str = ""
) -> Group:
    """The table as something rich can print."""
    from rich.console import Group
    from rich.text import Text

    lines = [
        Text("").join(Text(words, style if color else "") for words, style in line)
        for line in _lines(table, limits or Limits(), cost)
    ]
    for line in lines:
        line.no_wrap, line.overflow = True, "ignore"
    return Group(*lines)


def to_text(table: ProtectedTable, *, limits: Limits | None = None, cost: str = "") -> str:
    """The table as plain text, without colour."""
    lines = _lines(table, limits or Limits(), cost)
    return "".join("".join(words for words, _ in line).rstrip() + "\n" for line in lines)


def _lines(table: ProtectedTable, limits: Limits, cost: str) -> Iterator[Line]:
    flat = flatten(table)
    layers, rows, _ = table.sides
    grid = Grid(flat, layers, rows, limits)
    yield from _paragraph(table.title or "Table", limits.width, "bold")
    under = [table.provenance.dataset_title, table.provenance.population, table.provenance.period]
    yield from _paragraph(" · ".join(part for part in under if part), limits.width, "dim")
    if table.provenance.synthetic:
        yield [(SYNTHETIC, "dim")]
    yield []
    yield from grid.lines()
    yield from _paragraph(_legend(flat), limits.width, "dim")
    yield []
    # Green says "protected by a promise that composes": no other kind may wear it.
    mood = "green" if table.guarantee.kind is Kind.DP else "yellow"
    yield from _paragraph(table.guarantee.sentence(), limits.width, mood)
    for odds in table.guarantee.odds:
        yield from _paragraph(odds, limits.width, "")
    yield from _paragraph(typical_error(table), limits.width, "")
    yield from _paragraph(f"Cost: {cost}" if cost else "", limits.width, "")
    for note in footnote(table, flat):
        if note != SYNTHETIC:
            first = "· "
            for words in wrapped(safe(note), limits.width - 2):
                yield [(first + words, "dim")]
                first = "  "


def _paragraph(words: str, width: int, style: str) -> Iterator[Line]:
    for line in wrapped(safe(words), width):
        yield [(line, style)]


def _legend(flat: Flat) -> str:
    present = {Status(int(code)) for code in np.unique(flat.status)}
    return " · ".join(f"{mark} {s.meaning}" for s, mark in MARKS.items() if s in present)
