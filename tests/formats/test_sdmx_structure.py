"""The structure beside an SDMX-CSV file says what its columns are and what its codes mean."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given

from discreet import formats
from discreet.core.table import ProtectedTable
from discreet.core.text import Text

from ..examples import examples
from .tables import axis, deaths, make, tables

STR = "{http://www.sdmx.org/resources/sdmxml/schemas/v3_0/structure}"
COM = "{http://www.sdmx.org/resources/sdmxml/schemas/v3_0/common}"
ODD = make(
    [
        axis("age", ["a<b&", "b\x01", "", "]]>"], codes=["65+", "01", "02", "@x"]),
        axis("status", ["x", "y"]),
    ],
    (True, False),
)


def structure_of(table: ProtectedTable) -> ElementTree.Element:
    return ElementTree.fromstring(formats.to_bytes(table, "sdmx-structure"))


def lists_of(root: ElementTree.Element) -> dict[str, dict[str, str]]:
    """Every code list by its URN: code → words."""
    lists = {}
    for each in root.iter(f"{STR}Codelist"):
        where = f"{each.get('agencyID')}:{each.get('id')}({each.get('version')})"
        lists[f"urn:sdmx:org.sdmx.infomodel.codelist.Codelist={where}"] = {
            code.get("id", ""): code.findtext(f"{COM}Name", "") for code in each.iter(f"{STR}Code")
        }
    return lists


@pytest.mark.slow
@examples(80)
@example(table=deaths())
@example(table=ODD)
@example(table=make([], (), values=[1234]))
@given(table=tables())
def test_file_and_structure_name_the_same_columns_and_codes(table: ProtectedTable) -> None:
    """Each column is declared once, and each code that occurs stands in its code list."""
    text = formats.to_bytes(table, "sdmx-csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    root = structure_of(table)
    flow = next(root.iter(f"{STR}Dataflow"))
    where = f"{flow.get('agencyID')}:{flow.get('id')}({flow.get('version')})"
    assert rows[0]["STRUCTURE_ID"] == where
    names = [
        each.get("id")
        for kind in ("Dimension", "Measure", "Attribute")
        for each in root.iter(f"{STR}{kind}")
        if each.get("id")
    ]
    if not table.domain.axes:
        assert names == []
        return
    assert sorted(map(str, names)) == sorted(list(rows[0])[3:])
    concepts = [each.get("id") for each in root.iter(f"{STR}Concept")]
    assert sorted(map(str, concepts)) == sorted(map(str, names))
    lists = lists_of(root)
    assert len(lists) == len(table.domain.axes) + 3
    for component in (*root.iter(f"{STR}Dimension"), *root.iter(f"{STR}Attribute")):
        told = component.findtext(f"{STR}LocalRepresentation/{STR}Enumeration")
        if told is not None:
            occurring = {row[component.get("id", "")] for row in rows} - {""}
            assert occurring <= set(lists[told])


def test_codes_have_their_labels_and_illegal_characters_none() -> None:
    """What XML cannot hold is replaced, what is markup is text, no name is empty."""
    (ages, *_) = lists_of(structure_of(ODD)).values()
    assert ages == {"65_": "a<b&", "01": "b\ufffd", "02": "02", "_x": "]]>", "_T": "Total"}


def test_numbers_are_typed_and_codes_are_texts() -> None:
    """Whole numbers are Long, the deviation is Double, and a dimension is its code list."""
    root = structure_of(deaths())
    kinds = {
        each.get("id"): each.find(f"{STR}LocalRepresentation/{STR}TextFormat")
        for each in (*root.iter(f"{STR}Measure"), *root.iter(f"{STR}Attribute"))
    }
    typed = {name: each.get("textType") for name, each in kinds.items() if each is not None}
    assert typed["OBS_VALUE"] == typed["LOWER"] == typed["UPPER"] == "Long"
    assert (typed["NOISE_SD"], typed["TITLE"], typed["REGION_LABEL"]) == (
        "Double",
        "String",
        "String",
    )
    assert kinds["OBS_STATUS"] is None


def test_it_lies_beside_the_file_and_speaks_its_language(tmp_path: Path) -> None:
    """Written with the file, the same bytes each time, in the table's language."""
    written = formats.write(deaths(), tmp_path / "t.sdmx.csv")
    assert [each.name for each in written] == ["t.sdmx.csv", "t.sdmx.csv-structure.xml"]
    assert written[1].read_bytes() == formats.to_bytes(deaths(), "sdmx-structure")
    german = formats.to_bytes(deaths().in_language("de"), "sdmx-structure").decode()
    assert '<com:Name xml:lang="de">Status der Zelle</com:Name>' in german
    assert set(re.findall(r'xml:lang="(\w+)"', german)) == {"de"}


def test_labels_in_another_language_are_told() -> None:
    table = make(
        [axis("sex", ["x", "y"], label=Text.of({"en": "Sex", "de": "Geschlecht"}))], (True,)
    )
    german = formats.to_bytes(table.in_language("de"), "sdmx-structure").decode()
    assert "Geschlecht</com:Name>" in german
