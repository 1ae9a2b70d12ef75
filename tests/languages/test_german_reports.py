"""A German data set's reports, trials and previews: no English word but names; and back in English."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

import discreet as dc
from discreet import workspace
from discreet.formats import terminal
from discreet.languages import says
from discreet.quality.attacks import stars

from ..command import run
from .german import english_in, write_stays
from .test_german import FAMILIES

pytestmark = pytest.mark.slow

REPORT = """\
report:
  purpose: {de: Für den Jahresbericht, en: For the yearly report}
  chosen_by_looking: no
"""
RECIPES: dict[str, dict[str, object]] = {
    "keyed": {},
    "dp": {"method": "noise", "epsilon": "3", "plan": "everything", "consistency": "integers"},
    "dp margins": {"method": "marginals", "epsilon": "2"},
    "dp hierarchy": {"method": "topdown", "epsilon": "2"},
    "classic": {},
    "suppression": {},
}
EDITIONS = ("report.html", "report-internal.html")

SHARED = frozenset(
    re.findall(
        r"\w+",
        """
    SHA AES discreet yaml YAML RECIPES FOLDER csv report html release ledger verify attack compare
    dp law classic suppression noise cell key laplace gaussian marginals topdown epsilon rho delta
    Software Block aufenthalte keyed versicherte kreis region geschlecht diagnose wohnort Region Plan
    plan consistency integers Ada Quill Lower Wick nabar barak Cramér Hellinger declared_groups Asthma
    half everything json free rows columns Version version Budget was interior wanted once Laplace about records
    unbiased Erhebung anderer Personen Bevölkerungsstatistik
    """,
    )
)
"""Names, commands, the custodian's own sources, and words that both languages have."""


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people under four families."""
    folder = tmp_path_factory.mktemp("amt")
    for name, policy in FAMILIES.items():
        workspace.load(write_stays(folder / name, policy + REPORT))
    return folder


def seen(page: str) -> str:
    """What a reader of a page sees or hears: texts, pictures' texts and labels."""
    page = re.sub(r"<style.*?</style>", " ", page, flags=re.S)
    labels = re.findall(r'aria-label="([^"]*)"', page)
    return html.unescape(" ".join([re.sub(r"<[^>]*>", " ", page), *labels]))


def english_words(text: str) -> set[str]:
    """English words in a text besides names: commands, files, methods and families."""
    names = r"discreet \w+ [\w-]+|tables/\S*|\b(cell-key|classic|suppression|noise)\b"
    return set(english_in([re.sub(names, " ", text)]))


def in_both(german: str, english: str) -> set[str]:
    """Words of three letters and more that both texts have and that are no names."""
    names = r"\b[0-9a-f]{8,}\b|\S*/\S*|\S+\.(html|csv|json|parquet)|discreet \w+ [\w-]+"
    texts = [re.sub(names, " ", text) for text in (german, english)]
    words = [set(re.findall(r"[^\W\d_]{3,}", text)) for text in texts]
    return {word for word in words[0] & words[1] if word not in SHARED}


@pytest.mark.parametrize("case", RECIPES)
def test_a_release_report_is_in_the_data_set_s_language(
    stays: Path, tmp_path: Path, case: str
) -> None:
    """Both editions, pictures included; in English every word is another, the numbers are the same."""
    tables = [{"rows": ["kreis"], "columns": ["geschlecht"]}]
    if case != "suppression":
        tables.append({"rows": ["region"]})
    pages: dict[str, list[str]] = {}
    with dc.open(stays / case.partition(" ")[0]) as data:
        for language in ("", "en"):
            mapping = {"tables": tables, **RECIPES[case]}
            made = data.recipe(mapping, language=language).release()
            made.write(tmp_path / language / case, formats=["csv"])
            written = [(tmp_path / language / case / name).read_text("utf-8") for name in EDITIONS]
            assert all(f'<html lang="{language or "de"}">' in page for page in written)
            pages[language] = [seen(page) for page in written]
    for german, english in zip(pages[""], pages["en"], strict=True):
        assert english_words(german) == set()
        assert in_both(german, english) == set()
        assert "Für den Jahresbericht" in german
        assert "For the yearly report" in english


def test_a_release_and_its_dry_run_speak_german(stays: Path, tmp_path: Path) -> None:
    """What the command line prints before and after, in either language."""
    recipe = tmp_path / "rezept.json"
    tables = [{"rows": ["kreis"], "columns": ["geschlecht"]}, {"rows": ["region"]}]
    for method in ("noise", "marginals", "topdown"):
        recipe.write_text(json.dumps({"tables": tables, "method": method, "epsilon": "0.7"}))
        told = {}
        for language in ("de", "en"):
            more = () if language == "de" else ("--language", "en")
            dry = run("release", stays / "dp", recipe, "--dry-run", *more)
            out = tmp_path / f"{method}-{language}"
            done = run("release", stays / "dp", recipe, "-o", out, "--format", "csv", *more)
            assert (dry.returncode, done.returncode) == (0, 0), dry.stderr + done.stderr
            told[language] = dry.stdout + done.stdout.replace(str(out), "")
        assert english_words(told["de"]) == set()
        assert in_both(told["de"], told["en"]) <= {"optimal", "uniform"}


@pytest.mark.parametrize("family", ["keyed", "dp", "suppression"])
def test_attacks_are_reported_in_german(stays: Path, tmp_path: Path, family: str) -> None:
    """Story, every attack and the grid, in the terminal and on the page."""
    quick = {"keyed": "differencing,averaging,same-set,small-cells,hidden-cells,norm,membership,update",
             "dp": "differencing,averaging,same-set,small-cells,membership,category,many-users,repetition",
             "suppression": "star-subtraction"}  # fmt: skip
    told = {}
    for language in ("de", "en") if family == "dp" else ("de",):
        more = () if language == "de" else ("--language", "en")
        page = tmp_path / f"{language}.html"
        done = run("attack", stays / family, "--only", quick[family], "-o", page, *more)
        assert done.returncode == 0, done.stderr
        told[language] = done.stdout.replace(str(page), "") + seen(page.read_text("utf-8"))
    assert english_words(told["de"]) == set()
    assert "en" not in told or in_both(told["de"], told["en"]) == set()
    with dc.open(stays / family) as data:
        spent = {"epsilon": "0.1"} if family == "dp" else {}
        made = data.recipe({"rows": ["kreis"], "columns": ["geschlecht"], **spent})
        made.release().write(tmp_path / "out", formats=["csv"])
    inside = seen((tmp_path / "out" / "report-internal.html").read_text("utf-8"))
    assert "Ausgeführt am" in inside
    assert english_words(inside) == set()


def test_breaches_and_patterns_of_stars_are_told_in_german() -> None:
    """The two attacks on suppression that decide whole tables, here of one table each."""
    twin = stars.StarTwin(0.5, 0.2)
    for finding in (stars.breaches(twin, 1), stars.patterns(twin, 1)):
        for words in (finding.group, finding.about, finding.says):
            german = says(words, "de")
            assert german != str(words)
            assert english_words(german) == set()


def test_a_comparison_and_a_simulation_are_told_in_german(stays: Path, tmp_path: Path) -> None:
    """Settings, verdicts, pictures; and from then on the note under every table."""
    grid = (
        "--table",
        "kreis,geschlecht",
        "--table",
        "region",
        "--methods",
        "cell-key,laplace,classic",
    )
    grid += ("--epsilon", "0.1,2", "--p-tables", "3:1,5:3", "--draws", "40")
    told = {}
    for language in ("de", "en"):
        more = () if language == "de" else ("--language", "en")
        page = tmp_path / f"{language}.html"
        done = run("compare", stays / "dp", *grid, "-o", page, *more)
        assert done.returncode == 0, done.stderr
        simulated = run("policy", "simulate", stays / "dp", "--rehearse", *more)
        assert simulated.returncode == 0, simulated.stderr
        commands = re.sub(r"(?m)^ *discreet .*$", "", simulated.stdout)
        told[language] = (
            done.stdout.replace(str(page), "") + seen(page.read_text("utf-8")) + commands
        )
    assert english_words(told["de"]) == set()
    assert in_both(told["de"], told["en"]) == set()
    with dc.open(stays / "dp") as data:
        (table,) = data.table(rows=["region"], epsilon="0.2").release().detail.tables
    notes = terminal.all_notes(table)
    assert "wurden Verfahren an den wahren Datensätzen erprobt" in notes
    assert english_in([notes]) == {}
    assert "methods were tried on the true records" in terminal.all_notes(table.in_language("en"))
