"""What a marginals plan measures and how: decided from public facts, before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ...core.description import Description
from ...core.neighbours import Neighbours
from ...core.product import Margin, Shape, closure, rank_of, size, subsets
from ...core.question import digest
from ...errors import Bug, InputError, RecipeError
from ...languages import say
from ..base import Plan, own_part
from ..shared.counting import covers_of
from ..shared.invariants.public_margins import Published, read_published
from ..shared.workload import Workload
from .bits import BitCoding
from .fit.classic import Features
from .fit.dense import MOST_RANK
from .fit.model import MOST_CELLS_PRICED
from .measured_tables import Measured, cost, cost_is_exact
from .plan.allocation import Allocation, told
from .plan.table_allocations import plan_budget
from .settings import Settings
from .settings import Treatment as Treated

FORM = 2
"""The form of the fit. In form 1 whole numbers kept the margins asked for and no others."""
MOST_DENSE, MOST_MARGINS = 1 << 18, 300
"""Up to so many cells, and margins within margins, all that was measured is fitted, however much."""
_MOST_EARLIER = 1000


@dataclass(frozen=True)
class Design:
    """This method's own part of a plan."""

    settings: Settings
    treatment: Treated
    workload: Workload
    allocation: Allocation
    coding: BitCoding | None
    """Classic mode works on bits."""
    total: int | None
    """The number of records, where it is public."""
    published: Published | None
    """Margins that are public already."""
    covers: tuple[Margin, ...]
    """The axes of each count."""
    source: Design | None = None
    """What was measured and fitted, where this design only reads further tables off it."""
    form: int = FORM
    """By which form of the fit: numbers once published stay as they are."""

    @property
    def shape(self) -> Shape:
        """The shape of the space that is measured."""
        return self.workload.shape if self.coding is None else self.coding.shape

    def space(self, margin: Margin) -> Margin:
        """A margin of the workload in the measured space."""
        return margin if self.coding is None else self.coding.margin(margin)

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The workload in the measured space."""
        margins = self.workload.margins if self.form > 1 else self.workload.margins_asked
        return tuple(self.space(margin) for margin in margins)

    @property
    def kept(self) -> tuple[Margin, ...]:
        """The margins that whole numbers keep; in the first form only those asked for."""
        return self.margins if self.form == 1 else self.fitted

    @property
    def exact(self) -> bool:
        """Whether hardly a cell of one table of all variables is noisy: it is then taken as it is."""
        if self.form == 1:
            return False
        (first, *others), axes = self.allocation.measured, range(len(self.shape))
        whole = first.margin == tuple(axes) and not first.contrast and not others
        return whole and self.coding is None and first.variance * size(self.shape, axes) <= 1

    @cached_property
    def fitted(self) -> tuple[Margin, ...]:
        """The margins the table is fitted to: those asked for, and wider ones that were measured.

        What a wide table says beyond the margins asked for was paid for, and bears on them too: its
        cells are not negative either. All are taken where the fit can move every cell at once, else,
        narrow ones first, while `MOST_RANK` independent numbers are not exceeded.
        """
        asked = self.margins
        if self.coding is not None:
            return asked
        known = set(closure(asked))
        measured = {m.margin for m in self.allocation.measured}
        wide = {m for m in measured - known if 2 ** len(m) <= MOST_RANK}
        every, cells = closure([*asked, *wide]), size(self.shape, range(len(self.shape)))
        rank, most_known = rank_of(self.shape, known), MOST_RANK
        most = MOST_CELLS_PRICED if rank > MOST_RANK else MOST_DENSE
        whole = cells <= most and len(every) <= MOST_MARGINS
        if self.form == 1:
            whole, most_known = False, _MOST_EARLIER if cells <= MOST_CELLS_PRICED else 0
        out = list(asked)
        for margin in sorted(wide, key=lambda m: (size(self.shape, m), m)):
            new = set(subsets(margin)) - known
            more = rank_of(self.shape, new)
            if whole or rank + more <= most_known:
                out.append(margin)
                rank += more
                known |= new
        return tuple(out)


def design_of(plan: Plan) -> Design:
    """This method's own part of one of its plans."""
    return own_part(plan, Design)


def designed(
    settings: Settings, treated: Treated, workload: Workload, description: Description
) -> tuple[Design, list[Allocation]]:
    """The design of least predicted error, and the allocations it was compared with."""
    each = settings.amount / settings.of_unit(Fraction(1), description.records_per_unit)
    neighbours = description.neighbours
    if settings.mode == "classic":
        coding = BitCoding(workload.shape)
        shifts = treated.objective == "shift"
        if shifts:
            _check_shift(workload, coding)
        budget = _classic_allocation(settings, workload, coding, each, fits=not shifts)
        covers = covers_of(workload.shape, workload.margins)
        return Design(settings, treated, workload, budget, coding, None, None, covers), []
    published, total = read_published(settings.published, workload, description)
    budget, others = plan_budget(
        workload.shape,
        workload.margins,
        each,
        neighbours,
        noise=settings.noise,
        published=() if published is None else published.margins,
        records=description.records or total or settings.records_about,
        one_way=settings.one_way_share,
    )
    if cost(budget.measured, len(workload.shape), neighbours) > each:
        raise Bug("A plan costs more than its budget.")
    covers = covers_of(workload.shape, tuple(m.margin for m in budget.measured))
    return Design(settings, treated, workload, budget, None, total, published, covers), others


def needed_settings(design: Design, description: Description) -> Settings:
    """The settings without those that change nothing about what is measured.

    A share said to be what it would be anyway, or a rough number of records where the exact one is
    public, would make two questions of one.
    """
    settings = design.settings
    for without in (
        replace(settings, records_about=None),
        replace(settings, one_way_share=None),
        replace(settings, records_about=None, one_way_share=None),
    ):
        if without == design.settings:
            continue
        plain_design, _ = designed(without, design.treatment, design.workload, description)
        if measured_facts(plain_design.allocation.measured) == measured_facts(
            design.allocation.measured
        ):
            settings = without
    return settings


def public_digest(design: Design) -> str:
    """What is public already over the question's variables, in short; empty where nothing is."""
    if not design.settings.published:
        return ""
    tables = {} if design.published is None else design.published.tables
    refs = design.workload.refs
    form = {
        " × ".join(str(refs[axis]) for axis in margin): counts.ravel().tolist()
        for margin, counts in tables.items()
    }
    return digest({"total": design.total, "margins": form})[:16]


def all_spent(design: Design, description: Description) -> bool:
    """Whether the measurements cost exactly the loss (classic mode: half of it under add/remove)."""
    given = design.allocation.measured, len(design.shape), description.neighbours
    spent = design.settings.of_unit(cost(*given), description.records_per_unit)
    return spent == design.settings.amount and cost_is_exact(*given)


def _check_shift(workload: Workload, coding: BitCoding) -> None:
    """§4.3 puts records into all codes, so every code must be a category that can hold some."""
    if any(n != 1 << width for n, width in zip(coding.axes, coding.widths, strict=True)):
        raise RecipeError(
            say(
                "objective shift is for variables of 2, 4, 8, … categories: it spreads records "
                "over all codes. Use objective largest."
            )
        )
    if workload.forbidden:
        raise RecipeError(
            say(
                "objective shift spreads records over all cells, structural zeros among them. "
                "Use objective largest."
            )
        )


def _classic_allocation(
    settings: Settings, workload: Workload, coding: BitCoding, epsilon: Fraction, *, fits: bool
) -> Allocation:
    """Theorem 6 as written: every coefficient of the downward closure gets ε / 2|B| (§4.2: every
    margin ε / 2|A|). The total gets noise too, whether it is public or not."""
    if settings.published:
        raise RecipeError(say("Mode classic keeps no published margin. Use mode modern."))
    for table in workload.tables:
        if table.passes or workload.mixed:
            raise RecipeError(
                say(
                    "Mode classic takes whole tables at one level of each variable: no filters. "
                    "Use mode modern."
                )
            )
    margins = sorted(coding.margin(margin) for margin in workload.margins)
    if settings.fourier:
        every = closure(margins)
        rate = epsilon / (2 * len(every))
        measured = tuple(Measured(m, m, rate) for m in every)
    else:
        rate = epsilon / (2 * len(margins))
        measured = tuple(Measured(m, (), rate) for m in margins)
    if fits:
        Features(coding.shape, measured)  # refuses what is too large, before anything is spent
    if rate < Fraction(1, 10**6):
        raise InputError(
            say(
                "Classic mode would share ε among {many} coefficients, less than 0.000001 "
                "each. Ask for fewer margins, or use mode modern.",
                many=len(measured),
            )
        )
    if cost(measured, len(coding.shape), Neighbours.REPLACE_ONE) > epsilon:
        raise Bug("Classic mode costs more than its ε.")
    return told("classic", coding.shape, margins, measured)


def measured_facts(measured: Sequence[Measured]) -> list[list[str]]:
    """What was measured and at which rate, as stored beside the numbers."""
    return [[m.name, m.said] for m in measured]
