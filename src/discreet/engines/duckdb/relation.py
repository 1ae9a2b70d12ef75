"""A source as one relation with columns c0, c1, … in DuckDB, and the scratch table it may be copied to.

Names from the source appear in SQL only quoted (`sql.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import DataError, did_you_mean
from ..coding import Dialect, Source
from ..sql import Sql, joined, plain, sql
from .canonical import canonical_sql, single_valued, type_words
from .quoting import literal
from .reading import Wanted, id_key
from .statements import Connection, Runner

RELATION = plain("discreet_source")
"""The temporary view that shows the source."""

STAGED = plain("discreet_staged.main.staged")
"""The scratch table of what is copied."""


@dataclass(frozen=True)
class Opened:
    """A source as a relation: column i of the source is `ci` of the relation."""

    source: Source
    names: tuple[str, ...]
    types: tuple[str, ...]
    dialect: Dialect | None = None
    records: int | None = field(default=None, repr=False)
    wanted: Wanted = field(default_factory=Wanted)
    staged: bool = False
    """The relation is a scratch table: of the id, it holds the key only."""

    @property
    def table(self) -> Sql:
        """What a question about one column reads from: a view binds all of its columns each time."""
        return STAGED if self.staged else RELATION

    def position(self, column: str) -> int:
        """Where a column stands."""
        try:
            return self.names.index(column)
        except ValueError:
            raise DataError(
                f"{self.source.name} has no column {column!r}."
                f"{did_you_mean(column, self.names)} It has {some(self.names)}."
            ) from None

    def raw(self, column: str) -> Sql:
        """SQL for a column as it is; one that holds no single value is refused."""
        position = self.position(column)
        if not single_valued(self.types[position]):
            raise DataError(
                f"Column {column!r} of {self.source.name} holds "
                f"{type_words(self.types[position])} "
                "values; only texts, numbers, dates and yes/no can be coded. Leave it out."
            )
        return sql("s.c{i}", i=position)

    def text(self, column: str) -> Sql:
        """SQL for a column as canonical text."""
        return canonical_sql(self.raw(column), self.types[self.position(column)])

    @property
    def key(self) -> Sql:
        """SQL for the key of the id, over the source itself."""
        assert self.wanted.id is not None
        return id_key(self.text(self.wanted.id))

    @property
    def keyed(self) -> tuple[Sql, dict[str, object]]:
        """The relation with the key of the id as `u`, where there is one; and its parameters.

        The key is made where the source is read: nothing after that has the id.
        """
        if self.staged or self.wanted.id is None:
            return RELATION, {}
        of = sql("(SELECT *, {key} AS u FROM {source} s)", key=self.key, source=RELATION)
        return of, self.wanted.parameters

    def kept(self) -> list[int]:
        """The columns that are wanted as they are, by position."""
        return sorted({self.position(name) for name in self.wanted.columns(self.names)}) or [0]

    def counted(self, runner: Runner) -> int:
        """How many records there are, where there are any."""
        every = sql("SELECT count(*) FROM {source}", source=RELATION)
        records = self.records
        if records is None:
            ((records,),) = runner.run(every, doing="counting records")
        if not records:
            raise DataError(f"{self.source.name} has no records, only column names.")
        return int(records)


def checked_names(source: Source, names: list[str]) -> tuple[str, ...]:
    """Column names that can be told apart, also by a database that ignores case."""
    for position, name in enumerate(names):
        if not name.strip():
            raise DataError(
                f"Column {position + 1} of {source.name} has no name. Give every column a name."
            )
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None:
            same = before == name
            twice = f"two columns {name!r}" if same else f"columns {before!r} and {name!r}"
            raise DataError(f"{source.name} has {twice}. Give every column a name of its own.")
        seen[name.casefold()] = name
    return tuple(names)


def show(connection: Connection, what: Sql) -> None:
    """Make the view that shows the source."""
    connection.execute(
        sql("CREATE OR REPLACE TEMP VIEW {view} AS {what}", view=RELATION, what=what)
    )


def staged_columns(relation: Opened) -> Sql:
    """What is copied into the scratch table: the wanted columns, and the key in the id's place."""
    columns = [sql("c{i}", i=i) for i in relation.kept()]
    if relation.wanted.id is not None:
        columns.append(sql("{key} AS u", key=relation.key))
    return joined(", ", columns)


def stage(runner: Runner, scratch: Path) -> None:
    """A scratch database beside the target, so that nothing of the source stays in the version."""
    path = literal(str((scratch / "staged.duckdb").absolute()))
    runner.run(sql("ATTACH {path} AS discreet_staged", path=path), doing="reading")


def chosen_table(source: Source, known: list[str]) -> str:
    """The table of a database that is meant: the one named, or the only one."""
    if source.table is None and len(known) == 1:
        return known[0]
    if source.table in known:
        return source.table
    if not known:
        raise DataError(f"{source.path.name} has no tables.")
    if source.table is None:
        raise DataError(
            f"{source.path.name} has {len(known)} tables: {some(known)}. Name one, as in "
            f"{source.path.name}::{known[0]}."
        )
    raise DataError(
        f"{source.path.name} has no table {source.table!r}.{did_you_mean(source.table, known)} "
        f"It has {some(known)}."
    )


def some(names: Sequence[str]) -> str:
    """Names for a sentence, the first dozen of many."""
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
