"""Two hosts and one database: what one answers from another one's charge, and roles of any defaults."""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import InputError, LedgerDamaged
from discreet.store.jobs import Jobs
from discreet.store.ledger_state import Needs
from discreet.store.opening import prepare

from ..servers.postgres import PASSWORD
from .ledger_stores import opened, shared_workspace


def commit(ledger, question, epsilon="0.1", **more):
    charge = Charge.laplace(epsilon, cells=1, neighbours="add-remove", question=question)
    said = {"idempotency_key": f"key of {question}", "data_version": "1", "policy_version": "1"}
    return ledger.commit(charge, b"drawn", **said | more)


@pytest.fixture
def hosts(tmp_path, postgres, monkeypatch):
    """A database, and the open ledgers of two hosts, each with anchors of its own."""
    here, there = tmp_path / "here", tmp_path / "there"
    database, _ = shared_workspace(here, postgres, postgres.database())
    there.mkdir()
    shutil.copy(here / "store.yaml", there)
    with ExitStack() as stack:
        ledgers = []
        for root in (here, there):
            monkeypatch.setenv("DISCREET_ANCHORS", str(root / "anchors"))
            ledgers.append(stack.enter_context(opened(root)))
        yield database, there, *ledgers


@pytest.mark.parametrize("way", ["find", "history", "commit"])
def test_what_another_host_charged_is_durable_before_it_is_told(hosts, monkeypatch, way):
    """Its own commit may have failed to reach the standby: this host waits for that itself, once."""
    _, _, here, there = hosts
    commit(here, "q")
    seen, confirm = [], there._confirm
    monkeypatch.setattr(there, "_confirm", lambda: (seen.append(1), confirm()))
    ask = {
        "find": lambda: there.find("q"),
        "history": there.history,
        "commit": lambda: commit(there, "q"),
    }[way]
    assert there.find("not asked") is None
    assert not seen
    ask(), ask()
    assert seen == [1]


def test_a_host_that_told_what_another_charged_refuses_an_older_database(hosts, postgres):
    """Also where the host that charged it is gone for good."""
    database, other, here, there = hosts
    away = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    postgres.execute(away, f"CREATE DATABASE {database}_old TEMPLATE {database}")
    for ledger in (here, there):
        ledger._reading.close()
    commit(here, "q", "0.9")
    assert there.find("q").measurements == b"drawn"
    here.close(), there.close()
    postgres.execute(
        away, f"DROP DATABASE {database}", f"ALTER DATABASE {database}_old RENAME TO {database}"
    )
    with pytest.raises(LedgerDamaged, match="rolled back"):
        opened(other)


DEFAULTS = ["client_encoding = 'LATIN1'", "client_encoding = 'SQL_ASCII'", "standard_conforming_strings = off",
            "extra_float_digits = -15", "bytea_output = 'escape'", "default_transaction_isolation = 'serializable'"]  # fmt: skip


@pytest.mark.parametrize("default", DEFAULTS)
def test_defaults_of_a_role_change_nothing(tmp_path, postgres, monkeypatch, default):
    """Texts are those that were given, and times are the server's, whatever a role has by default."""
    role, database = postgres.role(f"serving_{DEFAULTS.index(default)}"), postgres.database()
    place, odd = tmp_path / "store.yaml", "日本 \\u0041 \\' é"
    place.write_text(f"database: {postgres.url(database)}\n")
    prepare(tmp_path, serving=role)
    postgres.execute(f"ALTER ROLE {role} SET {default}")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    place.write_text(f"database: {postgres.url(database, role)}\n")
    with opened(tmp_path) as ledger:
        ledger.set_cap(PureLoss(2), who=odd, reason=odd)
        commit(ledger, "q", user=odd)
        with ledger._read() as rows:
            assert abs(rows.state(Needs()).now - time.time()) < 3600
            assert rows.restores() == []
        assert ledger.questions("1") == ["q"]
    with opened(tmp_path) as ledger:
        assert [entry.body.get("reason") for entry in ledger.entries()] == [
            None,
            "agreed",
            odd,
            None,
        ]
    jobs = Jobs(tmp_path)
    job = jobs.create("release", {"question": odd}, user=odd)
    assert abs(job.created - time.time()) < 3600
    assert jobs.asking(odd, user=odd) == [job]
    jobs.close()


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("what", ["idempotency_key", "user", "project"])
def test_what_no_database_keeps_is_refused_by_itself(hosts, odd, what):
    """One sentence to whoever gave it; those whose commit would have gone along are not concerned."""
    *_, here, _ = hosts
    with pytest.raises(InputError, match=what.replace("_", " ")):
        commit(here, "q", **{what: odd})
    for ask in (here.find, here.questions):
        with pytest.raises(InputError, match="holds a zero byte or half a sign"):
            ask(odd)
    assert commit(here, "q").fresh
