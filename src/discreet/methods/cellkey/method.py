"""The cell-key method: every cell of a table and of its margins, perturbed in one pass.

Keyed: the same question gives the same numbers for ever, nothing is charged, nothing is stored but
a cache. Its guarantee is of kind *law*: the exact (ε, δ) of one cell asked once, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil
from typing import Any, ClassVar

import numpy as np

from ...core.cell_law import CellLaw
from ...core.control import Control
from ...core.description import Description
from ...core.domain import Count, Flags
from ...core.guarantee import Guarantee
from ...core.product import Whole
from ...core.question import Question, TableSpec, Treatment
from ...core.table import Noise, ProtectedTable, Provenance, Status, TrueTable
from ...errors import Bug
from ...languages import say
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import impossible, protected, published_cells, totals_by_name
from ..shared.unit import check_unit
from .additive import additive_view
from .cell_descriptions import CellTexts, cell_texts
from .declaration import DECLARATION
from .intervals import COVERAGE, Readings, half_width, half_width_of
from .lookup import Lookup
from .plan_facts import (
    check_weighted,
    earlier,
    found_categories,
    large_delta,
    law_of_a_cell,
    warnings,
    whole_weights,
)
from .protection import Protector
from .ptable import PTable
from .risk import Risk, risk
from .settings import Settings, file_mark, read_settings
from .settings import Treatment as Treated
from .table_law import cell_law, for_table

_FORM = "by table, weighted ones with their counts"
"""How values are stored: part of the hash, so that a cache of another form is never read."""

_EVERYBODY = Count(())
"""Counted with weighted tables: an empty cell takes the mean weight of all records."""


@dataclass(frozen=True)
class Ready:
    """A policy made ready: settings, lookup, readings and risk; public, the same on any data."""

    settings: Settings
    lookup: Lookup = field(repr=False)
    readings: Readings = field(repr=False)
    risk: Risk
    guarantee: Guarantee
    """Without unit and neighbours, which the description names."""

    @cached_property
    def half_width(self) -> int:
        """95 % of the cells are within ± this."""
        return half_width(self.settings.table)

    @cached_property
    def half_width_of_large(self) -> int:
        """95 % of large cells, as totals are, are within ± this."""
        return half_width_of(self.settings.table.large)

    @cached_property
    def worst_error(self) -> float:
        """The largest error of a row."""
        return max(row.error for row in self.settings.table.rows)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a custodian should know about the policy, in sentences."""
        return warnings(self.settings)

    @cached_property
    def law(self) -> CellLaw:
        """What a reader may be told of the law: everything but keys."""
        return cell_law(self.settings, self.risk)


@dataclass(frozen=True)
class Detail:
    """The method's own part of a plan: for each table its descriptions and impossible cells."""

    ready: Ready
    treatment: Treated
    texts: tuple[CellTexts, ...] = field(repr=False)
    zeros: tuple[Flags | None, ...] = field(repr=False)
    scale: int = 1
    """Weights are sums in units of 1/scale."""


class CellKeyMethod:
    """`method: cell-key`."""

    declaration: ClassVar[Declaration] = DECLARATION

    def settings(self, parameters: Mapping[str, Any]) -> Settings:
        """Read and check the parameters a policy gives."""
        return _settings(parameters)

    def law_version(self, parameters: Mapping[str, Any]) -> str:
        """What the noise of a cell depends on besides keys: another version answers cells anew."""
        return _settings(parameters).law_version

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """What to count, the law of one cell, the risk and the error; reads no data."""
        description = facts.description
        policy = facts.policy.parameters(DECLARATION.name)
        settings = _settings(policy)
        if settings.scheme is None:
            check_unit(description)  # classical keys promise nothing about a unit
        treated = Treated.of(policy, treatment.settings)
        ready = _ready(settings, description.records_per_unit)
        texts, zeros, errors = [], [], []
        check_weighted(question, description, settings)
        for spec in question.tables:
            totals = (spec.totals,) * len(spec.axes)
            texts.append(cell_texts(description, spec.count, totals))
            zeros.append(impossible(spec, description))
            errors.append(_expected(spec, description, ready))
        law = settings.law_version
        if not settings.law_is_public:
            law = facts.sealed(law)  # few p-tables are likely: a digest alone would confirm a guess
        question = question.without_shares().resolve({"law": law[:32], "stored": _FORM})
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=base.question_hash(question, facts),
            treatment=treated.canonical,
            counts=(
                *(spec.count for spec in question.tables),
                *([_EVERYBODY] if any(spec.weighted for spec in question.tables) else []),
            ),
            guarantee=replace(
                ready.guarantee,
                unit=description.protects,
                neighbours=description.neighbours.words,
                notices=description.counted,
                risks=ready.risk.sentences(description.protects),
                caveats=(
                    *large_delta(ready.guarantee, description),
                    *ready.guarantee.caveats,
                    *earlier(facts.earlier_laws, ready.settings),
                ),
            ),
            errors=tuple(errors),
            needs_keys=True,
            needs_weights=any(spec.weighted for spec in question.tables),
            warnings=(
                *ready.warnings,
                *found_categories(question, description),
                *whole_weights(question, description),
            ),
            detail=Detail(
                ready,
                treated,
                tuple(texts),
                tuple(zeros),
                1 if description.weight is None else description.weight.scale,
            ),
        )

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """The perturbed values of every table, margins included; never a true count."""
        detail = base.own_part(plan, Detail)
        settings = detail.ready.settings
        # Another p-table gets other keys: under the same ones its value and the old one of a cell
        # would be two readings of one number, and their difference would give the noise away.
        secret = secrets.derive(f"cell key, p-table {settings.table.digest}")
        protector = Protector(detail.ready.lookup, settings.scheme, settings.sameness, secret)
        arrays: dict[str, Whole] = {}
        everybody = tables[-1] if plan.needs_weights else None
        asked = plan.question.tables
        for number, (spec, table) in enumerate(zip(asked, tables[: len(asked)], strict=True)):
            control.step(number / len(tables), "perturbing")
            # beside a weighted table its counts: by their weighted values a cell of one heavy record
            # would pass any threshold
            forms = [spec, replace(spec, weighted=False)] if spec.weighted else [spec]
            for form in forms:
                arrays[base.stored_name(form)] = protector.protect(
                    table, detail.texts[number], detail.zeros[number], form, detail.scale, everybody
                )
        return Measurements(arrays, {"p_table": settings.table.digest})

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """Statuses, noise intervals and the additive view, from the perturbed values alone."""
        detail = base.own_part(plan, Detail)
        if measurements.facts.get("p_table") != detail.ready.settings.table.digest:
            raise Bug("These measurements were made with another p-table.")
        made = []
        for number, spec in enumerate(plan.question.tables):
            control.step(number / len(plan.question.tables), "fitting")
            values = measurements.arrays[base.stored_name(spec)]
            counts = values
            if spec.weighted:
                counts = measurements.arrays[base.stored_name(replace(spec, weighted=False))]
            made.append(_protected(plan, spec, values, counts, detail.zeros[number], facts))
        return tuple(made)


def _settings(parameters: Mapping[str, Any]) -> Settings:
    """Designing takes milliseconds to seconds; the same policy is read for every question."""
    if any(isinstance(value, PTable) for value in parameters.values()):
        return read_settings(parameters)
    text = json.dumps(dict(parameters), sort_keys=True, default=str)
    return _cached_settings(text, file_mark(parameters.get("ptable")))


@lru_cache(maxsize=64)
def _cached_settings(text: str, mark: tuple[int, int] | None) -> Settings:
    """`mark` tells a p-table file from the one that was read before under its name."""
    return read_settings(json.loads(text))


@lru_cache(maxsize=16)
def _ready(settings: Settings, records: int) -> Ready:
    """`records` is how many one unit may have: the promise is for units, the law for records."""
    table = settings.table
    numbers = risk(table, settings.sameness, records)
    promise = law_of_a_cell(settings, numbers, records)
    return Ready(settings, Lookup(table), Readings(table), numbers, promise)


def _expected(spec: TableSpec, description: Description, ready: Ready) -> base.ExpectedError:
    """Cell keys treat margins as cells, so every margin has the error of a large cell."""
    last = ready.settings.table.large
    return base.ExpectedError(
        table=spec,
        cells=published_cells(spec, description),
        noise_sd=ready.worst_error,
        half_width=ready.half_width,
        totals_sd=totals_by_name(spec, lambda kept: last.error),
        totals_half_width=totals_by_name(spec, lambda kept: ready.half_width_of_large),
        share_unchanged=float(last.pmf.get(0, 0)),
        note=say("Times the mean weight of the cell.") if spec.weighted else "",
    )


def _protected(
    plan: Plan,
    spec: TableSpec,
    values: Whole,
    counts: Whole,
    zeros: Flags | None,
    facts: Facts,
) -> ProtectedTable:
    """A table from its protected values; `counts`, protected too, decide which of them are shown."""
    detail = base.own_part(plan, Detail)
    ready, treated = detail.ready, detail.treatment
    description = facts.description
    status = np.full(values.shape, Status.OK, dtype=np.uint8)
    noise = _noise(spec, values, ready, description)
    if treated.display_floor is not None:
        status[(counts != 0) & (counts < treated.display_floor)] = Status.LOW
    if treated.threshold is not None:
        status[counts < treated.threshold] = Status.BELOW_THRESHOLD
    if zeros is not None:
        status[zeros] = Status.STRUCTURAL_ZERO
        if noise is not None:
            for array in (noise.sd, noise.lower, noise.upper):
                array[zeros] = 0
    hidden = (status == Status.LOW) | (status == Status.BELOW_THRESHOLD)
    shown = np.where(hidden, 0, values)
    if noise is not None and hidden.any():
        bound = description.weight.bound if spec.weighted and description.weight else None
        _hide(noise, hidden, detail, bound or Fraction(1))
    extra = {}
    if treated.additive and spec.totals and spec.axes:
        # From what is shown: a hidden cell must not come back through the view.
        extra["additive"] = additive_view(shown, zeros)
    notes = []
    if extra:
        notes.append(
            say(
                "additive: whole numbers near the published ones whose totals are sums; a "
                "view, not another measurement."
            )
        )
    if hidden.any() and spec.totals and spec.axes:
        notes.append(
            say(
                "Totals count what [low] and [c] leave out: these are rules of display, and "
                "what they hide can be worked out from totals as nearly as the noise allows."
            )
        )
    return protected(
        plan,
        spec,
        facts,
        _provenance(plan, facts),
        values=shown,
        status=status,
        noise=noise,
        extra=extra,
        law=for_table(ready.law, spec, description, zeros, treated),
        notes=(*notes, *plan.warnings),
    )


def _provenance(plan: Plan, facts: Facts) -> Provenance:
    """Where the table comes from; of a law the policy keeps private not even its digest."""
    where = base.provenance(plan, facts)
    if base.own_part(plan, Detail).ready.settings.law_is_public:
        return where
    question = {**where.question, "settings": {**where.question["settings"], "law": "private"}}
    return replace(where, question=question)


def _noise(spec: TableSpec, values: Whole, ready: Ready, description: Description) -> Noise | None:
    """Standard deviation and noise interval of every cell; for weighted counts a bound, or None."""
    if not spec.weighted:
        return Noise(*ready.readings.of(values), COVERAGE)
    weight = description.weight
    if weight is None or weight.bound is None:
        return None  # the mean weight of a cell is not published, and nothing else bounds it
    table = ready.settings.table
    reach = int(-(-ready.half_width * weight.bound // 1)) + 1
    sd = ready.worst_error * float(weight.bound)
    # arrays also for a table of one number, whose difference is no array of its own
    lower, upper = np.asarray(values - reach), np.asarray(values + reach)
    if not table.allows_negatives:
        np.maximum(lower, 0, out=lower)
    return Noise(np.full(values.shape, sd), lower, upper, COVERAGE)


def _hide(noise: Noise, hidden: Flags, detail: Detail, weight: Fraction) -> None:
    """A hidden number's interval would give it away: show what its status already says."""
    ready, treated = detail.ready, detail.treatment
    end = max(treated.display_floor or 0, treated.threshold or 0) - 1
    noise.lower[hidden] = 0
    noise.upper[hidden] = ceil((end + ready.settings.table.max_perturbation) * weight)
    noise.sd[hidden] = ready.worst_error * float(weight)
