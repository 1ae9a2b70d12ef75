"""An answer: one sentence first, then the numbers behind it, then what to mind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..languages import number, say, says

_MOST_SHOWN = 1500
"""Longer lists are for programs: `to_json` has them."""


@dataclass(frozen=True)
class Answer:
    """What may be concluded. Its numbers can be read as attributes: `answer.p`.

    >>> answer = Answer("No sign of a difference.", {"p": 0.4})
    >>> answer.p
    0.4
    """

    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        numbers = self.__dict__.get("numbers", {})
        if name not in numbers:
            raise AttributeError(f"This answer has no {name!r}; it has {', '.join(numbers)}.")
        return numbers[name]

    def to_json(self, language: str = "") -> dict[str, Any]:
        """Plain values: sentence, numbers, caveats; the words in a language."""
        return {
            "sentence": says(self.sentence, language),
            "numbers": _plain(self.numbers),
            "caveats": [says(one, language) for one in self.caveats],
        }

    def says(self, language: str = "") -> str:
        """The answer in a language: sentence, numbers by their names, caveats."""
        shown = [f"  {name.replace('_', ' ')}: {text}" for name, text in self.shown()]
        caveats = [f"  · {says(one, language)}" for one in self.caveats]
        return "\n".join([says(self.sentence, language), *shown, *caveats])

    def shown(self) -> list[tuple[str, str]]:
        """The numbers as people read them; what is not there is left out."""
        shown = [(name, _shown(value)) for name, value in self.numbers.items() if value is not None]
        return [(name, text) for name, text in shown if len(text) < _MOST_SHOWN]

    def __str__(self) -> str:
        return self.says()

    __repr__ = __str__


def _plain(value: Any) -> Any:
    """The same as JSON can hold it: what is no finite number is nothing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def percent(share: float, digits: int = 0) -> str:
    """A share for a sentence.

    >>> percent(0.893), percent(0.0004), percent(0.99996)
    ('89 %', 'less than 1 %', 'more than 99 %')
    """
    least = 10.0**-digits / 100
    if 0 < share < least:
        return say("less than {share} %", share=number(f"{100 * least:.{digits}f}"))
    if 1 - least < share < 1:
        return say("more than {share} %", share=number(f"{100 - 100 * least:.{digits}f}"))
    return say("{share} %", share=number(f"{100 * share:.{digits}f}"))


def capital(text: str) -> str:
    """The same at the beginning of a sentence."""
    return text if text[:1].isupper() else f"{text[:1].upper()}{text[1:]}"


def p_text(p: float) -> str:
    """A p-value for a sentence.

    >>> p_text(0.0312), p_text(0.00004), p_text(0.4)
    ('p = 0.031', 'p < 0.001', 'p = 0.40')
    """
    if p < 0.001:
        return say("p < {p}", p=number("0.001"))
    return say("p = {p}", p=number(f"{p:.3f}" if p < 0.1 else f"{p:.2f}"))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping) and "category" in value:
        low, high = value["ranks"]
        return f"{value['category']} {low if low == high else f'{low} to {high}'}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_shown(inner) for inner in value)
    return str(value)
