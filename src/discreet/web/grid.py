"""A protected table in the cells of a page: numbers, marks, intervals, percentages, warmth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape

import numpy as np
import numpy.typing as npt

from ..core.table import ProtectedTable, Status
from ..formats.flat import FlatAxis, flatten
from ..formats.html import RAISED, in_totals, warmth
from ..formats.percent import axes_added
from .heads import Heads

INSTEAD = {
    Status.LOW: "[low]",
    Status.BELOW_THRESHOLD: "[c]",
    Status.SUPPRESSED: "✱",
    Status.NOT_RELEASED: "[x]",
}


@dataclass(frozen=True)
class Look:
    """How a table is shown on this page."""

    intervals: bool = False
    heat: bool = False
    begin: int = 0
    pins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Cells with a letter, by their codes."""
    choose: bool = False
    """Whether cells can be ticked, to compare two of them."""
    decimals: int = 1
    measure: str = ""
    everything: str = ""
    meanings: Mapping[Status, str] = field(default_factory=dict)
    """What stands behind a mark that takes the place of a number."""
    orders: Callable[[FlatAxis, str], tuple[str, str]] | None = None
    """Where a column's head leads, and how rows are sorted by it."""
    thousands: str = ","
    decimal: str = "."
    to: str = " to "

    def whole(self, number: int) -> str:
        """A whole number as people read it, with a true minus.

        >>> Look().whole(-1234), Look(thousands=".").whole(1234)
        ('−1,234', '1.234')
        """
        text = f"{number:,}"
        if self.thousands != ",":
            text = text.replace(",", self.thousands)
        return f"−{text[1:]}" if number < 0 else text

    def part(self, value: float, places: int = 1) -> str:
        """A number with decimals."""
        text = f"{value:.{places}f}"
        return text if self.decimal == "." else text.replace(".", self.decimal)

    def spread(self, low: int, high: int) -> str:
        """An interval; "to" where a minus would stand beside a dash.

        >>> Look().spread(80, 140), Look().spread(-28, 32)
        ('80–140', '−28 to 32')
        """
        return f"{self.whole(low)}{self.to if low < 0 else '–'}{self.whole(high)}"


class Grid(Heads):
    """A table laid out for a page."""

    def __init__(self, table: ProtectedTable, look: Look | None = None) -> None:
        self.table, self.look = table, look or Look()
        self.flat = flatten(table)
        places = self.flat.percent.decimals if self.flat.percent is not None else 0
        self.look = replace(self.look, decimals=places)
        self.noted = self.look.intervals
        super().__init__(
            _brief(table, self.flat.axes),
            table.sides,
            begin=self.look.begin,
            measure=self.look.measure or self.flat.measure,
            everything=self.look.everything,
            orders=self.look.orders,
        )

    def texts(self, begin: int, end: int) -> list[str]:
        """The cells from `begin` to `end`, each a whole table cell."""
        flat, look = self.flat, self.look
        values, status = flat.values[begin:end].tolist(), flat.status[begin:end].tolist()
        sums = self._sums[begin:end].tolist()
        heat = self._heat[begin:end].tolist() if look.heat else [0] * len(values)
        plain = flat.percent is None and not (look.intervals or look.choose or self._pinned)
        out = []
        for i, (value, code) in enumerate(zip(values, status, strict=True)):
            kinds = ["sum"] if sums[i] else []
            if code in INSTEAD:
                kinds.append("off")
                text = f'<abbr title="{escape(self._meaning(code))}">{INSTEAD[code]}</abbr>'
            else:
                text = look.whole(value) if plain else self._number(begin + i, value)
                if code in RAISED:
                    text = text.replace("<small>", f"<sup>{RAISED[code]}</sup><small>", 1)
                    text += "" if "<sup>" in text else f"<sup>{RAISED[code]}</sup>"
                    kinds += ["u"] if code == Status.UNRELIABLE else []
                kinds += [f"h{heat[i]}"] if heat[i] else []
            if not plain:
                text = self._marked(begin + i, text, kinds)
            kind = f' class="{" ".join(kinds)}"' if kinds else ""
            out.append(f"<td{kind}>{text}</td>")
        return out

    def _meaning(self, code: int) -> str:
        status = Status(code)
        return self.look.meanings.get(status, status.meaning)

    def _number(self, cell: int, value: int) -> str:
        base = self.flat.percent is None or bool(self._base[cell])
        text = self.look.whole(value) if base else self.part(cell)
        if not self.look.intervals:
            return text
        interval = self.interval(cell) if base else self._part_interval(cell)
        return f"{text}<small>{interval}</small>" if interval else text

    def part(self, cell: int) -> str:
        """A percentage; where no decimals are shown, one below 1 says so."""
        percent, places = self.flat.percent, self.look.decimals
        if percent is None or not percent.shown[cell]:
            return "–"
        value = float(percent.values[cell])
        return "&lt;1" if not places and 0 < value < 0.5 else self.look.part(value, places)

    def interval(self, cell: int) -> str:
        """The noise interval of a cell; empty where there is none or it says nothing."""
        flat = self.flat
        if flat.lower is None or flat.upper is None or not flat.shown[cell]:
            return ""
        low, high = int(flat.lower[cell]), int(flat.upper[cell])
        return "" if low == high else self.look.spread(low, high)

    def _part_interval(self, cell: int) -> str:
        percent = self.flat.percent
        if percent is None or percent.lower is None or percent.upper is None:
            return ""
        low, high = float(percent.lower[cell]), float(percent.upper[cell])
        part = self.look.part
        return f"{part(low)}–{part(high)}" if percent.shown[cell] and low < high else ""

    def _marked(self, cell: int, text: str, kinds: list[str]) -> str:
        """The text with its letter where the cell is one of two, and a box to tick it."""
        if letter := self._pinned.get(cell):
            kinds.append("pin")
            text = f"<b>{letter}</b>{text}"
        if self.look.choose and self.flat.shown[cell]:
            named = escape(cell_name(self.codes_at(cell)))
            label = escape(", ".join(self.labels_at(cell)))
            box = f'<input type=checkbox name=cell value="{named}" aria-label="{label}">'
            text = f"<span class=choice>{box}<span>{text}</span></span>"
        return text

    @cached_property
    def _pinned(self) -> dict[int, str]:
        pins = {self.cell(codes): letter for letter, codes in self.look.pins.items()}
        return {cell: letter for cell, letter in pins.items() if cell is not None}

    # -- what is a total, and how warm a cell is --------------------------------------------

    @cached_property
    def _sums(self) -> npt.NDArray[np.bool_]:
        """The cells in a total over a column variable."""
        return in_totals(self.axes, self.down)

    @cached_property
    def _base(self) -> npt.NDArray[np.bool_]:
        """The cells that percentages are of: they keep their count."""
        mask = np.zeros(self.shape, dtype=np.bool_)
        percent = self.flat.percent
        if percent is not None:
            added = axes_added(percent.of, *self.table.sides)
            index = tuple(slice(-1, None) if i in added else slice(None) for i in range(mask.ndim))
            mask[index] = True
        return mask.reshape(-1)

    @cached_property
    def _heat(self) -> npt.NDArray[np.int64]:
        return warmth(self.flat)

    @property
    def unreliable(self) -> int:
        """How many cells are marked unreliable."""
        return int(np.count_nonzero(self.flat.status == Status.UNRELIABLE))

    @property
    def withheld(self) -> int:
        """How many cells have no published number."""
        return int(np.count_nonzero(~self.flat.shown))


def _brief(table: ProtectedTable, axes: Sequence[FlatAxis]) -> list[FlatAxis]:
    """The axes as a page heads them: short labels across, whole ones down."""
    layers, rows, _ = table.sides
    language, brief = table.layout.language, list(axes[: layers + rows])
    for i in range(layers + rows, len(axes)):
        labels = [c.brief(language) for c in table.domain.axes[i].level.categories]
        brief.append(replace(axes[i], labels=(*labels, *axes[i].labels[len(labels) :])))
    return brief


def cell_name(codes: Sequence[str]) -> str:
    """A cell in an address: its codes joined by commas, in quotes where one holds a mark.

    >>> cell_name(["E12", "25-34"]), cell_name(["a,b", "c"])
    ('E12,25-34', '"a,b","c"')
    """
    if all(code == code.strip() != "" and not {",", '"'} & set(code) for code in codes):
        return ",".join(codes)
    return ",".join('"' + code.replace('"', '""') + '"' for code in codes)


def cell_codes(text: str) -> tuple[str, ...]:
    """Reads what `cell_name` wrote.

    >>> cell_codes('"a,b","c"'), cell_codes("E12,25-34")
    (('a,b', 'c'), ('E12', '25-34'))
    """
    if not text.startswith('"'):
        return tuple(text.split(","))
    codes, rest = [], text
    while rest.startswith('"'):
        end = 1
        while end < len(rest) and not (rest[end] == '"' and rest[end + 1 : end + 2] != '"'):
            end += 2 if rest[end : end + 2] == '""' else 1
        codes.append(rest[1:end].replace('""', '"'))
        rest = rest[end + 1 :].removeprefix(",")
    return tuple(codes)
