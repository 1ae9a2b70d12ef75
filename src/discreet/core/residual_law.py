"""How well least-squares estimates are known: one variance for each set of axes.

A table splits into what varies along the axes of a set A and along no other, for every A. These
parts are estimated independently, with variance v_A, so the covariance of any two cells follows:
Σ_A v_A ∏_{i ∈ A} (g·h − |g||h|/n) ∏_{i ∉ A} |g||h|/n², where g and h are the categories of axis i
that the two cells sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .product import subsets


@dataclass(frozen=True)
class ResidualAxis:
    """An axis that was measured, and where its categories go in the table."""

    name: str
    """The table's axis; for one that the table only filters by, the variable's level."""
    length: int
    groups: tuple[int, ...] | None = None
    """For each category its place in the table, −1 where it is not counted; None: its own place."""
    summed: bool = False
    """Whether the table has no such axis: what passes its filter is summed."""

    def picked(self, place: int | None) -> npt.NDArray[np.float64]:
        """1 for each category that a cell at this place, or at the total, sums."""
        groups = np.arange(self.length) if self.groups is None else np.array(self.groups)
        held = groups >= 0 if place is None or self.summed else groups == place
        return held.astype(np.float64)


@dataclass(frozen=True)
class Residuals:
    """v_A for each set A of measured axes, by their places; a set that is missing is not known."""

    axes: tuple[ResidualAxis, ...]
    variances: tuple[tuple[tuple[int, ...], float], ...]

    def covariance(
        self, cell: Mapping[str, int | None], other: Mapping[str, int | None] | None = None
    ) -> float:
        """The covariance of the estimates of two cells, or the variance of one; inf if not known."""
        second = cell if other is None else other
        inside, outside = [], []
        for axis in self.axes:
            g, h = axis.picked(cell.get(axis.name)), axis.picked(second.get(axis.name))
            both = float(g.sum() * h.sum())
            inside.append(float(g @ h) - both / axis.length)
            outside.append(both / axis.length**2)
        known, total = dict(self.variances), 0.0
        for kept in subsets(tuple(range(len(self.axes)))):
            weight = math.prod(
                inside[i] if i in kept else outside[i] for i in range(len(self.axes))
            )
            if abs(weight) > 1e-12:
                total += weight * known.get(kept, math.inf)
        return total

    def taken(self, kept: Mapping[str, Sequence[int]]) -> Residuals:
        """The same for a table with only these categories of some axes."""
        axes = []
        for axis in self.axes:
            if axis.name in kept and not axis.summed:
                now = {old: new for new, old in enumerate(kept[axis.name])}
                before = range(axis.length) if axis.groups is None else axis.groups
                groups = tuple(now.get(place, -1) for place in before)
                axis = replace(axis, groups=groups)  # noqa: PLW2901 - the same one, changed
            axes.append(axis)
        return Residuals(tuple(axes), self.variances)

    def to_json(self) -> dict[str, Any]:
        """Plain values; a set of axes by names."""
        axes = []
        for axis in self.axes:
            one: dict[str, Any] = {"name": axis.name, "categories": axis.length}
            if axis.groups is not None:
                one["groups"] = list(axis.groups)
            if axis.summed:
                one["summed"] = True
            axes.append(one)
        names = [axis.name for axis in self.axes]
        return {
            "axes": axes,
            "subsets": [[[names[i] for i in kept], value] for kept, value in self.variances],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Residuals:
        """Read back what `to_json` gives."""
        axes = tuple(
            ResidualAxis(
                str(axis["name"]),
                int(axis["categories"]),
                tuple(axis["groups"]) if "groups" in axis else None,
                bool(axis.get("summed", False)),
            )
            for axis in data["axes"]
        )
        names = [axis.name for axis in axes]
        return cls(
            axes,
            tuple(
                (tuple(names.index(name) for name in kept), float(value))
                for kept, value in data["subsets"]
            ),
        )
