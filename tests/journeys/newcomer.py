"""A custodian's first table by the pages alone, replayed from the README: where does she have to stop?

    python -m tests.journeys.newcomer [--records 20000] [--into FOLDER]

Her file is the one of `tests.journeys.custodian`: ragged, latin-1, decimal commas, several stays of one
patient. She makes an account, starts the server on an empty folder, drops her file, says whom she
protects, declares, answers three questions for a budget, sees the price of her first table, publishes
one, takes its files, and withdraws it. A *stop* is a place where she cannot
go on, is told something untrue, or has to guess. `BEFORE` says which steps were stops when somebody
first walked this way.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from ..patience import PATIENCE, wait_until
from ..server.serving import free_port
from .custodian import Journey, records, write

BEFORE = frozenset(
    {
        "the page after signing in leads on",
        "her home says how to add a data set",
        "the size of a file is said as people say it",
        "the finished data set leads to a release",
        "the first table is small enough to tell something",
        "a phone shows the page for a file",
    }
)
"""The steps that stopped the first custodian who tried the pages."""
PASSWORD = "a long enough phrase"


@contextmanager
def served(journey: Journey) -> Iterator[str]:
    """`discreet serve` on the folder that holds an account and no data set."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", "work", "--port", str(port)],
        cwd=journey.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    base = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(base), "the server to answer")
        yield base
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()


def _answers(base: str) -> bool:
    try:
        return httpx.get(f"{base}/health", timeout=PATIENCE).status_code == 200
    except httpx.HTTPError:
        return False


def walk(folder: Path, browser: Any, number: int = 3_000) -> Journey:
    """The whole way, from an empty folder to a table that was published and withdrawn."""
    journey, stays = Journey(folder), records(number)
    write(folder / "stays.csv", stays)
    (folder / "work").mkdir()
    with journey.step("an account is made by one command"):
        said = journey.discreet(
            *("user", "add", "work", "cora", "--role", "custodian", "--password"),
            sent=f"{PASSWORD}\n",
        )
        assert "cora (custodian)" in said, said
    with served(journey) as base:
        page = _signed_in(browser, base)
        _drops(journey, page, base, browser)
        _describes(journey, page, stays)
        _makes(journey, page, stays)
        _publishes(journey, page, base)
        page.context.close()
    return journey


def _signed_in(browser: Any, base: str) -> Any:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{base}/login")
    page.fill("input[name=name]", "cora")
    page.fill("input[name=password]", PASSWORD)
    page.click("main button")
    return page


def _text(page: Any, where: str = "main") -> str:
    return " ".join(page.inner_text(where).split())


def _drops(journey: Journey, page: Any, base: str, browser: Any) -> None:
    with journey.step("the page after signing in leads on"):
        assert page.locator("main >> text=Add a data set").count() == 1, _text(page)
    with journey.step("her home says how to add a data set"):
        page.goto(f"{base}/custodian")
        assert page.locator("main >> text=Add a data set").count() == 1
        page.click("main >> text=Add a data set")
    page.goto(f"{base}/custodian/new")
    with journey.step("the size of a file is said as people say it"):
        assert "GB" in _text(page), _text(page)
    with journey.step("a phone shows the page for a file"):
        page.set_viewport_size({"width": 320, "height": 700})
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        page.set_viewport_size({"width": 1440, "height": 900})
        assert wide <= 0, f"it scrolls sideways by {wide}"
    with journey.step("the file is taken as it is"):
        page.set_input_files("input[type=file]", str(journey.folder / "stays.csv"))
        page.click("main form .button.main")
        page.wait_for_selector("form.draft")
        assert "12 columns" in _text(page), _text(page)


def _describes(journey: Journey, page: Any, stays: list[dict[str, str]]) -> None:
    most = max(Counter(stay["Patient_ID"] for stay in stays).values())
    with journey.step("who one unit is, is asked and not guessed"):
        said = _text(page)
        assert "Say who one unit of protection is" in said, said
        assert f"up to {most:,} records" in said, said
    with journey.step("a level that some branches skip is there"):
        assert "have no Verbund" in _text(page, "#declare"), _text(page, "#declare")
    with journey.step("a wrong answer is said and nothing is lost"):
        page.fill("#unit", "person")
        page.fill("#records", "four")
        page.click("#columns button")
        assert "four" in _text(page), _text(page)
        assert page.input_value("#unit") == "person"
    with journey.step("whom she protects is said in a few fields"):
        page.select_option("select[aria-label*='Patient_ID']", "id")
        page.fill("#records", "4")
        page.check("input[name=over][value=drop]")
        page.click("#columns button")
        page.wait_for_selector("form.draft")
        assert "Say who one unit of protection is" not in _text(page)
    with journey.step("what is unsafe to declare is said beside it"):
        assert "chosen by looking at the data" in _text(page, "#declare")
        for box in page.locator("input[name=declared]").all():
            box.check()
    with journey.step("three questions give a budget"):
        page.check("input[name=family][value=dp]")
        page.fill("#within", "20")
        page.fill("#tables", "4")
        page.click("#protect button")
        page.wait_for_selector("form.draft")
        assert "Floor" in _text(page, "#protect"), _text(page, "#protect")


def _makes(journey: Journey, page: Any, stays: list[dict[str, str]]) -> None:
    kept = sum(min(n, 4) for n in Counter(stay["Patient_ID"] for stay in stays).values())
    with journey.step("the data set is made, with what was left out"):
        page.fill("input[name=name]", "stays")
        page.click("button[value=finish]")
        page.wait_for_selector("h1:has-text('is ready')")
        said = _text(page)
        assert f"{len(stays) - kept:,} records were left out" in said, said
    with journey.step("the finished data set leads to a release"):
        assert page.locator("main >> text=Publish a table").count() == 1
    with journey.step("the first table shows its price before it is paid"):
        page.click("main .button.main")
        verdict = _text(page, "#verdict")
        assert "Release for ε" in verdict, verdict
        page.click("#verdict button")
        page.wait_for_selector("d-table tbody td")
    with journey.step("the first table is small enough to tell something"):
        cells, noisy = page.locator("d-table td").count(), page.locator("d-table td.u").count()
        assert noisy * 2 < cells, f"{noisy} of {cells} numbers are mostly noise"


def _publishes(journey: Journey, page: Any, base: str) -> None:
    with journey.step("it is published: price, look, reason, publish"):
        page.goto(f"{base}/custodian")
        page.click("tr:has-text('stays') >> text=Publish")
        page.fill("input[name=title]", "Stays by sex")
        page.fill("textarea[name=recipe]", "rows=geschlecht&epsilon=0.1")
        page.click("text=See what it would cost")
        page.click("button:has-text('Make it')")
        page.fill("textarea[name=reason]", "compared with last year")
        page.click("button:has-text('Approve')")
        page.click("text=Publish now")
        assert page.inner_text(".state") == "published"
    address = ""
    with journey.step("its files are there for who may read them"):
        released = page.url.rpartition("/")[2]
        address = f"{base}/releases/{released}"
        page.goto(address)
        with page.expect_download() as download:
            page.click("main .button.main")
        assert download.value.suggested_filename.endswith((".csv", ".zip", ".xlsx"))
    with journey.step("withdrawn, its address says why"):
        page.goto(f"{base}/custodian/stays/publish/{address.rpartition('/')[2]}")
        page.click("text=Withdraw this release")
        page.fill("textarea[name=reason]", "wrong clinic codes")
        page.click("button:has-text('Withdraw')")
        page.goto(address)
        assert "wrong clinic codes" in _text(page), _text(page)


def report(journey: Journey) -> str:
    """Every step with its stop before and now, and the counts."""
    lines = [f"{'before':7}{'now':7}{'s':>6}  step"]
    for what in journey.steps:
        before, now = ("stop" if what in some else "–" for some in (BEFORE, journey.stops))
        lines.append(f"{before:7}{now:7}{journey.seconds[what]:6.1f}  {what}")
    lines.append(f"stops before: {len(BEFORE)}, now: {len(journey.stops)}")
    return "\n".join([*lines, *(f"\n{what}:\n{why}" for what, why in journey.stops.items())])


def main() -> None:
    """Walk, and say where it stopped and how long each step took."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--into", type=Path)
    asked = parser.parse_args()
    folder = asked.into or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        program = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        journey = walk(folder, browser, asked.records)
        browser.close()
    print(report(journey))
    print(f"{sum(journey.seconds.values()):.0f} seconds in all")
    sys.exit(1 if journey.stops else 0)


if __name__ == "__main__":
    main()
