"""What a look at the source told, kept so that `check` and `declare` need not look again.

Reading a large source takes long, and what the custodian is told of it is little: how many values
a column has, how many records the most frequent one, which few codes are rare. That is kept in a
file of its owner's alone, beside discreet.yaml, for as long as the source is the same file; no id
is in it, and no value that `discreet check` would not print. Nothing public depends on it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..durable import replace_text
from ..errors import InputError, StoreError
from ..file_names import SOURCE_FACTS
from .unit_columns import may_name_the_unit

if TYPE_CHECKING:
    from ..core.control import Control
    from ..engines.coding import ColumnProfile, Profile, Source
    from ..engines.duckdb.reading import Choice
    from .description_file import DescribedData

RARE = 10
"""A category with fewer records than this is rare."""

SHOWN = 5
"""So many rare codes are named."""

MOST_VALUES = 5_000
"""Values of a column that are looked at one by one."""

FORM = "discreet source facts 1"


@dataclass(frozen=True)
class ColumnFacts:
    """What the custodian is told of one column; the numbers are true counts."""

    name: str
    records: int = field(repr=False)
    distinct: int = field(repr=False)
    most: int = field(repr=False)
    """The largest number of records that one value has; kept on disk where values may be units."""
    complete: bool
    """Every value was looked at."""
    rare: int = field(default=0, repr=False)
    """Values with few records."""
    rare_codes: tuple[str, ...] = field(default=(), repr=False)
    may_name_unit: bool = False

    @classmethod
    def of(cls, column: ColumnProfile) -> ColumnFacts:
        """The facts of a profiled column."""
        most = column.values[0][1] if column.values else 1
        facts = cls(column.name, column.records, column.distinct, most, column.complete)
        facts = replace(facts, may_name_unit=may_name_the_unit(column))
        if facts.nearly_an_id or facts.may_name_unit:
            return facts
        rare = sorted((n, code) for code, n in column.values if n < RARE)
        codes = tuple(code for _, code in rare[:SHOWN])
        return replace(facts, rare=len(rare), rare_codes=codes)

    @property
    def nearly_an_id(self) -> bool:
        """Whether a list of its values tells who is in the data."""
        return not self.complete or self.distinct > max(20, self.records // 5)


@dataclass(frozen=True)
class SourceFacts:
    """What the custodian is told of a source."""

    columns: tuple[ColumnFacts, ...]
    whole: bool = True
    """Every column was looked at."""

    @classmethod
    def of(cls, profile: Profile, *, whole: bool = True) -> SourceFacts:
        """The facts of a profile."""
        return cls(tuple(ColumnFacts.of(column) for column in profile.columns), whole)

    @property
    def names(self) -> list[str]:
        """The columns that were looked at."""
        return [column.name for column in self.columns]

    def only(self, names: Collection[str]) -> SourceFacts:
        """The facts of some columns."""
        return replace(self, columns=tuple(c for c in self.columns if c.name in names))

    def column(self, name: str) -> ColumnFacts:
        """The facts of one column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"The source has no column {name!r}; it has {', '.join(self.names)}.")


def look(source: Source, control: Control | None, only: Choice | None = None) -> SourceFacts:
    """Read the source, all of its columns or those chosen."""
    from ..engines.duckdb.profiling import profile

    seen = profile(source, control, most_values=MOST_VALUES, only=only, parents=False)
    return SourceFacts.of(seen, whole=only is None)


def keep(described: DescribedData, facts: SourceFacts) -> None:
    """Keep what was seen of a data set's source, where that can be written."""
    body = {"form": FORM, "source": _identity(described.source()), "whole": facts.whole}
    columns = [asdict(column) for column in facts.columns]
    for column in columns:
        if column["name"] == described.coding.id_column:
            column["rare_codes"] = ()
        elif not column["may_name_unit"]:
            column["most"] = 0  # how many people a category has is in the data alone
    with contextlib.suppress(StoreError, OSError):
        replace_text(described.folder / SOURCE_FACTS, json.dumps({**body, "columns": columns}))


def kept(described: DescribedData) -> SourceFacts | None:
    """What was seen of this very source before; None where it was not, or has changed since."""
    try:
        text = (described.folder / SOURCE_FACTS).read_text(encoding="utf-8")
        body: dict[str, Any] = json.loads(text)
        if body["form"] != FORM or body["source"] != _identity(described.source()):
            return None
        columns = [{**one, "rare_codes": tuple(one["rare_codes"])} for one in body["columns"]]
        facts = SourceFacts(tuple(ColumnFacts(**one) for one in columns), body["whole"])
        named = [c for c in facts.columns if c.name == described.coding.id_column]
        return None if any(not column.most for column in named) else facts
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _identity(source: Source) -> Mapping[str, Any]:
    """Which file this is, and in which state; a database may keep changes beside it."""
    if source.address is not None:  # its state is known only by reading all of it
        return {"address": source.address.url, "table": source.table}
    states = []
    for path in (source.path, source.path.with_name(f"{source.path.name}-wal")):
        with contextlib.suppress(FileNotFoundError):
            state = path.stat()
            states.append([state.st_size, state.st_mtime_ns])
    where = str(source.path.resolve())
    return {"path": where, "table": source.table, "options": dict(source.options), "state": states}
