"""Interiors of recent keyed tables, kept in this process's memory: margins of them need no count.

A table over fewer variables, at coarser levels, or of the records that pass a filter on one of its
variables is a sum of cells that were counted already: the same integers as a new count would give,
because a version never changes. What is kept are true values. They are held by this object alone,
are never written, sent or shown, and go when the data set is closed; the least recently used ones go
first when there is no room.

Where a filter costs a count no less than an axis does, the variables of filters are counted as axes:
the same table with other filters, which is what people ask next, then needs no count either.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..core.control import Control
from ..core.description import Description
from ..core.domain import AxisRef, Condition, Count, Domain
from ..core.margins import Projection
from ..core.table import TrueTable
from ..core.true_values import Cells, Counts, reveal, seal
from ..errors import Bug
from .base import Engine
from .projection import domain_of, summed

Passing = npt.NDArray[np.bool_]
_LARGEST_SHARE = 4
"""One interior takes at most this part of the room."""
_MOST_INTERIORS = 64
"""So many are looked through for each new question, and a small one takes more memory than its arrays."""


@dataclass(frozen=True)
class _Interior:
    """The cells of one count, as they were counted."""

    domain: Domain
    where: frozenset[Condition]
    cells: Cells = field(repr=False)

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in _columns(self.cells))

    def table(self, domain: Domain, where: frozenset[Condition], weights: bool) -> Cells | None:
        """The cells of another count of the same records or of some; None where it is no sum of these."""
        if not self.where <= where or (weights and self.cells.weights is None):
            return None
        projection = Projection.of(self.domain, domain)
        if projection is None:
            return None
        passing: Passing | None = None
        for condition in where - self.where:
            lets = self._passing(condition)
            if lets is None:
                return None
            passing = lets if passing is None else passing & lets
        cells = _some(self.cells, passing, weights)
        return summed(projection.addresses(cells.addresses), domain.size, cells)

    def _passing(self, condition: Condition) -> Passing | None:
        """Which cells pass a condition; None where that is not to be told from their addresses."""
        for i, axis in enumerate(self.domain.axes):
            if axis.variable.name != condition.variable:
                continue
            level = axis.variable.level(condition.level)
            places = None if axis.level is level else axis.level.map_to(level)
            if axis.level is not level and places is None:
                return None
            lets = np.zeros(len(level) + 1, dtype=bool)  # the last is for categories of nobody
            for code in condition.codes:
                if code not in level.index:
                    return None  # the engine says so
                lets[level.index[code]] = True
            column = self.cells.addresses // self.domain.strides[i] % self.domain.shape[i]
            passing: Passing = lets[column if places is None else places[column]]
            return passing
        return None


class KeptInteriors:
    """An engine that counts what cannot be had from what it counted before. Safe to share."""

    def __init__(
        self, engine: Engine, description: Description, most_bytes: int, widest: int = 0
    ) -> None:
        """Keep so many bytes; filters become axes of interiors of at most `widest` cells."""
        self.engine, self._description, self._most = engine, description, most_bytes
        self.name, self._widest = engine.name, widest
        self._kept: OrderedDict[Count, _Interior] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<engine {self.name} of {self._description.name}; interiors sealed>"

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("True cells cannot be copied, pickled or sent.")

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        """A true table for each count, in order; only non-empty cells are held."""
        if not keys:
            return self.engine.count(counts, keys=keys, weights=weights, control=control)
        check = getattr(self.engine, "check_served", None)
        if check is not None:
            check()
        domains = [domain_of(count, self._description) for count in counts]
        found = [self._from_kept(c, d, weights) for c, d in zip(counts, domains, strict=True)]
        rest = [i for i, cells in enumerate(found) if cells is None]
        tables: dict[int, TrueTable] = {}
        if rest:
            wider = {i: self._wider(counts[i], domains[i]) for i in rest}
            asked = sorted(set(wider.values()), key=lambda count: -self._size(count))
            made = self.engine.count(asked, keys=keys, weights=weights, control=control)
            of = dict(zip(asked, made, strict=True))
            for count, table in of.items():
                self._keep(count, table.domain, reveal(table), weights)
            for i in rest:
                tables[i] = self._part(of[wider[i]], wider[i], counts[i], domains[i], weights)
        return [
            tables[i] if cells is None else seal(domains[i], cells) for i, cells in enumerate(found)
        ]

    def _from_kept(self, count: Count, domain: Domain, weights: bool) -> Cells | None:
        """The cells, summed from the smallest interior that has them."""
        with self._lock:
            kept = sorted(self._kept.items(), key=lambda item: len(item[1].cells.addresses))
        where = frozenset(count.where)
        for of, interior in kept:
            cells = interior.table(domain, where, weights)
            if cells is not None:
                with self._lock:
                    if of in self._kept:
                        self._kept.move_to_end(of)
                return cells
        return None

    def _wider(self, count: Count, domain: Domain) -> Count:
        """The same count with the variables of its filters as axes, as far as they are few."""
        axes, where, size = list(count.axes), [], domain.size
        named = Counter(condition.variable for condition in count.where)
        named.update(ref.variable for ref in axes)
        for condition in count.where:
            level = self._description.variable(condition.variable).level(condition.level)
            known = all(code in level.index for code in condition.codes)  # else the engine says so
            if known and named[condition.variable] == 1 and size * len(level) <= self._widest:
                axes.append(AxisRef(condition.variable, condition.level))
                size *= len(level)
            else:
                where.append(condition)
        return Count(tuple(axes), tuple(where))

    def _size(self, count: Count) -> int:
        return self._description.domain(count.axes).size

    def _part(
        self, table: TrueTable, wider: Count, count: Count, domain: Domain, weights: bool
    ) -> TrueTable:
        """The table of a count, from that of a wider one."""
        if wider == count:
            return table
        whole = _Interior(table.domain, frozenset(wider.where), reveal(table))
        cells = whole.table(domain, frozenset(count.where), weights)
        if cells is None:
            raise Bug("A count was widened to one that it is no part of.")
        return seal(domain, cells)

    def _keep(self, count: Count, domain: Domain, cells: Cells, weights: bool) -> None:
        if self._from_kept(count, domain, weights) is not None:
            return  # it is a margin of one that is kept
        own = _Interior(domain, frozenset(count.where), _copied(cells))
        with self._lock:
            if own.bytes * _LARGEST_SHARE >= self._most:  # all of them once it is closed
                return
            before = self._kept.pop(count, None)
            self._kept[count] = own
            self._bytes += own.bytes - (0 if before is None else before.bytes)
            while self._bytes > self._most or len(self._kept) > _MOST_INTERIORS:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.bytes

    def close(self) -> None:
        """Forget what is kept, and close the engine."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
            self._most = 0
        self.engine.close()


def _columns(cells: Cells) -> list[Counts]:
    columns = (cells.addresses, cells.counts, cells.key_low, cells.key_high, cells.weights)
    return [column for column in columns if column is not None]


def _copied(cells: Cells) -> Cells:
    """The same cells in arrays of their own, which nobody can write to."""
    columns = [None if column is None else column.copy() for column in _every(cells)]
    for column in columns:
        if column is not None:
            column.flags.writeable = False
    return Cells(*columns)  # type: ignore[arg-type]


def _every(cells: Cells) -> tuple[Counts | None, ...]:
    return cells.addresses, cells.counts, cells.key_low, cells.key_high, cells.weights


def _some(cells: Cells, passing: Passing | None, weights: bool) -> Cells:
    *columns, weight = _every(cells)
    chosen = [*columns, weight if weights else None]
    if passing is not None:
        chosen = [None if column is None else column[passing] for column in chosen]
    return Cells(*chosen)  # type: ignore[arg-type]
