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
from ...durable import SHARED, replacing
from ...errors import InputError
from .synthetic_table import SyntheticTable

MOST_RECORDS = 200_000_000
_CHUNK = 1 << 18


def write_microdata(table: SyntheticTable, domain: Domain, target: Path, control: Control) -> int:
    """Write the synthetic table with category codes to a .csv or .parquet file; returns its rows.

    One row for each synthetic record; where they are more than `MOST_RECORDS`, one for each cell
    with a column `count`. The file appears whole or not at all.
    """
    if domain.shape != table.shape:
        raise InputError("The domain does not have the axes of the synthetic table.")
    records = table.total <= MOST_RECORDS
    whole, ends = table.total if records else len(table.rows), np.cumsum(table.counts)

    def blocks() -> Iterator[list[Any]]:
        for at in range(0, whole, _CHUNK):
            control.step(at / whole, f"writing {target.name}")
            chosen = np.arange(at, min(at + _CHUNK, whole))
            if records:
                yield list(table.rows[np.searchsorted(ends, chosen, side="right")].T)
            else:
                yield [*table.rows[chosen].T, table.counts[chosen]]

    columns: list[tuple[str, Sequence[str] | type]] = [
        (name, axis.level.codes) for name, axis in zip(domain.names, domain.axes, strict=True)
    ]
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
    with replacing(target, mode=SHARED) as stream, open_writer(stream, schema) as writer:
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
