"""Is this difference real? Two questions that may have two answers.

*Same count?* Could the noise alone have made two equal true counts look so different: exact from the
law. *Same rate?* Could noise and chance have made two equal rates look so: the difference of rates
has its exact law at the common rate that fits best, so small and noisy cells are judged fairly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..core.exact import Exact, exact
from ..core.table import ProtectedTable
from ..errors import CannotConclude, InputError
from ..languages import number, say
from .answer import Answer, p_text
from .channel import HIDDEN, LOW, Additive, ByCount, Channel, Reals, Whole
from .correlated import Estimates, is_fitted
from .evidence import Place, Reading, require_counts
from .intervals import Cell, read_level, window_around
from .likelihood import Cells
from .maximum import maximise
from .rates import LARGE, symbol_law
from .sums import combination, overlapping

LEVEL = 0.05
_SLACK = 1e-12


def difference(
    table: ProtectedTable,
    a: Cell,
    b: Cell,
    *,
    exposures: tuple[Exact, Exact] | None = None,
    level: Exact = "0.95",
) -> Answer:
    """Compare two cells, rows or areas; `exposures` are what their rates are of (populations, say)."""
    share = read_level(level)
    require_counts(table)
    reading = Reading(table)
    one, other = reading.place(a), reading.place(b)
    if overlapping(one, other):
        raise InputError(
            say(
                "{one} and {other} have records in common, so their difference is no comparison. "
                "Name two cells beside each other.",
                one=reading.cell_label(one),
                other=reading.cell_label(other),
            )
        )
    if is_fitted(reading):
        return _fitted(reading, one, other, share, exposures)
    symbols = reading.symbol(one), reading.symbol(other)
    channels = reading.channel(one), reading.channel(other)
    same_count = p_same_count(channels, symbols)
    sizes = _exposures(exposures)
    same_rate = p_same_rate(channels, symbols, sizes)
    numbers: dict[str, Any] = {
        "a": reading.cell_label(one),
        "b": reading.cell_label(other),
        "released": [_shown(symbol) for symbol in symbols],
        "p_same_count": same_count,
        "p_same_rate": same_rate,
        "exposures": None if exposures is None else list(sizes),
        "level": share,
    }
    caveats = list(_interval(reading, one, other, share, numbers))
    sentence = _sentence(numbers, exposures is not None)
    return Answer(sentence, numbers, tuple(caveats))


def _fitted(
    reading: Reading,
    one: Place,
    other: Place,
    level: float,
    exposures: tuple[Exact, Exact] | None,
) -> Answer:
    """Two estimates from several tables: by the covariance of their noise."""
    estimates = Estimates(reading)
    values = estimates.value(one), estimates.value(other)
    variance = estimates.variance(one, other)
    gap = values[0] - values[1]
    half = estimates.half_width(variance, level)
    sizes = _exposures(exposures)
    apart = values[0] / sizes[0] - values[1] / sizes[1]
    shares = 1 / sizes[0], 1 / sizes[1]
    common = (max(values[0], 0) + max(values[1], 0)) / sum(sizes)
    chance = estimates.variance(one, other, shares) + common * sum(shares)
    numbers: dict[str, Any] = {
        "a": reading.cell_label(one),
        "b": reading.cell_label(other),
        "released": list(values),
        "p_same_count": estimates.tail(gap, variance),
        "p_same_rate": _normal_tail(apart, chance**0.5),
        "exposures": None if exposures is None else list(sizes),
        "difference": gap,
        "lower": math.floor(gap - half),
        "upper": math.ceil(gap + half),
        "noise_sd": variance**0.5,
        "level": level,
    }
    caveats = (
        say(
            "These are estimates from several measured tables with correlated noise; their "
            "covariance was used, and the p-values are approximate."
        ),
    )
    return Answer(_sentence(numbers, exposures is not None), numbers, caveats)


def _normal_tail(gap: float, sd: float) -> float:
    """P(a normal number is as far from 0); 1 where there is no gap."""
    if not gap:
        return 1.0
    return float(2 * ndtr(-abs(gap) / sd)) if sd > 0 else 0.0


def p_same_count(channels: tuple[Channel, Channel], symbols: tuple[int, int]) -> float:
    """The largest probability, over equal true counts, of a gap between symbols as large as this."""
    gap = abs(_number(channels[0], symbols[0]) - _number(channels[1], symbols[1]))
    if all(isinstance(one, Additive) and _only_squeezed(one) for one in channels):
        start, masses = _difference(channels[0], channels[1])
        away = np.abs(np.arange(start, start + len(masses))) >= gap - _SLACK
        return min(float(masses[away].sum()), 1.0)
    windows = [one.weights(symbol) for one, symbol in zip(channels, symbols, strict=True)]
    first = min(low for low, _ in windows)
    last = max(low + len(weights) - 1 for low, weights in windows)
    counts = np.array(_common(first, last), dtype=np.int64)
    alike = np.stack([_likeness(one, counts) for one in channels])
    _, different = np.unique(alike, axis=1, return_index=True)  # counts with one law tell the same
    if all(isinstance(one, ByCount) and one.treatment.plain for one in channels):
        return _rows_tail(channels, alike[:, different], int(gap))
    return max(_gap_tail(channels, count, gap) for count in counts[different].tolist())


def _likeness(channel: Channel, counts: Whole) -> Whole:
    """The same for counts from which a channel makes the same gaps with the same probabilities."""
    rows = channel.row_numbers(counts) if isinstance(channel, ByCount) else np.zeros_like(counts)
    if channel.treatment.plain:
        return rows
    # a treatment may touch it: it is alike to none but itself
    return np.where(counts + channel.ends[0] <= channel.treatment.cut, -1 - counts, rows)


def _rows_tail(channels: tuple[Channel, Channel], rows: Whole, gap: int) -> float:
    """The largest `_gap_tail` of values shown as they are, by the rows of two p-tables.

    All pairs of rows at once find which may be the largest; those are then summed as ever.
    """
    one, other = channels
    assert isinstance(one, ByCount)
    assert isinstance(other, ByCount)
    if not gap:
        return 1.0
    noise = np.arange(-one.reach, one.reach + 1)
    last = 2 * other.reach + 1
    low = np.clip(noise - gap + other.reach + 1, 0, last)
    high = np.clip(noise + gap + other.reach, 0, last)
    below = other.summed[rows[1]]
    beyond = below[:, low] + (below[:, -1:] - below[:, high])
    masses = one.rows[rows[0]]
    rough = (masses * beyond).sum(1)
    near = np.flatnonzero(rough >= rough.max() * (1 - 1e-9) - 1e-300)
    held = [masses[at] > 0 for at in near]
    found = (masses[at][where] @ beyond[at][where] for at, where in zip(near, held, strict=True))
    return float(min(max(found), 1.0))


def _only_squeezed(channel: Channel) -> bool:
    """Whether a gap is never larger after the treatment: none, or negatives shown as 0."""
    treatment = channel.treatment
    hides = treatment.hidden_below is not None or treatment.display_floor is not None
    return not hides and not treatment.least


def _common(first: int, last: int) -> list[int]:
    """True counts to go through: all where they are few, else evenly many of them."""
    if last - first <= 400:
        return list(range(first, last + 1))
    return sorted({*range(first, first + 100), *np.linspace(first, last, 300).astype(int).tolist()})


def _gap_tail(channels: tuple[Channel, Channel], count: int, gap: float) -> float:
    """P(the symbols of two cells of this true count differ by at least so much)."""
    one, p = channels[0].row(count)
    other, q = (one, p) if channels[1] is channels[0] else channels[1].row(count)
    return _pairs_beyond(_numbers(channels[0], one), p, _numbers(channels[1], other), q, gap)


def _pairs_beyond(x: Reals, p: Reals, y: Reals, q: Reals, gap: float) -> float:
    """P(|x − y| ≥ gap) of two independent numbers."""
    order = np.argsort(y, kind="stable")
    y, below = y[order], np.concatenate([[0.0], np.cumsum(q[order])])
    low = below[np.searchsorted(y, x - gap + _SLACK, side="right")]
    high = below[-1] - below[np.searchsorted(y, x + gap - _SLACK, side="left")]
    if gap <= _SLACK:
        return 1.0
    return float(min(p @ (low + high), 1.0))


def _difference(one: Channel, other: Channel) -> tuple[int, Reals]:
    assert isinstance(one, Additive)
    assert isinstance(other, Additive)
    return one.start - other.ends[1], np.convolve(one.masses, other.masses[::-1])


def p_same_rate(
    channels: tuple[Channel, Channel],
    symbols: tuple[int, int],
    exposures: tuple[float, float] = (1.0, 1.0),
) -> float:
    """P(rates as far apart as these) at the common rate that fits best; exact there."""
    kinds = np.array([0, int(channels[0] is not channels[1])])
    cells = Cells(channels, kinds, np.array([symbols]))
    fit = maximise(cells, np.ones((2, 1)), np.log(np.array([exposures])))
    observed = [
        _number(one, symbol) / size
        for one, symbol, size in zip(channels, symbols, exposures, strict=True)
    ]
    if float(fit.means[0].max()) > LARGE:
        spread = sum(
            (mean + one.variance) / size**2
            for one, mean, size in zip(channels, fit.means[0].tolist(), exposures, strict=True)
        )
        return _normal_tail(observed[0] - observed[1], spread**0.5)
    laws = []
    found: dict[tuple[Channel, float], tuple[Whole, Reals]] = {}
    for one, mean, size in zip(channels, fit.means[0].tolist(), exposures, strict=True):
        if (one, mean) not in found:
            found[one, mean] = symbol_law(one, max(mean, 1e-9))
        shown, masses = found[one, mean]
        laws.append((_numbers(one, shown) / size, masses))
    (x, p), (y, q) = laws
    return _pairs_beyond(x, p, y, q, abs(observed[0] - observed[1]) * (1 - 1e-12))


def _number(channel: Channel, symbol: int) -> float:
    """A symbol as a number; a cell without one stands at the middle of what is not shown."""
    return channel.treatment.cut / 2 if symbol <= LOW else float(symbol)


def _numbers(channel: Channel, symbols: Whole) -> Reals:
    """`_number` of many symbols."""
    return np.where(symbols <= LOW, channel.treatment.cut / 2, symbols.astype(np.float64))


def _shown(symbol: int) -> int | str:
    return {HIDDEN: "hidden", LOW: "low"}.get(symbol, symbol)


def _exposures(exposures: tuple[Exact, Exact] | None) -> tuple[float, float]:
    if exposures is None:
        return 1.0, 1.0
    one, other = (float(exact(size, "exposure", above=0)) for size in exposures)
    return one, other


def _interval(
    reading: Reading, one: Place, other: Place, level: float, numbers: dict[str, Any]
) -> list[str]:
    """The noise interval of the difference where its law is exact."""
    try:
        found = combination(reading, {one: 1, other: -1})
    except CannotConclude as why:
        return [say("The difference has no exact interval. {message}", message=why.message)]
    lower, upper = window_around(found.value, found.start, found.masses, level)
    numbers |= {"difference": found.value, "lower": lower, "upper": upper, "noise_sd": found.sd}
    return [
        say(
            "In the data they differed by {lower} to {upper} (noise interval of the difference, "
            "level {value} %).",
            lower=lower,
            upper=upper,
            value=number(f"{100 * level:.6g}"),
        )
    ]


def _sentence(numbers: dict[str, Any], exposed: bool) -> str:
    count, rate = numbers["p_same_count"], numbers["p_same_rate"]
    a, b = numbers["a"], numbers["b"]
    values = {"a": a, "b": b, "count": p_text(count), "rate": p_text(rate)}
    values["rates"] = (
        say("the rates behind them (per exposure)") if exposed else say("the rates behind them")
    )
    if count <= LEVEL and rate <= LEVEL:
        return say(
            "{a} and {b} really differ in the data ({count}), and {rates} differ too ({rate}).",
            **values,
        )
    if count <= LEVEL:
        return say(
            "{a} and {b} really differ in the data ({count}), but {rates} may be the same "
            "({rate}).",
            **values,
        )
    if rate <= LEVEL:
        return say(
            "{a} and {b} may be the same count ({count}), but {rates} differ ({rate}).", **values
        )
    return say(
        "{a} and {b} may be the same count ({count}), and {rates} may be the same too ({rate}).",
        **values,
    )
