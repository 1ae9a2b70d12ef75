"""The engine in memory: cells are places of an array, and every record adds to its own.

Columns are read some thousands of records at a time, so that what is worked on stays in the
processor's cache. Tables of very many cells, for which such arrays do not pay, are left to the
engine that reads the same version from disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.control import Control
from ...core.description import Description
from ...core.domain import Condition, Count, Domain
from ...core.table import TrueTable
from ...core.true_values import Cells, Counts, seal
from ...errors import Cancelled, EngineError, InputError, did_you_mean
from ..base import Engine
from ..coded_file import Place, column
from ..projection import Projections, domain_of
from .arrays import Arrays, Column

MOST_CELLS = 1 << 22
"""Tables of more cells are counted by the other engine: arrays of them no longer pay."""
_AT_ONCE = 1 << 16
"""Records that are looked at together."""
_MOST_PLACES = 1 << 14
"""Filters are axes of their own up to so many places."""


class MemoryEngine:
    """Counts one loaded version from its arrays. Safe to share between threads."""

    name = "memory"

    def __init__(
        self,
        arrays: Arrays,
        description: Description,
        places: dict[tuple[str, str], Place],
        other: Callable[[], Engine],
    ) -> None:
        self._arrays: Arrays | None = arrays
        self._description = description
        self._places = places
        self._open_other = other
        self._other: Engine | None = None

    def __repr__(self) -> str:
        return f"<engine in memory of {self._description.name}>"

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        """A true table for each count, in order; only non-empty cells are held."""
        arrays = self._arrays
        if arrays is None:
            raise EngineError("The data set is closed. Open it again.")
        domains = [domain_of(count, self._description) for count in counts]
        most = max((domain.size for domain in domains), default=0)
        if most > MOST_CELLS or (weights and "w" not in arrays):
            return self._elsewhere().count(counts, keys=keys, weights=weights, control=control)
        sums = [*(("k_lo", "k_hi") if keys else ()), *(("w",) if weights else ())]
        projection = Projections(counts, domains)
        cells: dict[int, Cells] = {}
        try:
            for done, i in enumerate(projection.order):
                if control is not None:
                    control.step(done / len(counts), "counting")
                source = projection.source[i]
                cells[i] = (
                    self._read(arrays, counts[i], domains[i], sums, control)
                    if source is None
                    else projection.project(cells[source], i)
                )
        except KeyboardInterrupt:
            raise Cancelled("Stopped while counting; nothing was lost.") from None
        return [seal(domain, cells[i]) for i, domain in enumerate(domains)]

    def close(self) -> None:
        """Let go of the arrays."""
        self._arrays = None
        if self._other is not None:
            self._other.close()

    def _elsewhere(self) -> Engine:
        if self._other is None:
            self._other = self._open_other()
        return self._other

    def _read(
        self,
        arrays: Arrays,
        count: Count,
        domain: Domain,
        sums: Sequence[str],
        control: Control | None,
    ) -> Cells:
        passing = [self._passing(arrays, condition) for condition in count.where]
        along, apart, size = _divided(passing, domain.size)
        widths = [len(lets) for _, lets in along]
        sides = [
            (
                arrays.column(column(self._places[ref.variable, ref.level])),
                stride * math.prod(widths),
            )
            for ref, stride in zip(count.axes, domain.strides, strict=True)
        ]
        sides += [(codes, math.prod(widths[place + 1 :])) for place, (codes, _) in enumerate(along)]
        values = {name: arrays.column(name) for name in sums}
        # whom a filter apart leaves out is counted past the end
        counted = np.zeros(size + 1, dtype=np.int64)
        totals = {name: np.zeros(size + 1, dtype=np.int64) for name in sums}
        edges = [*range(0, arrays.records, _AT_ONCE), arrays.records]
        for start, end in pairwise(edges):
            if control is not None and control.cancelled():
                raise Cancelled("Stopped while counting; nothing was lost.")
            part = slice(start, end)
            addresses = _addresses(sides, part)
            for codes, lets in apart:
                addresses[~lets[codes[part]]] = size
            counted += np.bincount(addresses, minlength=size + 1)
            for name, of in values.items():
                np.add.at(totals[name], addresses, of[part].astype(np.int64, copy=False))
        folded = _folded(counted[:size], along)
        held = np.flatnonzero(folded)
        found = {name: _folded(total[:size], along)[held] for name, total in totals.items()}
        return Cells(held, folded[held], found.get("k_lo"), found.get("k_hi"), found.get("w"))

    def _passing(
        self, arrays: Arrays, condition: Condition
    ) -> tuple[Column, npt.NDArray[np.bool_]]:
        """The column of a condition, and for each of its categories whether it passes."""
        level = self._description.variable(condition.variable).level(condition.level)
        lets = np.zeros(len(level), dtype=bool)
        for code in condition.codes:
            if code not in level.index:
                raise InputError(
                    f"{condition.variable} has no category {code!r}."
                    f"{did_you_mean(code, level.codes)}"
                )
            lets[level.index[code]] = True
        return arrays.column(column(self._places[condition.variable, condition.level])), lets


_Passing: TypeAlias = tuple[Column, npt.NDArray[np.bool_]]
"""A column of codes, and for each code whether a condition lets it pass."""


def _divided(passing: Sequence[_Passing], cells: int) -> tuple[list[_Passing], list[_Passing], int]:
    """Conditions that become further axes, those asked of each record, and the places it takes.

    An axis more costs a record one addition, a look at each record far more; places must be few
    enough for the processor's cache.
    """
    along: list[_Passing] = []
    apart: list[_Passing] = []
    for one in passing:
        wide = cells * len(one[1])
        if wide <= _MOST_PLACES:
            along.append(one)
            cells = wide
        else:
            apart.append(one)
    return along, apart, cells


def _folded(places: Counts, along: Sequence[_Passing]) -> Counts:
    """The sums over what the conditions let pass; an integer is added to integers, so exact."""
    for _, lets in reversed(along):
        places = places.reshape(-1, len(lets))[:, lets].sum(axis=1)
    return places


def _addresses(sides: Sequence[tuple[Column, int]], part: slice) -> Counts:
    """The place of each record of a part; `MOST_CELLS` of them are addressed in 32 bits."""
    addresses = np.zeros(part.stop - part.start, dtype=np.int32)
    for codes, stride in sides:
        of = codes[part].astype(np.int32)
        addresses += of if stride == 1 else np.multiply(of, stride, out=of)
    return addresses.astype(np.int64)
