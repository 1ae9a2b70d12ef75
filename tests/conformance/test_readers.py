"""CSV, JSON-stat and SDMX files by the defaults of those who read them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import formats
from discreet.formats.table_files import read_tables

from .conftest import Tools

STAT = """
const JSONstat = require("jsonstat-toolkit"), fs = require("fs");
const table = JSONstat(JSON.parse(fs.readFileSync(process.argv[1])));
console.log(JSON.stringify({
  id: table.id, size: table.size,
  values: table.Data().map(cell => cell.value),
  status: table.Data().map(cell => cell.status),
  labels: table.Dimension(0).Category().map(one => one.label),
}));
"""


@pytest.fixture(scope="module")
def table(demo: Path) -> discreet.ProtectedTable:
    with discreet.open(demo / "deaths") as deaths:
        return deaths.table(rows="region", columns="sex").release().tables[0]


def test_pandas_reads_unknown_places_by_its_defaults(
    table: discreet.ProtectedTable, tmp_path: Path
) -> None:
    """Those without a place are there, where a code NA would be lost."""
    formats.write(table, tmp_path / "t.csv")
    read = pd.read_csv(tmp_path / "t.csv")
    assert not read.region.isna().any()
    assert read.set_index(["region", "sex"])["count"].loc[("_U", "_T")] > 0


def test_the_documented_reader_keeps_a_code_that_says_na(tmp_path: Path) -> None:
    """`keep_default_na=False` with empty numbers as missing, and codes as texts."""
    (tmp_path / "t.csv").write_text("region,region_label,count\r\nNA,x,\r\n007,y,2\r\n")
    read = pd.read_csv(
        tmp_path / "t.csv",
        keep_default_na=False,
        na_values={"count": [""]},
        dtype={"region": str, "region_label": str},
    )
    assert read.region.tolist() == ["NA", "007"]
    assert read["count"].isna().tolist() == [True, False]


def test_a_byte_order_mark_stands_where_it_is_asked_for(
    table: discreet.ProtectedTable, tmp_path: Path
) -> None:
    plain = formats.to_bytes(table, "csv")
    assert formats.to_bytes(table, "csv-bom") == b"\xef\xbb\xbf" + plain
    formats.write(table, tmp_path / "t.csv", "csv-bom")
    (back,) = read_tables(tmp_path / "t.csv")
    assert formats.to_bytes(back, "csv") == plain


@pytest.mark.slow
def test_jsonstat_toolkit_reads_every_cell(
    table: discreet.ProtectedTable, tools: type[Tools], tmp_path: Path
) -> None:
    """Another language's reader: ids, sizes, labels, values and statuses."""
    formats.write(table, tmp_path / "t.json")
    written = json.loads((tmp_path / "t.json").read_text("utf-8"))
    told = json.loads(tools.node(STAT, tmp_path / "t.json", folder=tmp_path))
    assert (told["id"], told["size"]) == (written["id"], written["size"])
    assert told["values"] == written["value"]
    assert [i for i, one in enumerate(told["status"]) if one] == sorted(
        map(int, written.get("status", {}))
    )
    first = written["dimension"][written["id"][0]]["category"]
    assert told["labels"] == [first["label"][code] for code in first["index"]]


SDMX1 = """
import json, sys, sdmx
flow, = sdmx.read_sdmx(sys.argv[1] + "-structure.xml").dataflow.values()
(data,) = sdmx.read_sdmx(sys.argv[1], structure=flow).data
first = flow.structure.dimensions.components[0]
print(json.dumps({
  "dimensions": [each.id for each in flow.structure.dimensions.components],
  "labels": {code.id: str(code.name) for code in first.local_representation.enumerated},
  "cells": [[*(str(part.value) for part in obs.key.values.values()), obs.value] for obs in data.obs],
}))
"""
PYSDMX = """
import json, sys
from pathlib import Path
from pysdmx.io import get_datasets, read_sdmx
structure = Path(sys.argv[1] + "-structure.xml")
read_sdmx(structure, validate=True)  # against SDMX's own schemas
(data,) = get_datasets(Path(sys.argv[1]), structure)
frame, about = data.data, data.structure.components
names = [each.id for each in about.dimensions]
print(json.dumps({
  "dimensions": names,
  "labels": {code.id: code.name for code in about[names[0]].enumeration},
  "cells": [[*row[:-1], "" if str(row[-1]) == "<NA>" else str(row[-1])]
            for row in frame[[*names, "OBS_VALUE"]].astype(object).values.tolist()],
}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("script", [SDMX1, PYSDMX], ids=["sdmx1", "pysdmx"])
def test_sdmx_is_read_with_the_structure_beside_it(
    script: str, demo: Path, tools: type[Tools], tmp_path: Path
) -> None:
    """Dimensions, labels and every cell; codes of digits stay texts."""
    with discreet.open(demo / "deaths") as deaths:
        table = deaths.table(rows="month", columns="sex", totals="none").release().tables[0]
    formats.write(table, tmp_path / "t.sdmx.csv")
    (tmp_path / "read.py").write_text(script)
    told = json.loads(tools.python("read.py", "t.sdmx.csv", folder=tmp_path))
    assert told["dimensions"] == ["MONTH", "SEX"]
    assert told["labels"] == dict(zip(table.codes(0), table.labels(0), strict=True))
    assert told["cells"] == [
        [table.codes(0)[row], table.codes(1)[column], str(value)]
        for (row, column), value in np.ndenumerate(table.values)
    ]


@pytest.mark.slow
def test_the_documented_readers_of_sdmx_run(
    table: discreet.ProtectedTable, tools: type[Tools], tmp_path: Path
) -> None:
    """Both examples with a structure, as they stand on the page."""
    formats.write(table, tmp_path / "deaths.sdmx.csv")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "read-with-other-tools.md"
    blocks = re.findall(r"```py\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "structure.xml" in block]
    assert len(blocks) == 2
    for block in blocks:
        (tmp_path / "read.py").write_text(block)
        tools.python("read.py", folder=tmp_path)
