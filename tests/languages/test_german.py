"""A German data set, from init to terminal, API and files: no English word but names; and back."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest

import discreet as dc
from discreet import formats, workspace
from discreet.core.table import ProtectedTable, Provenance
from discreet.formats import csvw, html, jsonstat, terminal
from discreet.formats.table_files import read_tables
from discreet.methods import registry
from discreet.server import Settings

from ..command import run
from ..server.serving import Served, add_accounts, serving
from .german import CSV, english_in, write_stays

pytestmark = pytest.mark.slow

KEYED = "family: cell-key\nrules: {max_variables: 2}\n"
DP = "family: dp\nmethod: noise\nbudget: {epsilon: 60}\n"
CLASSIC = "family: classic\nmethod: classic\nmethods: {classic: {threshold: 3}}\n"

SUPPRESSION = """\
family: suppression
method: suppression
methods:
  suppression:
    epsilon: 0.8
    delta: 0.3
    populations: {file: bevölkerung.csv, source: Bevölkerungsstatistik}
    attributes:
      diagnose: {counts: [c], prior: {value: 0.3, source: Erhebung anderer Personen}}
"""

SETTINGS: dict[str, list[dict[str, str]]] = {
    "keyed": [{}, {"percent": "rows"}],
    "dp": [
        {"method": "noise", "epsilon": "0.5"},
        {"method": "noise", "epsilon": "3", "plan": "everything", "consistency": "integers"},
        {"method": "noise", "epsilon": "0.25", "negatives": "clip"},
        {"method": "noise", "epsilon": "0.25", "negatives": "balance"},
        {"method": "marginals", "epsilon": "2"},
        {"method": "topdown", "epsilon": "2"},
    ],
    "classic": [{}],
    "suppression": [{}],
}
FAMILIES = {"keyed": KEYED, "dp": DP, "classic": CLASSIC, "suppression": SUPPRESSION}


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people under four families."""
    folder = tmp_path_factory.mktemp("amt")
    for name, policy in FAMILIES.items():
        workspace.load(write_stays(folder / name, policy))
    return folder


@pytest.fixture(scope="module")
def tables(stays: Path) -> dict[str, tuple[ProtectedTable, ...]]:
    """A table of every method, as it is read where nobody asks for a language."""
    made = {}
    for family, cases in SETTINGS.items():
        with dc.open(stays / family) as data:
            for said in cases:
                draft = data.table(rows=["kreis"], columns=["geschlecht"], **said)
                name = " ".join([family, *said.values()])
                made[name] = draft.release().detail.tables
    return made


NAMES = [" ".join([f, *said.values()]) for f, cases in SETTINGS.items() for said in cases]


def texts_of(value: Any, *, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Every text among the values of a document; keys are names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in without:
                yield from texts_of(inner, without=without)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, without=without)
    elif isinstance(value, str):
        yield value


MACHINE = (
    *("law", "question", "method", "software", "kind", "class", "role", "id", "index", "layout"),
    *("dataset", "measure", "type", "url", "dialect", "@context", "name", "titles", "datatype"),
    *("primaryKey", "status_letters", "extra", "link", "license", "of"),
)
"""What machines read: names, codes and enumerations."""


def _words(cells: list[str]) -> list[str]:
    """The texts of a workbook without the names of metadata, which are those of every format."""
    names = {*registry.names(), *(field.name for field in fields(Provenance)), "title", "guarantee"}
    names |= {"notes", "citation", "language", "law"}
    return [
        text
        for text in cells
        if not text.startswith(("{", "[{", "guarantee.")) and text not in names
    ]


def seen_by_a_reader(table: ProtectedTable) -> dict[str, list[str]]:
    """The texts a reader of each surface sees."""
    book = zipfile.ZipFile(io.BytesIO(formats.to_bytes(table, "xlsx")))
    shared = book.read("xl/sharedStrings.xml").decode()
    sheets = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
    cells = re.findall(r"<t[^>]*>([^<]*)</t>", shared)
    px = formats.to_bytes(table, "px").decode()
    return {
        "terminal": [terminal.to_text(table, more=""), terminal.all_notes(table)],
        "html": [re.sub(r"<[^>]*>", " ", html.notebook(table).split("</style>")[1])],
        "json-stat": list(texts_of(jsonstat.dataset(table), without=MACHINE)),
        "csvw": list(texts_of(csvw.metadata(table, "t.csv"), without=MACHINE)),
        "xlsx": [*sheets, *_words(cells)],
        "px": re.findall(r'"([^"]*)"', px.split("DATA=")[0].partition("LANGUAGE")[2]),
        "sdmx": formats.to_bytes(table, "sdmx-csv").decode().splitlines()[1:2],
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_german_table_has_no_english_word(
    tables: dict[str, tuple[ProtectedTable, ...]], name: str
) -> None:
    """Title, headings, notes, guarantee, statuses, odds and citation, in every format."""
    for table in tables[name]:
        for surface, texts in seen_by_a_reader(table).items():
            assert english_in(texts) == {}, surface


@pytest.mark.parametrize("name", NAMES)
def test_in_english_nothing_german_is_left(
    tables: dict[str, tuple[ProtectedTable, ...]], name: str
) -> None:
    """The same table in English: other words everywhere, the same numbers and hash."""
    german = tables[name][0]
    english = german.in_language("en")
    told = terminal.to_text(english, more="")
    assert not re.search(r"\b(der|die|und|nicht|Zellen|Insgesamt|Geschlecht|weiblich)\b", told)
    assert re.match(r"Hospital stays by (district and sex|sex and district)", told)
    assert re.match(r"Stationäre Aufenthalte nach \w+ und \w+", terminal.to_text(german))
    assert english.provenance.question_hash == german.provenance.question_hash
    assert (english.values == german.values).all()
    for form in formats.FORMATS:
        assert formats.to_bytes(english, form) != formats.to_bytes(german, form)


def test_files_say_their_language_and_come_back_in_it(
    tables: dict[str, tuple[ProtectedTable, ...]], tmp_path: Path
) -> None:
    """PX by its keyword, CSVW and JSON-stat by theirs; a workbook in German is read again."""
    (table,) = tables["keyed"]
    assert 'LANGUAGE="de";' in formats.to_bytes(table, "px").decode()
    assert csvw.metadata(table, "t")["@context"][1] == {"@language": "de"}
    for ending in ("json", "csv", "parquet", "xlsx"):
        formats.write(table, tmp_path / f"t.{ending}")
        (again,) = read_tables(tmp_path / f"t.{ending}")
        assert (again.values == table.values).all()
        assert again.layout.language == "de"
        assert english_in([terminal.to_text(again, more="")]) == {}
    assert "1.0" not in terminal.to_text(table).replace("2.0", "")


def test_init_reads_the_file_and_the_command_line_speaks_german(stays: Path) -> None:
    """From the CSV file to a table in the terminal, by the commands a custodian types."""
    new = stays / "neu"
    source = stays / "keyed" / CSV
    made = run("init", source, "--into", new, "--id", "versicherte", "--unit", "person")
    assert made.returncode == 0, made.stderr
    german = run("table", stays / "keyed", "--rows", "kreis", "--columns", "geschlecht", "--notes")
    assert (german.returncode, english_in([german.stdout])) == (0, {})
    words = ("--rows", "kreis", "--columns", "geschlecht", "--notes", "--language", "en")
    english = run("table", stays / "keyed", *words)
    assert "Hospital stays by district and sex" in english.stdout
    assert "Insgesamt" not in english.stdout


@pytest.fixture(scope="module")
def served(stays: Path) -> Iterator[Served]:
    tokens = add_accounts(stays)
    with serving(stays, Settings(public=("*",), calls_per_minute=10**6)) as url:
        yield Served(url, stays, tokens)


def test_the_api_answers_in_the_language_asked_for(served: Served) -> None:
    """By parameter, by header with its weights, else the data set's own; caches are told."""
    path, asked = "/datasets/keyed/tables", {"rows": "kreis", "columns": "geschlecht"}
    with served.client() as public:
        own = public.get(path, params=asked)
        german = public.get(path, params={**asked, "language": "de"})
        wished = {"Accept-Language": "fr, en;q=0.8, de;q=0.5"}
        english = public.get(path, params=asked, headers=wished)
        assert own.json() == german.json()
        assert own.headers["content-language"] == german.headers["content-language"] == "de"
        assert english.headers["content-language"] == "en"
        assert "Accept-Language" in english.headers["vary"]
        assert english.headers["etag"] != own.headers["etag"]
        assert english.json()["value"] == own.json()["value"]
        assert english_in(texts_of(own.json(), without=MACHINE)) == {}
        refused = public.get(path, params=asked, headers={"Accept-Language": "en;q=0, de;q=0.1"})
        assert refused.headers["content-language"] == "de"
        spread = public.get(path, params={**asked, "format": "xlsx"})
        assert english_in(_cells(spread)) == {}


def _cells(answer: httpx.Response) -> list[str]:
    book = zipfile.ZipFile(io.BytesIO(answer.content))
    return _words(re.findall(r"<t[^>]*>([^<]*)</t>", book.read("xl/sharedStrings.xml").decode()))


def test_verdicts_and_refusals_are_in_german(served: Served) -> None:
    """Of a German data set without asking, of any in the language of the header."""
    three = {"rows": ["kreis"], "columns": ["geschlecht", "diagnose"]}
    spends = {"rows": ["kreis"], "epsilon": "900"}
    with served.client("ana") as ana:
        refused = ana.post("/datasets/keyed/tables", json=three)
        assert (refused.status_code, refused.json()["rule"]) == (403, "max_variables")
        assert refused.headers["content-language"] == "de"
        assert english_in(texts_of(refused.json(), without=PROBLEM)) == {}
        english = {"Accept-Language": "en"}
        told = ana.post("/datasets/keyed/tables", json=three, headers=english).json()
        assert told["detail"].startswith("A table may use at most 2 variables")
        for path, body in (("keyed", three), ("dp", {"rows": ["kreis"], "epsilon": "0.5"})):
            verdict = ana.post(f"/datasets/{path}/tables:check?ladder=true", json=body)
            assert verdict.is_success, verdict.text
            assert english_in(texts_of(verdict.json(), without=PROBLEM)) == {}
        for body in (spends, {"rows": ["krei"]}, {"rows": ["nirgends"]}):
            wrong = ana.post("/datasets/dp/tables", json=body, headers={"Accept-Language": "de"})
            assert wrong.status_code in (400, 403)
            assert english_in(texts_of(wrong.json(), without=PROBLEM)) == {}
        nowhere = ana.get("/nowhere", headers={"Accept-Language": "de-AT, en;q=0.1"}).json()
        assert nowhere["detail"] == "Unter dieser Adresse ist nichts. Siehe /api/v1/docs."


PROBLEM = (
    *("type", "rule", "recipe", "query", "error", "change", "steps", "kind", "method", "settings"),
    *("standing", "treatment", "axes", "figures", "cost", "left", "plans", "setting", "question"),
)
"""Of a problem or a verdict: names, settings and prices, which are the same in every language."""


def test_what_is_public_about_a_data_set_is_in_the_language(served: Served) -> None:
    """Population, notes, rules and the unit, in the catalogue too."""
    with served.client() as public:
        names = ("id", "family", "method", "languages", "variable_names", "featured", "query")
        german = public.get("/datasets/keyed").json()
        assert english_in(texts_of(german, without=names)) == {}
        assert german["rules"][0] == "höchstens 2.000.000 Zellen in einer Tabelle"
        english = public.get("/datasets/keyed", params={"language": "en"}).json()
        assert (english["unit"], english["population"]) == (
            "insured person",
            "Insured people living in the state",
        )
