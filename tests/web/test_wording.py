"""What stands over, under and beside a table is short, whole, and in the reader's language."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from discreet.web import oversight_routes

from ..server.serving import PASSWORD, Served
from .test_browser import watched

CAUSE = "/build/deaths?rows=region&columns=age&where=cause:V01-Y98"
REFUSED = "/build/deaths?rows=ccg&columns=cause,age,sex&layers=month"


def text_of(answer: httpx.Response) -> str:
    """The words of a page's main part."""
    main = answer.text.partition("<main")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


@contextmanager
def signed_in(served: Served, name: str) -> Iterator[httpx.Client]:
    """A browser without a window, after the form of /login."""
    with httpx.Client(base_url=served.url, timeout=300, follow_redirects=True) as client:
        form = {"name": name, "password": PASSWORD, "next": "/about"}
        assert client.post("/login", data=form, headers={"Origin": served.url}).is_success
        yield client


def test_a_heading_is_short_and_filters_stand_below_it(served: Served) -> None:
    """What labels say in brackets, and who is counted, would fill three lines of a telephone."""
    page = httpx.get(served.url + CAUSE)
    assert '<h2 id="title">Synthetic deaths by region and age at death</h2>' in page.text
    assert "Only underlying cause of death: External causes." in text_of(page)
    cause = httpx.get(f"{served.url}/build/deaths?rows=cause&columns=age")
    assert "by underlying cause of death and age at death</h2>" in cause.text


def test_notes_are_in_the_language_of_the_page(served: Served) -> None:
    """Labels may be English alone; what is said of the noise is German all the same."""
    page = httpx.get(served.url + CAUSE, headers={"Accept-Language": "de"})
    assert "Typischer Fehler ±3" in page.text
    assert "Typical error" not in page.text
    assert "Typischer Fehler" in httpx.get(served.url, headers={"Accept-Language": "de"}).text


def test_a_number_that_follows_from_others_is_explained(served: Served) -> None:
    """A raised d stands in the key below the table."""
    recipe = {"rows": ["eyes"], "columns": ["hair"], "where": {"town": ["south"]}}
    with served.client("ana") as ana:
        assert ana.post("/datasets/genes/tables", json=recipe).is_success
    with signed_in(served, "ana") as client:
        page = client.get("/build/genes?rows=eyes&columns=hair&where=town:south")
    assert "<sup>d</sup></td>" in page.text
    assert "12<sup>d</sup>" in page.text  # the key below: no violet, which is noise
    assert "follows from other published numbers" in text_of(page)
    assert "Number with Gene: has it." in text_of(page)


SUP_COLOURS = """() => {
  const row = document.querySelector(".grid tbody tr");
  const colour = (kind, letter) => {
    const cell = row.appendChild(document.createElement("td"));
    cell.className = kind;
    const raised = cell.appendChild(document.createElement("sup"));
    raised.textContent = letter;
    return getComputedStyle(raised).color;
  };
  const noise = document.body.appendChild(document.createElement("span"));
  noise.className = "noisy";
  return [colour("", "d"), colour("u", "u"), getComputedStyle(noise).color];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_that_follows_is_not_coloured_as_noise(
    served: Served, chromium: Any, scheme: str
) -> None:
    """Violet is noise and nothing else: a raised u has it, a raised d has not."""
    window = chromium.new_context(color_scheme=scheme)
    page = window.new_page()
    page.goto(served.url + CAUSE)
    derived, unreliable, noise = page.evaluate(SUP_COLOURS)
    window.close()
    assert unreliable == noise
    assert derived != noise


HINT = """() => {
  const field = document.getElementById("find");
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(field).font;
  return [pen.measureText(field.placeholder).width, field.clientWidth];
}"""


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_hint_where_one_finds_variables_is_whole(
    served: Served, chromium: Any, language: str
) -> None:
    """On a desk, a tablet and a telephone."""
    for width in (1920, 1360, 1024, 768, 390, 320):
        window = chromium.new_context(locale=language, viewport={"width": width, "height": 800})
        page = window.new_page()
        page.goto(served.url + CAUSE)
        wanted, there = page.evaluate(HINT)
        window.close()
        assert wanted <= there, width


def test_what_a_page_refused_is_what_people_wanted(served: Served) -> None:
    """A custodian reads which table it was, not only that a rule refused something."""
    assert httpx.get(served.url + REFUSED).status_code == 403
    with signed_in(served, "cas") as client:
        home = text_of(client.get("/custodian"))
    assert "× Month of death" in home.partition("Asked and refused")[2]


def test_an_auditor_reads_entries_in_words(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which table was paid, by whom, at what loss; and a broken chain never looks like a whole one."""
    recipe = {"rows": ["sex"], "columns": ["marital"], "epsilon": "0.3"}
    with served.client("ana") as ana:
        assert ana.post("/datasets/deaths-dp/tables", json=recipe).is_success
    with signed_in(served, "odo") as client:
        ledger = client.get("/audit/deaths-dp?verify=true")
        assert re.search(r"(Sex × Marital status|Marital status × Sex)", text_of(ledger))
        assert "ε 0.3" in text_of(ledger)
        assert "The budget was set." in text_of(ledger)
        assert 'class="notice ok"' in ledger.text
        monkeypatch.setattr(oversight_routes, "verified", lambda data: (False, "Entry 3 differs."))
        broken = client.get("/audit/deaths-dp?verify=true").text
        assert '<p class="notice no" role="status">Entry 3 differs.</p>' in broken
        assert "differential privacy under a budget" in text_of(client.get("/audit"))


def test_nobody_is_promised_a_table_that_waits_for_its_release(served: Served) -> None:
    """What a custodian made and has not published is offered to custodians alone."""
    recipe = {"rows": ["month"], "columns": ["marital"], "epsilon": "0.5"}
    body = {"dataset": "deaths-dp", "title": "Later", "recipe": recipe}
    with served.client("cas") as cas:
        late = body | {"publish_at": "2999-01-01T00:00:00+00:00"}
        assert cas.post("/releases", json=late).is_success
    address = "/build/deaths-dp?rows=month&columns=marital&epsilon=0.25"
    promise = "You have this table at"
    assert promise not in text_of(httpx.get(served.url + address))
    with signed_in(served, "cas") as client:
        assert promise in text_of(client.get(address)) or "Follows" in client.get(address).text


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1360])
def test_every_menu_opens_on_the_screen(chromium: Any, served: Served, width: int) -> None:
    """A chip's menu is whole wherever the chip stands, from left to right and the other way."""
    inside = """() => {
      const menu = document.querySelector(".chip[open] > .menu").getBoundingClientRect();
      return menu.left >= 0 && menu.right <= document.documentElement.clientWidth;
    }"""
    for language in ("", "qps-rtl"):
        with watched(chromium, served, width=width) as seen:
            if language:
                cookie = {"name": "discreet-language", "value": language, "url": served.url}
                seen.page.context.add_cookies([cookie])
            seen.open(REFUSED)
            for chip in seen.page.locator(".chip > summary").all():
                chip.click()
                assert seen.page.evaluate(inside), chip.inner_text()


@pytest.mark.slow
def test_the_price_on_a_telephone_stands_beside_its_button(chromium: Any, served: Served) -> None:
    """The bar at the bottom edge is one line of words and one button that does not wrap."""
    with watched(chromium, served, width=390) as seen:
        seen.sign_in("ana")
        seen.open("/build/deaths-dp?rows=month&columns=sex&epsilon=0.25")
        bar = seen.page.locator("#verdict").bounding_box()
        button = seen.page.locator("#verdict .button").bounding_box()
        assert button["height"] <= 36
        assert bar["height"] <= 90
        assert bar["y"] + bar["height"] <= 900, "its last line is below the screen"


@pytest.mark.slow
def test_code_and_charts_run_from_left_to_right_in_every_language(
    chromium: Any, served: Served
) -> None:
    """Where text runs the other way, code keeps its brackets and no label leaves its picture."""
    outside = """() => {
      const sheet = document.querySelector(".picture > svg").getBoundingClientRect();
      return [...document.querySelectorAll(".picture text")].map(e => e.getBoundingClientRect())
        .filter(box => box.left < sheet.left - 1 || box.right > sheet.right + 1).length;
    }"""
    with watched(chromium, served) as seen:
        cookie = {"name": "discreet-language", "value": "qps-rtl", "url": served.url}
        seen.page.context.add_cookies([cookie])
        seen.open("/build/deaths?rows=region&columns=age&view=code")
        ways = "all => all.map(e => getComputedStyle(e).direction)"
        assert set(seen.page.eval_on_selector_all("pre", ways)) == {"ltr"}
        assert seen.page.evaluate("document.documentElement.dir") == "rtl"
        seen.open("/build/deaths?rows=region&columns=age&view=chart")
        assert seen.page.evaluate(outside) == 0
