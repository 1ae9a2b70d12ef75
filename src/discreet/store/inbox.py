"""What people asked and did not get: refused questions, and requests to the custodian in words.

Kept apart from ledger and audit log, whose chains hold hashes only. No number of a table is here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .workspace_database import WorkspaceDatabase

MOST_OPEN = 20
"""Requests of one person to one data set that may wait at once."""
MOST_REQUESTS = 10_000
MOST_REFUSED = 10_000
"""Kept for each data set; the oldest go first."""


@dataclass(frozen=True)
class Refused:
    """A question that a rule refused, how often, and when first and last."""

    question: str
    dataset: str
    rule: str
    recipe: Mapping[str, Any]
    times: int
    first: float
    last: float


@dataclass(frozen=True)
class CustodianRequest:
    """What somebody wishes of a custodian, and what the custodian said."""

    id: str
    dataset: str
    recipe: Mapping[str, Any]
    words: str
    by: str
    created: float
    answer: str
    answered_by: str
    answered_at: float | None


class Inbox:
    """Refused questions and requests, in the file of a workspace."""

    def __init__(self, database: WorkspaceDatabase) -> None:
        self._db = database

    def note_refused(
        self, question: str, dataset: str, rule: str, recipe: Mapping[str, Any]
    ) -> None:
        """Count a refusal; its recipe is kept once."""
        now = self._db.clock()
        with self._db.writing() as connection:
            known = connection.execute(
                "UPDATE refused SET times = times + 1, last = ? "
                "WHERE question = ? AND dataset = ? AND rule = ?",
                (now, question, dataset, rule),
            )
            if known.rowcount:
                return
            text = json.dumps(dict(recipe), ensure_ascii=False)
            connection.execute(
                "INSERT INTO refused VALUES (?, ?, ?, ?, 1, ?, ?)",
                (question, dataset, rule, text, now, now),
            )
            connection.execute(
                "DELETE FROM refused WHERE dataset = ?1 AND rowid NOT IN (SELECT rowid FROM refused "
                "WHERE dataset = ?1 ORDER BY last DESC LIMIT ?2)",
                (dataset, MOST_REFUSED),
            )

    def refused(
        self, *, dataset: str = "", rule: str = "", question: str = "", most: int = 100
    ) -> list[Refused]:
        """Refused questions, those asked most often first."""
        return self._db.records(
            Refused,
            "refused",
            "WHERE (?1 = '' OR dataset = ?1) AND (?2 = '' OR rule = ?2) "
            "AND (?3 = '' OR question = ?3) ORDER BY times DESC, last DESC LIMIT ?4",
            *(dataset, rule, question, most),
        )

    def ask(self, dataset: str, recipe: Mapping[str, Any], words: str, by: str) -> CustodianRequest:
        """Ask a custodian; so many wait at most."""
        ((mine, every),) = self._db.rows(
            "SELECT count(CASE WHEN by = ?2 AND answered_at IS NULL THEN 1 END), count(*) "
            "FROM custodian_requests WHERE dataset = ?1",
            dataset,
            by,
        )
        if mine >= MOST_OPEN:
            raise InputError(
                f"You have {MOST_OPEN} requests waiting here, which is the most. Wait for an answer."
            )
        if every >= MOST_REQUESTS:
            raise InputError("This data set takes no more requests. Write to its contact.")
        made = CustodianRequest(
            secrets.token_hex(8), dataset, recipe, words, by, self._db.clock(), "", "", None
        )
        self._db.insert("custodian_requests", made)
        return made

    def requests(
        self, dataset: str, *, by: str = "", identity: str = "", most: int = 1000
    ) -> list[CustodianRequest]:
        """Requests to a data set's custodians, those that wait first, then the newest."""
        return self._db.records(
            CustodianRequest,
            "custodian_requests",
            "WHERE dataset = ?1 AND (?2 = '' OR by = ?2) AND (?3 = '' OR id = ?3) "
            "ORDER BY answered_at IS NOT NULL, created DESC LIMIT ?4",
            *(dataset, by, identity, most),
        )

    def answer(self, dataset: str, identity: str, words: str, by: str) -> bool:
        """Answer a request that waits; False where it does not, or is not there."""
        change = (
            "UPDATE custodian_requests SET answer = ?, answered_by = ?, answered_at = ? "
            "WHERE dataset = ? AND id = ? AND answered_at IS NULL"
        )
        return self._db.execute(change, words, by, self._db.clock(), dataset, identity) == 1
