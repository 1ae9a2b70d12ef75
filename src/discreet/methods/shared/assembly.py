"""Protected tables put together from what a plan, a wanted table and the public facts say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.domain import Domain, Flags
from ...core.domain import margins as subsets_of
from ...core.product import Reals, Whole
from ...core.question import TableSpec
from ...core.table import ProtectedTable, Provenance, Status
from ...core.table_titles import title_of
from ...core.true_values import add_totals
from ...languages import Sentence, say, together
from ..base import Facts, Plan

WIDTH = {"laplace": 2.12, "gaussian": 1.96}
"""95 % of a sum of draws lies within this many standard deviations, rounded outwards to integers; for
Laplace noise one draw is the worst."""
_MOST = 2.0**62
Figure = TypeVar("Figure", int, float)


def protected(
    plan: Plan,
    spec: TableSpec,
    facts: Facts,
    provenance: Provenance,
    domain: Domain | None = None,
    **numbers: Any,
) -> ProtectedTable:
    """One wanted table: its title, axes and guarantee, with the `numbers` a method found for it.

    `domain` is given where a method joined categories.
    """
    return ProtectedTable(
        title=title_of(spec, facts.description, plan.counted),
        domain=facts.description.domain(spec.axes) if domain is None else domain,
        totals=(spec.totals,) * len(spec.axes),
        guarantee=plan.guarantee,
        provenance=provenance,
        measure="weighted count" if spec.weighted else "count",
        **numbers,
    )


def shortened(names: Sequence[str], most: int) -> Sentence:
    """The first of many names, and how many more there are."""
    shown = together(*names[:most], between="; ")
    if len(names) <= most:
        return shown
    return say("{labels} and {n} more", labels=shown, n=len(names) - most)


def impossible(spec: TableSpec, description: Description) -> Flags | None:
    """Which cells of a table cannot hold a record, totals of nothing but such cells included."""
    mask = description.zero_mask(spec.count)
    if mask is None or not spec.totals:
        return mask
    return np.equal(add_totals((~mask).astype(np.int64)), 0)


def zero_status(spec: TableSpec, description: Description) -> npt.NDArray[np.uint8]:
    """The statuses of a table before anything is known of its numbers."""
    status = np.zeros([len(description.axis(ref)) + spec.totals for ref in spec.axes], np.uint8)
    if (zeros := impossible(spec, description)) is not None:
        status[zeros] = Status.STRUCTURAL_ZERO
    return status


def published_cells(spec: TableSpec, description: Description) -> int:
    """How many cells a table publishes, totals included."""
    return math.prod(len(description.axis(ref)) + spec.totals for ref in spec.axes)


def totals_by_name(
    spec: TableSpec, value: Callable[[tuple[int, ...]], Figure]
) -> dict[str, Figure]:
    """A figure for each margin that comes with a table, by the levels it keeps, '' the total."""
    axes = len(spec.axes) if spec.totals else 0
    return {
        ",".join(spec.axes[i].level for i in kept): value(kept)
        for kept in subsets_of(axes)
        if len(kept) < axes
    }


def assembled(
    parts: Mapping[tuple[int, ...], Any], shape: Sequence[int], totals: bool, dtype: Any
) -> Any:
    """One array of a table and its margins: each last along the axes it does not keep."""
    out = np.empty([n + totals for n in shape], dtype=dtype)
    for kept, values in parts.items():
        out[part_at(kept, shape)] = values
    return out


def part_at(kept: Sequence[int], shape: Sequence[int]) -> tuple[int | slice, ...]:
    """Where in a table with totals the margin that keeps these axes lies."""
    return tuple(slice(0, n) if i in kept else n for i, n in enumerate(shape))


def with_totals(values: Reals) -> Reals:
    """Estimates with their sum last on each axis."""
    for axis in range(values.ndim):
        values = np.concatenate([values, values.sum(axis=axis, keepdims=True)], axis=axis)
    return values


def as_whole(values: Reals) -> Whole:
    """Whole numbers of numbers that are whole already, cut off where 64 bits end."""
    return np.clip(values, -_MOST, _MOST).astype(np.int64)


def interval(estimate: Reals, reach: Reals) -> tuple[Whole, Whole]:
    """An estimate less and more so much, rounded outwards; a count is not below 0."""
    return (
        as_whole(np.maximum(np.floor(estimate - reach), 0)),
        as_whole(np.maximum(np.ceil(estimate + reach), 0)),
    )
