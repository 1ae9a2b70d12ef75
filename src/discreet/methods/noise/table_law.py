"""The law of a table of this method: which draws each cell has, or what agreement leaves of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.cell_law import CellLaw, MarginLaw, Source, alike, axis_names
from ...core.margins import Margin
from ...core.product import Whole, subsets
from ...core.residual_law import ResidualAxis, Residuals
from ..shared.residuals import HARD
from .planner import KNOWN, Planner, Scheme
from .settings import Treatment


def table_law(
    whole: Margin,
    summed: Mapping[tuple[int, ...], int | Whole],
    planner: Planner,
    scheme: Scheme,
    treated: Treatment,
    *,
    agreed: bool,
) -> CellLaw:
    """The law of a table and its totals; `summed` is how many draws the cells of each margin have."""
    names = axis_names(planner.description.domain(whole.axes))
    unit = planner.unit(whole)
    sources = {kept: scheme.targets[whole.keep(kept)].source for kept in summed}
    used = [
        number
        for number, part in enumerate(scheme.measured)
        if (part.margin.group == whole.group if agreed else number in sources.values())
    ]
    added = tuple(
        MarginLaw(
            tuple(names[i] for i in kept),
            None if sources[kept] == KNOWN else used.index(sources[kept]),
            alike(many),
        )
        for kept, many in summed.items()
    )
    made_whole = treated.consistency == "integers" and unit != 1
    return CellLaw(
        tuple(Source(str(scheme.measured[i].margin), scheme.measured[i].law) for i in used),
        () if agreed else added,
        unit=unit,
        consistency=treated.consistency if agreed or made_whole else "none",
        negatives=treated.negatives,
        threshold=treated.threshold if treated.negatives == "threshold" else None,
        residual_variance=_residuals(whole, names, planner, scheme) if agreed else None,
    )


def _residuals(
    whole: Margin, names: Sequence[str], planner: Planner, scheme: Scheme
) -> Residuals | None:
    """How well each part of a least-squares estimate is known, where that has a closed form."""
    closed = scheme.closed[whole.group]
    if closed is None:
        return None
    components, axes = closed
    places = [axes.index(ref) for ref in whole.axes]
    unit = planner.unit(whole)
    return Residuals(
        tuple(
            ResidualAxis(name, components.shape[place])
            for name, place in zip(names, places, strict=True)
        ),
        tuple(
            (kept, 0.0 if precision >= HARD else 1 / precision / unit**2)
            for kept in subsets(tuple(range(len(places))))
            if (precision := components.known[tuple(sorted(places[i] for i in kept))]) > 0
        ),
    )
