"""What differs between engines that are asked in SQL: quoting, the text of a value, a unit's key.

Only four things are asked of an engine for each record: the text of a column, the first 64 bits of
SHA-256(salt ‖ id) as two halves, a weight in whole units, and which records of a unit stay. Which
category a text is, is decided in Python (`code_maps.py`) and cannot differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from .sql import Part, Sql

BLANKS = " \t\n\r\x0b\x0c\xa0"
"""What is trimmed from the ends of an id, as in `code_maps.canonical`."""


class Dialect(ABC):
    """How one engine writes it."""

    name: str
    text_type: Sql
    """The name of the type of texts, for a cast."""

    @abstractmethod
    def identifier(self, name: str) -> Sql:
        """A name from a source, quoted."""

    @abstractmethod
    def literal(self, text: str) -> Sql:
        """A text, quoted; whatever it holds, it is that text and nothing else."""

    @abstractmethod
    def text(self, column: Sql) -> Sql:
        """A value as the engine's own text, which is compared byte by byte."""

    @abstractmethod
    def trimmed(self, column: Sql) -> Sql:
        """The text without blanks at its ends."""

    @abstractmethod
    def canonical_id(self, column: Sql, whole: bool) -> Sql:
        """An id as canonical text, NULL where there is none."""

    @abstractmethod
    def key_halves(self, text: Sql, salt: Sql) -> tuple[Sql, Sql]:
        """Low and high 32 bits of the first 64 of SHA-256(salt ‖ text), as 64-bit integers."""

    @abstractmethod
    def text_halves(self, text: Sql) -> tuple[Sql, Sql]:
        """The same of SHA-256 of an ASCII text alone."""

    @abstractmethod
    def stored_half(self, half: Sql) -> Sql:
        """Half of a key as it is kept in a coded table."""

    @abstractmethod
    def half_sum(self, column: Sql) -> Sql:
        """The sum of halves that are kept so, as a 64-bit integer."""

    @abstractmethod
    def kept_half(self, column: Sql) -> Sql:
        """A half that is kept so, as it was."""

    @abstractmethod
    def hash_order(self, text: Sql) -> Sql:
        """What sorts as SHA-256 of an ASCII text does, byte by byte."""

    @abstractmethod
    def matches(self, text: Sql, pattern: str) -> Sql:
        """Whether the whole of a text is of a pattern made of classes, groups and repeats."""

    @abstractmethod
    def decimal(self, text: Sql) -> Sql:
        """A text of at most twelve digits before and after the point as an exact number."""

    @abstractmethod
    def values(self, name: Sql, columns: Sequence[Sql], rows: Iterable[Sequence[Part]]) -> Sql:
        """An inline table with a name and columns."""
