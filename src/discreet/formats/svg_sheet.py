"""Paper to draw a picture on: marks in a theme's colours, scales with round ticks, room for words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH = 860
_FONT = "system-ui, 'Helvetica Neue', Arial, sans-serif"
_PRINT = {
    "ink": "#16201c", "soft": "#53605a", "line": "#dde2dc", "paper": "#ffffff",
    "accent": "#0b5d4e", "noise": "#5646a6", "noise-tint": "#eeebfa",
    "h1": "#f1f8f5", "h2": "#e3f1ec", "h3": "#d3e9e1", "h4": "#c1dfd5", "h5": "#add6c8",
    "h6": "#98ccbb", "h7": "#82c2ae", "h8": "#6cb8a0", "h9": "#55ae93",
}  # fmt: skip
WIDE = 0.56
"""About how wide a letter is beside its height."""


class Sheet:
    """Marks on paper, in the colours of a theme."""

    def __init__(self, theme: str) -> None:
        self.theme = theme
        self.marks: list[str] = []

    def colour(self, name: str) -> str:
        """A colour by its name among a page's tokens."""
        return f"var(--{name})" if self.theme == "page" else _PRINT[name]

    def finished(self, height: float, sentence: str) -> str:
        """The whole picture."""
        paper = ""
        if self.theme == "print":
            paper = f'<rect width="{WIDTH}" height="{height:g}" fill="{_PRINT["paper"]}"/>'
        hatch = (
            '<defs><pattern id="d-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)">'
            f'<rect width="6" height="6" fill="{self.colour("noise-tint")}"/>'
            f'<path d="M0 0V6" stroke="{self.colour("noise")}" stroke-width="1" opacity=".35"/>'
            "</pattern></defs>"
        )
        used = hatch if any("#d-hatch" in mark for mark in self.marks) else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
            f'aria-label="{escape(sentence)}" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}" font-family="{escape(_FONT)}" font-size="12">'
            f"{used}{paper}{''.join(self.marks)}</svg>"
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "start",
        colour: str = "ink",
        size: float = 12,
        bold: bool = False,
    ) -> None:
        """Words on a line."""
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += f' font-size="{size:g}"' if size != 12 else ""
        more += ' font-weight="600"' if bold else ""
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{self.colour(colour)}"{more}>{escape(words)}</text>'
        )

    def rule(
        self,
        x: float,
        y: float,
        to_x: float,
        to_y: float,
        colour: str = "line",
        wide: float = 1,
    ) -> None:
        """A straight line."""
        self.marks.append(
            f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{self.colour(colour)}" '
            f'stroke-width="{wide:g}"/>'
        )

    def box(
        self, x: float, y: float, wide: float, high: float, fill: str, *, round: float = 0
    ) -> None:
        """A filled box; `hatch` is what unreliable numbers stand on."""
        paint = "url(#d-hatch)" if fill == "hatch" else self.colour(fill)
        corner = f' rx="{round:g}"' if round else ""
        self.marks.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.1f}" height="{high:.1f}" '
            f'fill="{paint}"{corner}/>'
        )

    def dot(self, x: float, y: float, radius: float, *, hollow: bool = False) -> None:
        """A point; a hollow one is unreliable."""
        ink = self.colour("ink")
        fill = f'fill="{self.colour("paper")}" stroke="{ink}" stroke-width="1.5"'
        look = fill if hollow else f'fill="{ink}"'
        self.marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {look}/>')

    def path(self, places: Sequence[tuple[float, float]], **look: str) -> None:
        """A line through places, or an area round them."""
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        said = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in look.items())
        self.marks.append(f'<path d="{d}"{said}/>')


class Scale:
    """Numbers to places along a line, with round marks."""

    def __init__(self, extent: tuple[float, float], begin: float, end: float) -> None:
        low, high = extent
        self.step = _step((high - low) / 5)
        self.low, self.high = low, high + 0.02 * (high - low)
        self.begin, self.end = begin, end

    def __call__(self, value: float) -> float:
        """Where a number lies."""
        share = (value - self.low) / ((self.high - self.low) or 1)
        return self.begin + share * (self.end - self.begin)

    @property
    def ticks(self) -> list[float]:
        """Round numbers from one end to the other."""
        first, last = math.ceil(self.low / self.step), math.floor(self.high / self.step)
        return [i * self.step for i in range(first, last + 1)]


def _step(rough: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten above a rough step.

    >>> _step(3.1), _step(170), _step(0.06)
    (5.0, 200.0, 0.1)
    """
    power = 10.0 ** math.floor(math.log10(rough or 1))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9)))


def room_of(labels: Sequence[str], size: float = 12, most: float = 250) -> float:
    """About how wide the longest of some labels is."""
    return min(most, max((len(label) for label in labels), default=0) * size * WIDE)


def room_before(labels: Sequence[str], most: float = 250) -> float:
    """Room for labels at the left edge: a letter more, since short ones may be of wide letters."""
    return min(most, room_of(labels) + 12 * WIDE)


def cut(words: str, room: float, size: float = 12) -> str:
    """Words that fit into some room, with dots where some are left out."""
    letters = max(3, int(room / (size * WIDE)))
    return (
        words
        if len(words) <= letters
        else words[: letters - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    )
