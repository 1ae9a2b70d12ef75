"""SDMX-CSV files are read by pysdmx without a registry, and by Python's own csv module."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from pysdmx.io import read_sdmx
from pysdmx.model.dataset import ActionType

from discreet import formats
from discreet.core.table import ProtectedTable, Status
from discreet.formats import sdmxcsv

from ..examples import examples
from .tables import axis, deaths, make, tables, unescaped

GRAND_TOTAL = make([], (), values=[1234])
OBS = {"": "A", "u": "U", "low": "Q", "c": "Q", "s": "Q", "z": "A", "x": "O", "d": "A"}
CONF = {"": "F", "u": "F", "low": "C", "c": "C", "s": "C", "z": "F", "x": "N", "d": "F"}


def rows_of(table: ProtectedTable) -> list[dict[str, str]]:
    text = formats.to_bytes(table, "sdmx-csv").decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.slow
@examples(150)
@example(table=deaths())
@example(table=GRAND_TOTAL)
@given(table=tables())
def test_every_cell_is_one_observation(table: ProtectedTable) -> None:
    """Numbers, statuses and labels of every cell; identifiers SDMX allows, no two alike."""
    rows = rows_of(table)
    assert len(rows) == table.cells
    header = list(rows[0])
    assert len(header) == len(set(header))
    assert header[:3] == ["STRUCTURE", "STRUCTURE_ID", "ACTION"]
    count = len(table.domain.axes)
    variables = header[3 : 3 + count]
    assert header[3 + count : 5 + count] == ["OBS_VALUE", "OBS_STATUS"]
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in header)
    labels = [name for name in header if name.endswith("_LABEL")][-count:] if count else []
    seen = set()
    for row, cell in zip(rows, np.ndindex(*table.shape), strict=True):
        status = Status(int(table.status[cell]))
        value = str(int(table.values[cell])) if status in (0, 1, 5, 7) else ""
        assert row["OBS_VALUE"] == value
        assert row["CELL_STATUS"] == status.letter
        assert row["OBS_STATUS"] == OBS[status.letter]
        assert row["CONF_STATUS"] == CONF[status.letter]
        codes = tuple(row[name] for name in variables)
        assert all(re.fullmatch(r"[A-Za-z0-9_@$-]+", code) for code in codes)
        seen.add(codes)
        for position, name in enumerate(labels):
            wanted = " ".join(table.labels(position)[cell[position]].split())
            assert unescaped(row[name]) == wanted
            code = table.codes(position)[cell[position]]
            if re.fullmatch(r"[A-Za-z0-9_$][A-Za-z0-9_@$-]*", code):
                assert codes[position] == code, "a code SDMX allows is not changed"
        if not value and table.noise is not None:
            assert row["NOISE_SD"] == row["LOWER"] == row["UPPER"] == ""
    assert len(seen) == table.cells, "two cells with the same key"


@pytest.mark.parametrize("table", [deaths(), GRAND_TOTAL], ids=["deaths", "grand total"])
def test_pysdmx_reads_the_same_observations(table: ProtectedTable) -> None:
    """pysdmx knows the file for SDMX-CSV 2.0, and finds each code, number and status."""
    message = read_sdmx(formats.to_bytes(table, "sdmx-csv").decode())
    (data,) = message.data
    frame = data.data
    assert data.action is ActionType.Information
    assert re.fullmatch(r"Dataflow=DISCREET:DEATHS_AB12AB12AB12AB12\(1\.0\.0\)", data.structure)
    assert len(frame) == table.cells
    records: list[dict[str, Any]] = frame.to_dict("records")
    for row, cell in zip(records, np.ndindex(*table.shape), strict=True):
        status = Status(int(table.status[cell]))
        assert row["OBS_VALUE"] == (str(int(table.values[cell])) if status in (0, 1, 5) else "")
        assert row["OBS_STATUS"] == OBS[status.letter]
        if table.domain.axes:
            assert (row["REGION"], row["SEX"]) == tuple(
                table.codes(i)[place] for i, place in enumerate(cell)
            )


def test_every_word_stands_in_the_first_row() -> None:
    """Title, guarantee, footnotes, citation, hash and versions; later rows leave them empty."""
    table = deaths()
    first, *rest = rows_of(table)
    assert first["TITLE"] == table.title
    assert first["GUARANTEE"] == table.guarantee.sentence()
    assert first["CITATION"] == formats.citation(table)
    for sentence in formats.footnote(table):
        assert (sentence in first["NOTE"]) != (sentence == first["GUARANTEE"])
    where = table.provenance
    found = (first["QUESTION_HASH"], first["DATA_VERSION"], first["POLICY_VERSION"])
    assert found == (where.question_hash, where.data_version, where.policy_version)
    assert all(row["GUARANTEE"] == "" for row in rest)


def test_codes_sdmx_does_not_allow_are_changed_and_named() -> None:
    """65+ becomes 65_, never a code that is there already, and the note says which."""
    table = make([axis("age", ["a", "b", "c", "d"], codes=["65+", "65_", "_T_", "@x"])], (True,))
    rows = rows_of(table)
    assert [row["AGE"] for row in rows] == ["65__2", "65_", "_T_", "_x", "_T"]
    assert "'65+' is 65__2" in rows[0]["NOTE"]
    assert "_T_" not in rows[0]["NOTE"]


def test_blocks_do_not_change_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table longer than a block is written as one that is not."""
    whole = formats.to_bytes(deaths(), "sdmx-csv")
    monkeypatch.setattr(sdmxcsv, "_BLOCK", 5)
    assert formats.to_bytes(deaths(), "sdmx-csv") == whole


def test_the_endings_say_which_csv() -> None:
    assert formats.by_extension("t.sdmx.csv") == "sdmx-csv"
    assert formats.by_extension("T.CSV") == "csv"
    assert formats.by_name("SDMX").name == "sdmx-csv"
