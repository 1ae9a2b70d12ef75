"""The custodians' pages in a browser: by mouse, by keyboard, without scripts; nothing barred."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..server.serving import Served, add_accounts, serving
from .conftest import SETTINGS
from .test_browser import AXE, Watched, _violations, watched

pytestmark = pytest.mark.slow

QUESTION = "rows=region&columns=sex&epsilon=0.2"


@pytest.fixture(scope="module")
def office(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two custodians who can sign in; `deaths-dp` needs both for a release."""
    workspace = tmp_path_factory.mktemp("office") / "demo"
    shutil.copytree(demo, workspace)
    with (workspace / "deaths-dp" / "discreet.yaml").open("a", encoding="utf-8") as stream:
        stream.write("approval: two\n")
    tokens = add_accounts(workspace, passwords=("ana", "cas", "dora", "odo"))
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


def state(seen: Watched) -> str:
    words: str = seen.page.inner_text(".state")
    return words


def made(seen: Watched, title: str, question: str = QUESTION) -> None:
    """From home to a release that is ready, by its price."""
    page = seen.page
    seen.open("/custodian")
    page.click("tr:has-text('deaths-dp') >> text=Publish")
    page.fill("input[name=title]", title)
    page.fill("textarea[name=recipe]", question)
    page.click("text=See what it would cost")
    page.click("button:has-text('Make it')")
    assert state(seen) == "ready"


def decided(seen: Watched, title: str) -> None:
    """The other custodian finds it at home, approves, publishes and withdraws it."""
    page = seen.page
    seen.open("/custodian")
    page.click(f".decide:has-text('{title}') >> text=Look at it")
    page.fill("textarea[name=reason]", "compared with last year")
    page.click("button:has-text('Approve')")
    assert state(seen) == "approved"
    page.click("text=Publish now")
    assert state(seen) == "published"
    page.click("text=Withdraw this release")
    page.fill("textarea[name=reason]", "wrong region codes")
    page.click("button:has-text('Withdraw')")
    assert state(seen) == "withdrawn"
    assert "wrong region codes" in page.inner_text("main")


@pytest.mark.parametrize("scripts", [True, False], ids=["mouse", "without scripts"])
def test_a_release_from_its_price_to_its_withdrawal(chromium: Any, office: Served, scripts: bool):
    """One makes it and may not approve it, the other approves, publishes and withdraws it."""
    title = "By mouse" if scripts else "Without scripts"
    with watched(chromium, office, java_script_enabled=scripts) as seen:
        seen.sign_in("cas")
        made(seen, title)
        assert "Another custodian must approve" in seen.page.inner_text("main")
        assert seen.page.locator("button:has-text('Approve')").count() == 0
    with watched(chromium, office, java_script_enabled=scripts) as seen:
        seen.sign_in("dora")
        decided(seen, title)


def test_a_release_by_keyboard(chromium: Any, office: Served):
    """Every step is reached by Tab and done with Enter."""

    def go(seen: Watched, words: str) -> None:
        for _ in range(120):
            seen.page.keyboard.press("Tab")
            at = seen.page.evaluate(
                "(document.activeElement.innerText || document.activeElement.name || '').trim()"
            )
            if at.startswith(words):
                return
        raise AssertionError(f"{words} is not reached by Tab")

    with watched(chromium, office) as seen:
        seen.sign_in("cas")
        keys = seen.page.keyboard
        seen.open("/custodian/deaths-dp/publish")
        go(seen, "title")
        keys.type("By keyboard")
        go(seen, "recipe")
        keys.type("rows=sex&epsilon=0.2")
        go(seen, "See what it would cost")
        with seen.page.expect_navigation():
            keys.press("Enter")
        go(seen, "Make it")
        with seen.page.expect_navigation():
            keys.press("Enter")
        assert state(seen) == "ready"
        address = seen.page.url.removeprefix(office.url)
    with watched(chromium, office) as seen:
        seen.sign_in("dora")
        keys = seen.page.keyboard
        seen.open(address)
        go(seen, "reason")
        keys.type("seen")
        for words in ("Approve", "Publish now", "Withdraw this release"):
            go(seen, words)
            with seen.page.expect_navigation():
                keys.press("Enter")
        go(seen, "reason")
        keys.type("tried")
        go(seen, "Withdraw")
        with seen.page.expect_navigation():
            keys.press("Enter")
        assert state(seen) == "withdrawn"


@pytest.mark.parametrize("scripts", [True, False], ids=["mouse", "without scripts"])
def test_a_policy_is_proposed_and_accepted(chromium: Any, office: Served, scripts: bool):
    """A draft in the studio, what it changes, a proposal, and the other custodian's word."""
    most = "3" if scripts else "2"
    with watched(chromium, office, java_script_enabled=scripts) as seen:
        page = seen.page
        seen.sign_in("cas")
        seen.open("/custodian/deaths/policy")
        page.fill("input[name=variables]", most)
        page.click("text=See what follows")
        assert f"at most {most} variables in a table" in page.inner_text(".list .new")
        page.fill("textarea[name=reason]", "fewer at first")
        page.click("button:has-text('Propose this policy')")
        assert "another policy for deaths" in page.inner_text(".decide")
        assert page.locator("button:has-text('Accept')").count() == 0
    with watched(chromium, office, java_script_enabled=scripts) as seen:
        seen.sign_in("dora")
        seen.open("/custodian")
        seen.page.click(".decide button:has-text('Accept')")
        seen.open("/data/deaths")
        assert f"at most {most} variables in a table" in seen.page.inner_text("main")


def test_accounts_and_shares_by_their_forms(chromium: Any, office: Served):
    """An analyst is added, given a share and ended; a custodian is proposed and not made alone."""
    with watched(chromium, office, java_script_enabled=False) as seen:
        page = seen.page
        seen.sign_in("cas")
        seen.open("/custodian/people")
        page.fill("input[name=name]", "newcomer")
        page.click("main button:has-text('Add')")
        assert page.inner_text("h1") == "newcomer"
        seen.open("/custodian/deaths-dp/ledger")
        page.fill("input[name=scope]", "user:newcomer")
        page.fill("input[name=epsilon]", "1")
        page.fill("#shares input[name=reason]", "a course")
        page.click("text=Set the share")
        assert "user:newcomer" in page.inner_text("#shares")
        seen.open("/custodian/people/newcomer")
        assert "ε 1" in page.inner_text("main")
        page.click("button:has-text('End it')")
        assert "ended" in page.inner_text("tr:has-text('newcomer')")
        seen.open("/custodian/people")
        page.fill("input[name=name]", "third")
        page.select_option("select[name=role] >> nth=1", "custodian")
        page.fill("input[name=reason]", "more eyes")
        page.click("main button:has-text('Add')")
        assert "Another custodian must accept it." in page.inner_text("main")
        seen.open("/custodian/log")
        with page.expect_download() as download:
            page.click("text=CSV")
        assert download.value.suggested_filename == "log.csv"


VIEWS = {
    "home": "/custodian",
    "releases": "/custodian/releases",
    "publish": f"/custodian/deaths-dp/publish?title=Regions&recipe={QUESTION.replace('&', '%26')}",
    "studio": "/custodian/deaths-dp/policy?records=500000",
    "no room": "/custodian/deaths-dp/policy?tables=90&variables=2",
    "studio of keys": "/custodian/deaths/policy",
    "ledger": "/custodian/deaths-dp/ledger?verify=true",
    "people": "/custodian/people",
    "person": "/custodian/people/ana",
    "log": "/custodian/log",
}


@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 1440, ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")),
        ("dark", 320, ("color-contrast", "target-size", "scrollable-region-focusable")),
    ],
    ids=("light", "dark and narrow"),
)
def test_nothing_stands_in_a_custodians_way(
    chromium: Any, office: Served, scheme: str, width: int, rules: tuple[str, ...]
):
    """axe-core finds no violation on any view, and none scrolls sideways."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there: run tools/system_needs.py")
    script, found = AXE.read_text("utf-8"), []
    with watched(chromium, office, color_scheme=scheme, width=width, bypass_csp=True) as seen:
        seen.sign_in("cas")
        made(seen, f"For {scheme}", f"rows=month&epsilon=0.{width}")
        release = seen.page.url.removeprefix(office.url)
        more = {"release": release, "withdraw": f"{release}/withdraw"}
        for name, path in (VIEWS | more).items():
            seen.open(path)
            found += _violations(seen, name, script, rules)
    assert found == []
