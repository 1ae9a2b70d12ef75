"""The one form of a draft's page, as the answers it stands for; and the page with what was typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from ..languages import say
from ..server.draft_shapes import AnswersForm
from ..workspace.column_choice import NONE
from ..workspace.draft_answers import ABOUT
from .frame import first

Fields = dict[str, list[str]]
_WHOLE = ("max_perturbation", "max_variables", "max_cells", "within", "tables", "records")
_POLICY = ("family", "budget", "max_perturbation", "variance", "max_variables", "max_cells")
_QUESTIONS = ("within", "tables", "prior", "most")


def answers(said: Fields, review: Mapping[str, Any]) -> AnswersForm:
    """What a form says; what cannot be read is refused in one sentence."""
    columns = review["columns"]
    roles = {one["name"]: first(said, f"role-{n}", one["role"]) for n, one in enumerate(columns)}
    ids = [name for name, role in roles.items() if role == "id"]
    weights = [name for name, role in roles.items() if role == "weight"]
    for names, what in ((ids, say("the unit")), (weights, say("the weight"))):
        if len(names) > 1:
            raise InputError(
                say(
                    "One column names {what}; two were chosen: {names}.",
                    what=what,
                    names=", ".join(names),
                )
            )
    could = any(one["role"] == "weight" for one in columns)
    body = {
        "name": first(said, "name").strip(),
        "about": {key: first(said, key).strip() for key in ABOUT},
        "columns": {
            "leave_out": _left_out(roles, columns),
            "weight": weights[0] if weights else NONE if could else review["weight_said"],
        },
        "unit": {
            "unit": first(said, "unit").strip(),
            "id": _id_said(ids, review),
            "records": _number(said, "records"),
            "drop": first(said, "over") == "drop",
        },
        "declared": said.get("declared", []),
        "rules": _rules(said),
        "policy": {name: _part(said, name) for name in _POLICY},
        "questions": {
            name: part for name in _QUESTIONS if (part := _part(said, name)) not in ("", None)
        },
    }
    return _form(body)


def _id_said(ids: Sequence[str], review: Mapping[str, Any]) -> str | None:
    """The column that somebody chose to name the unit; one that was only proposed is not said."""
    proposed = None if review["id_said"] else review["unit"]["id"]
    return next((name for name in ids if name != proposed), None)


def _left_out(roles: Mapping[str, str], columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that somebody chose to leave out; those that cannot be variables are not said."""
    barred = {one["name"] for one in columns if one["barred"]}
    return [name for name, role in roles.items() if role == "drop" and name not in barred]


def _rules(said: Fields) -> dict[str, dict[str, str]]:
    rules: dict[str, dict[str, str]] = {}
    for name, values in said.items():
        start, _, rest = name.partition(".")
        variable, _, key = rest.rpartition(".")
        if start == "rule" and variable and values[0].strip():
            rules.setdefault(variable, {})[key] = values[0].strip()
    return rules


def _part(said: Fields, name: str) -> Any:
    return _number(said, name) if name in _WHOLE else first(said, name).strip()


def _number(said: Fields, name: str) -> int | None:
    text = first(said, name).replace(",", "").replace(" ", "").strip()
    if not text:
        return None
    if not text.isdecimal() or len(text) > 12:
        raise InputError(
            say("{name} is a whole number, got {text}.", name=name, text=repr(text[:20]))
        )
    return int(text)


def _form(body: Mapping[str, Any]) -> AnswersForm:
    try:
        return AnswersForm.model_validate(body)
    except ValidationError as problem:
        fault = problem.errors()[0]
        place = ".".join(str(part) for part in fault["loc"][-2:])
        raise InputError(
            say(
                "{name}: {fault}, got {shown}.",
                name=place,
                fault=fault["msg"],
                shown=repr(fault["input"])[:40],
            )
        ) from None


def overlaid(review: dict[str, Any], said: Fields) -> dict[str, Any]:
    """What the page shows where a form was refused: what was typed stays typed."""
    shown = dict(review)
    shown["name"] = first(said, "name")
    shown["about"] = {key: first(said, key) for key in ABOUT}
    shown["columns"] = [
        {**one, "role": first(said, f"role-{n}", one["role"])}
        for n, one in enumerate(review["columns"])
    ]
    shown["unit"] = {
        **review["unit"],
        "unit": first(said, "unit"),
        "records_said": first(said, "records"),
        "drop": first(said, "over") == "drop",
    }
    declared = said.get("declared", [])
    shown["variables"] = [
        {
            **one,
            "declared": one["name"] in declared,
            "rule": {
                key: first(said, f"rule.{one['name']}.{key}", value)
                for key, value in one["rule"].items()
            },
        }
        for one in review["variables"]
    ]
    shown["policy"] = {**review["policy"], **{name: first(said, name) for name in _POLICY}}
    shown["questions"] = {
        **review["questions"],
        **{name: first(said, name) for name in _QUESTIONS},
    }
    return shown
