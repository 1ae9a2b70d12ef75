"""Where a reader may start in a data set that features no table."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import variable
from discreet.web import starts

from ..facts import people


@given(st.lists(st.sampled_from((2, 3, 3, 4, 12, 30, 31)), min_size=2, max_size=9))
def test_the_smallest_tables_come_first(sizes: list[int]) -> None:
    """They are the first of all pairs of variables that can be read at once, by their cells."""
    variables = [
        variable(f"v{place}", [(f"c{n}", f"C{n}") for n in range(size)])
        for place, size in enumerate(sizes)
    ]
    readable = [place for place, size in enumerate(sizes) if size <= starts.MOST]
    pairs = sorted(combinations(readable, 2), key=lambda pair: sizes[pair[0]] * sizes[pair[1]])
    found = starts._pairs(people(variables=tuple(variables)))
    assert [(one.name, two.name) for (one, _), (two, _) in found] == [
        (f"v{one}", f"v{two}") for one, two in pairs[: starts.STARTS]
    ]


def test_only_what_is_offered_is_put_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page of hundreds of variables says a few tables, not one for each pair."""
    asked: list[Any] = []
    query_of = starts.query_of

    def counted(recipe: Any) -> str:
        asked.append(recipe)
        return query_of(recipe)

    monkeypatch.setattr(starts, "query_of", counted)
    variables = tuple(variable(f"v{n}", [("a", "A"), ("b", "B")]) for n in range(40))
    assert len(starts.starts("wide", people(variables=variables))) == starts.STARTS
    assert len(asked) == starts.STARTS
