"""The server's files of a workspace of version 0.1: saved tables and jobs, in today's form.

Version 0.1 left no mark on its accounts; today's form is marked, and a server refuses files without
the mark. Accounts, tokens, releases, proposals and the audit log are as they were.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from ...file_names import ACCOUNTS, JOBS
from ..chain import canonical
from ..jobs import Jobs
from ..workspace_database import FORM, NAME, is_old
from .database import connect, in_words, transaction

Rewrite: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class OldAccounts:
    """The accounts of a workspace of version 0.1."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def policies(self, dataset: str) -> dict[str, dict[str, Any]]:
        """The policies a data set was served under, by version."""
        rows = self._connection.execute(
            "SELECT version, body FROM policy_log WHERE dataset = ?", (dataset,)
        )
        return {version: json.loads(body) for version, body in rows}

    def rewrite(self, rewrite: Rewrite) -> int:
        """Saved recipes in today's words, and the mark; returns how many there are.

        Idempotency keys are forgotten: what they stood for is written otherwise now, and a question
        asked again is answered again at no cost.
        """
        with transaction(self._connection) as connection:
            saved = connection.execute("SELECT id, recipe FROM saved").fetchall()
            for identity, text in saved:
                recipe = json.dumps(rewrite(json.loads(text)), ensure_ascii=False)
                connection.execute("UPDATE saved SET recipe = ? WHERE id = ?", (recipe, identity))
            connection.execute("DELETE FROM requests")
            connection.execute(f"PRAGMA user_version = {FORM}")
        return len(saved)


@contextmanager
def old_accounts(folder: Path) -> Iterator[OldAccounts | None]:
    """The accounts in `folder`; None where there are none, or they are of today's form."""
    if not (folder / ACCOUNTS).exists():
        yield None
        return
    with in_words(NAME), closing(connect(folder / ACCOUNTS)) as connection:
        yield OldAccounts(connection) if is_old(connection) else None


def rewrite_jobs(folder: Path, rewrite: Callable[[dict[str, Any], str], dict[str, Any]]) -> int:
    """Requests of jobs in today's form, given each with the job's state; returns how many."""
    if not (folder / JOBS).exists():
        return 0
    Jobs(folder).close()
    with in_words("The list of jobs"), closing(connect(folder / JOBS)) as opened:
        with transaction(opened) as connection:
            rows = connection.execute("SELECT id, state, request FROM jobs").fetchall()
            for identity, state, text in rows:
                request = canonical(rewrite(json.loads(text), state))
                connection.execute("UPDATE jobs SET request = ? WHERE id = ?", (request, identity))
        return len(rows)
