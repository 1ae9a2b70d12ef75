"""Counting where the records are: the same table, byte for byte; a source that changed is not counted."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.core.domain import AxisRef, Condition, Count, variable
from discreet.core.true_values import Cells
from discreet.engines.coding import Coding, Source
from discreet.engines.duckdb.loading import load as load_here
from discreet.engines.opening import open_engine
from discreet.engines.remote_engine import _Reader
from discreet.engines.remote_version import RemoteVersion
from discreet.errors import Cancelled, DataError, EngineError, InputError
from discreet.workspace import DataSet, check, init, load
from discreet.workspace.unit_choice import UnitChoice

from ..patience import wait_until
from ..servers.postgres import PASSWORD, PostgresServer
from . import remote_people
from .people import SALT, People, coded, coding_of, values

PERSON = UnitChoice("person", "id")
ODD = ["a'b", "back\\slash", "${x}", "é", "é", "日本", "  lead", "tab\there", "line\nend", '"', "007", "7.0", "%_"]  # fmt: skip
PEOPLE = (
    "CREATE TABLE people (id text, town text, sex char(3), age smallint, height real, w numeric(8, 2))",
    "INSERT INTO people SELECT CASE WHEN i % 5 = 0 THEN i || '.0' ELSE ' p' || i END, 'T' || i % 7, "
    "CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, i % 5, (i % 4) / 8.0, (i % 300) / 100.0 "
    "FROM generate_series(1, 3000) i",
    "UPDATE people SET town = NULL WHERE age = 4 AND town = 'T1'",
)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


def made(server: PostgresServer) -> tuple[str, str]:
    """A new database of people, and its address for a role that reads and may make schemas."""
    name = server.database()
    role = server.role("reader")
    server.execute(
        *PEOPLE, f"GRANT SELECT ON people TO {role}", f"GRANT CREATE ON DATABASE {name} TO {role}",
        database=name,
    )  # fmt: skip
    return name, server.url(name, role)


def counted_as(folder: Path, counting: str) -> Path:
    """A copy of a data set, with the same secrets, whose records stay where they are."""
    copy = folder.with_name(counting)
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / "versions")
    (copy / "current").unlink()
    described = copy / "discreet.yaml"
    text = described.read_text()
    line = next(line for line in text.splitlines() if line.strip().startswith("table:"))
    more = f"\n  counting: {counting}" + ("\n  frozen: yes" if counting == "read-only" else "")
    described.write_text(text.replace(line, line + more))
    load(copy)
    return copy


def test_the_same_question_gives_the_same_file(postgres: PostgresServer, tmp_path: Path) -> None:
    """Streamed in, coded and read only: the cell-key CSV is the same, byte for byte."""
    _, url = made(postgres)
    init(url, tmp_path / "loaded", unit=PERSON)
    folders = [tmp_path / "loaded"]
    folders += [counted_as(tmp_path / "loaded", counting) for counting in ("coded", "read-only")]
    files = []
    for folder in folders:
        with dc.open(folder) as data:
            rows = list(data.variables)[:2]
            path = tmp_path / f"{folder.name}.csv"
            data.table(rows=rows[:1], columns=rows[1:]).release().write(path)
            files.append(path.read_bytes())
    assert len(files[0]) > 100
    assert files[0] == files[1] == files[2]


def test_records_that_changed_are_not_counted(postgres: PostgresServer, tmp_path: Path) -> None:
    """One record more, or another id: from then on nothing is counted, and readers learn no reason."""
    name, url = made(postgres)
    init(url, tmp_path / "loaded", unit=PERSON)
    folder = counted_as(tmp_path / "loaded", "read-only")
    count = Count(())
    with DataSet.open(folder) as data:
        data.engine().count([count])
        postgres.execute("UPDATE people SET id = 'x' WHERE id = ' p1'", database=name)
        with pytest.raises(EngineError, match=r"^The data set is unavailable") as raised:
            data.engine().count([count])
        assert "p1" not in str(raised.value)
        postgres.execute("UPDATE people SET id = ' p1' WHERE id = 'x'", database=name)
    with (
        DataSet.open(folder) as data,
        pytest.raises(EngineError, match="unavailable"),
    ):
        data.engine().count([count])
    assert any("not those that were loaded" in found.what for found in check(folder, Control()))
    again = load(folder)  # once they are at rest, the same records are a version of their own
    assert not again.unchanged
    with DataSet.open(folder) as data:
        data.engine().count([count])


def test_a_coded_table_is_nobodys_to_change(postgres: PostgresServer, tmp_path: Path) -> None:
    """Rights to write are taken from everybody; one who takes them back is found out."""
    name, url = made(postgres)
    init(url, tmp_path / "loaded", unit=PERSON)
    folder = counted_as(tmp_path / "loaded", "coded")
    with DataSet.open(folder) as data:
        table = RemoteVersion.read(data.version).coded
        import psycopg

        with psycopg.connect(url, autocommit=True) as owner:
            for change in ("DELETE FROM", "TRUNCATE"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    owner.execute(f'{change} discreet."{table}"'.encode())
        postgres.execute("DROP TABLE people", database=name)
        data.engine().count([Count(())])  # the source is no longer needed
        postgres.execute(f'DELETE FROM discreet."{table}" WHERE k_lo % 2 = 0', database=name)
        with pytest.raises(EngineError, match="unavailable"):
            data.engine().count([Count(())])


def bounded(counting: str = "coded") -> tuple[Coding, str]:
    variables = (coded("town", "town", ("T0", "T1", "T2"), other_index=2), coded("sex", "sex", ("f", "m")))  # fmt: skip
    return coding_of(variables, "id", 2, salt=SALT, bound="drop"), counting


def test_the_same_records_of_a_unit_stay(postgres: PostgresServer, tmp_path: Path) -> None:
    """At most two records a unit, chosen alike by DuckDB and in place: the fingerprints agree."""
    name = postgres.database()
    postgres.execute(
        "CREATE TABLE stays AS SELECT (i % 40)::text AS id, 'T' || i % 4 AS town, "
        "CASE WHEN i % 3 = 0 THEN 'f' ELSE 'm' END AS sex FROM generate_series(1, 400) i",
        "INSERT INTO stays VALUES (NULL, 'T1', 'f')",
        database=name,
    )
    source, (coding, _) = Source.guess(postgres.url(name)), bounded()
    here = load_here(source, coding, tmp_path / "here")
    there = remote_people.loaded(replace(source, counting="coded"), coding, tmp_path / "there")
    assert (here.records, here.dropped) == (80, 321)
    assert (there.records, there.dropped) == (here.records, here.dropped)
    assert there.fingerprint == here.fingerprint
    with pytest.raises(DataError, match="bound: drop"):
        remote_people.loaded(replace(source, counting="read-only"), coding, tmp_path / "no")


@pytest.mark.parametrize("counting", ["coded", "read-only"])
def test_odd_texts_stay_what_they_are(
    counting: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Quotes, backslashes, blanks and marks in codes are codes, in dictionaries and in filters."""
    import psycopg

    from discreet.core.domain import Condition

    name = postgres.database()
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE odd (id integer, t text)")
        for i, text in enumerate(ODD):
            for j in range(i + 1):
                connection.execute("INSERT INTO odd VALUES (%s, %s)", (100 * i + j, text))
    codes = (*dict.fromkeys(text.strip() for text in ODD if text != "7.0"), "7")
    coding = coding_of((coded("t", "t", codes),), "id", salt=SALT)
    source = replace(Source.guess(postgres.url(name)), counting=counting)
    remote_people.loaded(source, coding, tmp_path / "v")
    engine = open_engine(tmp_path / "v", coding.description, salt=SALT)
    (table,) = engine.count([Count((AxisRef("t", "t"),))])
    found = {codes[a]: n for a, (n,) in values(table).items()}
    wanted: dict[str, int] = {}
    for i, text in enumerate(ODD):
        code = "7" if text == "7.0" else text.strip()
        wanted[code] = wanted.get(code, 0) + i + 1
    assert found == wanted
    for code in codes:
        (table,) = engine.count([Count((), (Condition("t", "t", (code,)),))])
        assert values(table) == {0: (wanted[code],)}
    engine.close()


def test_zeros_of_either_sign_are_one_category(postgres: PostgresServer, tmp_path: Path) -> None:
    """Postgres writes 0 and -0, which are equal: one code, wherever it is counted."""
    name, url = made(postgres)
    postgres.execute("UPDATE people SET height = '-0' WHERE age = 1", database=name)
    init(url, tmp_path / "loaded", unit=PERSON)
    assert _same_in_place(tmp_path)


def test_what_cannot_be_counted_in_place(postgres: PostgresServer, tmp_path: Path) -> None:
    """No id, a floating-point id, no right to make tables, no word that it is frozen: one sentence."""
    name, url = made(postgres)
    source = Source.guess(url)
    variables = (coded("sex", "sex", ("f", "m")),)
    for coding, words in (
        (coding_of(variables), "needs an `id`"),
        (coding_of(variables, "height"), "floating-point"),
        (coding_of(variables, "who"), "no column 'who'"),
    ):
        with pytest.raises(DataError, match=words):
            remote_people.loaded(replace(source, counting="coded"), coding, tmp_path / "v")
    postgres.execute(f"REVOKE CREATE ON DATABASE {name} FROM reader", database=name)
    with pytest.raises(InputError, match="may not make tables in the schema discreet"):
        remote_people.loaded(
            replace(source, counting="coded"), coding_of(variables, "id"), tmp_path / "v"
        )
    init(url, tmp_path / "people", unit=PERSON, load=False)
    described = tmp_path / "people" / "discreet.yaml"
    text = described.read_text().replace(
        "  table: people", "  table: people\n  counting: read-only"
    )
    described.write_text(text)
    with pytest.raises(InputError, match="frozen: yes"):
        load(tmp_path / "people")


def test_a_stop_reaches_a_count(postgres: PostgresServer, tmp_path: Path) -> None:
    """A count that would take minutes is given up on the server too."""
    name = postgres.database()
    postgres.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS a FROM generate_series(1, 500) i",
        "CREATE TABLE slow (on_ boolean)", "INSERT INTO slow VALUES (false)",
        "CREATE VIEW v AS SELECT id, a, CASE WHEN (SELECT on_ FROM slow LIMIT 1) "
        "THEN pg_sleep(1)::text END AS c FROM t",
        database=name,
    )  # fmt: skip
    coding = coding_of((coded("a", "a", ("0", "1")), coded("c", "c", ("x",), missing_index=0)), "id", salt=SALT)  # fmt: skip
    source = replace(Source.guess(postgres.url(name) + "?table=v"), counting="read-only")
    remote_people.loaded(source, coding, tmp_path / "v")
    engine = open_engine(tmp_path / "v", coding.description, salt=SALT)
    postgres.execute("UPDATE slow SET on_ = true", database=name)
    asked = iter(range(10**9))
    with pytest.raises(Cancelled):
        engine.count(
            [Count((AxisRef("c", "c"),))], control=Control(cancelled=lambda: next(asked) > 10)
        )
    stop = threading.Event()
    counts = [Count((AxisRef("c", "c"),))]
    with ThreadPoolExecutor(2) as others:  # as many as count at once; a third waits for its turn
        control = Control(cancelled=stop.is_set)
        working = [others.submit(engine.count, counts, control=control) for _ in range(2)]
        try:
            running = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND query LIKE '%GROUP BY%' AND state = 'active' AND pid <> pg_backend_pid()"
            wait_until(lambda: postgres.execute(running) == [(2,)], "two counts")
            asked = iter(range(10**9))
            with pytest.raises(Cancelled):
                engine.count([Count(())], control=Control(cancelled=lambda: next(asked) > 10))
            assert not any(one.done() for one in working)
        finally:
            stop.set()
        assert all(isinstance(one.exception(), Cancelled) for one in working)
    active = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state = 'active' AND pid <> pg_backend_pid()"
    assert postgres.execute(active) == [(0,)]
    engine.close()


def test_a_count_survives_one_killed_session(postgres: PostgresServer, tmp_path: Path) -> None:
    """A connection that an administrator ended is made anew; a server that is gone is said."""
    people = People(towns_variables(), [(0,), (1,), (1,)])
    source = replace(remote_people.on_postgres(postgres, people), counting="coded")
    engine = remote_people.opened(source, people, tmp_path / "v")
    (before,) = engine.count([Count(())])
    postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
    )
    (after,) = engine.count([Count(())])
    assert values(before) == values(after)
    engine.close()


def test_a_lost_commit_leaves_one_coded_table(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it took place: what it may have made goes, and the load succeeds."""
    import psycopg

    people = People(towns_variables(), [(0,), (1,), (1,)])
    source = replace(remote_people.on_postgres(postgres, people), counting="coded")
    execute, lost = psycopg.Connection.execute, []

    def loses_one(
        self: psycopg.Connection, query: object, *more: object, **named: object
    ) -> object:
        done = execute(self, query, *more, **named)  # type: ignore[call-overload]
        if query == "COMMIT" and not lost:
            lost.append(1)
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return done

    monkeypatch.setattr(psycopg.Connection, "execute", loses_one)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'discreet'"
    before = (postgres.execute(tables) or [(0,)])[0][0]
    remote_people.loaded(source, people.coding, tmp_path / "v")
    assert lost
    assert postgres.execute(tables)[0][0] == before + 1
    engine = open_engine(tmp_path / "v", people.description, salt=SALT)
    assert len(engine.count([Count(())])) == 1
    engine.close()


def test_a_data_set_of_a_long_name_has_a_table_for_each_version(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Names of tables end after 63 signs there: what tells versions apart is not cut off."""
    name, url = made(postgres)
    init(url, tmp_path / "loaded", unit=PERSON)
    described = tmp_path / "loaded" / "discreet.yaml"
    lines = described.read_text().splitlines(keepends=True)
    long = "".join(f"dataset: {'d' * 64}\n" if x.startswith("dataset:") else x for x in lines)
    described.write_text(long)
    folder = counted_as(tmp_path / "loaded", "coded")
    postgres.execute("INSERT INTO people SELECT 'new', town, sex, age, height, w FROM people LIMIT 1", database=name)  # fmt: skip
    assert not load(folder).unchanged
    tables = postgres.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'discreet'", database=name
    )
    known = {RemoteVersion.read(path).coded for path in (folder / "versions").glob("0*")}
    assert {table for (table,) in tables} == known
    assert len(known) == 2


def test_every_whole_count_is_held_against_the_load(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no snapshots, records may change between two counts of one question."""
    variables = (*towns_variables(), variable("sex", ["f", "m"]))
    people = People(variables, [(0, 0), (1, 1), (1, 0)])
    source = replace(remote_people.on_postgres(postgres, people), counting="coded")
    engine = remote_people.opened(source, people, tmp_path / "v")
    cells, asked = _Reader.cells, []

    def changes(self: _Reader, count: Count, *more: Any) -> Cells:
        asked.append(count)
        found = cells(self, count, *more)
        if len(asked) < 3:
            return found
        return Cells(found.addresses, found.counts + 1, found.key_low, found.key_high)

    monkeypatch.setattr(_Reader, "cells", changes)
    town, sex = Count((AxisRef("town", "town"),)), Count((AxisRef("sex", "sex"),))
    some = replace(town, where=(Condition("sex", "sex", ("f",)),))
    with pytest.raises(EngineError, match="unavailable"):
        engine.count([town, some, sex])
    assert asked[0] == some  # what is no whole count is read before one that shows a change
    engine.close()


def towns_variables():  # type: ignore[no-untyped-def]
    return (variable("town", ["a", "b"]),)


@pytest.mark.parametrize("id_column", ["raw", "i0", "s", "k_lo"])
def test_a_column_may_have_any_name(
    id_column: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Also one that our own statements use: the table is the same, byte for byte."""
    _, url = made(postgres)
    name = url.rpartition("/")[2]
    postgres.execute(
        f"ALTER TABLE people RENAME id TO {id_column}",
        "ALTER TABLE people RENAME town TO m0", "ALTER TABLE people RENAME sex TO n", database=name,
    )  # fmt: skip
    init(url, tmp_path / "loaded", unit=UnitChoice("person", id_column))
    assert _same_in_place(tmp_path)


@pytest.mark.parametrize(
    ("encoding", "edge"),
    [("EUC_JP", "京"), ("EUC_JIS_2004", "\xa0"), ("KOI8R", "═"), ("KOI8R", "\xa0"), ("WIN866", "\xa0"), ("LATIN9", "\xa0")],
)  # fmt: skip
def test_ids_of_other_encodings_have_one_key(
    encoding: str, edge: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Blanks at the ends of an id are those of Unicode, whatever bytes the database has for them."""
    import psycopg

    name, role = postgres.database(encoding, "C"), postgres.role("reader")
    postgres.execute(
        "CREATE TABLE people (id text, town text, sex text)", f"GRANT SELECT ON people TO {role}",
        f"GRANT CREATE ON DATABASE {name} TO {role}", database=name,
    )  # fmt: skip
    with psycopg.connect(postgres.url(name), client_encoding="utf8", autocommit=True) as one:
        rows = [(f"{edge}{i}{edge}", f"T{i % 3}", "fm"[i % 2]) for i in range(300)]
        one.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s)", rows)
    init(postgres.url(name, role), tmp_path / "loaded", unit=PERSON)
    assert _same_in_place(tmp_path)


def _same_in_place(folder: Path) -> bool:
    """Whether the data set "loaded" gives the same file in all three ways."""
    files = []
    for counting in ("loaded", "coded", "read-only"):
        own = folder / "loaded"
        with dc.open(own if counting == "loaded" else counted_as(own, counting)) as data:
            rows = list(data.variables)[:2]
            data.table(rows=rows[:1], columns=rows[1:]).release().write(folder / f"{counting}.csv")
            files.append((folder / f"{counting}.csv").read_bytes())
    assert len(files[0]) > 100
    return files[0] == files[1] == files[2]
