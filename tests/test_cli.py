"""The command line: the same verbs as Python, one sentence and the right code for what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import discreet as dc
from discreet.file_names import ARRAYS, DATA

from .command import run


def spoken(*words: str | Path) -> dict:
    """What a command says with --json."""
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_help_loads_nothing_heavy():
    """`discreet --help` answers at once: it loads no arrays, engine, server or pictures.

    How long it takes is measured in `bench`; what makes it long is what it loads.
    """
    heavy = "numpy scipy duckdb pyarrow pandas fastapi pydantic altair cryptography yaml jinja2"
    code = (
        "import sys\nfrom discreet.cli import main\nsys.argv = ['discreet', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "table" in done.stdout
    assert set(done.stderr.split()) & set(heavy.split()) == set()


@pytest.mark.slow
def test_every_command_teaches():
    """Every command has help with an example."""
    for words in (["table"], ["release"], ["init"], ["law", "laplace"], ["ptable", "convert"]):
        done = run(*words, "--help")
        assert done.returncode == 0
        assert "discreet " + " ".join(words) in " ".join(done.stdout.split())


@pytest.mark.slow
def test_one_recipe_one_answer(demo: Path):
    """Command line, JSON, CSV and Python give the same numbers for one question."""
    words = ("table", demo / "deaths", "--rows", "region", "--columns", "sex")
    said = spoken(*words)
    rows = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").stdout)))
    counts = [int(row["count"]) for row in rows]
    assert said["table"]["value"] == counts
    with dc.open(demo / "deaths") as deaths:
        frame = deaths.table(rows="region", columns="sex").release().to_pandas()
        turned = deaths.table(rows="Sex", columns="area:region").release().to_pandas()
    assert frame["count"].tolist() == counts
    assert turned.sort_values(["region", "sex"])["count"].tolist() == (
        frame.sort_values(["region", "sex"])["count"].tolist()
    )


@pytest.mark.slow
def test_a_margin_is_the_same_wherever_it_is_asked(demo: Path):
    """A total of a larger cell-key table is the cell of the smaller one."""
    with dc.open(demo / "deaths") as deaths:
        large = deaths.table(rows="region", columns="sex,age").release().to_pandas()
        small = deaths.table(rows="region").release().to_pandas()
    both = large[(large["sex"] == "_T") & (large["age"] == "_T")]
    assert both["count"].tolist() == small["count"].tolist()


@pytest.mark.slow
def test_a_dp_question_is_charged_once(fresh_demo: Path):
    """The same question again costs nothing and gives the same numbers, in any layout."""
    words = ("table", fresh_demo / "deaths-dp", "--epsilon", "0.5")
    first = spoken(*words, "--rows", "region", "--columns", "sex")
    again = spoken(*words, "--rows", "sex", "--columns", "region")
    assert first["charged"] is True
    assert again["charged"] is False
    assert first["question_hash"] == again["question_hash"]
    assert first["left"] == again["left"] == "epsilon = 9.5"
    assert sorted(first["table"]["value"]) == sorted(again["table"]["value"])
    book = spoken("ledger", "show", fresh_demo / "deaths-dp")
    assert [entry["kind"] for entry in book["entries"]].count("charge") == 1
    assert book["worst_case"].endswith("that one person is in the data at most 16 % sure.")
    assert run("ledger", "verify", fresh_demo / "deaths-dp").returncode == 0


@pytest.mark.slow
def test_dry_run_spends_nothing_and_reads_no_data(fresh_demo: Path):
    """--dry-run works where the data cannot be read, and leaves the ledger as it was."""
    folder = fresh_demo / "deaths-dp"
    version = folder / "versions" / (folder / "current").read_text().strip()
    for data in (version / DATA, version / ARRAYS):
        data.write_bytes(b"?" * data.stat().st_size)
    said = spoken("table", folder, "--rows", "region", "--epsilon", "0.5", "--dry-run")
    assert said["allowed"] is True
    assert said["cost"] == "epsilon = 0.5"
    assert run("table", folder, "--rows", "region", "--epsilon", "0.5").returncode in {4, 5}
    assert spoken("ledger", "show", folder)["spent"] == "epsilon = 0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--rows", "regoin"], 2, "Did you mean region?"),
        (["--rows", "mean(age)"], 2, "counts only"),
        (["--rows", "sex", "--epsilon", "0.5"], 2, "epsilon"),
        (["--rows", "sex", "--method", "noise"], 3, "family"),
        (["--rows", "sex", "--where", "sex"], 2, "--where must look like"),
        (["--rows", "ccg,cause,age,sex,month,marital"], 3, "at most"),
        (["--rows", "sex", "--format", "exel"], 2, "xlsx"),
        (["--nonsense"], 2, "--nonsense"),
    ],
)
def test_bad_tables_get_one_sentence(demo: Path, words, code, says):
    """What is wrong, the right exit code, no traceback."""
    done = run("table", demo / "deaths", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--rows", "sex"], 2, "epsilon"),
        (["--rows", "sex", "--epsilon", "0"], 2, "epsilon must be > 0"),
        (["--rows", "sex", "--epsilon", "NaN"], 2, "epsilon must be a number"),
        (["--rows", "sex", "--epsilon", "1e400"], 2, "epsilon"),
        (["--rows", "sex", "--epsilon", "11"], 3, "largest epsilon that fits is 10"),
        (["--rows", "sex", "--epsilon", "1", "--delta", "2"], 2, "delta"),
    ],
)
def test_bad_spends_get_one_sentence(demo: Path, words, code, says):
    """A bad ε is refused before anything is spent."""
    done = run("table", demo / "deaths-dp", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert spoken("ledger", "show", demo / "deaths-dp")["spent"] == "epsilon = 0"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["law", "laplace", "--epsilon", "-1"], "epsilon must be > 0"),
        (["law", "laplace", "--epsilon", "nan"], "epsilon must be a number"),
        (["law", "laplace", "--epsilon", "1e400"], "epsilon"),
        (["law", "design", "--epsilon", "1", "--delta", "1"], "delta must be > 0 and < 1"),
        (["law", "max-entropy", "-m", "2", "--variance", "2"], "variance"),
        (["law", "max-entropy", "-m", "2"], "--variance or --epsilon"),
        (["law", "max-entropy", "-m", "2", "--variance", "1e400"], "got 1e400."),
        (["law", "max-entropy", "-m", "9", "--epsilon", "1", "--delta", "1e-9"], "more than the"),
        (["law", "hellinger", "--epsilon", "1", "--cells", "0"], "cells must be a whole number"),
        (["law", "hellinger", "--epsilon", "1", "--count", "-1"], "count must be a whole number"),
        (["ptable", "design", "-m", "3", "--variance", "1", "--blocked-below", "1"], "row 1"),
        (["ptable", "audit", "nothing.csv"], "cannot be read"),
        (["table", "nowhere", "--rows", "sex"], "does not exist"),
    ],
)
@pytest.mark.slow
def test_bad_input_exits_2(words, says, tmp_path):
    """One sentence each, exit 2."""
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_law_says_what_was_promised():
    """--json carries pmf, moments and the two-sided audit."""
    said = spoken(
        "law", "design", "--epsilon", "0.5", "--delta", "1e-4", "--cells", "16", "--rule", "sadeghi"
    )
    assert said["max_perturbation"] == 25
    assert round(said["variance"], 4) == 49.0022
    assert said["mean"] == 0
    assert abs(sum(said["pmf"].values()) - 1) < 1e-12
    assert round(said["delta"], 4) == 0.0759
    assert {"epsilon", "epsilon_forward", "epsilon_backward", "delta", "unreachable"} <= set(
        said["audit"]
    )


@pytest.mark.slow
def test_law_of_a_count_shows_its_own_range():
    """Hellinger's law of a true 3 reaches from −3 to what may be published."""
    words = ("law", "hellinger", "--epsilon", "1", "--count", "3", "--max-value", "50")
    assert "perturbations   -3 … +47" in run(*words).stdout
    said = spoken(*words)
    assert (said["from"], said["to"]) == (-3, 47)
    assert next(iter(said["pmf"])) == "-3"


@pytest.mark.slow
def test_law_of_the_least_epsilon_is_shown_as_far_as_it_can_be():
    """ε = 0.000001 reaches over millions: its middle is listed, the rest told as a share."""
    said = run("law", "laplace", "--epsilon", "0.000001").stdout
    assert "98.1 %  further out" in said


@pytest.mark.slow
def test_law_says_when_key_bits_are_too_few():
    """The ε asked for does not hold up to the ends alone: said in words, and in --json."""
    words = ("law", "laplace", "--epsilon", "0.5", "-m", "7")
    said = spoken(*words, "--key-bits", "8")["beyond"]
    assert "rounding to 8 key bits makes steps of up to ε = 0.587787" in said
    assert "δ = 0.01457" in said
    assert "beyond" not in spoken(*words)


@pytest.mark.slow
def test_a_p_table_is_audited_as_it_was_written(tmp_path):
    """Cut to 256 keys it is another table: its own figures are told, and what the cut lost."""
    words = ["ptable", "design", "-m", "10", "--variance", "5", "--blocked-below", "2"]
    fine = spoken(*words)
    cut = spoken(*words, "--keys", "256", "--dialect", "cantabular", "-o", tmp_path / "c.csv")
    again = spoken("ptable", "audit", tmp_path / "c.csv")
    assert (fine["keys"], cut["keys"]) == (2**64, 256)
    for said in (fine, cut, again):
        for part in ("audit", "audit_without_zeros"):
            del said[part]["unreachable"]  # a file does not know what it was designed to reach
    for part in ("audit", "audit_without_zeros", "rows", "digest"):
        assert cut[part] == again[part]
        assert cut[part] != fine[part]
    assert cut["quantisation"] == fine["quantisation"]
    assert [1, 10] in cut["unreachable"]
    assert again["unreachable"] == fine["unreachable"] == []
    assert cut["notes"] == []


@pytest.mark.slow
def test_a_ptable_is_designed_from_a_promise():
    """The table keeps ε and δ with empty cells; the bias of cut rows is said; half a wish is told."""
    words = ["ptable", "design", "--epsilon", "1", "--delta", "1e-3"]
    facts = spoken(*words)
    rows = facts["rows"]
    assert rows[0]["mean"] > rows[1]["mean"] > 0 == rows[-1]["mean"]
    assert facts["audit"]["delta"] <= 1e-3
    assert "a true 0 comes out" in run(*words).stdout
    assert "go together" in run(*words[:4]).stderr
    assert "--variance is not used" in run(*words, "--variance", "2").stderr


@pytest.mark.slow
def test_ptables_convert_there_and_back(tmp_path):
    """A p-table through all three dialects and back is the same file."""
    first = tmp_path / "a.csv"
    design = ["ptable", "design", "-m", "3", "--variance", "1", "--keys", "256"]
    assert run(*design, "--dialect", "ons", "-o", first).returncode == 0
    at = first
    for number, dialect in enumerate(("cantabular", "sdctools", "ons")):
        to = tmp_path / f"{number}.csv"
        done = run("ptable", "convert", at, to, "--dialect", dialect, "--keys", "256")
        assert done.returncode == 0, done.stderr
        at = to
    assert at.read_bytes() == first.read_bytes()


@pytest.mark.slow
def test_a_ptable_of_four_keys_is_not_taken_for_one_of_256(tmp_path):
    """The number of keys stays where the dialect can say it, and is told where it cannot."""
    odd = tmp_path / "odd.csv"
    rows = [f"{n},{key},{v}\n" for n in (1, 2) for key, v in enumerate((-1, 0, 0, 1))]
    odd.write_text("pcv,ckey,pvalue\n" + "".join(rows))
    same, more, never = (tmp_path / name for name in ("same.csv", "more.csv", "never.csv"))
    done = run("ptable", "convert", odd, same, "--dialect", "cantabular", "--json")
    assert (json.loads(done.stdout)["keys"], json.loads(done.stdout)["notes"]) == (4, [])
    assert json.loads(run("ptable", "audit", same, "--json").stdout)["keys"] == 4
    done = run("ptable", "convert", odd, more, "--dialect", "ons", "--json")
    assert json.loads(done.stdout)["notes"] == ["4 keys are written as 256, 64 for each of them."]
    done = run("ptable", "convert", odd, never, "--dialect", "ons", "--keys", "1")
    assert done.returncode == 2
    assert not never.exists()


@pytest.mark.slow
def test_an_unexpected_failure_shows_no_value(demo: Path, tmp_path):
    """A bug leaves as its place and kind, never with its values, and exits 70."""
    script = (
        "import sys; from discreet.cli import main; import discreet.release as r;"
        "r.ask = lambda *a, **k: (_ for _ in ()).throw(RuntimeError('424242'));"
        f"sys.argv=['discreet','table',{str(demo / 'deaths')!r},'--rows','sex','--dry-run'];main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 70
    assert "424242" not in done.stderr + done.stdout
    assert "bug" in done.stderr


@pytest.mark.slow
def test_ctrl_c_loses_nothing(fresh_demo: Path):
    """Interrupted anywhere, a table exits 130 or finishes, and the ledger holds."""
    import signal

    folder = fresh_demo / "deaths-dp"
    for number, wait in enumerate((0.25, 0.45, 0.6, 0.8)):
        words = ["table", str(folder), "--rows", "ccg,cause", "--epsilon", f"0.{number + 1}"]
        process = subprocess.Popen(
            [sys.executable, "-m", "discreet", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
        assert process.returncode in {0, 130, -signal.SIGINT}, said
        assert run("ledger", "verify", folder).returncode in {0, 5}
    assert run("ledger", "verify", folder).returncode in {0, 5}


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", [["-f", "pdf"], ["-o", "x.pdf"], ["-o", "nowhere/x.csv"], ["-o", "."]]
)
def test_what_cannot_be_written_is_not_charged(fresh_demo: Path, target):
    """A bad format or place is refused before anything is spent."""
    folder = fresh_demo / "deaths-dp"
    done = run("table", folder, "--rows", "sex", "--epsilon", "0.1", *target, cwd=fresh_demo)
    assert done.returncode == 2, done.stderr
    assert spoken("ledger", "show", folder)["spent"] == "epsilon = 0"
    recipe = fresh_demo / "recipes" / "three-tables.yaml"
    taken = fresh_demo / "taken"
    taken.write_text("")
    assert run("release", folder, recipe, "-o", taken).returncode == 2
    assert spoken("ledger", "show", folder)["spent"] == "epsilon = 0"


@pytest.mark.slow
def test_rows_may_be_said_twice(demo: Path):
    """--rows a --rows b is --rows a,b."""
    twice = spoken("table", demo / "deaths", "--rows", "region", "--rows", "sex")
    once = spoken("table", demo / "deaths", "--rows", "region,sex")
    assert twice["question_hash"] == once["question_hash"]


@pytest.mark.slow
def test_check_fails_where_something_is_broken(fresh_demo: Path):
    """`discreet check` exits 5 on an error, for scripts."""
    (fresh_demo / "deaths" / "current").write_text("not-a-version")
    done = run("check", fresh_demo / "deaths")
    assert done.returncode == 5, done.stdout + done.stderr


@pytest.mark.slow
def test_a_method_without_a_budget_has_no_ledger_and_says_so(demo: Path, tmp_path: Path):
    """Nothing tells to set a budget where none could be spent, and nothing is damaged either."""
    for words in (("show",), ("verify",), ("export", "-o", tmp_path / "x.json")):
        done = run("ledger", words[0], demo / "deaths", *words[1:])
        assert done.returncode == 2
        assert "deaths has the method cell-key, which spends no budget" in done.stderr
        assert "Set" not in done.stderr


@pytest.mark.slow
def test_shares_of_a_budget_limit_users_and_projects(fresh_demo: Path):
    """A share is a limit beside the whole; earlier charges count, a name's case does, none is refused."""
    data = fresh_demo / "deaths-dp"

    def ask(epsilon: str, *more: str) -> subprocess.CompletedProcess[str]:
        return run("table", data, "--rows", "sex", "--epsilon", epsilon, *more)

    def share(scope: str, *more: str) -> subprocess.CompletedProcess[str]:
        return run("ledger", "share", data, scope, "--reason", "a test", *more)

    assert ask("0.1", "--user", "ana", "--project", "atlas").returncode == 0
    assert "spent epsilon = 0.1, left epsilon = 0.2" in share("user:ana", "--epsilon", "0.3").stdout
    assert share("project:atlas", "--epsilon", "0.25").returncode == 0
    over = ask("0.16", "--user", "ana", "--project", "atlas")
    assert (over.returncode, "for project atlas" in over.stderr) == (3, True)
    over = ask("0.21", "--user", "ana")
    assert (over.returncode, "for user ana" in over.stderr) == (3, True)
    assert ask("0.2", "--user", "ana").returncode == 0
    assert ask("0.0001", "--user", "ana").returncode == 3
    assert ask("0.1", "--user", "ana").returncode == 0  # asked before: nothing is charged
    shown = run("ledger", "show", data).stdout
    for words in ("share of user:ana", "share of project:atlas", "ana (atlas)"):
        assert words in shown
    facts = spoken("ledger", "show", data)
    left = {held["scope"]: held["left"] for held in facts["shares"]}
    assert left == {"project:atlas": "epsilon = 0.15", "user:ana": "epsilon = 0"}
    assert facts["left"] == "epsilon = 9.7"
    assert share("user:ana", "--none").returncode == 0
    assert ask("0.0001", "--user", "ana").returncode == 0
    for scope, more, words in (
        ("user:ana", ("--none",), "has no share"),
        ("user:ana", ("--epsilon", "11"), "more than the whole budget"),
        ("user:ana", ("--rho", "1"), "kind"),
        ("ana", ("--epsilon", "1"), "A share is of user:NAME or project:NAME"),
        ("user:", ("--epsilon", "1"), "A share is of user:NAME or project:NAME"),
        ("user:ana", (), "how large"),
        ("user:ana", ("--epsilon", "-1"), "epsilon must be"),
    ):
        wrong = share(scope, *more)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr
    assert run("ledger", "verify", data).returncode == 0


@pytest.mark.parametrize("words", [(), ("law",), ("ledger",)])
def test_help_without_a_command_ends_with_help(words: tuple[str, ...]):
    """Nothing was asked, so nothing is wrong: no sentence of an error below it."""
    done = run(*words)
    assert "Usage" in done.stdout + done.stderr
    assert "discreet:  See" not in done.stderr
