"""Whether records fit the public facts: people of each kind, and values that the prior rules out.

Told to the custodian when data are loaded and by `discreet check`, so that no asker ever learns it from
an error: a table of records that do not fit cannot be decided.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core import true_values
from ...core.domain import AxisRef, Count, Domain
from ...core.table import TrueTable
from ...errors import DataError
from ..base import Facts
from .public_people import PublicPeople, read_people
from .settings import Attribute, Settings


def counts(settings: Settings, facts: Facts) -> tuple[Count, ...]:
    """What to count: people of each kind; of attributes with values ruled out, by value too."""
    people = _people(settings, facts)
    kinds = tuple(_finest(name, facts) for name in next(iter(people.values())).variables)
    ruled_out = [name for name, some in people.items() if _ruled_out(some)]
    return (Count(kinds), *(Count((*kinds, _finest(name, facts))) for name in ruled_out))


def check(settings: Settings, facts: Facts, tables: Sequence[TrueTable]) -> None:
    """Raise where records do not fit."""
    people = _people(settings, facts)
    some = next(iter(people.values()))
    room = dict(zip(map(tuple, some.codes.tolist()), some.many.tolist(), strict=True))
    cells = true_values.reveal(tables[0])
    places = tables[0].domain.coordinates(cells.addresses)
    for place, count in zip(places.tolist(), cells.counts.tolist(), strict=True):
        if count > room.get(tuple(place), 0):
            raise DataError(
                f"The public populations have {room.get(tuple(place), 0):,} people with "
                f"{_named(tables[0].domain, place)}, and there are more records of them. Correct one "
                "of the two; counts above populations cannot be protected."
            )
    ruled_out = [name for name, some in people.items() if _ruled_out(some)]
    for name, table in zip(ruled_out, tables[1:], strict=True):
        _check_values(settings.attributes[name], people[name], table)


def _check_values(attribute: Attribute, people: PublicPeople, table: TrueTable) -> None:
    """No record may have a value that the prior gives no chance; who has none counts as 0."""
    cells = true_values.reveal(table)
    codes = table.domain.axes[-1].level.codes
    by_kind = {tuple(kind): place for place, kind in enumerate(people.codes.tolist())}
    laws = people.laws[0]
    size = max(len(law) for law in laws)
    worths = [int(code) for code in codes if attribute.integers and code.isdecimal()]
    having = np.zeros((len(laws), max([size, 2, *(worth + 1 for worth in worths)])), dtype=np.int64)
    places = table.domain.coordinates(cells.addresses)
    for place, count in zip(places.tolist(), cells.counts.tolist(), strict=True):
        code = codes[place[-1]]
        if attribute.integers and not code.isdecimal():
            continue  # no table of it is planned: its codes must be whole numbers
        value = int(code) if attribute.integers else int(code in attribute.counts)
        having[by_kind[tuple(place[:-1])], value] += count
    having[:, 0] = people.many - having[:, 1:].sum(axis=1)
    for kind, law in enumerate(laws):
        for value in np.flatnonzero(having[kind]).tolist():
            if value >= len(law) or law[value] <= 0:
                where = _named(table.domain, people.codes[kind].tolist())
                raise DataError(
                    f"By the prior of {attribute.name} nobody with {where} has the value {value}, and "
                    "by the records, those of the populations without one counting as 0, somebody "
                    "has. Correct one of the two; what a prior rules out cannot be protected."
                )


def _people(settings: Settings, facts: Facts) -> dict[str, PublicPeople]:
    return {
        name: read_people(settings.populations, attribute, facts.description)
        for name, attribute in settings.attributes.items()
    }


def _ruled_out(people: PublicPeople) -> bool:
    """Whether the prior gives some value no chance."""
    return any(chance <= 0 for law in people.laws[0] for chance in law) or (
        len({len(law) for law in people.laws[0]}) > 1
    )


def _finest(name: str, facts: Facts) -> AxisRef:
    return AxisRef(name, facts.description.variable(name).finest.name)


def _named(domain: Domain, place: Sequence[int]) -> str:
    return ", ".join(
        f"{axis.name} {axis.level.codes[code]}"
        for axis, code in zip(domain.axes, place, strict=False)
    )
