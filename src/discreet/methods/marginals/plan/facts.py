"""What a plan tells: guarantee, charge, expected error, alternatives, warnings; public facts only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.charge import Charge
from ....core.description import Description
from ....core.guarantee import Guarantee
from ....core.product import closure, rank_of, size
from ....languages import number, say, together
from ...base import ExpectedError
from ...shared.assembly import WIDTH, assembled, part_at, shortened, totals_by_name
from ...shared.guarantee import dp_guarantee
from ...shared.question_settings import whole_charge
from ...shared.residuals import mean_variance, sum_variance
from ...shared.workload import Wanted
from ..derivation import measured_together
from ..fit.classic import LEAST_T, simple_shift, theorem_7, theorem_8
from ..fit.dense import MOST_RANK
from ..fit.model import MOST_CELLS_PRICED
from ..fit.spread import MOST_PLACES, MOST_ROWS
from .allocation import Allocation
from .exposure import exposure

if TYPE_CHECKING:
    from ..design import Design

BOUND_DELTA = Fraction(1, 20)


def guarantee(design: Design, description: Description, tables: int, *, exact: bool) -> Guarantee:
    """The promise of a whole plan: ε or ρ; not `exact` where the measurements cost less than it."""
    published = () if design.published is None else design.published.margins
    known = [
        say("the margin {margin}", margin=design.workload.words(margin)) for margin in published
    ]
    if design.total is not None and description.records is None and not known:
        known = [say("the number of records, {total}", total=design.total)]
    return dp_guarantee(
        design.settings.loss,
        description,
        tables,
        exposure(design, description),
        exact=exact,
        invariants=known,
        caveats=(
            say(
                "Every table, margin and record made from the synthetic table is covered at no "
                "further cost."
            ),
        ),
    )


def charge(design: Design, description: Description, digest: str) -> Charge:
    """The whole plan as one charge."""
    allocation = design.allocation
    facts = {"mode": design.settings.mode, "plan": allocation.name}
    measured = len(allocation.measured)
    return whole_charge("marginals", design.settings, facts, measured, description, digest)


def expected(design: Design) -> tuple[ExpectedError, ...]:
    """What to expect of every wanted table, before anything is spent."""
    return tuple(_expected(design, wanted) for wanted in design.workload.tables)


def variances(design: Design, wanted: Wanted, *, totals: bool) -> Any:
    """The variance of every published cell of the unbiased estimate, totals last on each axis."""
    workload = design.workload
    if design.source is not None and not measured_together(design, wanted):
        return np.full([n + totals for n in wanted.shape], np.inf)
    if design.coding is None:
        sizes = wanted.group_sizes(totals)
        found = sum_variance(workload.shape, design.allocation.known, wanted.margin, sizes)
        keep = list(wanted.axes)
        gone = tuple(i for i, axis in enumerate(wanted.margin) if axis not in keep)
        found = found.sum(axis=gone)
        left = [axis for axis in wanted.margin if axis in keep]
        return found.transpose([left.index(axis) for axis in keep])
    parts = {
        kept: mean_variance(design.shape, design.allocation.known, design.space(axes))
        for kept, axes in wanted.margins(totals)
    }
    shape = [workload.shape[axis] for axis in wanted.axes]
    return wanted.opened(assembled(parts, shape, totals, np.float64), totals)


def _expected(design: Design, wanted: Wanted) -> ExpectedError:
    spec, found = wanted.spec, variances(design, wanted, totals=True)
    cells = math.prod(n + spec.totals for n in wanted.shape)
    inside = wanted.inside(found)
    if not np.isfinite(inside).all() and design.source is not None:
        return ExpectedError(spec, cells, math.inf, 0, note=say("Follows from the model only."))
    if not np.isfinite(inside).all():
        about = design.settings.records_about or design.total or 0
        mean = about / max(1, size(design.workload.shape, wanted.margin))
        return ExpectedError(
            spec,
            cells,
            mean,
            math.ceil(2 * mean),
            note=say(
                "Not measured: too thin for its noise. Filled as if its variables were "
                "independent; the error said is the mean cell."
            ),
        )
    sd = math.sqrt(float(inside.mean()))
    sds = totals_by_name(spec, lambda kept: math.sqrt(found[part_at(kept, wanted.shape)].mean()))
    return ExpectedError(
        spec,
        cells,
        sd,
        math.ceil(WIDTH[design.settings.noise] * sd),
        sds,
        {name: math.ceil(WIDTH[design.settings.noise] * sd) for name, sd in sds.items()},
        note=_note(design, wanted),
    )


def _note(design: Design, wanted: Wanted) -> str:
    if design.coding is None:
        return say("Before it is known that no count is negative; the fit is usually closer.")
    return theorem_in_words(design, wanted)


def classic_epsilon(design: Design) -> Fraction:
    """The paper's ε: what one record may cost. A unit of several has that many times as much."""
    measured = design.allocation.measured
    return 2 * len(measured) * measured[0].rate


def theorem_in_words(design: Design, wanted: Wanted) -> str:
    """What the paper proves of a table of classic mode."""
    measured, margins, epsilon = design.allocation.measured, design.margins, classic_epsilon(design)
    order = len(design.space(wanted.margin))
    if design.treatment.objective == "shift":
        shift = float(simple_shift(len(measured), epsilon))
        return say(
            "barak §4.3: {shift} records are spread evenly over all cells, {shift_2} in "
            "each of this table; with probability {value} no number is negative.",
            shift=number(f"{shift:,.0f}"),
            shift_2=number(f"{shift / 2**order:,.1f}"),
            value=number(f"{1 - math.exp(-LEAST_T):.2f}"),
        )
    if design.settings.fourier:
        bound = theorem_7(order, len(measured), epsilon, BOUND_DELTA)
        which = "Theorem 7"
    else:
        total = sum(2 ** len(m) for m in margins)
        bound = theorem_8(order, len(margins), total, epsilon, BOUND_DELTA)
        which = "Theorem 8"
    return say(
        "barak {which}: with probability 0.95 the errors of all cells add up to ≤ {bound}.",
        which=which,
        bound=number(f"{bound:,.0f}"),
    )


def alternatives(design: Design, others: Sequence[Allocation]) -> tuple[Mapping[str, Any], ...]:
    """The plans compared: name, cost, predicted error; the same keys as the other DP methods."""
    return tuple(
        _told(design, budget, budget is design.allocation)
        for budget in (design.allocation, *others)
    )


def _told(design: Design, budget: Allocation, chosen: bool) -> Mapping[str, Any]:
    margins = {
        design.workload.words(margin): math.sqrt(value)
        for margin in design.workload.margins
        if math.isfinite(value := mean_variance(design.shape, budget.known, design.space(margin)))
    }
    total = mean_variance(design.shape, budget.known, ())
    return {
        "name": budget.name,
        "d": len(budget.measured),
        "margins": len(budget.measured),
        "dropped": len(budget.dropped),
        "cells": sum(math.prod(m.shape(design.shape)) for m in budget.measured),
        "loss": str(design.settings.loss),
        "sd": margins,
        "totals_sd": {"total": math.sqrt(total)} if total < 1e12 else {},
        "rms": budget.rms if math.isfinite(budget.rms) else None,
        "recommended": chosen,
        "chosen": chosen,
    }


def warnings(design: Design, description: Description) -> tuple[str, ...]:
    """What a custodian or asker should know before spending."""
    found: list[str] = []
    settings, workload = design.settings, design.workload
    records = description.records or settings.records_about
    if workload.mixed:
        found.append(
            say(
                "{names} is asked for at several levels and measured at the finest of them.",
                names=", ".join(workload.mixed),
            )
        )
    if design.allocation.dropped:
        names = [workload.words(margin) for margin in design.allocation.dropped]
        shown = shortened(names, 5)
        found.append(
            say(
                "{many} of {many_2} margins are too thin for their noise and are not measured "
                "but filled as if independent: {shown}.",
                many=len(names),
                many_2=len(workload.margins),
                shown=shown,
            )
        )
        if records:
            enough = _enough_for_thin(design, records, description.records_per_unit)
            found[-1] = together(found[-1], enough)
    if records is not None:
        found += _thin(design, records)
    elif settings.mode == "modern":
        found.append(
            say(
                "Whether noise exceeds the counts cannot be told: no number of records is "
                "public. Say roughly how many there are in records_about."
            )
        )
    found.append(_measured_in_words(design))
    took = seconds(design)
    found.append(
        say(
            "Fitting takes about {took} s on one core.",
            took=number(f"{took:{'.0f' if took >= 10 else '.1g'}}"),
        )
    )
    return tuple(found)


def _measured_in_words(design: Design) -> str:
    """Which tables will be measured, by name."""
    if design.coding is not None:
        return say(
            "Measured: {many} coefficients or margins of bits.",
            many=len(design.allocation.measured),
        )
    names = [design.workload.words(m.margin) for m in design.allocation.measured]
    return say("Measured: {names}.", names=shortened(names, 12))


def _enough_for_thin(design: Design, records: int, per_unit: int) -> str:
    """What would do for the thinnest margin left out, if every margin were measured alike."""
    shape, tables = design.workload.shape, len(design.workload.margins)
    half = min(records / size(shape, margin) for margin in design.allocation.dropped) / 2
    if design.settings.rho is None:
        name, enough = "Epsilon", math.sqrt(2) * tables * per_unit / half
    else:
        name, enough = "Rho", tables * per_unit**2 / (2 * half**2)
    return say(
        "{name} {enough} would bring the noise of all of them below half a mean cell.",
        name=name,
        enough=number(_two_digits(enough)),
    )


def _thin(design: Design, records: int) -> list[str]:
    """Tables whose noise exceeds their counts, and the ε (ρ) that would do."""
    settings = design.settings
    name, power = ("Epsilon", 1) if settings.rho is None else ("Rho", 2)
    said: list[str] = []
    for wanted in design.workload.tables:
        mean = records / size(design.workload.shape, wanted.margin)
        inside = wanted.inside(variances(design, wanted, totals=False))
        if not np.isfinite(inside).all():
            continue
        sd = math.sqrt(float(inside.mean()))
        if sd > mean:
            words = " × ".join(str(ref) for ref in wanted.spec.axes) or say("total")
            enough = float(settings.amount) * (sd / (mean / 2)) ** power
            said.append(
                say(
                    "{words}: the noise (standard deviation {sd}) exceeds the mean cell ({mean}). "
                    "{name} {enough} would bring it to half of that.",
                    words=words,
                    sd=number(_figure(sd)),
                    mean=number(_figure(mean)),
                    name=name,
                    enough=number(_two_digits(enough)),
                )
            )
    more = (
        [say("{many} more margins have noise above their mean cell.", many=len(said) - 3)]
        if said[3:]
        else []
    )
    return said[:3] + more


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _two_digits(value: float) -> str:
    digits = 1 - math.floor(math.log10(value))
    up = math.ceil(value * 10**digits) / 10**digits
    return f"{up:.{max(digits, 0)}f}"


def seconds(design: Design) -> float:
    """Roughly how long the fit takes on one core."""
    shape, cells = design.shape, math.prod(design.shape)
    if design.exact:
        return 0.01 + 1e-6 * cells
    rank, exact = rank_of(shape, closure(design.fitted)), cells <= MOST_CELLS_PRICED
    if rank > MOST_RANK and exact:
        return 100 * 1.5e-7 * cells * (4 + len(design.margins) / 5) + 5
    cells = min(cells, MOST_CELLS_PRICED)
    solve = min(rank, 2600) ** 3 / 3 / 5e9 * 6
    price = cells * len(design.margins) * 2e-9 if exact else 0.15
    spread = min(min(cells, MOST_ROWS) * len(design.margins), MOST_PLACES) * 1.2e-6
    return max(0.01, (25 if exact else 40) * (solve + price) + spread)
