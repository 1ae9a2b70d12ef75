"""Margins that a policy publishes, as far as they are facts about the whole data set.

    methods:
      marginals:
        published:
          region × sex: {north: {F: 100000, M: 90000}, south: {F: 168000, M: 171655}}

Such a margin adds up to the number of records. That number is public then, whoever reads the numbers
and by whatever method: neighbours are *replace one*, as where it is declared. And no guess about its
variables is bounded by a guarantee that holds besides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..errors import InputError
from .description import Description, Policy
from .exact import exact
from .names import find_axis

_BETWEEN = re.compile(r"\s*[×,*]\s*")


def parts_of(name: str) -> list[str]:
    """The variables, or levels, that the name of a margin joins.

    >>> parts_of("region × sex")
    ['region', 'sex']
    """
    return [part for part in _BETWEEN.split(name.strip()) if part]


def under(policy: Policy, description: Description) -> Description:
    """The public facts under a policy: with the number of records that its margins make public.

    Margins are checked where a method reads them; one that cannot be read is no fact.
    """
    known, names = description.records, set(description.published)
    for name, counts in _margins(policy):
        with suppress(InputError):
            total = _added(counts)
            names |= {find_axis(description, part).variable for part in parts_of(name)}
            known = int(total) if known is None else known
    if known == description.records and names == set(description.published):
        return description
    return replace(description, records=known, published=tuple(sorted(names)))


def _margins(policy: Policy) -> Iterator[tuple[str, Any]]:
    for parameters in policy.methods.values():
        margins = parameters.get("published")
        if isinstance(margins, Mapping):
            yield from ((str(name), counts) for name, counts in margins.items())


def _added(counts: Any) -> Fraction:
    """The sum of the numbers in nested mappings."""
    if isinstance(counts, Mapping):
        return sum(map(_added, counts.values()), Fraction(0))
    return exact(counts, "published", least=0)
