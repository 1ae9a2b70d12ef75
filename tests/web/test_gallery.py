"""A gallery of what the page can say: each state is brought about, says its words, and bars nobody."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from ..languages.german import english_in
from ..server.serving import PASSWORD, Served
from .test_browser import AXE, _violations, watched

pytestmark = pytest.mark.slow

PAID = "/build/deaths-dp?rows=region&columns=sex&epsilon=0.1"
STATES: dict[str, tuple[str, str, str]] = {
    "empty builder": ("", "/build/deaths", "Pick a variable to start, or take one of these"),
    "free": ("", "/build/deaths?rows=sex", "Allowed, and free"),
    "costs": ("ana", f"{PAID[:-3]}0.4", "Release for ε 0.4"),
    "sign in to spend": ("", "/build/deaths-dp?rows=marital&epsilon=0.1", "Sign in to spend"),
    "released": ("ana", PAID, "paid once"),
    "there already": ("ana", f"{PAID[:-3]}0.2", "You have this table at ±"),
    "follows": (
        "ana",
        "/build/deaths-dp?rows=sex&epsilon=0.1",
        "Follows from an earlier release, free",
    ),
    "more than is left": ("ana", "/build/deaths-dp?rows=month&epsilon=20", "More than is left"),
    "refused": (
        "ana",
        "/build/deaths?rows=ccg&columns=cause,age,sex&layers=month",
        "These work, each checked just now",
    ),
    "not understood": ("", "/build/deaths?rows=colour", "Not understood"),
    "as a job": (
        "ana",
        "/build/deaths?rows=ccg,month&columns=cause,age",
        "It runs as a job",
    ),
    "by pages of rows": (
        "",
        "/build/deaths?rows=ccg,marital&columns=age",
        "Rows 1 to 100 of 1,764",
    ),
    "the last page of rows": (
        "",
        "/build/deaths?rows=ccg,marital&columns=age&from=1665",
        "Rows 1,665 to 1,764 of 1,764",
    ),
    "below zero": ("ana", f"{PAID}&view=notes", "Random noise was added to the numbers"),
    "odds as dots": ("ana", f"{PAID}&view=notes", "of 100 possible releases, at best"),
    "remembered": (
        "ana",
        "/build/genes?rows=eyes&where=town:south",
        "Allowed, and remembered",
    ),
    "exact": ("ana", "/build/genes?rows=eyes&columns=hair&where=town:north", "shown exactly"),
    "higher": (
        "",
        "/build/deaths?rows=region&columns=age&a=E12000008,85%2B&b=E12000001,85%2B",
        "A is higher, and that is not noise.",
    ),
    "cannot tell": (
        "",
        "/build/deaths?rows=region&columns=age&a={a}&b={b}",
        "Cannot tell: this may be noise.",
    ),
    "released before": ("", "/releases", "Deaths by sex"),
    "superseded": ("", "/releases/{old}", "A newer release took its place"),
    "took its place": ("", "/releases/{new}", "It took the place of"),
    "withdrawn": ("", "/releases/{wrong}", "wrong region codes"),
    "asking the custodian": ("ana", "/build/deaths/ask?at=rows%3Dccg", "no number does"),
    "asked": ("ana", "/build/deaths/ask?sent=true", "Sent. The answer will stand below"),
    "nothing found": ("", "/search?query=kentish", "Nothing called"),
    "near": ("", "/data/death", "Did you mean"),
    "nothing saved": ("cas", "/saved", "Nothing is saved yet"),
    "no job": ("cas", "/jobs", "Large tables run as jobs"),
    "keys": ("", "/account", "Single letters work outside of fields"),
    "no number for an auditor": (
        "odo",
        "/build/deaths?rows=sex",
        "numbers are for those who may ask",
    ),
}
"""State, who reads it, where it is, and what it says."""


@pytest.fixture(scope="module")
def shown(served: Served) -> tuple[Served, dict[str, str]]:
    """The demo with a table that was paid, and releases in every state."""
    with served.client("ana") as ana:
        asked = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.1"}
        assert ana.post("/datasets/deaths-dp/tables", json=asked).is_success
        stars = {"rows": ["eyes"], "columns": ["hair"], "where": {"town": ["north"]}}
        assert ana.post("/datasets/genes/tables", json=stars).is_success
        same = ana.post("/datasets/deaths/tables", json={"rows": ["region"], "columns": ["age"]})
    names = _equal_cells(same.json())
    with served.client("cas") as custodian:

        def publish(name: str, **more: Any) -> None:
            body = {"dataset": "deaths", "title": "Deaths by sex", "recipe": {"rows": ["sex"]}}
            done = custodian.post("/releases", json=body | more)
            assert done.status_code == 201, done.text
            names[name] = done.json()["id"]

        publish("old")
        publish("new", supersedes=names["old"])
        publish("wrong")
        body = {"reason": "wrong region codes"}
        assert custodian.post(f"/releases/{names['wrong']}/withdraw", json=body).is_success
    return served, names


def _equal_cells(stat: dict[str, Any]) -> dict[str, str]:
    """Two cells that were published with the same number: nobody can tell them apart."""
    regions, ages = (stat["dimension"][name]["category"]["index"] for name in stat["id"])
    cells = [f"{region},{quote(age)}" for region in regions for age in ages]
    first: dict[int, str] = {}
    for cell, value in zip(cells, stat["value"], strict=True):
        if value in first and "_T" not in cell + first[value]:
            return {"a": first[value], "b": cell}
        first.setdefault(value, cell)
    raise AssertionError("no two cells are the same")


def _get(served: Served, who: str, path: str, language: str = "en") -> httpx.Response:
    headers = {"Accept-Language": language}
    if who:
        headers["Authorization"] = f"Bearer {served.tokens[who]}"
    return httpx.get(served.url + path, headers=headers, timeout=300)


def _text(page: str) -> str:
    """What a page says, without its markup."""
    bare = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare)).split())


@pytest.mark.parametrize("state", STATES)
def test_every_state_says_its_words(shown: tuple[Served, dict[str, str]], state: str):
    """The words of each state are on its page, and no mark of a template or of an error of ours."""
    served, names = shown
    who, path, words = STATES[state]
    page = _get(served, who, path.format(**names))
    assert page.status_code in (200, 400, 401, 403, 410)
    said = _text(page.text)
    assert words in said
    assert not re.search(r"\{\w*\}|Undefined|None of None", said)


@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 1440, ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")),
        ("dark", 1440, ("color-contrast",)),
        ("light", 320, ("color-contrast", "target-size", "scrollable-region-focusable")),
    ],
    ids=("light", "dark", "narrow"),
)
def test_no_state_bars_anybody(
    chromium: Any,
    shown: tuple[Served, dict[str, str]],
    scheme: str,
    width: int,
    rules: tuple[str, ...],
):
    """axe-core finds nothing on any state; none scrolls sideways."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there: run tools/system_needs.py")
    served, names = shown
    script, found = AXE.read_text("utf-8"), []
    options = {"color_scheme": scheme, "width": width, "bypass_csp": True}
    for reader in ("", "ana", "cas", "odo"):
        with watched(chromium, served, **options) as seen:
            if reader:
                seen.sign_in(reader)
            for state, (who, path, _) in STATES.items():
                if who == reader:
                    seen.open(path.format(**names))
                    found += _violations(seen, state, script, rules)
    assert found == []


GERMAN = (
    "/",
    "/data",
    "/data/{name}",
    "/build/{name}",
    "/build/{name}?rows=kreis&columns=geschlecht",
    "/build/{name}?rows=kreis&columns=geschlecht&percent=rows&show=intervals",
    "/build/{name}?rows=kreis&columns=geschlecht&view=notes",
    "/build/{name}?rows=kreis&columns=geschlecht&view=chart",
    "/build/{name}/pick/kreis?rows=region",
    "/search?query=nord",
    "/search?query=nichts+davon",
    "/saved",
    "/releases",
    "/jobs",
    "/account",
    "/login",
    "/build/{name}/ask?at=rows%3Dkreis",
)


NAMES = re.compile("Differential Privacy|cell-key|audit, manage, read, tables|synthetic records")
"""Names of a guarantee, a method, scopes, and a title that a data set was given when it was made."""


@pytest.mark.parametrize("name", ["keyed", "dp", "classic", "stars"])
def test_every_page_is_german_to_a_german(offices: Served, name: str):
    """No English word stands on a page of German data for a reader who wishes German."""
    found: dict[str, str] = {}
    for path in GERMAN:
        page = _get(offices, "ana", path.format(name=name), "de")
        assert page.status_code == 200, path
        assert 'lang="de"' in page.text
        bare = re.sub(r"<(script|style|svg|pre|code)\b.*?</\1>", " ", page.text, flags=re.DOTALL)
        texts = [html.unescape(text) for text in re.split(r"<[^>]*>", bare)]
        named = re.findall(
            r'(?:aria-label|title|placeholder|data-(?:said|copied|checking|lost|kept|busy|again))="([^"]*)"',
            bare,
        )
        said = [NAMES.sub("", text) for text in (*texts, *named)]
        found |= {word: f"{path}: {text}" for word, text in english_in(said).items()}
    assert not found


def test_who_was_signed_out_is_told_so(served: Served):
    """A browser that still sends an old session's cookie reads that it ended, on every page."""
    with httpx.Client(base_url=served.url, timeout=300) as own:
        own.post("/login", data={"name": "ana", "password": PASSWORD})
        page = own.get("/data").text
        assert "You were signed out" not in page
        assert int(re.findall(r'data-ends="(\d+)"', page)[0]) <= 24 * 3600
        kept = dict(own.cookies)
        csrf = re.findall(r'name="csrf" value="([0-9a-f]+)"', own.get("/account").text)[0]
        own.post("/logout", data={"csrf": csrf})
    with httpx.Client(base_url=served.url, timeout=300, cookies=kept) as late:
        assert "You were signed out" in late.get("/data").text
