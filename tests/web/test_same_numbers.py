"""Random recipes over every family, by page, API, Python and command line: one answer, one charge."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from typing import Any

import httpx
import openpyxl
import pandas
import pyarrow.parquet
import pytest

import discreet as dc
from discreet import workspace
from discreet.core.domain import TOTAL
from discreet.errors import Refusal
from discreet.methods.declaration import Spends

from ..command import run
from ..server.reading import cells
from ..server.serving import PASSWORD, Served
from . import recipes

pytestmark = pytest.mark.slow

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "cell-key": ("keyed", {}),
    "noise": ("dp", {"epsilon": "0.4"}),
    "noise, gaussian": ("dp", {"epsilon": "0.4", "law": "gaussian", "delta": "1e-6"}),
    "marginals": ("dp", {"method": "marginals", "epsilon": "2"}),
    "topdown": ("dp", {"method": "topdown", "epsilon": "2"}),
    "classic": ("classic", {}),
    "suppression": ("stars", {}),
    "synthetic": ("made", {}),
}
MARKS = {"s": "✱", "x": "[x]"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_way_says_the_same(offices: Served, way: str, seed: int):
    """Numbers, percentages, totals and marks on screen are those of API, Python, command and files."""
    _same_everywhere(offices, way, seed)


@pytest.mark.proof
@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_recipes_say_the_same_everywhere(offices: Served, way: str):
    """A hundred recipes of each method give the same numbers on the page, by API, command and file."""
    for seed in range(100, 200):
        _same_everywhere(offices, way, seed)


def _same_everywhere(served: Served, way: str, seed: int) -> None:
    name, more = WAYS[way]
    folder = served.workspace / name
    with workspace.DataSet.open(folder) as data:
        spoken = recipes.drawn(random.Random(f"{way} {seed}"), data.description, more)
        charges = data.spends is not Spends.NOTHING
    at = recipes.address(spoken)
    before = _entries(served, name)
    page = _asked_by_the_page(served, name, at)
    grew = _entries(served, name) - before
    if page.status_code == 403:
        assert grew == 0
        _refused_everywhere(served, name, spoken, at)
        return
    with served.client("ben") as ben:
        said = ben.post(f"/datasets/{name}/tables", json=spoken)
        again = ben.get(f"/datasets/{name}/tables?{at}")
    assert said.status_code == again.status_code == 200, (spoken, said.text, again.text)
    stat = said.json()
    assert again.json()["value"] == stat["value"], spoken
    shown = [re.sub("<[^>]*>", "", cell) for cell in cells(page.text)]
    assert shown == _on_screen(stat, spoken), (spoken, at)
    rows = list(csv.DictReader(io.StringIO(_file(served, name, at, "csv").text)))
    _files_agree(served, name, at, rows, stat)
    with dc.open(folder) as data:
        frame = data.table(**spoken).release().to_pandas()
    assert [_number(row["count"]) for row in rows] == [
        None if pandas.isna(value) else value for value in frame["count"].tolist()
    ], spoken
    done = run("table", folder, *recipes.options(spoken), "--format", "csv")
    assert done.returncode == 0, (spoken, done.stderr)
    printed = list(csv.DictReader(io.StringIO(done.stdout)))
    for column in ("count", "percent", "lower", "upper"):
        assert [row.get(column) for row in printed] == [row.get(column) for row in rows], spoken
    assert _entries(served, name) - before == grew, spoken
    assert grew <= (1 if charges else 0), spoken


def _refused_everywhere(served: Served, name: str, spoken: dict[str, Any], at: str) -> None:
    """What the page refuses is refused by API, files, Python and command line."""
    with served.client("ben") as ben:
        assert ben.post(f"/datasets/{name}/tables", json=spoken).status_code == 403
        assert ben.get(f"/datasets/{name}/tables?{at}").status_code == 403
    with dc.open(served.workspace / name) as data, pytest.raises(Refusal):
        data.table(**spoken).release()
    done = run("table", served.workspace / name, *recipes.options(spoken), "--format", "csv")
    assert done.returncode == 3


def _asked_by_the_page(served: Served, name: str, at: str) -> httpx.Response:
    """The page of an address, after its button was pressed twice where it has one."""
    with httpx.Client(base_url=served.url, timeout=300) as own:
        own.post("/login", data={"name": "ana", "password": PASSWORD})
        page = own.get(f"/build/{name}?{at}")
        assert page.status_code in (200, 403), (at, page.text[:2000])
        button = re.search(r'action="([^"]*/release)"', page.text)
        if button is not None:
            csrf = re.findall(r'name="csrf" value="([0-9a-f]+)"', page.text)[0]
            for _ in range(2):
                done = own.post(button[1], data={"csrf": csrf, "at": at})
                assert done.status_code == 303
            page = own.get(done.headers["location"])
        return page


def _entries(served: Served, name: str) -> int:
    """How many charges and releases the ledger of a data set holds."""
    with served.client("cas") as custodian:
        said = custodian.get(f"/datasets/{name}/ledger")
    return len(said.json()["entries"]) if said.status_code == 200 else 0


def _file(served: Served, name: str, at: str, form: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens['ana']}"}
    address = f"{served.url}/build/{name}/file?{at}&format={form}"
    done = httpx.get(address, headers=headers, timeout=300)
    assert done.status_code == 200, (at, form, done.text)
    return done


def _on_screen(stat: dict[str, Any], spoken: dict[str, Any]) -> list[str]:
    """What the cells of the page must say, by what the API says."""
    percent = stat["extension"].get("percent")
    status = stat.get("status", {})
    bases = _bases(stat, spoken) if percent else [True] * len(stat["value"])
    places = int(spoken.get("decimals", "1"))
    shown = []
    for i, value in enumerate(stat["value"]):
        letter = status.get(str(i), "")
        if value is None:
            shown.append(MARKS.get(letter, letter))
        elif bases[i]:
            shown.append(f"{value:,}".replace("-", "−"))
        else:
            shown.append(_part(percent["value"][i], places))
    return shown


def _part(value: float | None, places: int) -> str:
    if value is None:
        return "–"
    if places == 0 and 0 < value < 0.5:
        return "<1"
    return f"{value:.{places}f}"


def _bases(stat: dict[str, Any], spoken: dict[str, Any]) -> list[bool]:
    """The cells that percentages are of: totals over the sides they add up."""
    sides = {side: len(spoken.get(side, ())) for side in ("layers", "rows", "columns")}
    of = stat["extension"]["percent"]["of"]
    kinds = [side for side in ("layers", "rows", "columns") for _ in range(sides[side])]
    added = {"rows": ["columns"], "columns": ["rows"], "all": ["layers", "rows", "columns"]}[of]
    bases = [True]
    for dimension, kind in zip(stat["id"], kinds, strict=True):
        codes = stat["dimension"][dimension]["category"]["index"]
        bases = [b and (kind not in added or code == TOTAL) for b in bases for code in codes]
    return bases


def _files_agree(
    served: Served, name: str, at: str, rows: list[dict[str, str]], stat: dict[str, Any]
) -> None:
    """Counts, totals and percentages of CSV, XLSX, Parquet, JSON-stat, PX and SDMX-CSV are the same."""
    counts = [_number(row["count"]) for row in rows]
    assert counts == stat["value"]
    parts = [_number(row["percent"]) for row in rows] if "percent" in rows[0] else None
    if parts is not None:
        assert parts == stat["extension"]["percent"]["value"]
    assert json.loads(_file(served, name, at, "json-stat").text)["value"] == counts
    stored = pyarrow.parquet.read_table(io.BytesIO(_file(served, name, at, "parquet").content))
    assert stored.column("count").to_pylist() == counts
    book = openpyxl.load_workbook(io.BytesIO(_file(served, name, at, "xlsx").content))
    lines = [[cell.value for cell in row] for row in book["Table 1"].rows]
    begin = next(n for n, line in enumerate(lines) if "count" in line)
    of = lines[begin].index("count")
    told = [line[of] for line in lines[begin + 1 : begin + 1 + len(rows)]]
    assert [None if isinstance(value, str) else value for value in told] == counts
    sdmx = list(csv.DictReader(io.StringIO(_file(served, name, at, "sdmx-csv").text)))
    assert [_number(row["OBS_VALUE"]) for row in sdmx] == counts
    if parts is not None:
        assert stored.column("percent").to_pylist() == parts
        at_percent = lines[begin].index("percent")
        told = [line[at_percent] for line in lines[begin + 1 : begin + 1 + len(rows)]]
        assert [None if isinstance(value, str) else value for value in told] == parts
        assert [_number(row["PERCENT"]) for row in sdmx] == parts
    data = _file(served, name, at, "px").text.rpartition("DATA=")[2]
    told = [_number(word.strip('";')) for word in data.replace(";", "").split()]
    assert sorted(filter(None, told)) == sorted(filter(None, counts))


def _number(text: str) -> float | None:
    """A number of a file; None for an empty field or a mark."""
    try:
        return float(text)
    except ValueError:
        return None
