"""The law of a table of consistent margins: what was drawn, and how well its unbiased cells are known.

Published counts are read off one table fitted to all measurements, so no count has a law of its own;
the column *unbiased* has a covariance, said by one variance for each set of measured axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....core.cell_law import CellLaw, Source
from ....core.product import subsets
from ....core.residual_law import Residuals
from ...shared.residual_axes import residual_axes
from ...shared.residuals import HARD
from ...shared.workload import Wanted

if TYPE_CHECKING:
    from ..design import Design

UNBIASED = "unbiased"


def sources_of(design: Design) -> tuple[Source, ...]:
    """The laws of the noise that was drawn, each with how many tables were measured by it."""
    measured = (design.source or design).allocation.measured
    laws = {one.law: 0 for one in measured}
    for one in measured:
        laws[one.law] += 1
    return tuple(Source(law.name, law, tables) for law, tables in laws.items())


def table_law(
    design: Design,
    wanted: Wanted,
    sources: tuple[Source, ...],
    names: Sequence[str],
    *,
    measured: bool,
) -> CellLaw:
    """The law of one table with axes of these names; not `measured`: it follows from the model."""
    return CellLaw(
        sources,
        consistency="synthetic table",
        residual_variance=_residuals(design, wanted, names) if measured else None,
        column=UNBIASED if measured else "",
        measured=measured,
        about={
            "mode": design.settings.mode,
            "plan": design.allocation.name,
            "loss": str(design.settings.loss),
        },
    )


def _residuals(design: Design, wanted: Wanted, names: Sequence[str]) -> Residuals | None:
    """Variances by set of measured axes; None in classic mode, which measures bits.

    None too for a variable by its own level, whose cells are no product of categories.
    """
    if design.coding is not None:
        return None
    own = {axis: str(ref) for axis, ref in enumerate(design.workload.refs)}
    axes = residual_axes(wanted, names, own)
    if axes is None:
        return None
    known = design.allocation.known
    return Residuals(
        axes,
        tuple(
            (kept, 0.0 if precision >= HARD else 1 / precision)
            for kept in subsets(tuple(range(len(axes))))
            if (precision := known.get(tuple(wanted.margin[i] for i in kept), 0.0)) > 0
        ),
    )
