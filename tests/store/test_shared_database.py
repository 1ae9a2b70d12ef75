"""A workspace whose ledgers lie in Postgres: asked, moved, refused, tampered with, crashed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import InputError, LedgerDamaged, StoreError
from discreet.store import accept_restore, open_ledger, verify
from discreet.store.accounts import Accounts
from discreet.store.audit_log import AuditLog
from discreet.store.moving import move
from discreet.store.opening import prepare
from discreet.store.place import place_of
from discreet.store.postgres.connection import Connection, check_durable
from discreet.store.shared_notes import notes_of
from discreet.store.workspace_database import WorkspaceDatabase

from ..command import run
from ..servers.postgres import OWNER, PASSWORD, running
from .ledger_stores import opened, shared_workspace


def commit(ledger, question, epsilon="0.1", content=b"drawn"):
    charge = Charge.laplace(epsilon, cells=1, neighbours="add-remove", question=question)
    return ledger.commit(
        charge, content, idempotency_key=f"key of {question}", data_version="1", policy_version="1"
    )


def discreet(*words, expect=0):
    """A command that ends with this code."""
    ended = run(*words)
    assert ended.returncode == expect, ended.stderr
    return ended


@pytest.fixture
def shared(tmp_path, postgres):
    root = tmp_path / "workspace"
    database, schema = shared_workspace(root, postgres)
    return root, database, schema


def test_a_table_asked_from_the_command_line_is_charged_once(fresh_demo, postgres):
    """A workspace is moved into the database, asked twice, and verified there."""
    path = str(fresh_demo / "deaths-dp")
    words = ["table", path, "--rows", "sex", "--epsilon", "0.5", "--json"]
    before = json.loads(discreet(*words).stdout)
    (fresh_demo / "store.yaml").write_text(f"database: {postgres.url(postgres.database())}\n")
    assert "store prepare" in discreet(*words, expect=5).stdout
    assert "are made" in discreet("store", "prepare", str(fresh_demo)).stdout
    assert "store move" in discreet(*words, expect=5).stdout
    assert "deaths-dp" in discreet("store", "move", str(fresh_demo)).stdout
    assert not (fresh_demo / "deaths-dp" / "store.sqlite3").exists()
    again = json.loads(discreet(*words).stdout)
    assert _numbers(again) == _numbers(before)
    other = ["table", path, "--rows", "sex", "--epsilon", "0.25", "--json"]
    first, second = (json.loads(discreet(*other).stdout) for _ in range(2))
    assert _numbers(first) == _numbers(second)
    shown = json.loads(discreet("ledger", "show", path, "--json").stdout)
    assert shown["spent"] == "epsilon = 0.75"
    assert "holds" in discreet("ledger", "verify", path).stdout
    (fresh_demo / "store.yaml").unlink()
    assert "its anchor knows" in discreet(*words, expect=5).stdout


def _numbers(answer):
    """What a table says, apart from what this very call cost."""
    return answer["table"]["value"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("database: postgresql://a:secret@localhost/d", "holds a password"),
        ("database: host=localhost password=secret", "holds a password"),
        ("databse: postgresql://localhost/d", "must say `database"),
        ("database: postgresql://localhost/d\nschemas: x", "means nothing there"),
        ("database: postgresql://localhost/d\nschema: x; DROP", "a schema is named by"),
        ("[", "must say `database"),
        ("database: postgresql://a:12/secret@localhost/d", "holds a password"),
        ("database: postgresql://a:[secret@localhost/d", "no address"),
    ],
)
def test_a_place_that_says_something_else_is_refused(tmp_path, text, said):
    (tmp_path / "store.yaml").write_text(text)
    with pytest.raises(InputError, match=said) as refused:
        place_of(tmp_path)
    assert "secret" not in str(refused.value)


def test_what_stands_in_the_way_is_one_sentence(tmp_path, postgres, monkeypatch):
    """No server, a wrong password, no such database, no tables, a role without rights."""
    place = tmp_path / "store.yaml"

    def said(url):
        place.write_text(f"database: {url}\n")
        with pytest.raises(StoreError) as refused:
            open_ledger(tmp_path / "people", dataset="people")
        text = str(refused.value)
        assert "SELECT" not in text
        assert "Nothing was answered" in text or "prepare" in text
        return text

    assert "cannot be reached" in said("postgresql://nobody@127.0.0.1:1/none")
    role = postgres.role("reader")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    database = postgres.database()
    assert "role or password" in said(postgres.url(database, role))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert "no such database" in said(postgres.url("nowhere", role))
    assert "no tables" in said(postgres.url(database, role))
    place.write_text(f"database: {postgres.url(database)}\n")
    prepare(tmp_path)
    assert "lacks a right" in said(postgres.url(database, role))
    postgres.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
    assert "takes no more connections" in said(postgres.url(database, role))
    postgres.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")


def test_what_keeps_tables_from_being_made_is_one_sentence(tmp_path, postgres, monkeypatch):
    """No right to make them, no such role, a schema of others or of Postgres: nothing is left behind."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    database, role = postgres.database(), postgres.role("plain_reader")
    postgres.execute(
        "CREATE SCHEMA taken", "CREATE TABLE taken.releases (x int)", database=database
    )

    def said(schema, user=OWNER, serving=None):
        url = postgres.url(database, user)
        (tmp_path / "store.yaml").write_text(f"database: {url}\nschema: {schema}\n")
        with pytest.raises(InputError) as refused:
            prepare(tmp_path, serving=serving)
        assert str(refused.value).endswith("Nothing was changed.")
        return str(refused.value)

    assert "may not make tables in the schema mine" in said("mine", role)
    assert "no role nobody_here" in said("mine", serving="nobody_here")
    assert "tables of other programs" in said("taken")
    assert "keeps the name pg_mine" in said("pg_mine")
    query = "SELECT tablename FROM pg_tables WHERE schemaname !~ '^(pg_|inf)'"
    names = postgres.execute(query, database=database)
    assert [str(name) for (name,) in names] == ["releases"]


def test_what_was_wrong_with_one_session_is_not_kept(tmp_path, postgres, monkeypatch):
    """A database that was only read during maintenance is written again once that is over."""
    role, database = postgres.role("maintained"), postgres.database()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    (tmp_path / "store.yaml").write_text(f"database: {postgres.url(database)}\n")
    prepare(tmp_path, serving=role)
    (tmp_path / "store.yaml").write_text(f"database: {postgres.url(database, role)}\n")
    postgres.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    notes = notes_of(tmp_path)
    with pytest.raises(StoreError, match="only lets it be read"):
        notes.put("people", "family", "dp", None)
    postgres.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    assert notes.put("people", "family", "dp", None)
    assert notes.get("people", "family") == "dp"


def test_tables_of_another_form_are_not_said_to_be_there(shared, postgres):
    """Nor does anybody get rights on them; an upgrade learns it before a host is started."""
    root, database, schema = shared
    postgres.execute(f"UPDATE {schema}.form SET form = 9", database=database)
    role = postgres.role("of_another_form")
    said = discreet("store", "prepare", str(root), "--serving", role, expect=5).stderr
    assert "is stored in form 9, this version reads form 1" in " ".join(said.split())
    may = f"SELECT has_schema_privilege('{role}', '{schema}', 'USAGE')"
    assert postgres.execute(may, database=database) == [(False,)]


def test_who_serves_may_only_add(tmp_path, postgres, monkeypatch):
    """Append-only by rights and by triggers; the owner's role is told that it could do more."""
    import psycopg

    role, database = postgres.role("serving"), postgres.database()
    place = tmp_path / "store.yaml"
    place.write_text(f"database: {postgres.url(database)}\n")
    prepare(tmp_path, serving=role)
    with opened(tmp_path) as ledger:
        assert "only triggers" in ledger.rights_problem
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    place.write_text(f"database: {postgres.url(database, role)}\n")
    with opened(tmp_path) as ledger:
        assert ledger.rights_problem == ""
        assert commit(ledger, "q").fresh
        hold = ledger.hold(Charge.laplace("0.1", cells=1, neighbours="add-remove", question="h"))
        ledger.lapse(hold)
        ledger.verify()
    table = {"ledger_log": "hash", "ledger_answers": "digest", "ledger_requests": "request"}
    for url, error in (
        (postgres.url(database, role), psycopg.errors.InsufficientPrivilege),
        (postgres.url(database, OWNER), psycopg.errors.RaiseException),
    ):
        for name, column in table.items():
            for statement in (
                f"UPDATE discreet.{name} SET {column} = ''",
                f"DELETE FROM discreet.{name}",
                f"TRUNCATE discreet.{name}",
            ):
                with psycopg.connect(url) as connection, pytest.raises(psycopg.Error) as refused:
                    connection.execute(statement)
                assert isinstance(refused.value, error) or refused.value.sqlstate == "DD001"


def test_no_column_is_called_user(shared, postgres):
    """In Postgres a bare `user` is the name of the role."""
    _, database, schema = shared
    columns = postgres.execute(
        f"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '{schema}'",
        database=database,
    )
    assert ("tokens", "who") in columns
    assert [table for table, column in columns if column == "user"] == []


TAMPERED = {
    "sum": 'UPDATE {s}.ledger_scopes SET spent = \'{{"epsilon":"0","kind":"pure"}}\'',
    "row": "UPDATE {s}.ledger_log SET body = replace(body, '0.1', '0.0') WHERE seq = 3",
    "cut": "DELETE FROM {s}.ledger_log WHERE seq = 4; DELETE FROM {s}.ledger_answers WHERE seq = 4; "
    "DELETE FROM {s}.ledger_requests WHERE key = 'key of q2'; UPDATE {s}.ledger_heads SET seq = 3, "
    "hash = (SELECT hash FROM {s}.ledger_log WHERE seq = 3)",
    "answer": "UPDATE {s}.ledger_answers SET measurements = 'other'",
    "request": "DELETE FROM {s}.ledger_requests",
    "head": "UPDATE {s}.ledger_heads SET hash = repeat('0', 64)",
    "gone": "DELETE FROM {s}.ledger_heads",
    "trigger": "DROP TRIGGER ledger_log_kept ON {s}.ledger_log",
    "disabled": "ALTER TABLE {s}.ledger_log DISABLE TRIGGER ledger_log_kept",
}


@pytest.mark.parametrize("trick", TAMPERED)
def test_tampering_is_found(shared, postgres, trick):
    """Whoever passes over the triggers is found when the ledger is next opened or verified."""
    root, database, schema = shared
    with opened(root) as ledger:
        commit(ledger, "q1")
        commit(ledger, "q2")
    statements = TAMPERED[trick].format(s=schema).split("; ")
    postgres.execute("SET session_replication_role = replica", *statements, database=database)
    with pytest.raises(LedgerDamaged):
        verify(root / "people")
    if trick != "answer":  # found when it is read
        with pytest.raises(LedgerDamaged):
            opened(root)
    else:
        with opened(root) as ledger, pytest.raises(LedgerDamaged):
            ledger.find("q1")


@pytest.mark.parametrize("trick", ["sum", "row", "cut", "head", "gone"])
def test_what_is_changed_under_an_open_ledger_stops_it(shared, postgres, trick):
    root, database, schema = shared
    with opened(root) as ledger:
        commit(ledger, "q1")
        commit(ledger, "q2")
        statements = TAMPERED[trick].format(s=schema).split("; ")
        postgres.execute("SET session_replication_role = replica", *statements, database=database)
        if trick == "row":
            with pytest.raises(LedgerDamaged):
                verify(root / "people")
            return  # an open ledger has read that row before and reads it no more
        with pytest.raises(LedgerDamaged):
            commit(ledger, "q3")


def test_a_database_put_back_is_refused_until_it_is_accepted(shared, postgres, tmp_path):
    """By the open ledger, a new one, and another host that saw the entries; not silently on."""
    root, database, schema = shared
    keep = "SELECT * INTO keep_{t} FROM {s}.ledger_{t}"
    back = "DELETE FROM {s}.ledger_{t}; INSERT INTO {s}.ledger_{t} SELECT * FROM keep_{t}"
    tables = ("log", "scopes", "answers", "requests", "heads")
    with opened(root) as ledger:
        commit(ledger, "q1")
        postgres.execute(*(keep.format(t=t, s=schema) for t in tables), database=database)
        commit(ledger, "q2", "0.3")
        statements = [one for t in tables for one in back.format(t=t, s=schema).split("; ")]
        postgres.execute("SET session_replication_role = replica", *statements, database=database)
        with pytest.raises(LedgerDamaged):
            commit(ledger, "q3")
    with pytest.raises(LedgerDamaged, match="anchor knows entry 4"):
        opened(root)
    (root / "people" / "ledger.anchor").unlink()  # the folder of another installation
    with pytest.raises(LedgerDamaged, match="restored from a backup"):
        opened(root)
    said = accept_restore(
        root / "people", neighbours="add-remove", who="ana", reason="the disk was lost"
    )
    assert (said.lost, said.counted, said.exact) == (1, PureLoss("0.3"), True)
    with opened(root) as ledger:
        assert ledger.spent() == PureLoss("0.4")
        assert commit(ledger, "q2", "0.3").fresh
        ledger.verify()


def test_two_hosts_share_one_ledger(shared, postgres, monkeypatch, tmp_path):
    """Another folder and other anchors: the budget is one, and each host anchors what it saw."""
    root, _, _ = shared
    other = tmp_path / "other host"
    other.mkdir()
    shutil.copy(root / "store.yaml", other)
    with opened(root) as here:
        commit(here, "q1", "0.4")
        monkeypatch.setenv("DISCREET_ANCHORS", str(tmp_path / "other anchors"))
        with opened(other) as there:
            assert there.find("q1").measurements == b"drawn"
            assert commit(there, "q2", "0.4").fresh
            assert not commit(here, "q2", "0.4", b"another draw").fresh
            assert here.left() == PureLoss("0.2")
            assert there.verify().answers == 2


@pytest.mark.slow
def test_a_server_that_does_not_promise_durability_is_refused(tmp_path):
    """fsync off, commits that do not wait, a standby; and a wait for a standby that was cancelled."""
    with running() as server:
        database = server.database()
        root = tmp_path / "workspace"
        shared_workspace(root, server, database)
        # a role that wants no warnings: the one that tells of a cancelled wait must come all the same
        server.execute(f"ALTER ROLE {OWNER} SET client_min_messages = error")
        with opened(root) as ledger:
            commit(ledger, "q1")
            server.execute(
                "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"
            )
            failed = []

            def ask():
                with pytest.raises(StoreError) as refused:
                    commit(ledger, "q2")
                failed.append(str(refused.value))

            asking = threading.Thread(target=ask)
            asking.start()
            waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not (pids := server.execute(waits)):
                pass
            server.execute(f"SELECT pg_cancel_backend({pids[0][0]})")
            asking.join()
            assert "without waiting for its standby" in failed[0]
            server.execute(
                "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"
            )
            assert ledger.find("q2").measurements == b"drawn"  # confirmed by now
            server.execute("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            while server.execute("SHOW fsync") != [("off",)]:
                pass  # the server takes a moment to hear of it
            while not _refused(ledger, "fsync off"):
                pass  # and so does the process behind an open connection
        with pytest.raises(StoreError, match="fsync off"):
            opened(root)
        server.execute("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
        server.execute(f"ALTER ROLE {OWNER} SET synchronous_commit = off")
        with pytest.raises(StoreError, match="synchronous_commit is off"):
            opened(root)
        server.execute(f"ALTER ROLE {OWNER} RESET synchronous_commit")
        server.down()
        server._write("standby.signal", "")
        server.up()
        with pytest.raises(StoreError, match="is a standby"):
            opened(root)


def test_a_pooler_that_gives_a_connection_without_warnings_is_refused():
    """There the end of a wait for the standby would pass for the standby's word."""
    check_durable((0.0, "on", "on", "on", False, "notice"), "The ledger")
    with pytest.raises(StoreError, match="client_min_messages is error"):
        check_durable((0.0, "on", "on", "on", False, "error"), "The ledger")


def _refused(ledger, why):
    """Whether a further question is refused for this reason."""
    try:
        commit(ledger, f"q{len(list(ledger.entries()))}", "0.0001")
    except StoreError as refused:
        return why in str(refused)
    return False


def crashed(root, server, crashes, clients, more):
    """Clients ask through crashes of the server, then until the budget is gone; what each was told."""
    shared_workspace(root, server, server.database())
    with opened(root) as ledger:
        ledger.set_cap(PureLoss(10**9), who="ana", reason="crashes")
    worker = Path(__file__).with_name("ledger_worker.py")
    processes = [
        subprocess.Popen(
            [sys.executable, str(worker), "persist", str(root / "people"), str(i)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(clients)
    ]
    for _ in range(crashes):
        time.sleep(1.0)
        assert [process.poll() for process in processes] == [None] * clients  # all are at work
        server.down("immediate")
        server.up()
    with opened(root) as ledger:
        cap = ledger.spent().epsilon + more
        ledger.set_cap(PureLoss(cap), who="ana", reason="enough")
    answered = {}
    for process in processes:
        for line in process.communicate()[0].splitlines():
            question, digest = line.split()
            assert answered.setdefault(question, digest) == digest
        assert process.returncode == 0
    return answered


def check_crashes(root, crashes, clients, more):
    with running() as server:
        answered = crashed(root, server, crashes, clients, more)
        with opened(root) as ledger:
            stored = {a.question: a.measurements for a in ledger.history().answers}
        found = verify(root / "people")
    digests = {q: hashlib.sha256(content).hexdigest() for q, content in stored.items()}
    assert answered.items() <= digests.items()  # nothing answered that is not charged, or otherwise
    assert (
        len(answered) <= found.answers <= len(answered) + crashes * clients
    )  # untold ones at most
    assert found.spent == PureLoss(found.answers)
    return found.answers


@pytest.mark.slow
def test_crashes_of_the_server_lose_nothing(tmp_path):
    """2 crashes under 3 clients: all answered is charged, once and with these numbers."""
    check_crashes(tmp_path / "workspace", 2, 3, 30)


@pytest.mark.proof
def test_twenty_crashes_of_the_server(tmp_path, record_property):
    """20 crashes of Postgres (-m immediate) under 8 clients: all answered is charged, once and the same."""
    record_property("answers", check_crashes(tmp_path / "workspace", 20, 8, 500))


def test_a_connection_lost_before_a_charge_is_opened_again(shared, postgres):
    """Nothing was written yet, so it is tried once more."""
    root, database, _ = shared
    with opened(root) as ledger:
        assert commit(ledger, "q").fresh
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet' AND datname = "
        postgres.execute(f"{kill}'{database}'")
        assert commit(ledger, "r").fresh


def test_what_a_host_without_power_holds_is_let_go(shared):
    """The server asks now and then whether a host is there, also one that holds a lock for long."""
    root, *_ = shared
    place = place_of(root)
    with closing(Connection(place, "The ledger")) as opened:
        for name, value in (("idle", "10"), ("interval", "5"), ("count", "3")):
            told = opened.get().execute(f"SHOW tcp_keepalives_{name}").fetchone()
            assert told == (value,)


def test_a_commit_in_doubt_is_confirmed_before_it_answers(shared, monkeypatch):
    """A connection lost in COMMIT: the stored answer waits until a later write is durable."""
    root, _, _ = shared
    with opened(root) as ledger:
        whole, confirm, seen = ledger._check_committed, ledger._confirm, []

        def lost(status):
            whole(status)
            raise StoreError("lost")

        monkeypatch.setattr(ledger, "_check_committed", lost)
        with pytest.raises(StoreError, match="lost"):
            commit(ledger, "q")
        monkeypatch.setattr(ledger, "_check_committed", whole)
        monkeypatch.setattr(ledger, "_confirm", lambda: (seen.append(1), confirm()))
        assert not commit(ledger, "q").fresh
        assert seen


def test_a_reason_with_a_zero_byte_is_read(shared):
    root, _, _ = shared
    with opened(root) as ledger:
        ledger.set_cap(PureLoss(2), who="ana", reason="a\0b")
        commit(ledger, "q")
    with opened(root) as ledger:
        assert ledger.cap() == PureLoss(2)
        with ledger._read() as rows:
            assert rows.restores() == []
            assert rows.data_versions(0)[1] == ["1"]
            assert rows.questions("1", None) == ["q"]


def test_a_process_that_had_the_file_open_cannot_charge_it_after_the_move(fresh_demo, postgres):
    folder = fresh_demo / "deaths-dp"
    with open_ledger(folder, dataset="deaths-dp") as old:
        if old.cap() is None:
            old.set_cap(PureLoss(1), who="ana", reason="agreed")
        (fresh_demo / "store.yaml").write_text(f"database: {postgres.url(postgres.database())}\n")
        prepare(fresh_demo)
        move(fresh_demo)
        with pytest.raises(StoreError, match="was moved"):
            commit(old, "late")


def test_a_move_that_was_killed_is_completed(tmp_path, postgres, monkeypatch):
    """Also between the commit and the file's other name; what came since is never passed over."""
    accounts = WorkspaceDatabase(tmp_path)
    Accounts(accounts).add_user("ana", "analyst", password="a long enough phrase")
    token, _ = Accounts(accounts).add_token("ana", label="é \\u0041")
    accounts.close()
    with closing(AuditLog(tmp_path)) as log:
        log.add({"event": "begun"}).result()
    shared_workspace(tmp_path, postgres)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            move(tmp_path)
    assert (tmp_path / "accounts.sqlite3").exists()
    move(tmp_path)
    assert not list(tmp_path.glob("*.sqlite3"))
    with closing(WorkspaceDatabase(tmp_path)) as there:
        assert Accounts(there).by_token(token).name == "ana"
        Accounts(there).add_user("ben", "analyst")
    (tmp_path / "accounts.sqlite3.moved").rename(tmp_path / "accounts.sqlite3")
    with pytest.raises(StoreError, match="has accounts"):
        move(tmp_path)


def killed(*_):
    raise KeyboardInterrupt
