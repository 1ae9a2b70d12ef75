"""Comparisons: the two ways to draw agree, sentences are earned, and nothing true leaves."""

from __future__ import annotations

import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import formats
from discreet.api import verify_ledger
from discreet.core.control import Control
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import Cancelled, InputError
from discreet.methods.cellkey.design import ptable
from discreet.quality.contestants import grid
from discreet.quality.trial import Trial, best_guess, count_all, drawn, law_of_cells, true_counts
from discreet.quality.verdicts import certain, frontier
from discreet.report.publication import publish
from discreet.trials import table_specs
from discreet.workspace import DataSet, rehearsed

from ..command import run

PLANTED = 31_337


def planted(base: Path, family: str) -> Path:
    """A data set in which one cell holds exactly 31,337 records."""
    many = PLANTED + 300
    table = pa.table(
        {
            "person": [f"p{i}" for i in range(many)],
            "place": ["here"] * PLANTED + ["there"] * 200 + ["nowhere"] * 100,
            "kind": ["a"] * PLANTED + [("a", "b", "c")[i % 3] for i in range(300)],
        }
    )
    pq.write_table(table, base / "people.parquet")
    folder = base / "people"
    budget = {"epsilon": "5"} if family == "dp" else None
    dc.init(base / "people.parquet", folder, Control(), family=family, budget=budget)
    dc.declare(folder)
    return folder


@pytest.fixture(scope="module", params=["dp", "cell-key"])
def people(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return planted(tmp_path_factory.mktemp("compared"), request.param)


@pytest.mark.slow
def test_both_ways_to_draw_have_one_law(people: Path) -> None:
    """From the law at once, and by the method itself: means and spreads agree over 300 draws each.

    Each of 36 means is compared at 6 standard errors: false alarms below 1e-6.
    """
    with DataSet.open(people) as data:
        specs = table_specs(data, ["place,kind"], None)
        for contestant in grid(["laplace", "cell-key"], ["0.5"], ["5:3"]):
            method, plan, facts = contestant.plan(data, specs)
            counts = count_all([plan], [specs[0].count])
            with rehearsed.engine(data, "test", "test") as engine:
                tables = dict(zip(counts, engine.count(counts), strict=True))
            trial = Trial(method, plan, facts, tuple(tables[count] for count in plan.counts))
            before = true_counts(tables, specs[0].count)
            again = np.array(
                [trial.once(Control())[0].values[:-1, :-1].ravel() for _ in range(300)]
            )
            law = law_of_cells(trial.once(Control())[0])
            assert law is not None
            at_once = drawn(law, before, 300)
            error = np.sqrt((again.var(axis=0) + at_once.var(axis=0)) / 300)
            assert (np.abs(again.mean(axis=0) - at_once.mean(axis=0)) <= 6 * error + 1e-9).all()
            spread = again.var(axis=0).sum(), at_once.var(axis=0).sum()
            assert 0.6 < spread[0] / spread[1] < 1.6


@pytest.mark.slow
def test_a_comparison_ranks_laws_and_stays_with_the_custodian(people: Path, tmp_path: Path) -> None:
    """Smaller ε, larger error; the report is the owner's alone; nothing else accepts it."""
    found = dc.compare(
        people, ["place,kind"], ["laplace", "cell-key"], draws=30, epsilons=["0.5", "3"]
    )
    errors = {one.contestant.name: one.mean_error for one in found.results}
    assert errors["laplace ε 0.5"] > errors["laplace ε 3"]
    assert str(PLANTED) not in repr(found)
    with pytest.raises(TypeError, match="stays with the custodian"):
        pickle.dumps(found)
    with pytest.raises(TypeError):
        formats.write(found, tmp_path / "x.csv", "csv")  # type: ignore[arg-type]
    page = found.write(tmp_path / "own.html")
    assert stat.S_IMODE(os.stat(page).st_mode) == 0o600
    text = page.read_text("utf-8")
    assert "CUSTODIAN ONLY" in text
    assert "http://" not in text.replace("http://www.w3.org", "")  # nothing is fetched
    assert "<script" not in text
    frame = found.frame()
    assert len(frame) == len(found.results)
    assert {"l1", "l1_25", "cramers_v"} <= set(frame.columns)
    assert len(found.draws()) == sum(one.draws for one in found.results)
    pictures = found.pictures()
    assert len(pictures) >= 6
    assert "kind × place: rarest categories" in pictures
    (points,) = [spec for name, spec in pictures.items() if name.endswith("before and after")]
    shown = {row["before"] for layer in points["layer"][1:2] for row in layer["data"]["values"]}
    assert PLANTED in shown or len(shown) > 1


@pytest.mark.slow
def test_the_report_refuses_to_be_published(people: Path, tmp_path: Path) -> None:
    """Not into a release's folder, nor among published files, nor as anything but a page."""
    with dc.open(people) as data:
        more = {"epsilon": "0.1"} if data._data.policy.budget else {}
        released = data.table(rows="kind", **more).release()
        publish(data._data, released.detail, tmp_path / "out", ["csv"])
    found = dc.compare(people, ["place,kind"], ["laplace"], draws=5, epsilons=["1"])
    (tmp_path / "published").mkdir()
    for place in (
        "out/comparison.html",
        "out/tables/c.html",
        "out/report.html",
        "published/c.html",
    ):
        with pytest.raises(InputError, match="published"):
            found.write(tmp_path / place)
    with pytest.raises(InputError, match="HTML page"):
        found.write(tmp_path / "c.csv")


@pytest.mark.slow
def test_that_somebody_looked_is_noted_and_said(people: Path, tmp_path: Path) -> None:
    """An entry of the ledger, a line in the folder, a note under tables, a line in both reports."""
    dc.compare(people, ["place,kind"], ["laplace"], draws=5, epsilons=["1"], who="ana")
    with dc.open(people) as data:
        spends = data._data.policy.budget is not None
        if spends:
            entries = [e for e in data._data.ledger().entries() if e.kind == "rehearsal"]
            assert entries[-1].body["about"] == "compare"
            assert "ana" in {entry.body["who"] for entry in entries}
            assert verify_ledger(people)["entries"] > 2
        more = {"epsilon": "0.1"} if spends else {}
        released = data.table(rows="place", **more).release()
        assert any("tried on the true records" in note for note in released.protected.notes)
        publish(data._data, released.detail, tmp_path / "out", ["csv"])
        if spends:  # the ledger remembers what a folder forgets
            (people / "rehearsed").unlink()
            assert rehearsed.ever(data._data)
    assert "chosen after a trial on true data" in (tmp_path / "out" / "report.html").read_text(
        "utf-8"
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", ["dp", "cell-key"])
def test_no_planted_count_is_anywhere_but_in_the_data(family: str, tmp_path: Path) -> None:
    """A canary: beside data, source and the custodian's own report no file, log or error holds it.

    Nothing is released here: noise of 0 would publish the planted count by chance.
    """
    people = planted(tmp_path, family)
    done = run(
        "compare", people, "--table", "place,kind", "--draws", "5", "-o", tmp_path / "c.html"
    )
    assert done.returncode == 0
    wrong = run("compare", people, "--table", "place,nothing", "-o", tmp_path / "d.html")
    assert wrong.returncode == 2
    assert str(PLANTED) not in wrong.stderr + done.stderr
    for path in people.rglob("*"):
        if path.is_file() and not {"versions", "secret"} & set(path.relative_to(people).parts):
            content = path.read_bytes()
            assert str(PLANTED).encode() not in content, path.name
            assert PLANTED.to_bytes(8, "little") not in content, path.name
    told = run("ledger", "show", people, "--json").stdout + run("check", people).stdout
    assert str(PLANTED) not in told


@pytest.mark.slow
def test_looking_binds_to_no_family(people: Path) -> None:
    """Another family may still be chosen after a comparison, if nothing was published."""
    before = (people / "served-family").exists()
    dc.compare(people, ["place"], ["laplace"], draws=3, epsilons=["1"])
    assert (people / "served-family").exists() == before


def test_what_cannot_be_compared_is_said(people: Path) -> None:
    """A method that cannot answer is left out; nothing left, bad words, too few draws: a sentence."""
    found = dc.compare(people, ["place,kind"], ["laplace", "topdown"], draws=5, epsilons=["1"])
    assert all(name.startswith("topdown") for name in found.left_out)
    assert any("was left out" in words for words in found.sentences()) == bool(found.left_out)
    for wrong, words in (
        ({"methods": ["lapalce"]}, "Did you mean"),
        ({"draws": 1}, "at least 2 draws"),
        ({"p_tables": ["5"], "methods": ["cell-key"]}, "MAX:VARIANCE"),
        ({"tables": [","]}, "at least one variable"),
        ({"epsilons": ["-1"]}, "epsilon"),
    ):
        with pytest.raises(dc.DiscreetError, match=words):
            dc.compare(people, **{"tables": ["place,kind"], "methods": ["laplace"], **wrong})  # type: ignore[arg-type]


def test_a_stop_is_heard(people: Path) -> None:
    """Cancel takes effect, and nothing is written."""
    with pytest.raises(Cancelled):
        dc.compare(people, ["place,kind"], ["laplace"], control=Control(cancelled=lambda: True))


def test_a_grid_that_takes_long_is_refused_with_its_time(people: Path) -> None:
    """Minutes, the slowest contestant and a smaller grid are named."""
    from discreet.quality.comparison import Limits, _Work

    with DataSet.open(people) as data:
        work = _Work(data, table_specs(data, ["place,kind"], None), [], Limits(fitted_draws=500))
        (slow,) = grid(["marginals"], ["1"])
        with pytest.raises(
            InputError, match=r"about 42 minutes.*marginals.*10\.0 seconds a draw.*120 draws"
        ):
            work.check_time([(slow, 10.0)])
        work.check_time([(slow, 0.1)])


def test_sentences_need_more_than_luck() -> None:
    """Two samples of one law are not told apart; two laws are. 200 pairs, none by chance."""
    random = np.random.default_rng(3)
    same = [random.normal(10, 1, (2, 100)) for _ in range(200)]
    assert not any(certain(a, b, 36) for a, b in same)
    assert certain(random.normal(10, 1, 100), random.normal(12, 1, 100), 36)
    assert not certain(random.normal(10, 1, 3), random.normal(11, 1, 3), 36)


def test_risk_is_that_of_the_law() -> None:
    """Laplace at ε: e^ε / (1 + e^ε); a kept zero beside a count of 1 gives more away than any pair."""
    for epsilon in (0.1, 1.0, 3.0):
        wanted = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert abs(best_guess(PureLaplace.of(str(epsilon))) - wanted) < 1e-9
    table = ptable(5, "3")
    pairs = [0.5 * sum(_larger(table, n, k) for k in range(-6, 20)) for n in range(9)]
    assert abs(best_guess(table) - max(pairs)) < 1e-9


def _larger(table, count: int, value: int) -> float:
    one = table.row(count).pmf.get(value - count, 0)
    two = table.row(count + 1).pmf.get(value - count - 1, 0)
    return float(max(one, two))


def test_the_frontier_has_nobody_who_is_beaten(people: Path) -> None:
    found = dc.compare(
        people, ["place,kind"], ["laplace", "normal"], draws=20, epsilons=["0.5", "1", "2"]
    )
    best = frontier(found.results)
    assert {one.contestant.group for one in best} == {"laplace"}
    risks = [one.risk for one in best]
    assert risks == sorted(risks)


@pytest.mark.slow
def test_the_command_gives_one_object(people: Path, tmp_path: Path) -> None:
    said = run(
        "compare", people, "--table", "place,kind", "--methods", "laplace", "--epsilon", "1",
        "--draws", "4", "-o", tmp_path / "c.html", "--json",
    )  # fmt: skip
    told = json.loads(said.stdout)
    assert told["rehearsal"] is True
    assert told["results"][0]["draws"] == 4


def test_a_table_that_cannot_be_measured_is_refused(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too few cells, or more draws than memory holds: one sentence, before anybody looks."""
    from discreet.quality import comparison

    with DataSet.open(people) as data:
        before = rehearsed.noted(data.folder)
    with pytest.raises(InputError, match=r"kind × place .* 9 cells .* GB.*at most 6,666,666 draws"):
        dc.compare(people, ["place,kind"], ["laplace"], draws=10**8)
    monkeypatch.setattr(comparison, "LEAST_CELLS", 4)
    with pytest.raises(InputError, match="place has 3 cells, too few to measure a method on"):
        dc.compare(people, ["place"], ["laplace"])
    with DataSet.open(people) as data:
        assert rehearsed.noted(data.folder) == before
