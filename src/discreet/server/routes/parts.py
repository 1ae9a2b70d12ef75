"""Lists that grow over the years are answered a part at a time; `next` says where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Query

MOST = 1_000
"""Entries of a part where nothing is said."""
A_PAGE = 50
"""Entries of a page that people read."""

Offset = Annotated[int, Query(ge=0, le=10**9, description="Where to begin: the `next` of before.")]
Most = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]

_Entry = TypeVar("_Entry")


def part_of(
    listed: Sequence[_Entry], offset: int, most: int
) -> tuple[Sequence[_Entry], int | None]:
    """A part of a list and where the next one begins; None where nothing is left.

    >>> part_of("abcde", 2, 2), part_of("abcde", 4, 2)
    (('cd', 4), ('e', None))
    """
    end = offset + most
    return listed[offset:end], end if end < len(listed) else None
