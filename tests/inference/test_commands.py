"""`discreet infer` on files: the same answers, other people's tables by `--law`, one sentence for the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet import formats
from discreet.cli import app
from discreet.core.law_builders import laplace
from discreet.core.law_kinds import written
from discreet.core.table import Status
from discreet.errors import DiscreetError, InputError
from discreet.formats.table_files import read_tables
from discreet.inference.questions import QUESTIONS, Conclusions
from discreet.methods.cellkey import dialects
from discreet.methods.cellkey.design import design

from ..formats.tables import deaths
from .tables import cell_law, table

COUNTS = np.array([[30, 14, 29], [22, 25, 31], [44, 41, 60]])
LAW = cell_law(laplace("0.5", 7))
BARE = "region,cause,count\n" + "\n".join(
    f"R{i},C{j},{COUNTS[i, j]}" for i in range(3) for j in range(3)
)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    app(["infer", *words, "--json"], standalone_mode=False)
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = table(COUNTS, LAW)
    formats.write(made, tmp_path / "t.csv")
    return tmp_path / "t.csv"


@pytest.mark.slow
def test_commands_say_what_the_table_says(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command, as the verb of the same name says it."""
    t = Conclusions(*read_tables(file))
    a, b = {"region": "R0", "cause": "C0"}, {"region": "R1", "cause": "C0"}
    c, d = {"region": "R0", "cause": "C1"}, {"region": "R1", "cause": "C1"}
    name, cells = str(file), [",".join(f"{k}={v}" for k, v in one.items()) for one in (a, b, c, d)]
    assert said(capsys, "interval", name, cells[0]) == t.cell_interval(a).to_json()
    assert said(capsys, "difference", name, *cells[:2]) == t.difference(a, b).to_json()
    assert said(capsys, "ratio", name, *cells[:2]) == t.ratio(a, b).to_json()
    assert said(capsys, "odds-ratio", name, *cells) == t.odds_ratio(a, b, c, d).to_json()
    assert said(capsys, "posterior", name, cells[0]) == t.posterior(a).to_json()
    ranked = said(capsys, "ranking", name, "region", "--cell", "cause=C0")
    assert ranked == t.ranking("region", {"cause": "C0"}).to_json()
    independence = said(capsys, "independence", name)
    assert independence == t.independence_test().to_json()


def test_every_question_has_a_command() -> None:
    """What may be asked over HTTP may be asked on the command line, but for sums and rates."""
    import typer

    from discreet.cli.inference import infer_app

    commands = set(typer.main.get_command(infer_app).commands)  # type: ignore[attr-defined]
    assert set(QUESTIONS) - commands == {"total", "rate"}


def test_people_read_the_sentence_first(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the numbers, then what to mind."""
    app(["infer", "interval", str(file), "region=R0,cause=C0"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The count of region 0, cause 0 in the data was between")
    assert any(line.startswith("lower") for line in lines)
    assert any(line.startswith("·") for line in lines)


@pytest.mark.slow
def test_other_peoples_tables_with_a_law(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A law by name, as written, with its digest, or of another file: the same answer each time."""
    bare = tmp_path / "theirs.csv"
    bare.write_text(BARE)
    law = laplace("0.5", 7)
    named = {"name": "laplace", "parameters": {"epsilon": "0.5", "max_perturbation": "7"}}
    formats.write(table(COUNTS, LAW), tmp_path / "ours.xlsx")
    for number, given in enumerate((named, written(law), {**named, "digest": law.digest})):
        (tmp_path / f"law{number}.json").write_text(json.dumps(given))
    expected = Conclusions(table(COUNTS, LAW)).independence_test()
    for name in ("law0.json", "law1.json", "law2.json", "ours.xlsx"):
        answer = said(capsys, "independence", str(bare), "--law", str(tmp_path / name))
        assert answer["numbers"]["p"] == expected.p  # type: ignore[index]


@pytest.mark.slow
def test_a_p_table_may_be_the_law(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a dialect of other systems; hidden and cut cells are said beside a law by name."""
    bare = tmp_path / "theirs.csv"
    bare.write_text(BARE)
    made = design(5, "2")
    (tmp_path / "p.csv").write_text(dialects.write(made, "sdctools", keys=10**8))
    answer = said(capsys, "independence", str(bare), "--law", str(tmp_path / "p.csv"))
    assert 0 < answer["numbers"]["p"] <= 1  # type: ignore[index]
    hidden = BARE.replace("R0,C1,14", "R0,C1,c")
    bare.write_text(hidden)
    cut = {"name": "laplace", "parameters": {"epsilon": "1"}, "hidden_below": 15}
    (tmp_path / "cut.json").write_text(json.dumps(cut))
    answer = said(capsys, "independence", str(bare), "--law", str(tmp_path / "cut.json"))
    assert any("show no number" in words for words in answer["caveats"])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "x", "no table file that can be read"),
        ("none.csv", None, "There is no file"),
        ("a.csv", "region,count\nR0,1.5\nR1,3\n", "whole number"),
        ("a.csv", "region,cause,count\nR0,C0,1\nR1,C1,3\n", "each cell once"),
        ("a.csv", "count\n3\n", "a column for each variable"),
        ("a.csv", "", "No table could be read from a.csv. Give a file"),
        ("a.csv", "größe;\xe9\n", "No table could be read from a.csv. Give a file"),
        ("a.json", "{", "No table could be read"),
        ("a.px", "{", "No table could be read from a.px. Give a PX"),
        ("a.csv", BARE, "carries no law"),
    ],
)
def test_files_that_are_no_evidence(
    tmp_path: Path, name: str, text: str | None, words: str
) -> None:
    """One sentence each."""
    if text is not None:
        (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(DiscreetError, match=words):
        app(["infer", "independence", str(tmp_path / name)], standalone_mode=False)


@pytest.mark.parametrize("name", ["px", "sdmx-csv"])
@pytest.mark.slow
def test_formats_without_a_law_say_what_is_missing(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """PX and SDMX-CSV name the digest only; with another file of the table the answer is the same."""
    file = tmp_path / ("t" + formats.FORMATS[name].extension)
    totals = np.pad(COUNTS, ((0, 1), (0, 1)), constant_values=77)
    made = table(totals, LAW, totals=True)
    formats.write(made, file, name)
    with pytest.raises(InputError, match=f"no place for the law.*{LAW.digest[:16]}"):
        app(["infer", "independence", str(file)], standalone_mode=False)
    formats.write(made, tmp_path / "t.json")
    formats.write(table(COUNTS, cell_law(laplace("0.7", 7))), tmp_path / "other.json")
    with pytest.raises(InputError, match="law of another table"):
        app(
            ["infer", "independence", str(file), "--law", str(tmp_path / "other.json")],
            standalone_mode=False,
        )
    given = ("--law", str(tmp_path / "t.json"))
    p = said(capsys, "independence", str(file), *given)["numbers"]["p"]  # type: ignore[index]
    assert p == Conclusions(made).independence_test().p


def test_px_and_sdmx_give_numbers_and_statuses_back(tmp_path: Path) -> None:
    """Every status, totals, and texts that the formats had to change."""
    from discreet.formats.lawless_files import read_lawless

    made = deaths()
    for name in ("px", "sdmx-csv"):
        file = tmp_path / ("t" + formats.FORMATS[name].extension)
        formats.write(made, file, name)
        again = read_lawless(file).table
        assert (again.values == made.values).all()
        marked = made.status != Status.UNRELIABLE
        assert (again.status == made.status)[marked].all()
        assert again.totals == made.totals


@pytest.mark.parametrize(
    "given",
    [
        "[]", "{", '{"name": "laplace"}', '{"name": "cauchy"}', '{"kind": "laplace"}',
        '{"name": "laplace", "parameters": {"epsilon": "0.5"}, "digest": "0"}',
        '{"name": "laplace", "parameters": {"epsilon": "0.5"}, "negatives": "hide"}',
        '{"name": "laplace", "parameters": {"epsilon": "0.5"}, "hidden_below": "3"}',
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused(tmp_path: Path, given: str) -> None:
    """One sentence each."""
    (tmp_path / "t.csv").write_text(BARE)
    (tmp_path / "law.json").write_text(given)
    words = ["infer", "independence", str(tmp_path / "t.csv"), "--law", str(tmp_path / "law.json")]
    with pytest.raises(InputError):
        app(words, standalone_mode=False)


def test_misshapen_cells_are_refused(file: Path) -> None:
    """A cell is NAME=CATEGORY by commas."""
    for cell in ("region", "region=", "=R0", "region=R0,region=R1"):
        with pytest.raises(InputError):
            app(["infer", "interval", str(file), cell], standalone_mode=False)


def test_options_name_the_rest_of_a_cell(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without totals, goodness of fit and regressions are of one row: --cell names it."""
    shares, at = "C0=0.3,C1=0.3,C2=0.4", ["--cell", "region=R0"]
    t = Conclusions(*read_tables(file))
    fitted = said(capsys, "goodness-of-fit", str(file), shares, "--axis", "cause", *at)
    expected = t.goodness_of_fit(
        {"C0": "0.3", "C1": "0.3", "C2": "0.4"}, "cause", cell={"region": "R0"}
    )
    assert fitted == expected.to_json()
    data = file.with_name("data.csv")
    data.write_text("code,x\nC0,1\nC1,2\nC2,5\n")
    words = ["regression", str(file), str(data), "--terms", "x", "--axis", "cause", *at]
    rates = {code: {"x": x} for code, x in (("C0", 1), ("C1", 2), ("C2", 5))}
    found = t.regression(rates, "x", axis="cause", cell={"region": "R0"})
    assert said(capsys, *words) == found.to_json()


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"name": "normal", "parameters": {"epsilon": "1"}}, "needs max_perturbation"),
        ({"threshold": -3}, "threshold must be a whole number that is not below 0"),
        ({"threshold": True}, "threshold must be a whole number"),
        ({"threshhold": 5}, "Did you mean threshold"),
        ({"negatives": "keep", "threshold": 5}, "goes with negatives: threshold"),
        ({"negatives": "threshold"}, "goes with negatives: threshold"),
        ({"parameters": {"epsilon": "1", "max_pertubation": 7}}, "Did you mean max_perturbation"),
        ({"parameters": {"epsilon": "1", "max_perturbation": 2.5}}, "must be a whole number"),
    ],
)
def test_laws_given_in_other_words(file: Path, law: dict[str, object], words: str) -> None:
    """What a law by name lacks, or cannot mean, is one sentence; nothing is passed over."""
    given = file.with_name("law.json")
    given.write_text(json.dumps({"name": "laplace", "parameters": {"epsilon": "1"}, **law}))
    with pytest.raises(DiscreetError, match=words):
        app(["infer", "independence", str(file), "--law", str(given)], standalone_mode=False)


def test_totals_of_other_peoples_tables_have_no_law(tmp_path: Path) -> None:
    """The law given is of cells: of a total it says nothing, and that is what is said."""
    theirs, law = tmp_path / "theirs.csv", tmp_path / "law.json"
    rows = [f"{r},{c},{n}" for r, c, n in (("N", "x", 9), ("N", "y", 12), ("N", "_T", 20))]
    theirs.write_text("\n".join(["region,cause,count", *rows, "S,x,7", "S,y,8", "S,_T,16"]))
    law.write_text(json.dumps({"name": "laplace", "parameters": {"epsilon": "1"}}))
    with pytest.raises(DiscreetError, match="says nothing of N"):
        app(
            ["infer", "interval", str(theirs), "region=N", "--law", str(law)], standalone_mode=False
        )


@pytest.mark.parametrize("name", ["t.sdmx.csv", "t.csv", "data.csv"])
def test_a_field_beyond_measure_is_one_sentence(tmp_path: Path, file: Path, name: str) -> None:
    """Longer than the reader of CSV files takes."""
    long = tmp_path / "long" / name
    long.parent.mkdir()
    long.write_text("region,count\nR0," + "1" * 200_000 + "\n")
    words = ["independence", str(long)]
    if name == "data.csv":
        words = ["regression", str(file), str(long), "--terms", "count"]
    with pytest.raises(DiscreetError, match="be read"):
        app(["infer", *words], standalone_mode=False)
