"""Columns written at once are written as every number alone is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import formats
from discreet.core.table import Status
from discreet.formats import jsonstat
from discreet.formats.numerals import joined, listed

from .tables import axis, deaths, make

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault."""

WHOLE = st.one_of(
    st.integers(-20_000, 20_000),
    st.sampled_from([s * 10**k + d for k in range(19) for d in (-1, 0, 1) for s in (-1, 1)]),
    st.integers(-(2**63), 2**63 - 1),
)


AGAIN = pytest.mark.parametrize("again", [1, 300])
"""Few numbers are written one by one, many at once."""


@AGAIN
@CALM
@given(cells=st.lists(st.tuples(WHOLE, st.booleans()), max_size=30))
def test_whole_numbers(cells: list[tuple[int, bool]], again: int) -> None:
    cells = cells * again
    numbers = [number for number, _ in cells]
    hidden = [i for i, (_, hide) in enumerate(cells) if hide]
    wanted = [None if hide else number for number, hide in cells]
    column = np.array(numbers, dtype=np.int64)
    assert (
        b"[" + joined(column, hidden) + b"]" == json.dumps(wanted, separators=(",", ":")).encode()
    )
    assert listed(column) == [str(number) for number in numbers]


@AGAIN
@CALM
@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_real_numbers(numbers: list[float], again: int) -> None:
    numbers = numbers * again
    assert listed(np.array(numbers, dtype=np.float64)) == [repr(number) for number in numbers]


def test_many_different_real_numbers() -> None:
    numbers = np.sqrt(np.arange(3000.0))
    assert listed(numbers) == [repr(number) for number in numbers.tolist()]


def test_a_document_is_its_plain_values() -> None:
    """What is put together from encoded parts is what one encoder makes of the whole."""
    codes = [f"c{i}" for i in range(200)]
    values = np.arange(40_000).reshape(200, 200) % 977
    status = np.where(values % 7 == 0, Status.UNRELIABLE, Status.OK).astype(np.uint8)
    status[values % 11 == 0] = Status.SUPPRESSED
    large = make(
        [axis("first", codes), axis("second", codes)],
        (False, False),
        values=np.where(status == Status.SUPPRESSED, 0, values),
        status=status,
    )
    for table in (deaths(), large):
        plain = jsonstat.dataset(table)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        assert formats.to_bytes(table, "json-stat") == text.encode()
    two = json.loads(formats.to_bytes([deaths(), large], "json-stat"))
    assert two["link"]["item"] == [jsonstat.dataset(deaths()), jsonstat.dataset(large)]
