"""A new data set in a browser: dropped, declared, protected, its first table; with and without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..patience import wait_until
from ..server.drafting import STAYS, stays, tree
from ..server.serving import Served, add_accounts, serving
from .conftest import SETTINGS
from .test_browser import AXE, watched

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workspace without a data set; cas is a custodian with a password."""
    workspace = tmp_path_factory.mktemp("drafts")
    tokens = add_accounts(workspace, passwords=("cas",))
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


@pytest.mark.parametrize("scripts", [True, False])
def test_from_a_file_to_its_first_table(
    chromium: Any, served: Served, scripts: bool, tmp_path: Path
):
    """Upload, look, answer, cancel without a trace; again, to the first table; axe has no finding."""
    file = tmp_path / STAYS
    file.write_bytes(stays(300))
    with watched(chromium, served, java_script_enabled=scripts) as seen:
        page = seen.page
        seen.sign_in("cas")
        before = tree(served.workspace)
        for last in (False, True):
            seen.open("/custodian/new")
            page.set_input_files("input[type=file]", str(file))
            page.click("main form .button.main")
            page.wait_for_selector("form.draft")
            page.fill("#unit", "person")
            page.select_option("select[name=role-1]", "id")
            page.fill("#records", "4")
            page.check("input[name=over][value=drop]")
            if scripts and AXE.exists():
                page.evaluate(AXE.read_text("utf-8"))
                found = page.evaluate("axe.run().then((all) => all.violations.map((v) => v.id))")
                assert found == []
            if not last:
                page.click("text=Cancel and delete everything")
                page.wait_for_url("**/custodian/new")
                assert tree(served.workspace) == before
        page.fill("input[name=name]", f"stays_{scripts}")
        page.click("#columns button")
        page.wait_for_selector("form.draft")
        for box in page.locator("input[name=declared]").all():
            box.check()
        page.click("button[value=finish]")
        page.wait_for_selector("h2#title")
        assert page.locator("table.grid td").count() > 4


def choose(page: Any, file: Path, go: Callable[[], None]) -> None:
    """Go to the field and press Enter until the browser asks for a file: a busy one may miss a key."""
    asked: list[Any] = []

    def ask(chooser: Any) -> None:
        asked.append(chooser)

    page.on("filechooser", ask)

    def pressed() -> bool:
        go()
        page.keyboard.press("Enter")
        page.wait_for_timeout(1000)
        return bool(asked)

    wait_until(pressed, "the browser to ask for a file")
    asked[0].set_files(str(file))


def test_a_draft_by_keyboard(chromium: Any, served: Served, tmp_path: Path):
    """From the file to the first table under a budget, with Tab, Space, Enter and letters alone."""
    file = tmp_path / STAYS
    file.write_bytes(stays(300))
    with watched(chromium, served) as seen:
        page, keys = seen.page, seen.page.keyboard
        seen.sign_in("cas")

        def go(*names: str) -> None:
            """Tab to the field or button of this name, and value where it has one of several."""
            wanted = "=".join(names)
            for _ in range(200):
                keys.press("Tab")
                at = page.evaluate(
                    "(e => [e.name, [e.name, e.value].join('='), (e.innerText || '').trim()])"
                    "(document.activeElement)"
                )
                if wanted in at:
                    return
            raise AssertionError(f"{wanted} is not reached by Tab")

        def pressed(key: str, until: str) -> None:
            keys.press(key)
            page.wait_for_selector(until)

        seen.open("/custodian/new")
        page.wait_for_load_state("networkidle")
        choose(page, file, lambda: go("file"))
        go("Upload")
        pressed("Enter", "form.draft")
        go("name")
        keys.press("Control+a")
        keys.type("by_keys")
        go("role-1")
        keys.type("names")
        go("unit")
        keys.type("person")
        go("records")
        keys.type("4")
        go("over", "stop")
        keys.press("ArrowDown")
        for box in page.locator("input[name=declared]").all():
            go("declared", box.get_attribute("value"))
            keys.press("Space")
        go("family", "cell-key")
        keys.press("ArrowDown")
        go("budget")
        keys.type("3")
        go("do", "finish")
        pressed("Enter", "h1:has-text('by_keys is ready')")
        go(page.inner_text("main .button.main"))
        pressed("Enter", "#verdict button")
        go("Release for ε 1")
        pressed("Enter", "d-table tbody td")
        assert "ε 2 of 3" in page.inner_text("main"), page.inner_text("#verdict")
