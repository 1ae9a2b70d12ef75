"""Understanding what people write: any name, label, code or unambiguous prefix.

An exact name wins over a label, a label over a prefix; an ambiguous prefix is refused with the
words it could mean, an unknown word with the nearest ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from ..errors import RecipeError
from ..languages import meant, say
from .description import Description
from .domain import AxisRef, Condition, Level, Variable

T = TypeVar("T")

_STATISTICS = "mean|average|avg|median|sum|total|min|max|std|sd|var|variance|quantile|percentile"
_OTHER_STATISTIC = re.compile(rf"\s*({_STATISTICS})\s*[(:]", re.IGNORECASE)
_STATISTIC_IN_WORDS = re.compile(rf"\s*({_STATISTICS})(\s|_|$)", re.IGNORECASE)


def find_axis(description: Description, text: str) -> AxisRef:
    """The variable at a level that `text` means: `region`, `area:region`, a label or a prefix.

    A variable's own name means its level of that name, else its finest.
    """
    if not description.variables:
        raise RecipeError(
            say("No variable of {name} is declared yet, so it has no table.", name=description.name)
        )
    if named := description.axes_by_name.get(text.strip()):
        return named
    if _OTHER_STATISTIC.match(text):
        raise _counts_only(text)
    if ":" in text:
        variable_text, _, level_text = text.partition(":")
        what = say("variable of {name}", name=description.name)
        variable = _one(variable_text, description.variables, _words, what)
        level = _one(
            level_text, variable.levels, _words, say("level of {name}", name=variable.name)
        )
        return AxisRef(variable.name, level.name)
    candidates = [
        (variable, level) for variable in description.variables for level in variable.levels
    ]
    for variable in description.variables:
        if variable.name == text.strip():
            return AxisRef(variable.name, variable.finest.name)

    def words(pair: tuple[Variable, Level]) -> list[str]:
        variable, level = pair
        own = _words(variable) if level is variable.finest else []
        return [*own, *_words(level)]

    what = say("variable or level of {name}", name=description.name)
    try:
        variable, level = _one(text, candidates, words, what, shown=lambda p: p[1].name)
    except RecipeError:
        if _STATISTIC_IN_WORDS.match(text):  # "sum of ages", where nothing is called so
            raise _counts_only(text) from None
        raise
    return AxisRef(variable.name, level.name)


def _counts_only(text: str) -> RecipeError:
    return RecipeError(
        say(
            "discreet publishes counts only, got {text}; means, medians and sums are not "
            "offered. Ask for a table of the variable in bands instead.",
            text=repr(text.strip()),
        )
    )


def find_code(level: Level, text: str) -> str:
    """The code of the category of `level` that `text` means, by code, label or prefix."""
    if text in level.index:
        return text
    return _one(
        text,
        level.categories,
        lambda category: [category.code, *(words for _, words in category.label.by_language)],
        say("category of {name}", name=level.name),
        shown=lambda category: category.code,
    ).code


def find_codes(level: Level, texts: str | Sequence[str]) -> tuple[str, ...]:
    """Codes of several categories; a text with commas is split unless it names one as it stands.

    Where all its parts are codes they are meant, whatever else is called so.
    """
    if isinstance(texts, str):
        parts = [part for part in texts.split(",") if part.strip()]
        if parts and all(part in level.index for part in parts):
            return tuple(parts)
        known = {category.code.casefold() for category in level.categories} | {
            words.casefold() for c in level.categories for _, words in c.label.by_language
        }
        whole = texts.strip().casefold() in known
        texts = [texts] if whole else parts
    return tuple(find_code(level, text) for text in texts)


def canonical_conditions(
    description: Description, wanted: Iterable[tuple[AxisRef, tuple[str, ...]]]
) -> tuple[Condition, ...]:
    """Conditions in canonical form: one a variable, at the coarsest level that can say it.

    Several conditions on one variable are met together; one that lets every category pass is no
    condition; one that nothing passes is refused.
    """
    allowed: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for ref, codes in wanted:
        variable = description.variable(ref.variable)
        level = variable.level(ref.level)
        passes = level.within(codes)
        allowed[variable.name] = allowed.get(variable.name, np.ones(len(passes), bool)) & passes
    conditions = []
    for name in sorted(allowed):
        variable, passes = description.variable(name), allowed[name]
        if passes.all():
            continue
        if not passes.any():
            raise RecipeError(
                say("The filter on {name} lets nothing pass. Widen it or leave it out.", name=name)
            )
        for level in reversed(variable.levels):
            if (chosen := level.joined(passes)) is not None:
                codes = tuple(sorted(level.codes[i] for i in chosen))
                conditions.append(Condition(name, level.name, codes))
                break
    return tuple(conditions)


def _words(item: Variable | Level) -> list[str]:
    return [item.name, *(words for _, words in item.label.by_language)]


def _one(
    text: str,
    items: Sequence[T],
    words: Callable[[T], list[str]],
    what: str,
    shown: Callable[[T], str] | None = None,
) -> T:
    """The one item whose words `text` means: exact, then ignoring case, then as a prefix."""
    asked = text.strip()
    named = [item for item in items if (shown(item) if shown else words(item)[0]) == asked]
    if len(named) == 1:
        return named[0]
    tests: tuple[Callable[[str], bool], ...] = (
        lambda word: word == asked,
        lambda word: word.casefold() == asked.casefold(),
        lambda word: asked != "" and word.casefold().startswith(asked.casefold()),
    )
    for test in tests:
        matches = [item for item in items if any(test(word) for word in words(item))]
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = [shown(item) if shown else words(item)[0] for item in matches]
            if len(set(names)) == 1:
                return matches[0]
            few = ", ".join(names[:6]) + (" …" if len(names) > 6 else "")
            raise RecipeError(
                say("{asked} could mean {few}. Write more of it.", asked=repr(asked), few=few)
            )
    known = [word for item in items for word in words(item)]
    hint = meant(asked, known)
    if not hint and len(items) <= 20:
        hint = say(
            " It has {names}.", names=", ".join(dict.fromkeys(words(item)[0] for item in items))
        )
    raise RecipeError(
        say("{asked} is no {what}.{hint}", asked=repr(_short(asked)), what=what, hint=hint)
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
