"""Dictionaries: the table raw value → index of a variable, at every level, made before coding.

Each value of a column is looked at once: a code outside the declared ones, a missing value without
a place or a child with two parents stops the load with one sentence.
"""

from __future__ import annotations

import pyarrow as pa

from ...core.domain import Variable
from ...errors import DataError
from ..coding import Columns
from .canonical import canonical
from .sources import RELATION, Opened
from .sql import Part, Sql, joined, plain, sql
from .statements import Runner


def dictionary(
    runner: Runner, relation: Opened, i: int, variable: Variable, columns: Columns, share: float
) -> tuple[int, int]:
    """Make the table raw value → indices of a variable; checks codes, missing values, parents."""
    source, doing = relation.source.name, f"looking at {variable.name}"
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_found AS "
            "SELECT {raw} AS raw, {text} AS code, count(*) AS n FROM {source} s GROUP BY ALL",
            raw=relation.raw(columns.finest),
            text=relation.text(columns.finest),
            source=RELATION,
        ),
        doing=doing,
        share=(share, share),
    )
    _register_codes(runner, variable, columns.missing_values)
    # A declared code wins over the list of missing texts: "-1" may be both.
    runner.run(
        "CREATE OR REPLACE TEMP TABLE discreet_placed AS SELECT f.raw, f.code, f.n, c.i AS known, "
        "c.i IS NULL AND (f.code IS NULL OR f.code IN (SELECT code FROM discreet_missing)) "
        "AS missing FROM discreet_found f LEFT JOIN discreet_codes c ON f.code = c.code",
        doing=doing,
    )
    ((missings, others, kinds, example),) = runner.run(
        "SELECT coalesce(sum(n) FILTER (missing), 0)::BIGINT, "
        "coalesce(sum(n) FILTER (known IS NULL AND NOT missing), 0)::BIGINT, "
        "count(*) FILTER (known IS NULL AND NOT missing), "
        "min(code) FILTER (known IS NULL AND NOT missing) FROM discreet_placed",
        doing=doing,
    )
    if missings and columns.missing is None:
        raise DataError(
            f"{missings:,} records of {source} have no value in column {columns.finest!r}, and "
            f"{variable.name} has no category for missing. Declare one in discreet.yaml."
        )
    if others and columns.other is None:
        raise DataError(
            f"Column {columns.finest!r} of {source} holds {kinds:,} "
            f"{'codes' if kinds > 1 else 'code'} that {variable.name} does not declare, for example "
            f"{_shown(example)}. Add them to the categories, or name a category for `other`."
        )
    _make_map(runner, i, variable, columns, doing)
    for j, level in enumerate(variable.levels[1:], 1):
        if level.name in columns.levels:
            _one_parent(runner, relation, i, j, variable, columns)
    return int(others), int(missings)


def _make_map(runner: Runner, i: int, variable: Variable, columns: Columns, doing: str) -> None:
    """The table raw value → indices, from what was placed."""
    indices = [sql("CAST(i AS {kind}) AS i0", kind=_integer(len(variable.finest)))]
    for j, level in enumerate(variable.levels[1:], 1):
        places = pa.array(range(len(level.of_finest)), pa.int64())
        maps = pa.table({"i": places, "up": pa.array(level.of_finest, pa.int64())})
        runner.connection.register(f"discreet_level{j}", maps)
        indices.append(sql("CAST(l{j}.up AS {kind}) AS i{j}", j=j, kind=_integer(len(level))))
    levels = range(1, len(variable.levels))
    joins = joined(" ", (sql("JOIN discreet_level{j} l{j} USING (i)", j=j) for j in levels))
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_map{i} AS SELECT raw, {columns} FROM (SELECT "
            "raw, coalesce(known, CASE WHEN missing THEN {missing} ELSE {other} END) AS i "
            "FROM discreet_placed) {joins}",
            i=i,
            columns=joined(", ", indices),
            missing=_index(variable, columns.missing),
            other=_index(variable, columns.other),
            joins=joins,
        ),
        doing=doing,
    )
    for j in levels:
        runner.connection.unregister(f"discreet_level{j}")


def _register_codes(runner: Runner, variable: Variable, missing_values: tuple[str, ...]) -> None:
    """The declared codes and the texts read as missing, as temporary tables."""
    codes: dict[str, int] = {}
    for index, code in enumerate(variable.finest.codes):
        if codes.setdefault(canonical(code), index) != index:
            raise DataError(
                f"{variable.name} has two codes that read as {canonical(code)!r}. Codes are "
                "compared without blanks at their ends and without `.0`; keep one of them."
            )
    codes.pop("", None)
    gone = pa.table({"code": pa.array({canonical(v) for v in missing_values}, pa.string())})
    make = "CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM discreet_given"
    for name, table in (("discreet_codes", _indexed(codes)), ("discreet_missing", gone)):
        runner.connection.register("discreet_given", table)
        runner.connection.execute(sql(make, name=plain(name)))
        runner.connection.unregister("discreet_given")


def _indexed(codes: dict[str, int]) -> pa.Table:
    places = pa.array(codes.values(), pa.int64())
    return pa.table({"code": pa.array(codes, pa.string()), "i": places})


def _one_parent(
    runner: Runner, relation: Opened, i: int, j: int, variable: Variable, columns: Columns
) -> None:
    """Every record's parent, where a level has a column of its own, is the declared one."""
    level = variable.levels[j]
    column = columns.levels[level.name]
    codes = {canonical(code): k for k, code in enumerate(level.codes)}
    runner.connection.register("discreet_given", _indexed(codes))
    # A missing child has no parent to check; a value sent to other brings its own parent along.
    outside = [variable.finest.index[c] for c in (columns.missing, columns.other) if c is not None]
    wrong = runner.run(
        sql(
            "SELECT i0 FROM (SELECT DISTINCT m.i0, "
            "g.i IS DISTINCT FROM m.i{j} AS wrong FROM (SELECT DISTINCT {child} AS raw, "
            "{parent} AS parent FROM {source} s) p "
            "JOIN discreet_map{i} m ON p.raw IS NOT DISTINCT FROM m.raw "
            "LEFT JOIN discreet_given g ON p.parent = g.code WHERE m.i0 NOT IN ({outside})) "
            "WHERE wrong ORDER BY i0",
            i=i,
            j=j,
            child=relation.raw(columns.finest),
            parent=relation.text(column),
            source=RELATION,
            outside=joined(", ", outside or [-1]),
        ),
        doing=f"checking {level.name}",
    )
    runner.connection.unregister("discreet_given")
    if wrong:
        code = variable.finest.codes[wrong[0][0]]
        declared = level.codes[level.of_finest[wrong[0][0]]]
        raise DataError(
            f"{len(wrong):,} {'categories' if len(wrong) > 1 else 'category'} of {variable.name} "
            f"{'stand' if len(wrong) > 1 else 'stands'} in column {column!r} under another {level.name} than declared, for "
            f"example {_shown(code)}, declared under {_shown(declared)}. Each has one parent: mend "
            "the data or the hierarchy."
        )


def _integer(size: int) -> Sql:
    return plain("UTINYINT" if size <= 1 << 8 else "USMALLINT" if size <= 1 << 16 else "UINTEGER")


def _index(variable: Variable, code: str | None) -> Part:
    return plain("NULL") if code is None else variable.finest.index[code]


def _shown(code: object) -> str:
    """A code as an example: quoted, and cut where it is too long to be one."""
    text = str(code)
    return repr(text if len(text) <= 40 else text[:40] + "…")
