"""Units: at most so many records each, held to once, at load, by a public rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ...errors import DataError
from ..coding import Coding
from ..sql import Sql, joined, plain, sql
from .relation import Opened
from .statements import Runner


def bound(runner: Runner, relation: Opened, coding: Coding) -> int:
    """Hold every unit to its number of records; how many were dropped.

    Which stay is decided by the unit's own records alone: those first in the order of the SHA-256
    of key and codes, so neither the order of the file nor anybody else's record matters. Records
    of a unit that are alike are numbered, and each has a hash of its own: what a unit has many of is
    kept as often as chance would. Units are told apart by their 64-bit keys.
    """
    doing, source = "checking units", relation.source.name
    most = coding.description.records_per_unit
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
    repeated = _repeated(runner, keys, most)
    dropped = 0
    if len(repeated) and coding.bound == "stop":
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
                "DELETE FROM records WHERE rowid IN (SELECT row FROM (SELECT row, row_number() OVER "
                "(PARTITION BY unit ORDER BY sha256(codes || CASE WHEN copy > 1 THEN ',' || copy "
                "ELSE '' END)) AS place FROM (SELECT r.rowid AS row, {key} AS unit, "
                "{codes} AS codes, row_number() OVER (PARTITION BY {all}) AS copy "
                "FROM records r WHERE {key} IN (SELECT k FROM discreet_given))) "
                "WHERE place > {most})",
                key=key,
                codes=joined(" || ',' || ", codes),
                all=joined(", ", names),
                most=most,
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
