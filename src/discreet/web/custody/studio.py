"""The policy studio: four questions, and what follows from their answers.

Every figure of the scale and of the tables is taken from the object that `discreet policy simulate
--json` prints, made from public facts alone. No record is read here; trying on true data is a
rehearsal, which has a page of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ... import rules, trials
from ...core.description import Description
from ...core.exact import exact, plain
from ...core.family import Family
from ...core.guarantee import unit_words
from ...core.names import find_axis
from ...core.odds import odds_of_plan, percent_up
from ...core.plan_loss import Move
from ...core.pure_laplace import PureLaplace
from ...errors import DiscreetError
from ...quality.policy_difference import difference
from ...quality.simulator import simulate
from ...server.policy_effects import effects
from ...server.routes.rehearsals import simulating
from ...server.service import Service
from ...workspace import DataSet, policy_change
from ...workspace.policy_draft import drafted
from .pictures import law_bars, scale_bar

MOST = 1_000
"""So many tables are simulated for one page."""
GOOD = 0.8
"""A table is good where so large a share of its cells is reliable."""


@dataclass(frozen=True)
class Answers:
    """What the form says, as text; empty fields are as in the policy in force."""

    within: str = "10"
    tables: str = "3"
    prior: str = "10"
    most: str = "25"
    records: str = ""
    variables: str = ""
    cells: str = ""
    each: str = ""
    budget: str = ""
    perturbation: str = ""
    variance: str = ""

    @property
    def wishes(self) -> dict[str, Any]:
        """As `trials.wishes` reads them."""
        return {
            "within": int(exact(self.within, "within", least=0)),
            "of": "95%",
            "risk": [(f"{self.prior.rstrip('% ')}%", f"{self.most.rstrip('% ')}%")],
            "tables": int(exact(self.tables, "tables", least=1)),
            "records": int(exact(self.records, "records", least=1)) if self.records else None,
            "most": MOST,
        }

    @property
    def command(self) -> str:
        """The same question on the command line, after the data set."""
        said = f"--within {self.within} --tables {self.tables} --risk {self.prior}:{self.most}"
        return said + (f" --records {self.records}" if self.records else "")


def in_force(data: DataSet) -> Answers:
    """The answers that the policy in force gives to the fourth question."""
    policy = data.policy
    own = policy.parameters(policy.method)
    budget = "" if policy.budget is None else plain(next(iter(policy.budget.parts.values())))
    return Answers(
        variables=str(policy.rules.get("max_variables", "")),
        cells=str(policy.rules.get("max_cells", rules.DEFAULT_MOST_CELLS)),
        each=str(own.get("epsilon_most", "")),
        budget=budget,
        perturbation=str(own.get("max_perturbation", "")),
        variance=str(own.get("variance", "")),
    )


def draft_of(data: DataSet, said: Answers) -> dict[str, Any]:
    """The policy that the answers describe, where it is not the one in force: its changed parts."""
    written, now = policy_change.written(data.folder), in_force(data)
    draft: dict[str, Any] = {}
    changed = dict(written.get("rules", {}))
    for name, wished, current in (
        ("max_variables", said.variables, now.variables),
        ("max_cells", said.cells, now.cells),
    ):
        if wished and wished != current:
            changed[name] = wished
    if changed != written.get("rules", {}):
        draft["rules"] = changed
    methods = {key: dict(value or {}) for key, value in written.get("methods", {}).items()}
    own = dict(methods.get(data.policy.method, {}))
    for name, wished, current in (
        ("epsilon_most", said.each, now.each),
        ("max_perturbation", said.perturbation, now.perturbation),
        ("variance", said.variance, now.variance),
    ):
        if wished and wished != current:
            own[name] = wished
    if own != methods.get(data.policy.method, {}):
        draft["methods"] = methods | {data.policy.method: own}
    return draft


def facts(service: Service, data: DataSet, said: Answers) -> dict[str, Any]:
    """Everything the page shows."""
    about: dict[str, Any] = {
        "name": data.folder.name,
        "title": data.description.title,
        "family": str(data.policy.family),
        "spends": data.policy.family is Family.DP,
        "said": said,
        "now": in_force(data),
        "rules_now": rules.in_words(data.policy),
        "unit": unit_words(data.description.protects),
        "records_per_unit": data.description.records_per_unit,
        "wrong": "",
        "found": None,
    }
    try:
        draft = draft_of(data, said)
        changed = drafted(data, draft) if draft else data
        wanted = trials.wishes(**said.wishes)
        with simulating(service, MOST) as control:
            first = simulate(data, wanted, control)
            second = simulate(changed, wanted, control) if draft else first
    except DiscreetError as error:
        return about | {"wrong": error.message}
    lost = effects(data, changed).sentences() if draft else []
    found = second.to_json()
    return about | {
        "found": found,
        "draft": draft,
        "budget_changes": _budget_changes(said, in_force(data)),
        "rules_then": rules.in_words(changed.policy),
        "differences": difference(first, second) if draft else (),
        "lost": lost,
        "heat": heat(found["tables"], data.description),
        "kinds": kinds(first.to_json()["tables"], found["tables"]),
        **_scale(found["scale"], data),
    }


def _budget_changes(said: Answers, now: Answers) -> bool:
    return bool(said.budget) and said.budget != now.budget


def _scale(scale: Mapping[str, Any], data: DataSet) -> dict[str, Any]:
    """The bar, the law and the best guesser, of what is recommended."""
    recommended = scale["recommended"]
    tables, floor = scale["tables"], Fraction(scale["floor"])
    total = floor * tables
    if recommended is not None:
        total = Fraction(recommended["epsilon_in_all"])
    bar = scale_bar(total, Fraction(scale["ceiling"]), total if recommended else None)
    facts: dict[str, Any] = {"bar": bar, "total": plain(total), "law": None, "guesser": None}
    if recommended is not None and recommended["law"] == "laplace":
        moved = data.description.neighbours.moved
        records = data.description.records_per_unit
        each = Fraction(recommended["epsilon_a_table"]) / moved
        facts["law"] = law_bars(each, records, scale["within"])
        move = Move(PureLaplace.of(each, records), 1, records)
        one, every = (odds_of_plan([((move, moved * n),)]).rightly for n in (1, tables))
        facts["guesser"] = (percent_up(one), percent_up(every))
    return facts


def heat(tables: Sequence[Mapping[str, Any]], description: Description) -> dict[str, Any] | None:
    """Every table of two variables as a square: the share of reliable cells, or that a rule says no."""
    pairs = {frozenset(one["axes"]): one for one in tables if len(one["axes"]) == 2}
    if not any(one["share_reliable"] is not None for one in pairs.values()):
        return None
    named = (
        level.name if level.name == variable.name else f"{variable.name}:{level.name}"
        for variable in description.variables
        for level in variable.levels
    )
    names = [name for name in named if any(name in axes for axes in pairs)]
    heads, rows = names[1:], []
    for first in names[:-1]:
        cells: list[dict[str, Any] | None] = []
        for second in heads:
            below = names.index(second) <= names.index(first)
            cells.append(None if below else _square(pairs.get(frozenset((first, second)))))
        rows.append({"name": _label(description, first), "cells": cells})
    return {"heads": [_label(description, name) for name in heads], "rows": rows}


def _square(one: Mapping[str, Any] | None) -> dict[str, Any]:
    if one is None:
        return {"kind": "same"}
    if not one["allowed"]:
        return {"kind": "refused", "why": one["why"]}
    share = one["share_reliable"]
    if share is None:
        return {"kind": "unknown"}
    return {"kind": "share", "value": share, "heat": min(9, int(share * 9.999))}


def _label(description: Description, name: str) -> Any:
    try:
        return description.axis(find_axis(description, name)).level.label
    except DiscreetError:
        return name


def kinds(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Tables of one, two and three variables, under the policy in force and under the draft."""
    rows = []
    for many in (1, 2, 3):
        sides = [[one for one in side if len(one["axes"]) == many] for side in (before, after)]
        if not sides[1]:
            continue
        rows.append(
            {
                "variables": many,
                "tables": len(sides[1]),
                "allowed": [sum(one["allowed"] for one in side) for side in sides],
                "good": [_good(side) for side in sides],
            }
        )
    return rows


def _good(side: Sequence[Mapping[str, Any]]) -> int | None:
    """How many tables are good; None where the number of records is not public."""
    shares = [one["share_reliable"] for one in side if one["share_reliable"] is not None]
    return sum(share >= GOOD for share in shares) if shares else None
