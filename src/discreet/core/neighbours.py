"""Which two data sets a guarantee makes alike."""

from __future__ import annotations

from enum import StrEnum

from ..errors import LawError


class Neighbours(StrEnum):
    """What makes two data sets neighbours; the value is what charges store.

    >>> Neighbours.read("replace one").moved
    2
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @property
    def words(self) -> str:
        """As guarantees and audits say it."""
        return "add or remove one" if self is Neighbours.ADD_REMOVE else "replace one"

    @property
    def moved(self) -> int:
        """How many cells of a table differ: a record that is replaced leaves one and enters one."""
        return 1 if self is Neighbours.ADD_REMOVE else 2

    @classmethod
    def read(cls, text: str) -> Neighbours:
        """The neighbours that words or a stored value mean, or `LawError`."""
        for one in cls:
            if text in (one.value, one.words):
                return one
        raise LawError(
            f"neighbours must be {' or '.join(repr(one.words) for one in cls)}, got {text!r}."
        )
