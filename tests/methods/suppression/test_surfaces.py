"""Suppression on every surface and in every format: the same statuses, no number in a star's place."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

import discreet as dc
from discreet import formats
from discreet.core.table import Status

from ...server.serving import Served, add_accounts, serving
from . import world

QUESTION = {"rows": "eyes", "columns": "hair"}


@pytest.fixture(scope="module")
def starred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set whose table has stars."""
    return world.make(tmp_path_factory.mktemp("starred"), epsilon="0.35", delta="0.02")


@pytest.mark.slow
def test_the_same_stars_over_http_in_python_and_on_the_command_line(starred: Path):
    """One record; every format has the same statuses, and refusals name their rule."""
    tokens = add_accounts(starred.parent)
    with serving(starred.parent) as url:
        served = Served(url, starred.parent, tokens)
        with served.client("ana") as ana:
            checked = ana.post("/datasets/people/tables:check", json=QUESTION).json()
            assert checked["guarantee"]["kind"] == "semantic"
            first = ana.post("/datasets/people/tables", json=QUESTION)
            assert first.status_code == 200, first.text
            answer = first.json()
            refused = ana.post("/datasets/people/tables", json={"rows": "eyes"})
            assert refused.status_code in (403, 409, 422)
            assert refused.json()["rule"] == "overlapping-table"
            options = ana.post("/datasets/people/tables:options", json=QUESTION).json()
            assert [one["name"] for one in options["variables"]] == ["eyes", "hair", "half"]
            by_gene = ana.post("/datasets/people/tables:check", json={"rows": "gene"})
            assert "gene is a private attribute: a table by it" in by_gene.text
    with dc.open(starred) as data:
        table = data.table(**QUESTION).release().protected
    letters = [Status(int(code)).letter for code in table.status.ravel()]
    stars = [place for place, letter in enumerate(letters) if letter == "s"]
    assert stars
    assert all(answer["value"][place] is None for place in stars)
    assert all(answer["status"][str(place)] == "s" for place in stars)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "discreet", "table", str(starred)),
            *("--rows", "eyes", "--columns", "hair", "--format", "csv"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["status"] for row in rows] == letters
    assert all(rows[place]["count"] == "" for place in stars)


@pytest.mark.slow
def test_a_star_is_never_a_number(starred: Path):
    """[c] in a spreadsheet, ✱ in a terminal, a status elsewhere."""
    with dc.open(starred) as data:
        table = data.table(**QUESTION).release().protected
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))
    cells = [cell.value for row in book["Table 1"].iter_rows() for cell in row]
    assert cells.count("[c]") == int((table.status == Status.SUPPRESSED).sum())
    assert '".."' in formats.to_bytes(table, "px").decode("utf-8", "replace")
    document = formats.to_bytes(table, "json-stat").decode()
    assert "tells nothing" in document
