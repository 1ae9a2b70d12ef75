"""What a rule of a policy says of its value, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .languages import Sentence, number, say

_WORDS: Mapping[str, Callable[[str], Sentence]] = {
    "max_variables": lambda value: say("at most {value} variables in a table", value=value),
    "max_cells": lambda value: say("at most {value} cells in a table", value=value),
    "at_most_one_of": lambda value: say("at most one variable of each group {value}", value=value),
    "mandatory": lambda value: say("every table has {value}", value=value),
    "blocked_levels": lambda value: say("not published at {value}", value=value),
    "least_population": lambda value: say(
        "no category with a public population below {value}", value=value
    ),
    "max_cells_per_record": lambda value: say("at most {value} cells for each record", value=value),
    "sliver_population": lambda value: say(
        "no slivers below a public population of {value} between overlapping levels", value=value
    ),
    "declared_groups": lambda value: say("no total over a group that is no category of a level"),
    "sparse": lambda value: say(
        "no table whose protected numbers are too sparse: {value}", value=value
    ),
}

NAMES = frozenset(_WORDS)


def in_words(name: str, value: object) -> Sentence:
    """One rule.

    >>> in_words("max_cells", 100000).says("de")
    'höchstens 100.000 Zellen in einer Tabelle'
    """
    if isinstance(value, Mapping):
        shown = ", ".join(f"{key} {one}" for key, one in value.items())
    else:
        shown = number(int(str(value))) if str(value).isdecimal() else str(value)
    return _WORDS[name](shown)
