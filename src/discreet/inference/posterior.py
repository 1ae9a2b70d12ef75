"""What a released number says about one true count, as probabilities with their prior named."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from ..core.exact import Exact, exact
from ..core.table import ProtectedTable
from ..languages import number, say
from .answer import Answer
from .channel import Channel, Reals
from .evidence import Reading, require_counts
from .intervals import Cell, shown_symbol

_BARS = " ▁▂▃▄▅▆▇█"
_MOST_BARS = 60


def posterior_of(channel: Channel, symbol: int, mean: float | None = None) -> tuple[int, Reals]:
    """First true count and probabilities: flat prior, or Poisson with a mean."""
    first, weights = channel.weights(symbol)
    logs = np.log(np.maximum(weights, 1e-300))
    if mean is not None:
        counts = first + np.arange(len(weights))
        logs = logs + counts * np.log(mean) - gammaln(counts + 1)
    shares = np.where(weights > 0, np.exp(logs - logs.max()), 0.0)
    return first, shares / shares.sum()


def posterior(table: ProtectedTable, cell: Cell, mean: Exact | None = None) -> Answer:
    """The probabilities of a cell's true count; `mean` makes the prior a Poisson law with it."""
    require_counts(table)
    reading = Reading(table)
    place = reading.place(cell)
    wanted = None if mean is None else float(exact(mean, "mean", above=0))
    first, shares = posterior_of(reading.channel(place), reading.symbol(place), wanted)
    counts = first + np.arange(len(shares))
    best = int(counts[np.argmax(shares)])
    average = float(counts @ shares)
    prior = (
        say("every count as likely beforehand as any other")
        if wanted is None
        else say("a Poisson law of mean {mean}", mean=number(f"{wanted:g}"))
    )
    held = shares > 5e-7
    numbers: dict[str, Any] = {
        "cell": reading.cell_label(place),
        "released": shown_symbol(reading, place),
        "prior": "flat" if wanted is None else f"Poisson({wanted:g})",
        "mean": average,
        "sd": float(np.sqrt((counts - average) ** 2 @ shares)),
        "most_likely": best,
        "probabilities": {
            str(int(n)): float(p) for n, p in zip(counts[held], shares[held], strict=True)
        },
        "picture": picture(first, shares),
    }
    return Answer(
        say(
            "Given the released number, the true count of {place} is most likely {best} (mean "
            "{average}); prior: {prior}.",
            place=reading.cell_label(place),
            best=best,
            average=number(f"{average:,.1f}"),
            prior=prior,
        ),
        numbers,
        (say("With another prior the probabilities are others; the noise interval needs none."),),
    )


def picture(first: int, shares: Reals) -> str:
    """Bars of the middle of the probabilities, with their ends.

    >>> picture(3, np.array([0.25, 0.5, 0.25]))
    '3 ▄█▄ 5'
    """
    held = np.flatnonzero(shares >= shares.max() / 200)
    low, high = int(held[0]), int(held[-1])
    step = -(-(high - low + 1) // _MOST_BARS)
    heights = [shares[at : at + step].sum() for at in range(low, high + 1, step)]
    top = max(heights)
    bars = "".join(_BARS[max(round(8 * height / top), 1)] for height in heights)
    return f"{first + low} {bars} {first + high}"
