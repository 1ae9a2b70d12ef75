"""Forms of the custodians' pages, read into the very forms the API takes."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ...languages import say
from ...server.problems import Problem

Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], **values: Any) -> Model:
    """The values as the API's form; fields left empty are not said. Else one sentence, 400."""
    said = {name: value for name, value in values.items() if value not in ("", None)}
    try:
        return model(**said)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        words = say(
            "The field {field} cannot be taken as it is: {why}.",
            field=field,
            why=str(first["msg"]).rstrip("."),
        )
        raise Problem(400, "input", words) from None


def reason(said: dict[str, list[str]]) -> str:
    """A reason that stays, with its writer's name; refused where there is none."""
    words = " ".join(said.get("reason", [""])[0].split())
    if not words:
        raise Problem(400, "input", say("Say why: the reason stays, with your name."))
    return words[:1000]
