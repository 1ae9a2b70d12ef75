"""What custodians are shown of a draft: columns, unit, variables, policy, and what is still to be said.

Everything here is for custodians alone. It holds what a profile found: values and true counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.description import RECORD, UNDECIDED
from ..core.exact import plain
from ..core.family import Family
from ..engines.coding import ColumnProfile
from ..errors import DiscreetError
from ..languages import say
from ..quality.epsilon_scale import Scale, Suspicion, Unit, scale
from ..trials import share
from ..workspace import draft_steps
from ..workspace.draft import Draft, VariableDraft
from ..workspace.draft_answers import ABOUT, RULE_KEYS, Answers, described
from ..workspace.draft_folder import DraftFolder
from ..workspace.initialising import CELL_KEY
from ..workspace.source_checks import advice, unsafe
from ..workspace.vocabulary import safe_names
from ..workspace.weight_column import may_be_weight

QUESTIONS = {"within": 5, "tables": 3, "prior": "10", "most": "25"}
"""What holds of the three questions where nothing is said."""
_EXAMPLES = 3


def first_answers(workspace: Path, draft: DraftFolder) -> None:
    """The name that a draft begins with: its file's, or that with a number."""
    with draft.locked() as state:
        if state.answers or state.dataset:
            return
        source = draft_steps.source_of(draft)
        stem = (source.table or source.path.stem).lower()
        base = safe_names([stem])[stem][:40]
        base = base if base[:1].isalpha() else f"data_{base}"
        names = (base, *(f"{base}_{number}" for number in range(2, 1000)))
        taken = draft_steps.RESERVED
        name = next(one for one in names if one not in taken and not (workspace / one).exists())
        draft.write(replace(state, answers={"name": name}))


def budget_of(draft: DraftFolder) -> dict[str, str] | None:
    """The budget that follows from the three questions; None where it does not matter."""
    answers = Answers.of(draft.state.answers)
    if answers.family != Family.DP:
        return None
    proposal = described(draft_steps.seen(draft), draft.made, answers)
    return recommended(_scale(answers, proposal))


def recommended(found: Scale) -> dict[str, str]:
    """As much as the wanted tables cost together, at most the ceiling, with Laplace noise."""
    return {"epsilon": plain(min(found.floor * found.tables, found.ceiling))}


def _scale(answers: Answers, proposal: Draft) -> Scale:
    said = {**QUESTIONS, **{k: v for k, v in answers.questions.items() if v not in ("", None)}}
    prior, most = (f"{str(said[name]).rstrip('%')}%" for name in ("prior", "most"))
    unit = Unit(RECORD if proposal.unit == UNDECIDED else proposal.unit, proposal.records_per_unit)
    suspicion = Suspicion.of(share(prior), share(most))
    return scale(unit, int(said["within"]), "0.95", (suspicion,), int(said["tables"]))


def review(
    workspace: Path, draft: DraftFolder, said: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What follows from what was seen and said so far, or would be `said`."""
    answers = Answers.of(draft.state.answers if said is None else said)
    seen = draft_steps.seen(draft)
    proposal = described(seen, draft.made, answers)
    found = _scale(answers, proposal)
    policy = answers.policy_choice(recommended(found))
    return {
        "records": seen.records,
        "columns": [_column(one, proposal, answers) for one in seen.columns],
        "unit": _unit(proposal, answers),
        "variables": [_variable(one, proposal) for one in proposal.variables],
        "left_out": [{"column": name, "why": why} for name, why in proposal.left_out],
        "hints": list(proposal.hints),
        "about": {key: str(getattr(proposal, key)) for key in ABOUT},
        "policy": {
            "family": answers.family,
            "budget": dict(policy.budget or {}).get("epsilon", ""),
            "from_questions": "budget" not in answers.policy or not answers.policy["budget"],
            **{name: str(policy.cell_key[name]) for name in CELL_KEY if name != "keys"},
            **{name: str(value) for name, value in proposal.rules.items()},
        },
        "questions": {**QUESTIONS, **answers.questions},
        "scale": found.to_json(),
        "open": _open(workspace, answers, proposal),
    }


def _column(column: ColumnProfile, proposal: Draft, answers: Answers) -> dict[str, Any]:
    """A column: what it is taken for, why, and what else it could be."""
    reasons = dict(proposal.left_out)
    role = _role(column.name, proposal, answers)
    roles = (
        ["keep", "id", "drop"] if role != "drop" or _by_choice(column, answers) else ["drop", "id"]
    )
    if may_be_weight(column):
        roles.append("weight")
    named = proposal.units.named(column.name)
    shown = () if named is not None or column.unique else column.values[:_EXAMPLES]
    return {
        "name": column.name,
        "type": column.type,
        "values": column.distinct,
        "missing": column.nulls,
        "examples": [code for code, _ in shown],
        "role": role,
        "roles": roles,
        "barred": role == "drop" and not _by_choice(column, answers),
        "why": reasons.get(column.name, ""),
    }


def _by_choice(column: ColumnProfile, answers: Answers) -> bool:
    return column.name in answers.columns.leave_out


def _role(name: str, proposal: Draft, answers: Answers) -> str:
    if name in answers.columns.leave_out:
        return "drop"
    if name == proposal.id:
        return "id"
    if proposal.weight is not None and proposal.weight.column == name:
        return "weight"
    return "drop" if name in dict(proposal.left_out) else "keep"


def _unit(proposal: Draft, answers: Answers) -> dict[str, Any]:
    return {
        "unit": answers.unit.unit,
        "id": proposal.id,
        "records": proposal.records_per_unit,
        "records_said": answers.unit.records,
        "from_data": proposal.records_from_data,
        "drop": answers.unit.drop,
        "decided": bool(answers.unit.unit) and proposal.unit != UNDECIDED,
        "candidates": [
            {"column": one.column, "values": one.values, "most": one.most, "words": one.repeats}
            for one in proposal.units.candidates
        ],
        "doubts": list(proposal.doubts),
    }


def _variable(variable: VariableDraft, proposal: Draft) -> dict[str, Any]:
    facts = proposal.source_facts
    column = variable.levels[0].column
    found, todo = "", ""
    if variable.derive:
        found = say(
            "The categories follow from a rule; its ends were chosen by looking at the data."
        )
        todo = say("Write ends that are public, then declare it.")
    elif facts is not None and column is not None:
        found = unsafe(facts.column(column))
        todo = advice(len(variable.levels)) if found else ""
    return {
        "name": variable.name,
        "label": str(variable.label),
        "column": column,
        "kind": variable.kind,
        "levels": [
            {
                "name": level.name,
                "categories": len(level.categories),
                "examples": [category.code for category in level.categories[:_EXAMPLES]],
            }
            for level in variable.levels
        ],
        "rule": {key: str(variable.derive[key]) for key in RULE_KEYS if key in variable.derive},
        "derived": bool(variable.derive),
        "notes": list(variable.comments),
        "declared": variable.declared,
        "unsafe": found,
        "todo": todo,
    }


def _open(workspace: Path, answers: Answers, proposal: Draft) -> list[str]:
    """What is still to be said before the data set can be made."""
    open_: list[str] = []
    try:
        draft_steps.free_name(answers.name, workspace)
    except DiscreetError as problem:
        open_.append(problem.message)
    if not answers.unit.unit:
        open_.append(
            say("Say who one unit of protection is: a person, a household, or one record.")
        )
    elif proposal.unit == UNDECIDED:
        open_.append(say("Say which column names the unit; more than one could."))
    if answers.family == Family.DP and not any(one.declared for one in proposal.variables):
        open_.append(
            say("Declare at least one variable: differential privacy refuses what was only found.")
        )
    return open_
