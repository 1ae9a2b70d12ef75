"""Percentages over HTTP, on the page, in the client and on the command line: the same everywhere."""

from __future__ import annotations

import csv
import io

import httpx
import pytest

import discreet as dc

from ..command import run
from .reading import cells, links
from .serving import Served

PATH = "/datasets/deaths/tables"


@pytest.mark.slow
def test_percentages_are_the_same_everywhere_under_their_own_tag(served: Served) -> None:
    """POST, short address, job result, CSV, client, disk, command line; none without asking."""
    asked = {"rows": ["region"], "columns": ["sex"], "percent": "rows"}
    with served.client() as public:
        plain = public.post(PATH, json={"rows": ["region"], "columns": ["sex"]})
        found = public.post(PATH, json=asked)
        again = public.post(PATH, json=asked)
        short = public.get(f"{PATH}?rows=region&columns=sex&percent=row")
        text = public.post(PATH, json=asked, params={"format": "csv"}).text
        check = public.post(f"{PATH}:check", json=asked).json()
    said = found.json()["extension"]["percent"]
    assert "percent" not in plain.json()["extension"]
    assert plain.json()["value"] == found.json()["value"]
    assert len({plain.headers["etag"], found.headers["etag"]}) == 2
    assert again.json() == found.json() == short.json()
    assert said["of"] == "rows"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["percent"]) for row in rows] == said["value"]
    assert [float(row["percent_lower"]) for row in rows] == said["lower"]
    assert check["recipe"]["percent"] == "rows"
    assert "percent=rows" in check["query"]
    with dc.connect(served.url, served.tokens["ana"]) as server:
        remote = server.open("deaths").table(rows=["region"], columns=["sex"], percent="rows")
        assert remote.release().to_pandas()["percent"].tolist() == said["value"]
    with dc.open(served.workspace / "deaths") as data:
        local = data.table(rows=["region"], columns=["sex"], percent="rows").release()
        assert local.to_pandas()["percent"].tolist() == said["value"]
    words = ["--rows", "region", "--columns", "sex", "--percent", "rows", "--format", "csv"]
    done = run("table", served.workspace / "deaths", *words)
    assert done.stdout.splitlines() == text.splitlines()


def test_the_page_shows_them_and_says_what_is_wrong(served: Served) -> None:
    """What they are of is chosen by a link; the total keeps its count, and all are the API's."""
    page = httpx.get(f"{served.url}/build/deaths?rows=region&columns=sex&percent=columns").text
    asked = {"rows": ["region"], "columns": ["sex"], "percent": "columns"}
    said = httpx.post(f"{served.url}/api/v1/datasets/deaths/tables", json=asked, timeout=300).json()
    percents, counts = said["extension"]["percent"]["value"], said["value"]
    *parts, one, two, three = cells(page)
    assert parts == ["–" if part is None else f"{part:.1f}" for part in percents[:-3]]
    assert [one, two, three] == [f"{count:,}" for count in counts[-3:]]
    assert any("percent=rows" in link for link in links(page))
    wrong = httpx.get(f"{served.url}/build/deaths?rows=region&percent=rows")
    assert wrong.status_code == 400
    assert "needs variables in columns" in wrong.text
