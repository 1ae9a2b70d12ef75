"""The law of a top-down table: what was drawn, and how well its unbiased cells are known together.

Published counts are read off one table fitted to all measurements, so no count has a law of its own.
The column *unbiased* has a covariance: by set of the other axes a variance, and where the table has
areas a matrix over the nodes of their level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.cell_law import CellLaw, Source
from ...core.product import subsets
from ...core.residual_law import Nodes, ResidualAxis, Residuals
from ..shared.residual_axes import residual_axes
from .design import Asked, Design

UNBIASED = "unbiased"
MOST_NODES = 64
"""A covariance of more nodes than this is too large to stand in every file."""


def sources_of(design: Design) -> tuple[Source, ...]:
    """The laws of the noise that was drawn, each with how many tables were measured by it."""
    laws = {one.law: 0 for one in design.allocation.measured}
    for one in design.allocation.measured:
        laws[one.law] += 1
    return tuple(Source(law.name, law, tables) for law, tables in laws.items())


def table_law(
    design: Design, asked: Asked, sources: Sequence[Source], names: Sequence[str], *, known: bool
) -> CellLaw:
    """The law of one table with axes of these names; not `known`: it follows from the fit only."""
    return CellLaw(
        tuple(sources),
        consistency="synthetic table",
        residual_variance=_residuals(design, asked, names) if known else None,
        column=UNBIASED if known else "",
        measured=known,
        about={
            "plan": design.allocation.name,
            "tree": design.tree.variable,
            "levels": ", ".join(design.tree.names[1:]),
            "loss": str(design.settings.loss),
        },
    )


def _residuals(design: Design, asked: Asked, names: Sequence[str]) -> Residuals | None:
    wanted, tree = asked.at_level, design.tree
    if asked.level and tree.sizes[asked.level] > MOST_NODES:
        return None
    own = {axis: str(ref) for axis, ref in enumerate(design.workload.refs)}
    axes = residual_axes(wanted, names, own)
    if axes is None:
        return None
    by_axis = dict(zip(wanted.margin, axes, strict=True))
    others = tuple(by_axis[axis] for axis in asked.margin)
    known = [
        (kept, over)
        for kept in subsets(tuple(range(len(others))))
        if (over := design.known.over_tree(tuple(asked.margin[i] for i in kept))) is not None
    ]
    if not asked.level:
        return Residuals(others, tuple((k, float(over.covariance(0)[0, 0])) for k, over in known))
    matrices = {
        kept: tuple(over.covariance(asked.level)[np.tril_indices(tree.sizes[asked.level])].tolist())
        for kept, over in known
    }
    return Residuals(others, (), _nodes(by_axis[tree.axis], matrices))


def _nodes(axis: ResidualAxis, matrices: dict[tuple[int, ...], tuple[float, ...]]) -> Nodes:
    """Sets of one covariance share its matrix."""
    different = tuple(dict.fromkeys(matrices.values()))
    places = {matrix: place for place, matrix in enumerate(different)}
    return Nodes(axis, different, tuple((kept, places[one]) for kept, one in matrices.items()))
