"""Two cells side by side: is one higher, or may that be noise?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import DiscreetError
from ..inference.questions import answer
from ..languages import Number, Sentence, counted, number, say, together
from .grid import Grid, cell_codes

LEVEL = 0.05


@dataclass(frozen=True)
class Side:
    """One of the two cells."""

    letter: str
    labels: tuple[str, ...]
    value: str
    interval: str
    at: tuple[int, int, int]
    """Its number and the ends of its noise interval."""


@dataclass(frozen=True)
class Compared:
    """What may be said of two cells."""

    sides: tuple[Side, ...]
    kind: str
    """yes: not noise; maybe: cannot tell; none: cannot be compared."""
    words: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]

    @property
    def _room(self) -> tuple[int, int]:
        low = min(side.at[1] for side in self.sides)
        return low, max(*(side.at[2] for side in self.sides), low + 1)

    def _x(self, value: int) -> float:
        """Where a number stands in a picture 280 wide."""
        low, high = self._room
        return round(12 + 256 * (value - low) / (high - low), 1)

    @property
    def ticks(self) -> list[tuple[float, Number]]:
        """Round numbers under the picture."""
        low, high = self._room
        step = next(
            n * 10**k for k in range(20) for n in (1, 2, 5) if (high - low) // (n * 10**k) <= 4
        )
        first = -(-low // step) * step
        return [(self._x(at), number(f"{at:,}")) for at in range(first, high + 1, step)]

    @property
    def said(self) -> Sentence:
        """The answer as one text to copy: what was compared, and what may be said."""
        told = [
            together(f"{side.letter}:", ", ".join(side.labels), f"({side.value})")
            for side in self.sides
        ]
        return together(together(*told, between="; "), self.words, *self.sentences, between=" ")

    @property
    def marks(self) -> list[dict[str, Any]]:
        """Where ranges and numbers stand in the picture."""

        return [
            {
                "letter": side.letter,
                "x": self._x(side.at[0]),
                "from": self._x(side.at[1]),
                "to": self._x(side.at[2]),
            }
            for side in self.sides
        ]


def compared(grid: Grid, a: str, b: str) -> Compared | None:
    """What the noise of the table allows to say of two of its cells; None where one is not there."""
    cells = [grid.cell(cell_codes(text)) for text in (a, b)]
    if cells[0] is None or cells[1] is None or cells[0] == cells[1]:
        return None
    sides = tuple(
        _side(grid, letter, cell)
        for letter, cell in zip("AB", cells, strict=True)
        if cell is not None
    )
    if not all(grid.flat.shown[cell] for cell in cells):
        words = say("These two cannot be compared: one is withheld.")
        return Compared(sides, "none", words, (), ())
    named = [
        {axis.name: code for axis, code in zip(grid.axes, grid.codes_at(cell), strict=True)}
        for cell in cells
        if cell is not None
    ]
    if grid.flat.lower is None:
        return _exact(sides)
    try:
        found = answer(grid.table, "difference", {"a": named[0], "b": named[1]})
    except DiscreetError as error:
        return Compared(sides, "none", say("These two cannot be compared."), (error.message,), ())
    return _judged(sides, found.numbers, tuple(found.caveats), grid)


def _side(grid: Grid, letter: str, cell: int) -> Side:
    flat, value = grid.flat, int(grid.flat.values[cell])
    ends = (value, value)
    if flat.lower is not None and flat.upper is not None:
        ends = int(flat.lower[cell]), int(flat.upper[cell])
    shown = grid.look.whole(value) if flat.shown[cell] else "✱"
    return Side(letter, grid.labels_at(cell), shown, grid.interval(cell), (value, *ends))


def _exact(sides: tuple[Side, ...]) -> Compared:
    a, b = (side.at[0] for side in sides)
    words = say("Both are the same.") if a == b else _higher(a > b)
    return Compared(sides, "yes", words, (), (say("These counts carry no noise."),))


def _higher(first: bool) -> str:
    if first:
        return say("A is higher, and that is not noise.")
    return say("B is higher, and that is not noise.")


def _judged(
    sides: tuple[Side, ...], numbers: Any, caveats: tuple[str, ...], grid: Grid
) -> Compared:
    a, b = (side.at[0] for side in sides)
    p, whole = float(numbers["p_same_count"]), grid.look.whole
    real = p < LEVEL and a != b
    words = _higher(a > b) if real else say("Cannot tell: this may be noise.")
    sentences = []
    low, high = numbers.get("lower"), numbers.get("upper")
    if low is not None and high is not None:
        ends = sorted((int(low), int(high))) if a >= b else sorted((-int(high), -int(low)))
        sentences.append(
            say(
                "The gap is {gap}. Without noise it lies between {low} and {high} in at least 95 of "
                "100 releases.",
                gap=number(whole(abs(a - b))),
                low=number(whole(ends[0])),
                high=number(whole(ends[1])),
            )
        )
    times = round(p * 10_000)
    if times < 1:
        often = say(
            "Were the two counts equal, noise alone would hardly ever open a gap this wide."
        )
    else:
        often = counted(
            "Were the two counts equal, noise alone would open a gap this wide {n} time in 10,000.",
            "Were the two counts equal, noise alone would open a gap this wide {n} times in 10,000.",
            times,
        )
    rate = float(numbers.get("p_same_rate") or 1.0)
    by_chance = (
        say("Counting chance as well as noise, the two rates differ too.")
        if rate < LEVEL
        else say("Counting chance as well as noise, the two rates may be the same.")
    )
    told = (
        say("The first speaks of these counts and their noise, the last of rates behind them."),
        *caveats,
    )
    return Compared(sides, "yes" if real else "maybe", words, (*sentences, often, by_chance), told)
