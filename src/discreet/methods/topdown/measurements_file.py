"""The noisy measurements themselves as a file: what was drawn, before any fit, for anybody's own model.

    table               level   area   sex, cause, …   measured   noise_sd

One row a number: the area it was counted in, at which level of the tree, and the category of each
variable of its margin, empty for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.control import Control
from ...core.product import Reals, Whole
from ..shared.microdata import write_columns
from .design import Design


def write_measurements(
    design: Design, tables: Sequence[Whole | Reals], path: Path, control: Control
) -> int:
    """Write every measured number with its standard deviation; returns how many."""
    tree, domain = design.tree, design.workload.domain
    measured = design.allocation.measured
    codes = [code for level in tree.levels for code in level.codes]
    firsts = np.cumsum([0, 0, *tree.sizes[1:]])
    names = [domain.axes[axis].name for axis in design.others]
    own = {"table", "level", "node", "measured", "noise_sd"}
    columns: list[tuple[str, Sequence[str] | type]] = [
        ("table", [design.words(m.level, m.margin) for m in measured]),
        ("level", list(tree.names)),
        ("node", codes or ["-"]),
        *(
            (name if name not in own else f"{name}_", domain.axes[axis].level.codes)
            for name, axis in zip(names, design.others, strict=True)
        ),
        ("measured", float if any(m.unit > 1 for m in measured) else int),
        ("noise_sd", float),
    ]

    def blocks() -> Iterator[list[Any]]:
        for number, (m, table) in enumerate(zip(measured, tables, strict=True)):
            control.step(number / len(measured), f"writing {path.name}")
            places = np.indices(table.shape).reshape(table.ndim, table.size)
            node = places[0] + firsts[m.level] if m.level else np.full(table.size, -1)
            by_axis = {axis: places[1 + i] for i, axis in enumerate(m.margin)}
            none = np.full(table.size, -1)
            yield [
                np.full(table.size, number),
                np.full(table.size, m.level),
                node,
                *(by_axis.get(axis, none) for axis in design.others),
                table.ravel(),
                np.full(table.size, math.sqrt(m.variance)),
            ]

    return write_columns(path, columns, blocks())
