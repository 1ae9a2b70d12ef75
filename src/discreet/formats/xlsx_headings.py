"""The columns of a workbook's tables as readers see them, in their language, and back to their names."""

from __future__ import annotations

from collections.abc import Sequence

from ..languages import known, say
from .flat import Flat

_HEADINGS = {
    "count": say("count"),
    "weighted count": say("weighted count"),
    "status": say("status"),
    "noise_sd": say("noise_sd"),
    "lower": say("lower"),
    "upper": say("upper"),
    "percent": say("percent"),
    "percent_lower": say("percent_lower"),
    "percent_upper": say("percent_upper"),
}


def headings(flat: Flat) -> tuple[str, ...]:
    """The header of a table; the columns' own names where the words would not tell them apart."""
    fixed = 2 * len(flat.axes)
    words = [_HEADINGS[n].says(flat.language) if n in _HEADINGS else n for n in flat.names[fixed:]]
    shown = (*flat.names[:fixed], *words)
    return shown if len({word.casefold() for word in shown}) == len(shown) else flat.names


def headed(name: str) -> tuple[str, ...]:
    """How a column is headed in any language."""
    return tuple(dict.fromkeys(_HEADINGS[name].says(language) for language in known()))


def plain_names(header: Sequence[str]) -> list[str]:
    """The names of the columns that are headed so, in whichever language."""
    names = {word: name for name in _HEADINGS for word in headed(name)}
    first = next((i for i, word in enumerate(header) if word in headed("status")), 0) - 1
    return [names.get(word, word) if i >= first else word for i, word in enumerate(header)]
