"""What a plan tells: guarantee, charge, expected error, alternatives and warnings; public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...core.charge import Charge
from ...core.description import Description
from ...core.exact import plain
from ...core.gaussian import DiscreteGaussian
from ...core.guarantee import Guarantee
from ...core.hellinger_law import HellingerLaw
from ...core.law import Law
from ...core.loss import ApproxLoss, PureLoss, ZcdpLoss
from ...core.margins import Margin, domain_of
from ...core.neighbours import Neighbours
from ...core.plan_loss import Move, Moves, moves_of
from ...core.pure_laplace import PureLaplace
from ...core.question import TableSpec
from ...languages import number, say, together
from ..base import ExpectedError
from ..shared.assembly import published_cells, totals_by_name
from ..shared.guarantee import Exposure, dp_guarantee, not_tiny
from ..shared.regions import Regions
from . import laws
from .candidates import interior
from .planner import KNOWN, Planner, Scheme


def guarantee(scheme: Scheme, description: Description, tables: int) -> Guarantee:
    """The promise of a whole plan."""
    return dp_guarantee(
        scheme.loss, description, tables, exposure(scheme, description), exact=scheme.exact
    )


def exposure(scheme: Scheme, description: Description) -> Exposure:
    """What one unit moves: the cells it is in, and the cells it leaves and enters."""
    margins, records = [part.margin for part in scheme.measured], description.records_per_unit
    each = [Move(part.law, part.reach // records, records) for part in scheme.measured]

    def ways(replaced: bool) -> tuple[Moves, ...]:
        rows = Regions.of(margins, description, replaced).moved()
        found = (moves_of(zip(each, row, strict=True)) for row in rows)
        return tuple(moves for moves in dict.fromkeys(found) if moves)

    elsewhere = ways(replaced=True)
    alone = description.neighbours is Neighbours.ADD_REMOVE
    known = set(description.published)
    asked = {axis.variable for margin in margins for axis in margin.axes}
    asked |= {part.variable for margin in margins for part in margin.where}
    category = () if known and asked <= known else elsewhere
    return Exposure(
        ways(replaced=False) if alone else elsewhere, category, tuple(sorted(asked & known))
    )


def charge(scheme: Scheme, description: Description, digest: str) -> Charge:
    """The whole plan as one charge; one law for all cells is said in the ledger's own words."""
    said: dict[str, Any] = {"neighbours": description.neighbours, "question": digest}
    first, loss, cells = scheme.measured[0], scheme.loss, scheme.touched
    if first.reach == 1 and all(part.law == first.law for part in scheme.measured):
        law, each = first.law, first.one_sided
        if isinstance(law, PureLaplace) and loss == PureLoss(each * cells):
            return Charge.laplace(each, cells=cells, **said)
        if isinstance(law, DiscreteGaussian) and loss == ZcdpLoss(cells / (2 * law.sigma2)):
            return Charge.gaussian(law.sigma2, cells=cells, **said)
        if isinstance(law, Law) and loss == ApproxLoss(each * cells, first.delta * cells):
            about = {"law": law.name, "max_perturbation": str(law.max_perturbation)}
            return Charge.law(each, first.delta, cells=cells, parameters=about, **said)
    parameters = {"plan": scheme.name, "records_per_unit": str(description.records_per_unit)}
    for part in scheme.measured:
        shown = laws.asked(laws.describe(part.law))
        words = ", ".join(f"{k} {v}" for k, v in shown.items())
        parameters[part.name] = f"{part.margin}: {words}; unit moves a cell by up to {part.reach}"
    return Charge("noise-plan", parameters, cells=max(cells, 1), loss=loss, **said)


def expected(spec: TableSpec, scheme: Scheme, planner: Planner) -> ExpectedError:
    """What to expect of one wanted table."""
    whole = interior(spec)
    target = scheme.targets[whole]
    fitted = planner.consistency != "none" and len(scheme.measured) > 1
    direct = target.source != KNOWN and target.summed == 1 and not spec.weighted and not fitted
    law = scheme.measured[target.source].law if direct else None
    note = _after_least_squares(scheme, whole) if fitted else ""
    unchanged = None
    if isinstance(law, HellingerLaw):
        note = _worst_count(planner)
    elif law is not None:
        unchanged = float(law.probability(0))
    return ExpectedError(
        table=spec,
        cells=published_cells(spec, planner.description),
        noise_sd=target.variance**0.5,
        half_width=planner.half_width(scheme, whole),
        totals_sd=totals_by_name(
            spec, lambda kept: scheme.targets[whole.keep(kept)].variance ** 0.5
        ),
        totals_half_width=totals_by_name(
            spec, lambda kept: planner.half_width(scheme, whole.keep(kept))
        ),
        share_unchanged=unchanged,
        note=note,
    )


def _worst_count(planner: Planner) -> str:
    return say(
        "Errors are those of the worst count up to {max_count}; a larger count is published as if "
        "it were {max_count}.",
        max_count=planner.settings.counts[0],
    )


def _after_least_squares(scheme: Scheme, whole: Margin) -> str:
    if scheme.closed.get(whole.group) is None:
        return say(
            "Standard deviations and ± are those of the best single margin; least squares "
            "lowers them."
        )
    return say("Standard deviations are after least squares; ± is that of the best single margin.")


def told(
    scheme: Scheme, chosen: Scheme, recommended: Scheme, planner: Planner
) -> Mapping[str, Any]:
    """An alternative for people: cost in cells, and the noise of each wanted table."""
    sd, continuous = {}, {}
    for place, spec in enumerate(planner.tables, 1):
        margin = interior(spec)
        label = spec.name or str(margin)
        label = label if label not in sd else f"{label} ({place})"
        sd[label] = scheme.targets[margin].variance ** 0.5
        continuous[label] = scheme.targets[margin].continuous_variance ** 0.5
    wanted = set(planner.wanted)
    totals = {
        str(margin): target.variance**0.5
        for margin, target in scheme.targets.items()
        if margin not in wanted
    }
    return {
        "name": scheme.name,
        "d": scheme.touched,
        "margins": len(scheme.measured),
        "cells": scheme.cells,
        "loss": str(scheme.loss),
        "shares": {str(part.margin): plain(part.share) for part in scheme.measured},
        "sd": sd,
        "sd_continuous": continuous,
        "totals_sd": totals,
        "recommended": scheme is recommended,
        "chosen": scheme is chosen,
    }


def warnings(scheme: Scheme, recommended: Scheme, planner: Planner) -> tuple[str, ...]:
    """What a custodian or asker should know before spending."""
    description = planner.description
    found: list[str] = []
    delta = scheme.loss.delta if isinstance(scheme.loss, ApproxLoss) else Fraction(0)
    remedy = (
        say("Choose a smaller delta, or law laplace without max_perturbation (delta = 0).")
        if planner.settings.variance is None
        else say("Raise max_perturbation, or use law laplace (delta = 0).")
    )
    found += not_tiny(delta, description, remedy)
    by_noise = planner.settings.variance is None  # else alternatives differ in what they cost
    if by_noise and recommended is not scheme and recommended.score < scheme.score * 0.99:
        gain = (scheme.score / recommended.score) ** 0.5
        found.append(
            say(
                "Plan {name} would have {gain} times smaller noise than plan {name_2} at the "
                "same cost.",
                name=recommended.name,
                gain=number(f"{gain:.1f}"),
                name_2=scheme.name,
            )
        )
    for spec in planner.tables:
        if sparse := _sparse(spec, scheme, planner):
            found.append(sparse)
    return tuple(dict.fromkeys(found))


def _sparse(spec: TableSpec, scheme: Scheme, planner: Planner) -> str:
    """Advice to merge categories where noise is larger than the average count.

    From the number of records where that is public, else from the rough size that was declared.
    """
    description = planner.description
    whole = interior(spec)
    size = description.about if description.records is None else description.records
    if size is None or spec.where or spec.weighted or not spec.axes:
        return ""
    domain = domain_of(whole, description)
    sd, average = scheme.targets[whole].variance ** 0.5, size / domain.size
    if sd <= average:
        return ""
    facts: dict[str, Any] = {
        "table": spec.name or str(whole),
        "cells": domain.size,
        "size": size,
        "average": number(f"{average:.2g}"),
        "sd": number(f"{sd:.2g}"),
    }
    if description.records is not None:
        text = say(
            "{table}: {cells} cells for {size} records is {average} a cell on average, and the noise "
            "has a standard deviation of {sd}.",
            **facts,
        )
    else:
        text = say(
            "{table}: {cells} cells for about {size} records is {average} a cell on average, and the "
            "noise has a standard deviation of {sd}.",
            **facts,
        )
    coarser = [
        say(
            "{name} ({many} instead of {many_2})",
            name=level.name,
            many=len(level),
            many_2=len(axis),
        )
        for axis in domain.axes
        for level in axis.variable.levels
        if len(level) < len(axis)
    ]
    if coarser:
        names = together(*coarser[:4], between=", ")
        return together(text, say("Merge categories: {names}.", names=names))
    widest = max(domain.axes, key=len)
    return together(
        text,
        say(
            "Leave out a variable, {name} ({many} categories) first.",
            name=widest.name,
            many=len(widest),
        ),
    )
