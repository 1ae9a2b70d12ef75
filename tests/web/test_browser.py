"""The page in a browser: the whole journey by mouse, by keyboard, without scripts; nothing barred."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ..patience import PATIENCE
from ..server.serving import PASSWORD, Served

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("DISCREET_AXE", ROOT / ".venv" / "axe-core" / "axe.min.js"))
TABLE = "/build/deaths?rows=region&columns=age"
VIEWS = {
    "first visit": "/",
    "catalogue": "/data",
    "data set": "/data/deaths",
    "empty builder": "/build/deaths",
    "table": f"{TABLE}&show=intervals",
    "heat and layers": "/build/deaths?rows=marital,sex&columns=age&layers=country&show=heat",
    "percentages": f"{TABLE}&percent=rows",
    "ghost": "/build/deaths-dp?rows=region&columns=age&epsilon=0.25",
    "stars": "/build/genes?rows=eyes&columns=hair&where=town:north",
    "refused": "/build/deaths?rows=ccg,cause&columns=age,sex&layers=month",
    "not understood": "/build/deaths?rows=colour",
    "comparison": f"{TABLE}&a=E12000008,25-34&b=E12000002,25-34",
    "choosing cells": f"{TABLE}&choose=1",
    "chart": f"{TABLE}&view=chart",
    "notes": f"{TABLE}&view=notes",
    "code": f"{TABLE}&view=code",
    "categories": "/build/deaths/pick/ccg?rows=region",
    "search": "/search?query=wales",
    "sign in": "/login",
    "about": "/about",
    "account": "/account",
    "no such page": "/data/nowhere",
}
OWN = {"saved": "/saved", "jobs": "/jobs", "oversight": "/audit", "ledger": "/audit/deaths-dp"}
"""Views of the signed in: saved tables and jobs for ana, the others for the auditor."""


class Watched:
    """A page of which everything that goes wrong is written down."""

    def __init__(self, page: Any, base: str) -> None:
        self.page, self.base = page, base
        self.wrong: list[str] = []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.route("**/*", self._ask)

    def _said(self, message: Any) -> None:
        expected = "the server responded with a status of 4" in message.text
        if message.type in ("error", "warning") and not expected:
            self.wrong.append(f"{message.type}: {message.text}")

    def _ask(self, route: Any) -> None:
        if urlsplit(route.request.url).netloc != urlsplit(self.base).netloc:
            self.wrong.append(f"asked for {route.request.url}")
            route.abort()
        else:
            route.continue_()

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)

    def sign_in(self, name: str = "ana") -> None:
        self.open("/login")
        self.page.fill("input[name=name]", name)
        self.page.fill("input[name=password]", PASSWORD)
        self.page.click("main button")

    @property
    def verdict(self) -> str:
        text: str = self.page.locator("#verdict").inner_text()
        return " ".join(text.split())


@contextmanager
def watched(chromium: Any, served: Served, **options: Any) -> Iterator[Watched]:
    """A page of a fresh browser profile; nothing may have gone wrong at its end."""
    size = {"width": options.pop("width", 1440), "height": 900}
    context = chromium.new_context(viewport=size, locale="en-GB", **options)
    try:
        page = Watched(context.new_page(), served.url)
        yield page
        assert page.wrong == []
    finally:
        context.close()


def test_a_journey_by_mouse(chromium: Any, served: Served):
    """From the first table to a shared, compared, downloaded, drawn and paid one; back undoes."""
    with watched(chromium, served) as seen:
        page = seen.page
        seen.open("/")
        page.click("text=Open in the builder")
        seen.open("/build/deaths")
        page.click("[data-variable=area] summary")
        page.click("[data-variable=area] .levels a >> text=Region")
        page.wait_for_url("**rows=region")
        page.click("[data-variable=cause] summary")
        page.click("[data-variable=cause] .levels a")
        page.wait_for_url("**rows=region&columns=cause")
        page.click("role=group[name='Per cent'] >> text=Rows")
        page.wait_for_url("**percent=rows")
        page.go_back()
        page.wait_for_selector("role=group[name='Per cent'] >> [aria-current] >> text=None")
        cells = page.locator("d-table tbody td")
        cells.nth(1).click()
        cells.nth(17).click()
        page.wait_for_selector("aside .answer")
        assert re.search("not noise|may be noise", page.inner_text("aside .answer"))
        page.click(".views >> text=Chart")
        page.wait_for_selector("figure svg")
        page.click(".views >> text=Table")
        page.wait_for_selector("d-table")
        page.click(".tools summary >> text=Download")
        with page.expect_download() as download:
            page.click("text=Excel workbook")
        assert download.value.suggested_filename.endswith(".xlsx")
        box = page.locator(".chip").first.bounding_box()
        layers = page.locator("[data-axis=layers]").bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + 15)
        page.mouse.down()
        page.mouse.move(layers["x"] + 60, layers["y"] + 20, steps=6)
        page.mouse.up()
        page.wait_for_url("**layers=region**")


def test_a_price_is_paid_once_and_found_again(chromium: Any, served: Served):
    """Signing in keeps the table; the button names its price; saved, it is there without paying."""
    with watched(chromium, served) as seen:
        page = seen.page
        seen.open("/build/deaths-dp?rows=sex&columns=marital&epsilon=0.1")
        assert "Sign in to spend" in seen.verdict
        page.click("#verdict a")
        page.fill("input[name=name]", "ana")
        page.fill("input[name=password]", PASSWORD)
        page.click("main button")
        assert "Allowed, for ε 0.1" in seen.verdict
        page.click("#verdict button")
        page.wait_for_selector("#verdict.ok")
        assert "paid once" in seen.verdict
        page.click(".tools summary >> text=Share")
        page.click("text=Save this table")
        page.wait_for_url("**/saved")
        page.click(".list a >> nth=0")
        page.wait_for_selector("#verdict.ok")
        assert "paid once" in seen.verdict


def test_a_journey_by_keyboard(chromium: Any, served: Served):
    """Search, chips, views, cells and the price: all without a pointer."""
    with watched(chromium, served) as seen:
        page = seen.page
        press = page.keyboard.press
        seen.open(TABLE)
        press("/")
        page.keyboard.type("marital")
        page.wait_for_selector(".results a")
        press("ArrowDown")
        press("Enter")
        page.wait_for_url("**marital**")
        seen.open(TABLE)
        page.focus(".chip summary")
        press("c")
        page.wait_for_url("**columns=age,region")
        page.focus("[data-name=region] summary")
        press("ArrowLeft")
        page.wait_for_url("**columns=region,age")
        page.focus("[data-name=region] summary")
        press("Enter")
        press("Escape")
        assert page.locator("details.chip[open]").count() == 0
        press("r")
        page.wait_for_url("**rows=region&columns=age")
        press("x")
        page.wait_for_url("**rows=age&columns=region")
        press("h")
        page.wait_for_url("**view=chart")
        press("t")
        page.wait_for_selector("d-table")
        page.focus("tbody td[tabindex='0']")
        press("ArrowDown")
        press("ArrowRight")
        press("c")
        press("ArrowRight")
        press("Enter")
        page.wait_for_selector("aside .answer")
        seen.sign_in()
        seen.open("/build/deaths-dp?rows=sex&columns=month&epsilon=0.1")
        press("g")
        press("Enter")
        page.wait_for_selector("#verdict.ok")
        assert "paid once" in seen.verdict


def test_a_journey_without_scripts(chromium: Any, served: Served):
    """Links and forms alone build, choose, compare, draw, sign in, spend, save and sign out."""
    with watched(chromium, served, java_script_enabled=False) as seen:
        page = seen.page
        seen.open("/build/deaths")
        page.click("[data-variable=area] summary")
        page.click("[data-variable=area] .levels a >> text=Region")
        page.click("[data-variable=age] summary")
        page.click("[data-variable=age] .levels a")
        page.click(".chip summary >> nth=0")
        page.click("[data-name=region] .menu a >> text=Choose")
        page.check("input[value=E12000008]")
        page.check("input[value=E12000002]")
        page.click("text=Take these")
        assert "where=region:E12000002,E12000008" in page.url
        page.click("text=Compare two cells")
        page.locator("tbody input").nth(3).check()
        page.locator("tbody input").nth(14).check()
        page.click("button >> text=Compare them")
        assert "noise" in page.inner_text("aside .answer")
        page.click(".views >> text=Chart")
        assert page.locator("figure svg").count() == 1
        page.fill("#find", "sex")
        page.press("#find", "Enter")
        page.click("[data-kind=variables] a")
        assert "sex" in page.url
        seen.sign_in()
        seen.open("/build/deaths-dp?rows=sex&columns=region&epsilon=0.1")
        page.click("#verdict button")
        assert "paid once" in seen.verdict
        seen.open("/account")
        page.click("text=Sign out")
        assert page.locator("text=Sign in").count()


def test_an_auditor_sees_ledger_log_and_chain_and_no_number(chromium: Any, served: Served):
    """Verified now, exported whole; a table shows its verdict alone."""
    with watched(chromium, served) as seen:
        seen.sign_in("odo")
        seen.page.click("text=Oversight")
        seen.page.click("a >> text=Synthetic deaths (DP)")
        seen.page.click("text=Verify now")
        assert "The chain is whole" in seen.page.inner_text("main")
        with seen.page.expect_download() as download:
            seen.page.click("text=Export everything")
        assert download.value.suggested_filename.endswith(".json")
        seen.open(TABLE)
        assert seen.page.locator("table.grid").count() == 0


@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 1440, ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")),
        ("dark", 1440, ("color-contrast",)),
        ("light", 320, ("color-contrast", "target-size", "scrollable-region-focusable")),
    ],
    ids=("light", "dark", "narrow"),
)
def test_nothing_stands_in_anybodys_way(
    chromium: Any, served: Served, scheme: str, width: int, rules: tuple[str, ...]
):
    """axe-core finds no violation on any view; no page scrolls sideways, at 320 pixels neither."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there: run tools/system_needs.py")
    found = []
    script = AXE.read_text("utf-8")
    options = {"color_scheme": scheme, "width": width, "bypass_csp": True}
    with watched(chromium, served, **options) as seen:
        for name, path in VIEWS.items():
            seen.open(path)
            found += _violations(seen, name, script, rules)
        seen.sign_in()
        for name in ("saved", "jobs"):
            seen.open(OWN[name])
            found += _violations(seen, name, script, rules)
    with watched(chromium, served, **options) as seen:
        seen.sign_in("odo")
        for name in ("oversight", "ledger"):
            seen.open(OWN[name])
            found += _violations(seen, name, script, rules)
    assert found == []


def _violations(seen: Watched, name: str, script: str, rules: tuple[str, ...]) -> list[str]:
    seen.page.evaluate(script)
    options = {"runOnly": list(rules), "resultTypes": ["violations"]}
    said = seen.page.evaluate("options => axe.run(document, options)", options)
    found = [f"{name}: {one['id']} {one['nodes'][0]['html'][:120]}" for one in said["violations"]]
    wide = seen.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*found, *([f"{name}: scrolls sideways by {wide}"] if wide > 0 else [])]
