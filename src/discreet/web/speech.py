"""Sentences of pages: English until the reader's language is known."""

from __future__ import annotations

from typing import Any


def say(words: str, **values: Any) -> str:
    """A sentence with its values."""
    return words.format(**{name: _shown(value) for name, value in values.items()})


def counted(one: str, many: str, n: int, **values: Any) -> str:
    """A sentence about a number of things."""
    return say(one if n == 1 else many, n=n, **values)


def number(text: str) -> str:
    """A number that was written already."""
    return text


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


class Speaker:
    """Says sentences in one language."""

    language = "en"

    def __call__(self, words: str, **values: Any) -> str:
        """A sentence."""
        return say(words, **values)

    def counted(self, one: str, many: str, n: int, **values: Any) -> str:
        """A sentence about a number of things."""
        return counted(one, many, n, **values)

    def number(self, value: Any) -> str:
        """A number alone."""
        return _shown(value)


def speaker(language: str) -> Speaker:
    """Who says sentences in a language."""
    return Speaker()
