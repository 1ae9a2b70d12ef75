"""A refusal over HTTP: a problem whose alternatives are whole recipes, to be sent as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from ..core.question import TableSpec, Treatment
from ..errors import Alternative, BudgetExceeded, Refusal, StoreError
from ..languages import listed, says
from ..methods import registry
from ..methods.declaration import Part
from ..offers import Change
from ..recipe import Layout, Recipe, to_mapping, to_query
from . import problems
from .asking import Asking
from .service import told


@contextmanager
def with_alternatives(asking: Asking, *, counts: bool = True) -> Iterator[None]:
    """Turn a refusal inside the block into a problem that says what would work instead.

    It `counts` as asked and refused, unless somebody only looks whether it would be.
    """
    try:
        yield
    except Refusal as refusal:
        if counts:
            note(asking, refusal.rule)
        raise problems.of(refusal, alternatives(asking, refusal)) from None


def note(asking: Asking, rule: str) -> None:
    """Keep what was asked and refused, for the custodian to read; a full disk does not matter here."""
    question = asking.recipe.fingerprints["question"]
    asking.notes.setdefault("question", question)
    with suppress(StoreError):
        asking.service.inbox.note_refused(question, asking.dataset, rule, to_mapping(asking.recipe))


def alternatives(asking: Asking, refusal: Refusal | None = None) -> list[dict[str, Any]]:
    """What would work: each as a whole recipe, and whether it was checked to pass."""
    offers = [
        _offer(
            asking,
            Alternative(offer.words),
            _with_table(asking.recipe, offer.table, offer.spec),
            changes=offer.changes,
        )
        for offer in asking.verdict.offers
    ]
    if offers or refusal is None:
        return offers
    # others may spend meanwhile, so what fits a budget now is likely and no more
    certain = not isinstance(refusal, BudgetExceeded)
    for alternative in refusal.alternatives:
        changed = None
        if alternative.change is not None:
            changed = _with_settings(asking.recipe, alternative.change)
        offers.append(_offer(asking, alternative, changed, certain=certain))
    return offers


def unaffordable(asking: Asking) -> list[dict[str, Any]]:
    """What would fit the budget, where a question that may be asked does not; else nothing."""
    if asking.verdict.allowed and not asking.asked.affordable:
        try:
            asking.asked.require()
        except Refusal as refusal:
            return alternatives(asking, refusal)
    return []


def _offer(
    asking: Asking,
    alternative: Alternative,
    changed: Recipe | None,
    *,
    certain: bool = True,
    changes: Sequence[Change] = (),
) -> dict[str, Any]:
    description, language = told(asking.asker, asking.data), asking.wish.language
    steps = [change.in_labels(description, language) for change in changes]
    title = says(listed(steps) if steps else alternative.words, language)
    offer = {
        "words": alternative.words,
        "title": title[:1].upper() + title[1:],
        "change": alternative.change,
        "steps": [_step(change) for change in changes],
        "checked": False,
        "recipe": None if changed is None else to_mapping(changed),
    }
    return offer if changed is None else offer | _outlook(asking.instead(changed), certain)


def _step(change: Change) -> dict[str, str | None]:
    to = None if change.to is None else str(change.to)
    return {"kind": change.kind, "level": str(change.level), "to": to}


def _outlook(other: Asking, certain: bool) -> dict[str, Any]:
    """How large the other question is, how far off its numbers would be, how it would come."""
    works = other.works
    errors = other.asked.plan.errors if works else ()
    return {
        "checked": certain and works,
        "cells": other.cells,
        "within_95": max((error.half_width for error in errors), default=None),
        "as_job": other.must_be_job,
        "query": to_query(other.recipe) if len(other.recipe.question.tables) == 1 else None,
    }


def _with_settings(recipe: Recipe, change: Mapping[str, str | None]) -> Recipe:
    """The recipe with another method or other settings; None takes a setting away."""
    method = change.get("method") or recipe.question.method
    treated = {setting.name for setting in registry.declaration(method).asked(Part.TREATED)}
    asked = {**recipe.question.settings, **recipe.treatment.settings, **change}
    said = {name: text for name, text in asked.items() if text is not None and name != "method"}
    measured = {name: text for name, text in said.items() if name not in treated}
    return replace(
        recipe,
        question=replace(recipe.question, method=method, settings=measured),
        treatment=Treatment({name: text for name, text in said.items() if name in treated}),
    )


def _with_table(recipe: Recipe, number: int, spec: TableSpec) -> Recipe:
    tables, layouts = list(recipe.question.tables), list(recipe.layouts)
    tables[number] = spec
    layouts[number] = _relaid(layouts[number], spec)
    question = replace(recipe.question, tables=tuple(tables))
    return replace(recipe, question=question, layouts=tuple(layouts))


def _relaid(layout: Layout, spec: TableSpec) -> Layout:
    """A layout for changed axes: each variable stays on its side, a new one goes to the rows."""
    refs = {ref.variable: str(ref) for ref in spec.axes}
    sides: list[tuple[str, ...]] = []
    for side in (layout.rows, layout.columns, layout.layers):
        names = [name.partition(":")[0] for name in side]
        sides.append(tuple(refs.pop(name) for name in names if name in refs))
    rows, columns, layers = sides
    return replace(layout, rows=(*rows, *refs.values()), columns=columns, layers=layers)
