"""A budget that was agreed: in file and ledger whatever dies when, in the names of those who budget_change."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.core.loss import PureLoss
from discreet.errors import InputError
from discreet.workspace import DataSet, budget_change

CHANGE = {"epsilon": "12"}


class Died(BaseException):
    """The process is gone."""


def caps(folder: Path) -> list[tuple[str, str]]:
    with DataSet.open(folder) as data:
        entries = [e.body for e in data.ledger().entries() if e.kind == "cap"]
        return [(entry["who"], str(entry["budget"])) for entry in entries]


def dying_at(place: int, calls: list[str], name: str, real: Callable[..., object]):
    def step(*args: object, **more: object) -> object:
        calls.append(name)
        if len(calls) == place:
            raise Died
        return real(*args, **more)

    return step


@pytest.mark.slow
def test_a_process_that_dies_anywhere_leaves_no_half(fresh_demo: Path, monkeypatch):
    """At every step: afterwards nothing has changed, or all of it, once, with both names."""
    folder = fresh_demo / "deaths-dp"
    before = (folder / "discreet.yaml").read_text("utf-8")
    seen = set()
    for place in range(1, 9):
        (folder / "discreet.yaml").write_text(before, "utf-8")
        first = caps(folder)
        calls: list[str] = []
        with DataSet.open(folder) as data, monkeypatch.context() as patch:
            ledger = data.ledger()
            for name in ("write_note", "forget_note"):
                patch.setattr(
                    budget_change, name, dying_at(place, calls, name, getattr(budget_change, name))
                )
            patch.setattr(ledger, "set_cap", dying_at(place, calls, "set_cap", ledger.set_cap))
            try:
                budget_change.change_budget(
                    folder, ledger, CHANGE, who="cas and dora", reason="agreed"
                )
            except Died:
                seen.add(calls[-1])
        after = caps(folder)[len(first) :]
        text = (folder / "discreet.yaml").read_text("utf-8")
        assert not budget_change.pending(folder)
        if place == 1:
            assert after == []
            assert text == before
            continue
        assert [who for who, _ in after] == ["cas and dora"]
        assert 'budget: {epsilon: "12"}' in text
        with DataSet.open(folder) as data:
            assert data.ledger().cap() == PureLoss(12)
    assert seen == {"write_note", "forget_note", "set_cap"}


@pytest.mark.slow
def test_others_that_open_meanwhile_change_nothing(fresh_demo: Path):
    """Readers that open the data set all the while never take the change for one of the file."""
    folder = fresh_demo / "deaths-dp"
    done = threading.Event()
    failed: list[BaseException] = []

    def reader() -> None:
        try:
            while not done.is_set():
                with DataSet.open(folder) as data:
                    data.ledger()
        except BaseException as error:
            failed.append(error)

    first = len(caps(folder))
    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    with DataSet.open(folder) as data:
        for number in range(11, 19):
            change = {"epsilon": str(number)}
            budget_change.change_budget(
                folder, data.ledger(), change, who="cas and dora", reason="r"
            )
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert [who for who, _ in caps(folder)[first:]] == ["cas and dora"] * 8


def test_what_cannot_be_leaves_all_as_it_was(fresh_demo: Path):
    """A budget of a kind the policy or the shares do not go with: refused, nothing has changed."""
    folder = fresh_demo / "deaths-dp"
    before = (folder / "discreet.yaml").read_bytes()
    with DataSet.open(folder) as data:
        data.ledger().set_subcap("user:ana", PureLoss(1), who="cas", reason="a share")
        with pytest.raises(InputError):
            budget_change.change_budget(folder, data.ledger(), {"rho": "1"}, who="cas", reason="r")
        assert data.ledger().cap() == PureLoss(10)
    assert (folder / "discreet.yaml").read_bytes() == before
    assert not budget_change.pending(folder)
    odd = re.sub(rb"^budget:.*\n(?:[ ]+.*\n)*", b"budget: {\nepsilon: 10\n}\n", before, flags=re.M)
    (folder / "discreet.yaml").write_bytes(odd)
    with DataSet.open(folder) as data, pytest.raises(InputError, match="by hand"):
        budget_change.change_budget(folder, data.ledger(), CHANGE, who="cas", reason="r")
