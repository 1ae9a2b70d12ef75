"""A small made-up data set's public facts, for tests."""

from __future__ import annotations

from typing import Any

from discreet.core.description import Description, Policy, StructuralZero
from discreet.core.domain import Condition, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.text import Text


def people(**changes: Any) -> Description:
    """A data set of people by area (with regions), age, sex and work."""
    area = variable(
        "area",
        [(f"a{i}", f"Area {i}") for i in range(1, 7)],
        levels={
            "region": {f"a{i}": "north" if i <= 2 else "south" for i in range(1, 7)},
            "country": {"north": "all", "south": "all"},
        },
    )
    age = variable("age", [("0", "0 to 14"), ("15", "15 to 64"), ("65", "65 and over")])
    sex = variable("sex", [("F", "female"), ("M", "male")])
    work = variable("work", [("e", "employed"), ("u", "unemployed"), ("o", "other")])
    facts: dict[str, Any] = {
        "name": "people",
        "title": Text.of("People"),
        "variables": (area, age, sex, work),
        "structural_zeros": (
            StructuralZero(
                (Condition("age", "age", ("0",)), Condition("work", "work", ("e", "u"))),
                "children do not work",
            ),
        ),
    }
    return Description(**(facts | changes))


def policy(**changes: Any) -> Policy:
    """A DP policy."""
    facts: dict[str, Any] = {
        "family": Family.DP,
        "method": "noise",
        "budget": PureLoss(10),
    }
    return Policy(**(facts | changes))
