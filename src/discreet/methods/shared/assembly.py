"""Protected tables put together from what a plan, a wanted table and the public facts say."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.domain import Flags
from ...core.question import TableSpec
from ...core.table import ProtectedTable, Provenance, Status
from ...core.true_values import add_totals
from ..base import Facts, Plan, title_of


def protected(
    plan: Plan, spec: TableSpec, facts: Facts, provenance: Provenance, **numbers: Any
) -> ProtectedTable:
    """One wanted table: its title, axes and guarantee, with the `numbers` a method found for it."""
    return ProtectedTable(
        title=title_of(spec, facts.description),
        domain=facts.description.domain(spec.axes),
        totals=(spec.totals,) * len(spec.axes),
        guarantee=plan.guarantee,
        provenance=provenance,
        measure="weighted count" if spec.weighted else "count",
        **numbers,
    )


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
