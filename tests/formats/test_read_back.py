"""Every format read back by a reader that is not ours gives the same numbers and labels."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import csvw
import numpy as np
import openpyxl
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from pyjstat import pyjstat

from discreet import formats
from discreet.arrangement import laid_out
from discreet.core.table import ProtectedTable, Status
from discreet.formats import reading
from discreet.formats.notes import footnote
from discreet.recipe import Layout

from ..examples import examples
from .tables import HYPERLINK, axis, deaths, make, tables, unescaped

Rows = list[dict[str, Any]]

GRAND_TOTAL = make([], (), values=[1234])


def expected(table: ProtectedTable) -> Rows:
    """The rows a file must have, by a plain loop over cells that shares no code with the formats."""
    flat_names = formats.flatten(table)
    rows = []
    for cell in np.ndindex(*table.shape):
        row: dict[str, Any] = {}
        for position, (place, named) in enumerate(zip(cell, flat_names.axes, strict=True)):
            row[named.name] = table.codes(position)[place]
            row[named.label_name] = table.labels(position)[place]
        status = Status(int(table.status[cell]))
        shown = status in (Status.OK, Status.UNRELIABLE, Status.STRUCTURAL_ZERO, Status.DERIVED)
        row[table.measure] = int(table.values[cell]) if shown else None
        row["status"] = status.letter
        if table.noise is not None:
            exact = status is Status.STRUCTURAL_ZERO
            noise = (table.noise.sd[cell], table.noise.lower[cell], table.noise.upper[cell])
            numbers = (0.0, 0, 0) if exact else (float(noise[0]), int(noise[1]), int(noise[2]))
            names = ("noise_sd", "lower", "upper")
            row |= dict(zip(names, numbers if shown else (None, None, None), strict=True))
        for name, numbers in table.extra.items():
            row[name] = int(numbers[cell]) if shown else None
        rows.append(row)
    return rows


def from_csv(table: ProtectedTable) -> Rows:
    """Python's csv module, strict."""
    text = formats.to_bytes(table, "csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    texts = {name for a in formats.flatten(table).axes for name in (a.name, a.label_name)}

    def read(name: str, value: str) -> Any:
        if name in texts:
            return unescaped(value)
        if name == "status":
            return value
        number = float if name == "noise_sd" else int
        return number(value) if value else None

    return [{name: read(name, value) for name, value in row.items()} for row in rows]


def from_csvw(table: ProtectedTable, folder: Path) -> Rows:
    """The csvw package, which types every column by the metadata file."""
    (path, beside) = formats.write(table, folder / "table.csv")
    assert beside.name == "table.csv-metadata.json"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = csvw.Table.from_file(beside)
        assert read.check_primary_key() if read.tableSchema.primaryKey else True
        names = formats.flatten(table).names
        texts = {name for a in formats.flatten(table).axes for name in (a.name, a.label_name)}
        headers = {column.name: str(column.titles) for column in read.tableSchema.columns}
        assert tuple(headers.values()) == names
        rows = []
        for item in read:
            row = {headers[name]: value for name, value in item.items()}
            row = {n: unescaped(v) if n in texts else v for n, v in row.items()}
            rows.append(row | {"status": row["status"] or ""})
    assert path.exists()
    return rows


def from_parquet(table: ProtectedTable) -> Rows:
    read = pyarrow.parquet.read_table(io.BytesIO(formats.to_bytes(table, "parquet")))
    return read.to_pylist()


def from_xlsx(table: ProtectedTable) -> Rows:
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))
    sheet = book["Table 1"]
    names = formats.flatten(table).names
    cells = list(sheet.iter_rows(max_col=len(names)))
    start = next(
        i for i, row in enumerate(cells) if i and tuple(cell.value for cell in row) == names
    )
    texts = {name for a in formats.flatten(table).axes for name in (a.name, a.label_name)}
    rows = []
    for row in cells[start + 1 :]:
        got = dict(zip(names, (cell.value for cell in row), strict=True))
        assert all(cell.data_type in "sn" for cell in row), "a formula or a date"
        got |= {name: "" if got[name] is None else got[name] for name in texts}
        rows.append(got | {"status": (got["status"] or "").strip("[]")})
    return rows


def from_json_stat(table: ProtectedTable, naming: str) -> tuple[list[tuple[str, ...]], list[Any]]:
    text = formats.to_bytes(table, "json-stat").decode()
    with warnings.catch_warnings():
        # pyjstat 2.4 predates pandas 3; its use of deprecated calls is not ours to mend.
        warnings.filterwarnings("ignore", module="pyjstat")
        frame = pyjstat.Dataset.read(text).write("dataframe", naming=naming)
    values = [None if value is None or np.isnan(value) else int(value) for value in frame["value"]]
    keys = frame.drop(columns=["value"]).itertuples(index=False, name=None)
    return [tuple(key) for key in keys], values


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(table=deaths())
@example(table=GRAND_TOTAL)
@given(table=tables())
def test_csv_parquet_xlsx_read_back_as_the_same_rows(
    table: ProtectedTable, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Numbers, statuses, codes and labels are the same, whatever the labels begin with."""
    rows = expected(table)
    assert from_csv(table) == rows
    assert from_parquet(table) == rows
    marked = [{**row, "status": "c" if row["status"] == "s" else row["status"]} for row in rows]
    assert from_xlsx(table) == marked  # a star is [c] in spreadsheets
    assert from_csvw(table, tmp_path_factory.mktemp("csvw")) == rows


@examples(60)
@example(table=deaths())
@example(table=GRAND_TOTAL)
@given(table=tables())
def test_json_stat_reads_back_as_the_same_cells(table: ProtectedTable) -> None:
    """The document holds every code, label, number and status in JSON-stat's own order."""
    document = json.loads(formats.to_bytes(table, "json-stat"))
    rows = expected(table)
    assert document["value"] == [row[table.measure] for row in rows]
    status = document.get("status", {})
    assert [status.get(str(i), "") for i in range(len(rows))] == [row["status"] for row in rows]
    assert int(np.prod(document["size"])) == len(rows)
    for name, size in zip(document["id"], document["size"], strict=True):
        category = document["dimension"][name]["category"]
        assert len(category["index"]) == size
        assert set(category["index"]) == set(category["label"])
    for position, name in enumerate(document["id"] if table.domain.axes else []):
        category = document["dimension"][name]["category"]
        assert tuple(category["index"]) == table.codes(position)
        labels = tuple(category["label"][code] for code in category["index"])
        assert labels == table.labels(position)
    for name in ("sd", "lower", "upper") if table.noise else ():
        column = "noise_sd" if name == "sd" else name
        assert document["extension"]["noise"][name] == [row[column] for row in rows]
    for letter in set(status.values()):
        assert document["extension"]["status"]["label"][letter]


@pytest.mark.parametrize("table", [deaths(), GRAND_TOTAL], ids=["deaths", "grand total"])
def test_pyjstat_reads_the_same_cells(table: ProtectedTable) -> None:
    """An independent reader of JSON-stat finds the same codes, labels and numbers."""
    rows = expected(table)
    axes = formats.flatten(table).axes
    codes, values = from_json_stat(table, "id")
    assert values == [row[table.measure] for row in rows]
    labels, again = from_json_stat(table, "label")
    assert again == values
    if axes:
        assert codes == [tuple(row[a.name] for a in axes) for row in rows]
        assert labels == [tuple(row[a.label_name] for a in axes) for row in rows]


def test_a_label_that_looks_like_a_formula_stays_text_in_every_format(tmp_path: Path) -> None:
    """=HYPERLINK("x") is text: quoted and marked in CSV, a string cell in XLSX, itself elsewhere."""
    table = deaths()
    raw = formats.to_bytes(table, "csv").decode()
    assert '''"'=HYPERLINK(""x"")"''' in raw
    assert "\n=" not in raw
    assert ",=" not in raw
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))
    found = [
        cell.data_type
        for row in book["Table 1"].iter_rows()
        for cell in row
        if cell.value == HYPERLINK
    ]
    assert found == ["s", "s", "s"]
    described = json.loads(formats.write(table, tmp_path / "t.csv")[1].read_text())
    label = next(c for c in described["tableSchema"]["columns"] if c["titles"] == "region_label")
    assert "apostrophe" in label["dc:description"]
    sex = next(c for c in described["tableSchema"]["columns"] if c["titles"] == "sex_label")
    assert "apostrophe" not in sex["dc:description"]


def test_every_file_carries_its_words(tmp_path: Path) -> None:
    """Question, hash, versions, guarantee, footnote and citation are in each format."""
    table = deaths()
    wanted = [
        table.provenance.question_hash,
        table.provenance.data_version,
        table.provenance.policy_version,
        table.guarantee.sentence(),
        formats.citation(table),
        *formats.footnote(table),
    ]
    files = {
        name: formats.write(table, tmp_path / f"t{formats.FORMATS[name].extension}")
        for name in formats.FORMATS
    }
    book = openpyxl.load_workbook(files["xlsx"][0])
    footer = pyarrow.parquet.read_schema(files["parquet"][0]).metadata
    texts = {
        "csv": _strings(json.loads(files["csv"][1].read_text())),
        "json-stat": _strings(json.loads(files["json-stat"][0].read_text())),
        "parquet": _strings(json.loads(footer[b"discreet"])),
        "xlsx": [str(c.value) for s in book for row in s.iter_rows() for c in row if c.value],
    }
    for name, strings in texts.items():
        for sentence in wanted:
            assert any(sentence in text for text in strings), (name, sentence)
        assert any('"epsilon": "0.5"' in text or text == "0.5" for text in strings), name
    assert footer[b"question_hash"].decode() == table.provenance.question_hash


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value] if isinstance(value, str) else []


def test_what_stands_beside_a_hidden_number_is_hidden_too() -> None:
    """Interval, sd and extra columns of an unpublished cell appear in no format."""
    secret = 777_123
    table = make(
        [axis("sex", ["F", "M"])],
        (False,),
        values=[secret, 5],
        status=[Status.BELOW_THRESHOLD, Status.OK],
        extra={"additive": np.array([secret, 5])},
    )
    for name in ("csv", "json-stat"):
        text = formats.to_bytes(table, name).decode()
        assert not any(str(secret + shift) in text for shift in (-6, 0, 6)), name
    read = from_parquet(table)[0]
    assert [read[c] for c in ("count", "noise_sd", "lower", "upper", "additive")] == [None] * 5
    assert from_xlsx(table)[0]["lower"] is None


def test_a_layout_orders_columns_and_rows_but_changes_no_number() -> None:
    """The same cells in another order: the layout's layers, rows, then columns."""
    table = deaths()
    turned = formats.to_bytes(laid_out(table, Layout(rows=("sex",), columns=("region",))), "csv")
    rows = list(csv.DictReader(io.StringIO(turned.decode(), newline="")))
    assert next(iter(rows[0])) == "sex"
    straight = csv.DictReader(io.StringIO(formats.to_bytes(table, "csv").decode(), newline=""))
    assert sorted(map(tuple, (sorted(r.items()) for r in rows))) == sorted(
        map(tuple, (sorted(r.items()) for r in straight))
    )


def test_several_tables_are_one_collection_and_one_workbook() -> None:
    """JSON-stat and XLSX hold several tables, each with its own sheet or dataset."""
    both = [deaths(), GRAND_TOTAL]
    document = json.loads(formats.to_bytes(both, "json-stat"))
    assert document["class"] == "collection"
    assert [item["class"] for item in document["link"]["item"]] == ["dataset", "dataset"]
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(both, "xlsx")))
    assert book.sheetnames == ["Cover", "Contents", "Table 1", "Table 2", "Notes", "Metadata"]
    for sheet in book:
        assert not sheet.merged_cells.ranges
        assert all(any(c.value is not None for c in row) for row in sheet.iter_rows()), sheet.title
    assert all(book[f"Table {n}"].tables for n in (1, 2))
    assert book["Table 1"]["A1"].value == both[0].title


def test_the_same_table_gives_the_same_bytes() -> None:
    """No clock and no chance in a file: one question, one answer, one file."""
    for name in formats.FORMATS:
        assert formats.to_bytes(deaths(), name) == formats.to_bytes(deaths(), name), name


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_table_that_is_read_back_says_nothing_twice(language: str) -> None:
    """Its notes come with it in the language it was said in, and are made anew in that language."""
    published = deaths().in_language(language)
    (again,) = reading.tables(json.loads(formats.to_bytes(published, "json-stat")))
    assert footnote(again) == footnote(published)
