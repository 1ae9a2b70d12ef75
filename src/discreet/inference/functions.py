"""Ratios, shares and odds ratios: true counts drawn from what the released numbers leave possible.

Each true count is drawn from its exact conditional law given its released symbol, with every count as
likely beforehand as any other; for sampling intervals its rate from a Gamma(count + ½) law. The
draws have a seed made from what was released, so the same table gives the same interval. At means of
15 and more such intervals hold in 92.5 to 97.5 % of cases at level 95 %; below they err on the long side.
Totals of many cells are never drawn so: a flat prior on each would bias their sum.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.exact import Exact
from ..core.table import ProtectedTable
from ..errors import CannotConclude, InputError
from ..languages import number, say
from .answer import Answer, capital
from .channel import Additive, Channel, Reals
from .evidence import Place, Reading, require_counts
from .intervals import KINDS, Cell, read_level
from .sums import combination, nested, overlapping

DRAWS, _MOST_DRAWS, _BEYOND = 4000, 2_000_000, 10
"""At high levels more draws are made, so that about so many lie beyond either end."""
Part = tuple[int, Channel]
"""A released number and the channel it came through."""


def ratio(
    table: ProtectedTable, a: Cell, b: Cell, kind: str = "sampling", level: Exact = "0.95"
) -> Answer:
    """a / b, of two cells without common records."""
    reading = _reading(table)
    one, other = reading.place(a), reading.place(b)
    _require_apart(reading, [one, other])
    parts = [_part(reading, one), _part(reading, other)]
    words = say(
        "{one} divided by {other}",
        one=capital(reading.cell_label(one)),
        other=reading.cell_label(other),
    )
    return _drawn(parts, lambda x: x[0] / divisor(x[1]), words, "ratio", kind, level)


def share(
    table: ProtectedTable,
    a: Cell,
    of: Cell | None = None,
    kind: str = "noise",
    level: Exact = "0.95",
) -> Answer:
    """The share of a cell in a total that holds it (the whole table's, unless `of` names one)."""
    reading = _reading(table)
    one, whole = reading.place(a), reading.place(of or {})
    if not nested(whole, one) or one == whole:
        raise InputError(
            say(
                "{whole} must hold {one} and more; for two cells beside each other ask for their "
                "ratio.",
                whole=reading.cell_label(whole),
                one=reading.cell_label(one),
            )
        )
    parts = [_part(reading, one), _rest(reading, one, whole)]
    words = say(
        "The share of {one} in {whole}",
        one=reading.cell_label(one),
        whole=reading.cell_label(whole),
    )
    return _drawn(parts, lambda x: x[0] / (x[0] + x[1]), words, "share", kind, level)


def odds_ratio(
    table: ProtectedTable, a: Cell, b: Cell, c: Cell, d: Cell, kind: str = "sampling",
    level: Exact = "0.95",
) -> Answer:  # fmt: skip
    """(a / b) / (c / d), of four cells without common records."""
    reading = _reading(table)
    places = [reading.place(cell) for cell in (a, b, c, d)]
    _require_apart(reading, places)
    parts = [_part(reading, place) for place in places]
    named = [reading.cell_label(place) for place in places]
    words = say(
        "The odds ratio of {a} to {b} against {c} to {d}",
        **dict(zip("abcd", named, strict=True)),
    )

    def odds(x: Reals) -> Reals:
        return np.asarray(x[0] * x[3] / (divisor(x[1]) * divisor(x[2])))

    return _drawn(parts, odds, words, "odds ratio", kind, level)


def _reading(table: ProtectedTable) -> Reading:
    require_counts(table)
    return Reading(table)


def _part(reading: Reading, place: Place) -> Part:
    return reading.symbol(place), reading.channel(place)


def _rest(reading: Reading, one: Place, whole: Place) -> Part:
    """What a total holds beside one of its cells, as a number with noise of its own."""
    if reading.law.shared == "keys":
        others = _siblings(reading, one, whole)
        if len(others) == 1:
            return _part(reading, others[0])
        raise CannotConclude(
            say(
                "{one} and its total may share cell keys, so their share has no law that was "
                "published. Ask for a table with two categories: the cell and all others.",
                one=reading.cell_label(one),
            )
        )
    rest = combination(reading, {whole: 1, one: -1})
    return rest.value, Additive(rest.start, rest.masses)


def _siblings(reading: Reading, one: Place, whole: Place) -> list[Place]:
    """The other cells of a total that differs from a cell in one axis only."""
    free = [axis for axis, at in enumerate(whole) if at is None and one[axis] is not None]
    if len(free) != 1:
        return []
    (axis,) = free
    return [
        (*one[:axis], at, *one[axis + 1 :]) for at in range(reading.shape[axis]) if at != one[axis]
    ]


def _require_apart(reading: Reading, places: Sequence[Place]) -> None:
    for at, one in enumerate(places):
        for other in places[at + 1 :]:
            if overlapping(one, other):
                raise InputError(
                    say(
                        "{one} and {other} have records in common; name cells beside each other, "
                        "or ask for a share.",
                        one=reading.cell_label(one),
                        other=reading.cell_label(other),
                    )
                )


def _drawn(
    parts: Sequence[Part],
    function: Callable[[Reals], Reals],
    words: str,
    name: str,
    kind: str,
    level: Exact,
) -> Answer:
    """The answer for a function of cells, from draws."""
    if kind not in KINDS:
        raise InputError(
            say("kind must be noise or sampling, got {kind}.", kind=repr(str(kind)[:40]))
        )
    wanted = read_level(level)
    draws = draws_for(wanted)
    counts = draw_counts(parts, seed_of(parts), draws)
    values = np.maximum(counts, 1e-9) if name == "share" else counts
    if kind == "sampling":
        values = np.random.default_rng(seed_of(parts) + 1).gamma(counts + 0.5)
    found = np.sort(function(values))
    lower, middle, upper = quantiles(found, wanted)
    about = (
        say("what was counted (noise interval)")
        if kind == "noise"
        else say("the rates behind it (sampling interval, noise and chance)")
    )
    low, high = apart(lower, upper)
    sentence = say(
        "{words} lies between {low} and {high}, about {about}; level {level} %.",
        words=words,
        low=number(low),
        high=number(high),
        about=about,
        level=number(f"{100 * wanted:.6g}"),
    )
    numbers: dict[str, Any] = {
        "function": name,
        "kind": kind,
        "level": wanted,
        "lower": lower,
        "upper": upper,
        "middle": middle,
    }
    if name == "share":
        numbers["percent"] = [100 * lower, 100 * upper]
    caveats = (
        say(
            "From {draws} draws of the true counts given the released numbers, every count as "
            "likely beforehand as any other; at small counts it errs on the long side.",
            draws=draws,
        ),
    )
    return Answer(sentence, numbers, caveats)


def apart(low: float, high: float) -> tuple[str, str]:
    """Two ends in as many digits as tell them apart, three at least.

    >>> apart(0.50324, 0.50329), apart(1.0, 2.0)
    (('0.5032', '0.5033'), ('1', '2'))
    """
    texts = [(f"{low:.{digits}g}", f"{high:.{digits}g}") for digits in range(3, 13)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[-1])


def draws_for(level: float) -> int:
    """How many draws the ends of an interval need.

    >>> draws_for(0.95), draws_for(0.999)
    (4000, 20000)
    """
    needed = math.ceil(2 * _BEYOND / (1 - level) * (1 - 1e-9))
    if needed > _MOST_DRAWS:
        raise InputError(
            say(
                "Ratios, shares and odds ratios have levels up to {most}, got {level}.",
                most=number(f"{1 - 2 * _BEYOND / _MOST_DRAWS:.12g}"),
                level=number(f"{level:.12g}"),
            )
        )
    return max(DRAWS, needed)


def divisor(counts: Reals) -> Reals:
    """Counts as they are, and ½ for 0, by which nothing can be divided."""
    return np.where(counts > 0, counts, 0.5)


def draw_counts(parts: Sequence[Part], seed: int, draws: int = DRAWS) -> Reals:
    """True counts given released symbols, one row a part; a flat prior on 0, 1, 2, …"""
    random = np.random.default_rng(seed)
    rows = []
    for symbol, channel in parts:
        first, weights = channel.weights(symbol)
        total = np.cumsum(weights)
        # strata of equal probability: quantiles of one cell come out nearly exact
        spread = random.permutation((np.arange(draws) + random.random(draws)) / draws)
        rows.append(first + np.searchsorted(total / total[-1], spread, side="right"))
    return np.array(rows, dtype=np.float64)


def quantiles(values: Reals, level: float) -> tuple[float, float, float]:
    """Lower end, middle and upper end of sorted draws: at most (1 − level)/2 lie beyond either end."""
    many = len(values)
    beyond = int(np.floor((1 - level) / 2 * many))
    return float(values[beyond]), float(values[many // 2]), float(values[many - 1 - beyond])


def seed_of(parts: Sequence[Part]) -> int:
    """From what was released alone."""
    text = ",".join(f"{symbol}:{channel.sd:.12g}" for symbol, channel in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
