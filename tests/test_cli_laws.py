"""`discreet law`: studies print for people, give JSON, draw pictures, and refuse in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.law_options import LawOptions, law_name, numbers, short_up, whole_numbers
from discreet.core.exact import Fraction
from discreet.core.law_builders import laplace, normal
from discreet.core.law_losses import losses, within
from discreet.errors import LawError

RUNNER = CliRunner(env={"COLUMNS": "120"})


def said(*words: str) -> str:
    done = RUNNER.invoke(app, ["law", *words])
    assert done.exit_code == 0, done.exception
    return done.stdout


def facts(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*words, "--json"))
    return found


def refused(*words: str) -> str:
    done = RUNNER.invoke(app, ["law", *words])
    assert isinstance(done.exception, LawError)
    return str(done.exception)


def test_losses_are_those_of_the_law() -> None:
    """rinott Table 2 and §5.6.1: shares and means as Python has them, clipped for each count."""
    found = facts("losses", "--law", "normal", "--epsilon", "0.5", "-m", "10", "--counts", "0,3")
    law = normal("0.5", 10)
    kept, zero, three = found["rows"]
    assert kept["absolute"] == float(losses(law).absolute)
    assert kept["bias"] == 0
    assert zero["unchanged"] == zero["within"]["0"] == float(within(law, 0, 0, clip=True))
    assert three["within"]["3"] == float(within(law, 3, 3, clip=True))
    assert round(three["within"]["3"], 2) == 0.78  # as printed
    printed = said("losses", "--law", "normal", "--epsilon", "0.5", "-m", "10")
    assert "negatives are kept" in printed
    assert "0.5445" in printed


def test_losses_over_the_example() -> None:
    """Expected ℓ1, ℓ2, ℓ3 over the 132 printed counts; clipping lowers them."""
    found = facts("losses", "--epsilon", "0.5", "-m", "7", "--example")["example"]
    assert found["cells"] == 132
    each = float(losses(laplace("0.5", 7)).absolute)
    assert found["kept"]["absolute"] == pytest.approx(132 * each)
    assert found["clipped"]["absolute"] < found["kept"]["absolute"]
    assert found["clipped"]["root"] > 0
    assert "ℓ3" in said("losses", "--epsilon", "0.5", "-m", "7", "--example")


@pytest.mark.slow
def test_match_gives_the_smallest_normal_law() -> None:
    """rinott §5.6.2 with the errata's m, δ no larger, unchanged cells beside each."""
    rows = facts("match", "--epsilon", "0.1,0.5,1,1.5,2,3", "-m", "7")["rows"]
    assert [row["max_perturbation"]["normal"] for row in rows] == [8, 11, 12, 13, 13, 14]
    assert all(row["delta"]["normal"] <= row["delta"]["laplace"] for row in rows)
    assert "unchanged" in said("match", "--epsilon", "0.5", "-m", "7")


def test_audit_has_both_readings_of_delta() -> None:
    """rinott (4.4) and (4.5), and what a likelihood ratio of e^ε is called."""
    rows = facts("audit", "--law", "normal", "--epsilon", "1", "-m", "10", "--at", "0.5,1,3")[
        "rows"
    ]
    assert rows[0]["probabilistic_delta"] > rows[0]["delta"]
    assert rows[1]["probabilistic_delta"] == rows[1]["delta"]
    assert [row["evidence"] for row in rows] == [*["limited evidence"] * 2, "moderate evidence"]
    assert facts("audit", "--epsilon", "1", "--at", "1")["rows"][0]["delta"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_studies_draw_pictures(tmp_path: Path, ending: str) -> None:
    """Each study with a picture writes one that can be opened, by the ending of its name."""
    commands = {
        "curve": ["--law", "max-entropy", "-m", "11,15", "--variance", "4,10", "--at", "1:3"],
        "least-delta": ["-m", "5", "--epsilon", "1,2"],
        "key-sizes": ["-m", "5", "--epsilon", "0.5,1", "--key-bits", "8,16"],
        "neighbours": ["--epsilon", "1", "-m", "5"],
    }
    for name, words in commands.items():
        path = tmp_path / f"{name}.{ending}"
        assert str(path.name) in said(name, *words, "--picture", str(path)).replace("\n", "")
        body = path.read_bytes()
        assert body.startswith(b"<svg" if ending == "svg" else b"\x89PNG")
    assert "picture is a .svg or a .png" in str(
        RUNNER.invoke(
            app, ["law", "curve", "--epsilon", "1", "-m", "3", "--picture", "a.gif"]
        ).exception
    )


def test_curves_have_a_plateau() -> None:
    """sadeghi Fig. 1: δ of D = 11, V = 10 stays at 3.04e-4 from some ε on."""
    found = facts("curve", "--law", "max-entropy", "-m", "11,15", "--variance", "10", "--at", "1:4")
    first, second = found["curves"]
    assert first["law"] == "max-entropy ±11, V = 10"
    deltas = [point["delta"] for point in first["points"]]
    assert deltas[0] > deltas[1] == deltas[2] == deltas[3] == pytest.approx(3.04e-4, rel=2e-3)
    assert second["points"][-1]["delta"] == pytest.approx(1.64e-6, rel=2e-3)
    assert first["unchanged"] == pytest.approx(0.126, abs=5e-4)


def test_least_delta_beats_the_rule() -> None:
    row = facts("least-delta", "-m", "11", "--epsilon", "1")["rows"][0]
    assert row["delta"] < row["rule"]["delta"]
    assert row["variance"] < row["rule"]["variance"]
    assert "saved" in said("least-delta", "-m", "11", "--epsilon", "1")


def test_key_sizes_tell_what_is_enough() -> None:
    """sadeghi V-C: 2^8 and 2^16 fail where the errata say, in words too."""
    rows = facts("key-sizes", "--epsilon", "1,1.8")["rows"]
    assert [row["enough"] for row in rows] == [False, False, True] * 2
    assert rows[1]["epsilon_forward"] < 1 < rows[1]["epsilon_both"]
    printed = said("key-sizes", "--epsilon", "1,1.8")
    assert "ε above" in printed
    assert "1 lost" in printed


def test_shares_unchanged_beside_a_cell_key_law() -> None:
    """ons Tables 1 to 3 at ε = 1, and a perturbation rate to compare with."""
    found = facts("unchanged", "--epsilon", "1", "-m", "5", "--variance", "3")
    row = found["rows"][0]
    names = ("rounded_laplace", "rounded_gaussian", "discrete_laplace")
    assert [round(row[name], 4) for name in names] == [0.3935, 0.1562, 0.4621]
    assert found["cell_key"]["unchanged"] == pytest.approx(0.2288, abs=5e-5)
    assert "large cells unchanged" in said("unchanged", "-m", "5", "--variance", "3").replace(
        "\n", " "
    )


def test_neighbours_never_differ_by_more_than_e_to_the_epsilon() -> None:
    """ons Figure 1: every ratio between e^-ε and e^ε; a cut law says what only one can publish."""
    rows = facts("neighbours", "--epsilon", "0.5", "--count", "3")["rows"]
    assert all(0.6065 < row["ratio"] < 1.6488 for row in rows)
    assert "never under the other" in said("neighbours", "--epsilon", "0.5", "-m", "2")


def test_every_law_says_how_many_cells_stay() -> None:
    assert "unchanged" in said("laplace", "--epsilon", "1")
    assert facts("normal", "--epsilon", "1", "-m", "10")["unchanged"] == pytest.approx(
        0.1232, abs=5e-4
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["losses"], "The laplace law needs --epsilon."),
        (["losses", "--law", "normal", "--epsilon", "1"], "needs --max-perturbation"),
        (["losses", "--law", "norml", "--epsilon", "1"], "Did you mean normal?"),
        (["losses", "--epsilon", "1,2"], "one law, 2 were given"),
        (["losses", "--epsilon", "1", "--variance", "2"], "not --variance as well"),
        (["losses", "--epsilon", "1", "--counts", "0.5"], "must be a whole number"),
        (["losses", "--law", "hellinger", "--epsilon", "1", "--example"], "counts up to 307"),
        (["audit", "--law", "gaussian", "--variance", "2", "--at", "1"], "charged as ρ"),
        (["curve", "--epsilon", "1", "-m", "3", "--at", "3:1"], "upwards"),
        (["curve", "--epsilon", "1", "-m", "3", "--at", "0:1:1e-9"], "at most 2000"),
        (["curve", "--epsilon", "1", "-m", "3", "--at", "1:2:3:4"], "FROM:TO:STEP"),
        (["unchanged", "-m", "5"], "both --max-perturbation and --variance"),
        (["neighbours", "--epsilon", "1", "--count", "-1"], "count must be"),
        (["key-sizes", "--key-bits", "7"], "key_bits"),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_is_said(words: list[str], sentence: str) -> None:
    assert sentence in refused(*words)


def test_lists_of_numbers_are_exact() -> None:
    assert numbers("0.1:0.3:0.1, 1/2", "epsilon") == [Fraction(k, 10) for k in (1, 2, 3, 5)]
    assert whole_numbers("2:4,9", "m") == [2, 3, 4, 9]


def test_laws_by_options() -> None:
    """Lists are combined; each law is named by what was asked."""
    made = LawOptions("max-entropy", max_perturbation="11,15", variance="4,10").laws()
    assert [law_name(law) for law in made] == [
        "max-entropy ±11, V = 4",
        "max-entropy ±11, V = 10",
        "max-entropy ±15, V = 4",
        "max-entropy ±15, V = 10",
    ]
    assert law_name(LawOptions(epsilon="1/2").one()) == "laplace ε = 0.5"
    assert law_name(LawOptions("gaussian", variance="4").one()) == "gaussian σ² = 4"
    assert law_name(LawOptions("hellinger", epsilon="1").one()).startswith("hellinger ε = 1")
    assert len(LawOptions("max-entropy", epsilon="1,2", max_perturbation="9").laws()) == 2


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(1, 30_000), Fraction(1, 7 * 10**11)])
def test_a_delta_is_never_rounded_down(value: Fraction) -> None:
    assert value <= Fraction(short_up(value)) <= value * Fraction(1011, 1000)


def test_help_names_every_study_with_an_example() -> None:
    law = typer.main.get_command(app).commands["law"]  # type: ignore[attr-defined]
    for name, command in law.commands.items():
        assert f"discreet law {name}" in (command.help or ""), name


def test_the_command_line_starts_without_the_heavy_parts() -> None:
    """`discreet law --help` loads neither numpy nor the drawing of pictures."""
    script = (
        "import sys; from discreet.cli import app; "
        "assert not {'numpy', 'vl_convert', 'altair', 'duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_a_utility_comes_from_a_file(tmp_path: Path) -> None:
    """rinott Theorems 4.2 and 4.1: by perturbation one law, by count and value a law for each."""
    path = tmp_path / "worth.csv"
    lines = [f"{z},{-z * z}" for z in range(-11, 12)]
    path.write_text("perturbation,utility\n" + "\n".join(lines) + "\n")
    found = facts("exponential", "--epsilon", "1", "--utility", str(path))
    assert found["to"] == 11
    assert found["pmf"]["3"] > found["pmf"]["4"]
    lines = [f"{a},{b},{-abs(a - b)}" for a in range(4) for b in range(9)]
    path.write_text("count,value,utility\n" + "\n".join(lines) + "\n")
    words = ("exponential", "--epsilon", "1", "--utility", str(path))
    found = facts(*words, "--count", "2")
    assert (found["from"], found["to"], found["delta"]) == (-2, 6, 0)
    assert "must be a whole number from 0 to 3" in refused(*words, "--count", "4")
    assert "perturbation alone" in refused(*words, "--delta", "0.1")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "an empty file"),
        ("a,b\n1,2\n", "got a,b"),
        ("perturbation,utility\n", "a line for each"),
        ("perturbation,utility\n0,1,2\n", "Line 2 of worth.csv is not perturbation,utility"),
        ("perturbation,utility\nx,1\n", "Line 2 of worth.csv is not"),
        ("count,value,utility\n1,2\n", "Line 2 of worth.csv is not"),
        ("perturbation,utility\n0,1\n0,2\n", "Line 3 of worth.csv repeats"),
        ("perturbation,utility\n-1,1\n0,2\n1,zwei\n", "utility of 1"),
        ("count,value,utility\n0,0,1\n1,1,1\n", "got none for count 0 and value 1"),
    ],
)
@pytest.mark.slow
def test_a_utility_that_is_none_is_said(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "worth.csv"
    path.write_text(text)
    assert sentence in refused("exponential", "--epsilon", "1", "--utility", str(path))
