"""How well least-squares estimates are known: one variance for each set of axes.

A table splits into what varies along the axes of a set A and along no other, for every A. These
parts are estimated independently, with variance v_A, so the covariance of any two cells follows:
Σ_A v_A ∏_{i ∈ A} (g·h − |g||h|/n) ∏_{i ∉ A} |g||h|/n², where g and h are the categories of axis i
that the two cells sum. A table over the nodes of a tree has in place of each v_A a matrix, whose
g'·V_A·h is taken for the nodes that the two cells sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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

    def taken(self, kept: Mapping[str, Sequence[int]]) -> ResidualAxis:
        """The same for a table with only these categories of some axes."""
        if self.summed or self.name not in kept:
            return self
        now = {old: new for new, old in enumerate(kept[self.name])}
        before = range(self.length) if self.groups is None else self.groups
        return replace(self, groups=tuple(now.get(place, -1) for place in before))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        one: dict[str, Any] = {"name": self.name, "categories": self.length}
        if self.groups is not None:
            one["groups"] = list(self.groups)
        if self.summed:
            one["summed"] = True
        return one

    @classmethod
    def from_json(cls, axis: Mapping[str, Any]) -> ResidualAxis:
        """Read back what `to_json` gives."""
        groups = tuple(axis["groups"]) if "groups" in axis else None
        return cls(
            str(axis["name"]), int(axis["categories"]), groups, bool(axis.get("summed", False))
        )


@dataclass(frozen=True)
class Nodes:
    """An axis of the nodes of a tree, whose estimates go together as the tree has them.

    Its categories have no one variance: for each set of the other axes a covariance of all nodes.
    """

    axis: ResidualAxis
    matrices: tuple[tuple[float, ...], ...]
    """Covariances of nodes, row by row up to the diagonal."""
    sets: tuple[tuple[tuple[int, ...], int], ...]
    """Sets of the other axes by their places, and the matrix of each."""

    @cached_property
    def by_set(self) -> dict[tuple[int, ...], npt.NDArray[np.float64]]:
        """The whole matrices."""
        n, full = self.axis.length, []
        for lower in self.matrices:
            matrix = np.zeros((n, n))
            matrix[np.tril_indices(n)] = lower
            full.append(matrix + np.tril(matrix, -1).T)
        return {kept: full[place] for kept, place in self.sets}


@dataclass(frozen=True)
class Residuals:
    """v_A for each set A of measured axes, by their places; a set that is missing is not known.

    Where `nodes` has a further axis, v_A is a matrix over its nodes instead, and `variances` is empty.
    """

    axes: tuple[ResidualAxis, ...]
    variances: tuple[tuple[tuple[int, ...], float], ...]
    nodes: Nodes | None = None

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
        known, total = self._known(cell, second), 0.0
        for kept in subsets(tuple(range(len(self.axes)))):
            weight = math.prod(
                inside[i] if i in kept else outside[i] for i in range(len(self.axes))
            )
            if abs(weight) > 1e-12:
                total += weight * known.get(kept, math.inf)
        return total

    def _known(
        self, cell: Mapping[str, int | None], other: Mapping[str, int | None]
    ) -> dict[tuple[int, ...], float]:
        """v_A of every set, between two cells where it depends on their nodes."""
        if self.nodes is None:
            return dict(self.variances)
        axis = self.nodes.axis
        g, h = axis.picked(cell.get(axis.name)), axis.picked(other.get(axis.name))
        return {kept: float(g @ matrix @ h) for kept, matrix in self.nodes.by_set.items()}

    def taken(self, kept: Mapping[str, Sequence[int]]) -> Residuals:
        """The same for a table with only these categories of some axes."""
        nodes = self.nodes
        return Residuals(
            tuple(axis.taken(kept) for axis in self.axes),
            self.variances,
            None if nodes is None else replace(nodes, axis=nodes.axis.taken(kept)),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; a set of axes by names."""
        names = [axis.name for axis in self.axes]
        out: dict[str, Any] = {
            "axes": [axis.to_json() for axis in self.axes],
            "subsets": [[[names[i] for i in kept], value] for kept, value in self.variances],
        }
        if self.nodes is not None:
            out["nodes"] = {
                "axis": self.nodes.axis.to_json(),
                "matrices": [list(lower) for lower in self.nodes.matrices],
                "subsets": [[[names[i] for i in kept], place] for kept, place in self.nodes.sets],
            }
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Residuals:
        """Read back what `to_json` gives."""
        axes = tuple(ResidualAxis.from_json(axis) for axis in data["axes"])
        places = {axis.name: place for place, axis in enumerate(axes)}

        def kept(names: Sequence[str]) -> tuple[int, ...]:
            return tuple(places[name] for name in names)

        variances = tuple((kept(names), float(value)) for names, value in data["subsets"])
        said = data.get("nodes")
        if said is None:
            return cls(axes, variances)
        axis = ResidualAxis.from_json(said["axis"])
        lower = tuple(tuple(float(v) for v in row) for row in said["matrices"])
        sets = tuple((kept(names), int(place)) for names, place in said["subsets"])
        whole = axis.length * (axis.length + 1) // 2
        if any(len(row) != whole for row in lower) or any(
            not 0 <= place < len(lower) for _, place in sets
        ):
            raise ValueError("a covariance of other nodes")
        return cls(axes, variances, Nodes(axis, lower, sets))
