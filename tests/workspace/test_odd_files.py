"""`init` on files as they come: what is found, what is left out and why, and that it loads again."""

from __future__ import annotations

import datetime
import decimal
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import DataError, DescriptionError, InputError
from discreet.workspace import init, load
from discreet.workspace.description_file import read


def made(tmp_path: Path, text: str | bytes, name: str = "people.csv") -> dict[str, str]:
    """The reasons of the columns left out; what was described is loaded and read back."""
    source = tmp_path / name
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    started = init(source, tmp_path / "set")
    return dict(started.draft.left_out)


def records(header: str, rows: list[str], times: int = 1) -> str:
    return "\n".join([header, *rows * times]) + "\n"


def test_codes_for_missing_among_texts_and_numbers(tmp_path: Path) -> None:
    """-9 is missing wherever nothing else is negative; 9 after 1 and 2 is asked about."""
    rows = [f"{'fm'[i % 2]},{i % 3},{1 + i % 5 % 2}" for i in range(60)] + ["-9,-9,9"] * 12
    made(tmp_path, records("sex,kids,job", rows))
    described = read(tmp_path / "set")
    text = (tmp_path / "set" / "discreet.yaml").read_text()
    sex, kids, job = described.description.variables
    for variable in (sex, kids):
        assert str(variable.finest.categories[-1].label) == "Missing"
        assert variable.finest.codes[-1] == "-9"
    assert "# If 9 means missing, write `missing: [9]`." in text
    assert "9" in job.finest.codes


def test_values_that_cannot_be_codes_leave_their_column_out(tmp_path: Path) -> None:
    """Line breaks, the code for totals, endless texts: no description that could not be read back."""
    notes, totals, longs = ('"two\nlines"', "x", "w"), ("_T", "y"), ("z" * 201, "s", "t", "u")
    rows = [f"{notes[i % 3]},{'ab'[i % 5 % 2]},{totals[i % 2]},{longs[i % 4]}" for i in range(60)]
    left = made(tmp_path, records("note,kind,total,long", rows))
    assert set(left) == {"note", "total", "long"}
    assert "1 values that cannot be codes" in left["note"]


def test_signs_that_cannot_be_seen_are_written_and_read_back(tmp_path: Path) -> None:
    """Latin-1 control signs in a code, a line separator in a label: the description says the same."""
    text = "code,code_label,sex\n" + "\x81a,see\u2028here,f\nb,plain,m\n" * 20
    made(tmp_path, text)
    level = read(tmp_path / "set").description.variable("code").finest
    assert level.codes == ("b", "\x81a")
    assert str(level.categories[1].label) == "see\u2028here"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("{:02d}/11/2024", "dates"),
        ("{}.11.24", "dates"),
        ("11-{}-2024 12:30", "dates"),
    ],
)
def test_dates_that_cannot_be_read_are_no_categories(
    tmp_path: Path, written: str, reason: str
) -> None:
    rows = [f"{'fm'[i % 2]};{written.format(1 + i % 40)}" for i in range(400)]
    left = made(tmp_path, records("sex;when", rows))
    assert reason in left["when"]


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("1234,{}", {"bands": "0.1", "from": "1234.1", "to": "1234.9", "mark": ","}),
        ("12.{}", {"bands": "0.1", "from": "12.1", "to": "12.9"}),
    ],
)
def test_decimals_of_any_country_become_bands(
    tmp_path: Path, written: str, rule: dict[str, object]
) -> None:
    """They are proposed, and load as they are."""
    rows = [f"{'fm'[i % 2]};{written.format(1 + i % 29)}" for i in range(400)]
    (tmp_path / "people.csv").write_text(records("sex;when", rows))
    started = init(tmp_path / "people.csv", tmp_path / "set")
    assert started.draft.variables[1].derive == rule


@pytest.mark.slow
def test_weights_with_decimal_commas(tmp_path: Path) -> None:
    """The mark is found, written down, and the weighted counts are right; without it the load stops."""
    rows = [f"{i};{'fm'[i % 2]};{1 + i % 7},{25 * (i % 4):02d}" for i in range(200)]
    (tmp_path / "people.csv").write_text(records("id;sex;weight", rows))
    folder = tmp_path / "set"
    init(tmp_path / "people.csv", folder, family="dp", budget={"epsilon": "100"})
    file = folder / "discreet.yaml"
    assert 'weight: {column: weight, decimals: 2, mark: ","}' in file.read_text()
    file.write_text(file.read_text().replace('mark: ","', 'bound: 8, mark: ","'))
    load(folder)
    dc.declare(folder)
    true = sum(1 + i % 7 + decimal.Decimal(25 * (i % 4)) / 100 for i in range(200))
    with dc.open(folder) as data:
        table = data.table(rows="sex", weighted=True, epsilon="100").release()
        assert abs(int(table.protected.values[-1]) - true) <= 3  # two draws of scale 0.08: e^-30
    file.write_text(file.read_text().replace(', mark: ","', ""))
    with pytest.raises(DataError, match=r"not plain decimal numbers.*mark"):
        load(folder)
    file.write_text(file.read_text().replace("bound: 8", 'bound: 8, mark: "x"'))
    with pytest.raises(DescriptionError, match="mark"):
        read(folder)


@pytest.mark.slow
def test_a_hierarchy_that_one_record_breaks_is_named(tmp_path: Path) -> None:
    """Levels are not guessed then, and the custodian hears why: how many records, at which code."""
    rows = [f"{'nnsse'[i % 5]},{'abcde'[i % 5]}{i % 5},{'fm'[i % 3 % 2]}" for i in range(600)]
    whole = records("region,ward,sex", rows)
    (tmp_path / "whole.csv").write_text(whole)
    assert init(tmp_path / "whole.csv", tmp_path / "whole").draft.hints == []
    (tmp_path / "broken.csv").write_text(whole + "s,a0,f\ne,a0,m\n")
    started = init(tmp_path / "broken.csv", tmp_path / "broken")
    (hint,) = started.draft.hints
    assert "region would be a level above ward, but 2 records have another region" in hint
    assert "(a0, for one)" in hint
    assert started.warnings() == [hint]
    words = " ".join((tmp_path / "broken" / "discreet.yaml").read_text().replace("#", "").split())
    assert hint in words


def test_a_parent_nearly_everybody_has_is_no_hint(tmp_path: Path) -> None:
    """199 of 200 records in one category: any column nearly lies in it, and nothing is said."""
    rows = [f"{i % 7},{'y' if i % 200 == 3 else 'n'}" for i in range(2000)]
    (tmp_path / "rare.csv").write_text(records("ward,ill", rows))
    assert init(tmp_path / "rare.csv", tmp_path / "rare").draft.hints == []


@pytest.mark.slow
def test_parquet_of_every_type(tmp_path: Path) -> None:
    """Dictionaries, flags, dates and whole floats are coded, decimals and times by a rule; nests say why not."""
    n = 400
    day = datetime.date(2024, 1, 1)
    columns = {
        "sex": pa.array(["f", "m", None, "m"] * (n // 4)).dictionary_encode(),
        "flag": pa.array([i * i % 7 < 3 for i in range(n)]),
        "grade": pa.array([1.0 + i % 3 for i in range(n)]),
        "day": pa.array([day + datetime.timedelta(days=i % 20) for i in range(n)]),
        "price": pa.array([decimal.Decimal(i % 9) / 4 for i in range(n)], pa.decimal128(9, 2)),
        "moment": pa.array([datetime.datetime(2024, 1, 1, i % 24, i % 60) for i in range(n)]),
        "nest": pa.array([{"a": 1}] * n),
        "many": pa.array([[1, 2]] * n),
        "bytes": pa.array([b"x"] * n),
    }
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    started = init(tmp_path / "people.parquet", tmp_path / "set")
    assert [v.name for v in started.draft.variables] == [
        *("sex", "flag", "grade", "day", "price", "moment")
    ]
    left = dict(started.draft.left_out)
    assert "struct values" in left["nest"]
    assert "bigint[] values" in left["many"]
    assert "raw bytes" in left["bytes"]


def test_sqlite_with_a_column_of_raw_bytes(tmp_path: Path) -> None:
    """The column is left out with its reason; naming it in the description stops the load."""
    with sqlite3.connect(tmp_path / "p.db") as database:
        database.execute('CREATE TABLE "the people" (id INTEGER, "Größe" TEXT, photo BLOB)')
        rows = [(i, ("klein", "groß", None)[i % 3], b"\0\1") for i in range(90)]
        database.executemany('INSERT INTO "the people" VALUES (?, ?, ?)', rows)
    database.close()
    started = init(f"sqlite:///{tmp_path}/p.db?table=the people", tmp_path / "set")
    assert [v.name for v in started.draft.variables] == ["grosse"]
    assert "raw bytes" in dict(started.draft.left_out)["photo"]
    file = tmp_path / "set" / "discreet.yaml"
    file.write_text(file.read_text() + "  photo:\n    column: photo\n    categories: [a]\n")
    with pytest.raises(DataError, match=r"'photo'.*holds blob values"):
        load(tmp_path / "set")


def test_a_wrong_budget_or_delimiter_leaves_nothing_behind(tmp_path: Path) -> None:
    """What cannot be is said before anything is written, so the next try begins afresh."""
    (tmp_path / "people.csv").write_text(
        records("id;sex", [f"{i};{'fm'[i % 2]}" for i in range(60)])
    )
    for budget in ("0", "-1", "1,5"):
        with pytest.raises(InputError, match=r"budget\.epsilon must be"):
            init(tmp_path / "people.csv", tmp_path / "set", family="dp", budget={"epsilon": budget})
    with pytest.raises(DataError, match=r"is taken to name the unit\. Check its delimiter"):
        init(tmp_path / "people.csv", tmp_path / "set", options={"delimiter": "|"})
    assert not (tmp_path / "set").exists()
    init(tmp_path / "people.csv", tmp_path / "set", family="dp", budget={"epsilon": "1.5"})


@pytest.mark.parametrize(
    ("name", "start", "says"),
    [
        ("people.xlsx", b"PK\x03\x04\x14\x00", "is no workbook, or a damaged one"),
        ("people.XLS", b"\xd0\xcf\x11\xe0", "Save it as .xlsx, or its sheet as CSV"),
        ("people.ods", b"PK\x03\x04\x14\x00", "Save it as .xlsx"),
        ("people.csv", b"PK\x03\x04\x14\x00", "whatever its name says"),
        ("people.csv", b"\x1f\x8b\x08\x00", "is packed"),
        ("people.sas7bdat", b"\x00\x00", r"haven::read_sas\('people.sas7bdat'\), 'people.parquet'"),
        ("{x}.sav", b"$FL2", r"haven::read_sav\('\{x\}.sav'\)"),
        ("people.json", b"[{}]", "is JSON"),
    ],
)
def test_files_of_other_programs_are_refused_with_a_way_on(
    tmp_path: Path, name: str, start: bytes, says: str
) -> None:
    """By their name, or by their first bytes where the name says CSV; nothing is left behind."""
    (tmp_path / name).write_bytes(start + b"\x00" * 40)
    with pytest.raises(DataError, match=says):
        init(tmp_path / name, tmp_path / "set")
    assert not (tmp_path / "set").exists()
