"""Spark: streamed in and counted in place, the same records bit for bit; failures are told."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.description import Weight
from discreet.engines.coding import Source
from discreet.engines.duckdb.loading import load as load_here
from discreet.errors import DataError, EngineError

from ..servers.spark import SparkCluster
from . import remote_people
from .people import SALT, coded, coding_of

pytestmark = pytest.mark.slow

IDS = ["1", "1.0", " 1 ", "\t2.000\n", "007", "007.0", "+5.0", "-3.00", "1.50", "3.0\u2028", "4.0\u0085",
       "\u00a05.0\u00a0", "é", "e\u0301", "日本語", "👩‍👩‍👧", "'", "\\", "\\'", "${x}", "a\nb", "%", "$1", "z" * 5000]  # fmt: skip
TOWNS = ["a'b", "back\\slash", "${x}", "é", " lead", "7.0"]


def put(cluster: SparkCluster, table: pa.Table) -> Source:
    """A table as a folder of Parquet files on the cluster."""
    folder = cluster.folder / "data" / secrets.token_hex(6)
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet")
    source = Source.guess(cluster.url)
    return replace(source, table=str(folder), kept_in=str(cluster.folder / "coded"))


def odd_people() -> pa.Table:
    """Odd ids, odd texts, floating-point weights."""
    n = len(IDS)
    return pa.table(
        {
            "id": pa.array(IDS),
            "town": pa.array([TOWNS[i % len(TOWNS)] for i in range(n - 1)] + [None]),
            "height": pa.array([(i % 3) / 8 for i in range(n)]),
            "w": pa.array([(i % 300) / 100 for i in range(n)]),
        }
    )


def test_odd_records_are_the_same_wherever_they_are(spark: SparkCluster, tmp_path: Path) -> None:
    """From Parquet here, streamed from the cluster, coded there and only read there: one fingerprint."""
    table = odd_people()
    codes = (*(text.strip() for text in TOWNS if text != "7.0"), "7", "none")
    variables = (
        coded("town", "town", codes, missing_index=len(codes) - 1),
        coded("height", "height", ("0", "0.125", "0.25")),
    )
    coding = coding_of(variables, "id", 3, weight=Weight("w", 100), salt=SALT)
    source = put(spark, table)
    streamed = load_here(source, coding, tmp_path / "streamed").fingerprint
    for counting in ("coded", "read-only"):
        there = remote_people.loaded(
            replace(source, counting=counting), coding, tmp_path / counting
        )
        assert there.fingerprint == streamed
    here = tmp_path / "here.parquet"
    pq.write_table(table, here)
    load_here(Source.guess(here), coding, tmp_path / "file")
    assert _cells(tmp_path / "file") == _cells(tmp_path / "streamed")


def _cells(folder: Path) -> str:
    import duckdb

    with duckdb.connect(str(folder / "data.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT * FROM records ORDER BY ALL").fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def test_a_session_that_closes_takes_no_threads_from_others() -> None:
    """The client's pool is one for all sessions: it goes on when one of them closes."""
    reattach = pytest.importorskip("pyspark.sql.connect.client.reattach")
    from discreet.engines.spark.client import prepare

    prepare()
    shared = reattach.ExecutePlanResponseReattachableIterator
    pool = shared._get_or_create_release_thread_pool()
    shared.shutdown()
    assert pool.submit(lambda: 7).result() == 7
    assert shared._get_or_create_release_thread_pool() is pool


def test_what_stands_in_the_way_on_a_cluster(spark: SparkCluster, tmp_path: Path) -> None:
    """No such table, bytes that are no text, a floating-point id, nobody there: one sentence each."""
    variables = (coded("town", "town", ("a", "b")),)
    coding = coding_of(variables, "id", salt=SALT)
    gone = replace(Source.guess(spark.url), table="not_there.people")
    with pytest.raises(DataError, match=r"has no not_there\.people"):
        load_here(gone, coding, tmp_path / "a")
    raw = pa.array([b"a", b"\xff\xfe"], pa.binary())
    broken = pa.table({"id": ["1", "2"], "town": raw.view(pa.string())})
    with pytest.raises(DataError, match="no UTF-8"):
        load_here(put(spark, broken), coding, tmp_path / "b")
    floats = put(spark, pa.table({"id": [1.0, 2.0], "town": ["a", "b"]}))
    for counting in ("coded", "read-only"):
        with pytest.raises(DataError, match="floating-point"):
            remote_people.loaded(replace(floats, counting=counting), coding, tmp_path / "c")
    nobody = replace(Source.guess("sc://127.0.0.1:1"), table="t")
    with pytest.raises(EngineError, match=r"Nobody answers at 127\.0\.0\.1:1"):
        load_here(nobody, coding, tmp_path / "d")
