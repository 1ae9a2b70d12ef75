"""Loading: every value is looked at, and whatever cannot be coded is one clear sentence."""

from __future__ import annotations

import datetime
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import Weight
from discreet.core.domain import AxisRef, Count, Variable
from discreet.engines import coding
from discreet.engines.code_maps import canonical
from discreet.engines.coding import Coding, Columns, LoadReport, Source
from discreet.engines.duckdb import joins
from discreet.engines.duckdb.canonical import canonical_sql
from discreet.engines.duckdb.engine import open_engine
from discreet.engines.duckdb.loading import load
from discreet.engines.duckdb.profiling import profile
from discreet.engines.sql import plain
from discreet.errors import Cancelled, DataError, DiscreetError, InputError, StoreError
from discreet.file_names import ARRAYS, DATA

from .people import coarser, coded, coding_of, record_key, towns, values

SECRET = "canary-424242"
SHARED = duckdb.connect()
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
SEX = coded("sex", "sex", ("f", "m"))


def write(path: Path, text: str, encoding: str = "utf-8") -> Source:
    path.write_bytes(text.encode(encoding))
    return Source.guess(path)


def loaded(source: Source, coding: Coding, folder: Path) -> tuple[LoadReport, list[tuple]]:
    report = load(source, coding, folder)
    with duckdb.connect(str(folder / DATA), read_only=True) as connection:
        rows = connection.execute("SELECT * FROM records ORDER BY ALL").fetchall()
    return report, rows


def refused(source: Source, coding: Coding, folder: Path) -> str:
    """The sentence with which a load stops; nothing is left behind and nothing is told."""
    with pytest.raises(DataError) as caught:
        load(source, coding, folder)
    assert not list(folder.iterdir()) if folder.exists() else True
    message = str(caught.value)
    assert SECRET not in message
    assert "SELECT" not in message
    assert "\n" not in message
    assert caught.value.__cause__ is None
    return message


# What is read


@pytest.mark.parametrize(
    ("encoding", "delimiter", "quote"),
    [
        ("utf-8", ",", '"'),
        ("utf-8-sig", ";", '"'),
        ("latin-1", "\t", '"'),
        ("cp1252", "|", "'"),
        ("utf-16", ",", '"'),
        ("utf-16-le", ";", '"'),
    ],
)
@pytest.mark.slow
def test_any_delimiter_encoding_and_quoting(
    encoding: str, delimiter: str, quote: str, tmp_path: Path
) -> None:
    """The dialect is found, and codes with delimiters, accents and line ends in them are read."""
    place = (f"a{delimiter}b", "Zoë", "x\r\ny", "é")
    lines = [f"place{delimiter}sex"]
    for i, code in enumerate(place * 3):
        lines.append(f"{quote}{code}{quote}{delimiter}{'fm'[i % 2]}")
    source = write(tmp_path / "a.csv", "\r\n".join(lines) + "\r\n", encoding)
    coding = coding_of((coded("place", "place", place), SEX))
    report, rows = loaded(source, coding, tmp_path / "v")
    assert report.records == 12
    assert sorted(row[:2] for row in rows) == sorted((i % 4, i % 2) for i in range(12))


def test_cp1252_needs_no_telling(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "w,sex\n€5,f\n“x”,m\n", "cp1252")
    coding = coding_of((coded("w", "w", ("€5", "“x”")), SEX))
    assert loaded(source, coding, tmp_path / "v")[0].records == 2


def test_options_said_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("f~1\nm~2\n")
    source = Source("csv", path, None, {"delimiter": "~", "header": "no"})
    coding = coding_of((coded("s", "column1", ("f", "m")), coded("n", "column2", ("1", "2"))))
    assert [r[:2] for r in loaded(source, coding, tmp_path / "v")[1]] == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blank.csv", "\n\nsex,a\nf,1\nm,2\n"),
        ("old-mac.csv", "sex,a\rf,1\rm,2\r"),
        ("no-end.csv", "sex,a\nf,1\nm,2"),
        ("appended.csv", "sex,a\r\nf,1\r\nm,2\n"),
        ("pasted.csv", "sex,a\nf,1\r\nm,2"),
        ("it's [odd]?*.csv", "sex,a\nf,1\nm,2\n"),
        ("blanks.csv", "sex , a\n f , 1\nm,2\n"),
    ],
)
@pytest.mark.slow
def test_odd_files_are_read(name: str, text: str, tmp_path: Path) -> None:
    """Empty first lines, line ends of any sort, names that look like patterns, blanks in names."""
    _, rows = loaded(write(tmp_path / name, text), coding_of((SEX,)), tmp_path / "v")
    assert [row[0] for row in rows] == [0, 1]


def same_everywhere(folder: Path) -> list[Source]:
    """The same three records as CSV, Parquet, DuckDB and SQLite."""
    made = pa.table({"id": [1, 2, 3], "sex": ["f", "m", None], "n": [1.0, 2.0, 1.0]})
    pq.write_table(made, folder / "a.parquet")
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE one AS SELECT * FROM made")
        connection.execute("CREATE TABLE other (a INTEGER)")
    with sqlite3.connect(folder / "a.sqlite") as database:
        database.execute("CREATE TABLE one (id INTEGER, sex TEXT, n REAL)")
        database.executemany(
            "INSERT INTO one VALUES (?, ?, ?)", [(1, "f", 1.0), (2, "m", 2.0), (3, None, 1.0)]
        )
    database.close()
    (folder / "a.csv").write_text("id,sex,n\n1,f,1\n2, m ,2.0\n3,,1.00\n")
    return [
        Source.guess(str(folder / name))
        for name in ("a.csv", "a.parquet", "a.duckdb::one", "a.sqlite")
    ]


@pytest.mark.slow
def test_every_kind_gives_the_same_records_and_keys(tmp_path: Path) -> None:
    """CSV, Parquet, DuckDB and SQLite: the same codes and, by definition, the same record keys."""
    coding = coding_of(
        (
            coded("sex", "sex", ("f", "m", "?"), missing_index=2),
            coded("n", "n", ("1", "2")),
        ),
        "id",
        salt=b"s",
    )
    expected = sorted(
        (sex, n, *record_key(b"s", unit))
        for sex, n, unit in ((0, 0, "1"), (1, 1, "2"), (2, 0, "3"))
    )
    for i, source in enumerate(same_everywhere(tmp_path)):
        report, rows = loaded(source, coding, tmp_path / f"v{i}")
        assert rows == expected, source.kind
        assert report.missing == {"sex": 1}


def test_columns_are_small_integers_and_levels_are_beside(tmp_path: Path) -> None:
    codes = tuple(f"c{i}" for i in range(300))
    town = coded(
        "town",
        "town",
        codes,
        (coarser("r", None, ("x", "y"), tuple(i % 2 for i in range(300))),),
    )
    source = write(tmp_path / "a.csv", "town\n" + "\n".join(codes) + "\n")
    load(source, coding_of((town,)), tmp_path / "v")
    with duckdb.connect(str(tmp_path / "v" / DATA), read_only=True) as connection:
        kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE records").fetchall()}
        assert kinds == {
            "v0": "USMALLINT",
            "v0_1": "UTINYINT",
            "k_lo": "UINTEGER",
            "k_hi": "UINTEGER",
        }
        assert connection.execute(
            "SELECT count(*) FROM records WHERE v0 % 2 <> v0_1"
        ).fetchall() == [(0,)]


@pytest.mark.slow
def test_seventy_thousand_categories_load(tmp_path: Path) -> None:
    codes = tuple(f"c{i}" for i in range(70_000))
    source = write(tmp_path / "a.csv", "big\n" + "\n".join(codes) + "\n")
    report, rows = loaded(source, coding_of((coded("big", "big", codes),)), tmp_path / "v")
    assert report.records == 70_000
    assert [row[0] for row in rows] == list(range(70_000))


def test_too_many_categories_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert coding.MOST_CATEGORIES == 1_000_000
    monkeypatch.setattr(coding, "MOST_CATEGORIES", 2000)
    assert coding_of((coded("big", "big", tuple(map(str, range(2000)))),))
    with pytest.raises(DataError, match="2,001 categories, most is 2,000"):
        coding_of((coded("big", "big", tuple(map(str, range(2001)))),))


def test_other_and_missing_go_where_declared(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "sex\nf\nx\nNA\n-9.0\ny\n \nm\n")
    sex = coded("sex", "sex", ("f", "m", "o", "?"), (), 3, ("NA", "-9"), 2)
    report, rows = loaded(source, coding_of((sex,)), tmp_path / "v")
    assert [row[0] for row in rows] == [0, 1, 2, 2, 3, 3, 3]
    assert (report.other, report.missing, report.dropped) == ({"sex": 2}, {"sex": 3}, 0)
    assert "7" not in repr(report).split("seconds")[0]


@pytest.mark.slow
def test_columns_of_any_type_are_read_by_their_text(tmp_path: Path) -> None:
    """Decimals, floats with NaN, yes/no, dates, moments (in UTC) and enumerations."""
    moment = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    columns = {
        "decimal": (pa.array([Decimal("1.00"), Decimal("2.50"), None]), ("1", "2.50", "?")),
        "float": (pa.array([1.0, 2.5, float("nan")]), ("1", "2.5", "?")),
        "flag": (pa.array([True, False, None]), ("true", "false", "?")),
        "day": (pa.array([datetime.date(2020, 1, 31), None, None]), ("2020-01-31", "?")),
        "moment": (pa.array([moment, None, None]), ("2020-01-01 12:00:00+00", "?")),
        "word": (pa.array(["x", "y", None]).dictionary_encode(), ("x", "y", "?")),
        "huge": (pa.array([2**64 - 1, 1, None], pa.uint64()), (str(2**64 - 1), "1", "?")),
    }
    pq.write_table(
        pa.table({name: values for name, (values, _) in columns.items()}), tmp_path / "a.parquet"
    )
    coding = coding_of(
        tuple(
            coded(name, name, codes, missing_index=len(codes) - 1)
            for name, (_, codes) in columns.items()
        )
    )
    report, rows = loaded(Source.guess(tmp_path / "a.parquet"), coding, tmp_path / "v")
    assert sorted(row[:7] for row in rows) == [
        (0, 0, 0, 0, 0, 0, 0),
        (1, 1, 1, 1, 1, 1, 1),
        (2, 2, 2, 1, 1, 2, 2),
    ]
    assert report.missing["float"] == 1
    found = profile(Source.guess(tmp_path / "a.parquet"))
    assert {c.name: c.nulls for c in found.columns}["float"] == 1
    assert found.column("huge").type == "integer"


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_zero_has_no_sign(first: float, tmp_path: Path) -> None:
    """-0.0 and 0.0 are one code whichever comes first, in a profile as in a load."""
    x = pa.array([first, -first, 1.5])
    pq.write_table(pa.table({"x": x, "y": x.cast(pa.float32())}), tmp_path / "zeros.parquet")
    source = Source.guess(tmp_path / "zeros.parquet")
    for column in ("x", "y"):
        assert dict(profile(source).column(column).values) == {"0": 2, "1.5": 1}
        coding = coding_of((coded(column, column, ("0", "1.5")),))
        loaded(source, coding, tmp_path / column)
        (table,) = open_engine(tmp_path / column, coding.description).count([Count((AxisRef(column, column),))])  # fmt: skip
        assert values(table) == {0: (2,), 1: (1,)}


def test_the_file_is_private_and_alone(tmp_path: Path) -> None:
    load(write(tmp_path / "a.csv", "sex\nf\n"), coding_of((SEX,)), tmp_path / "v")
    assert sorted(path.name for path in (tmp_path / "v").iterdir()) == [DATA, ARRAYS]
    assert (tmp_path / "v" / DATA).stat().st_mode & 0o077 == 0


# What is refused


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("id,sex\n", "no records"),
        (
            f"id,sex\n1,f\n{SECRET},m,3\n",
            "Line 3 of a.csv has more columns than the header: 3 instead of 2",
        ),
        (
            f"id,sex\n1,f\n{SECRET}\n",
            "Line 3 of a.csv has fewer columns than the header: 1 instead of 2",
        ),
        ("id,sex,id\n1,f,1\n", "two columns 'id'"),
        ("id,sex,ID\n1,f,1\n", "columns 'id' and 'ID'"),
        ("id,,sex\n1,2,f\n", "Column 2 of a.csv has no name"),
        (f"id,sex\n1,{SECRET[:0]}\n2,f\n", "1 records of a.csv have no value in column 'sex'"),
        ("id,sex\n1,q\n2,f\n3,x\n", "holds 2 codes that sex does not declare, for example 'q'"),
        (
            f"id,sex\n{SECRET},f\n{SECRET},m\n",
            "1 id in column 'id' of a.csv have more than 1 record",
        ),
        ("id,sex\n,f\n2,m\n", "1 records of a.csv have no id"),
        ("id,gender\n1,f\n", "no column 'sex'"),
    ],
)
def test_bad_files_are_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", text)
    said = Source(source.kind, source.path, None, {"header": "yes", "delimiter": ","})
    assert sentence in refused(said, coding_of((SEX,), "id", salt=b"s"), tmp_path / "v")


def test_bad_places_are_one_sentence(tmp_path: Path) -> None:
    coding = coding_of((SEX,))
    assert "no file 'none.csv'" in refused(
        Source.guess(tmp_path / "none.csv"), coding, tmp_path / "v"
    )
    assert "is a folder" in refused(Source("csv", tmp_path), coding, tmp_path / "v")
    text = write(tmp_path / "t.csv", "sex\nf\n").path
    assert "not a Parquet file" in refused(Source("parquet", text), coding, tmp_path / "v")
    assert "not a DuckDB database" in refused(Source("duckdb", text), coding, tmp_path / "v")
    assert "not an SQLite database" in refused(Source("sqlite", text), coding, tmp_path / "v")
    said = Source("csv", text, None, {"encoding": "utf-9"})
    assert "no encoding 'utf-9'. Did you mean utf-8" in refused(said, coding, tmp_path / "v")
    wrong = write(tmp_path / "l.csv", "sex\né\n", "latin-1").path
    said = Source("csv", wrong, None, {"encoding": "utf-8"})
    assert "is not in utf-8" in refused(said, coding, tmp_path / "v")
    said = Source("csv", text, None, {"encoding": "utf-16"})
    assert "is not in utf-16" in refused(said, coding, tmp_path / "v")
    (tmp_path / "b.csv").write_bytes(b"sex\nf\0\1\2\n")
    assert "not a text file" in refused(Source.guess(tmp_path / "b.csv"), coding, tmp_path / "v")


def test_a_torn_parquet_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"sex": ["f", "m"] * 50_000}), path, compression="none", use_dictionary=False
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not a Parquet file" in refused(Source.guess(path), coding_of((SEX,)), tmp_path / "v")
    path.write_bytes(whole[:500] + b"\xff" * 40_000 + whole[40_500:])
    with pytest.raises(DiscreetError) as caught:
        load(Source.guess(path), coding_of((SEX,)), tmp_path / "v")
    assert "a.parquet" in str(caught.value)
    assert not list((tmp_path / "v").iterdir())


def test_tables_must_be_named(tmp_path: Path) -> None:
    same_everywhere(tmp_path)
    coding = coding_of((SEX,))
    missing = Source.guess(str(tmp_path / "a.duckdb"))
    assert "has 2 tables: one, other. Name one, as in a.duckdb::one" in refused(
        missing, coding, tmp_path / "v"
    )
    wrong = Source.guess(str(tmp_path / "a.duckdb") + "::oen")
    assert "no table 'oen'. Did you mean one" in refused(wrong, coding, tmp_path / "v")


def test_nested_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"sex": [["f"], ["m"]]}), tmp_path / "a.parquet")
    assert "can be coded" in refused(
        Source.guess(tmp_path / "a.parquet"), coding_of((SEX,)), tmp_path / "v"
    )


def test_codes_that_read_the_same_are_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "n\n1\n")
    coding = coding_of((coded("n", "n", ("1", "1.0")),))
    assert "two codes that read as '1'" in refused(source, coding, tmp_path / "v")


def town(column: str | None) -> tuple[Variable, Columns]:
    level = coarser("region", column, ("N", "S"), (0, 1, 1, 1))
    return coded("town", "town", ("a", "b", "c", "?"), (level,), 3)


def test_a_child_has_one_parent(tmp_path: Path) -> None:
    """A parent column is held against the declared hierarchy; the child's code is named."""
    good = write(tmp_path / "a.csv", "town,region\na,N\nb,S\n,\n")
    assert loaded(good, coding_of((town("region"),)), tmp_path / "v")[0].records == 3
    bad = write(tmp_path / "b.csv", "town,region\na,N\nb,S\nb,N\nc,S\n")
    message = refused(bad, coding_of((town("region"),)), tmp_path / "w")
    assert "1 category of town" in message
    assert "for example 'b', declared under 'S'" in message
    assert loaded(bad, coding_of((town(None),)), tmp_path / "x")[0].records == 4


# Units


def test_a_unit_is_held_to_its_records(tmp_path: Path) -> None:
    """`bound: drop` keeps as many records of a unit as declared, the same ones in any order."""
    lines = [f"{unit},{n % 7}" for unit in range(20) for n in range(unit % 5)] + [",3"]
    number = coded("n", "n", tuple(map(str, range(7))))
    coding = coding_of((number,), "id", 2, salt=b"s", bound="drop")
    kept = []
    for i, order in enumerate((lines, lines[::-1])):
        source = write(tmp_path / f"{i}.csv", "id,n\n" + "\n".join(order) + "\n")
        report, rows = loaded(source, coding, tmp_path / f"v{i}")
        kept.append(rows)
        assert report.records == sum(min(2, unit % 5) for unit in range(20)) == len(rows)
        assert report.records + report.dropped == len(lines)
    assert kept[0] == kept[1]


def test_whose_record_stays_is_nobody_elses_business(tmp_path: Path) -> None:
    """Removing one unit changes nothing about the records kept of another."""
    lines = [f"{unit},{n}" for unit in range(6) for n in range(4)]
    number = coded("n", "n", tuple(map(str, range(7))))
    coding = coding_of((number,), "id", 2, salt=b"s", bound="drop")
    source = write(tmp_path / "a.csv", "id,n\n" + "\n".join(lines) + "\n")
    _, everybody = loaded(source, coding, tmp_path / "v")
    source = write(tmp_path / "b.csv", "id,n\n" + "\n".join(lines[4:]) + "\n")
    _, without = loaded(source, coding, tmp_path / "w")
    assert without == [row for row in everybody if row[1:] != record_key(b"s", "0")]


def test_what_a_unit_has_many_of_is_kept_as_often_as_chance_would(tmp_path: Path) -> None:
    """Of three records alike and one other, one is kept: the other in a quarter of units.

    n = 2,000 units, so 500 expected with a standard deviation of 19.4; 4.9 of them happen by
    chance once in a million. A rule that ranks distinct records would keep 1,000.
    """
    lines = [f"{unit},{code}" for unit in range(2_000) for code in "1110"]
    number = coded("n", "n", ("0", "1"))
    source = write(tmp_path / "a.csv", "id,n\n" + "\n".join(lines) + "\n")
    coding = coding_of((number,), "id", 1, salt=b"s", bound="drop")
    report, rows = loaded(source, coding, tmp_path / "v")
    assert report.records == 2_000
    assert abs(sum(row[0] == 0 for row in rows) - 500) < 4.9 * 19.4


def test_own_keys_and_ids_together(tmp_path: Path) -> None:
    """With the custodian's keys, the id still bounds units and is not stored."""
    source = write(tmp_path / "a.csv", "id,sex,k\n1,f,5\n1,m,6\n2,f,7\n")
    coding = coding_of((SEX,), "id", salt=b"s", key_column="k")
    assert "1 id in column 'id'" in refused(source, coding, tmp_path / "v")
    coding = coding_of((SEX,), "id", salt=b"s", key_column="k", bound="drop")
    report, rows = loaded(source, coding, tmp_path / "w")
    assert (report.records, report.dropped, len(rows[0])) == (2, 1, 3)


# Keys


def test_keys_are_the_first_bits_of_sha256(tmp_path: Path) -> None:
    """Ids as canonical text: 1.0, ' 1' and 1 are one unit; 01 is another. Unicode is UTF-8."""
    ids = ["1.0", "01", "Zoë", "12345678901234567890"]
    source = write(tmp_path / "a.csv", "id,sex\n" + "".join(f"{i},f\n" for i in ids))
    _, rows = loaded(source, coding_of((SEX,), "id", salt=b"\0\xff"), tmp_path / "v")
    assert sorted(row[1:] for row in rows) == sorted(record_key(b"\0\xff", i) for i in ids)
    assert record_key(b"", "1.0") == record_key(b"", " 1")


def test_drawn_keys_differ_between_records_and_loads(tmp_path: Path) -> None:
    """Without an id, 20,000 keys drawn twice never meet (false alarm: below 1e-10)."""
    source = write(tmp_path / "a.csv", "sex\n" + "f\nm\n" * 5_000)
    keys: set[tuple[int, int]] = set()
    for i in range(2):
        _, rows = loaded(source, coding_of((SEX,)), tmp_path / f"v{i}")
        keys |= {row[1:] for row in rows}
    assert len(keys) == 20_000


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0", "4294967295", "17.0"], [0, 4294967295, 17]),
        (["0.5", "0.00001234", "0", "1.234e-05"], [50_000_000, 1234, 0, 1234]),
    ],
)
def test_own_keys_are_stored_as_they_are(
    texts: list[str], expected: list[int], tmp_path: Path
) -> None:
    source = write(tmp_path / "a.csv", "sex,k\n" + "".join(f"f,{text}\n" for text in texts))
    _, rows = loaded(source, coding_of((SEX,), key_column="k"), tmp_path / "v")
    assert sorted(row[1:] for row in rows) == sorted((key, 0) for key in expected)


@pytest.mark.parametrize("text", ["4294967296", "-1", "x", "", "0.123456789", "1.5", "99999999999"])
def test_own_keys_out_of_range_are_refused(text: str, tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", f"sex,k\nf,1\nm,{text}\n")
    assert "key" in refused(source, coding_of((SEX,), key_column="k"), tmp_path / "v")


def test_the_salt_is_not_shown() -> None:
    assert "pepper" not in repr(coding_of((SEX,), "id", salt=b"pepper"))


# Weights


def test_weights_are_exact(tmp_path: Path) -> None:
    texts = ["0", "1.5", "2.50", "0.01", "123456789012.99", "3.000000000000000"]
    source = write(tmp_path / "a.csv", "sex,w\n" + "".join(f"f,{text}\n" for text in texts))
    coding = coding_of((SEX,), weight=Weight("w", 100))
    _, rows = loaded(source, coding, tmp_path / "v")
    assert sorted(row[1] for row in rows) == sorted(int(Fraction(t) * 100) for t in texts)


def test_float_columns_are_read_as_the_decimals_they_show(tmp_path: Path) -> None:
    """0.1 in a float column is one tenth; small numbers with exponents too."""
    table = pa.table({"sex": ["f", "f"], "w": [0.1, 0.00001]})
    pq.write_table(table, tmp_path / "a.parquet")
    coding = coding_of((SEX,), weight=Weight("w", 100_000))
    _, rows = loaded(Source.guess(tmp_path / "a.parquet"), coding, tmp_path / "v")
    assert sorted(row[1] for row in rows) == [1, 10_000]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("-1", "are negative"),
        ("", "are missing"),
        ("1.005", "more decimals than units of 1/100"),
        ("1e3", "not plain"),
        ("many", "not plain"),
        ("10.01", "above the declared bound 10"),
        ("0.0000000000001", "not plain"),
    ],
)
def test_bad_weights_are_refused(text: str, sentence: str, tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", f"sex,w\nf,1\nm,{text}\n")
    coding = coding_of((SEX,), weight=Weight("w", 100, Fraction(10)))
    assert sentence in refused(source, coding, tmp_path / "v")


def test_weights_whose_sum_cannot_be_held_are_refused(tmp_path: Path) -> None:
    """No sum of weights can wrap: the load stops where all together pass 2^62 units."""
    source = write(tmp_path / "a.csv", "sex,w\n" + "f,999999999999\n" * 5)
    coding = coding_of((SEX,), weight=Weight("w", 10**6))
    assert "2^62" in refused(source, coding, tmp_path / "v")


# Stopping


def big_file(folder: Path, records: int = 2_000_000) -> Source:
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex "
            f"FROM range({records}) t(i)) TO '{folder / 'big.parquet'}'"
        )
    return Source.guess(folder / "big.parquet")


@pytest.mark.slow
def test_progress_moves_forward_and_names_the_records(tmp_path: Path) -> None:
    steps: list[tuple[float, str]] = []
    control = Control(lambda share, doing: steps.append((share, doing)))
    load(big_file(tmp_path), coding_of((SEX,), "id", salt=b"s"), tmp_path / "v", control)
    shares = [share for share, _ in steps]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert any("of 2,000,000 records" in doing and "s left" in doing for _, doing in steps)


def test_a_stop_leaves_nothing(tmp_path: Path) -> None:
    stop = threading.Event()

    def progress(share: float, doing: str) -> None:
        if "coding" in doing:
            stop.set()

    control = Control(progress, stop.is_set)
    with pytest.raises(Cancelled):
        load(big_file(tmp_path), coding_of((SEX,), "id", salt=b"s"), tmp_path / "v", control)
    assert not list((tmp_path / "v").iterdir())


def in_another_process(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )


LOADER = """
    import os, signal, sys, threading, resource
    from pathlib import Path
    from discreet.core.control import Control
    from discreet.core.description import Description
    from discreet.core.text import Text
    from discreet.core.domain import variable
    from discreet.engines.coding import Coding, Columns, Source
    from discreet.engines.duckdb.loading import load
    from discreet.errors import DiscreetError
    source, target, trouble = Source.guess(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    people = Description("people", Text.of("People"), (variable("sex", ["f", "m"]),))
    coding = Coding(people, {"sex": Columns("sex")}, "id" if trouble != "none" else None, salt=b"s")
    told = []
    # a shell that starts tests in the background has them ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def progress(share, doing):
        if trouble == "ctrl-c" and "coding" in doing and not told:
            told.append(1)
            os.kill(os.getpid(), signal.SIGINT)
    if trouble == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
    try:
        load(source, coding, target, Control(progress))
    except DiscreetError as error:
        print(type(error).__name__, error)
    print(sorted(p.name for p in target.iterdir()))
"""


@pytest.mark.slow
def test_ctrl_c_is_a_stop(tmp_path: Path) -> None:
    done = in_another_process(LOADER, str(big_file(tmp_path).path), str(tmp_path / "v"), "ctrl-c")
    assert done.stdout.splitlines()[0].startswith("Cancelled Stopped while ")
    assert done.stdout.splitlines()[1] == "[]"
    assert done.stderr == ""


@pytest.mark.slow
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """A file that may not grow stands for a disk without room."""
    done = in_another_process(LOADER, str(big_file(tmp_path).path), str(tmp_path / "v"), "full")
    assert done.stdout.splitlines()[0].startswith("StoreError There is no room left to write in v.")
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.slow
def test_a_disk_that_is_full_for_real(tmp_path: Path, mount: Callable[[str], Path]) -> None:
    target = mount("size=2m") / "v"
    done = in_another_process(LOADER, str(big_file(tmp_path).path), str(target), "id")
    assert done.stdout.splitlines()[0].startswith("StoreError There is no room left to write in v.")
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.slow
def test_a_load_ends_quietly(tmp_path: Path) -> None:
    """Drawing keys leaves no complaint of the database's binding on the way out."""
    done = in_another_process(
        LOADER, str(big_file(tmp_path, 1000).path), str(tmp_path / "v"), "none"
    )
    assert (done.stdout.strip(), done.stderr) == (f"['{DATA}', '{ARRAYS}']", "")


def test_a_target_must_be_empty(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "mine").touch()
    source = write(tmp_path / "a.csv", "sex\nf\n")
    with pytest.raises(StoreError, match="not empty"):
        load(source, coding_of((SEX,)), tmp_path / "v")
    assert (tmp_path / "v" / "mine").exists()


def test_a_read_only_disk_is_one_sentence(tmp_path: Path, mount: Callable[[str], Path]) -> None:
    source, disk = write(tmp_path / "a.csv", "sex\nf\n"), mount("ro")
    for folder in (disk, disk / "v"):
        with pytest.raises(StoreError, match="cannot be written"):
            load(source, coding_of((SEX,)), folder)


def test_a_target_under_a_file_is_one_sentence(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "sex\nf\n")
    with pytest.raises(StoreError, match="cannot be written"):
        load(source, coding_of((SEX,)), source.path / "v")


# Sources and canonical text


@pytest.mark.parametrize(
    ("text", "kind", "path", "table"),
    [
        ("x.csv", "csv", "x.csv", None),
        ("x.PARQUET", "parquet", "x.PARQUET", None),
        ("duckdb:///d/x.db?table=t", "duckdb", "d/x.db", "t"),
        ("duckdb:////d/x.db?table=a%20b", "duckdb", "/d/x.db", "a b"),
        ("sqlite:///x.db", "sqlite", "x.db", None),
        ("x.sqlite3::t", "sqlite", "x.sqlite3", "t"),
        ("x.duckdb::t", "duckdb", "x.duckdb", "t"),
    ],
)
def test_sources_are_guessed(text: str, kind: str, path: str, table: str | None) -> None:
    source = Source.guess(text)
    assert (source.kind, str(source.path), source.table) == (kind, path, table)


@pytest.mark.parametrize(
    "text", ["", "mysql://h/d", "duckdb://host/x", "x.csv::t", "sqlite:///x?tabel=t"]
)
def test_addresses_that_mean_nothing_are_bad_input(text: str) -> None:
    with pytest.raises(InputError):
        Source.guess(text)


@pytest.mark.parametrize(
    "text", ["host=h password=SeKret9 dbname=x", "dbname = x password=SeKret9"]
)
def test_a_connection_in_words_is_refused_without_its_password(text: str) -> None:
    """What Postgres' own programs take is no path, and is not repeated."""
    with pytest.raises(InputError, match="postgresql://") as refused:
        Source.guess(text)
    assert "SeKret9" not in str(refused.value)


def test_a_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    for source in same_everywhere(tmp_path):
        blank = tmp_path / f"{source.kind}-without-suffix"
        source.path.rename(blank)
        assert Source.guess(blank).kind == source.kind


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(" \t\n\r\x0b\x0c\xa0+-.0123aé\u2003"), max_size=8) | TEXT)
def test_canonical_text_is_one_rule(text: str) -> None:
    """Python and SQL agree on the canonical form of any text."""
    sql = f"SELECT {canonical_sql(plain('x'), 'VARCHAR')} FROM (SELECT $text AS x)"
    ((value,),) = SHARED.execute(sql, {"text": text}).fetchall()
    assert (value or "") == canonical(text)


def test_signals_are_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    load(write(tmp_path / "a.csv", "sex\nf\n"), coding_of((SEX,)), tmp_path / "v")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_many_variables_are_coded_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts put together by number: the same records, from CSV and Parquet, with ids and bounds."""
    people = towns()
    whole = people.duckdb(tmp_path / "whole")
    counts = [Count(tuple(AxisRef(v.name, v.name) for v in people.variables))]
    wanted = values(whole.count(counts, keys=True, weights=True)[0])
    path = tmp_path / "people.parquet"
    source = tmp_path / "whole" / "people.csv"
    SHARED.read_csv(str(source), all_varchar=True).write_parquet(str(path))
    for at_once in (1, 2):
        monkeypatch.setattr(joins, "AT_ONCE", at_once)
        parts = people.duckdb(tmp_path / f"csv{at_once}")
        assert values(parts.count(counts, keys=True, weights=True)[0]) == wanted
        target = tmp_path / f"parquet{at_once}"
        load(Source("parquet", path), people.coding, target)
        with open_engine(target, people.description) as again:
            assert values(again.count(counts, keys=True, weights=True)[0]) == wanted
        with duckdb.connect(str(target / DATA), read_only=True) as connection:
            tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
        assert tables == {"about", "records"}
