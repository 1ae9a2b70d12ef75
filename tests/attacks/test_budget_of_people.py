"""The budget belongs to the people: no edit, reload, deletion or race makes it larger."""

from __future__ import annotations

import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.core.loss import PureLoss
from discreet.errors import BudgetExceeded, DiscreetError, InputError, LedgerDamaged
from discreet.workspace import DataSet

from .people import ask, change, make, records


@pytest.fixture
def spent(tmp_path) -> Path:
    """A data set of which ε = 6 of 10 is spent."""
    folder = make(tmp_path, "dp")
    with DataSet.open(folder) as data:
        ask(data, rows="area", epsilon="6")
    return folder


@pytest.mark.slow
def test_a_number_of_records_declared_later_is_refused(spent):
    """ε under add or remove one is 2ε under replace one: charges of both kinds do not add."""
    change(spent, records=600)
    with DataSet.open(spent) as data, pytest.raises(InputError, match="add or remove one"):
        ask(data, rows="job", epsilon="4")
    change(spent, records="private")
    with DataSet.open(spent) as data:
        assert not ask(data, rows="job", epsilon="4").reused
        assert data.ledger().left() == PureLoss(0)


def test_more_records_a_unit_later_is_refused(spent):
    """ε for one record a unit is 3ε for three: what was spent would count too little."""
    change(spent, load=True, records_per_unit=3)
    with DataSet.open(spent) as data, pytest.raises(InputError, match="3 records"):
        ask(data, rows="job", epsilon="1")


def test_another_unit_later_is_refused(spent):
    """What was promised to persons was not promised to households."""
    change(spent, unit="household")
    with DataSet.open(spent) as data, pytest.raises(InputError, match="household"):
        ask(data, rows="job", epsilon="1")


def test_a_stored_answer_is_not_shown_under_another_promise(spent):
    """The same question again, with other neighbours declared: a sentence, no bug, no answer."""
    change(spent, records=600)
    with DataSet.open(spent) as data, pytest.raises(InputError, match="do not add up"):
        ask(data, rows="area", epsilon="6")


def test_before_anything_was_spent_all_may_change(tmp_path):
    """Nothing was promised yet: declare what is right."""
    folder = make(tmp_path, "dp")
    with DataSet.open(folder) as data:
        data.ledger()
    change(folder, records=600)
    with DataSet.open(folder) as data:
        assert str(ask(data, rows="area", epsilon="1").plan.guarantee.neighbours) == "replace one"


@pytest.mark.parametrize(
    "gone", [["store.sqlite3"], ["ledger.anchor"], ["store.sqlite3", "ledger.anchor"]]
)
def test_a_deleted_ledger_is_no_new_budget(spent, gone):
    """Either file gone, or both: nothing is answered."""
    for name in gone:
        for path in spent.glob(f"{name}*"):
            path.unlink()
    with DataSet.open(spent) as data, pytest.raises(LedgerDamaged):
        ask(data, rows="job", epsilon="9")


def test_new_data_inherit_what_was_spent(spent):
    """A new version of the data is about the same people."""
    source = spent.parent / "people.csv"
    source.write_text("\n".join(records(650)) + "\n")
    change(spent, load=True)
    with DataSet.open(spent) as data, pytest.raises(BudgetExceeded):
        ask(data, rows="job", epsilon="5")


def test_a_cap_lowered_below_what_is_spent_leaves_nothing(spent):
    """Nothing more may be asked, and what was answered is answered still."""
    change(spent, budget={"epsilon": "5"})
    with DataSet.open(spent) as data:
        with pytest.raises(BudgetExceeded):
            ask(data, rows="job", epsilon="0.001")
        assert ask(data, rows="area", epsilon="6").reused


def test_a_policy_of_the_dp_family_that_changes_inherits(spent):
    """Another law or other rules: the same ledger, and what was answered stays answered."""
    change(spent, rules={"max_variables": 3}, methods={"noise": {"law": "gaussian"}})
    with DataSet.open(spent) as data:
        assert ask(data, rows="area", epsilon="6", law="laplace").reused
        with pytest.raises(BudgetExceeded):
            ask(data, rows="sex", epsilon="6", law="laplace")


def _asked(folder: Path) -> list[int]:
    with DataSet.open(folder) as data:
        return ask(data, rows="area,sex", epsilon="1/2").tables[0].values.ravel().tolist()


@pytest.mark.slow
def test_processes_that_ask_at_once_get_one_answer_for_one_charge(spent):
    """Six processes, one question: one charge, the same numbers for all."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(6, mp_context=fresh) as pool:
        found = list(pool.map(_asked, [spent] * 6))
    assert all(values == found[0] for values in found)
    with DataSet.open(spent) as data:
        assert data.ledger().spent() == PureLoss(Fraction(13, 2))


def test_a_failure_between_drawing_and_committing_answers_nothing(spent, monkeypatch):
    """What was drawn is lost, nothing is charged, and the next answer is a new draw."""
    from discreet.store import Ledger

    def fails(self, *_, **__):
        raise OSError("the disk went away")

    with DataSet.open(spent) as data:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "commit", fails)
            with pytest.raises((OSError, DiscreetError)):
                ask(data, rows="job", epsilon="1")
        assert data.ledger().spent() == PureLoss(6)
        assert not ask(data, rows="job", epsilon="1").reused


def test_a_ledger_put_back_from_before_is_found(spent):
    """Restoring yesterday's ledger does not restore yesterday's budget."""
    kept = spent.parent / "kept.sqlite3"
    shutil.copy(spent / "store.sqlite3", kept)
    with DataSet.open(spent) as data:
        ask(data, rows="job", epsilon="3")
    for path in spent.glob("store.sqlite3*"):
        path.unlink()
    shutil.copy(kept, spent / "store.sqlite3")
    with DataSet.open(spent) as data, pytest.raises(LedgerDamaged):
        ask(data, rows="sex", epsilon="3")


@pytest.mark.parametrize("written", ["1/2", "0.5", "0.50", "5e-1"])
def test_one_epsilon_however_it_is_written(spent, written):
    """Semantically equal questions are one question."""
    with DataSet.open(spent) as data:
        ask(data, rows="area", columns="sex", epsilon="0.5")
        again = ask(
            data, rows="sex", layers="area", where={"job": ["x", "y", "z"]}, epsilon=written
        )
        assert again.reused
        assert data.ledger().spent() == PureLoss(Fraction(13, 2))
