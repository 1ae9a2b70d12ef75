"""The release report: every section, every missing declaration, and two editions."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest

from discreet.errors import InputError
from discreet.report.facts import Edition, LedgerSummary, PlannedError, ReleaseFacts
from discreet.report.release_report import render_report
from discreet.workspace.report_declarations import DECLARATIONS

from ..formats.tables import GUARANTEE, axis, deaths, make


def facts(**named: Any) -> ReleaseFacts:
    weights = {z: 2 ** (8 - abs(z)) for z in range(-8, 9)}
    total = sum(weights.values())
    known: dict[str, Any] = {
        "title": "Deaths, an invented year: two tables",
        "tables": (deaths(), make([axis("age", ["0-14", "15-64", "65+"], label="Age")], (True,))),
        "guarantee": replace(
            GUARANTEE,
            delta=Fraction(1, 10**6),
            scope="this release",
            odds=("A guess that was 10 % sure becomes at most 15.5 % sure.",),
        ),
        "release": "2026-11",
        "date": "15 November 2026",
        "declared": {
            "purpose": "Show how deaths are spread over regions.",
            "recipients": "Everyone.",
            "intruders": "A neighbour, an insurer.",
        },
        "policy": {"family": "dp", "budget.epsilon": "10", "rules.at_most_variables": "4"},
        "ledger": LedgerSummary(
            "ε = 10", "ε = 0.5", "ε = 9.5", (("2026-11-15", "table ab12", "ε = 0.5"),), "9f" * 32
        ),
        "planned_errors": (PlannedError("Deaths by region and sex", "interior", 2.8, 6),),
        "laws": {"laplace": {z: Fraction(w, total) for z, w in weights.items()}},
        "chosen_by_looking": False,
        "software": {"Python": "3.11"},
        "commands": ("discreet release demo/deaths recipes.yaml -o out",),
        "checksums": {"deaths.csv": "ab" * 32},
    }
    return ReleaseFacts(**(known | named))


class Outline(HTMLParser):
    """Headings, open tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("edition", Edition)
def test_a_report_has_thirteen_sections_and_no_script(edition: Edition) -> None:
    """A sound page: tags nest, anchors exist, nothing is fetched and nothing runs."""
    page = render_report(facts(), edition)
    outline = Outline(page)
    assert outline.open == []
    assert outline.tags.count("h2") == 13
    assert "script" not in outline.tags
    assert "link" not in outline.tags
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    fetched = [v for name, v in outline.attributes if name in ("src", "href", "xlink:href")]
    assert all(value and value.startswith("#section-") for value in fetched)
    ids = {v for name, v in outline.attributes if name == "id"}
    assert {str(value)[1:] for value in fetched} <= ids
    assert outline.tags.count("svg") == 1


def test_the_internal_edition_says_that_it_stays_inside() -> None:
    public, internal = (render_report(facts(), edition) for edition in ("public", "internal"))
    assert "CONFIDENTIAL" in internal
    assert "CONFIDENTIAL" not in public


def test_no_error_is_announced_where_nothing_was_measured() -> None:
    planned = PlannedError("region × sex", "cells", 1000.0, 2000, instead="Not measured (1,000).")
    page = render_report(facts(planned_errors=(planned,)), "public")
    assert "Not measured (1,000)." in page
    assert "±2,000" not in page


def test_missing_declarations_are_printed_not_left_out() -> None:
    """With nothing declared every known declaration is named, in one line of its section."""
    bare = ReleaseFacts("Bare", (deaths(),), GUARANTEE)
    page = render_report(bare)
    gaps = re.findall(r"<dt>Not declared</dt>\s*<dd class=\"missing\"><p>(.*?)</p>", page)
    marks = re.findall(
        r"<dd class=\"missing\">.*?</dd>\s*<dd class=\"from\">(.*?)</dd>", page, re.S
    )
    assert marks
    assert {re.sub("<[^>]+>", "", mark) for mark in marks} == {"missing"}
    for label in DECLARATIONS.values():
        assert sum(label in gap.split(", ") for gap in gaps) == 1, label
    assert len(gaps) < 13
    assert page.count("discreet.yaml") == 0
    assert render_report(bare, "internal").count("under `report:`") == len(gaps)
    assert "not attested" in page
    full = render_report(facts(declared={key: f"Said of {key}." for key in DECLARATIONS}))
    for key in DECLARATIONS:
        assert f"Said of {key}." in full


def test_every_line_says_where_it_comes_from() -> None:
    page = render_report(facts())
    lines, tags = page.count("<dt>"), page.count('<dd class="from"><span class="tag ')
    assert lines == tags > 40
    assert '<span class="tag attested">' in page


def test_text_from_the_data_set_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script>"
    table = make([axis("r", ["a"])], (False,), title=evil)
    page = render_report(facts(title=evil, tables=(table,), laws={evil: {0: Fraction(1)}}))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_an_unknown_declaration_and_an_empty_release_are_refused() -> None:
    with pytest.raises(InputError, match="Did you mean purpose"):
        facts(declared={"purpse": "x"})
    with pytest.raises(InputError, match="at least one"):
        facts(tables=())
