"""Titles and labels in several languages."""

from __future__ import annotations

from dataclasses import dataclass

from ..languages import Sentence, keeps_capitals, together


@dataclass(frozen=True, slots=True)
class Text:
    """A text in one or more languages; the first is the default.

    >>> Text.of({"en": "Sex", "fr": "Sexe"}).says("fr")
    'Sexe'
    """

    by_language: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, value: str | dict[str, str] | Text) -> Text:
        """A text from plain words (language not said) or from a language → words mapping."""
        if isinstance(value, Text):
            return value
        if isinstance(value, str):
            return cls((("", value),))
        return cls(tuple(value.items()))

    def says(self, language: str = "") -> str:
        """The words in `language`, or in the default language where it is not there."""
        for code, words in self.by_language:
            if code == language:
                return words
        return self.by_language[0][1] if self.by_language else ""

    def sentence(self) -> Sentence:
        """The text as something that is said: plain text in its default language, others later."""
        return together(self)

    def within(self, own: str = "") -> Within:
        """The text as it stands within a sentence; `own` is the language of plain words."""
        return Within(self, own)

    def __str__(self) -> str:
        return self.says()


@dataclass(frozen=True, slots=True)
class Within:
    """A label inside a sentence: its first letter small, where its language writes nouns small.

    An abbreviation stays as it is.

    >>> sex = Text.of({"en": "Sex", "de": "Geschlecht"}).within()
    >>> sex.says("en"), sex.says("de"), Text.of("NHS region").within().says()
    ('sex', 'Geschlecht', 'NHS region')
    """

    text: Text
    own: str = ""

    def says(self, language: str = "") -> str:
        """The label in a language, as it stands in the middle of a sentence."""
        label = self.text.says(language)
        codes = [code for code, _ in self.text.by_language]
        shown = language if language in codes else codes[0] if codes else ""
        first = label.split(" ", 1)[0]
        if keeps_capitals(shown or self.own) or first[1:].lower() != first[1:]:
            return label
        return label[:1].lower() + label[1:]

    def __str__(self) -> str:
        return self.says()
