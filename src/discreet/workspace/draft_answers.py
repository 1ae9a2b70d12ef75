"""What custodians said of a draft, and the description that follows from it.

Nothing else goes into the description: it is what `discreet init` proposes for the same file with the
same choices, with those variables declared that were declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DescriptionError, InputError, did_you_mean
from ..file_names import DESCRIPTION
from .column_choice import ColumnChoice
from .description_file import DescribedData, read
from .draft import Draft
from .initialising import CELL_KEY, PolicyChoice, propose
from .source_facts import keep
from .unit_choice import UnitChoice
from .writer import write

if TYPE_CHECKING:
    from ..engines.coding import Profile

ABOUT = ("title", "population", "period", "licence", "contact")
RULE_KEYS = ("bands", "from", "to", "first", "last")
"""What can be changed of a rule that derives categories: the ends that were found by looking."""


@dataclass(frozen=True)
class Answers:
    """What was said; what was not said is empty."""

    name: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    columns: ColumnChoice = field(default_factory=ColumnChoice)
    unit: UnitChoice = field(default_factory=UnitChoice)
    declared: tuple[str, ...] = ()
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By variable: other ends of the rule that makes its categories."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """family, budget, max_perturbation, variance, max_variables, max_cells."""
    questions: Mapping[str, Any] = field(default_factory=dict)
    """within, tables, prior, most: what the budget follows from."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Answers:
        """As they are kept."""
        columns, unit = body.get("columns", {}), body.get("unit", {})
        return cls(
            name=body.get("name", ""),
            about=body.get("about", {}),
            columns=ColumnChoice(tuple(columns.get("leave_out", ())), columns.get("weight", "")),
            unit=UnitChoice(**unit),
            declared=tuple(body.get("declared", ())),
            rules=body.get("rules", {}),
            policy=body.get("policy", {}),
            questions=body.get("questions", {}),
        )

    @property
    def family(self) -> str:
        """How it is to be protected."""
        return str(self.policy.get("family") or "cell-key")

    def policy_choice(self, budget: Mapping[str, str] | None = None) -> PolicyChoice:
        """As `init` is told; `budget` is what follows from the questions where none was said."""
        said = {name: value for name, value in self.policy.items() if value not in ("", None)}
        perturbation = {name: said[name] for name in said if name in CELL_KEY}
        rules = {
            name: said[name] for name in said if name.startswith("max_") and name not in CELL_KEY
        }
        own = {"epsilon": str(said["budget"])} if "budget" in said else budget
        return PolicyChoice(self.family, own, {**CELL_KEY, **perturbation}, rules)


def described(
    seen: Profile, folder: Path, answers: Answers, budget: Mapping[str, str] | None = None
) -> Draft:
    """The description that follows from what was seen and said; nothing is written."""
    policy = answers.policy_choice(budget)
    policy.check()
    draft = propose(
        seen, folder, policy, unit=answers.unit, columns=answers.columns, name=answers.name
    )
    for key in ABOUT:
        if words := answers.about.get(key, "").strip():
            setattr(draft, key, words)
    for variable in draft.variables:
        variable.declared = variable.name in answers.declared
        said = {k: v for k, v in answers.rules.get(variable.name, {}).items() if v}
        for key in said:
            if key not in RULE_KEYS or key not in variable.derive:
                known = [one for one in variable.derive if one in RULE_KEYS]
                raise InputError(
                    f"The rule of {variable.name} has no {key[:40]!r} to change.{did_you_mean(key, known)} "
                    f"It has {', '.join(known) or 'nothing of the kind'}."
                )
        variable.derive = {**variable.derive, **said}
    return draft


def written(draft: Draft, folder: Path) -> DescribedData:
    """Write a description into its folder and read it back; what cannot be gets one sentence."""
    folder.mkdir(mode=0o700, exist_ok=True)
    write(draft, folder)
    try:
        found = read(folder)
    except DescriptionError as problem:
        told = problem.message.replace(str(folder / DESCRIPTION), DESCRIPTION)
        raise InputError(told.partition(": ")[2] or told) from None
    if draft.source_facts is not None:
        keep(found, draft.source_facts)
    return found


def merged(before: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Earlier answers with later ones in their place, part by part.

    >>> merged({"name": "a", "unit": {"unit": "person"}}, {"name": "b"})
    {'name': 'b', 'unit': {'unit': 'person'}}
    """
    return {**before, **said}


def without_unknown(answers: Answers, draft: Draft) -> Answers:
    """The answers without what they say of variables that are no longer there."""
    names = {variable.name for variable in draft.variables}
    return replace(
        answers,
        declared=tuple(name for name in answers.declared if name in names),
        rules={name: rule for name, rule in answers.rules.items() if name in names},
    )
