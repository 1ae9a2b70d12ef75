"""The one model every format writes: a protected table as columns, made once.

A `Flat` has one entry a cell in every column, in the order the table's axes stand in (the last
fastest). Whatever stands beside an unpublished number is masked here, for every format at once:
an interval or an additive value would give the number away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.domain import Axis
from ..core.table import ProtectedTable, Status
from ..languages import say, says
from . import percent
from .numerals import Mask, Real, Whole

STATUS_LETTERS: tuple[str, ...] = tuple(status.letter for status in Status)


@dataclass(frozen=True)
class FlatAxis:
    """One axis as formats name it: its column, its codes and labels, the total last."""

    name: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    total: bool
    kind: str

    @property
    def label_name(self) -> str:
        """The name of the column of labels."""
        return f"{self.name}_label"

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Flat:
    """A protected table as columns. `shown` marks where `values` and what follows may be read."""

    axes: tuple[FlatAxis, ...]
    measure: str
    values: Whole = field(repr=False)
    shown: Mask = field(repr=False)
    status: npt.NDArray[np.uint8] = field(repr=False)
    noise_sd: Real | None = field(default=None, repr=False)
    lower: Whole | None = field(default=None, repr=False)
    upper: Whole | None = field(default=None, repr=False)
    extra: dict[str, Whole] = field(default_factory=dict, repr=False)
    percent: percent.Percent | None = None
    language: str = ""
    """The language its labels and words are in; empty: the data set's own."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis, totals included."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def hidden(self) -> list[int]:
        """The cells without a published number."""
        hidden: list[int] = np.flatnonzero(~self.shown).tolist()
        return hidden

    def shown_in(self, name: str) -> Mask:
        """Where a column of `numbers` has a number: a percentage may be missing beside a count."""
        if self.percent is not None and name in self.percent.columns:
            return self.percent.shown
        return self.shown

    def positions(self, axis: int) -> npt.NDArray[np.int32]:
        """For every cell its position along one axis."""
        inner = int(np.prod(self.shape[axis + 1 :], dtype=np.int64))
        once = np.repeat(np.arange(self.shape[axis], dtype=np.int32), inner)
        return np.tile(once, int(np.prod(self.shape[:axis], dtype=np.int64)))

    @property
    def numbers(self) -> dict[str, Whole | Real]:
        """The numeric columns after `status`: noise where known, percentages, extra ones."""
        columns: dict[str, Whole | Real] = {}
        if self.noise_sd is not None and self.lower is not None and self.upper is not None:
            columns |= {"noise_sd": self.noise_sd, "lower": self.lower, "upper": self.upper}
        if self.percent is not None:
            columns |= self.percent.columns
        return columns | self.extra

    @property
    def measure_words(self) -> str:
        """What is counted, as a heading says it."""
        return measure_words(self.measure, self.language)

    @property
    def names(self) -> tuple[str, ...]:
        """Every column name, in order."""
        named = [name for axis in self.axes for name in (axis.name, axis.label_name)]
        return (*named, self.measure, "status", *self.numbers)


_MEASURES = {"count": say("count"), "weighted count": say("weighted count")}


def measure_words(measure: str, language: str) -> str:
    """What a table counts, as a heading says it in a language."""
    return says(_MEASURES.get(measure, measure), language)


def flatten(table: ProtectedTable) -> Flat:
    """The table as columns, one entry a cell, in the order its axes stand in."""
    require_protected(table)
    wanted = percent.NAMES if table.layout.percent else ()
    taken = {table.measure.casefold(), "status", "noise_sd", "lower", "upper", *wanted}
    extra = dict(zip(_extra_names(table, taken), table.extra.values(), strict=True))
    names = column_names(table.domain.axes, taken)
    axes = tuple(
        FlatAxis(
            names[i],
            axis.level.label.says(table.layout.language) or axis.name,
            table.codes(i),
            table.labels(i),
            table.totals[i],
            axis.variable.kind,
        )
        for i, axis in enumerate(table.domain.axes)
    )

    def column(array: npt.NDArray[Any], seen: Mask, instead: Any = 0) -> npt.NDArray[Any]:
        """One entry a cell where it may be seen, and what stands there instead elsewhere."""
        whole = array if array.shape == table.shape else np.broadcast_to(array, table.shape)
        kind = np.float64 if isinstance(instead, float) else np.int64
        return np.where(seen, whole.reshape(-1), instead).astype(kind, copy=False)

    shown, status = table.shown.reshape(-1), table.status.reshape(-1)
    values: Whole = column(table.values, shown)
    noise_sd = lower = upper = None
    if table.noise is not None:
        noisy = shown & (status != Status.STRUCTURAL_ZERO)
        noise_sd = column(table.noise.sd, noisy, 0.0)
        lower = column(table.noise.lower, noisy, values)
        upper = column(table.noise.upper, noisy, values)
    return Flat(
        axes=axes,
        measure=table.measure,
        values=values,
        shown=shown,
        status=status,
        noise_sd=noise_sd,
        lower=lower,
        upper=upper,
        extra={name: column(array, shown) for name, array in extra.items()},
        percent=_percent(table, values, shown, lower, upper) if wanted else None,
        language=table.layout.language,
    )


def _percent(
    table: ProtectedTable, values: Whole, shown: Mask, lower: Whole | None, upper: Whole | None
) -> percent.Percent:
    coverage = table.noise.coverage if table.noise is not None else Fraction(0)
    if table.percentages:
        made = percent.given(table.layout.percent, table.percentages, shown, coverage)
    else:
        made = percent.percentages(
            table.layout.percent,
            percent.axes_added(table.layout.percent, *table.sides),
            table.totals,
            values.reshape(table.shape),
            shown.reshape(table.shape),
            None if lower is None else lower.reshape(table.shape),
            None if upper is None else upper.reshape(table.shape),
            coverage,
        )
    decimals = table.layout.decimals
    return made if decimals is None else replace(made, decimals=decimals)


def require_protected(table: object) -> None:
    """Raise TypeError, in one sentence that shows no value, unless this is a protected table."""
    if not isinstance(table, ProtectedTable):
        kind = {"TrueTable": "a true table", "Rehearsal": "a rehearsal"}.get(
            type(table).__name__, f"an object of type {type(table).__name__}"
        )
        raise TypeError(
            f"Only protected tables can be written or shown, got {kind}. "
            "Release the question first and write what comes back."
        )


def _extra_names(table: ProtectedTable, taken: set[str]) -> list[str]:
    """A name for each further column that no other has; added to those `taken`."""
    names = []
    for name in table.extra:
        names.append(_free(name, taken))
        taken.add(names[-1].casefold())
    return names


def column_names(axes: Sequence[Axis], taken: set[str]) -> list[str]:
    """A name for each axis such that no two columns are equal, whatever the case of letters."""
    names = []
    for axis in axes:
        wanted = [axis.name]
        if axis.variable.name != axis.name:
            wanted.append(f"{axis.variable.name}_{axis.name}")
        wanted.append(f"{axis.name}_code")
        name = next((w for w in wanted if _is_free(w, taken)), "") or _free(wanted[-1], taken)
        names.append(name)
        taken |= {name.casefold(), f"{name}_label".casefold()}
    return names


def _is_free(name: str, taken: set[str]) -> bool:
    return not {name.casefold(), f"{name}_label".casefold()} & taken


def _free(name: str, taken: set[str]) -> str:
    return next(free for free in numbered(name) if _is_free(free, taken))


def numbered(name: str) -> Iterator[str]:
    """A name, then the same with 2, 3 … behind it."""
    return itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
