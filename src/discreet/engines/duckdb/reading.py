"""What of a source is read: its columns as they are, and the id only as the key made from it.

A text file is parsed into a scratch table first. The statement that parses it turns every id into
its key, so that no id is ever written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..sql import Sql, sql

Choice: TypeAlias = Callable[[Sequence[str]], Sequence[str]]


def every(names: Sequence[str]) -> Sequence[str]:
    """All columns."""
    return names


@dataclass(frozen=True)
class Wanted:
    """The columns wanted, chosen from those there are, and the one that names the unit."""

    columns: Choice = every
    id: str | None = None
    salt: bytes = field(default=b"", repr=False)

    @property
    def parameters(self) -> dict[str, object]:
        """What a statement that makes keys is given."""
        return {} if self.id is None else {"salt": self.salt}


def id_key(text: Sql) -> Sql:
    """SQL for the 64-bit key of an id given as canonical text, NULL where there is none.

    The salt is the parameter `$salt`, so that it stands in no statement, log or plan.
    """
    return sql(
        "CAST('0x' || left(sha256(CAST($salt AS BLOB) || encode({text})), 16) AS UBIGINT)",
        text=text,
    )
