"""What reports are made of: numbered sections of statements, small tables and pictures.

Every word is a sentence that is said later, in the language of the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ..languages import say, speaker


class Tag(StrEnum):
    """Where a statement comes from."""

    COMPUTED = "computed"
    DECLARED = "declared"
    ATTESTED = "attested"


TAGS = {
    "computed": say("computed"),
    "declared": say("declared"),
    "attested": say("attested"),
    "missing": say("missing"),
}
"""How the page calls them."""


@dataclass(frozen=True)
class Line:
    """One statement: what about, what, and who says so."""

    about: str
    says: tuple[str, ...]
    tag: Tag
    missing: bool = False


@dataclass(frozen=True)
class Grid:
    """A small table in a section."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tag: Tag = Tag.COMPUTED


@dataclass(frozen=True)
class Picture:
    """An inline SVG and its text alternative."""

    svg: str
    alternative: str


@dataclass(frozen=True)
class Section:
    """A numbered part of the report."""

    number: int
    title: str
    lines: tuple[Line, ...]
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False)


def in_language(sections: Iterable[Section], language: str) -> list[Section]:
    """The sections with every word said in a language; pictures are drawn in theirs already."""
    voice = speaker(language)

    def said(words: Iterable[object]) -> tuple[str, ...]:
        return tuple(voice.of(one) for one in words)

    return [
        replace(
            section,
            title=voice.of(section.title),
            lines=tuple(
                replace(line, about=voice.of(line.about), says=said(line.says))
                for line in section.lines
            ),
            grids=tuple(
                replace(
                    grid,
                    caption=voice.of(grid.caption),
                    header=said(grid.header),
                    rows=tuple(said(row) for row in grid.rows),
                )
                for grid in section.grids
            ),
            pictures=tuple(
                replace(one, alternative=voice.of(one.alternative)) for one in section.pictures
            ),
        )
        for section in sections
    ]
