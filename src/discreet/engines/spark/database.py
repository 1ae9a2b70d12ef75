"""A Spark cluster to read from and to count on: sessions of Spark Connect, each for one use at a time.

No state is kept in a session but its settings, which are read back: a session that expired is made
anew. A coded table is a folder of Parquet files on the cluster, named by version.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa

from ...core.control import Control
from ...errors import DataError, EngineError, InputError
from ..address import Address
from ..background import turn
from ..coding import Source
from ..database import RemoteTable
from ..sql import Sql, joined, sql
from .client import prepare
from .dialect import SparkDialect
from .sentences import translated

SparkSession: TypeAlias = Any
LEAST_VERSION = 4
CONNECT_SECONDS = 20
LOOKING_SECONDS = 300
"""A look at files takes a worker, and none may be left."""
_PORT = 15002
_AT_ONCE = 2
_DIALECT = SparkDialect()
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.redaction.string.regex": "(?i)(x'|0x)?[0-9a-f]{64}'?",
}
"""Set and read back; the last hides what may be a salt where Spark shows its plans."""
_SMALL_PARTS = "spark.sql.files.maxPartitionBytes", "8m"
"""Workers hold all texts of a part of the files at once: some ten times its size, as Spark writes it."""
_TEXT_BYTES, _SLICE_BYTES = 16, 1 << 28
"""What a value takes, about, and how much Spark's server, of 1 GB by default, is to hold."""
_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "BIGINT"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "VARCHAR"),
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
}
_TEXT_LIKE = ("string", "varchar(", "char(", "decimal(")


class ClusterSession:
    """One session of Spark Connect, which nobody else uses meanwhile."""

    def __init__(self, session: SparkSession, kept_in: str, timeout: int = 0) -> None:
        self._session, self._kept_in = session, kept_in.rstrip("/")
        self._timeout = timeout
        self._known = "The table"

    def fetch(self, statement: Sql) -> pa.Table:
        """The result of a statement."""
        in_time = within_time(self._session, self._timeout, "counting")
        with in_time, translated(self._known, "counting"):
            found: pa.Table = self._session.sql(str(statement)).toArrow()
            return found

    def batches(self, statement: Sql, names: Sequence[str], what: str) -> Iterator[pa.Table]:
        """The result of a statement with these columns as it comes, some records at a time.

        A server of Spark Connect holds whatever we have not fetched yet: of a large table it is given
        slices to read, one after the other. Each record is in the one that its own values say, and
        all that came must be what was there before the first.
        """
        with contextlib.suppress(Exception):  # a cluster that fixes it has its reasons
            self._session.conf.set(*_SMALL_PARTS)
        number = sql("SELECT count(*) AS number FROM ({of}) s", of=statement)
        records = int(self.fetch(number)["number"][0].as_py())
        slices = -(-records * len(names) * _TEXT_BYTES // _SLICE_BYTES)
        if slices > 1:
            yield from self._sliced(statement, names, what, slices)
        else:
            yield from self._batches(statement, what)

    def _sliced(
        self, statement: Sql, names: Sequence[str], what: str, slices: int
    ) -> Iterator[pa.Table]:
        listed = joined(", ", [_DIALECT.identifier(name) for name in names])
        hashed = sql(
            "SELECT *, xxhash64({names}) AS hash_ FROM ({of}) s", names=listed, of=statement
        )
        kept = sql("pmod(hash_, 4294967296)")
        total = sql(
            "SELECT count(*) AS number, CAST(coalesce(sum({kept}), 0) AS BIGINT) AS total "
            "FROM ({hashed}) h",
            kept=kept,
            hashed=hashed,
        )
        before = tuple(self.fetch(total).to_pylist()[0].values())
        number = summed = 0
        for slice_ in range(slices):
            part = sql(
                "SELECT *, {kept} AS kept_ FROM ({hashed}) h WHERE pmod(hash_, {slices}) = {slice}",
                kept=kept,
                hashed=hashed,
                slices=slices,
                slice=slice_,
            )
            for batch in self._batches(part, what):
                number += len(batch)
                summed += int(batch["kept_"].to_numpy().sum())
                yield batch.drop_columns(["hash_", "kept_"])
        if (number, summed) != before:
            raise DataError(f"{what} changed while it was read. Load again when it is at rest.")

    def _batches(self, statement: Sql, what: str) -> Iterator[pa.Table]:
        with translated(what, f"reading {what}"):
            frame = self._session.sql(str(statement))
            client = self._session.client
            plan = frame._plan
            for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
                if isinstance(part, pa.Table):
                    yield part

    def salt(self, salt: bytes) -> Sql:
        """As a literal, which Spark hides from its plans by the setting above."""
        return Sql(f"X'{salt.hex()}'")

    def table(self, source: Source) -> RemoteTable:
        """The table or the folder of Parquet files that a source names."""
        if not source.table:
            raise InputError(
                "Name a table of the cluster with --table, as schema.table, or a folder of Parquet "
                "files by its path on the cluster."
            )
        relation = _relation(source.table)
        doing = "looking at the table"  # of Parquet files Spark reads the ends, on its workers
        seconds = self._timeout or LOOKING_SECONDS
        with within_time(self._session, seconds, doing), translated(source.table, doing):
            fields = self._session.sql(
                str(sql("SELECT * FROM {of} LIMIT 0", of=relation))
            ).schema.fields
        self._known = source.table
        kinds = {str(one.name): _kind(one.dataType.simpleString()) for one in fields}
        return RemoteTable(relation, source.table, kinds)

    def coded(self, name: str) -> Sql:
        """A folder of ours."""
        return _relation(f"{self._kept_in}/{name}")

    def create(self, name: str, query: Sql) -> None:
        """As Parquet files; what is there is never written over."""
        with translated("The coded table", "making the coded table"):
            frame = self._session.sql(str(query))
            frame.write.mode("error").parquet(f"{self._kept_in}/{name}")

    def drop(self, name: str) -> None:
        """Spark Connect removes no folders: the custodian may."""

    def cancel(self) -> None:
        """Have the cluster stop what this session does."""
        with contextlib.suppress(Exception):
            self._session.interruptAll()

    def close(self) -> None:
        """Let the session go."""
        with contextlib.suppress(Exception):
            self._session.stop()


@contextlib.contextmanager
def within_time(session: SparkSession, seconds: int, doing: str) -> Iterator[None]:
    """Have the cluster give up what takes longer; 0 for as long as it likes."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        with contextlib.suppress(Exception):
            session.interruptAll()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    if seconds:
        timer.start()
    try:
        yield
    except EngineError:
        if late.is_set():
            raise EngineError(
                f"Spark took longer than {seconds} seconds while {doing} and was stopped. Check its "
                "workers, or raise `timeout`."
            ) from None
        raise
    finally:
        timer.cancel()
        if seconds:
            timer.join()  # or it would stop the statement that comes next


class SparkDatabase:
    """The cluster of one source."""

    name = "spark"
    dialect = _DIALECT

    def __init__(self, source: Source) -> None:
        assert source.address is not None
        self._address: Address = source.address
        self._kept_in, self._timeout = source.kept_in, source.timeout
        self._idle: list[ClusterSession] = []
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._closed = threading.Event()

    @contextlib.contextmanager
    def session(
        self, *, write: bool = False, control: Control | None = None
    ) -> Iterator[ClusterSession]:
        """A session for one use; one that failed is not used again."""
        if self._closed.is_set():
            raise EngineError("The data set is closed. Open it again.")
        with turn(self._turns, control, "waiting for a turn"):
            session = self._idle.pop() if self._idle else self._new()
            try:
                yield session
            except BaseException:
                session.close()
                raise
            if self._closed.is_set():
                session.close()
            else:
                self._idle.append(session)

    def _new(self) -> ClusterSession:
        return ClusterSession(connect(self._address), self._kept_in, self._timeout)

    def close(self) -> None:
        """Close the sessions that nobody uses."""
        self._closed.set()
        while self._idle:
            self._idle.pop().close()


def connect(address: Address) -> SparkSession:
    """A new session with our settings, which are read back. It takes no worker of the cluster."""
    _reachable(address)
    from pyspark.sql import SparkSession as Session

    prepare()
    token = address.secret or os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", "")
    url = address.url
    if token:
        url += f"{'' if '/;' in url else '/'};token={token}"
    where = address.server
    with translated(where, "opening a session"):
        session = Session.builder.remote(url).create()
        try:
            _few_retries(session)
            version = str(session.version)
            if int(version.partition(".")[0]) < LEAST_VERSION:
                raise InputError(
                    f"Spark at {where} is version {version}; {LEAST_VERSION}.0 or later is needed. "
                    "Export the table to Parquet, or upgrade the cluster."
                )
            for name, value in _SETTINGS.items():
                session.conf.set(name, value)
                if str(session.conf.get(name)) != value:
                    raise EngineError(
                        f"Spark at {where} does not keep the setting {name}, without which sums are "
                        "not certain. Ask its administrator to allow it."
                    )
            _reads_numbers(session, where)
        except BaseException:
            with contextlib.suppress(Exception):
                session.stop()
            raise
    return session


def _reads_numbers(session: SparkSession, where: str) -> None:
    """Texts are written with signs by their numbers: they must be read so."""
    odd = "\\' ${x} é 日 👩"
    # of VALUES the server makes a table by itself: without a worker this would wait, past any cancel
    asked = sql("SELECT * FROM VALUES ({odd}) AS one(odd)", odd=_DIALECT.literal(odd))
    read = session.sql(str(asked)).toArrow()
    if read["odd"].to_pylist() != [odd]:
        raise EngineError(
            f"Spark at {where} reads texts in an older way (spark.sql.parser.escapedStringLiterals). "
            "Ask its administrator to set that to false."
        )


def _few_retries(session: SparkSession) -> None:
    """A server that does not answer is given up after seconds, not after ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=4, initial_backoff=50, max_backoff=2000)
    session.client.set_retry_policies([policy])


def _reachable(address: Address) -> None:
    parts = urlsplit(address.url)
    try:
        with socket.create_connection(
            (parts.hostname or "localhost", parts.port or _PORT), CONNECT_SECONDS
        ):
            pass
    except (OSError, ValueError):
        raise EngineError(
            f"Nobody answers at {address.server}. Check host and port, and that a Spark Connect server "
            "runs there."
        ) from None


def _relation(table: str) -> Sql:
    """What stands after FROM: a table by its parts, a folder of Parquet files by its path."""
    if table.startswith("/") or "://" in table:
        return sql("parquet.{path}", path=_DIALECT.identifier(table))
    return Sql(".".join(_DIALECT.identifier(part) for part in table.split(".")))


def _kind(simple: str) -> str:
    """What DuckDB reads the text of a type as."""
    kind = simple.lower()
    if kind.startswith(_TEXT_LIKE):
        return "VARCHAR"
    return _TYPES.get(kind, f"BLOB {kind[:40]}")
