"""A synthetic table as a file: one row for each record, or one for each cell with its count.

CSV or Parquet, for anybody to tabulate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.control import Control
from ...core.domain import Domain
from ...core.product import Rows, Whole
from ...durable import replacing
from ...errors import InputError
from .synthetic_table import SyntheticTable

MOST_RECORDS = 200_000_000
_CHUNK = 1 << 18


def write_microdata(
    table: SyntheticTable,
    domain: Domain,
    path: str | Path,
    *,
    records: bool = True,
    control: Control | None = None,
) -> int:
    """Write the synthetic table with category codes to a .csv or .parquet file; returns its rows.

    With `records` one row for each synthetic record, else one for each cell with a column `count`.
    The file appears whole or not at all.
    """
    target = Path(path)
    if domain.shape != table.shape:
        raise InputError("The domain does not have the axes of the synthetic table.")
    if records and table.total > MOST_RECORDS:
        raise InputError(
            f"{table.total:,} synthetic records are too many for one file. "
            "Write cells with counts instead (records=False)."
        )
    names = list(domain.names)
    codes = [axis.level.codes for axis in domain.axes]
    whole = table.total if records else len(table.rows)

    def blocks() -> Iterator[list[Any]]:
        done = 0
        for rows, counts in _chunks(table, records):
            if control is not None:
                control.step(done / max(whole, 1), f"writing {target.name}")
            yield [*rows.T, counts] if not records else list(rows.T)
            done += len(rows)

    columns: list[tuple[str, Sequence[str] | type]] = list(zip(names, codes, strict=True))
    if not records:
        columns.append(("count", int))
    return write_columns(target, columns, blocks())


def write_columns(
    target: Path,
    columns: Sequence[tuple[str, Sequence[str] | type]],
    blocks: Iterable[Sequence[Any]],
) -> int:
    """Write blocks of columns to a .csv or .parquet file, whole or not at all; returns its rows.

    A column is a name with the texts its integers stand for (-1 for none), or with int or float.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pa_parquet

    arrow: Any = pa
    kind = target.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise InputError(
            f"Synthetic microdata are written as .csv or .parquet, got {target.name!r}."
        )
    types = {int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema(
        [arrow.field(n, types[k] if isinstance(k, type) else arrow.string()) for n, k in columns]
    )
    texts = [None if isinstance(k, type) else arrow.array(k, arrow.string()) for _, k in columns]
    written = 0
    open_writer: Any = pa_csv.CSVWriter if kind == ".csv" else pa_parquet.ParquetWriter
    with replacing(target) as stream, open_writer(stream, schema) as writer:
        for block in blocks:
            made = [
                arrow.array(values)
                if known is None
                else known.take(arrow.array(values, mask=np.asarray(values) < 0))
                for values, known in zip(block, texts, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(made, schema=schema))
            written += len(made[0])
    return written


def _chunks(table: SyntheticTable, records: bool) -> Iterator[tuple[Rows, Whole]]:
    """Rows to write, in order, a chunk at a time."""
    if not records:
        for at in range(0, len(table.rows), _CHUNK):
            yield table.rows[at : at + _CHUNK], table.counts[at : at + _CHUNK]
        return
    ends = np.cumsum(table.counts)
    for at in range(0, table.total, _CHUNK):
        which = np.searchsorted(ends, np.arange(at, min(at + _CHUNK, table.total)), side="right")
        yield table.rows[which], np.ones(len(which), dtype=np.int64)
