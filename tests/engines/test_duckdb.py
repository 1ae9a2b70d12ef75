"""The DuckDB engine: what it must not do, and what it says when it cannot count."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.domain import AxisRef, Condition, Count, variable
from discreet.engines.coding import Source
from discreet.engines.duckdb import engine as engine_module
from discreet.engines.duckdb.engine import ESCAPES, DuckDBEngine, open_engine
from discreet.engines.duckdb.loading import load
from discreet.errors import Cancelled, EngineError, InputError
from discreet.file_names import DATA

from .people import People, coded, coding_of, towns, values

EVERYTHING = Count(tuple(AxisRef(v.name, v.name) for v in towns().variables))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    made = towns().duckdb(tmp_path_factory.mktemp("towns"))
    yield made
    made.close()


# Escapes


@pytest.mark.parametrize(
    "statement",
    [
        *(e.format(here="'/etc/hostname'", gone="'/tmp/discreet-escape'") for e in ESCAPES),
        "SELECT * FROM read_parquet('/etc/hostname')",
        "SELECT * FROM read_json('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "ATTACH '/tmp/discreet-escape.db'",
        "COPY records TO '/tmp/discreet-escape.parquet' (FORMAT parquet)",
        "SET memory_limit = '100GB'",
        "RESET enable_external_access",
        "PRAGMA enable_external_access = true",
        "SET GLOBAL allowed_paths = ['/etc/hostname']",
        "SET temp_directory = '/tmp'",
        "DELETE FROM records",
        "UPDATE records SET v0 = 0",
        "DROP TABLE records",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
    ],
)
def test_no_statement_reaches_files_settings_or_records(
    statement: str, engine: DuckDBEngine
) -> None:
    """W4: even SQL handed straight to the engine's own connection is barred."""
    cursor = engine._connection.cursor()
    with pytest.raises(duckdb.Error):
        cursor.execute(statement)
    (table,) = engine.count([Count(())])
    assert values(table) == {0: (40,)}


def test_an_engine_whose_lock_does_not_hold_refuses_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: with file access left on, opening fails."""
    towns().duckdb(tmp_path).close()
    connect = duckdb.connect

    def careless(path: str, read_only: bool, config: dict[str, object]) -> object:
        return connect(
            path, read_only=read_only, config={**config, "enable_external_access": "true"}
        )

    monkeypatch.setattr(engine_module.duckdb, "connect", careless)
    with pytest.raises(EngineError, match="not served"):
        open_engine(tmp_path / "version", towns().description)


def test_the_settings_hold(engine: DuckDBEngine) -> None:
    rows = engine._connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()
    settings = dict(rows)
    assert settings["enable_external_access"] == "false"
    assert settings["lock_configuration"] == "true"
    assert settings["access_mode"].upper() == "READ_ONLY"
    assert settings["perfect_ht_threshold"] == "20"
    assert settings["memory_limit"] == "953.6 MiB"


# Opening


def test_a_version_opens_only_under_its_own_categories(tmp_path: Path) -> None:
    people = towns()
    people.duckdb(tmp_path).close()
    town, sex, age = people.variables
    for variables, words in (
        ((town, variable("sex", ["m", "f"]), age), "categories of sex at level sex"),
        (
            (
                variable(
                    "town",
                    list(town.finest.codes),
                    levels={"region": dict.fromkeys(town.finest.codes, "N")},
                ),
                sex,
                age,
            ),
            "level region",
        ),
        ((town, sex, age, variable("new", ["1"])), "new is not in the loaded data"),
    ):
        with pytest.raises(EngineError, match=words):
            open_engine(tmp_path / "version", replace(people.description, variables=variables))
    fewer = open_engine(tmp_path / "version", replace(people.description, variables=(sex,)))
    assert (
        sum(v[0] for v in values(fewer.count([Count((AxisRef("sex", "sex"),))])[0]).values()) == 40
    )
    fewer.close()


def test_what_is_not_a_version_is_one_sentence(tmp_path: Path) -> None:
    description = towns().description
    with pytest.raises(EngineError, match="holds no loaded data"):
        open_engine(tmp_path, description)
    (tmp_path / DATA).write_bytes(b"something else entirely")
    with pytest.raises(EngineError, match="damaged"):
        open_engine(tmp_path, description)
    (tmp_path / DATA).unlink()
    duckdb.connect(str(tmp_path / DATA)).close()
    with pytest.raises(EngineError, match="not a version"):
        open_engine(tmp_path, description)


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    engine = towns().duckdb(tmp_path)
    engine.close()
    with pytest.raises(EngineError):
        engine.count([Count(())])


@pytest.mark.slow
def test_several_engines_and_processes_read_one_file(tmp_path: Path) -> None:
    first = towns().duckdb(tmp_path)
    second = open_engine(tmp_path / "version", towns().description)
    program = (
        "import sys, duckdb; c = duckdb.connect(sys.argv[1], read_only=True); "
        "print(c.execute('SELECT count(*) FROM records').fetchall()[0][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "version" / DATA)],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "40"
    assert values(first.count([EVERYTHING])[0]) == values(second.count([EVERYTHING])[0])
    first.close()
    assert len(values(second.count([EVERYTHING])[0]))
    second.close()


# Counting


def test_array_or_hash_table_the_integers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB takes an array where records are many for the cells, and gives the same either way."""
    people = towns()
    small, large = Count((AxisRef("sex", "sex"),)), EVERYTHING
    with people.duckdb(tmp_path) as engine:

        def way(count: Count) -> str:
            domain = people.description.domain(count.axes)
            statement = engine._statement(count, domain, keys=True, weights=True)
            ((_, plan),) = engine._connection.execute(f"EXPLAIN {statement}").fetchall()
            words = " ".join(plan.upper().replace("_", " ").split())
            return "array" if "PERFECT HASH GROUP BY" in words else "hash table"

        assert (way(small), way(large)) == ("array", "hash table")
        assert way(Count(small.axes, (Condition("age", "age", ("0",)),))) == "hash table"
        for few, expected in ((0, "array"), (10**9, "hash table")):
            monkeypatch.setattr(engine_module, "_RECORDS_A_PLACE", few)
            for count in (small, large):
                assert way(count) == expected
                (table,) = engine.count([count], keys=True, weights=True)
                assert values(table) == people.brute_force(count)


def test_a_variable_stands_once(engine: DuckDBEngine) -> None:
    with pytest.raises(InputError, match="twice"):
        engine.count([Count((AxisRef("town", "town"), AxisRef("town", "region")))])


@pytest.mark.slow
def test_giant_tables_are_counted_or_refused_without_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A domain beyond 32 bits is addressed with 64; beyond 62 bits no statement is run."""
    wide = tuple(variable(f"v{i}", list(map(str, range(500)))) for i in range(8))
    generator = np.random.default_rng(3)
    rows = [tuple(int(x) for x in generator.integers(0, 500, 8)) for _ in range(50)]
    people = People(wide, rows)
    with people.duckdb(tmp_path) as engine:
        count = Count(tuple(AxisRef(v.name, v.name) for v in wide[:6]))
        fewer = Count(tuple(AxisRef(v.name, v.name) for v in wide[:4]))
        for table, asked in zip(
            engine.count([count, fewer], keys=True), (count, fewer), strict=True
        ):
            assert values(table) == {a: v[:3] for a, v in people.brute_force(asked).items()}
        statements: list[object] = []
        monkeypatch.setattr(engine, "_read", lambda *words: statements.append(words))
        with pytest.raises(InputError, match="cannot be addressed"):
            engine.count([Count(tuple(AxisRef(v.name, v.name) for v in wide))])
        assert not statements


@pytest.mark.slow
def test_sums_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    """A file made by hand, whose weights pass what load would take: refused, never wrapped."""
    people = towns()
    people.duckdb(tmp_path).close()
    with duckdb.connect(str(tmp_path / "version" / DATA)) as connection:
        connection.execute("UPDATE records SET w = 9223372036854775807")
    with open_engine(tmp_path / "version", people.description) as engine:
        with pytest.raises(EngineError, match="too large for 64 bits"):
            engine.count([Count(())], weights=True)
        with pytest.raises(EngineError, match="too large for 64 bits"):
            engine.count([Count((AxisRef("sex", "sex"),))], weights=True)


def test_nulls_in_a_file_are_not_zeros(tmp_path: Path) -> None:
    people = towns()
    people.duckdb(tmp_path).close()
    with duckdb.connect(str(tmp_path / "version" / DATA)) as connection:
        connection.execute("UPDATE records SET v1 = NULL WHERE v2 = 0")
    with (
        open_engine(tmp_path / "version", people.description) as engine,
        pytest.raises(EngineError, match="nulls"),
    ):
        engine.count([Count((AxisRef("sex", "sex"),))])


def test_errors_say_nothing_of_sql_or_data(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file whose table is gone: the sentence has no statement, path or column in it."""
    people = towns()
    people.duckdb(tmp_path).close()
    with duckdb.connect(str(tmp_path / "version" / DATA)) as connection:
        connection.execute("ALTER TABLE records RENAME COLUMN v1 TO canary")
    with (
        caplog.at_level(logging.DEBUG),
        open_engine(tmp_path / "version", people.description) as engine,
        pytest.raises(EngineError) as caught,
    ):
        engine.count([EVERYTHING])
    assert str(caught.value) == "Counting failed (BinderException)."
    assert caught.value.__cause__ is None
    assert "canary" not in caplog.text


@pytest.mark.slow
def test_a_running_count_is_interrupted(tmp_path: Path) -> None:
    """A stop asked for while DuckDB works ends the count long before it is done."""
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 1000 AS a, i // 1000 % 1000 AS b, i // 1000000 AS c "
            f"FROM range(4000000) t(i)) TO '{tmp_path / 'a.parquet'}'"
        )
    names = {"a": 1000, "b": 1000, "c": 4}
    variables = tuple(variable(name, list(map(str, range(n)))) for name, n in names.items())
    coding = coding_of(tuple(coded(v.name, v.name, v.finest.codes) for v in variables))
    load(Source.guess(tmp_path / "a.parquet"), coding, tmp_path / "v")
    description = replace(towns().description, variables=variables, weight=None)
    stop = threading.Event()
    asked: list[int] = []

    def stopped() -> bool:
        # The first look is before the count begins; every later one while it runs.
        asked.append(1)
        return len(asked) > 1

    with open_engine(tmp_path / "v", description) as engine:
        count = Count(tuple(AxisRef(v.name, v.name) for v in variables))
        with pytest.raises(Cancelled):
            engine.count([count], keys=True, control=Control(cancelled=stopped))
        assert not stop.is_set()
        where = Count((), (Condition("a", "a", ("7",)),))
        assert values(engine.count([where])[0]) == {0: (4000,)}


def test_the_engine_shows_nothing(engine: DuckDBEngine) -> None:
    (table,) = engine.count([EVERYTHING], keys=True)
    assert repr(engine) == "<DuckDB engine of people>"
    assert repr(table) == "<true table: 5 town × 2 sex × 6 age; values sealed>"
