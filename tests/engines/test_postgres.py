"""Postgres: a table streamed into a version of ours, from one snapshot, with nothing let out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.core.control import Control
from discreet.engines.coding import Source
from discreet.engines.duckdb.profiling import profile
from discreet.engines.sql import Sql
from discreet.errors import Cancelled, DataError, DiscreetError, EngineError, InputError
from discreet.workspace import DataSet, init, load
from discreet.workspace.unit_choice import UnitChoice

from ..servers.postgres import PASSWORD, PostgresServer

PEOPLE = (
    "CREATE TABLE people (id integer PRIMARY KEY, town char(8), sex text, age smallint, "
    "born date, w numeric(8, 2), member boolean, photo bytea, score double precision)",
    "INSERT INTO people SELECT i, 'T' || i % 7, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, i % 89, "
    "date '1950-01-01' + i % 2000, (i % 300) / 100.0, i % 3 = 0, NULL, i / 8.0 "
    "FROM generate_series(1, 2000) i",
)
PERSON = UnitChoice("person", "id")


@pytest.fixture(scope="module")
def people(postgres: PostgresServer) -> str:
    """A database with one table of people, and a role that may read it."""
    name = postgres.database()
    postgres.role("reader")
    postgres.role("nobody")
    postgres.execute(*PEOPLE, "GRANT SELECT ON people TO reader", database=name)
    return name


def reading(postgres: PostgresServer, database: str, role: str = "reader") -> str:
    return postgres.url(database, role, PASSWORD)


def every_file(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_table_becomes_the_version_a_file_would(
    postgres: PostgresServer, people: str, tmp_path: Path
) -> None:
    """Streamed by a role that may only SELECT: the same cells, keys and all, as from Parquet."""
    import duckdb

    started = init(reading(postgres, people), tmp_path / "a", unit=PERSON, table="public.people")
    with started.dataset() as data:
        assert data.manifest.records == 2000
        names = [variable.name for variable in data.description.variables]
    assert {"town", "sex"} <= set(names)
    rows = postgres.execute(
        "SELECT id, town::text, sex, age, born::text, w::text, member, score FROM people",
        database=people,
    )
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (id INTEGER, town VARCHAR, sex VARCHAR, age SMALLINT, born DATE, "
            "w DECIMAL(8, 2), member BOOLEAN, score DOUBLE)"
        )
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute(f"COPY t TO '{tmp_path / 'people.parquet'}'")
    from_file = init(tmp_path / "people.parquet", tmp_path / "b", unit=PERSON)
    text = (tmp_path / "a" / "discreet.yaml").read_text()
    described = (tmp_path / "b" / "discreet.yaml").read_text()
    assert _variables(text) == _variables(described)
    assert from_file.draft.id == "id"


def _variables(text: str) -> str:
    return text[text.index("variables:") :].partition("\n# Columns left out")[0].strip()


def test_loaded_again_it_is_known_or_new(postgres: PostgresServer, tmp_path: Path) -> None:
    """The same records in another order are the same version; one more is a new one."""
    name = postgres.database()
    postgres.execute(*PEOPLE, "GRANT SELECT ON people TO reader", database=name)
    folder = tmp_path / "people"
    first = init(reading(postgres, name), folder, unit=PERSON)
    assert first.loaded is not None
    postgres.execute(
        "CREATE TABLE o AS SELECT * FROM people ORDER BY id DESC", "DELETE FROM people",
        "INSERT INTO people SELECT * FROM o", "DROP TABLE o", database=name,
    )  # fmt: skip
    again = load(folder, secret=PASSWORD)
    assert again.unchanged
    assert again.version == first.loaded.version
    postgres.execute("INSERT INTO people SELECT 9000, town, sex, age, born, w, member, photo, score FROM people LIMIT 1", database=name)  # fmt: skip
    new = load(folder, secret=PASSWORD)
    assert (new.unchanged, new.new_epoch, new.manifest.records) == (False, False, 2001)


def test_a_password_stands_nowhere(
    postgres: PostgresServer, people: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in discreet.yaml, a version, a log, a repr or a sentence; one that is written is refused."""
    url, folder = reading(postgres, people), tmp_path / "people"
    caplog.set_level(0)
    command = [sys.executable, "-m", "discreet", "init", url, "--table", "people", "--into"]
    told = subprocess.run(
        [*command, str(folder), "--unit", "person", "--id", "id"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    said = told.stdout + told.stderr + caplog.text + repr(Source.guess(url))
    for secret in (PASSWORD, "word%20", "pass%27"):
        assert secret not in said
        assert secret.encode() not in every_file(folder)
    described = folder / "discreet.yaml"
    written = described.read_text().replace("reader@", "reader:hunter2@")
    described.write_text(written)
    with pytest.raises(InputError, match="holds a password") as raised:
        DataSet.open(folder)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"password": "wrong-secret-5"}, InputError, "refused the user or the password"),
        ({"role": "nobody"}, InputError, "no right to read"),
        ({"database": "not_there"}, InputError, "has no database 'not_there'"),
        ({"table": "peopel"}, DataError, "no table 'peopel'.*Did you mean people"),
        ({"port": 1}, EngineError, "Nobody answers at 127.0.0.1:1"),
    ],
)
def test_what_stands_in_the_way_gets_one_sentence(
    change: dict[str, str | int],
    kind: type[DiscreetError],
    words: str,
    postgres: PostgresServer,
    people: str,
    tmp_path: Path,
) -> None:
    """A wrong password, no rights, a wrong name, an unreachable host; nothing is written."""
    url = postgres.url(
        str(change.get("database", people)),
        str(change.get("role", "reader")),
        str(change.get("password", PASSWORD)),
    )
    if "port" in change:
        url = url.replace(f":{postgres.port}/", f":{change['port']}/")
    with pytest.raises(kind, match=words) as raised:
        init(url, tmp_path / "people", table=str(change.get("table", "people")))
    assert PASSWORD not in str(raised.value)
    assert "wrong-secret" not in str(raised.value)
    assert not (tmp_path / "people").exists()


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC", InputError, "does not let this user in"),
        ("ALTER ROLE {role} NOLOGIN", InputError, "does not let this user in"),
        ("ALTER ROLE {role} CONNECTION LIMIT 0", EngineError, "takes no further connections"),
        ("ALTER DATABASE {name} ALLOW_CONNECTIONS false", EngineError, "no further connections"),
    ],
)
def test_why_a_server_lets_nobody_in(
    change: str,
    kind: type[DiscreetError],
    words: str,
    postgres: PostgresServer,
) -> None:
    """No right to connect, no log-in, no room: each is told, though such messages have no SQLSTATE."""
    name = postgres.database()
    role = postgres.role(f"out_{name}")
    postgres.execute(change.format(name=name, role=role))
    with pytest.raises(kind, match=words):
        profile(Source.guess(reading(postgres, name, role)))


def test_a_socket_or_a_service_is_an_address_too(
    postgres: PostgresServer, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`postgresql:///…` names no host; it is the same address in discreet.yaml, and loads again."""
    at = f"host={postgres.folder}\nport={postgres.port}\nuser=reader\ndbname={people}\n"
    (tmp_path / "services").write_text(f"[registry]\n{at}")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    socket = f"postgresql:///{people}?host={postgres.folder}&port={postgres.port}&user=reader"
    for number, url in enumerate((socket, "postgresql:///?service=registry")):
        folder = tmp_path / str(number)
        init(url, folder, unit=PERSON, table="people")
        assert load(folder).unchanged
    with pytest.raises(InputError, match="cannot be read"):
        profile(Source.guess("postgresql:///?service=unknown"))


def test_an_address_without_a_database_is_told(postgres: PostgresServer) -> None:
    """The driver would take the user's name for one."""
    with pytest.raises(InputError, match="names no database"):
        profile(Source.guess(reading(postgres, "", "reader")))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("CREATE TABLE {t} ()", "has no columns"),
        ("CREATE MATERIALIZED VIEW {t} AS SELECT 1 AS id, 2 AS x WITH NO DATA", "refreshed"),
    ],
)
def test_a_table_that_shows_nothing(
    made: str, words: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Without columns, or a materialised view that was never filled: one sentence."""
    name = postgres.database()
    postgres.execute(made.format(t="bare"), database=name)
    with pytest.raises(DataError, match=words):
        profile(Source.guess(postgres.url(name)))


def test_columns_without_an_exact_text(
    postgres: PostgresServer, people: str, tmp_path: Path
) -> None:
    """Bytes are left out with a reason; as an id, bytes and floating-point numbers are refused."""
    seen = profile(Source.guess(reading(postgres, people) + "?table=people"))
    assert seen.column("photo").type == "bytea"
    for column, words in (("photo", "bytea"), ("score", "floating-point")):
        with pytest.raises(DataError, match=words):
            init(reading(postgres, people), tmp_path / column, unit=UnitChoice("person", column))


def test_a_stop_reaches_the_server(postgres: PostgresServer, tmp_path: Path) -> None:
    """A view that never ends is given up, on the server too."""
    name = postgres.database()
    postgres.execute(
        "CREATE VIEW slow AS SELECT i, pg_sleep(0.01)::text AS t FROM generate_series(1, 1000000) i",
        database=name,
    )
    asked = iter(range(10**9))
    with pytest.raises(Cancelled):
        profile(Source.guess(postgres.url(name)), Control(cancelled=lambda: next(asked) > 20))
    active = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'"
    assert postgres.execute(active) == [(0,)]


def test_a_killed_session_is_tried_once_more(postgres: PostgresServer, tmp_path: Path) -> None:
    """An administrator ends the session: once it is begun again, twice it is said."""
    name = postgres.database()
    postgres.execute(
        "CREATE TABLE t AS SELECT i % 5 AS a, i % 3 AS b FROM generate_series(1, 4000) i",
        "CREATE VIEW v AS SELECT t.*, pg_sleep(0.0005)::text AS c FROM t",
        database=name,
    )
    kill = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND query LIKE 'COPY%'"

    def killing(times: int) -> Control:
        left = [times]

        def progress(share: float, doing: str) -> None:
            if left[0] and "reading" in doing and postgres.execute(kill):
                left[0] -= 1

        return Control(progress)

    seen = profile(Source.guess(postgres.url(name) + "?table=v"), killing(1))
    assert seen.records == 4000
    with pytest.raises(EngineError, match=r"lost while reading .* twice"):
        profile(Source.guess(postgres.url(name) + "?table=v"), killing(10))


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_other_encodings(encoding: str, postgres: PostgresServer, tmp_path: Path) -> None:
    """A database in Latin-1 is read as it is meant; one without an encoding is refused."""
    name = postgres.database(encoding, "C")
    postgres.execute(
        "SET client_encoding = 'UTF8'", "CREATE TABLE t (a text, b text)", database=name
    )
    if encoding == "SQL_ASCII":
        with pytest.raises(DataError, match="SQL_ASCII"):
            profile(Source.guess(postgres.url(name)))
        return
    import psycopg

    with psycopg.connect(postgres.url(name), client_encoding="utf8", autocommit=True) as one:
        one.execute("INSERT INTO t VALUES ('Köln', 'a'), ('Köln', 'b'), ('Bonn', 'b')")
    seen = profile(Source.guess(postgres.url(name)))
    assert dict(seen.column("a").values) == {"Köln": 2, "Bonn": 1}


def test_the_extra_is_imported_only_when_used() -> None:
    """`import discreet` and the commands' help load no driver."""
    code = "import sys, discreet, discreet.cli, discreet.workspace, discreet.engines.coding; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"], capture_output=True, text=True, check=True,
        env={**os.environ},
    )  # fmt: skip
    loaded = json.loads(done.stdout)
    assert not [name for name in loaded if name.split(".")[0] in ("psycopg", "pyspark", "grpc")]


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1 / 0 AS secret", "SELECT 'secret'::date AS d", "SELECT secret FROM pg_class"],
)
def test_a_coded_table_that_cannot_be_made_tells_nothing(
    people: str, postgres: PostgresServer, statement: str
) -> None:
    """Whatever the server says of it: one sentence, without values or statements."""
    pytest.importorskip("psycopg")
    from discreet.engines.postgres.database import PostgresDatabase

    database = PostgresDatabase(Source.guess(postgres.url(people)))
    with pytest.raises(DiscreetError) as told, database.session(write=True) as session:
        session.create("coded", Sql(statement))
    assert "secret" not in str(told.value)
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_a_server_that_is_gone_is_noticed(people: str, postgres: PostgresServer) -> None:
    """Also while it should count: a stop must not wait for it for hours."""
    from discreet.engines.address import Address
    from discreet.engines.postgres.connection import connect

    with connect(Address.of(postgres.url(people))) as connection:
        said = connection.info.get_parameters()
        assert said["tcp_user_timeout"] == "30000"
        assert said["keepalives_idle"] == "10"


def test_a_server_limits_counts_and_stops_for_nobody(postgres: PostgresServer) -> None:
    """`timeout: 0` leaves a count what the server allows; what a killed process asked for ends."""
    from discreet.engines.address import Address
    from discreet.engines.postgres.connection import connect

    name = postgres.database()
    role = postgres.role(f"limited_{name}")
    postgres.execute(f"ALTER ROLE {role} SET statement_timeout = '7min'")
    at = Address.of(reading(postgres, name, role))
    for timeout, limit in ((0, "7min"), (90, "90s"), (None, "0")):
        with connect(at, timeout=timeout) as connection:
            shown = "SELECT current_setting('statement_timeout')::interval = %s::interval, current_setting('client_connection_check_interval')"
            assert connection.execute(shown, (limit,)).fetchone() == (True, "10s")


def test_a_point_in_a_name_is_not_taken_for_a_schema(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """`a.b` is table b of the schema a, also where `public` has a table called "a.b"."""
    name = postgres.database()
    rows = "AS SELECT i AS id, i % 2 AS x FROM generate_series(1, {}) i"
    postgres.execute(
        "CREATE SCHEMA a", f"CREATE TABLE a.b {rows.format(30)}",
        f'CREATE TABLE "a.b" {rows.format(40)}', f"CREATE TABLE t {rows.format(50)}",
        f'CREATE TABLE "public.t" {rows.format(60)}', f'CREATE TABLE "c.d" {rows.format(70)}',
        database=name,
    )  # fmt: skip
    for table, records in (
        ("a.b", 30), ("public.a.b", 40), ("t", 50), ("public.t", 50), ("public.public.t", 60),
        ("c.d", 70),
    ):  # fmt: skip
        assert profile(Source.guess(f"{postgres.url(name)}?table={table}")).records == records
    with pytest.raises(InputError, match=r"has 5 tables: a\.b, public\.a\.b, public\.c\.d"):
        profile(Source.guess(postgres.url(name)))


@pytest.mark.parametrize("secret", ["sslpassword", "oauth_client_secret", "ssl%70assword"])
def test_no_other_secret_is_kept_in_an_address(secret: str) -> None:
    """What opens a key or a token is refused in an address, which is written down."""
    with pytest.raises(InputError, match=r"may not hold .*service file") as raised:
        Source.guess(f"postgresql://ann@db.example/registry?sslmode=require&{secret}=hunter2")
    assert "hunter2" not in str(raised.value)
