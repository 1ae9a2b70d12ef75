"""Pages, tables and reports without an error of the Nu validator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import httpx
import pytest
from tools import other_tools

import discreet
from discreet import formats

from ..server.serving import PASSWORD, Served
from ..server.test_roles import PAGES
from .conftest import Tools

MORE = (
    "/build/deaths?rows=cause&columns=age&percent=columns&decimals=0&show=heat",
    "/build/deaths?rows=region&columns=age&view=chart",
    "/build/deaths?rows=ccg&columns=cause,age,sex&layers=month",
    "/build/deaths-dp?rows=region&columns=age&epsilon=0.25",
    "/build/deaths?rows=colour",
    "/data/nowhere",
    "/api/v1/docs",
)


def faults(*files: Path) -> list[str]:
    """What the validator calls an error, with the file and the place."""
    jar = other_tools.NODE / "vnu-jar" / "build" / "dist" / "vnu.jar"
    done = subprocess.run(
        ["java", "-Xss4m", "-jar", str(jar), "--format", "json", "--exit-zero-always", *files],
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stderr)["messages"]
    return [
        f"{Path(one.get('url', '')).name}: {one['message']} … {one.get('extract', '')}"
        for one in told
        if one["type"] != "info"
    ]


@pytest.mark.slow
def test_every_page_is_valid_html(served: Served, tools: type[Tools], tmp_path: Path) -> None:
    """Every page of the application by somebody with all rights, and some tables."""
    files = []
    for name, role in (("cas", "custodian"), ("", "public")):
        with httpx.Client(base_url=served.url, timeout=600) as client:
            if name:
                client.post("/api/v1/session", json={"name": name, "password": PASSWORD})
            paths = [path for _, path in PAGES.values() if "export" not in path]
            for number, path in enumerate((*paths, *MORE)):
                answer = client.get(path, headers={"Accept": "text/html"})
                if "text/html" in answer.headers.get("content-type", "") and answer.text:
                    files.append(tmp_path / f"{role}-{number}.html")
                    files[-1].write_text(answer.text, "utf-8")
    assert len(files) > 20
    assert not faults(*files)


@pytest.mark.slow
def test_reports_and_tables_are_valid_html(
    fresh_demo: Path, tools: type[Tools], tmp_path: Path
) -> None:
    """Both editions of a release report with pictures, and a table saved as a page."""
    with discreet.open(fresh_demo / "deaths-dp") as deaths:
        release = deaths.table(rows="region", columns="sex", epsilon="0.5").release()
        release.write(tmp_path / "out")
        formats.write(release.tables[0], tmp_path / "table.html")
    files = [*tmp_path.rglob("*.html")]
    assert len(files) >= 3, files
    assert not faults(*files)
