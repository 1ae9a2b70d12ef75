"""The extension test: a method of its own family, in the tests alone, through the real flow.

`tests/methods/ration` spends no ε: it records what it released and decides on that record. Nothing
in `src` knows of it; one line of the registry is all that is added.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import release as flow
from discreet.core.table import Status
from discreet.errors import RecipeError, Refusal
from discreet.methods import registry
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

from .attacks.people import change, make
from .methods.ration.declaration import DECLARATION


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(registry.METHODS, DECLARATION.name, DECLARATION)
    made = make(tmp_path, "cell-key")
    change(made, family="suppression", method="ration", methods={"ration": {"questions": "2"}})
    return made


def given(table: dc.api.Table) -> bool:  # type: ignore[name-defined]
    return bool((table.protected.status != Status.SUPPRESSED).all())


def test_what_is_released_depends_on_what_was(folder: Path):
    """Two questions get numbers, a third gets stars; each keeps its answer for ever."""
    with dc.open(folder) as data:
        first = data.table(rows="area").release()
        second = data.table(rows="sex", step="5").release()
        third = data.table(rows="job").release()
        assert [given(first), given(second), given(third)] == [True, True, False]
        assert (first.protected.values % 10 == 0).all()
    with dc.open(folder) as data:  # another process, later
        again = data.table(rows="area", step="10.0").release()
        assert again.detail.reused
        assert np.array_equal(again.protected.values, first.protected.values)
        stars = data.table(rows="job").release()
        assert not given(stars)
        assert data.table(rows="job").standing == "answered"


def test_a_treatment_of_a_recorded_answer_is_free(folder: Path):
    """Asked with another treatment it is the same question: nothing is recorded again."""
    with dc.open(folder) as data:
        plain = data.table(rows="job").release()
        hidden = data.table(rows="job", hide_zeros="yes").release()
        assert hidden.detail.reused
        assert hidden.detail.plan.question_hash == plain.detail.plan.question_hash
        kinds = [entry["kind"] for entry in data.ledger_facts()["entries"]]
        assert kinds.count("record") == 1


def test_two_questions_at_once_are_not_decided_on_one_history(folder: Path):
    """Eight threads ask eight questions: just two get numbers, whoever comes first."""
    rows = ["area", "sex", "job"]
    asked = [{"rows": row, "step": str(step)} for row in rows for step in (3, 7, 9)][:8]
    start = threading.Barrier(len(asked))
    released: list[bool] = []
    lock = threading.Lock()

    def ask(mapping: dict[str, str]) -> None:
        with DataSet.open(folder) as data:
            recipe = from_mapping(mapping, data.description, data.policy)
            question = flow.ask(data, recipe)
            _ = question.plan
            start.wait()
            made = question.release()
            with lock:
                released.append(bool((made.tables[0].status != Status.SUPPRESSED).all()))

    threads = [threading.Thread(target=ask, args=(mapping,)) for mapping in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(released) == len(asked)
    assert sum(released) == 2


def test_the_ledger_shows_records_and_verifies(folder: Path, tmp_path: Path):
    """A ledger without a budget: records with their questions, no loss, nothing left to say."""
    with dc.open(folder) as data:
        draft = data.table(rows="area")
        assert draft.standing == "affordable"
        assert draft.cost == "recorded, from no budget"
        table = draft.release()
        facts = data.ledger_facts()
        assert [entry["kind"] for entry in facts["entries"]].count("record") == 1
        out = table.write(tmp_path / "out")
    assert dc.api.verify_ledger(folder)["answers"] == 1  # type: ignore[attr-defined]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["method"] == "ration"


def test_its_settings_are_read_as_any_other(folder: Path):
    """Unknown ones, the policy's own and other methods' are refused by name."""
    with dc.open(folder) as data:
        for said in ({"epsilon": "1"}, {"questions": "9"}, {"stepp": "3"}):
            with pytest.raises(RecipeError):
                data.table(rows="area", **said)
        with pytest.raises(Refusal, match="suppression family only"):
            data.table(rows="area", method="noise", epsilon="1").preview()
