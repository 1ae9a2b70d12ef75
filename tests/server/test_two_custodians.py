"""Two custodians are two people, as far as the server can know."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.server import Settings
from discreet.store.audit_log import AuditLog
from discreet.store.catalogue import Catalogue

from .serving import PASSWORD, Served, add_accounts, serving

BUDGET = {"dataset": "deaths-dp", "epsilon": "20", "reason": "more"}


@pytest.fixture
def office(demo: Path, tmp_path: Path) -> Iterator[Served]:
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(calls_per_minute=10**6)) as url:
        yield Served(url, workspace, tokens)


def propose(served: Served, who: str, body: dict[str, Any]) -> dict[str, Any]:
    with served.client(who) as client:
        answer = client.post("/proposals", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())


def accept(served: Served, who: str, proposal: dict[str, Any]) -> httpx.Response:
    with served.client(who) as client:
        return client.post(f"/proposals/{proposal['id']}/accept")


def custodian(served: Served, name: str, proposed_by: str, accepted_by: str) -> None:
    body = {"add_custodian": name, "reason": "help"}
    made = accept(served, accepted_by, propose(served, proposed_by, body)).json()
    assert made["state"] == "accepted"
    served.tokens[name] = made["token"]


@pytest.mark.slow
def test_one_custodian_makes_and_ends_none(office: Served) -> None:
    """Neither directly nor with a password of her choice; what is proposed waits for another."""
    with office.client("cas") as cas:
        body = {"name": "puppet", "role": "custodian", "password": PASSWORD}
        for answer in (cas.post("/users", json=body), cas.delete("/users/dora")):
            assert (answer.status_code, answer.json()["type"]) == (
                403,
                "urn:discreet:two-custodians",
            )
    wish = propose(office, "cas", {"add_custodian": "puppet", "reason": "help"})
    assert (wish["state"], wish["token"]) == ("waiting", None)
    assert accept(office, "cas", wish).status_code == 403
    assert accept(office, "ana", wish).status_code == 403
    with office.client("cas") as cas:
        assert "puppet" not in cas.get("/users").text


@pytest.mark.slow
def test_an_account_made_after_the_proposal_cannot_accept_it(office: Served) -> None:
    """Nor one that was handed over by the proposer, whichever of the two proposes."""
    before = propose(office, "cas", BUDGET)
    custodian(office, "eve", proposed_by="cas", accepted_by="dora")
    late = accept(office, "eve", before)
    assert (late.status_code, "younger than" in late.text) == (403, True)
    assert accept(office, "dora", before).json()["state"] == "accepted"
    for by, other in (("dora", "eve"), ("eve", "dora")):
        answer = accept(office, other, propose(office, by, {**BUDGET, "epsilon": "21"}))
        assert (answer.status_code, "handed on" in answer.text) == (403, True)
    agreed = accept(office, "eve", propose(office, "cas", {**BUDGET, "epsilon": "22"}))
    assert agreed.json()["state"] == "accepted"
    with office.client("odo") as odo:
        entry = odo.get("/datasets/deaths-dp/ledger").json()["entries"][-1]
    assert entry["who"] == "cas and eve"


@pytest.mark.slow
def test_accounts_of_one_origin_never_settle_anything_together(office: Served) -> None:
    """However long the chain by which they were handed on."""
    custodian(office, "eve", proposed_by="cas", accepted_by="dora")
    custodian(office, "fay", proposed_by="cas", accepted_by="eve")
    custodian(office, "gil", proposed_by="cas", accepted_by="dora")
    chain = ("dora", "eve", "fay", "gil")
    for by in chain:
        wish = propose(office, by, BUDGET)
        for other in chain:
            assert accept(office, other, wish).status_code == 403
    assert accept(office, "cas", wish).json()["state"] == "accepted"


@pytest.mark.slow
def test_who_comes_second_learns_what_was_decided(
    office: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the other custodian decided after this one's request was read."""
    decide = Catalogue.decide

    def second(catalogue: Catalogue, identity: str, *words: str) -> bool:
        assert decide(catalogue, identity, "rejected", "dora", "")
        return decide(catalogue, identity, *words)

    for body in (BUDGET, {"add_custodian": "eve", "reason": "help"}):
        wish = propose(office, "cas", body)
        with monkeypatch.context() as patch:
            patch.setattr(Catalogue, "decide", second)
            late = accept(office, "dora", wish)
        assert (late.status_code, late.json()["detail"]) == (
            409,
            "This proposal is rejected already.",
        )


@pytest.mark.slow
def test_where_all_accounts_may_be_one_person_that_is_said(office: Served) -> None:
    """One custodian on the command line, and those she made: one suffices, and the ledger says so."""
    gone = propose(office, "cas", {"end_custodian": "dora", "reason": "leaves"})
    assert accept(office, "dora", gone).json()["state"] == "accepted"
    made = propose(office, "cas", {"add_custodian": "eve", "reason": "help"})
    assert made["state"] == "accepted"
    assert made["token"]
    done = propose(office, "cas", BUDGET)
    assert (done["state"], "as far as accounts tell" in done["note"]) == ("accepted", True)


def test_one_thing_is_proposed_at_a_time(office: Served) -> None:
    """And what cannot be done is refused before anybody is asked."""
    with office.client("cas") as cas:
        for body, words in (
            ({"reason": "r"}, "one thing"),
            ({**BUDGET, "add_custodian": "eve"}, "one thing"),
            ({"add_custodian": "eve", "epsilon": "1", "reason": "r"}, "one thing"),
            ({"add_custodian": "ana", "reason": "r"}, "already"),
            ({"end_custodian": "ana", "reason": "r"}, "no custodian"),
            ({"dataset": "deaths-dp", "reason": "r"}, "epsilon or rho"),
        ):
            answer = cas.post("/proposals", json=body)
            assert (answer.status_code, words in answer.text) == (400, True), (body, answer.text)


@pytest.mark.slow
def test_the_command_line_is_recorded(demo: Path, tmp_path: Path) -> None:
    """The first custodian, and the recovery of a lost one, are in the audit log."""
    from typer.testing import CliRunner

    from discreet.cli.main import app

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    for words in (["add", "cas", "--role", "custodian"], ["add", "eve"], ["revoke", "eve"]):
        verb, *rest = words
        assert CliRunner().invoke(app, ["user", verb, str(workspace), *rest]).exit_code == 0
    log = AuditLog(workspace)
    reasons = [row["reason"] for row in log.page()]
    log.close()
    assert [reason.partition(",")[0] for reason in reasons] == [
        "revoke eve",
        "add analyst eve",
        "add custodian cas",
    ]
