"""The engine in memory: cells are places of an array, and every record adds to its own.

Columns are read some thousands of records at a time, so that what is worked on stays in the
processor's cache; where there are many, by several threads, each with sums of its own. Tables of
very many cells, for which such arrays do not pay, are left to the engine that reads the same version
from disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from ..allocator import keep_freed_memory
from ..base import Engine
from ..coded_file import Place, column
from ..projection import Projections, domain_of
from .adding import Adder, Apart, Axis, Product, sparse_product
from .arrays import Arrays, Column

MOST_CELLS = 1 << 22
"""Tables of more cells are counted by the other engine: arrays of them no longer pay."""
_AT_ONCE = 1 << 17
"""Records that are looked at together."""
_WORTH_AN_IMPORT = 1 << 26
"""Records that an engine has read, again and again, when what adds faster has paid for itself."""
_WORTH_A_THREAD = 1 << 18
"""Fewer records are counted sooner by one thread than by another that starts first."""
_MOST_SUMS = 1 << 23
"""Each thread has sums of its own: of so many cells between them, or one counts alone."""
_MOST_PLACES = 1 << 14
"""Filters are axes of their own up to so many places."""
_CLOSED = "The data set is closed. Open it again."


class MemoryEngine:
    """Counts one loaded version from its arrays. Safe to share between threads."""

    name = "memory"

    def __init__(
        self,
        arrays: Arrays,
        description: Description,
        places: dict[tuple[str, str], Place],
        other: Callable[[], Engine],
        threads: int | None = None,
    ) -> None:
        self._arrays: Arrays | None = arrays
        self._description = description
        self._places = places
        self._open_other = other
        self._other: Engine | None = None
        self._opening = threading.Lock()
        self._threads = threads or len(os.sched_getaffinity(0))
        self._read_so_far = 0
        self._product: Product | None = None
        self._within: set[tuple[str, int]] = set()
        keep_freed_memory()

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
            raise EngineError(_CLOSED)
        domains = [domain_of(count, self._description) for count in counts]
        most = max((domain.size for domain in domains), default=0)
        if most > MOST_CELLS or (weights and "w" not in arrays):
            return self._elsewhere().count(counts, keys=keys, weights=weights, control=control)
        sums = [*(("k_lo", "k_hi") if keys else ()), *(("w",) if weights else ())]
        projection = Projections(counts, domains)
        cells: dict[int, Cells] = {}
        try:
            with arrays.at_rest():
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
        except IndexError:
            raise self._of_no_category() from None
        except MemoryError:
            raise EngineError(
                "Counting needs more memory than there is to spare. Ask for fewer categories, or ask "
                "again later."
            ) from None
        return [seal(domain, cells[i]) for i, domain in enumerate(domains)]

    def close(self) -> None:
        """Let go of the arrays."""
        with self._opening:
            self._arrays = None
            if self._other is not None:
                self._other.close()

    def _elsewhere(self) -> Engine:
        """The other engine, opened once; never after this one was closed."""
        with self._opening:
            if self._arrays is None:
                raise EngineError(_CLOSED)
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
        axes = [
            self._axis(arrays, self._places[ref.variable, ref.level], length)
            for ref, length in zip(count.axes, domain.shape, strict=True)
        ]
        axes += [(codes, len(lets)) for codes, lets in along]
        left_out: list[Apart] = [(codes, ~lets) for codes, lets in apart]
        values = [arrays.column(name) for name in sums]
        product = self._adds(arrays.records)
        stop = threading.Event()

        def work(start: int, end: int, asked: Control | None = None) -> list[Counts]:
            """The sums of some records."""
            at_once = min(_AT_ONCE, end - start)
            adder = Adder(axes, left_out, values, size, at_once, product)
            for part in pairwise([*range(start, end, _AT_ONCE), end]):
                if stop.is_set() or (asked is not None and asked.cancelled()):
                    raise Cancelled("Stopped while counting; nothing was lost.")
                adder.add(*part)
            return adder.sums

        worth = arrays.records // max(_WORTH_A_THREAD, 2 * size)
        several = min(self._threads, worth, _MOST_SUMS // size)
        several = max(1, several) if product else 1
        ends = [arrays.records * number // several for number in range(several + 1)]
        with ThreadPoolExecutor(several) as helpers:  # starts a thread for each that is submitted
            others = [helpers.submit(work, *span) for span in pairwise(ends[1:])]
            try:
                totals = work(0, ends[1], control)
                for other in others:
                    for total, more in zip(totals, other.result(), strict=True):
                        np.add(total, more, out=total)
            finally:
                stop.set()
        folded = [_folded(total[:size], along) for total in totals]
        held = np.flatnonzero(folded[0])
        found = dict(zip(("n", *sums), (of[held] for of in folded), strict=True))
        return Cells(held, found["n"], found.get("k_lo"), found.get("k_hi"), found.get("w"))

    def _adds(self, records: int) -> Product | None:
        """What adds faster than numpy, once so much was read that its import pays."""
        self._read_so_far += records
        if self._product is None and self._read_so_far > _WORTH_AN_IMPORT:
            self._product = sparse_product()
        return self._product

    def _axis(self, arrays: Arrays, place: Place, length: int) -> Axis:
        """A column of codes, each of which was seen to lie below the length once."""
        name = column(place)
        codes = arrays.column(name)
        if (name, length) not in self._within:
            if codes.dtype.kind != "u" or (len(codes) and int(codes.max()) >= length):
                raise self._of_no_category()
            self._within.add((name, length))
        return codes, length

    def _of_no_category(self) -> EngineError:
        return EngineError("The loaded data hold codes of no category. Load again.")

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
        place = self._places[condition.variable, condition.level]
        return self._axis(arrays, place, len(level))[0], lets


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
