"""Protected tables read off the synthetic table: values, noise, statuses, unbiased estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.cell_law import Source, axis_names
from ....core.product import Reals
from ....core.table import Noise, ProtectedTable, Status
from ....core.true_values import add_totals
from ....languages import number, say
from ...base import Facts, Plan, provenance
from ...shared.assembly import (
    WIDTH,
    as_whole,
    assembled,
    interval,
    protected,
    with_totals,
    zero_status,
)
from ...shared.residuals import Residuals, rebuild
from ...shared.synthetic_table import SyntheticTable
from ...shared.workload import Wanted
from ..derivation import fitted_together
from ..fit.classic import simple_shift
from ..plan.facts import classic_epsilon, theorem_in_words, variances
from .table_law import sources_of, table_law

if TYPE_CHECKING:
    from ..design import Design


def publish(
    design: Design,
    plan: Plan,
    table: SyntheticTable | None,
    residuals: Residuals,
    facts: Facts,
    said: tuple[str, ...] = (),
) -> tuple[ProtectedTable, ...]:
    """One protected table for each asked one, in order; `said` is noted on each.

    Without a synthetic table the numbers are those of barak §4.3.
    """
    # the same for all tables, and there may be a thousand of each
    sources, where = sources_of(design), provenance(plan, facts)
    return tuple(
        protected(
            plan,
            wanted.spec,
            facts,
            where,
            **_numbers(design, plan, wanted, table, residuals, facts, sources, said),
        )
        for wanted in design.workload.tables
    )


def _numbers(
    design: Design,
    plan: Plan,
    wanted: Wanted,
    table: SyntheticTable | None,
    residuals: Residuals,
    facts: Facts,
    sources: tuple[Source, ...],
    said: tuple[str, ...],
) -> dict[str, Any]:
    """Values, statuses, noise, estimates, law and notes of one table."""
    spec = wanted.spec
    if table is None:
        values = as_whole(np.rint(_shifted(design, wanted, residuals)))
    else:
        inside = wanted.read_off(table)
        values = add_totals(inside) if spec.totals else inside
    sd = np.sqrt(variances(design, wanted, totals=spec.totals))
    known = bool(np.isfinite(sd).all())
    status = zero_status(spec, facts.description)
    if not known:  # numbers that follow from a model have no noise to be judged by
        status[(sd != 0) & (status == Status.OK)] = Status.UNRELIABLE
    extra, noise, moved = {}, None, ""
    if known:
        estimate = _unbiased(design, wanted, residuals)
        near, sure = np.rint(estimate), sd == 0
        estimate = np.where(sure, near, estimate)
        extra["unbiased"] = as_whole(np.where(status == Status.STRUCTURAL_ZERO, 0, near))
        moved = "" if table is None else _moved(values - estimate, sd)
        reach = WIDTH[design.settings.noise] * sd
        if design.source is not None:
            off = (np.abs(values - estimate) > reach) & (status == Status.OK)
            status[off] = Status.UNRELIABLE
        lower, upper = interval(estimate, reach)
        noise = Noise(sd=sd, lower=lower, upper=upper)
    names = axis_names(facts.description.domain(spec.axes))
    return {
        "values": values,
        "status": status,
        "noise": noise,
        "extra": extra,
        "law": table_law(design, wanted, sources, names, measured=known),
        "notes": (*_notes(design, plan, wanted, known), *([moved] if moved else []), *said),
    }


def _moved(off: Reals, sd: Reals) -> str:
    """How far whole counts that agree everywhere are from the unbiased estimates.

    Said where hardly any noise is left, so that it can be most of the error.
    """
    noise, by = float(np.sqrt((sd**2).mean())), float(np.abs(off).mean())
    if noise >= 1 or by < 0.005:
        return ""
    return say(
        "Whole counts that agree in all tables are {by} a cell from the unbiased "
        "estimates, on average; the noise has a standard deviation of {noise}.",
        by=number(f"{by:.2f}"),
        noise=number(f"{noise:.2g}"),
    )


def _notes(design: Design, plan: Plan, wanted: Wanted, known: bool) -> list[str]:
    """What a reader should know of a table's numbers: where they come from, how far they reach."""
    shifts = design.treatment.objective == "shift"
    if shifts:
        notes: list[str] = [
            say(
                "Numbers come straight from the noisy coefficients, rounded one by one: tables "
                "agree wherever they overlap, but for the rounding."
            ),
        ]
    else:
        notes = [
            say(
                "All tables of this release are read off one synthetic table of whole counts, "
                "so they agree wherever they overlap."
            ),
        ]
    if design.coding is not None and (design.source is None or shifts):
        notes.append(theorem_in_words(design, wanted))
    if design.source is not None:
        notes.append(
            say(
                "Read off release {question_hash} at no further cost; the guarantee is that of "
                "the release.",
                question_hash=plan.question_hash[:12],
            )
        )
    if known and design.source is not None and not fitted_together(design, wanted):
        notes.append(
            say(
                "Measured but not fitted: these variables were measured as part of a table too "
                "wide for the fit. Take the column unbiased and its interval; the counts "
                "follow from the model, and those outside the interval are marked unreliable."
            )
        )
    if known:
        last = say(
            "Noise intervals and the column unbiased come from the measurements before the "
            "fit: unbiased, but they need not add up and may be negative."
        )
    elif design.source is not None:
        last = say(
            "Not measured: this release did not measure these variables together. The "
            "numbers follow from the model only, and no interval can be given."
        )
    else:
        last = say(
            "This margin was too thin for its noise and was not measured; it is filled as "
            "if its variables were independent."
        )
    return [*notes, last]


def _shifted(design: Design, wanted: Wanted, residuals: Residuals) -> Reals:
    """The estimate with the records of §4.3 in it: so many in all, alike in every cell."""
    totals = wanted.spec.totals
    shape = [design.workload.shape[axis] for axis in wanted.axes]
    shift = float(simple_shift(len(design.allocation.measured), classic_epsilon(design)))
    parts = {
        kept: np.full([shape[i] for i in kept], shift / 2 ** len(design.space(axes)))
        for kept, axes in wanted.margins(totals)
    }
    even = assembled(parts, shape, totals, np.float64)
    return _unbiased(design, wanted, residuals) + wanted.opened(even, totals)


def _unbiased(design: Design, wanted: Wanted, residuals: Residuals) -> Reals:
    """The best linear unbiased estimate of the table's cells, with totals where asked."""
    workload, totals = design.workload, wanted.spec.totals
    if design.coding is None:
        margin = rebuild(design.shape, residuals, wanted.margin)
        cells = np.asarray(wanted.publish(margin), dtype=np.float64)
        return with_totals(cells) if totals else cells
    parts = {}
    for kept, axes in wanted.margins(totals):
        bits = rebuild(design.shape, residuals, design.coding.margin(axes))
        order = [axes.index(wanted.axes[place]) for place in kept]
        parts[kept] = design.coding.decode_margin(bits, axes).transpose(order)
    shape = [workload.shape[axis] for axis in wanted.axes]
    return wanted.opened(assembled(parts, shape, totals, np.float64), totals)
