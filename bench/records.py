"""Synthetic records for the benches: deaths by 251 areas, 15 causes, 10 ages, sex, month, status.

The shape and rough skew of the demo's deaths, at any size, as Parquet; no real person.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.description import Description
from discreet.core.domain import Variable, variable
from discreet.core.text import Text
from discreet.engines.coding import Coding, Columns

SIZES = {"ccg": 251, "cause": 15, "age": 10, "sex": 2, "month": 12, "marital": 6}
REGIONS = 13
DEATHS = 529_655


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
    """Eight columns: an id, six variables and the region of the area."""
    rng = np.random.default_rng(20)
    columns: dict[str, pa.Array] = {
        "id": pa.array(rng.permutation(records).astype(np.int64) + 10_000_000)
    }
    for name, size in SIZES.items():
        weights = rng.random(size) ** 2 + (1.0 if size == 2 else 0.02)
        picked = rng.choice(size, records, p=weights / weights.sum()).astype(np.int32)
        columns[name] = pa.array(codes(name)).take(pa.array(picked))
        if name == "ccg":
            regions = pa.array([f"R{i:02d}" for i in range(REGIONS)])
            columns["region"] = regions.take(pa.array(picked % REGIONS))
    pq.write_table(pa.table(columns), path)
