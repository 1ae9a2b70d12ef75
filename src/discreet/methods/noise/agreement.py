"""Separately noised margins brought into agreement: least squares over all readings of a group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.description import Description
from ...core.domain import Flags
from ...core.margins import Margin, Projection, domain_of, projection
from ...core.product import Reals, Whole
from ..shared.least_squares import estimate_variances, sparse_estimate
from .planner import KNOWN, Planner, Scheme


def summed_from(whole: Margin, part: Margin, description: Description) -> Projection:
    """How a margin is summed from one that is known to give it."""
    found = projection(whole, part, description)
    assert found is not None
    return found


@dataclass(frozen=True)
class _System:
    """Least squares over a joint table of `size` cells."""

    size: int
    readings: list[tuple[Whole, int, float]]
    """Of each reading the address of every joint cell, how many cells, the variance."""
    parts: list[int]
    """Which measured margins these are."""
    total: int | None
    zeros: Flags | None
    wanted: list[tuple[Whole, int]]
    shapes: dict[Margin, tuple[int, ...]]

    def shaped(self, figures: Sequence[Reals | None]) -> dict[Margin, Reals]:
        """Figures of wanted cells, by margin, where there are any."""
        pairs = zip(self.shapes.items(), figures, strict=True)
        return {m: found.reshape(shape) for (m, shape), found in pairs if found is not None}


class Agreement:
    """The least-squares estimates of one plan's margins; each group is worked out once."""

    def __init__(self, planner: Planner, scheme: Scheme, values: Sequence[Whole]) -> None:
        self.planner, self.scheme, self._values = planner, scheme, values
        self.description = planner.description
        self._agreed: dict[object, dict[Margin, Reals]] = {}
        self._spread: dict[object, dict[Margin, Reals]] = {}
        self._readings = Counter(part.margin.group for part in scheme.measured)

    def values(self, margin: Margin) -> Reals:
        """The estimates of a margin's cells."""
        return self._agree(margin.group)[margin]

    def variance(self, margin: Margin) -> float | Reals | None:
        """Their variances; None where they are too many to work out."""
        if self.scheme.closed[margin.group] is None:
            return self._spreads(margin.group).get(margin)
        return self.scheme.targets[margin].variance * self.planner.unit(margin) ** 2

    def reaches(self, margin: Margin) -> bool:
        """Whether a margin is a least-squares estimate: several readings of one group."""
        if self.planner.consistency == "none":
            return False
        return self._readings[margin.group] + self.total_known(margin) > 1

    def total_known(self, margin: Margin) -> bool:
        """Whether the grand total of a margin's group is declared public."""
        return self.planner.is_known(Margin((), margin.where, margin.weighted))

    def _agree(self, group: Any) -> dict[Margin, Reals]:
        if group not in self._agreed:
            targets, closed = self._estimated(group), self.scheme.closed[group]
            self._agreed[group] = (
                self._closed(targets, *closed) if closed else self._solved(group, targets)
            )
        return self._agreed[group]

    def _estimated(self, group: Any) -> list[Margin]:
        return [
            margin
            for margin, target in self.scheme.targets.items()
            if margin.group == group and target.source != KNOWN
        ]

    def _closed(
        self, targets: Sequence[Margin], components: Any, axes: list[Any]
    ) -> dict[Margin, Reals]:
        group = targets[0].group
        values = []
        for part, value in zip(self.scheme.measured, self._values, strict=True):
            if part.margin.group == group:
                order = np.argsort([axes.index(ref) for ref in part.margin.axes])
                values.append(np.transpose(value, order))
        places = {m: tuple(axes.index(ref) for ref in m.axes) for m in targets}
        wanted = list(dict.fromkeys(tuple(sorted(place)) for place in places.values()))
        found = components.estimate(values, wanted, self.description.records)
        return {
            m: np.transpose(found[tuple(sorted(place))], np.argsort(np.argsort(place)))
            for m, place in places.items()
        }

    def _spreads(self, group: Any) -> dict[Margin, Reals]:
        """The variances of a group's estimates, where they can be worked out."""
        if group not in self._spread:
            system = self._system(group, self._estimated(group))
            found = estimate_variances(
                *(system.size, system.readings, system.zeros, system.wanted),
                total_known=system.total is not None,
            )
            self._spread[group] = system.shaped(found)
        return self._spread[group]

    def _solved(self, group: Any, targets: Sequence[Margin]) -> dict[Margin, Reals]:
        system = self._system(group, targets)
        readings = [
            (address, self._values[part], variance)
            for (address, _, variance), part in zip(system.readings, system.parts, strict=True)
        ]
        if system.total is not None:
            exact = min(variance for *_, variance in readings) * 1e-8
            nowhere = np.zeros(system.size, dtype=np.int64)
            readings = [*readings, (nowhere, np.array([system.total]), exact)]
        return system.shaped(sparse_estimate(system.size, readings, system.zeros, system.wanted))

    def _system(self, group: Any, targets: Sequence[Margin]) -> _System:
        """What was read of a group's joint table, and what is wanted of it."""
        whole = self.planner.joint_of(self.scheme, group)
        size = domain_of(whole, self.description).size
        measured = self.scheme.measured
        parts = [at for at, part in enumerate(measured) if part.margin.group == group]
        readings = [
            (
                self._addresses(measured[at].margin, whole),
                measured[at].cells,
                float(measured[at].law.variance),
            )
            for at in parts
        ]
        total = self.description.records if self.total_known(whole) else None
        zeros = self.description.zero_mask(whole.count)
        shapes = {margin: domain_of(margin, self.description).shape for margin in targets}
        wanted = [(self._addresses(m, whole), math.prod(shape)) for m, shape in shapes.items()]
        return _System(size, readings, parts, total, zeros, wanted, shapes)

    def _addresses(self, margin: Margin, whole: Margin) -> Whole:
        """For each cell of the joint table, the address of its cell in a margin."""
        found = summed_from(whole, margin, self.description)
        return found.addresses(np.arange(found.whole.size))
