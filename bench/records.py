"""Synthetic records for the benches: deaths by 251 areas, 15 causes, 10 ages, sex, month, status.

The shape and rough skew of the demo's deaths, at any size, as Parquet; no real person.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.description import Description
from discreet.core.domain import Variable, variable
from discreet.core.text import Text
from discreet.engines.coding import Coding, Columns

SIZES = {"ccg": 251, "cause": 15, "age": 10, "sex": 2, "month": 12, "marital": 6}
REGIONS = 13
DEATHS = 529_655
_AT_ONCE = 1_000_000


def codes(name: str) -> list[str]:
    return [f"{name[0].upper()}{i:05d}" for i in range(SIZES[name])]


def variables() -> tuple[Variable, ...]:
    up = {code: f"R{i % REGIONS:02d}" for i, code in enumerate(codes("ccg"))}
    return tuple(
        variable(name, codes(name), levels={"region": up} if name == "ccg" else None)
        for name in SIZES
    )


def description() -> Description:
    return Description("bench", Text.of("Bench"), variables(), synthetic=True)


def coding(*, with_id: bool = True) -> Coding:
    columns = {
        v.name: Columns(v.name, {level.name: level.name for level in v.levels[1:]})
        for v in variables()
    }
    key = "id" if with_id else None
    return Coding(description(), columns, key, salt=b"sixteen byte key")


def write(path: Path, records: int) -> None:
    """Eight columns: an id, six variables and the region of the area; some at a time, for any size."""
    rng = np.random.default_rng(20)
    shares = {}
    for name, size in SIZES.items():
        weights = rng.random(size) ** 2 + (1.0 if size == 2 else 0.02)
        shares[name] = weights / weights.sum()
    ids = _scattered(records)
    texts = {name: pa.array(codes(name)) for name in SIZES}
    regions = pa.array([f"R{i:02d}" for i in range(REGIONS)])
    with ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        for start in range(0, max(records, 1), _AT_ONCE):
            some = min(_AT_ONCE, records - start)
            columns = {"id": pa.array(ids(np.arange(start, start + some)) + 10_000_000)}
            for name, size in SIZES.items():
                picked = rng.choice(size, some, p=shares[name]).astype(np.int32)
                columns[name] = texts[name].take(pa.array(picked))
                if name == "ccg":
                    columns["region"] = regions.take(pa.array(picked % REGIONS))
            table = pa.table(columns)
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)


def _scattered(records: int) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """Every number below `records` once, in no order: a step that shares no factor with it."""
    step = int(records * 0.618) | 1
    while math.gcd(step, max(records, 1)) != 1:
        step += 2
    return lambda numbers: numbers * step % max(records, 1)
