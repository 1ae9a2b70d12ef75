"""Variants of the pilot that are not private, on true data, for the custodian alone (ons §5).

The article also ran its method without perturbing zeros, and with zeros perturbed only where the
balance between categories is fixed. Which cells are zero is then published as it is: no ε covers
that, so neither is a setting of any recipe. What comes back is a `Rehearsal`, which no format, route
or store accepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.control import Control
from ...core.domain import Flags
from ...core.product import Whole
from ...core.random_source import RandomSource
from ...core.table import Rehearsal, TrueTable
from ...errors import InputError
from ..base import Plan
from ..shared.counting import rows_of
from .design import Design, design_of
from .fit.kept_parts import Cells
from .fit.pilot import Impossible
from .fit.synthesis import joined, of_pilot
from .measured_tables import counted, draw_all

VARIANTS = ("all perturbed", "zeros kept", "zeros kept unless balanced")


def rehearse_pilot(
    plan: Plan,
    tables: Sequence[TrueTable],
    variant: str = "all perturbed",
    source: RandomSource | None = None,
) -> Rehearsal:
    """The tables of a plan of mode pilot, before and after one of the article's variants.

    *zeros kept unless balanced*: a zero is perturbed only where the level above, which fixes the sum
    it is part of, has somebody.
    """
    design = design_of(plan)
    if variant not in VARIANTS:
        raise InputError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}.")
    if design.settings.mode != "pilot" or design.settings.first != "variables":
        raise InputError("A rehearsal of the pilot needs mode: pilot and first: variables.")
    (cover,), (table,) = design.covers, tables
    rows, counts = rows_of(design.workload, cover, table)
    measured = design.allocation.measured
    drawn = draw_all(measured, design.tree, design.shape, rows, counts, source)
    noisy = [drawn[m.name] / m.unit for m in measured]
    true = [
        counted(m, design.tree, design.shape, rows, counts).reshape(design.tree.sizes[m.level], -1)
        for m in measured[1:]
    ]
    before = joined(design, _sparse(true[-1]))
    after = of_pilot(design, noisy, Control(), _kept(design, true, variant))
    found: dict[str, Any] = {"variant": variant, "before": [], "after": []}
    for asked in design.tables:
        found["before"].append(asked.wanted.read_off(before))
        found["after"].append(asked.wanted.read_off(after))
    return Rehearsal(f"ons method 2, {variant}: not private unless all are perturbed", found)


def _sparse(table: Whole) -> list[Cells]:
    found = []
    for counts in table:
        at = np.flatnonzero(counts)
        found.append(Cells(at, counts[at]))
    return found


def _kept(design: Design, true: Sequence[Whole], variant: str) -> Impossible | None:
    """Which cells of a node stay at 0."""
    if variant == "all perturbed":
        return None

    def kept(level: int, node: int, at: Whole) -> Flags:
        if variant == "zeros kept":
            return np.asarray(true[level][node][at] == 0)
        if level == 0:
            return np.zeros(len(at), dtype=bool)
        above = int(design.tree.parents[level][node])
        return np.asarray(true[level - 1][above][at] == 0)

    return kept
