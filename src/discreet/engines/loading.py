"""Loading: a source becomes one table of small integers, once.

`load` writes `data.duckdb` into a new folder: for variable i the finest level's index as column
`vi` and coarser level j as `vi_j`, record keys as `k_lo` and `k_hi`, the weight in whole units as
`w`. Every value is looked at: a code outside the declared ones, a missing value without a place, a
child with two parents, a unit with too many records or a weight that is not exact stops the load
with one sentence. What loading counted is for the custodian only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ..core.control import Control
from ..errors import Cancelled, DataError, StoreError
from .canonical import canonical
from .coding import MOST_RECORDS, Coding, LoadReport, Source, VariableCoding
from .keys import drawn_keys, id_key, own_key
from .running import Runner, on_disk, sentence
from .sources import RELATION, Opened, opened, scratch_connection
from .sql import Part, Sql, joined, plain, sql
from .weights import weight_sql

FILE = "data.duckdb"
"""The one file of a loaded version."""

LAYOUT = 1
"""The layout of that file; the engine opens no other."""


def load(
    source: Source,
    coding: Coding,
    target: Path,
    control: Control | None = None,
    *,
    memory: str = "2GB",
    threads: int | None = None,
) -> LoadReport:
    """Code a source into `target`, a new empty folder; on any failure nothing is left in it."""
    started = time.monotonic()
    control = control or Control()
    file = target / FILE
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise StoreError(f"{target.name} is not empty; a version is loaded into a new folder.")
        file.touch(mode=0o600)
        file.unlink()
    except OSError:
        raise StoreError(
            f"{target.name} cannot be written to. Give write access to the folder and load again."
        ) from None
    done = False
    try:
        report = _load(source, coding, target, control, memory, threads)
        file.chmod(0o600)
        on_disk(file)
        done = True
    except KeyboardInterrupt:
        raise Cancelled("Stopped while loading; nothing was lost.") from None
    except (OSError, duckdb.Error) as error:
        raise sentence(error, source.name, target.name) from None
    finally:
        for scratch in ("spill", "scratch"):
            shutil.rmtree(target / scratch, ignore_errors=True)
        if not done:
            for left in (file, target / f"{FILE}.wal"):
                left.unlink(missing_ok=True)
    return LoadReport(*report, seconds=time.monotonic() - started)


def _load(
    source: Source,
    coding: Coding,
    target: Path,
    control: Control,
    memory: str,
    threads: int | None,
) -> tuple[int, int, dict[str, int], dict[str, int]]:
    connection = scratch_connection(target / FILE, target, memory=memory, threads=threads)
    runner = Runner(connection, source.name, target, control)
    try:
        with opened(runner, source, target, coding.columns) as relation:
            records, other, missing = _code(runner, relation, coding)
        dropped = _bound(runner, relation, coding) if coding.id_column else 0
        _describe(runner, coding, records - dropped)
        runner.run("CHECKPOINT", doing="writing")
    except BaseException:
        # Closing would write out a version nobody wants; an error here must not hide the cause.
        with contextlib.suppress(duckdb.Error):
            connection.close()
        raise
    connection.close()
    return records - dropped, dropped, other, missing


def _code(
    runner: Runner, relation: Opened, coding: Coding
) -> tuple[int, dict[str, int], dict[str, int]]:
    """Write the table `records`; how many, and how many values went to other and to missing."""
    for column in coding.columns:
        relation.raw(column)
    records = _records(runner, relation)
    other: dict[str, int] = {}
    missing: dict[str, int] = {}
    select: list[Sql] = []
    joins: list[Sql] = []
    for i, variable in enumerate(coding.variables):
        share = 0.1 + 0.3 * i / len(coding.variables)
        others, missings = _dictionary(runner, relation, i, variable, share)
        if others:
            other[variable.name] = others
        if missings:
            missing[variable.name] = missings
        raw = relation.raw(variable.column)
        joins.append(
            sql("JOIN discreet_map{i} m{i} ON {raw} IS NOT DISTINCT FROM m{i}.raw", i=i, raw=raw)
        )
        select.append(sql("m{i}.i0 AS v{i}", i=i))
        levels = range(1, len(variable.levels) + 1)
        select.extend(sql("m{i}.i{j} AS v{i}_{j}", i=i, j=j) for j in levels)
    if coding.weight:
        select.append(sql("{of} AS w", of=weight_sql(runner, relation, coding.weight)))
    with contextlib.ExitStack() as stack:
        parameters: dict[str, Any] = {}
        unit: Sql | None = None
        if coding.id_column:
            unit = id_key(relation, coding.id_column)
            parameters["salt"] = coding.salt
        if coding.key_column:
            key = own_key(runner, relation, coding.key_column)
            if unit is not None:
                select.append(sql("{of} AS u", of=unit))
        else:
            key = unit or stack.enter_context(drawn_keys(runner.connection))
        select.append(sql("{of} AS k", of=key))
        runner.run(
            sql(
                "CREATE TABLE records AS SELECT * EXCLUDE (k), "
                "CAST(k & 4294967295 AS UINTEGER) AS k_lo, CAST(k >> 32 AS UINTEGER) AS k_hi FROM "
                "(SELECT {columns} FROM {source} s {joins})",
                columns=joined(", ", select),
                source=RELATION,
                joins=joined(" ", joins),
            ),
            parameters,
            doing="coding",
            share=(0.4, 0.95),
            records=records,
        )
    ((coded,),) = runner.run("SELECT count(*) FROM records", doing="counting records")
    if coded != records:
        raise DataError(
            f"{relation.source.name} changed while it was read. Load again when it is at rest."
        )
    return records, other, missing


def _records(runner: Runner, relation: Opened) -> int:
    """How many records the source has, where that is a number that can be loaded."""
    records = relation.records
    if records is None:
        ((records,),) = runner.run(
            sql("SELECT count(*) FROM {source}", source=RELATION), doing="counting records"
        )
    assert records is not None
    if not records:
        raise DataError(f"{relation.source.name} has no records, only column names.")
    if records > MOST_RECORDS:
        raise DataError(
            f"{relation.source.name} has {records:,} records, most is {MOST_RECORDS:,}. Load a part."
        )
    return records


def _dictionary(
    runner: Runner, relation: Opened, i: int, variable: VariableCoding, share: float
) -> tuple[int, int]:
    """Make the table raw value → indices of a variable; checks codes, missing values, parents."""
    source, doing = relation.source.name, f"looking at {variable.name}"
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_found AS "
            "SELECT {raw} AS raw, {text} AS code, count(*) AS n FROM {source} s GROUP BY ALL",
            raw=relation.raw(variable.column),
            text=relation.text(variable.column),
            source=RELATION,
        ),
        doing=doing,
        share=(share, share),
    )
    _register_codes(runner, variable)
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
    if missings and variable.missing_index is None:
        raise DataError(
            f"{missings:,} records of {source} have no value in column {variable.column!r}, and "
            f"{variable.name} has no category for missing. Declare one in discreet.yaml."
        )
    if others and variable.other_index is None:
        raise DataError(
            f"Column {variable.column!r} of {source} holds {kinds:,} "
            f"{'codes' if kinds > 1 else 'code'} that {variable.name} does not declare, for example "
            f"{_shown(example)}. Add them to the categories, or name a category for `other`."
        )
    columns = [sql("CAST(i AS {kind}) AS i0", kind=_integer(len(variable.codes)))]
    for j, level in enumerate(variable.levels, 1):
        maps = pa.table(
            {
                "i": pa.array(range(len(level.of_finest)), pa.int64()),
                "up": pa.array(level.of_finest, pa.int64()),
            }
        )
        runner.connection.register(f"discreet_level{j}", maps)
        kind = _integer(len(level.codes))
        columns.append(sql("CAST(l{j}.up AS {kind}) AS i{j}", j=j, kind=kind))
    levels = range(1, len(variable.levels) + 1)
    joins = joined(" ", (sql("JOIN discreet_level{j} l{j} USING (i)", j=j) for j in levels))
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_map{i} AS SELECT raw, {columns} FROM (SELECT "
            "raw, coalesce(known, CASE WHEN missing THEN {missing} ELSE {other} END) AS i "
            "FROM discreet_placed) {joins}",
            i=i,
            columns=joined(", ", columns),
            missing=_or_null(variable.missing_index),
            other=_or_null(variable.other_index),
            joins=joins,
        ),
        doing=doing,
    )
    for j, level in enumerate(variable.levels, 1):
        runner.connection.unregister(f"discreet_level{j}")
        if level.column is not None:
            _one_parent(runner, relation, i, j, variable)
    return int(others), int(missings)


def _register_codes(runner: Runner, variable: VariableCoding) -> None:
    """The declared codes and the texts read as missing, as temporary tables."""
    codes: dict[str, int] = {}
    for index, code in enumerate(variable.codes):
        if codes.setdefault(canonical(code), index) != index:
            raise DataError(
                f"{variable.name} has two codes that read as {canonical(code)!r}. Codes are "
                "compared without blanks at their ends and without `.0`; keep one of them."
            )
    codes.pop("", None)
    pairs = pa.table(
        {"code": pa.array(codes, pa.string()), "i": pa.array(codes.values(), pa.int64())}
    )
    gone = pa.table(
        {"code": pa.array({canonical(v) for v in variable.missing_values}, pa.string())}
    )
    for name, table in (("discreet_codes", pairs), ("discreet_missing", gone)):
        runner.connection.register("discreet_given", table)
        runner.connection.execute(
            sql(
                "CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM discreet_given",
                name=plain(name),
            )
        )
        runner.connection.unregister("discreet_given")


def _one_parent(runner: Runner, relation: Opened, i: int, j: int, variable: VariableCoding) -> None:
    """Every record's parent, where a level has a column of its own, is the declared one."""
    level = variable.levels[j - 1]
    assert level.column is not None
    child, parent = relation.raw(variable.column), relation.text(level.column)
    codes = {canonical(code): k for k, code in enumerate(level.codes)}
    given = pa.table(
        {"code": pa.array(codes, pa.string()), "k": pa.array(codes.values(), pa.int64())}
    )
    runner.connection.register("discreet_given", given)
    # A missing child has no parent to check; a value sent to other brings its own parent along.
    outside = [k for k in (variable.missing_index, variable.other_index) if k is not None]
    found = runner.run(
        sql(
            "SELECT i0 FROM (SELECT DISTINCT m.i0, "
            "g.k IS DISTINCT FROM m.i{j} AS wrong FROM (SELECT DISTINCT {child} AS raw, "
            "{parent} AS parent FROM {source} s) p "
            "JOIN discreet_map{i} m ON p.raw IS NOT DISTINCT FROM m.raw "
            "LEFT JOIN discreet_given g ON p.parent = g.code WHERE m.i0 NOT IN ({outside})) "
            "WHERE wrong ORDER BY i0",
            i=i,
            j=j,
            child=child,
            parent=parent,
            source=RELATION,
            outside=joined(", ", outside or [-1]),
        ),
        doing=f"checking {level.name}",
    )
    runner.connection.unregister("discreet_given")
    if found:
        code = variable.codes[found[0][0]]
        declared = level.codes[level.of_finest[found[0][0]]]
        raise DataError(
            f"{len(found):,} {'categories' if len(found) > 1 else 'category'} of {variable.name} "
            f"stand in column {level.column!r} under another {level.name} than declared, for "
            f"example {_shown(code)}, declared under {_shown(declared)}. Each has one parent: mend "
            "the data or the hierarchy."
        )


def _bound(runner: Runner, relation: Opened, coding: Coding) -> int:
    """Hold every unit to its number of records; how many were dropped.

    Which stay is decided by the unit's own records alone: those first in the order of the SHA-256
    of key and codes, so neither the order of the file nor anybody else's record matters. Units are
    told apart by their 64-bit keys.
    """
    doing, source = "checking units", relation.source.name
    key, none = sql("(CAST(k_hi AS UBIGINT) << 32) | k_lo"), sql("k_lo IS NULL")
    if coding.key_column:
        key, none = sql("u"), sql("u IS NULL")
    ((nobody,),) = runner.run(
        sql("SELECT count(*) FROM records WHERE {none}", none=none), doing=doing
    )
    if nobody and coding.bound == "stop":
        raise DataError(
            f"{nobody:,} records of {source} have no id in column {coding.id_column!r}. Give them "
            "one, or set `bound: drop` to leave them out."
        )
    if nobody:
        runner.run(sql("DELETE FROM records WHERE {none}", none=none), doing=doing)
    keys = sql("SELECT {key} AS k FROM records", key=key)
    repeated = _repeated(runner, keys, coding.records_per_unit)
    dropped = 0
    if len(repeated) and coding.bound == "stop":
        most = coding.records_per_unit
        raise DataError(
            f"{len(repeated):,} {'ids' if len(repeated) > 1 else 'id'} in column "
            f"{coding.id_column!r} of {source} have more than {most} "
            f"{'records' if most > 1 else 'record'}. Raise `records_per_unit`, or set `bound: drop` "
            "to keep that many of each."
        )
    if len(repeated):
        runner.connection.register("discreet_given", pa.table({"k": repeated}))
        names = [plain(str(row[0])) for row in runner.run("DESCRIBE records", doing=doing)]
        codes = (sql("CAST({name} AS VARCHAR)", name=name) for name in names)
        ((dropped,),) = runner.run(
            sql(
                "DELETE FROM records WHERE rowid IN (SELECT row FROM (SELECT r.rowid AS row, "
                "row_number() OVER (PARTITION BY {key} ORDER BY sha256({codes})) AS place "
                "FROM records r WHERE {key} IN (SELECT k FROM discreet_given)) "
                "WHERE place > {most})",
                key=key,
                codes=joined(" || ',' || ", codes),
                most=coding.records_per_unit,
            ),
            doing=doing,
        )
        runner.connection.unregister("discreet_given")
    if coding.key_column:
        runner.run("ALTER TABLE records DROP COLUMN u", doing=doing)
    return int(nobody) + int(dropped)


def _repeated(runner: Runner, query: Sql, most: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The keys that more than `most` records share."""
    runner.control.step(0.95, "checking units")
    keys = np.asarray(runner.connection.execute(query).fetchnumpy()["k"], dtype=np.uint64)
    keys.sort()
    return np.unique(keys[most:][keys[most:] == keys[: len(keys) - most]])


def _describe(runner: Runner, coding: Coding, records: int) -> None:
    """Write beside the records how they were coded, for the engine to hold against a description."""
    about = {
        "layout": LAYOUT,
        "records": records,
        "keys": "own" if coding.key_column else "id" if coding.id_column else "drawn",
        "weight_scale": coding.weight.scale if coding.weight else None,
        "variables": [
            {
                "name": variable.name,
                "finest": level_digest(variable.codes, tuple(range(len(variable.codes)))),
                "levels": [
                    {"name": level.name, "digest": level_digest(level.codes, level.of_finest)}
                    for level in variable.levels
                ],
            }
            for variable in coding.variables
        ],
    }
    text = json.dumps(about, ensure_ascii=False)
    runner.run("CREATE TABLE about AS SELECT $text AS about", {"text": text}, doing="writing")


def level_digest(codes: tuple[str, ...], of_finest: tuple[int, ...]) -> str:
    """A digest of a level's codes and map: two descriptions that agree on it code alike."""
    text = json.dumps([list(codes), list(of_finest)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _integer(size: int) -> Sql:
    return plain("UTINYINT" if size <= 1 << 8 else "USMALLINT" if size <= 1 << 16 else "UINTEGER")


def _or_null(index: int | None) -> Part:
    return plain("NULL") if index is None else index


def _shown(code: object) -> str:
    """A code as an example: quoted, and cut where it is too long to be one."""
    text = str(code)
    return repr(text if len(text) <= 40 else text[:40] + "…")
