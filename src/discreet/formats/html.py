"""A protected table as an HTML fragment: real headings, totals set apart, notes below it.

Rows come in windows, made row by row and no others, so a page of 200 rows costs the same whatever
lies before and after it. Classes say what a cell is: `sum` a total, `u` unreliable, `off` no number,
`h1` to `h9` how large beside the largest; a page's style sheet decides how that looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from itertools import starmap
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

from ..core.table import ProtectedTable, Status
from ..errors import InputError
from ..languages import counted, say
from ..languages.catalogue import catalogue, language_of
from .flat import Flat, FlatAxis, flatten
from .html_frame import Frame
from .notes import Note, notes
from .terminal_grid import MARKS

if TYPE_CHECKING:
    from jinja2 import Template

MOST_CELLS = 20_000
"""More cells than this are never on one page."""
WHOLE_CELLS = 5_000
"""Up to so many cells a table is one page, where nothing else is said."""
PAGE_ROWS = 200
RAISED = {Status.UNRELIABLE: "u", Status.DERIVED: "d"}
_STYLE = (
    "<style>figure.discreet{margin:0}"
    ".discreet caption{text-align:left;font-weight:600;padding-bottom:.3em}"
    ".discreet td,.discreet thead th{text-align:right!important;"
    "font-variant-numeric:tabular-nums;white-space:nowrap;vertical-align:top}"
    ".discreet thead th{white-space:normal;vertical-align:bottom}"
    ".discreet td,.discreet thead th{padding-left:1em}"
    ".discreet thead th:first-child{text-align:left!important;padding-left:0}"
    ".discreet th[scope=row]{text-align:left!important;font-weight:normal;vertical-align:top}"
    ".discreet td small{display:block;opacity:.6}"
    ".discreet figcaption p{margin:.2em 0}</style>"
)
"""How a table looks in a notebook; a page has a style sheet of its own."""


@dataclass(frozen=True)
class Window:
    """Which rows are shown, and what stands beside their numbers."""

    first: int = 1
    """The first row, from 1."""
    most: int | None = None
    """How many rows; None: all of a small table, else a page."""
    intervals: bool = False
    """The noise interval under each number that has one."""
    heat: bool = False
    """How large a number is beside the largest, as a class."""


@cache
def template(package: str, name: str) -> Template:
    """A page's template from a package's folder `templates`; what it is given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def fragment(table: ProtectedTable, window: Window | None = None) -> str:
    """The table as `<figure>`, with every label escaped."""
    grid = Grid(table, window or Window())
    language = table.layout.language
    out = [
        f'<figure class="discreet" data-rows="{grid.height}" data-from="{grid.begin + 1}" '
        f'data-to="{grid.end}"><table{grid.counted}><caption>{escape(table.tells(table.title))}</caption>',
        *grid.heads(),
        *grid.body(),
        "</table>",
    ]
    more = grid.height - grid.end
    if more:
        words = counted("{n} more row below.", "{n} more rows below.", more)
        out.append(f"<p>{escape(words.says(language))}</p>")
    said = _notes(notes(table, grid.flat), language)
    return "".join(out) + f"<figcaption>{said}</figcaption></figure>"


def notebook(table: ProtectedTable) -> str:
    """The table for a notebook: numbers aligned right, their noise intervals quiet below them."""
    across = max(1, Grid(table, Window()).across)
    most = max(1, MOST_CELLS // across)
    return _STYLE + fragment(table, Window(most=most, intervals=True))


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write a table as a page of its own, with its noise intervals and all its notes."""
    table = tables[0]
    language = escape(table.layout.language or "en")
    head = f'<!doctype html><html lang="{language}"><meta charset="utf-8">'
    title = f"<title>{escape(table.title)}</title>"
    stream.write(f"{head}{title}<body>{notebook(table)}</body></html>\n".encode())


class Grid(Frame):
    """A table as rows of cells; a row is made when it is wanted."""

    def __init__(self, table: ProtectedTable, window: Window) -> None:
        self.table, self.window, self.flat = table, window, flatten(table)
        super().__init__(self.flat.axes, table.sides)
        small = len(self.flat) <= WHOLE_CELLS
        page = min(PAGE_ROWS, max(1, MOST_CELLS // max(self.across, 1)))
        most = window.most or (max(self.height, 1) if small else page)
        if most * self.across > MOST_CELLS and most > 1 and window.most:
            raise InputError(
                say(
                    "A page holds at most {most} cells, {rows} rows of {across} are more. Ask for up "
                    "to {fits} rows at once, or for a file.",
                    most=MOST_CELLS,
                    rows=most,
                    across=self.across,
                    fits=max(1, MOST_CELLS // self.across),
                )
            )
        if window.first < 1 or window.first > max(self.height, 1):
            raise InputError(
                say(
                    "The table has {rows} rows, so the first one shown is from 1 to {rows}; got {first}.",
                    rows=self.height,
                    first=window.first,
                )
            )
        self.begin = window.first - 1
        self.end = min(self.height, self.begin + most)

    @property
    def counted(self) -> str:
        """For readers who hear a table: how many rows there are where not all are shown."""
        if self.end - self.begin == self.height:
            return ""
        return f' aria-rowcount="{self.height + self._head_rows}"'

    @property
    def _head_rows(self) -> int:
        return max(1, len(self.flat.axes) - self.down)

    def heads(self) -> Iterator[str]:
        """The column heads, one line for each variable across."""
        names = [axis.label for axis in self.axes[: self.down]]
        corner = "".join(f"<th scope=col>{escape(name)}</th>" for name in names)
        lines = list(self.head_lines(_column_head))
        if not lines:
            lines = [f"<th scope=col>{escape(self.flat.measure_words)}</th>"]
        yield "<thead>"
        empty = "<th scope=col></th>" * len(names)
        for line in lines[:-1]:
            yield f"<tr>{empty}{line}</tr>"
        yield f"<tr>{corner}{lines[-1]}</tr>"
        yield "</thead>"

    def body(self) -> Iterator[str]:
        """The rows of the window; those of the last total stand apart."""
        outer = self.flat.axes[0] if self.down else None
        sums = self.height
        if outer is not None and outer.total and len(outer) > 1:
            sums = self.height // len(outer) * (len(outer) - 1)
        yield "<tbody>"
        yield from self._rows(self.begin, min(self.end, sums))
        yield "</tbody>"
        if self.end > sums:
            yield "<tfoot>"
            yield from self._rows(max(self.begin, sums), self.end)
            yield "</tfoot>"

    def _rows(self, begin: int, end: int) -> Iterator[str]:
        if begin >= end:
            return
        across, part = self.across, slice(begin * self.across, end * self.across)
        cells = self._cells(part)
        heads = self._row_heads(begin, end)
        numbered = bool(self.counted)
        for i in range(end - begin):
            at = f' aria-rowindex="{begin + i + 1 + self._head_rows}"' if numbered else ""
            yield f"<tr{at}>{heads[i]}{''.join(cells[i * across : (i + 1) * across])}</tr>"

    def _row_heads(self, begin: int, end: int) -> list[str]:
        """The heads of each row: made once for each category, joined for each row."""
        made = [
            [f"<th scope=row>{escape(label)}</th>" for label in axis.labels]
            for axis in self.flat.axes[: self.down]
        ]
        heads = [""] * (end - begin)
        inner = 1
        for axis in reversed(made):
            rows = range(begin, end)
            heads = [
                axis[row // inner % len(axis)] + head for row, head in zip(rows, heads, strict=True)
            ]
            inner *= len(axis)
        return heads

    def _cells(self, part: slice) -> list[str]:
        """Cells as text. Equal ones are made once: opening tags by kind, numbers by value."""
        flat = self.flat
        values, status = flat.values[part].tolist(), flat.status[part].tolist()
        sums = self._sums[part].tolist()
        heat = self._heat[part].tolist() if self.window.heat else [0] * len(values)
        number, kinds = _Texts(self.table.layout.language), cache(_opening)
        opened = list(map(kinds, status, sums, heat))
        instead = [_instead(s, number.language) for s in Status]
        shown = [instead[s] or number.whole(v) for v, s in zip(values, status, strict=True)]
        below = self._below(part, number)
        if below is None:
            return [f"{a}{b}{_CLOSING[s]}" for a, b, s in zip(opened, shown, status, strict=True)]
        rows = zip(opened, shown, status, below, strict=True)
        return [f"{a}{b}{_RAISE[s]}{c}</td>" for a, b, s, c in rows]

    def _below(self, part: slice, number: _Texts) -> list[str] | None:
        """What stands under each number: its percentage, its interval; None where nothing does."""
        flat, columns = self.flat, []
        if flat.percent is not None:
            made = flat.percent
            shares = zip(made.values[part].tolist(), made.shown[part].tolist(), strict=True)
            columns.append(
                [f"<br>{number.part(v, made.decimals)} %" if s else "" for v, s in shares]
            )
        if self.window.intervals and flat.lower is not None and flat.upper is not None:
            ends = (flat.lower[part].tolist(), flat.upper[part].tolist(), flat.shown[part].tolist())
            columns.append(list(starmap(number.interval, zip(*ends, strict=True))))
        return list(map("".join, zip(*columns, strict=True))) if columns else None

    @cached_property
    def _sums(self) -> npt.NDArray[np.bool_]:
        return in_totals(self.flat.axes)

    @cached_property
    def _heat(self) -> npt.NDArray[np.int64]:
        return warmth(self.flat)


def in_totals(axes: Sequence[FlatAxis], first: int = 0) -> npt.NDArray[np.bool_]:
    """The cells in a total over a variable; only over those from the `first` axis on."""
    mask = np.zeros(tuple(map(len, axes)), dtype=np.bool_)
    for i, axis in enumerate(axes):
        if axis.total and i >= first:
            mask[last(i, mask.ndim)] = True
    return mask.reshape(-1)


def warmth(flat: Flat) -> npt.NDArray[np.int64]:
    """A step from 0 to 9 for every cell inside the totals: its root beside the largest."""
    percent = flat.percent
    inside = flat.shown & (flat.status != Status.UNRELIABLE) & ~in_totals(flat.axes)
    numbers = flat.values.astype(np.float64) if percent is None else percent.values
    most = float(numbers[inside].max(initial=0.0))
    steps = np.zeros(len(flat), dtype=np.int64)
    if most > 0:
        share = np.clip(numbers, 0, most) / most
        steps = np.ceil(9 * np.sqrt(share) - 0.5).astype(np.int64).clip(0, 9)
    steps[~inside] = 0
    return steps


def _column_head(axis: FlatAxis, at: int, scope: str) -> str:
    return f"<th {scope}>{escape(axis.labels[at])}</th>"


class _Texts:
    """Numbers as a language writes them, each made once."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._spoken = catalogue(language_of(language))
        self._between = say("{low} to {high}", low="\0", high="\0").says(language).strip("\0")
        self.whole: Callable[[int], str] = cache(self._whole)
        self.part: Callable[[float, int], str] = cache(self._part)
        self.interval: Callable[[int, int, bool], str] = cache(self._interval)

    def _whole(self, value: int) -> str:
        return self._spoken.number(f"{value:,}").replace("-", "\N{MINUS SIGN}")

    def _part(self, value: float, decimals: int) -> str:
        return self._spoken.number(f"{value:.{decimals}f}")

    def _interval(self, low: int, high: int, shown: bool) -> str:
        if not shown or low == high:
            return ""
        between = escape(self._between) if low < 0 else "\N{EN DASH}"
        return f"<small>{self.whole(low)}{between}{self.whole(high)}</small>"


def _opening(status: int, total: bool, heat: int) -> str:
    kinds = ["sum"] if total else []
    kinds += ["u"] if status == Status.UNRELIABLE else ["off"] if _OFF[status] else []
    kinds += [f"h{heat}"] if heat else []
    return f'<td class="{" ".join(kinds)}">' if kinds else "<td>"


def _instead(status: Status, language: str) -> str:
    """What stands in place of a number that is not published."""
    if status.has_value and status is not Status.STRUCTURAL_ZERO:
        return ""
    if status is Status.STRUCTURAL_ZERO:
        return MARKS[status]
    return f'<abbr title="{escape(status.meaning.says(language))}">{MARKS[status]}</abbr>'


_OFF = [bool(_instead(status, "")) for status in Status]
_RAISE = [f"<sup>{RAISED[s]}</sup>" if s in RAISED else "" for s in Status]
_CLOSING = [f"{raised}</td>" for raised in _RAISE]


def last(axis: int, many: int) -> tuple[slice, ...]:
    """An index of the total of one axis."""
    return tuple(slice(-1, None) if i == axis else slice(None) for i in range(many))


def _notes(said: list[Note], language: str) -> str:
    """The first depth as lines; the rest folded."""
    lines = "".join(f"<p>{escape(note.words)}</p>" for note in said if note.depth == 1)
    rest = [f"<p>{escape(note.words)}</p>" for note in said if note.depth > 1]
    if not rest:
        return lines
    many = counted("{n} more note", "{n} more notes", len(rest)).says(language)
    return f"{lines}<details><summary>{escape(many)}</summary>{''.join(rest)}</details>"
