"""The DuckDB engine: one GROUP BY on integer codes for each interior, files and settings locked.

The file is opened read-only, with file access and configuration locked; that the lock holds is
tried at every opening, and an engine whose lock does not hold refuses to open. Failures become
sentences without SQL or values.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ...core.control import Control
from ...core.description import Description
from ...core.domain import AxisRef, Condition, Count, Domain
from ...core.table import TrueTable
from ...core.true_values import Cells, Counts, seal
from ...errors import EngineError, InputError, did_you_mean
from ...file_names import DATA
from ..allocator import keep_freed_memory
from ..coded_file import column, places
from ..projection import Projections, domain_of
from ..sql import Sql, joined, plain, sql
from .quoting import literal
from .statements import Connection, in_background

_INT32_CELLS = 1 << 31
_ARRAY_BITS = 20
"""Domains up to 2^20 cells may be counted in an array of their own instead of a hash table."""
_RECORDS_A_PLACE = 4
"""An array pays where this many records fall to each of its places: each thread fills one."""


@dataclass(frozen=True)
class Columns:
    """The column of every variable at every level, by names; and what else the file has."""

    of: dict[tuple[str, str], Sql]
    weights: bool
    records: int = field(repr=False)


class DuckDBEngine:
    """Counts one loaded version, read-only. Safe to share between threads."""

    name = "duckdb"

    def __init__(self, connection: Connection, description: Description, columns: Columns) -> None:
        self._connection = connection
        self._description = description
        self._columns = columns

    def __repr__(self) -> str:
        return f"<DuckDB engine of {self._description.name}>"

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        """A true table for each count, in order; only non-empty cells are held.

        A count whose axes are all in an earlier or later one, on the same records, is summed from
        that one instead of being read again.
        """
        if weights and not self._columns.weights:
            raise InputError(
                f"{self._description.name} has no weights. Ask for counts, or declare a weight."
            )
        domains = [domain_of(count, self._description) for count in counts]
        projection = Projections(counts, domains)
        cells: dict[int, Cells] = {}
        for done, i in enumerate(projection.order):
            if control is not None:
                control.step(done / len(counts), "counting")
            source = projection.source[i]
            cells[i] = (
                self._read(counts[i], domains[i], keys, weights, control)
                if source is None
                else projection.project(cells[source], i)
            )
        return [seal(domain, cells[i]) for i, domain in enumerate(domains)]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read(
        self, count: Count, domain: Domain, keys: bool, weights: bool, control: Control | None
    ) -> Cells:
        statement = self._statement(count, domain, keys, weights)
        try:
            cursor = self._connection.cursor()
        except duckdb.Error:
            raise EngineError("The data set is closed. Open it again.") from None

        def work() -> dict[str, Any]:
            return cursor.execute(statement).fetchnumpy()

        try:
            columns = in_background(cursor, work, control, "counting")
        except duckdb.OutOfMemoryException:
            raise EngineError(
                "Counting needs more memory than the engine may use. Ask for fewer categories, or "
                "give the engine more memory."
            ) from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            raise EngineError(
                "A sum is too large for 64 bits and was not made. Lower the weight's scale."
            ) from None
        except (duckdb.Error, RuntimeError) as error:
            raise EngineError(f"Counting failed ({type(error).__name__}).") from None
        finally:
            cursor.close()
        return Cells(*(integers(columns.get(name)) for name in ("a", "n", "lo", "hi", "w")))  # type: ignore[arg-type]

    def _statement(self, count: Count, domain: Domain, keys: bool, weights: bool) -> Sql:
        kind = plain("INTEGER" if domain.size < _INT32_CELLS else "BIGINT")
        parts = [
            sql("CAST({v} AS {kind}) * {stride}", v=self._column(ref), kind=kind, stride=stride)
            if stride != 1
            else sql("CAST({v} AS {kind})", v=self._column(ref), kind=kind)
            for ref, stride in zip(count.axes, domain.strides, strict=True)
        ]
        sums = sql("count(*) AS n")
        if keys:
            halves = "CAST(sum(k_lo) AS BIGINT) AS lo, CAST(sum(k_hi) AS BIGINT) AS hi"
            sums = sql("{sums}, {halves}", sums=sums, halves=sql(halves))
        if weights:
            sums = sql("{sums}, CAST(sum(w) AS BIGINT) AS w", sums=sums)
        where = sql("")
        if count.where:
            conditions = joined(" AND ", (self._filter(condition) for condition in count.where))
            where = sql("WHERE {conditions} ", conditions=conditions)
        address = joined(" + ", parts or [0])
        if not self._in_array(count, domain):
            # Of this sum DuckDB does not know the range, and takes a hash table.
            address = sql("xor({address}, 0)", address=address)
        return sql(
            "SELECT {address} AS a, {sums} FROM records {where}{end}",
            address=address,
            sums=sums,
            where=where,
            end=sql("GROUP BY a" if parts else "HAVING count(*) > 0"),
        )

    def _in_array(self, count: Count, domain: Domain) -> bool:
        """Whether records seem enough for an array, whose places are a power of two.

        A filter is taken to pass its codes' share of the categories. Only speed rests on this.
        """
        records = self._columns.records
        for condition in count.where:
            level = self._description.variable(condition.variable).level(condition.level)
            records = records * len(condition.codes) // len(level)
        places = 1 << (domain.size - 1).bit_length()
        return records >= _RECORDS_A_PLACE * places

    def _column(self, ref: AxisRef | Condition) -> Sql:
        return self._columns.of[ref.variable, ref.level]

    def _filter(self, condition: Condition) -> Sql:
        level = self._description.variable(condition.variable).level(condition.level)
        try:
            indices = sorted({level.index[code] for code in condition.codes})
        except KeyError as error:
            code = str(error.args[0])
            raise InputError(
                f"{condition.variable} has no category {code!r}.{did_you_mean(code, level.codes)}"
            ) from None
        if not indices:
            return sql("false")
        places = joined(", ", indices)
        return sql("{column} IN ({places})", column=self._column(condition), places=places)


def open_engine(
    folder: Path, description: Description, *, threads: int | None = None
) -> DuckDBEngine:
    """The engine of a loaded version; the description must be the one it was loaded under."""
    with _in_words(folder):
        connection = locked_connection(_file(folder), threads=threads)
        try:
            return DuckDBEngine(connection, description, _columns(connection, folder, description))
        except BaseException:
            connection.close()
            raise


def columns_of(folder: Path, description: Description) -> Columns:
    """The columns of a version that lies in shards, by its first."""
    with (
        _in_words(folder),
        contextlib.closing(locked_connection(_file(folder), threads=1)) as connection,
    ):
        return _columns(connection, folder, description, in_shards=True)


def _file(folder: Path) -> str:
    if not (folder / DATA).is_file():
        raise EngineError(f"{folder.name} holds no loaded data. Load the data set first.")
    return str(folder / DATA)


@contextlib.contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.IOException:
        raise EngineError(
            f"{folder.name} cannot be opened: its file is damaged or held by another program."
        ) from None
    except duckdb.Error:
        raise EngineError(f"{folder.name} is not a version discreet loaded. Load again.") from None


def locked_connection(path: str, *, threads: int | None = None, memory: str = "1GB") -> Connection:
    """A connection that reads one file and nothing else; that it is locked is tried."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "perfect_ht_threshold": _ARRAY_BITS,
        "preserve_insertion_order": "false",
        "memory_limit": memory,
        **({"threads": threads} if threads else {}),
        "lock_configuration": "true",
    }
    keep_freed_memory()
    connection = duckdb.connect(path, read_only=True, config=config)
    try:
        _prove_locked(connection)
    except BaseException:
        connection.close()
        raise
    return connection


ESCAPES = (
    "SELECT count(*) FROM read_text({here})",
    "SELECT count(*) FROM read_blob({here})",
    "SELECT count(*) FROM read_csv({here}, auto_detect=false, columns={{'a': 'VARCHAR'}})",
    "SELECT count(*) FROM glob({here})",
    "ATTACH {here} AS escape (READ_ONLY)",
    "COPY (SELECT 1) TO {gone}",
    "EXPORT DATABASE {gone}",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET threads = 1",
    "CREATE TABLE escape (a INTEGER)",
)
"""What must fail on an engine's connection; tried at every opening."""


def _prove_locked(connection: Connection) -> None:
    """Try every way out; refuse to open where one is not barred by DuckDB's own lock."""
    path = str(Path(__file__).absolute())
    here, gone = literal(path), literal(f"{path}.escape")
    for escape in ESCAPES:
        try:
            connection.execute(escape.format(here=here, gone=gone))
        except (duckdb.PermissionException, duckdb.InvalidInputException):
            continue
        except duckdb.Error:
            pass
        raise EngineError(
            "This DuckDB lets a query reach files or settings; the data set is not served. "
            "Install the DuckDB version that discreet names."
        )


def _columns(
    connection: Connection, folder: Path, description: Description, *, in_shards: bool = False
) -> Columns:
    """The columns of the file, held against the description level by level."""
    ((text,),) = connection.execute("SELECT about FROM about").fetchall()
    about = json.loads(text)
    if ("shard" in about) != in_shards:
        raise EngineError(f"A shard of version {folder.name} is missing. Load again.")
    columns = {
        names: plain(column(place))
        for names, place in places(about, folder.name, description).items()
    }
    return Columns(columns, about["weight_scale"] is not None, about["records"])


def integers(column: Any) -> Counts | None:
    """A column as 64-bit integers; a null cannot be, and is an error rather than a zero."""
    if column is None:
        return None
    if isinstance(column, np.ma.MaskedArray):
        if np.ma.getmaskarray(column).any():
            raise EngineError("The loaded data hold nulls. Load again.")
        column = column.data
    if column.dtype.kind not in "iu":
        raise EngineError("The engine returned numbers that are not whole.")
    return np.ascontiguousarray(column, dtype=np.int64)
