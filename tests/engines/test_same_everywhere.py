"""The same records are the same integers on every engine: keys bit for bit, digests of counts."""

from __future__ import annotations

import hashlib
import io
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet.core.description import Weight
from discreet.core.domain import AxisRef, Condition, Count
from discreet.core.true_values import reveal
from discreet.engines.code_maps import canonical
from discreet.engines.coding import Coding, Source
from discreet.engines.duckdb.loading import load as load_here
from discreet.engines.opening import open_engine
from discreet.errors import DataError

from ..servers.postgres import PASSWORD, PostgresServer
from . import remote_people
from .odd_texts import odd_texts
from .people import SALT, coarser, coded, coding_of, record_key

SPARK = pytest.param("spark", marks=pytest.mark.slow)
SPARK_BOUNDED = pytest.param("spark", "drop", marks=pytest.mark.slow)
Put = Callable[[pa.Table], Source]


@pytest.fixture
def put(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a table on the server that a test names."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    server = request.getfixturevalue(request.param)
    return (lambda t: _on_postgres(server, t)) if request.param == "postgres" else (
        lambda t: _on_spark(server, t)
    )  # fmt: skip


_KINDS = {pa.string(): "text", pa.int64(): "bigint", pa.date32(): "date", pa.bool_(): "boolean",
          pa.timestamp("us"): "timestamp", pa.float64(): "double precision", pa.int16(): "smallint"}  # fmt: skip


def _on_postgres(server: PostgresServer, table: pa.Table) -> Source:
    import psycopg

    name = f"same_{secrets.token_hex(6)}"
    columns = ", ".join(
        f'"{field.name}" {_KINDS.get(field.type) or "numeric(24, 6)"}' for field in table.schema
    )
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'CREATE TABLE "{name}" ({columns})'.encode())
        with connection.cursor().copy(f'COPY "{name}" FROM STDIN (FORMAT csv)'.encode()) as copy:
            for batch in table.to_batches(200_000):
                text = io.BytesIO()
                pacsv.write_csv(batch, text, pacsv.WriteOptions(include_header=False))
                copy.write(text.getvalue())
        role = server.role("contract")
        connection.execute(f'GRANT SELECT ON "{name}" TO {role}'.encode())
        connection.execute(f"GRANT CREATE ON DATABASE postgres TO {role}".encode())
    return Source.guess(server.url("postgres", "contract", PASSWORD) + f"?table={name}")


def _on_spark(cluster: remote_people.SparkCluster, table: pa.Table) -> Source:
    folder = cluster.folder / "data" / secrets.token_hex(6)
    folder.mkdir(parents=True)
    half = -(-len(table) // 2)
    for part in range(2):
        pq.write_table(table.slice(part * half, half), folder / f"part-{part}.parquet")
    source = Source.guess(cluster.url)
    return replace(source, table=str(folder), kept_in=str(cluster.folder / "coded"))


def everywhere(table: pa.Table, put: Put, coding: Coding, root: Path) -> Iterator[tuple[str, Path]]:
    """The table loaded from a file, streamed in, coded in place, and, where that can be, only read."""
    pq.write_table(table, root / "here.parquet")
    load_here(Source.guess(root / "here.parquet"), coding, root / "file")
    yield "file", root / "file"
    source = put(table)
    load_here(source, coding, root / "streamed")
    yield "streamed", root / "streamed"
    ways = ("coded",) if coding.bound == "drop" else ("coded", "read-only")
    for counting in ways:
        remote_people.loaded(replace(source, counting=counting), coding, root / counting)
        yield counting, root / counting


def cells(folder: Path, coding: Coding, counts: list[Count]) -> list[list[tuple[int, ...]]]:
    """Address, count, key sums and weight of every cell, in order of addresses."""
    engine = open_engine(folder, coding.description, salt=SALT)
    try:
        weights = coding.description.weight is not None
        tables = engine.count(counts, keys=True, weights=weights)
    finally:
        engine.close()
    found = []
    for table in tables:
        held = reveal(table)
        columns = [held.addresses, held.counts, held.key_low, held.key_high, held.weights]
        rows = zip(*(c.tolist() for c in columns if c is not None), strict=True)
        found.append(sorted(rows))
    return found


def check_odd_texts(number: int, put: Put, root: Path) -> None:
    """Each record's key by its id, and the category of each text, against their definitions."""
    texts = odd_texts(number)
    names = [str(i) for i in range(number)]
    codes = tuple(dict.fromkeys(str(canonical(text)) for text in texts))
    variables = (coded("n", "n", tuple(names)), coded("t", "t", codes))
    most = max(Counter(canonical(text) for text in texts).values())
    coding = coding_of(variables, "id", most, salt=SALT)
    table = pa.table({"id": texts, "n": names, "t": texts})
    keys = [(i, 1, *record_key(SALT, text)) for i, text in enumerate(texts)]
    times = Counter(codes.index(str(canonical(text))) for text in texts)
    for where, folder in everywhere(table, put, coding, root):
        by_record, by_text = cells(
            folder, coding, [Count((AxisRef("n", "n"),)), Count((AxisRef("t", "t"),))]
        )
        assert by_record == keys, where
        assert {a: n for a, n, *_ in by_text} == times, where


@pytest.mark.parametrize("put", ["postgres", SPARK], indirect=True)
def test_odd_texts_have_one_key_and_one_category(put: Put, tmp_path: Path) -> None:
    """300 odd ids and texts: each key bit for bit what its definition says, wherever it is counted."""
    check_odd_texts(300, put, tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("put", ["postgres", "spark"], indirect=True)
def test_four_thousand_odd_texts(put: Put, tmp_path: Path) -> None:
    """4,000 odd ids and texts: each key bit for bit what its definition says, on DuckDB, Postgres and Spark."""
    check_odd_texts(4000, put, tmp_path)


def typed_ids(number: int) -> dict[str, pa.Array]:
    """Ids of other types than text, each value once."""
    whole = [0, 1, -1, (1 << 63) - 1, -(1 << 63), *range(2, number - 3)]
    days = [date(1, 1, 1) + timedelta(days=365 * i % 3_652_058) for i in range(number)]
    moments = [datetime(1969, 12, 31, 23, 59) + timedelta(seconds=i * 86_399, milliseconds=i % 2 * 500) for i in range(number)]  # fmt: skip
    decimals = [Decimal(i - 5) / 8 for i in range(number)]
    return {
        "whole": pa.array(whole, pa.int64()),
        "small": pa.array([i - 40 for i in range(number)], pa.int16()),
        "day": pa.array(days, pa.date32()),
        "moment": pa.array(moments, pa.timestamp("us")),
        "decimal": pa.array(decimals, pa.decimal128(24, 6)),
    }


@pytest.mark.parametrize("put", ["postgres"], indirect=True)
def test_ids_of_every_type_have_one_key(put: Put, tmp_path: Path) -> None:
    """Whole numbers to ±2^63, days, moments, decimals: the same keys on all; floats are refused."""
    check_types(put, tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("put", ["spark"], indirect=True)
def test_ids_of_every_type_on_spark(put: Put, tmp_path: Path) -> None:
    """Whole numbers to ±2^63, days, moments, decimals: the same keys on Spark as here."""
    check_types(put, tmp_path)


def check_types(put: Put, tmp_path: Path) -> None:
    number = 60
    names = [str(i) for i in range(number)]
    ids = typed_ids(number)
    table = pa.table({"n": names, **ids, "float": pa.array([i / 2 for i in range(number)])})
    count = [Count((AxisRef("n", "n"),))]
    for kind, values in ids.items():
        coding = coding_of((coded("n", "n", tuple(names)),), kind, salt=SALT)
        root = tmp_path / kind
        root.mkdir()
        found = {w: cells(f, coding, count)[0] for w, f in everywhere(table, put, coding, root)}
        if kind in ("whole", "small", "day"):
            texts = [str(value) for value in values.to_pylist()]
            assert found["file"] == [(i, 1, *record_key(SALT, t)) for i, t in enumerate(texts)]
        assert len({tuple(rows) for rows in found.values()}) == 1, kind
    floats = coding_of((coded("n", "n", tuple(names)),), "float", salt=SALT)
    with pytest.raises(DataError, match="floating-point"):
        remote_people.loaded(replace(put(table), counting="coded"), floats, tmp_path / "float")


def large(records: int, bound: str) -> tuple[pa.Table, Coding]:
    """Records of five variables, two of them with levels, a weight, and about three records a unit."""
    rng = np.random.default_rng(19)
    sizes = {"area": 251, "age": 15, "cause": 10, "sex": 2, "year": 6}
    shares = {name: 1.0 / np.arange(1, size + 1) for name, size in sizes.items()}
    columns: dict[str, pa.Array] = {
        "id": pa.array(np.arange(records)),
        "person": pa.array([f"p{i}" for i in rng.integers(0, records // 3 + 1, records).tolist()]),
    }
    variables = []
    for name, size in sizes.items():
        codes = tuple(f"{name[0]}{i:03d}" for i in range(size))
        drawn = rng.choice(size, records, p=shares[name] / shares[name].sum())
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(drawn), pa.array(codes)).cast(pa.string())  # fmt: skip
        levels = ()
        if name in ("area", "age"):
            up = tuple(i // 5 for i in range(size))
            levels = (coarser("group", None, tuple(f"g{i}" for i in range(max(up) + 1)), up),)
        variables.append(coded(name, name, codes, levels))
    columns["w"] = pa.array([Decimal(i) / 100 for i in rng.integers(0, 2000, records).tolist()], pa.decimal128(24, 6))  # fmt: skip
    unit, most = ("id", 1) if bound == "stop" else ("person", 2)
    coding = coding_of(
        tuple(variables), unit, most, weight=Weight("w", 100), salt=SALT, bound=bound
    )
    return pa.table(columns), coding


def fixed_questions() -> list[Count]:
    """Four ways, levels, filters, nobody, and all."""

    def axes(*names: str) -> tuple[AxisRef, ...]:
        return tuple(AxisRef(*(name.split(".") if "." in name else (name, name))) for name in names)

    return [
        Count(axes("area", "age", "cause", "sex")),
        Count(axes("area.group", "age.group", "year")),
        Count(axes("area", "sex"), (Condition("age", "group", ("g1",)),)),
        Count(axes("cause", "year"), (Condition("area", "area", ("a000", "a007", "a250")), Condition("sex", "sex", ("s001",)))),
        Count(axes("year")),
        Count(axes("sex"), (Condition("cause", "cause", ()),)),
        Count(()),
    ]  # fmt: skip


def check_digests(records: int, bound: str, put: Put, root: Path) -> str:
    table, coding = large(records, bound)
    digests = {}
    for where, folder in everywhere(table, put, coding, root):
        found = cells(folder, coding, fixed_questions())
        assert found[-2] == []
        assert len(found[0]) > 1000
        digests[where] = hashlib.sha256(repr(found).encode()).hexdigest()
    assert len(set(digests.values())) == 1, digests
    return digests["file"][:16]


@pytest.mark.parametrize(
    ("put", "bound"), [("postgres", "stop"), ("postgres", "drop"), SPARK_BOUNDED], indirect=["put"]
)
def test_counts_of_fixed_questions_have_one_digest(
    put: Put, bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 records: counts, key sums and weights of seven questions are the same in every way."""
    monkeypatch.setattr("discreet.engines.spark.database._SLICE_BYTES", 1 << 20)  # three slices
    check_digests(20_000, bound, put, tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("bound", ["stop", "drop"])
@pytest.mark.parametrize("put", ["postgres", "spark"], indirect=True)
def test_a_million_records_have_one_digest(
    put: Put, bound: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """1,000,000 records, with a bound or without: one digest on DuckDB, Postgres and Spark."""
    record_property(f"digest, {bound}", check_digests(1_000_000, bound, put, tmp_path))


@pytest.mark.proof
@pytest.mark.parametrize("bound", ["stop", "drop"])
@pytest.mark.parametrize("put", ["postgres", "spark"], indirect=True)
def test_ten_million_records_have_one_digest(
    put: Put, bound: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """10,000,000 records, with a bound or without: one digest on DuckDB, Postgres and Spark."""
    record_property(f"digest, {bound}", check_digests(10_000_000, bound, put, tmp_path))
