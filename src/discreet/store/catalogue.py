"""The catalogue of a workspace: saved tables, proposals, the history of policies.

A saved table is a recipe with a name, run again whenever it is read; releases, which are made once,
have a room of their own (`published.py`). A proposal is a change that needs two custodians.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .workspace_database import WorkspaceDatabase

ALL = 2**31 - 1
"""More entries than any list has."""


@dataclass(frozen=True)
class Saved:
    """A recipe somebody keeps."""

    id: str
    owner: str
    dataset: str
    title: str
    recipe: Mapping[str, Any]
    shared: bool
    created: float


@dataclass(frozen=True)
class Proposal:
    """A change of a budget: waiting, being made (`applying`), accepted or rejected."""

    id: str
    dataset: str
    change: Mapping[str, Any]
    reason: str
    by: str
    created: float
    state: str
    decided_by: str | None = None
    decided_at: float | None = None
    note: str = ""


class Catalogue:
    """Saved tables, proposals and policies, in the file of a workspace."""

    def __init__(self, database: WorkspaceDatabase) -> None:
        self._db, self.clock = database, database.clock

    # Saved tables

    def save(
        self, owner: str, dataset: str, title: str, recipe: Mapping[str, Any], *, shared: bool
    ) -> Saved:
        """Keep a recipe; at most 1,000 an owner."""
        (count,) = self._db.rows("SELECT count(*) FROM saved WHERE owner = ?", owner)[0]
        if count >= 1000:
            raise InputError("You have 1,000 saved tables, which is the most. Delete some first.")
        saved = Saved(secrets.token_hex(8), owner, dataset, title, recipe, shared, self._db.clock())
        self._db.insert("saved", saved)
        return saved

    def saved(self, identity: str | None = None) -> list[Saved]:
        """One saved table, or all; newest first."""
        return self._db.one_or_all(Saved, "saved", identity)

    def readable(
        self,
        reader: str | None,
        datasets: Sequence[str],
        *,
        shared: bool = True,
        offset: int = 0,
        most: int = ALL,
    ) -> list[Saved]:
        """Saved tables of some data sets that a reader owns, or that are shared; newest first."""
        if not datasets:
            return []
        whose = "(owner = ? OR shared = 1)" if shared else "owner = ?"
        these = f"dataset IN ({', '.join('?' * len(datasets))})"
        part = "ORDER BY created DESC, id LIMIT ? OFFSET ?"
        rest = f"WHERE {whose} AND {these} {part}"
        return self._db.records(Saved, "saved", rest, reader, *datasets, most, offset)

    def forget(self, owner: str, identity: str) -> bool:
        """Delete a saved table of this owner; False where there is none."""
        own = "DELETE FROM saved WHERE id = ? AND owner = ?"
        return self._db.execute(own, identity, owner) == 1

    # Proposals

    def propose(self, dataset: str, change: Mapping[str, Any], reason: str, by: str) -> Proposal:
        """A change that waits for a second custodian."""
        proposal = Proposal(
            secrets.token_hex(8), dataset, change, reason, by, self._db.clock(), "waiting"
        )
        self._db.insert("proposals", proposal)
        return proposal

    def proposals(self, identity: str | None = None) -> list[Proposal]:
        """One proposal, or all; newest first."""
        return self._db.one_or_all(Proposal, "proposals", identity)

    def decide(self, identity: str, state: str, by: str, note: str) -> bool:
        """Settle a waiting proposal; False where it does not wait."""
        change = (
            "UPDATE proposals SET state = ?, decided_by = ?, decided_at = ?, note = ? "
            "WHERE id = ? AND state = 'waiting'"
        )
        return self._db.execute(change, state, by, self._db.clock(), note, identity) == 1

    def settle(self, identity: str, *, made: bool) -> None:
        """The change of an agreed proposal is made, or cannot be and waits again."""
        change = (
            "UPDATE proposals SET state = 'accepted' WHERE id = ? AND state = 'applying'"
            if made
            else "UPDATE proposals SET state = 'waiting', decided_by = NULL, decided_at = NULL, "
            "note = '' WHERE id = ? AND state = 'applying'"
        )
        self._db.execute(change, identity)

    # Policies

    def note_policy(self, dataset: str, version: str, body: Mapping[str, Any], note: str) -> bool:
        """Note a policy that is served; True where the one before was another, or there was none.

        `note` says who changed it, as far as is known.
        """
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, default=str)
        last = "SELECT version, body FROM policy_log WHERE dataset = ? ORDER BY seq DESC LIMIT 1"
        if self._db.rows(last, dataset) == [(version, text)]:
            return False
        with self._db.writing() as connection:
            if connection.execute(last, (dataset,)).fetchone() == (version, text):
                return False
            connection.execute(
                "INSERT INTO policy_log (dataset, version, at, body, note) VALUES (?, ?, ?, ?, ?)",
                (dataset, version, self._db.clock(), text, note),
            )
            return True

    def policies(self, dataset: str) -> Sequence[dict[str, Any]]:
        """Every policy a data set was served under, newest first, and who changed it."""
        rows = self._db.rows(
            "SELECT version, at, body, note FROM policy_log WHERE dataset = ? ORDER BY seq DESC",
            dataset,
        )
        return [
            {"version": r[0], "at": r[1], "policy": json.loads(r[2]), "note": r[3]} for r in rows
        ]
