"""The five papers, table by table: what is made again equals the print, or an erratum says why not."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def papers() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("papers")
    finally:
        sys.path.remove(str(ROOT / "tools"))


def unexplained(papers: ModuleType, sections: list[Any]) -> list[str]:
    wrong = papers.Verdict.WRONG
    return [f.name for one in sections for f in one.figures if f.verdict is wrong]


def sections() -> list[Any]:
    """The names of all sections; one takes longer than all others together."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        names = importlib.import_module("paper_sections").SECTIONS
    finally:
        sys.path.remove(str(ROOT / "tools"))
    kept = [name for name in names if name != "ons_topdown"]
    return [*kept, pytest.param("ons_topdown", marks=pytest.mark.proof)]


@pytest.mark.slow
@pytest.mark.parametrize("name", sections())
def test_a_section_is_what_the_commands_give(
    papers: ModuleType, tmp_path: Path, demo: Path, name: str
) -> None:
    """A section of docs/papers.md made again: nothing differs without a reason, and the page has it."""
    with papers.bench(tmp_path, demo) as work:
        section = importlib.import_module(f"paper_sections.{name}").section(work)
    assert unexplained(papers, [section]) == []
    written = "\n".join(papers.section_lines(section))
    assert f"\n{written}\n" in papers.PAGE.read_text("utf-8"), "run `make papers`"
    drawn = {picture.file for picture in section.pictures}
    assert {path.name for path in tmp_path.iterdir()} == drawn
    assert drawn <= {path.name for path in papers.PICTURES.iterdir()}


def test_the_page_counts_its_rows_and_shows_its_pictures(papers: ModuleType) -> None:
    """The table at its head counts what stands below; no picture is left over."""
    text = papers.PAGE.read_text("utf-8")
    head, _, body = text.partition("\n## ")
    told = {
        word: int(count) for word, count in re.findall(r"^\| ([^|]+?) \| (\d+) \|$", head, re.M)
    }
    verdicts = [str(verdict) for verdict in papers.Verdict]
    seen = Counter(
        word
        for word in verdicts
        for _ in re.findall(rf"\| {re.escape(word)}\b[^|]*\|$", body, re.M)
    )
    assert told
    assert told == {word: count for word, count in seen.items() if count}
    shown = set(re.findall(r"\]\(papers/([^)]+)\)", text))
    assert shown == {path.name for path in papers.PICTURES.iterdir()}


def test_a_figure_is_compared_at_the_digits_printed(papers: ModuleType) -> None:
    """Rounding decides; an erratum explains a difference, nothing else does."""
    bench = importlib.import_module("paper_sections.bench")
    equal, erratum, wrong = papers.Verdict.EQUAL, papers.Verdict.ERRATUM, papers.Verdict.WRONG
    for printed, found, verdict in (
        ("0.82", 0.8187, equal),
        ("0.82", 0.8251, wrong),
        ("14", 14.142, equal),
        ("-2.3E-9", -2.328e-9, equal),
        ("-2.3E-9", -2.36e-9, wrong),
        ("1/14", "1/14", equal),
    ):
        assert bench.compare("", printed, found).verdict is verdict
    assert bench.compare("", "10", 11, "why").verdict is erratum
    assert bench.compare("", "10", 10, "why").verdict is equal
    assert bench.all_equal("", [("0.5", 0.5), ("0.5", 0.6)]).verdict is wrong


def test_every_section_is_listed(papers: ModuleType) -> None:
    """A module in tools/paper_sections that the page leaves out fails the build."""
    folder = ROOT / "tools" / "paper_sections"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "bench"}
    assert modules == set(papers.SECTIONS)
