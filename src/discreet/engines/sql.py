"""SQL put together in one place: templates of ours, and parts that were made for them.

A template is a text in the code with named places. Only whole numbers and `Sql` go into a place,
and `Sql` is made here from a template or a plain name, and by each engine's dialect, which quotes. A
text that came from a file, a database or a request is none of these, so it cannot reach a statement
by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from ..errors import Bug

_PLACE = re.compile(r"\{([a-z_][a-z_0-9]*)\}")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*")


class Sql(str):
    """A piece of SQL that was made here, or quoted by a dialect."""

    __slots__ = ()


Part: TypeAlias = "Sql | int"


def sql(template: str, **parts: Part) -> Sql:
    """A template with its places filled; every place needs a part, every part a place.

    >>> print(sql("SELECT count(*) FROM {table} WHERE v0 < {most}", table=plain("records"), most=7))
    SELECT count(*) FROM records WHERE v0 < 7
    >>> sql("SELECT count(*) FROM {table}", table="records; DROP TABLE records")
    Traceback (most recent call last):
    ...
    discreet.errors.Bug: A statement takes SQL of ours, got str for table. This is a bug in discreet, please report it.
    """
    pieces, places = _pieces(template)
    if places != parts.keys():
        raise Bug(f"A statement has the places {sorted(places)}, got {sorted(parts)}.")
    texts = {name: _text(name, part) for name, part in parts.items()}
    filled = [texts[piece] if i % 2 else piece for i, piece in enumerate(pieces)]
    return Sql("".join(filled))


@lru_cache(maxsize=1000)
def _pieces(template: str) -> tuple[list[str], frozenset[str]]:
    """What stands between the places of a template and their names in turn, and the names."""
    pieces = _PLACE.split(template)
    return pieces, frozenset(pieces[1::2])


def joined(between: str, parts: Iterable[Part]) -> Sql:
    """Parts one after another.

    >>> print(joined(", ", [plain("a"), 1, plain("b")]))
    a, 1, b
    """
    return Sql(between.join(_text("a list", part) for part in parts))


def plain(name: str) -> Sql:
    """A name of ours that needs no quotes: letters, digits, `_`, parts joined by a point.

    >>> print(plain("discreet_staged.main.staged"))
    discreet_staged.main.staged
    """
    if not _PLAIN.fullmatch(name):
        raise Bug(f"{name[:40]!r} is no plain SQL name.")
    return Sql(name)


def _text(name: str, part: object) -> str:
    if isinstance(part, Sql):
        return part
    if isinstance(part, int) and not isinstance(part, bool):
        return str(part)
    raise Bug(f"A statement takes SQL of ours, got {type(part).__name__} for {name}.")
