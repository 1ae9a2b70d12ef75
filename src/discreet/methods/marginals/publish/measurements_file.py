"""The noisy measurements themselves as a file: what was drawn, before any fit, for anybody's own model.

    margin              region, cause, …     measured    noise_sd
    region × sex        E12000001  F−M         -17        5.66

One row a number: the category of each variable of its margin, empty for the others. `a−b` is a
difference: the records in a minus those in b. Classic mode measures bits of variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.control import Control
from ....core.product import Whole
from ...base import Measurements
from ...shared.microdata import write_columns
from ..measured_tables import Measured, read_all

if TYPE_CHECKING:
    from ..design import Design


def write_measurements(
    design: Design, measurements: Measurements, path: Path, control: Control
) -> int:
    """Write every measured number with its standard deviation; returns how many."""
    design = design.source or design
    measured = design.allocation.measured
    tables = read_all(measured, measurements.arrays, design.shape)
    names, codes = _axes(design)
    margins = [" × ".join(names[axis] for axis in m.margin) or "total" for m in measured]
    columns: list[tuple[str, Sequence[str] | type]] = [
        (_free("margin", names), margins),
        *((name, [*own, "−".join(own[:2])]) for name, own in zip(names, codes, strict=True)),
        (_free("measured", names), int),
        (_free("noise_sd", names), float),
    ]

    def blocks() -> Iterator[list[Any]]:
        for place, (m, table) in enumerate(zip(measured, tables, strict=True)):
            control.step(place / len(measured), f"writing {path.name}")
            yield [
                np.full(table.size, place),
                *_cells(m, table, [len(own) for own in codes]),
                table.ravel(),
                np.full(table.size, math.sqrt(m.variance)),
            ]

    return write_columns(path, columns, blocks())


def _cells(measured: Measured, table: Whole, lengths: Sequence[int]) -> list[Whole]:
    """For each axis the category of every number: -1 where it has none, the last for a contrast."""
    found = [np.full(table.size, -1, dtype=np.int64) for _ in lengths]
    places = np.indices(table.shape).reshape(table.ndim, table.size)
    for position, axis in enumerate(measured.margin):
        contrast = axis in measured.contrast
        found[axis] = np.full(table.size, lengths[axis]) if contrast else places[position]
    return found


def _axes(design: Design) -> tuple[list[str], list[Sequence[str]]]:
    """Names and codes of the axes that were measured: levels, or bits of them."""
    axes = design.workload.domain.axes
    if design.coding is None:
        return [axis.name for axis in axes], [axis.level.codes for axis in axes]
    names = [
        f"{axis.name} bit {bit}"
        for axis, width in zip(axes, design.coding.widths, strict=True)
        for bit in range(width)
    ]
    return names, [("0", "1")] * len(names)


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(name + "_", taken)
