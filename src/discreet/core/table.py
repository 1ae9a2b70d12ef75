"""True and protected tables, which never share a type (rule 1), and rehearsals.

A `TrueTable` cannot be printed, pickled, encoded or copied out; its repr shows its shape. Its
values come out through `true_values` only, which a tool lets engines, methods and quality import.
A `ProtectedTable` carries everything a reader is told. A `Rehearsal` is what a custodian's trial
on true data returns; no format, route or store accepts one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from ..errors import Bug
from ..languages import Sentence, say, says, together
from .cell_law import CellLaw
from .domain import TOTAL, Domain
from .guarantee import Guarantee
from .question import Layout

Counts = npt.NDArray[np.int64]


class TrueTable:
    """True counts over a domain, sealed. Only its shape can be seen."""

    __slots__ = ("__cells", "domain")

    def __init__(self, domain: Domain, cells: object) -> None:
        self.domain = domain
        self.__cells = cells

    def __repr__(self) -> str:
        shape = " × ".join(f"{len(axis)} {axis.name}" for axis in self.domain.axes) or "total"
        return f"<true table: {shape}; values sealed>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A true table cannot be copied, pickled or sent.")

    def __getstate__(self) -> NoReturn:
        raise TypeError("A true table cannot be copied, pickled or sent.")


_UNSAID = together()


class Status(IntEnum):
    """What a published cell says beside its number; the letter is what formats write."""

    OK = 0, "", say("published as it is")
    UNRELIABLE = 1, "u", say("unreliable: the noise is large beside the number")
    LOW = 2, "low", say("low: below the display floor")
    BELOW_THRESHOLD = 3, "c", say("below the publication threshold")
    SUPPRESSED = 4, "s", say("suppressed")
    STRUCTURAL_ZERO = 5, "z", say("cannot exist (declared structural zero)")
    NOT_RELEASED = 6, "x", say("not part of this release")
    DERIVED = 7, "d", say("follows from other published numbers")

    letter: str
    meaning: Sentence

    def __new__(cls, number: int, letter: str = "", meaning: Sentence = _UNSAID) -> Self:
        """A status by its number, with its letter (empty for an ordinary value) and its words."""
        status = int.__new__(cls, number)
        status._value_, status.letter, status.meaning = number, letter, meaning
        return status

    @property
    def has_value(self) -> bool:
        """Whether a number is published."""
        return self in (Status.OK, Status.UNRELIABLE, Status.STRUCTURAL_ZERO, Status.DERIVED)


@dataclass(frozen=True)
class Noise:
    """What is known of the noise: standard deviation and exact noise interval of every cell.

    Arrays have the table's shape or broadcast to it. The interval holds the true value in at least
    the share `coverage` of releases; it speaks of the noise only, not of sampling.
    """

    sd: npt.NDArray[np.float64] = field(repr=False)
    lower: Counts = field(repr=False)
    upper: Counts = field(repr=False)
    coverage: Fraction = Fraction(95, 100)


@dataclass(frozen=True)
class Provenance:
    """Where a table came from: enough to ask for it again and to cite it."""

    dataset: str
    dataset_title: str
    question: Mapping[str, Any]
    question_hash: str
    data_version: str
    policy_version: str
    method: str
    software: str
    release: str = ""
    synthetic: bool = False
    source: str = ""
    licence: str = ""
    contact: str = ""
    population: str = ""
    period: str = ""
    unit: str = "person"


@dataclass(frozen=True)
class ProtectedTable:
    """A table that may be published: values, statuses, noise, guarantee, provenance.

    `values` and `status` are dense over the domain's shape, each axis that has a total being one
    longer with the total last. A value whose status has none is 0 and never shown. `extra` holds
    further marked columns of the same shape (an additive view, say).
    """

    title: str
    domain: Domain
    totals: tuple[bool, ...]
    values: Counts = field(repr=False)
    status: npt.NDArray[np.uint8] = field(repr=False)
    guarantee: Guarantee
    provenance: Provenance
    noise: Noise | None = field(default=None, repr=False)
    extra: Mapping[str, Counts] = field(default_factory=dict, repr=False)
    law: CellLaw = field(default_factory=CellLaw, repr=False)
    """What was added to each cell, and what followed."""
    notes: tuple[str, ...] = ()
    measure: str = "count"
    layout: Layout = field(default_factory=Layout)
    """How it is shown. Where it names axes, they stand in its order: layers, rows, columns."""
    percentages: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """Of a part of a table without the totals they are of: by column, NaN where there is none."""

    def __post_init__(self) -> None:
        if self.values.shape != self.shape or self.status.shape != self.shape:
            raise Bug(f"A table of shape {self.shape} got values of shape {self.values.shape}.")
        if self.values.dtype != np.int64:
            raise Bug(f"Published values are whole numbers, got {self.values.dtype}.")
        if int(self.status.max(initial=0)) > Status.UNRELIABLE and np.any(self.values[~self.shown]):
            raise Bug("A table holds a number that its status says is not published.")
        named = self.layout.axes
        if named and named != tuple(str(axis.ref) for axis in self.domain.axes):
            raise Bug(f"A table's axes do not stand in the order of its layout, {named}.")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis, totals included."""
        return tuple(
            len(axis) + total for axis, total in zip(self.domain.axes, self.totals, strict=True)
        )

    @property
    def cells(self) -> int:
        """How many cells, totals included."""
        return int(np.prod(self.shape, dtype=np.int64))

    def codes(self, position: int) -> tuple[str, ...]:
        """Codes along an axis, the total as `_T`."""
        codes = self.domain.axes[position].level.codes
        return (*codes, TOTAL) if self.totals[position] else codes

    def labels(self, position: int) -> tuple[str, ...]:
        """Labels along an axis, in the layout's language."""
        labels = self.domain.axes[position].level.labels(self.layout.language)
        return (
            (*labels, say("Total").says(self.layout.language)) if self.totals[position] else labels
        )

    @property
    def sides(self) -> tuple[int, int, int]:
        """How many axes are layers, rows and columns; with no layout the last of several is one."""
        layout, many = self.layout, len(self.domain.axes)
        if layout.axes:
            return len(layout.layers), len(layout.rows), len(layout.columns)
        rows = min(many, max(many - 1, 1))
        return 0, rows, many - rows

    def tells(self, words: object) -> str:
        """A title, a note or a name in the layout's language."""
        return says(words, self.layout.language)

    def in_language(self, language: str) -> ProtectedTable:
        """The same table with its labels in another language; empty: the data set's own."""
        if language == self.layout.language:
            return self
        return replace(self, layout=replace(self.layout, language=language))

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """Where a number is published."""
        return _HAS_VALUE[self.status]


_HAS_VALUE = np.array([status.has_value for status in Status])


@dataclass(frozen=True)
class Rehearsal:
    """What a custodian's trial on true data found; for the custodian's own report only."""

    about: str
    findings: Mapping[str, Any] = field(repr=False)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A rehearsal stays with the custodian: it cannot be pickled or sent.")
