"""The whole mechanism run again on a released table: a picture of its bias and spread, for free.

A synthetic table is published already, so its records may be counted, noised and fitted as if they
were true: whatever comes out is computed from protected numbers alone. How far the reruns lie from
the table they started from shows how far the release may lie from the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...core.control import Control
from ...core.domain import Count, Domain
from ...core.margins import Projection
from ...core.table import ProtectedTable, TrueTable
from ...core.true_values import Cells, seal
from ...errors import Bug
from ..base import Facts, Method, Plan
from .synthetic_table import SyntheticTable


class _NoSecrets:
    """A rerun draws; it has no keys."""

    def derive(self, purpose: str) -> bytes:
        raise Bug("A rerun of the mechanism asked for a key.")


def reruns(
    method: Method,
    plan: Plan,
    table: SyntheticTable,
    domain: Domain,
    facts: Facts,
    times: int,
    control: Control | None = None,
) -> Iterator[tuple[ProtectedTable, ...]]:
    """What the plan gives on the synthetic table itself, so many times over."""
    control = control or Control()
    counted = _counted(table, domain, plan.counts, facts)
    for number in range(times):
        control.step(number / times, "running the mechanism again")
        measurements = method.measure(plan, counted, _NoSecrets(), Control())
        yield method.fit(plan, measurements, facts, Control())


def _counted(
    table: SyntheticTable, domain: Domain, counts: Sequence[Count], facts: Facts
) -> list[TrueTable]:
    """The synthetic records, counted as an engine counts records."""
    description = facts.description
    sealed = []
    for count in counts:
        part = description.domain(count.axes)
        projection = Projection.of(domain, part)
        if projection is None:
            raise Bug("A plan counts what its synthetic table does not have.")
        columns = list(table.rows.T)
        passes = np.ones(len(table.rows), dtype=bool)
        for condition in count.where:
            position = [axis.variable.name for axis in domain.axes].index(condition.variable)
            within = description.variable(condition.variable).level(condition.level)
            places = domain.axes[position].level.map_to(within)
            if places is None:
                raise Bug("A plan filters by what its synthetic table does not tell apart.")
            codes = [within.index[code] for code in condition.codes]
            passes &= np.isin(places[columns[position]], codes)
        address = np.broadcast_to(projection.address(columns), passes.shape)[passes]
        cells, inverse = np.unique(address, return_inverse=True)
        sums = np.zeros(len(cells), dtype=np.int64)
        np.add.at(sums, inverse, table.counts[passes])
        sealed.append(seal(part, Cells(cells.astype(np.int64), sums)))
    return sealed
