"""People of the engine tests on a server of the tests' own, to be counted where they are."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines import remote_loading
from discreet.engines.base import Engine
from discreet.engines.coding import Coding, LoadReport, Source
from discreet.engines.opening import open_engine

from ..servers.postgres import PASSWORD, PostgresServer
from ..servers.spark import SparkCluster
from .people import SALT, People


def on_postgres(server: PostgresServer, people: People) -> Source:
    """The people as a table of texts that a role may read; made anew."""
    import psycopg

    table = f"people_{secrets.token_hex(6)}"
    columns = ["id", *(v.name for v in people.variables), "w"]
    with psycopg.connect(server.url()) as connection:
        listed = ", ".join(f'"{name}" text' for name in columns)
        connection.execute(f'CREATE TABLE "{table}" ({listed})'.encode())
        with connection.cursor().copy(f'COPY "{table}" FROM STDIN'.encode()) as copy:
            for row in people.lines():
                copy.write_row(row)
        role = server.role("contract")
        connection.execute(f'GRANT SELECT ON "{table}" TO {role}'.encode())
        connection.execute(f"GRANT CREATE ON DATABASE postgres TO {role}".encode())
    return Source.guess(server.url("postgres", "contract", PASSWORD) + f"?table={table}")


def on_spark(cluster: SparkCluster, people: People) -> Source:
    """The people as a folder of Parquet files that the cluster reads."""
    columns = ["id", *(v.name for v in people.variables), "w"]
    folder = cluster.folder / "data" / secrets.token_hex(6)
    folder.mkdir(parents=True)
    lines = people.lines()
    for part in range(2):
        some = lines[part::2]
        table = pa.table({name: pa.array([line[i] for line in some], pa.string()) for i, name in enumerate(columns)})  # fmt: skip
        pq.write_table(table, folder / f"part-{part}.parquet")
    source = Source.guess(cluster.url)
    return replace(source, table=str(folder), kept_in=str(cluster.folder / "coded"))


def loaded(source: Source, coding: Coding, folder: Path) -> LoadReport:
    """Load in place."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"coded_{secrets.token_hex(6)}"
    return remote_loading.load(source, coding, folder, name=name)


def opened(source: Source, people: People, folder: Path) -> Engine:
    """The people counted in place."""
    loaded(source, people.coding, folder)
    return open_engine(folder, people.description, salt=SALT)
