"""Accounts, catalogue, releases, inbox and audit log: the same in files and in Postgres."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from discreet.errors import InputError, LedgerDamaged
from discreet.store.accounts import Accounts
from discreet.store.audit_log import AuditLog
from discreet.store.catalogue import Catalogue
from discreet.store.inbox import Inbox
from discreet.store.published import _HELD, NO_TIME, Published, Releases
from discreet.store.workspace_database import WorkspaceDatabase

from .ledger_stores import STORES, shared_workspace


@pytest.fixture(params=STORES, ids=lambda kind: kind.name)
def workspace(request, tmp_path):
    """A workspace that keeps its rows in files of its own, or in the tests' Postgres."""
    if request.param.needs_server:
        shared_workspace(tmp_path, request.getfixturevalue("postgres"))
    return tmp_path


@pytest.fixture
def database(workspace):
    opened = WorkspaceDatabase(workspace)
    yield opened
    opened.close()


def test_users_tokens_and_sessions(database):
    accounts = Accounts(database)
    accounts.add_user("cas", "custodian", password="a long enough phrase")
    accounts.add_user("ana", "analyst", made_by="cas")
    with pytest.raises(InputError, match="There is an account ana"):
        accounts.add_user("ana", "auditor")
    assert [(u.name, u.has_password, u.made_by) for u in accounts.users()] == [
        ("ana", False, "cas"),
        ("cas", True, ""),
    ]
    assert accounts.check_password("cas", "a long enough phrase").name == "cas"
    assert accounts.check_password("cas", "another phrase") is None
    text, made = accounts.add_token("ana", label="first", scopes=["read", "tables"])
    child, _ = accounts.add_token("ana", made_with=made.id)
    assert accounts.by_token(text).scopes == ("read", "tables")
    assert {token.label for token in accounts.tokens("ana")} == {"first", ""}
    assert accounts.tokens("cas") == []
    assert not accounts.revoke_token("cas", made.id)
    assert accounts.revoke_token("ana", made.id)
    assert (accounts.by_token(text), accounts.by_token(child)) == (None, None)
    secret = accounts.open_session("ana")
    assert accounts.by_session(secret).name == "ana"
    accounts.revoke_user("ana")
    assert accounts.by_session(secret) is None
    assert accounts.same_request("ana", "k", "one")
    assert accounts.same_request("ana", "k", "one")
    assert not accounts.same_request("ana", "k", "other")


def test_one_name_is_given_once_whoever_asks_at_once(workspace):
    """8 connections add the same account: one succeeds."""
    databases = [WorkspaceDatabase(workspace) for _ in range(8)]
    added = []

    def add(database):
        try:
            added.append(Accounts(database).add_user("ana", "analyst"))
        except InputError:
            return

    threads = [threading.Thread(target=add, args=(one,)) for one in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in databases:
        one.close()
    assert len(added) == 1


def test_a_custodian_is_left_whoever_is_ended_at_once(workspace):
    """Two are ended at once, on two connections, again and again: one of them always stays."""
    hosts = [Accounts(WorkspaceDatabase(workspace)) for _ in range(2)]
    hosts[0].add_user("first", "custodian")
    for number in range(12):
        hosts[0].add_user(f"next{number}", "custodian")
        names, together = hosts[0].custodians(), threading.Barrier(2)
        assert len(names) == 2

        def end(accounts, name, together=together):
            together.wait()
            with suppress(InputError):
                accounts.revoke_user(name)

        threads = [threading.Thread(target=end, args=one) for one in zip(hosts, names, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(hosts[0].custodians()) == 1
    for one in hosts:
        one._db.close()


def test_saved_tables_proposals_and_policies(database):
    catalogue = Catalogue(database)
    saved = catalogue.save("ana", "deaths", "By sex", {"rows": ["sex"]}, shared=True)
    assert catalogue.saved(saved.id) == [saved]
    assert not catalogue.forget("ben", saved.id)
    assert catalogue.forget("ana", saved.id)
    proposal = catalogue.propose("deaths", {"epsilon": "2"}, "more", "cas")
    assert catalogue.decide(proposal.id, "applying", "dora", "well")
    assert not catalogue.decide(proposal.id, "rejected", "dora", "late")
    catalogue.settle(proposal.id, made=True)
    assert catalogue.proposals()[0].state == "accepted"
    assert catalogue.note_policy("deaths", "1", {"family": "dp"}, "cas")
    assert not catalogue.note_policy("deaths", "1", {"family": "dp"}, "cas")
    assert catalogue.note_policy("deaths", "2", {"family": "dp"}, "cas")
    assert [one["version"] for one in catalogue.policies("deaths")] == ["2", "1"]


def test_saved_tables_are_read_a_part_at_a_time(database, monkeypatch):
    """Own and shared ones of some data sets, newest first; only the rows of the part are read."""
    catalogue = Catalogue(database)
    made = [
        catalogue.save(
            owner, dataset, f"{owner} {dataset} {n}", {"rows": []}, shared=owner == "ben"
        )
        for n in range(4)
        for owner in ("ana", "ben", "cas")
        for dataset in ("deaths", "stays")
    ]
    rows = []
    read = database.tables.rows

    def counted(*asked):
        found = read(*asked)
        rows.append(len(found))
        return found

    monkeypatch.setattr(database.tables, "rows", counted)
    anas = [one for one in made if one.dataset == "deaths" and one.owner != "cas"]
    anas.sort(key=lambda one: (-one.created, one.id))
    assert catalogue.readable("ana", ["deaths"]) == anas
    assert catalogue.readable("ana", ["deaths"], offset=3, most=2) == anas[3:5]
    assert rows[-1] == 2
    own = [one for one in anas if one.owner == "ana"]
    assert catalogue.readable("ana", ["deaths", "nothing"], shared=False) == own
    assert {one.owner for one in catalogue.readable(None, ["deaths", "stays"])} == {"ben"}
    assert catalogue.readable(None, ["deaths"], shared=False) == []
    assert catalogue.readable("ana", []) == []


def test_releases_are_made_once_and_superseded_once(database):
    """Complete, approved once with a reason, published; another in its place only when that one is."""
    releases, now = Releases(database), database.clock()

    def release(identity, supersedes=None):
        rest = ("deaths", "T", {"rows": []}, f"q-{identity}", "", {}, "cas", now)
        return Published(identity, *rest, publish_at=now - 1, supersedes=supersedes)

    def state(identity):
        return releases.state(releases.all(identity)[0])

    releases.reserve(release("a"))
    assert releases.held("deaths") == {"q-a"}
    assert releases.complete("a", {"csv": "a.csv"}, "dp").files == {"csv": "a.csv"}
    releases.reserve(release("b", "a"))
    with pytest.raises(InputError, match="superseded by b already"):
        releases.reserve(release("c", "a"))
    assert (state("a"), state("b")) == ("ready", "making")
    assert not releases.approve("b", "cas", "too early", None)
    assert releases.approve("a", "cas", "checked", None)
    assert not releases.approve("a", "dora", "again", None)
    assert releases.all("a")[0].approved_by == "cas"
    assert (state("a"), releases.held("deaths")) == ("published", {"q-b"})
    releases.complete("b", {}, "dp")
    assert (state("a"), state("b")) == ("published", "ready")
    assert releases.approve("b", "cas", "later", now + 1000)
    assert (state("a"), state("b"), releases.held("deaths")) == ("published", "approved", {"q-b"})
    assert not releases.publish(releases.all("a")[0], now)
    seen = releases.all("b")[0]
    assert not releases.publish(replace(seen, approved_at=None), now - 1)
    assert not releases.publish(replace(seen, publish_at=now), now - 1)
    assert releases.publish(seen, now - 1)
    assert (state("a"), state("b"), releases.held("deaths")) == ("superseded", "published", set())
    assert releases.withdraw("b", "cas", "wrong")
    assert not releases.withdraw("b", "cas", "again")


def test_what_is_held_is_what_the_rules_say(database):
    """Of every kind of release, several to a question: as told in words, by no look at each of them."""
    releases, now, draw = Releases(database), database.clock(), random.Random(20261119)
    made = []
    for number in range(400):
        question = f"q{draw.randrange(120)}"
        made.append(
            Published(
                f"r{number}",
                draw.choice(("deaths", "births")),
                *("T", {"rows": []}, question, "", {}, "cas", now),
                publish_at=draw.choice((now - 50, now - 50, now + 1000, NO_TIME)),
                supersedes=None,
                withdrawn_at=draw.choice((None, None, now - 5)),
                holds=draw.choice(("", question, "v", f"{question} v", f"{question} -v")),
                ready=draw.choice((None, now - 40, now - 40)),
                approved_at=draw.choice((None, now - 30, now - 30)),
            )
        )
    with database.writing() as connection:
        for one in made:
            database.add(connection, "releases", one)

    def held(dataset):
        ours = [one for one in made if one.dataset == dataset]
        public = {one.question for one in ours if one.public_at(now)}
        for one in ours:
            undecided = one.approved_at is None or one.publish_at > now
            charged = (one.holds or one.question).startswith(one.question)
            never = one.approved_at is None or one.publish_at >= NO_TIME
            if one.withdrawn_at is None:
                if undecided or one.ready is None:
                    yield from (one.holds or one.question).split(" ")
            elif charged and undecided and not (never and one.question in public):
                yield one.question

    for dataset in ("deaths", "births", "stays"):
        assert releases.held(dataset) == set(held(dataset))
        waiting = {
            one.id
            for one in made
            if one.dataset == dataset and releases.state(one) in ("making", "ready")
        }
        assert {one.id for one in releases.undecided(dataset)} == waiting


def test_public_releases_are_not_looked_through(tmp_path):
    """Whoever asks for a table asks what is held: by an index, however much was published."""
    database = WorkspaceDatabase(tmp_path)
    plan = [str(row[-1]) for row in database.rows(f"EXPLAIN QUERY PLAN {_HELD}", "d", 1.0, NO_TIME)]
    database.close()
    found = [line for line in plan if line.startswith(("SCAN", "SEARCH"))]
    assert len(found) >= 3
    assert all(line.startswith("SEARCH") for line in found), plan
    assert any("releases_undecided" in line for line in found), plan


def test_refused_questions_and_requests(database):
    inbox = Inbox(database)
    for _ in range(2):
        inbox.note_refused("q", "deaths", "sparse", {"rows": ["sex"]})
    assert [(one.times, one.rule) for one in inbox.refused(dataset="deaths")] == [(2, "sparse")]
    made = inbox.ask("deaths", {"rows": []}, "more detail", "ana")
    assert inbox.requests("deaths", by="ana") == [made]
    assert inbox.answer("deaths", made.id, "no", "cas")
    assert inbox.requests("deaths")[0].answered_by == "cas"


def test_the_audit_log_is_one_chain(workspace, request):
    """Two openings write at once; pages, counts of refusals, and a changed row is found."""
    logs = [AuditLog(workspace) for _ in range(2)]
    rows = [
        {"user": "ana", "dataset": "deaths", "rule": "sparse" if i % 3 else "", "status": 200 + i}
        for i in range(30)
    ]
    for done in [logs[i % 2].add(row) for i, row in enumerate(rows)]:
        done.result()
    assert logs[0].verify() == 30
    page = logs[1].page(user="ana", most=10)
    assert [row["number"] for row in page] == list(range(30, 20, -1))
    assert logs[0].page(before=3, dataset="deaths")[0]["number"] == 2
    assert logs[0].page(user="ben") == []
    assert [(one["rule"], one["times"]) for one in logs[0].refusals()] == [("sparse", 20)]
    for log in logs:
        log.close()


def test_a_changed_row_of_the_audit_log_is_found(tmp_path, postgres):
    database, schema = shared_workspace(tmp_path, postgres)
    log = AuditLog(tmp_path)
    for status in (200, 404):
        log.add({"user": "ana", "status": status}).result()
    postgres.execute(
        "SET session_replication_role = replica",
        f"UPDATE {schema}.audit_log SET body = replace(body, '404', '200')",
        database=database,
    )
    with pytest.raises(LedgerDamaged):
        log.verify()
    log.close()


def test_a_time_that_is_chosen_later_holds_exact_counts_back(workspace):
    """A draft of exact counts withholds its question, from a time to come on the version too."""
    releases = Releases(WorkspaceDatabase(workspace, clock=lambda: 100.0))
    for name, wished in (("a", 200.0), ("b", None)):
        one = Published(
            *(name, name, "", {}, "q-1", "", {}, "cas", 1.0, NO_TIME, None), holds="q-1 -version"
        )
        releases.reserve(one)
        releases.complete(name, {}, "")
        assert releases.held(name) >= {"q-1"}
        assert "version" not in releases.held(name)
        assert releases.approve(name, "dora", "yes", wished)
        assert ("version" in releases.held(name)) == (wished is not None)
    assert releases.publish(releases.all("b")[0], 300.0)
    assert releases.held("b") == {"q-1", "version"}
    assert releases.withdraw("b", "cas", "wrong")
    assert releases.held("b") == {"q-1"}
