"""A reader's first visit, replayed from the README: where does she have to stop?

    python -m tests.journeys.reader [--into FOLDER]

She runs `discreet demo`, as `make demo` does, and opens the address it prints in Debian's Chromium.
She builds deaths by region and cause in per cent of rows, finds two regions that truly differ, takes
the table as XLSX and as a link, spends ε on a table under a budget, and comes back to it on the next
day, when the server was started anew. A *stop* is a place where she cannot go on, is told something
untrue, or has to guess. `BEFORE` says which steps were stops when somebody first walked this way.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from ..patience import PATIENCE, wait_until
from ..server.serving import free_port
from .custodian import Journey

BEFORE = frozenset(
    {
        "the first table says plainly what its noise does",
        "the first table can be taken along at once",
        "the filter says what is chosen",
        "the answer of a comparison can be taken along",
        "a sharper table is shown by its errors first",
        "accuracy can be asked for in one's own figure",
        "a misspelt data set is told from a missing one",
    }
)
"""The steps that stopped the first reader who tried."""
CAUSE = "Underlying cause of death: External causes"


@contextmanager
def demo(folder: Path, port: int) -> Iterator[str]:
    """`discreet demo`, running; where it says that it is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "demo", "--into", "demo", "--port", str(port)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        for line in process.stdout:
            said += line
            if "Without login" in line:
                break
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        wait_until(lambda: _answers(found[0]), "the demo to answer")
        yield found[0]
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()


def _answers(base: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{base}/health", timeout=PATIENCE).status_code == 200
    return False


def walk(folder: Path, browser: Any) -> Journey:
    """The whole way: the first day, and the next."""
    journey, port = Journey(folder), free_port()
    with demo(folder, port) as base:
        page = _visitor(browser, base)
        _first_visit(journey, page)
        shared = _builds(journey, page, browser, base)
        _compares(journey, page)
        paid, numbers = _spends(journey, page)
        _is_refused(journey, page, base)
        page.context.close()
    with demo(folder, port) as base:
        _comes_back(journey, _visitor(browser, base), shared, paid, numbers)
    return journey


def _visitor(browser: Any, base: str) -> Any:
    """A page of somebody who was never here, at the address."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(base)
    return page


def _text(page: Any, where: str = "main") -> str:
    return " ".join(page.inner_text(where).split())


def _cells(page: Any) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("table.grid tbody td").all_inner_texts()]


def _first_visit(journey: Journey, page: Any) -> None:
    with journey.step("the first page is a table that says something"):
        assert "What people die of changes with age" in page.inner_text("h1")
        assert len(_cells(page)) > 100
    with journey.step("the first table says plainly what its noise does"):
        told = _text(page, ".under")
        assert "same people always get the same noise" in told, told
        assert "no finite ε" not in told, told
    with journey.step("the first table can be taken along at once"):
        with page.expect_download() as download:
            page.click("main >> text=Download")
        assert download.value.suggested_filename.endswith(".xlsx")


def _builds(journey: Journey, page: Any, browser: Any, base: str) -> str:
    """Deaths by region and cause, per cent by row; the link that was shared."""
    shared = ""
    with journey.step("deaths by region and cause, per cent of rows, by clicks"):
        page.click("nav >> text=Data sets")
        page.click("main >> text=Synthetic deaths >> nth=0")
        page.click("text=Build a table")
        page.click("[data-variable=area] summary")
        page.click("[data-variable=area] >> text=Region")
        page.wait_for_url("**rows=region")
        page.click("[data-variable=cause] summary")
        page.click("[data-variable=cause] .levels a")
        page.wait_for_url("**columns=cause")
        page.click("role=group[name='Per cent'] >> text=Rows")
        page.wait_for_url("**percent=rows")
        row = page.locator("table.grid tbody tr").first.locator("td").all_inner_texts()
        parts = [float(re.sub("u$", "", text.split("\n")[0])) for text in row[:-1]]
        assert 98 < sum(parts) < 102, row
    with journey.step("the file holds what the screen shows"):
        import openpyxl

        page.click(".tools summary >> text=Download")
        with page.expect_download() as download:
            page.click("text=Excel workbook")
        book = openpyxl.load_workbook(io.BytesIO(Path(download.value.path()).read_bytes()))
        lines = [[cell.value for cell in line] for line in book["Table 1"].rows]
        begin = next(n for n, line in enumerate(lines) if "percent" in line)
        at = lines[begin].index("percent")
        told = [f"{line[at]:.1f}" for line in lines[begin + 1 : begin + 16]]
        assert told == [re.sub("u$", "", text) for text in _cells(page)[:15]]
        page.keyboard.press("Escape")
    with journey.step("the link shows others the same table"):
        page.click(".tools summary >> text=Share")
        shared = page.input_value("#address")
        friend = _visitor(browser, shared)
        assert _cells(friend) == _cells(page)
        friend.context.close()
        page.goto(shared)
    with journey.step("the filter says what is chosen"):
        page.goto(f"{base}/build/deaths?rows=region&columns=age")
        page.fill("#find", "external")
        page.click(".results a >> nth=0")
        page.wait_for_url("**where=cause:V01-Y98")
        chip = page.locator(".chip.only summary").first
        assert chip.inner_text().strip() == CAUSE
        assert chip.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
        page.goto(shared)
    return shared


def _compares(journey: Journey, page: Any) -> None:
    with journey.step("two regions are found that truly differ"):
        rows = page.locator("table.grid tbody tr")
        names = [rows.nth(n).locator("th").first.inner_text() for n in range(rows.count())]
        for name in ("South East", "Wales"):
            rows.nth(names.index(name)).locator("td").nth(1).click()
        page.wait_for_selector("aside .answer")
        assert "higher, and that is not noise" in page.inner_text("aside .answer")
    with journey.step("the answer of a comparison can be taken along"):
        said = page.get_attribute("aside [data-copy]", "data-copy")
        assert said, "no sentence to copy"
        assert "South East" in said, said
        assert "not noise" in said, said


def _spends(journey: Journey, page: Any) -> tuple[str, list[str]]:
    """A table under a budget: its errors first, its price on the button; where it is, and its numbers."""
    paid, numbers = "", []
    with journey.step("a table under a budget shows its errors and its price before"):
        page.click("nav >> text=Data sets")
        page.click("main >> text=Synthetic deaths (DP)")
        page.click("text=Build a table")
        page.click("[data-variable=area] summary")
        page.click("[data-variable=area] >> text=Region")
        page.wait_for_url("**rows=region**")
        page.click("[data-variable=sex] summary")
        page.click("[data-variable=sex] .levels a")
        page.wait_for_url("**columns=sex**")
        assert page.locator("table.grid.ghost").count() == 1
        assert "Release for ε 0.1" in _text(page, "#verdict")
    with journey.step("accuracy can be asked for in one's own figure"):
        page.click(".tools summary >> text=other…")
        page.fill("input[name=within]", "20")
        page.press("input[name=within]", "Enter")
        page.wait_for_url("**within=20**")
        assert "±20" in _text(page, "#verdict")
        page.go_back()
        page.wait_for_selector("#verdict >> text=Release for ε 0.1")
    with journey.step("one press releases it"):
        page.click("#verdict button")
        page.wait_for_selector("#verdict.ok")
        paid, numbers = page.url, _cells(page)
        assert "paid once" in _text(page, "#verdict")
        assert len(numbers) == 42
    with journey.step("a sharper table is shown by its errors first"):
        page.click("#verdict >> text=Sharper")
        page.wait_for_selector("table.grid.ghost")
        assert "already, for nothing" in _text(page)
    return paid, numbers


def _is_refused(journey: Journey, page: Any, base: str) -> None:
    with journey.step("a table that is refused leads to one that works"):
        page.goto(f"{base}/build/deaths?rows=ccg&columns=cause,age,sex&layers=month")
        assert "Not this table" in _text(page, "#verdict")
        page.click(".ways a >> nth=-1")
        page.wait_for_selector("#verdict.ok")
    with journey.step("a misspelt data set is told from a missing one"):
        page.goto(f"{base}/data/death")
        assert "Did you mean deaths" in _text(page)


def _comes_back(journey: Journey, page: Any, shared: str, paid: str, numbers: list[str]) -> None:
    with journey.step("on the next day the table is there, for nothing"):
        page.goto(paid)
        assert _cells(page) == numbers
        assert "paid once" in _text(page, "#verdict")
        assert "0.1" in _text(page, "#verdict")
    with journey.step("the shared link still says the same"):
        page.goto(shared)
        assert "percent=rows" in page.url
        assert page.locator("table.grid tbody td").count() > 100
    page.context.close()


def report(journey: Journey) -> str:
    """Where it stopped, and how many steps there were."""
    lines = [f"{len(journey.steps)} steps, {len(BEFORE)} stops before, {len(journey.stops)} now."]
    return "\n".join([*lines, *(f"{what}: {why}" for what, why in journey.stops.items())])


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = options.into or Path(name)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        journey = walk(folder, browser)
        browser.close()
    print(report(journey))
    return len(journey.stops)


if __name__ == "__main__":
    sys.exit(main())
