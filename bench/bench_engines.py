"""Counting on DuckDB, Postgres, Spark and in shards, each beside the same engine's own SQL.

    python -m bench.bench_engines [--records 10000000] [--rounds 5] [--folder DIR] [--only duckdb|postgres|spark|shards]

A question is a four-way table (75,300 cells) with all of its margins and key sums. *Bare* is one GROUP BY
of its interior on the same coded table, of which only a total is fetched: neither cells nor margins are
asked of it. Ours and the bare one take turns, and ratios are medians over the rounds. Memory is the peak of a process of
its own that opens the data set and counts.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from tests.servers import postgres as postgres_server
from tests.servers import spark as spark_cluster

from bench import records
from bench.bars import measured
from bench.bench_counting import peak_of_this_process
from discreet.core.domain import AxisRef, Count
from discreet.engines import remote_loading
from discreet.engines.base import Engine
from discreet.engines.coding import Source
from discreet.engines.duckdb.loading import load
from discreet.engines.opening import open_engine
from discreet.engines.postgres import stream
from discreet.engines.remote_engine import RemoteEngine
from discreet.engines.remote_version import RemoteVersion
from discreet.file_names import DATA

MOST = 1.3
MEMORY_MB = 300
LOADING = 2.0
SHARDS = 1.6
FOUR = ("ccg", "cause", "age", "sex")
SALT = b"sixteen byte key"
_CHUNK = 32 << 20


def questions() -> list[Count]:
    """The four-way table and every margin of it."""
    axes = [AxisRef(name, name) for name in FOUR]
    return [Count(some) for size in range(4, -1, -1) for some in combinations(axes, size)]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(ours: Callable[[], object], bare: Callable[[], object], rounds: int) -> dict[str, Any]:
    """Seconds of both, one after the other, after one round that is not timed."""
    ours()
    bare()
    pairs = [(seconds(ours), seconds(bare)) for _ in range(rounds)]
    return {
        "ours": [round(one, 3) for one, _ in pairs],
        "bare": [round(two, 3) for _, two in pairs],
        "ratio": statistics.median(one / two for one, two in pairs),
    }


def bare_sql(folder: Path, sums: str, relation: str) -> str:
    """The interior as somebody would write it by hand."""
    about = {v["name"]: i for i, v in enumerate(RemoteVersion.read(folder).about["variables"])}
    columns = ", ".join(f"v{about[name]}" for name in FOUR)
    grouped = f"SELECT {columns}, count(*) AS n, {sums} FROM {relation} GROUP BY {columns}"
    return f"SELECT count(*), sum(n), sum(lo), sum(hi) FROM ({grouped}) interior"


def ours(engine: Engine) -> Callable[[], object]:
    return lambda: engine.count(questions(), keys=True)


def peak_memory(folder: Path) -> float:
    """Megabytes that a process needs to open a version and count on its server."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.bench_engines", "--count", str(folder)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def count_once(folder: Path) -> None:
    """What `peak_memory` runs."""
    engine = open_engine(folder, records.description(), salt=SALT)
    engine.count(questions(), keys=True)
    engine.close()
    print(peak_of_this_process())


def put_on_postgres(server: postgres_server.PostgresServer, path: Path) -> Source:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        columns = ", ".join(f"{name} {'bigint' if name == 'id' else 'text'}" for name in names)
        connection.execute(f"CREATE TABLE people ({columns})".encode())
        with connection.cursor().copy(b"COPY people FROM STDIN (FORMAT csv)") as copy:
            for batch in file.iter_batches(200_000):
                text = io.BytesIO()
                pacsv.write_csv(batch, text, pacsv.WriteOptions(include_header=False))
                copy.write(text.getvalue())
        connection.execute("VACUUM ANALYZE people")
    return replace(Source.guess(server.url() + "?table=people"), counting="coded")


def on_postgres(path: Path, root: Path, rounds: int) -> dict[str, Any]:
    """Counts in a coded table; loading by streaming."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server.running())
        os.environ["PGPASSWORD"] = postgres_server.PASSWORD
        source = put_on_postgres(server, path)
        folder = root / "postgres"
        folder.mkdir()
        remote_loading.load(source, records.coding(), folder, name="bench")
        engine = open_engine(folder, records.description(), salt=SALT)
        assert isinstance(engine, RemoteEngine)
        half = "sum(k_lo) AS lo, sum(k_hi) AS hi"
        table = f'discreet."{RemoteVersion.read(folder).coded}"'
        text = bare_sql(folder, half, table).encode()
        connection = stack.enter_context(psycopg.connect(server.url()))

        def bare() -> object:
            return connection.execute(text, binary=True).fetchall()

        found = in_turn(ours(engine), bare, rounds)
        engine.close()
        found["memory_mb"] = peak_memory(folder)
        found["loading"] = loading(replace(source, counting="loaded"), root, max(1, rounds // 2))
    return found


def loading(source: Source, root: Path, rounds: int) -> dict[str, Any]:
    """A version streamed in, and the same stream into one table of texts."""
    number = iter(range(10**6))

    def whole() -> object:
        return load(source, records.coding(), root / f"streamed-{next(number)}")

    def bare() -> None:
        with (
            stream.opened(source) as found,
            duckdb.connect(str(root / f"raw-{next(number)}")) as into,
        ):
            names = [name for name, _ in found.table.columns]
            into.execute(f"CREATE TABLE raw ({', '.join(f'{name} VARCHAR' for name in names)})")
            kinds = {"one": "VARCHAR", **dict.fromkeys(names, "VARCHAR")}
            for chunk in chunks(found.blocks(range(len(names)))):
                into.execute(f"INSERT INTO raw SELECT * EXCLUDE (one) FROM read_csv('{chunk}', auto_detect=false, header=false, columns={kinds})")  # fmt: skip

    pairs = [(seconds(whole), seconds(bare)) for _ in range(rounds)]
    return {
        "ours": [round(one, 2) for one, _ in pairs],
        "bare": [round(two, 2) for _, two in pairs],
        "ratio": statistics.median(one / two for one, two in pairs),
    }


def chunks(blocks: Iterator[bytes]) -> Iterator[str]:
    """The stream in files without a name, as discreet hands it over."""
    parts, size = [], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= _CHUNK:
            with nameless(b"".join(parts)) as path:
                yield path
            parts, size = [], 0
    if parts:
        with nameless(b"".join(parts)) as path:
            yield path


@contextmanager
def nameless(content: bytes) -> Iterator[str]:
    handle = os.memfd_create("bench")
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def on_spark(path: Path, root: Path, rounds: int) -> dict[str, Any]:
    """Counts in coded Parquet files on a cluster of two workers."""
    with spark_cluster.running() as cluster:
        data = cluster.folder / "data"
        data.mkdir()
        os.link(path, data / "part-0.parquet") if _same_disk(path, data) else _copy(path, data)
        source = Source.guess(cluster.url)
        kept = str(cluster.folder / "coded")
        source = replace(source, table=str(data), kept_in=kept, counting="coded")
        folder = root / "spark"
        folder.mkdir()
        remote_loading.load(source, records.coding(), folder, name="bench")
        engine = open_engine(folder, records.description(), salt=SALT)
        from discreet.engines.spark.database import connect

        assert source.address is not None
        session = connect(source.address)
        relation = f"parquet.`{kept}/{RemoteVersion.read(folder).coded}`"
        text = bare_sql(folder, "sum(k_lo) AS lo, sum(k_hi) AS hi", relation)
        found = in_turn(ours(engine), lambda: session.sql(text).toArrow(), rounds)
        session.stop()
        engine.close()
        found["memory_mb"] = peak_memory(folder)
    return found


def _same_disk(path: Path, folder: Path) -> bool:
    return path.stat().st_dev == folder.stat().st_dev


def _copy(path: Path, folder: Path) -> None:
    (folder / "part-0.parquet").write_bytes(path.read_bytes())


def on_duckdb(path: Path, root: Path, rounds: int) -> dict[str, Any]:
    """Counts from a version's file on disk, without its arrays; all threads for both."""
    from discreet.engines.duckdb.engine import open_engine as open_file

    folder = root / "duckdb"
    load(Source.guess(path), records.coding(), folder)
    engine = open_file(folder, records.description())
    columns = ", ".join(f"v{list(records.SIZES).index(name)}" for name in FOUR)
    grouped = f"SELECT {columns}, count(*) AS n, sum(k_lo) AS lo, sum(k_hi) AS hi FROM records GROUP BY {columns}"
    text = f"SELECT count(*), sum(n), sum(lo), sum(hi) FROM ({grouped})"
    os.link(folder / DATA, root / "copy.duckdb")
    with duckdb.connect(str(root / "copy.duckdb"), read_only=True) as bare:
        found = in_turn(ours(engine), lambda: bare.execute(text).fetchall(), rounds)
    engine.close()
    whole = open_engine(folder, records.description())
    found["in_memory"] = in_turn(ours(whole), lambda: None, rounds)["ours"]
    whole.close()
    return found


def in_shards(path: Path, root: Path, rounds: int) -> dict[str, Any]:
    """One file counted by one thread, and two shards by two processes of one thread each."""
    for number in (1, 2):
        load(
            replace(Source.guess(path), shards=number), records.coding(), root / f"shards-{number}"
        )
    from discreet.engines.duckdb.engine import open_engine as open_whole

    whole = open_whole(root / "shards-1", records.description(), threads=1)
    divided = open_engine(root / "shards-2", records.description(), threads=2)
    found = in_turn(ours(whole), ours(divided), rounds)
    whole.close()
    divided.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--only", choices=("duckdb", "postgres", "spark", "shards"))
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.count is not None:
        count_once(asked.count)
        return
    absent = {
        "postgres": "" if postgres_server.programs() else "no Postgres",
        "spark": "" if spark_cluster.home() else "no Spark",
    }
    ways = {"duckdb": on_duckdb, "postgres": on_postgres, "spark": on_spark, "shards": in_shards}
    size = f"{asked.records:,} records"
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        root = Path(name)
        path = root / "records.parquet"
        records.write(path, asked.records)
        for way, take in ways.items():
            if asked.only not in (None, way):
                continue
            if why := absent.get(way):
                measured(f"{way}, ours ÷ bare, {size}", None, "×", at_most=MOST, note=why)
                continue
            found = take(path, root, asked.rounds)
            print(json.dumps({way: found, "load": os.getloadavg()}, indent=1))
            tell(way, size, found)


def tell(way: str, size: str, found: dict[str, Any]) -> None:
    """The figures of one engine beside their bars."""
    ratio = round(found["ratio"], 2)
    if way == "shards":
        measured(f"two shards ÷ one, a thread each, {size}", ratio, "×", at_least=SHARDS)
        return
    measured(f"{way}, ours ÷ bare, all margins, {size}", ratio, "×", at_most=MOST)
    if "in_memory" in found:
        times = [one / two for one, two in zip(found["in_memory"], found["bare"], strict=True)]
        measured(f"from arrays in memory ÷ bare {way}, {size}", statistics.median(times), "×")
    if "memory_mb" in found:
        memory = round(found["memory_mb"])
        measured(f"{way}, memory of our process, {size}", memory, "MB", at_most=MEMORY_MB)
    if "loading" in found:
        loads = round(found["loading"]["ratio"], 2)
        measured(f"{way}, streamed in ÷ bare CREATE TABLE, {size}", loads, "×", at_most=LOADING)


if __name__ == "__main__":
    main()
