"""The five papers, table by table: what is made again equals the print, or an erratum says why not."""

from __future__ import annotations

import importlib
import sys
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


@pytest.mark.slow
def test_the_page_is_what_the_commands_give(papers: ModuleType, tmp_path: Path, demo: Path) -> None:
    """Every section made again: nothing differs without a reason, and docs/papers.md is up to date."""
    with papers.bench(tmp_path, demo) as work:
        sections = papers.made(work)
    assert unexplained(papers, sections) == []
    assert papers.page(sections) == papers.PAGE.read_text("utf-8"), "run `make papers`"
    drawn = {picture.file for one in sections for picture in one.pictures}
    assert {path.name for path in tmp_path.iterdir()} == drawn
    assert {path.name for path in papers.PICTURES.iterdir()} == drawn


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
