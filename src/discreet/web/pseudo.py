"""A language that nobody speaks, from right to left: shows what was not translated or not mirrored.

Every letter of a page's own sentences becomes a Hebrew one; names, codes and numbers stay.
"""

from __future__ import annotations

import re
from typing import Any

from ..languages import Sentence, Voice

LANGUAGE = "qps-rtl"
_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "אבגדהוזחטיךכלםמןנסעףפץצקרש")


class Mirrored(Voice):
    """Says sentences in the language that nobody speaks."""

    def __init__(self) -> None:
        super().__init__("en")
        self.page_language = LANGUAGE

    def __call__(self, sentence: str, /, **values: Any) -> str:
        """A sentence with its letters replaced, its values as they are."""
        return str(Sentence(mirrored(sentence), "", values))

    def counted(self, one: str, many: str, n: int, /, **values: Any) -> str:
        """A sentence that counts, with its letters replaced."""
        return str(Sentence(mirrored(one), mirrored(many), {"n": n, **values}))

    def of(self, words: object) -> str:
        """A sentence made elsewhere, with its letters replaced; a name as it is."""
        if isinstance(words, Sentence):
            inner = {
                name: self.of(v) if isinstance(v, Sentence) else v
                for name, v in words.values.items()
            }
            return str(Sentence(mirrored(words.pattern), mirrored(words.plural), inner))
        return super().of(words)


def mirrored(pattern: str) -> str:
    """A pattern with its letters replaced and its {places} kept.

    >>> mirrored("{n} cells")[:4]
    '{n} '
    """
    parts = re.split(r"(\{\w+\})", pattern)
    return "".join(
        part if part.startswith("{") else part.lower().translate(_LETTERS) for part in parts
    )
