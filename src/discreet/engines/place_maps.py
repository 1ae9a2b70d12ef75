"""The texts of a server's columns and the places they have: decided here, kept for counting.

The server is asked for the distinct texts of a column with their numbers of records, and
`code_maps.py` decides. Floating-point numbers, which servers write differently, are written here as
DuckDB does, so that a category is the same wherever the records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..core.domain import Variable
from ..errors import DataError
from .code_maps import CodeMap, check_parents
from .coding import Coding
from .database import RemoteTable, Session
from .dialect import Dialect
from .sql import plain, sql

MOST_TEXTS = 100_000
"""Distinct texts of a variable that are kept in a statement; with more, records are streamed in."""

Text = str | None


@dataclass(frozen=True)
class PlaceMap:
    """For each text of a column, as the server writes it, the place of its finest category."""

    column: str
    places: dict[Text, int] = field(repr=False)


@dataclass(frozen=True)
class PlaceMaps:
    """The maps of all variables, and how many values went to other and to missing."""

    of: dict[str, PlaceMap]
    other: dict[str, int] = field(repr=False)
    missing: dict[str, int] = field(repr=False)


def column_kind(table: RemoteTable, column: str) -> str:
    """What kind of column this is; one that is not there or has no exact text is refused."""
    kind = table.kinds.get(column)
    if kind is None:
        raise DataError(f"{table.known} has no column {column!r}. It has {', '.join(table.kinds)}.")
    if kind.startswith("BLOB"):
        raise DataError(
            f"Column {column!r} of {table.known} holds {kind.removeprefix('BLOB ')} values; only "
            "texts, numbers, dates and yes/no can be coded. Leave it out."
        )
    return kind


def place_maps(session: Session, dialect: Dialect, table: RemoteTable, coding: Coding) -> PlaceMaps:
    """Decide every text of every variable."""
    maps: dict[str, PlaceMap] = {}
    other: dict[str, int] = {}
    missing: dict[str, int] = {}
    for variable in coding.variables:
        columns = coding.columns[variable.name]
        kind = column_kind(table, columns.finest)
        text = dialect.text(dialect.identifier(columns.finest))
        found = session.fetch(
            sql(
                "SELECT raw, n FROM (SELECT {text} AS raw, count(*) AS n FROM {table} "
                "GROUP BY {text}) g LIMIT {most}",
                text=text,
                table=table.relation,
                most=MOST_TEXTS + 1,
            )
        )
        if len(found) > MOST_TEXTS:
            raise DataError(
                f"Column {columns.finest!r} of {table.known} has more than {MOST_TEXTS:,} values, the "
                "most that are counted in place. Set `counting: loaded`."
            )
        raws: list[Text] = found["raw"].to_pylist() if len(found) else []
        counts = [int(n) for n in found["n"].to_pylist()] if len(found) else []
        code_map = CodeMap(variable, columns, table.known)
        places = code_map.places(written(raws, kind), counts)
        code_map.check()
        maps[variable.name] = PlaceMap(
            columns.finest, dict(zip(raws, (int(place) for place in places), strict=True))
        )
        other[variable.name], missing[variable.name] = code_map.other, code_map.missing
        _check_parents(session, dialect, table, variable, coding, maps[variable.name])
    return PlaceMaps(maps, _above_zero(other), _above_zero(missing))


def _above_zero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def written(raws: Sequence[Text], kind: str) -> list[Text]:
    """Texts as DuckDB writes the same values; not-a-number is no value, and a zero has no sign."""
    if kind not in ("FLOAT", "DOUBLE"):
        return list(raws)
    import duckdb

    query = sql(
        "SELECT list_transform($texts, lambda t: "
        "nullif(CAST(CAST(CAST(t AS {kind}) + CAST(0 AS {kind}) AS {kind}) AS VARCHAR), 'nan'))",
        kind=plain(kind),
    )
    with duckdb.connect() as connection:
        row = connection.execute(query, {"texts": list(raws)}).fetchone()
    return [] if row is None else list(row[0])


def _check_parents(
    session: Session,
    dialect: Dialect,
    table: RemoteTable,
    variable: Variable,
    coding: Coding,
    places: PlaceMap,
) -> None:
    columns = coding.columns[variable.name]
    for level in variable.levels[1:]:
        own = columns.levels.get(level.name)
        if own is None:
            continue
        kind = column_kind(table, own)
        found = session.fetch(
            sql(
                "SELECT DISTINCT {child} AS child, {parent} AS parent FROM {table}",
                child=dialect.text(dialect.identifier(columns.finest)),
                parent=dialect.text(dialect.identifier(own)),
                table=table.relation,
            )
        )
        children, parents = (found[name].to_pylist() for name in ("child", "parent"))
        pairs = zip(
            (places.places[child] for child in children), written(parents, kind), strict=True
        )
        check_parents(variable, level, columns, pairs)
