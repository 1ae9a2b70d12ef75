"""Finished nodes of a long fit, kept as it goes on: who is stopped or killed goes on from there.

Parts are numbered in the order of the work, each a list of nodes with their cells. They hold nothing
but what follows from stored measurements, so a part that is lost is only made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ....core.control import Control
from ....core.product import Whole
from ...base import Measurements

WORTH = 200_000
"""A part is kept when fitting it went over so many numbers: about half a second of work or more."""


@dataclass(frozen=True)
class Cells:
    """The cells of one node that hold somebody: their addresses, sorted, and counts."""

    at: Whole
    counts: Whole


@dataclass(frozen=True)
class Done:
    """One parent's children, fitted and whole; the whole itself is its own only child."""

    children: tuple[Cells, ...]
    moved: tuple[Whole, ...]
    """How far rounding moved the numbers of each margin that is printed: children by places."""


@dataclass
class Parts:
    """The finished parts of one fit, in order: those of an earlier run first."""

    control: Control
    _number: int = 0
    _pending: list[Done] = field(default_factory=list)
    _work: int = 0
    _before: Iterator[Done] | None = None

    def earlier(self) -> Done | None:
        """The next one that an earlier run left; None once there is no more."""
        if self._before is None:
            self._before = self._stored()
        return next(self._before, None)

    def add(self, done: Done, work: int) -> None:
        """One more, which took so much work."""
        self._pending.append(done)
        self._work += work
        if self._work >= WORTH:
            self.control.keep.put(f"part {self._number}", _packed(self._pending))
            self._number, self._work, self._pending = self._number + 1, 0, []

    def _stored(self) -> Iterator[Done]:
        while (part := self.control.keep.get(f"part {self._number}")) is not None:
            self._number += 1
            yield from _unpacked(part)


def _packed(every: list[Done]) -> bytes:
    cells = [one for done in every for one in done.children]
    moved = [table for done in every for table in done.moved]
    nothing = np.zeros(0, dtype=np.int64)
    arrays = {
        "children": np.array([len(done.children) for done in every], dtype=np.int64),
        "lengths": np.array([len(one.at) for one in cells], dtype=np.int64),
        "at": np.concatenate([nothing, *(one.at for one in cells)]),
        "counts": np.concatenate([nothing, *(one.counts for one in cells)]),
        "tables": np.array([len(done.moved) for done in every], dtype=np.int64),
        "places": np.array([table.shape[1] for table in moved], dtype=np.int64),
        "moved": np.concatenate([nothing, *(table.ravel() for table in moved)]),
    }
    return Measurements(arrays).to_bytes()


def _unpacked(part: bytes) -> Iterator[Done]:
    arrays = Measurements.from_bytes(part).arrays
    lengths, places = (iter(arrays[name].tolist()) for name in ("lengths", "places"))
    cells, moved = _Tape(arrays["at"]), _Tape(arrays["moved"])
    counts = _Tape(arrays["counts"])
    for many, tables in zip(arrays["children"].tolist(), arrays["tables"].tolist(), strict=True):
        sizes = [next(lengths) for _ in range(many)]
        children = tuple(Cells(cells.next(size), counts.next(size)) for size in sizes)
        widths = [next(places) for _ in range(tables)]
        yield Done(
            children, tuple(moved.next(many * width).reshape(many, width) for width in widths)
        )


@dataclass
class _Tape:
    """Numbers that are read on and on."""

    numbers: Whole
    at: int = 0

    def next(self, many: int) -> Whole:
        """The next so many."""
        self.at += many
        return self.numbers[self.at - many : self.at]
