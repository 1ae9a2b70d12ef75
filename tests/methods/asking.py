"""Questions and treatments as the recipe reader makes them, for tests that call a method itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.core.question import Question, TableSpec, Treatment
from discreet.methods import registry
from discreet.methods.base import Facts, Plan
from discreet.methods.declaration import Part


def read(method: str, dataset: str, tables: Sequence[TableSpec], **said: Any):
    """What a recipe says of a method: a question, and a treatment."""
    parts = registry.declaration(method).read(said)
    question = Question(dataset, tuple(tables), method, parts[Part.MEASURED])
    return question, Treatment(parts[Part.TREATED])


def plan(method: str, tables: Sequence[TableSpec], facts: Facts, **said: Any) -> Plan:
    """The plan of a question said in a recipe's words."""
    asked = read(method, facts.description.name, tables, **said)
    return registry.get(method).plan(*asked, facts)
