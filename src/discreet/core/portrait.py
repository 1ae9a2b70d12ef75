"""How a law, an audit or a promise shows itself in Python: a few facts and a picture, no digits.

A `Portrait` is text for a terminal and HTML for a notebook, made from the same words. Nothing is
computed from it: exact values stay in the attributes of what is portrayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from textwrap import wrap

from .law_bars import law_bars, law_ranges, percent

WIDTH = 79
_STYLE = (
    "<style>.discreet-card{font-variant-numeric:tabular-nums}"
    ".discreet-card th,.discreet-card td{text-align:left!important;vertical-align:top;"
    "padding:.05em .9em .05em 0}"
    ".discreet-card th{font-weight:normal;opacity:.65;white-space:nowrap}"
    ".discreet-card .n{text-align:right!important}"
    ".discreet-card .bar{display:inline-block;height:.75em;background:#3b7dd8}"
    ".discreet-card .zero .bar{background:#d9822b}</style>"
)


@dataclass(frozen=True)
class Portrait:
    """A title, facts by name, and perhaps a law to draw or a table of numbers."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    pmf: Mapping[int, Fraction] | None = None
    """A law: how likely each perturbation is."""
    head: Sequence[str] = ()
    """The columns of a table; all of its cells are numbers."""
    rows: Sequence[Sequence[str]] = ()

    def to_text(self, width: int = WIDTH) -> str:
        """For a terminal."""
        lines = wrap(self.title, width)
        room = max((len(name) for name, _ in self.facts), default=0) + 2
        for name, value in self.facts:
            start, hanging = (name.ljust(room), " " * room) if name else ("", "")
            lines += wrap(value, width, initial_indent=start, subsequent_indent=hanging)
        if self.rows:
            table = [list(self.head), *map(list, self.rows)]
            widths = [max(len(row[i]) for row in table) for i in range(len(self.head))]
            lines += [
                "  ".join(cell.rjust(wide) for cell, wide in zip(row, widths, strict=True))
                for row in table
            ]
        if self.pmf is not None:
            lines += law_bars(self.pmf, width)
        return "\n".join(lines)

    def to_html(self) -> str:
        """For a notebook."""
        facts = "".join(
            f"<tr><th scope=row>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self.facts
        )
        parts = [f"<b>{escape(self.title)}</b>", f"<table>{facts}</table>" if facts else ""]
        if self.rows:
            parts.append(f"<table>{_row('th', self.head)}{self._numbers()}</table>")
        if self.pmf is not None:
            parts.append(f"<table>{_bars(self.pmf)}</table>")
        return f'{_STYLE}<div class="discreet-card">{"".join(parts)}</div>'

    def _numbers(self) -> str:
        return "".join(_row("td", row) for row in self.rows)


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind} class=n>{escape(cell)}</{kind}>' for cell in cells)}</tr>"


def _bars(pmf: Mapping[int, Fraction]) -> str:
    names, masses, left = law_ranges(pmf)
    highest = max(masses)
    rows = "".join(
        f"<tr{' class=zero' if name == '0' else ''}><td class=n>{name}</td>"
        f"<td class=n>{percent(mass)}</td><td>"
        f'<span class=bar style="width:{float(mass / highest) * 18:.2f}em"></span></td></tr>'
        for name, mass in zip(names, masses, strict=True)
    )
    if left > 0:
        rows += f"<tr><td class=n>…</td><td class=n>{percent(left)}</td><td>further out</td></tr>"
    return rows


class Portrayed:
    """Something that shows itself by its portrait."""

    def portrait(self) -> Portrait:
        """What there is to see."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.portrait().to_text()

    def _repr_html_(self) -> str:
        return self.portrait().to_html()


def asked(name: str, parameters: Mapping[str, str]) -> str:
    """A name with what was asked for.

    >>> asked("laplace law", {"epsilon": "0.5", "max_perturbation": "7"})
    'laplace law (epsilon 0.5, max_perturbation 7)'
    """
    words = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return f"{name} ({words})" if words else name
