"""Intervals of cells, totals and sums, always named: *noise* (what was counted) or *sampling*."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.exact import Exact, exact, plain
from ..core.table import Noise, ProtectedTable, Status
from ..errors import CannotConclude, InputError
from ..languages import number, say
from .answer import Answer
from .cell_sets import cell_range, shortest_window, symmetric_window
from .channel import HIDDEN, LOW, Additive, Channel
from .correlated import Estimates, is_fitted
from .evidence import Place, Reading, require_cells, require_counts
from .rates import rate_range
from .sums import combination

Cell = Mapping[str, str]
KINDS = ("noise", "sampling")


def read_level(level: Exact) -> float:
    """A level between 0 and 1 that has tails which are known."""
    number = exact(level, "level", above=0, below=1)
    if number > 1 - exact("1e-9", "level"):
        raise InputError(
            say("The level must be at most 1 - 1e-9, got {plain}.", plain=plain(number))
        )
    return float(number)


def interval(
    table: ProtectedTable, cell: Cell, kind: str = "noise", level: Exact = "0.95"
) -> Answer:
    """The interval of one cell or total, by axis names and categories.

    noise: the count in the data, from the law alone. sampling: the expected number behind it, from
    the law and the chance of a count.
    """
    if kind not in KINDS:
        raise InputError(
            say("kind must be noise or sampling, got {kind}.", kind=repr(str(kind)[:40]))
        )
    share = read_level(level)
    reading = Reading(table)
    place = reading.place(cell)
    return (_noise if kind == "noise" else _sampling)(reading, place, share)


def shown_symbol(reading: Reading, place: Place) -> int | str:
    """What a cell shows, as people read it."""
    symbol = reading.symbol(place)
    return {HIDDEN: "hidden", LOW: "low"}.get(symbol, symbol)


def _noise(reading: Reading, place: Place, level: float) -> Answer:
    if is_fitted(reading):
        return _fitted(reading, place, level)
    if reading.table.law.unit != 1:
        return _weighted(reading, place, level)
    channel, symbol = reading.channel(place, cut=True), reading.symbol(place)
    found = cell_range(channel, symbol, level)
    numbers = _numbers(reading, place, "noise", level)
    numbers |= {"lower": found.lower, "upper": found.upper, "noise_sd": channel.sd}
    caveats = [
        say("It speaks of the noise only: of what was counted, not of what could have happened.")
    ]
    if channel.most is not None and found.upper >= channel.most:
        return _without_end(reading, place, numbers, caveats, channel.most)
    if isinstance(channel, Additive) and channel.variance > 0:
        short = cell_range(channel, symbol, level, shortest=True)
        numbers["shortest"] = [short.lower, short.upper]
        if short.size < found.size:
            caveats.append(
                say(
                    "A shorter interval that is as safe, {lower} to {upper}, is not symmetric: it "
                    "reaches further up than down.",
                    lower=short.lower,
                    upper=short.upper,
                )
            )
    sentence = say(
        "The count of {place} in the data was between {lower} and {upper} (noise interval; holds "
        "in at least {share} of releases).",
        place=reading.cell_label(place),
        lower=found.lower,
        upper=found.upper,
        share=_share(level),
    )
    return Answer(sentence, numbers, tuple(caveats))


def _without_end(
    reading: Reading, place: Place, numbers: dict[str, Any], caveats: Sequence[str], most: int
) -> Answer:
    """The interval of a cell that may hold more than the largest count told from larger ones."""
    sentence = say(
        "The count of {place} in the data was {lower} or more (noise interval; holds in at least "
        "{share} of releases).",
        place=reading.cell_label(place),
        lower=numbers["lower"],
        share=_share(numbers["level"]),
    )
    cut = say("In this table a count above {most} is published as if it were {most}.", most=most)
    return Answer(sentence, {**numbers, "upper": None}, (*caveats, cut))


def _fitted(reading: Reading, place: Place, level: float) -> Answer:
    """An estimate from several tables: its standard deviation comes from their covariance."""
    estimates = Estimates(reading)
    value, variance = estimates.value(place), estimates.variance(place)
    half = estimates.half_width(variance, level)
    low, high = max(math.floor(value - half), 0), max(math.ceil(value + half), 0)
    numbers = _numbers(reading, place, "noise", level)
    numbers |= {"released": value, "lower": low, "upper": high, "noise_sd": variance**0.5}
    return Answer(
        say(
            "The count of {place} in the data was between {low} and {high} (noise interval of a "
            "fitted estimate; holds in about {share} of releases).",
            place=reading.cell_label(place),
            low=low,
            high=high,
            share=_share(level),
        ),
        numbers,
        (
            say(
                "The number is an estimate from several measured tables; its interval is "
                "approximate."
            ),
        ),
    )


def _weighted(reading: Reading, place: Place, level: float) -> Answer:
    """A weighted count with drawn noise: values are in units of 1/unit, rounded half up."""
    require_cells(reading.law)
    part, summed = reading.margin(place)
    unit = reading.law.unit
    value = reading.symbol(place)
    if not isinstance(value, int) or reading.law.negatives != "keep":
        raise CannotConclude(
            say("Small weighted counts of this table are cut; only its stated intervals hold.")
        )
    law = None if part.source is None else reading.law.sources[part.source].law
    half = 0 if law is None or summed == 0 else law.for_count(0).half_width(str(level), summed)
    reach = -(-half // unit) + 1
    numbers = _numbers(reading, place, "noise", level)
    numbers |= {"lower": value - reach, "upper": value + reach}
    return Answer(
        say(
            "The weighted count of {place} was between {value} and {value_2} (noise interval; "
            "holds in at least {share} of releases).",
            place=reading.cell_label(place),
            value=value - reach,
            value_2=value + reach,
            share=_share(level),
        ),
        numbers,
        (say("It speaks of the noise only, not of sampling error."),),
    )


def _sampling(reading: Reading, place: Place, level: float) -> Answer:
    require_counts(reading.table)
    channel, symbol = reading.channel(place), reading.symbol(place)
    low, high = rate_range(channel, symbol, level)
    numbers = _numbers(reading, place, "sampling", level)
    numbers |= {"lower": low, "upper": high, "noise_sd": channel.sd}
    sentence = say(
        "If the same conditions held again, the expected number of {place} lies between {low} and "
        "{high} (sampling interval, noise and chance; level {share}).",
        place=reading.cell_label(place),
        low=number(f"{low:,.1f}"),
        high=number(f"{high:,.1f}"),
        share=_share(level),
    )
    return Answer(
        sentence,
        numbers,
        (say("Chance is taken to be that of a Poisson count; it is exact on the safe side."),),
    )


def rate(table: ProtectedTable, cell: Cell, exposure: Exact = 1, level: Exact = "0.95") -> Answer:
    """The sampling interval of a cell's rate per unit of exposure (a population, say)."""
    size = float(exact(exposure, "exposure", above=0))
    found = interval(table, cell, "sampling", level)
    low, high = found.lower / size, found.upper / size
    numbers = {**found.numbers, "exposure": size, "lower": low, "upper": high}
    return Answer(
        say(
            "The rate of {cell} lies between {low} and {high} per unit of exposure (sampling "
            "interval, noise and chance; level {share}).",
            cell=found.cell,
            low=number(f"{low:.4g}"),
            high=number(f"{high:.4g}"),
            share=_share(found.level),
        ),
        numbers,
        found.caveats,
    )


def total(
    table: ProtectedTable, cells: Sequence[Cell], level: Exact = "0.95", factors: Sequence[int] = ()
) -> Answer:
    """The noise interval of a sum of cells (or of differences, with factors −1), exact."""
    share = read_level(level)
    reading = Reading(table)
    if table.law.unit != 1:
        require_counts(table)
    wanted: dict[Place, int] = {}
    for place, factor in zip(
        (reading.place(cell) for cell in cells), factors or [1] * len(cells), strict=True
    ):
        wanted[place] = wanted.get(place, 0) + factor
    found = combination(reading, wanted)
    lower, upper = window_around(found.value, found.start, found.masses, share)
    named = " + ".join(reading.cell_label(place) for place in wanted)
    numbers: dict[str, Any] = {
        "value": found.value,
        "kind": "noise",
        "level": share,
        "lower": lower,
        "upper": upper,
        "noise_sd": found.sd,
    }
    return Answer(
        say(
            "Together {named} were between {lower} and {upper} in the data (noise interval; holds "
            "in at least {share} of releases).",
            named=named,
            lower=lower,
            upper=upper,
            share=_share(share),
        ),
        numbers,
        (say("Draws that cells share were counted once; the law of the sum is exact."),),
    )


def window_around(value: int, start: int, masses: Any, level: float) -> tuple[int, int]:
    """The values a sum may have without noise: symmetric where the law is."""
    low, high = symmetric_window(start, masses, level)
    if low < start - 1 or high > start + len(masses):
        low, high = shortest_window(start, masses, level)
    return value - high, value - low


def with_level(table: ProtectedTable, level: Exact) -> ProtectedTable:
    """The same table with the noise intervals of every cell at another level."""
    number = exact(level, "level", above=0, below=1)
    if table.noise is not None and table.noise.coverage == number:
        return table
    share, reading = read_level(level), Reading(table)
    require_cells(table.law)
    require_counts(table)
    lower, upper = table.values.copy(), table.values.copy()
    known: dict[tuple[Channel, int], tuple[int, int]] = {}
    for index in np.ndindex(*table.shape):
        status = Status(int(table.status[index]))
        place = tuple(None if at == n else at for at, n in zip(index, reading.shape, strict=True))
        if status.has_value and status is not Status.STRUCTURAL_ZERO:
            key = (
                reading.channel(place, cut=True),
                reading.symbol(place),
            )  # a note says where it ends
            if key not in known:
                found = cell_range(*key, share)
                known[key] = found.lower, found.upper
            lower[index], upper[index] = known[key]
    sd = np.zeros(table.shape) if table.noise is None else table.noise.sd
    return replace(table, noise=Noise(sd, lower, upper, number))


def _numbers(reading: Reading, place: Place, kind: str, level: float) -> dict[str, Any]:
    return {
        "cell": reading.cell_label(place),
        "released": shown_symbol(reading, place),
        "kind": kind,
        "level": level,
    }


def _share(level: float) -> str:
    return say("{share} %", share=number(f"{100 * level:.6g}"))
