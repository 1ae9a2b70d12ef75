"""Dictionaries: the table raw value → index of a variable, at every level, made before coding.

The distinct texts of a column go to `engines.code_maps`, which decides; what it decided comes back
as a table to join.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ...core.domain import Indices, Level, Variable
from ..code_maps import CodeMap, check_parents
from ..coding import Columns
from ..sql import Sql, joined, sql
from .canonical import one_zero_sql, text_sql
from .relation import Opened
from .statements import Runner

_BATCH = 100_000


def dictionary(
    runner: Runner, relation: Opened, i: int, variable: Variable, columns: Columns, share: float
) -> tuple[int, int]:
    """Make the table raw value → indices of a variable; checks codes, missing values, parents."""
    doing = f"looking at {variable.name}"
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_found AS "
            "SELECT raw, {text} AS code, n FROM "
            "(SELECT {raw} AS raw, count(*) AS n FROM {source} s GROUP BY ALL)",
            raw=relation.raw(columns.finest),
            text=_written(relation, columns.finest, sql("raw")),
            source=relation.table,
        ),
        doing=doing,
        share=(share, share),
    )
    found = CodeMap(variable, columns, relation.source.name)
    parts = [np.zeros(0, dtype=np.int64)]
    while rows := _some(runner, sum(map(len, parts)), doing):
        texts, records = zip(*rows, strict=True)
        parts.append(found.places(texts, records))
    found.check()
    _make_map(runner, i, variable, np.concatenate(parts), doing)
    for level in variable.levels[1:]:
        if level.name in columns.levels:
            pairs = _beside(runner, relation, i, level, columns)
            check_parents(variable, level, columns, pairs)
    return found.other, found.missing


def _written(relation: Opened, column: str, value: Sql) -> Sql:
    """SQL for a value of a column as text, as it is written."""
    kind = relation.types[relation.position(column)]
    return text_sql(one_zero_sql(value, kind), kind)


def _some(runner: Runner, start: int, doing: str) -> list[tuple[str | None, int]]:
    """The next distinct texts with their numbers of records."""
    return runner.run(
        sql(
            "SELECT code, n FROM discreet_found WHERE rowid >= {start} AND rowid < {end} ORDER BY rowid",
            start=start,
            end=start + _BATCH,
        ),
        doing=doing,
    )


def _make_map(runner: Runner, i: int, variable: Variable, places: Indices, doing: str) -> None:
    """The table raw value → indices, from what was decided."""
    made = {"row": pa.array(np.arange(len(places)))}
    for j, level in enumerate(variable.levels):
        kind = (
            np.uint8 if len(level) <= 1 << 8 else np.uint16 if len(level) <= 1 << 16 else np.uint32
        )
        made[f"i{j}"] = pa.array(level.places[places].astype(kind))
    runner.connection.register("discreet_given", pa.table(made))
    indices = (sql("g.i{j}", j=j) for j in range(len(variable.levels)))
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_map{i} AS SELECT f.raw, {columns} "
            "FROM discreet_found f JOIN discreet_given g ON f.rowid = g.row",
            i=i,
            columns=joined(", ", indices),
        ),
        doing=doing,
    )
    runner.connection.unregister("discreet_given")


def _beside(
    runner: Runner, relation: Opened, i: int, level: Level, columns: Columns
) -> Iterator[tuple[int, str | None]]:
    """Every finest place with what a level's own column says beside it, once each."""
    column = columns.levels[level.name]
    rows = runner.run(
        sql(
            "SELECT DISTINCT m.i0, p.parent FROM (SELECT DISTINCT {child} AS raw, {parent} AS parent "
            "FROM {source} s) p JOIN discreet_map{i} m ON p.raw IS NOT DISTINCT FROM m.raw",
            i=i,
            child=relation.raw(columns.finest),
            parent=_written(relation, column, relation.raw(column)),
            source=relation.table,
        ),
        doing=f"checking {level.name}",
    )
    for place, parent in rows:
        yield int(place), parent
