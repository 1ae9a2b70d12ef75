"""How DuckDB wants names and texts quoted: it reads no backslashes."""

from __future__ import annotations

from ..sql import Sql


def identifier(name: str) -> Sql:
    """A name from a source, quoted.

    >>> print(identifier('a"b'))
    "a""b"
    """
    return Sql('"' + name.replace('"', '""') + '"')


def literal(text: str) -> Sql:
    """A text, quoted.

    >>> print(literal("it's"))
    'it\'\'s'
    """
    return Sql("'" + text.replace("'", "''") + "'")
