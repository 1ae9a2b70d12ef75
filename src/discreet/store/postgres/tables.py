"""The tables in Postgres: made once by their owner, only added to by triggers and by rights.

One schema for a workspace; the rows of a ledger carry the name of its data set. The role that serves
may insert into log, answers and requests and never change or delete there; who owns the tables should
be another role. No column is called `user`: in Postgres a bare `user` is the name of the role.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import InputError, StoreError
from ..chain import damaged
from .connection import about, driver

if TYPE_CHECKING:
    import psycopg

FORM = 1
_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")

_LEDGER = """
CREATE TABLE {s}.form (form bigint NOT NULL);
CREATE TABLE {s}.ledger_heads (dataset text PRIMARY KEY, ledger text NOT NULL, seq bigint NOT NULL,
    hash text NOT NULL);
CREATE TABLE {s}.ledger_log (dataset text NOT NULL, seq bigint NOT NULL CHECK (seq > 0),
    body text NOT NULL, hash text NOT NULL, question text, PRIMARY KEY (dataset, seq),
    UNIQUE (dataset, question));
CREATE TABLE {s}.ledger_scopes (dataset text NOT NULL, scope text NOT NULL, cap text NOT NULL,
    spent text NOT NULL, PRIMARY KEY (dataset, scope));
CREATE TABLE {s}.ledger_answers (dataset text NOT NULL, question text NOT NULL, seq bigint NOT NULL,
    digest text NOT NULL, size bigint NOT NULL, measurements bytea NOT NULL,
    PRIMARY KEY (dataset, question), UNIQUE (dataset, seq));
CREATE TABLE {s}.ledger_requests (dataset text NOT NULL, who text NOT NULL, key text NOT NULL,
    request text NOT NULL, questions text NOT NULL, PRIMARY KEY (dataset, who, key));
CREATE TABLE {s}.ledger_holds (dataset text NOT NULL, id text NOT NULL, who text NOT NULL,
    project text NOT NULL, question text NOT NULL, charges text NOT NULL,
    expires double precision NOT NULL, PRIMARY KEY (dataset, id));
CREATE TABLE {s}.ledger_carried (dataset text NOT NULL, answer text NOT NULL, question text NOT NULL,
    form text NOT NULL, PRIMARY KEY (dataset, answer));
CREATE INDEX ledger_carried_question ON {s}.ledger_carried (dataset, question);
CREATE TABLE {s}.notes (dataset text NOT NULL, name text NOT NULL, body text NOT NULL,
    PRIMARY KEY (dataset, name));
CREATE TABLE {s}.buckets (name text PRIMARY KEY, level double precision NOT NULL,
    at double precision NOT NULL)
"""
_ONLY_ADDED = "BEGIN RAISE EXCEPTION 'it is only added to' USING ERRCODE = 'DD001'; END"
_IN_ORDER = (
    "BEGIN IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM {s}.ledger_log WHERE dataset = "
    "NEW.dataset) THEN RAISE EXCEPTION 'it is only added to at its end' USING ERRCODE = 'DD001'; "
    "END IF; RETURN NEW; END"
)
_FORWARD = (
    "BEGIN IF NEW.dataset <> OLD.dataset OR NEW.ledger <> OLD.ledger OR NEW.seq < OLD.seq THEN RAISE "
    "EXCEPTION 'it only goes on' USING ERRCODE = 'DD001'; END IF; RETURN NEW; END"
)
_FUNCTIONS = {"only_added_to": _ONLY_ADDED, "in_order": _IN_ORDER, "forward": _FORWARD}
_APPEND_ONLY = ("ledger_log", "ledger_answers", "ledger_requests", "ledger_carried", "audit_log")
_TRIGGERS = {
    **{
        (table, f"{table}_{name}"): (when, "only_added_to")
        for table in (*_APPEND_ONLY, "ledger_heads")
        for name, when in (
            ("kept", "BEFORE DELETE" if table == "ledger_heads" else "BEFORE UPDATE OR DELETE"),
            ("whole", "BEFORE TRUNCATE"),
        )
    },
    ("ledger_log", "ledger_log_in_order"): ("BEFORE INSERT", "in_order"),
    ("ledger_heads", "ledger_heads_forward"): ("BEFORE UPDATE", "forward"),
}
_KINDS = {
    "BEFORE UPDATE OR DELETE": 27,
    "BEFORE DELETE": 11,
    "BEFORE TRUNCATE": 34,
    "BEFORE INSERT": 7,
    "BEFORE UPDATE": 19,
}
"""`tgtype` of each: bits for a row, before, and the verbs."""
_RIGHTS = {
    "SELECT, INSERT": _APPEND_ONLY,
    "SELECT, INSERT, UPDATE": ("ledger_heads",),
    "SELECT, INSERT, UPDATE, DELETE": ("ledger_scopes", "ledger_holds"),
    "SELECT": ("form",),
}


def prepare(
    connection: psycopg.Connection[Any], schema: str, more: str, serving: str | None
) -> bool:
    """Make the tables where they are missing, and give `serving` its rights; True where made.

    `more` are the tables of the workspace's server.
    """
    if serving is not None and not _ROLE.fullmatch(serving):
        raise InputError(f"A role is named by letters, digits, _ . and -, got {serving[:60]!r}.")
    with _said(schema, serving), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('discreet prepare'))")
        form = form_of(connection, schema)
        if form is None:
            _make(connection, schema, more)
        else:
            _check_form(form, f"What lies in the schema {schema}")
        if serving is not None:
            _grant(connection, schema, serving)
    return form is None


_IN_THE_WAY = {
    "42501": "This role may not make tables in the schema {schema}, or give rights on those there. Use "
    "the role that owns them, or let it: GRANT CREATE ON DATABASE.",
    "42704": "The database has no role {serving}. Create it first, then prepare again.",
    "42P07": "The schema {schema} holds tables of other programs. Name another `schema` in store.yaml.",
    "42939": "Postgres keeps the name {schema} for itself. Name another `schema` in store.yaml.",
}
"""What can stand in the way of making tables, by the state that the server gives."""


@contextmanager
def _said(schema: str, serving: str | None) -> Iterator[None]:
    """Say what stands in the way; nothing was made or changed."""
    try:
        yield
    except driver().Error as error:
        said = _IN_THE_WAY.get(error.sqlstate or "")
        if said is None:
            raise
        text = said.format(schema=schema, serving=serving)
        raise InputError(f"{text} Nothing was changed.") from None


def _make(connection: psycopg.Connection[Any], schema: str, more: str) -> None:
    connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')  # checked when it was read
    for statement in (_LEDGER + ";" + more).format(s=f'"{schema}"').split(";"):
        if statement.strip():
            connection.execute(statement.encode())
    for name, body in _FUNCTIONS.items():
        text = body.format(s=f'"{schema}"')
        connection.execute(
            f'CREATE FUNCTION "{schema}".{name}() RETURNS trigger LANGUAGE plpgsql '
            f"SET search_path = pg_catalog AS $body${text}$body$".encode()
        )
    for (table, name), (when, function) in _TRIGGERS.items():
        each = "STATEMENT" if when.endswith("TRUNCATE") else "ROW"
        connection.execute(
            f'CREATE TRIGGER {name} {when} ON "{schema}".{table} FOR EACH {each} '
            f'EXECUTE FUNCTION "{schema}".{function}()'.encode()
        )
    connection.execute(about(schema, "INSERT INTO {s}.form VALUES (%s)"), (FORM,))
    connection.execute(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{schema}" FROM PUBLIC'.encode())


def _grant(connection: psycopg.Connection[Any], schema: str, serving: str) -> None:
    run = connection.execute
    run(f'GRANT USAGE ON SCHEMA "{schema}" TO "{serving}"'.encode())
    run(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{schema}" FROM "{serving}"'.encode())
    rows = run("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    strict = {table: rights for rights, tables in _RIGHTS.items() for table in tables}
    for (table,) in rows:
        rights = strict.get(table, "SELECT, INSERT, UPDATE, DELETE")
        run(f'GRANT {rights} ON "{schema}"."{table}" TO "{serving}"'.encode())
    run(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA "{schema}" TO "{serving}"'.encode())


def form_of(connection: psycopg.Connection[Any], schema: str) -> int | None:
    """The form the tables are in; None where there are none."""
    known = connection.execute("SELECT to_regclass(%s)", (f'"{schema}".form',)).fetchone()
    if known is None or known[0] is None:
        return None
    row = connection.execute(about(schema, "SELECT form FROM {s}.form")).fetchone()
    return None if row is None else int(row[0])


def check_tables(connection: psycopg.Connection[Any], schema: str, name: str) -> None:
    """Tables and triggers must be those of this form: a dropped trigger is damage."""
    form = form_of(connection, schema)
    if form is None:
        raise StoreError(
            f"{name} could not be used: the database has no tables in the schema {schema}. Run "
            "`discreet store prepare DIR` with the role that shall own them."
        )
    _check_form(form, name)
    rows = connection.execute(
        "SELECT c.relname, t.tgname, t.tgtype::int, t.tgenabled::text, p.proname, p.prosrc "
        "FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE n.nspname = %s AND NOT t.tgisinternal",
        (schema,),
    ).fetchall()
    expected = {
        (table, trigger, _KINDS[when], "O", f, _FUNCTIONS[f].format(s=f'"{schema}"'))
        for (table, trigger), (when, f) in _TRIGGERS.items()
    }
    if set(rows) != expected:
        raise damaged("the triggers that keep it append-only were changed", name)
    replica = connection.execute("SELECT current_setting('session_replication_role')").fetchone()
    if replica != ("origin",):
        raise damaged("this session passes over the triggers that keep it append-only", name)


def _check_form(form: int, name: str) -> None:
    if form != FORM:
        raise StoreError(
            f"{name} is stored in form {form}, this version reads form {FORM}. "
            "Use the version of discreet that wrote it, or a newer one."
        )


def loose_rights(connection: psycopg.Connection[Any], schema: str) -> str:
    """Why the role that serves could rewrite a ledger, in a sentence; empty where it could not."""
    may = connection.execute(
        "SELECT bool_or(has_table_privilege(format('%%I.%%I', %(s)s::text, t), v)) FROM "
        "unnest(%(t)s::text[]) t, unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) v",
        {"s": schema, "t": list(_APPEND_ONLY[:3])},
    ).fetchone()
    if may == (True,):
        return (
            "The role that serves could change or delete rows of the ledger: only triggers keep it "
            "append-only. Let another role own the tables, and run `discreet store prepare DIR "
            "--serving ROLE` as that one."
        )
    return ""
