"""`method: classic`: a custodian's batch release in which small counts are hidden.

No guarantee: which cells are hidden depends on their counts, so that the pattern itself tells (nabar
§3). What an intruder recovers from the published table alone is computed and printed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core import true_values
from ...core.charge import Charge
from ...core.control import Control
from ...core.guarantee import Guarantee, Kind
from ...core.question import Question, TableSpec, Treatment
from ...core.table import ProtectedTable, Status, TrueTable
from ...errors import InputError, RecipeError, Refusal
from ...languages import number, say
from .. import base
from ..base import ExpectedError, Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import protected, published_cells
from ..shared.suppression_attack import (
    MOST_LINKED,
    Attacked,
    attack,
    fitting_counts,
    intervals,
)
from ..shared.unit import check_unit
from .declaration import DECLARATION
from .linked import Part, group_system, groups, sparse
from .secondary import Flags, Hidden, Whole, hide, hide_numbers

HIDDEN = -1


class ClassicMethod:
    """`method: classic`."""

    declaration: ClassVar[Declaration] = DECLARATION

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Read and check the parameters a policy gives."""
        defaults = {setting.name: setting.default for setting in DECLARATION.settings}
        return defaults | DECLARATION.read_policy(parameters, InputError)

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """Which tables to count, under which threshold."""
        check_unit(facts.description)
        chosen = self.settings(facts.policy.parameters(DECLARATION.name))
        for spec in question.tables:
            _can_be(spec)
        question = question.without_shares().resolve(
            {name: chosen[name] for name in ("threshold", "zeros", "protection", "seconds")}
        )
        digest = base.question_hash(question, facts)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            counts=tuple(spec.count for spec in question.tables),
            guarantee=Guarantee(
                Kind.NONE,
                facts.description.unit,
                "not used",
                notices=facts.description.counted,
                caveats=(
                    say(
                        "Classic suppression gives no guarantee: which cells are hidden depends on "
                        "their counts. What an intruder recovers from this table alone is said below "
                        "it; with other tables of the same people he recovers more."
                    ),
                ),
            ),
            errors=tuple(
                ExpectedError(
                    spec,
                    published_cells(spec, facts.description),
                    0.0,
                    0,
                    note=say("exact or hidden"),
                )
                for spec in question.tables
            ),
            charge=Charge.record(DECLARATION.name, question.settings, question=digest),
            detail=tuple(groups(question.tables, facts.description)),
        )

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """The counts that are shown; hidden ones are left out here and stored nowhere."""
        chosen, specs = plan.question.settings, plan.question.tables
        arrays, gaps = {}, {}
        for group in base.own_part(plan, tuple):
            cubes = [_cube(specs[place], tables[place]) for place, _ in group]
            hidden, gap = _hidden([part for _, part in group], cubes, chosen)
            for (place, _), cube, flags in zip(group, cubes, hidden, strict=True):
                name = base.stored_name(specs[place])
                arrays[name], gaps[name] = np.where(flags, HIDDEN, cube), f"{gap:.4g}"
        return Measurements(arrays, {"gaps": gaps})

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The tables, each with what an intruder recovers of it."""
        made: dict[int, ProtectedTable] = {}
        where = base.provenance(plan, facts)
        specs = plan.question.tables
        for group in groups(specs, facts.description):
            names = [base.stored_name(specs[place]) for place, _ in group]
            cubes = [measurements.arrays[name] for name in names]
            said = _attacked([part for _, part in group], cubes, plan.question.settings)
            for (place, _), name, values, notes in zip(group, names, cubes, said, strict=True):
                hidden = values == HIDDEN
                made[place] = protected(
                    plan,
                    specs[place],
                    facts,
                    where,
                    values=np.where(hidden, 0, values),
                    status=np.where(hidden, Status.SUPPRESSED, Status.OK).astype(np.uint8),
                    notes=(
                        *notes,
                        say(
                            "Fewest hidden cells to within {gap} of them.",
                            gap=number(measurements.facts["gaps"][name]),
                        ),
                    ),
                )
        return tuple(made[place] for place in range(len(specs)))


def _cube(spec: TableSpec, table: TrueTable) -> Whole:
    cells = true_values.reveal(table)
    return true_values.cube(table.domain.shape, cells.addresses, cells.counts, spec.totals)


def _hidden(
    parts: Sequence[Part], cubes: Sequence[Whole], chosen: Mapping[str, str]
) -> tuple[list[Flags], float]:
    """Which numbers of linked tables with totals are hidden, and the gap left."""
    numbers = np.concatenate([cube.ravel() for cube in cubes])
    small = _sensitive(numbers, chosen)
    _, cells = group_system(parts, hide_totals=False)
    _, more = group_system(parts, hide_totals=True)
    if small[~more].any():
        raise Refusal(
            say("All records of this table together are too few to be shown."),
            rule="small-table",
            alternatives=(say("filter less"),),
        )
    system, open_ = group_system(parts, hide_totals=bool(small[more & ~cells].any()))
    finest = cubes[0][tuple(slice(0, n) for n in parts[0].shape)].ravel()
    protection, seconds = int(chosen["protection"]), float(chosen["seconds"])
    found = hide_numbers(system, finest, small[open_], protection, seconds)
    flags = np.zeros(len(numbers), dtype=bool)
    flags[open_] = found.cells
    ends = np.cumsum([cube.size for cube in cubes])[:-1]
    split = np.split(flags, ends)
    return [one.reshape(cube.shape) for one, cube in zip(split, cubes, strict=True)], found.gap


def _sensitive(numbers: Whole, chosen: Mapping[str, str]) -> Flags:
    small = numbers <= int(chosen["threshold"])
    return small & (numbers > 0) if chosen["zeros"] == "no" else small


def pattern(grid: Whole, chosen: Mapping[str, str]) -> Hidden:
    """Which cells of a table with totals are hidden under a policy."""
    protection, seconds = int(chosen["protection"]), float(chosen["seconds"])
    return hide(grid, _sensitive(grid, chosen), protection, seconds)


def _as_grid(counts: Whole) -> Whole:
    return counts.reshape(counts.shape if counts.ndim == 2 else (1, -1))


def _can_be(spec: TableSpec) -> None:
    if spec.weighted:
        raise RecipeError(say("Classic suppression has no weighted tables. Leave weighted out."))
    if not 1 <= len(spec.axes) <= 2 or not spec.totals:
        raise Refusal(
            say("Classic suppression protects tables by one or two variables, with their totals."),
            rule="two-way",
            alternatives=(say("leave out a variable, or make it a filter"),),
        )


def _attacked(
    parts: Sequence[Part], cubes: Sequence[Whole], chosen: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """What an intruder recovers of each of some linked published tables, in words."""
    totals = [
        part.totals().reshape(cube.shape) > 0 for part, cube in zip(parts, cubes, strict=True)
    ]
    if len(parts) == 1 and not (cubes[0][totals[0]] == HIDDEN).any():
        return [_attack_notes(cubes[0], chosen)]
    sums = sparse.vstack([part.sums() for part in parts]).tocsr()
    numbers = np.concatenate([cube.ravel() for cube in cubes])
    inner = cubes[0][tuple(slice(0, n) for n in parts[0].shape)].ravel()
    unknown = inner == HIDDEN
    known = np.where(unknown, 0, inner)
    shown = (numbers != HIDDEN) & (np.asarray(sums[:, unknown].sum(axis=1)).ravel() > 0)
    published = sums[shown][:, unknown].toarray()
    values = numbers[shown] - sums[shown] @ known
    bounds = [(0, int(numbers.max()))] * int(unknown.sum())
    by_rule = _by_rule(parts, cubes, chosen, (published, values, bounds))
    told = []
    ends = np.cumsum([0, *[cube.size for cube in cubes]])
    for at, (cube, first) in enumerate(zip(cubes, ends[:-1].tolist(), strict=True)):
        places = tuple(map(tuple, np.argwhere(cube == HIDDEN).tolist()))
        wanted = sums[first + np.flatnonzero(cube.ravel() == HIDDEN)][:, unknown].toarray()
        low, high = intervals(published, values, wanted, bounds)
        tables = None if by_rule is None else tuple(one[at] for one in by_rule[0])
        fitting = None if by_rule is None else by_rule[1]
        found = Attacked(places, low, high, tables, fitting, linked=True)
        told.append(found.sentences() if places else (say("Nothing is hidden."),))
    return told


def _by_rule(
    parts: Sequence[Part],
    cubes: Sequence[Whole],
    chosen: Mapping[str, str],
    public: tuple[Any, Whole, list[tuple[int, int]]],
) -> tuple[list[list[Whole]], int] | None:
    """Linked tables that fit what is shown and would be hidden in just this way; how many fit."""
    published, values, bounds = public
    each = np.eye(published.shape[1])
    fitting = fitting_counts(
        published, values, *intervals(published, values, each, bounds), MOST_LINKED
    )
    if fitting is None:
        return None
    inside = tuple(slice(0, n) for n in parts[0].shape)
    kept = []
    for counts in fitting:
        finest = cubes[0][inside].copy()
        finest[finest == HIDDEN] = counts
        made = [
            np.asarray(part.sums() @ finest.ravel()).astype(np.int64).reshape(cube.shape)
            for part, cube in zip(parts, cubes, strict=True)
        ]
        try:
            hidden, _ = _hidden(parts, made, chosen)
        except Refusal:  # it would not have been published at all
            continue
        if all(np.array_equal(f, c == HIDDEN) for f, c in zip(hidden, cubes, strict=True)):
            kept.append(made)
    return kept, len(fitting)


def _attack_notes(values: Whole, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """What an intruder recovers of a published table whose totals are all out, in words."""
    if not (values == HIDDEN).any():
        return (say("Nothing is hidden."),)
    grid = _as_grid(values[tuple(slice(0, n - 1) for n in values.shape)])
    flat = values.ndim == 1  # then only the total is published beside the cells
    rows = values[-1:] if flat else values[:-1, -1]
    columns = None if flat else values[-1, :-1]
    return attack(grid, rows, columns, lambda table: _pattern(table, chosen)).sentences()


def _pattern(grid: Whole, chosen: Mapping[str, str]) -> Flags:
    """Which cells the rule hides; none of a table that it would not publish at all."""
    try:
        return pattern(grid, chosen).cells
    except Refusal:
        return np.zeros(grid.shape, dtype=bool)
