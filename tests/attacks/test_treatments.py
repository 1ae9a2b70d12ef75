"""A treatment costs nothing, wherever it is asked, and is had without data or keys."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.table import Status
from discreet.core.true_values import add_totals
from discreet.errors import RecipeError, Refusal
from discreet.file_names import DATA
from discreet.workspace import DataSet

from ..command import run
from .people import change, make

QUESTION = {"rows": "area", "columns": "sex", "epsilon": "1"}
NEGATIVES = ["keep", "clip", "balance", "threshold 30"]
CONSISTENCY = ["none", "least squares", "integers"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path, "dp")


def command(*words: str) -> dict[str, object]:
    done = run(*words, "--json")
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)


def test_every_treatment_of_an_answered_question_is_free(folder: Path):
    """In Python: all that go together, with percentages and another layout, one charge in all."""
    with dc.open(folder) as data:
        first = data.table(**QUESTION).release()
        assert first.cost == "epsilon = 1"
        raw = first.protected.values
        for negatives, consistency in itertools.product(NEGATIVES, CONSISTENCY):
            said = {"negatives": negatives, "consistency": consistency}
            if consistency == "integers" and negatives in ("clip", "threshold 30"):
                with pytest.raises(RecipeError, match="cannot both hold"):
                    data.table(**QUESTION, **said).release()
                continue
            draft = data.table(**QUESTION, **said, percent="rows")
            assert (draft.standing, draft.cost) == ("answered", "nothing")
            values = draft.release().protected.values
            if negatives == "balance":
                assert (values >= 0).all()
                assert np.array_equal(values, add_totals(values[:-1, :-1]))
            elif consistency == "none":
                floor = {"keep": -(10**9), "clip": 0, "threshold 30": 30}[negatives]
                assert np.array_equal(values, np.where(raw < floor, 0, raw))
        turned = {**QUESTION, "rows": "sex", "columns": "area"}
        assert np.array_equal(data.table(**turned).release().protected.values, raw.T)
        balanced = data.table(**turned, negatives="balance").release().protected.values
        assert np.array_equal(
            balanced.T, data.table(**QUESTION, negatives="balance").release().protected.values
        )
        assert data.ledger_facts()["spent"] == "epsilon = 1"


@pytest.mark.slow
def test_on_the_command_line_too(folder: Path):
    """`--negatives`, `--consistency`, `--percent`; and `--free` honours them."""
    asked = ["table", str(folder), "--rows", "area", "--columns", "sex", "--epsilon", "1"]
    first = command(*asked)
    assert first["charged"]
    for words in (
        ["--negatives", "clip"],
        ["--negatives", "threshold", "--threshold", "30"],
        ["--consistency", "Least-Squares"],
        ["--percent", "rows"],
        ["--free", "--negatives", "clip"],
        ["--negatives", "balance", "--percent", "rows"],
    ):
        again = command(*asked, *words)
        assert not again["charged"], words
        if "clip" in words:
            assert again["treatment"]["negatives"] == "clip"  # type: ignore[index]
            assert min(v for v in again["table"]["value"] if v is not None) >= 0  # type: ignore[index]


def test_raising_a_limit_or_changing_reliable_asks_nothing_anew(folder: Path):
    """Rules and the mark of reliability are no part of a question."""
    with dc.open(folder) as data:
        before = data.table(**QUESTION).release().protected
    change(folder, rules={"max_cells": 5000}, reliable={"noise_sd_over_count": "1/1000"})
    with dc.open(folder) as data:
        after = data.table(**QUESTION).release()
        assert after.detail.reused
        assert np.array_equal(before.values, after.protected.values)
        assert (after.protected.status == Status.UNRELIABLE).sum() > (
            before.status == Status.UNRELIABLE
        ).sum()
        assert data.ledger_facts()["spent"] == "epsilon = 1"


def test_a_treatment_needs_neither_data_nor_keys(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """With records unreadable and no keys, an answered question is fitted under any treatment."""
    margins = {"method": "marginals", "epsilon": "1", "tables": [{"rows": ["area", "sex"]}]}
    with dc.open(folder) as data:
        data.table(**QUESTION).release()
        data.recipe(margins).release()
    for path in folder.rglob(DATA):
        path.write_bytes(bytes(path.stat().st_size))

    def never(self: DataSet) -> None:
        raise AssertionError("a fit asked for data or keys")

    monkeypatch.setattr(DataSet, "engine", never)
    monkeypatch.setattr(DataSet, "secrets", property(never))
    with dc.open(folder) as data:
        for negatives, consistency in itertools.product(NEGATIVES, CONSISTENCY[:2]):
            said = {"negatives": negatives, "consistency": consistency}
            assert data.table(**QUESTION, **said).release().detail.reused
        assert data.recipe(margins).release().detail.reused
        assert data.table(rows="sex", negatives="clip").release(free=True).cost == "nothing"


def test_cell_key_thresholds_can_be_raised_and_not_lowered(tmp_path: Path):
    """By who asks; what is hidden is hidden in values and intervals, and the numbers stay."""
    folder = make(tmp_path, "cell-key")
    change(folder, methods={"cell-key": {"threshold": 20}})
    with dc.open(folder) as data:
        plain = data.table(rows="area", columns="sex").release()
        stricter = data.table(rows="area", columns="sex", threshold="100").release()
        for weaker in ("5", "19"):
            with pytest.raises(Refusal, match="raised and not lowered"):
                data.table(rows="area", threshold=weaker).release()
        assert plain.detail.plan.question_hash == stricter.detail.plan.question_hash
        hidden = stricter.protected.status == Status.BELOW_THRESHOLD
        assert hidden.sum() > (plain.protected.status == Status.BELOW_THRESHOLD).sum()
        assert (stricter.protected.values[hidden] == 0).all()
        assert len(set(stricter.protected.noise.upper[hidden].tolist())) == 1
        shown = ~hidden
        assert np.array_equal(stricter.protected.values[shown], plain.protected.values[shown])


def test_a_policy_of_display_can_be_strengthened_and_not_weakened(folder: Path):
    """`negatives` of a noise policy: a threshold may grow, neither clip nor keep undercuts it."""
    change(folder, methods={"noise": {"negatives": "threshold", "threshold": 10}})
    with dc.open(folder) as data:
        data.table(**QUESTION, negatives="threshold 40").release()
        assert data.table(**QUESTION, threshold="12").preview().plan.treatment["negatives"] == (
            "threshold 12"
        )
        for weaker in ("keep", "clip", "threshold 9"):
            with pytest.raises(Refusal, match="strengthened"):
                data.table(**QUESTION, negatives=weaker).release()
        assert data.ledger_facts()["spent"] == "epsilon = 1"


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("noise", {"rows": "area", "columns": "sex", "epsilon": "1"}),
        ("noise", {"rows": "area", "columns": "sex", "within": "9", "of": "90%"}),
        ("marginals", {"rows": "area", "columns": "sex", "epsilon": "1", "method": "marginals"}),
    ],
)
def test_a_lower_limit_takes_no_answer_away(folder: Path, method: str, said: dict[str, str]):
    """What one question may spend is for what will be spent: an answered one stays free."""
    change(folder, methods={method: {"epsilon_most": "5"}})
    with dc.open(folder) as data:
        before = data.table(**said).release()
        spent = data.ledger_facts()["spent"]
    change(folder, methods={method: {"epsilon_most": "0.01"}})
    with dc.open(folder) as data:
        draft = data.table(**said)
        assert (draft.standing, draft.cost) == ("answered", "nothing")
        assert np.array_equal(draft.release().protected.values, before.protected.values)
        with pytest.raises(Refusal, match="policy allows") as no:
            data.table(**{**said, "columns": "job"}).release()
        assert no.value.rule == "most-per-question"
        assert data.table(rows="area", method=method).release(free=True).cost == "nothing"
        assert data.ledger_facts()["spent"] == spent
