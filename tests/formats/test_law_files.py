"""The law of a table travels in its files and comes back equal; where it cannot, its digest does."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import formats
from discreet.core.cell_law import CellLaw, MarginLaw, Source
from discreet.core.count_law import CountLaw, Row
from discreet.core.law_builders import max_entropy
from discreet.core.product import subsets
from discreet.core.residual_law import ResidualAxis, Residuals
from discreet.errors import InputError
from discreet.formats import reading
from discreet.formats.law_files import read_laws

from .tables import LAW, deaths

LARGE = CountLaw(
    256, tuple(Row.of([(-2, 9 + n % 7), (0, 230), (n % 5, 17 - n % 7)]) for n in range(751)), 250
)
LAWS = {
    "sums": LAW,
    "p-table": CellLaw(
        (Source("cell", CountLaw.of_laws("p", {}, [max_entropy(5, "2")])),), (MarginLaw(None, 0),), "keys",
        hidden_below=3, display_floor=11, about={"risk": {"same_set": "0.5", "queries_to_recover": 9}},
    ),
    "ONS size": CellLaw((Source("cell", LARGE),), (MarginLaw(None, 0),), "keys"),
    "estimates": CellLaw(
        LAW.sources, consistency="synthetic table", column="unbiased",
        residual_variance=Residuals(
            (ResidualAxis("region", 7), ResidualAxis("sex", 2, (1, 0))),
            tuple((kept, 1 / (3 + len(kept))) for kept in subsets((0, 1))),
        ),
    ),
    "none said": CellLaw(),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json", ".xlsx"])
def test_a_file_gives_the_law_back(law: CellLaw, ending: str, tmp_path: Path) -> None:
    """Equal in every part, the same digest; 751 rows too, which no cell of Excel holds."""
    table = replace(deaths(), law=law)
    formats.write(table, tmp_path / f"t{ending}")
    (again,) = read_laws(tmp_path / f"t{ending}")
    assert again == law
    assert again.digest == law.digest


def test_several_tables_have_their_laws_in_order(tmp_path: Path) -> None:
    """One workbook, one collection: a law for each table."""
    tables = [replace(deaths(), law=law) for law in LAWS.values()]
    for ending in (".json", ".xlsx"):
        formats.write(tables, tmp_path / f"t{ending}")
        assert read_laws(tmp_path / f"t{ending}") == list(LAWS.values())


def test_a_table_read_back_has_its_law() -> None:
    """JSON-stat, read as a table: the law is typed again."""
    document = json.loads(formats.to_bytes(deaths(), "json-stat"))
    (table,) = reading.tables(document)
    assert table.law == LAW


@pytest.mark.parametrize(("name", "ending"), [("px", ".px"), ("sdmx-csv", ".sdmx.csv")])
def test_formats_without_a_place_carry_the_digest(name: str, ending: str, tmp_path: Path) -> None:
    """PX and SDMX-CSV name the law by its digest and say which files have it."""
    text = formats.to_bytes(deaths(), name).decode()
    assert LAW.digest in text.replace('"\r\n"', "")
    formats.write(deaths(), tmp_path / f"t{ending}", name)
    with pytest.raises(InputError, match="does not carry the law"):
        read_laws(tmp_path / f"t{ending}")


def test_a_law_in_a_common_file_is_small() -> None:
    """A p-table of eleven rows takes less than 4 kB, whatever the table's size."""
    rows = tuple(
        Row.of([(z, w) for z, w in enumerate(max_entropy(5, "2").weights, -5)]) for _ in range(11)
    )
    law = CellLaw((Source("cell", CountLaw(1 << 64, rows)),), (MarginLaw(None, 0),), "keys")
    assert len(json.dumps(law.to_json())) < 4000


def test_other_files_get_a_sentence(tmp_path: Path) -> None:
    """No companion, no footer, another workbook in any encoding, broken XML, nothing at all."""
    (tmp_path / "a.csv").write_text("x\n")
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.parquet").write_bytes(b"no")
    (tmp_path / "a.xlsx").write_bytes(b"no")
    entities = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    parts = {"b.xlsx": entities, "c.xlsx": entities.encode("utf-16"), "d.xlsx": "<a>"}
    for name, part in parts.items():
        with zipfile.ZipFile(tmp_path / name, "w") as book:
            book.writestr("xl/sharedStrings.xml", part)
    for name in ("a.csv", "a.json", "a.parquet", "a.xlsx", *parts, "none.json", "a.txt"):
        with pytest.raises(InputError):
            read_laws(tmp_path / name)
