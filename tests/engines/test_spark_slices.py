"""Slices of a large table on Spark: all that came is what was there, or the load stops; no cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from discreet.engines.spark import database
from discreet.engines.spark.database import ClusterSession
from discreet.engines.sql import Sql, plain
from discreet.errors import DataError

BEFORE = {"anna": 5, "bert": 7, "cleo": 4}
"""Records and their hashes, two slices of them by odd and even."""


class Slices(ClusterSession):
    """A session of a table that somebody writes to before the second slice is read."""

    def __init__(self, after: dict[str, int]) -> None:
        self._tables = [BEFORE, after]

    class _session:
        conf = None

    def fetch(self, statement: Sql) -> pa.Table:
        number: dict[str, list[int]] = {"number": [len(BEFORE)]}
        if "total" in statement:
            number["total"] = [sum(BEFORE.values())]
        return pa.table(number)

    def _batches(self, statement: Sql, what: str) -> Iterator[pa.Table]:
        slice_ = int(statement.rpartition("=")[2])
        rows = [(name, of) for name, of in self._tables[slice_].items() if of % 2 == slice_]
        names, hashes = zip(*rows, strict=True) if rows else ((), ())
        yield pa.table({"c0": names, "hash_": hashes, "kept_": pa.array(hashes, pa.int64())})


def read(after: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(database, "_SLICE_BYTES", 24)  # two slices
    parts = Slices(after).batches(plain("people"), ["c0"], "people")
    return [name for part in parts for name in part["c0"].to_pylist()]


def test_a_table_at_rest_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(read(BEFORE, monkeypatch)) == sorted(BEFORE)


@pytest.mark.parametrize(
    "after",
    [
        {"anna": 5, "bert": 7, "dora": 9, "cleo": 4},
        {"bert": 7, "cleo": 4},
        {"anna": 5, "dora": 9, "cleo": 4},
        {"anna": 6, "bert": 7, "cleo": 9},
    ],
)
def test_a_change_between_two_slices_stops_the_load(
    after: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More, fewer, another one, or as many because one moved here and another one there."""
    with pytest.raises(DataError, match="changed while it was read"):
        read(after, monkeypatch)
