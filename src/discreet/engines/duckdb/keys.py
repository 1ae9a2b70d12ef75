"""Record keys: 64 bits for every record, made once at load and stored as two 32-bit halves.

With an id, the key is the first 64 bits (big-endian) of SHA-256(salt ‖ id), the id as canonical
text in UTF-8: any database can compute it, and a reload gives the same keys. Without one, keys are
drawn from the operating system's random source and exist only in the loaded version. A
custodian's own classical keys are stored as they are in the low half, the high half being 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType
from duckdb.sqltypes import UBIGINT, UTINYINT

from ...errors import DataError
from ...file_names import DATA
from ..sql import Sql, plain, sql
from .canonical import without_exponent_sql
from .relation import RELATION, Opened
from .statements import Connection, Runner

_DRAW = plain("discreet_draw_keys")
FRACTION_SCALE = 10**8
"""Fraction keys have eight decimals."""


@contextmanager
def drawn_keys(connection: Connection) -> Iterator[Sql]:
    """SQL for a fresh random 64-bit key, from the operating system, while the context lasts."""

    def draw(rows: pa.Array) -> pa.Array:
        bits = pa.py_buffer(os.urandom(8 * len(rows)))
        return pa.Array.from_buffers(pa.uint64(), len(rows), [None, bits])

    connection.create_function(
        _DRAW, draw, [UTINYINT], UBIGINT, type=PythonUDFType.ARROW, side_effects=True
    )
    try:
        yield sql("{draw}(CAST(0 AS UTINYINT))", draw=_DRAW)
    finally:
        connection.remove_function(_DRAW)


def key_spread(folder: Path) -> tuple[int, int, int] | None:
    """Of a loaded version: records, different low halves of keys, and how far these are apart.

    None where the version has no records, or is damaged.
    """
    try:
        with duckdb.connect(str(folder / DATA), read_only=True) as connection:
            row = connection.execute(
                "SELECT count(*), count(DISTINCT k_lo), max(k_lo) - min(k_lo) FROM records"
            ).fetchone()
    except duckdb.Error:
        return None
    return row if row and row[0] else None


def own_key(runner: Runner, opened: Opened, column: str) -> Sql:
    """SQL for the custodian's own key, after checking that every one can be stored exactly."""
    text = without_exponent_sql(opened.text(column))
    whole = sql("regexp_full_match({text}, '[0-9]{1,10}')", text=text)
    fraction = sql("regexp_full_match({text}, '0?\\.[0-9]{1,8}0*')", text=text)
    as_whole = sql("TRY_CAST({text} AS UBIGINT)", text=text)
    scaled = sql(
        "CAST(CAST({text} AS DECIMAL(38, 8)) * {scale} AS UBIGINT)", text=text, scale=FRACTION_SCALE
    )
    ((records, wholes, fractions, most),) = runner.run(
        sql(
            "SELECT count(*), count(*) FILTER ({whole}), count(*) FILTER ({fraction}), "
            "max(CASE WHEN {whole} THEN {as_whole} END) FROM {source} s",
            whole=whole,
            fraction=fraction,
            as_whole=as_whole,
            source=RELATION,
        ),
        doing="checking record keys",
    )
    name = opened.source.name
    # Eight decimals that happen to be all zeros are written as the whole number 0.
    if fractions and wholes + fractions == records and not most:
        mixed = "CASE WHEN {fraction} THEN {scaled} ELSE 0 END"
        return sql(mixed, fraction=fraction, scaled=scaled)
    if wholes < records:
        raise DataError(
            f"Column {column!r} of {name} holds record keys that are neither whole numbers below "
            "2^32 nor fractions below 1 of at most eight decimals. Check the column."
        )
    if most is not None and most >= 1 << 32:
        raise DataError(
            f"Column {column!r} of {name} holds a record key of 2^32 or more; a classical key is "
            "below 2^32. Check the column."
        )
    return as_whole
