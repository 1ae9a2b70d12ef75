"""Statements about a workspace's tables, as they are written for SQLite, for Postgres.

They are few, constant and ours. What differs: marks for values, JSON, types, names of tables (which get
their schema), and the column `user`, which in Postgres would be the name of the role and is `who` there.
"""

from __future__ import annotations

import re
from functools import cache

TABLES = {
    "users": "users",
    "tokens": "tokens",
    "sessions": "sessions",
    "requests": "requests",
    "saved": "saved",
    "releases": "releases",
    "proposals": "proposals",
    "refused": "refused",
    "custodian_requests": "custodian_requests",
    "policy_log": "policy_log",
    "jobs": "jobs",
    "log": "audit_log",
    "notes": "notes",
    "buckets": "buckets",
}
"""The tables beside the ledger's, and what they are called here."""
_NAMED = re.compile(r"\b(FROM|INTO|JOIN|UPDATE|EXISTS|ON)(\s+)(" + "|".join(TABLES) + r")\b(?!\.)")
_JSON = re.compile(r"json_extract\((\w+), '\$\.(\w+)'\)")
_VALUE = re.compile(r"\?(\d*)|(?<!:):([a-z_]+)\b")
_USER = re.compile(r"(?<![\w:'])user(?![\w':])")
_TYPES = (
    (" STRICT", ""),
    ("INTEGER PRIMARY KEY", "bigserial PRIMARY KEY"),
    (" INTEGER", " bigint"),
    (" REAL", " double precision"),
    (" BLOB", " bytea"),
    (" TEXT", " text"),
)
ROW_NUMBERS = ("jobs", "refused")
"""Tables that are read in the order of their rows."""


@cache
def translated(sql: str, schema: str) -> str:
    """A statement for Postgres, with marks by number (`%(p1)s`) or by name."""
    text = _USER.sub("who", sql.replace("%", "%%"))
    text = _NAMED.sub(lambda m: f'{m[1]}{m[2]}"{schema}".{TABLES[m[3]]}', text)
    text = _JSON.sub(r"(\1::jsonb ->> '\2')", text)
    count = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal count
        if match[2]:
            return f"%({match[2]})s"
        count += 1
        return f"%(p{match[1] or count})s"

    return _VALUE.sub(mark, text)


def tables(sql: str) -> str:
    """Statements that make tables, for Postgres; `{s}` stands for the schema. Triggers are others."""
    made = []
    for statement in sql.split(";"):
        text = statement.strip()
        if not text.startswith("CREATE TABLE") and not text.startswith("CREATE INDEX"):
            continue
        text = text.replace("IF NOT EXISTS ", "")
        for old, new in _TYPES:
            text = text.replace(old, new)
        text = _USER.sub("who", text)
        name = re.match(r"CREATE TABLE (\w+)", text)
        if name:
            text = text.replace(f"TABLE {name[1]} ", f"TABLE {{s}}.{TABLES[name[1]]} ", 1)
            if name[1] in ROW_NUMBERS:
                text = text[: text.rindex(")")] + ", rowid bigserial)"
        else:
            text = re.sub(r" ON (\w+) ", lambda m: f" ON {{s}}.{TABLES[m[1]]} ", text, count=1)
        made.append(text)
    return ";".join(made)
