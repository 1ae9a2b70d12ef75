"""Protected tables read off the synthetic table: values, noise, statuses, unbiased estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.cell_law import Source, axis_names
from ...core.product import Reals
from ...core.table import Noise, ProtectedTable, Status
from ...core.true_values import add_totals
from ...languages import number, say, together
from ..base import Facts, Plan, provenance
from ..shared.assembly import WIDTH, as_whole, interval, protected, with_totals, zero_status
from .design import Asked, Design
from .estimate import Estimates
from .fit.rounded import moved_in, upwards
from .fit.synthesis import Fitted
from .plan_facts import variances
from .table_law import UNBIASED, sources_of, table_law


def publish(
    design: Design,
    plan: Plan,
    made: Fitted,
    estimates: Estimates,
    facts: Facts,
) -> tuple[ProtectedTable, ...]:
    """One protected table for each asked one, in order."""
    sources, where = sources_of(design), provenance(plan, facts)
    return tuple(
        protected(
            plan,
            asked.wanted.spec,
            facts,
            where,
            **_numbers(design, plan, asked, made, estimates, facts, sources),
        )
        for asked in design.tables
    )


def _numbers(
    design: Design,
    plan: Plan,
    asked: Asked,
    made: Fitted,
    estimates: Estimates,
    facts: Facts,
    sources: tuple[Source, ...],
) -> dict[str, Any]:
    """Values, statuses, noise, estimates, law and notes of one table."""
    spec = asked.wanted.spec
    inside = asked.wanted.read_off(made.table)
    values = add_totals(inside) if spec.totals else inside
    sd = np.sqrt(variances(design, asked, totals=spec.totals))
    known = bool(np.isfinite(sd).all())
    status = zero_status(spec, facts.description)
    if not known:  # numbers that follow from a fit have no noise to be judged by
        status[(sd != 0) & (status == Status.OK)] = Status.UNRELIABLE
    extra, noise, near_estimate = {}, None, []
    if known:
        estimate = unbiased(asked, estimates)
        near, sure = np.rint(estimate), sd == 0
        estimate = np.where(sure, near, estimate)
        extra[UNBIASED] = as_whole(np.where(status == Status.STRUCTURAL_ZERO, 0, near))
        lower, upper = interval(estimate, WIDTH[design.settings.noise] * sd)
        noise = Noise(sd=sd, lower=lower, upper=upper)
        near_estimate.append(_near(values - estimate, sd))
    names = axis_names(facts.description.domain(spec.axes))
    return {
        "values": values,
        "status": status,
        "noise": noise,
        "extra": extra,
        "law": table_law(design, asked, sources, names, known=known),
        "notes": (*_notes(design, plan, known), *near_estimate, *_rounding(design, asked, made)),
    }


def unbiased(asked: Asked, estimates: Estimates) -> Reals:
    """The best linear unbiased estimate of a table's cells, with totals where asked."""
    return _as_asked(asked, estimates.margin(asked.level, asked.margin), estimates.tree.axis)


def _as_asked(asked: Asked, margin: Reals, axis: int) -> Reals:
    """A margin of a level, its nodes first, as the table that was asked for."""
    wanted = asked.at_level
    margin = np.moveaxis(margin, 0, wanted.margin.index(axis)) if asked.level else margin[0]
    cells = np.asarray(wanted.publish(margin), dtype=np.float64)
    return with_totals(cells) if wanted.spec.totals else cells


def _near(differences: Reals, sd: Reals) -> str:
    """How far whole counts that add up everywhere are from the unbiased estimates."""
    off = np.abs(differences)
    return say(
        "Whole counts that add up at every level are at most {off} from the unbiased "
        "estimates, {off_2} on average; the noise of these has a standard deviation of "
        "{sd} on average.",
        off=number(f"{float(off.max(initial=0)):,.0f}"),
        off_2=number(f"{float(off.mean()):,.2f}"),
        sd=number(f"{float(np.sqrt((sd**2).mean())):,.3g}"),
    )


def _rounding(design: Design, asked: Asked, made: Fitted) -> list[str]:
    """How far whole numbers are from the fit they were made of, at most in this table."""
    off = moved_in(made.moved, asked.level, asked.margin, design.shape)
    if off is None:
        return []
    most = float(np.abs(_as_asked(asked, off, design.tree.axis)).max(initial=0.0))
    if asked.level == 0:
        said = say(
            "Rounding to whole numbers moved no number of this table by more than {most}.",
            most=number(upwards(most)),
        )
    else:
        said = say(
            "Rounding to whole numbers, given those of the level above, moved no number of this "
            "table by more than {most}.",
            most=number(upwards(most)),
        )
    return [said]


def _notes(design: Design, plan: Plan, known: bool) -> list[str]:
    """What a reader should know of a table's numbers: where they come from, how far they reach."""
    notes: list[str] = [
        say(
            "All tables of this release are read off one synthetic table of whole counts "
            "for all levels ({names}), so they agree wherever they overlap and every level "
            "adds up to the one above.",
            names=together(say("total"), *design.tree.names[1:], between=", "),
        ),
    ]
    if design.source is not None:
        notes.append(
            say(
                "Read off release {question_hash} at no further cost; the guarantee is that of "
                "the release.",
                question_hash=plan.question_hash[:12],
            )
        )
    if known:
        notes.append(
            say(
                "Noise intervals and the column unbiased come from the measurements before the "
                "fit: unbiased, but they need not add up and may be negative."
            )
        )
    else:
        notes.append(
            say(
                "These cells were not measured at this level: they follow from larger areas or "
                "narrower tables by the fit, and no interval can be given."
            )
        )
    return notes
