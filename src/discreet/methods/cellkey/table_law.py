"""The law of a cell-key table as a reader may know it: the whole p-table, and what is hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.cell_law import CellLaw, MarginLaw, Source, axis_names, by_margin
from ...core.description import Description
from ...core.domain import Flags
from ...core.exact import rounded_up
from ...core.law_kinds import PrivateLaw
from ...core.question import TableSpec
from .risk import Risk
from .settings import Settings, Treatment

NAME = "cell"


def cell_law(settings: Settings, risk: Risk) -> CellLaw:
    """One perturbation a cell, margins included, by a law for each count; everything but keys."""
    table, public = settings.table, settings.law_is_public
    about: dict[str, Any] = {
        "key_scheme": "strong" if settings.scheme is None else settings.scheme.name,
        "sameness": settings.sameness,
        "zeros": "kept" if table.zeros_kept else "perturbed",
        "risk": {
            "hired_today": rounded_up(risk.hired_today.success, 6),
            "hired_today_false_alarm": rounded_up(risk.hired_today.false_alarm, 6),
            "same_set": rounded_up(risk.matching.posterior, 6),
            "queries_to_recover": risk.splitting.queries,
            "parts": risk.splitting.parts,
        },
    }
    if public:
        about["variance_rounded"] = rounded_up(table.large.variance, 8)
    return CellLaw(
        (Source(NAME, table.law if public else PrivateLaw("p-table")),),
        (MarginLaw(None, 0),),
        shared="keys",
        about=about,
    )


def for_table(
    law: CellLaw,
    spec: TableSpec,
    description: Description,
    zeros: Flags | None,
    treated: Treatment,
) -> CellLaw:
    """The law of one table: what is hidden, the mean weight of a cell, cells that cannot exist."""
    if zeros is not None:
        names = axis_names(description.domain(spec.axes))
        law = replace(law, cells=by_margin(names, spec.totals, (~zeros).astype(np.int64)))
    if treated.hides:
        law = replace(law, hidden_below=treated.threshold, display_floor=treated.display_floor)
    return replace(law, mean_weight=True) if spec.weighted else law
