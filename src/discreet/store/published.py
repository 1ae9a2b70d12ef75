"""Releases of a workspace's server: made once, kept as files, never edited, one state at a time.

A release is written down before its first number exists, so that an embargo begins before the
charge: from then on nobody but custodians reads what it holds, and an attempt that failed goes on
holding it until a custodian withdraws it. Before a custodian approves it, with a reason that stays,
its time does not come: what nobody decided to publish is not published by a clock.

    making ──▶ ready ──▶ approved ──▶ published ──▶ superseded
       └──────────┴──────────┴────────────┴───────────▶ withdrawn

Releases of workspaces from before approval read as approved when they were made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..errors import InputError
from .workspace_database import WorkspaceDatabase

State: TypeAlias = Literal["making", "ready", "approved", "published", "superseded", "withdrawn"]
NO_TIME = 253402300799.0
"""The time of a release for which none was chosen: the end of the year 9999."""
NOTHING = "-"
"""What a release holds that withholds nothing from anybody; before a version of the data: nothing
until a time to come is chosen, then that version."""
# In both of these a time to come, ?1, makes `holds` what stands behind NOTHING too.
_APPROVE = (
    "UPDATE releases SET approved_at = ?2, approved_by = ?3, approved_reason = ?4, "
    "publish_at = coalesce(?1, publish_at), holds = CASE WHEN ' ' || holds LIKE ?6 AND ?1 > ?2 AND ?1 < ?7 "
    "THEN trim(replace(' ' || holds, ' -', ' ')) ELSE holds END "
    "WHERE id = ?5 AND ready IS NOT NULL AND approved_at IS NULL AND withdrawn_at IS NULL"
)
_PUBLISH = (
    "UPDATE releases SET publish_at = ?1, holds = CASE WHEN ' ' || holds LIKE ?4 AND ?1 > ?2 AND ?1 < ?5 "
    "THEN trim(replace(' ' || holds, ' -', ' ')) ELSE holds END WHERE id = ?3 AND ready IS NOT NULL "
    "AND approved_at = ?6 AND withdrawn_at IS NULL AND publish_at > ?2 AND publish_at = ?7"
)
# Most releases are public and hold nothing: only the others are looked at, each found by an index. The
# sign before other.publish_at keeps SQLite from its index, since most releases have a time that has come.
_NOT_PLAINLY_PUBLIC = "(withdrawn_at IS NOT NULL OR ready IS NULL OR approved_at IS NULL)"
_HELD_AMONG = (
    "SELECT CASE WHEN holds = '' OR withdrawn_at IS NOT NULL THEN question ELSE holds END "
    "FROM releases AS one WHERE dataset = ?1 AND THESE AND CASE WHEN withdrawn_at IS NULL "
    "THEN ready IS NULL OR approved_at IS NULL OR publish_at > ?2 "
    "ELSE (holds = '' OR substr(holds, 1, length(question)) = question) AND (publish_at > ?2 OR approved_at IS NULL) "
    "AND NOT ((approved_at IS NULL OR publish_at >= ?3) AND EXISTS (SELECT 1 FROM "
    "releases AS other WHERE other.dataset = ?1 AND other.question = one.question AND other.ready IS NOT NULL "
    "AND other.approved_at IS NOT NULL AND +other.publish_at <= ?2)) END"
)
_HELD = " UNION ".join(
    _HELD_AMONG.replace("THESE", these) for these in (_NOT_PLAINLY_PUBLIC, "publish_at > ?2")
)
_NAMED_LATER = (f"% {NOTHING}_%", NO_TIME)


@dataclass(frozen=True)
class Published:
    """A release as it is kept: who made it, when it is public, what became of it."""

    id: str
    dataset: str
    title: str
    recipe: Mapping[str, object]
    question: str
    guarantee: str
    files: Mapping[str, str]
    """Format → name of the file in the release's folder."""
    by: str
    created: float
    publish_at: float
    supersedes: str | None
    withdrawn_at: float | None = None
    withdrawn_by: str | None = None
    withdrawn_reason: str | None = None
    holds: str = ""
    """What nobody else reads before: the question's hash where noise was drawn for it alone; elsewhere
    the version of the data, because every table of it shows the same numbers. Where exact counts were
    released both, with a blank between them."""
    ready: float | None = None
    """When its files were complete."""
    approved_at: float | None = None
    approved_by: str = ""
    approved_reason: str = ""

    def public_at(self, now: float) -> bool:
        """Whether everybody may see it."""
        decided = self.ready is not None and self.approved_at is not None
        return decided and self.publish_at <= now


class Releases:
    """The releases in the file of a workspace."""

    def __init__(self, database: WorkspaceDatabase) -> None:
        self._db = database

    def reserve(self, release: Published) -> None:
        """Write down a release that is about to be made; what it supersedes is decided here."""
        with self._db.writing() as connection:
            if (earlier := release.supersedes) is not None:
                row = connection.execute("SELECT dataset FROM releases WHERE id = ?", (earlier,))
                if row.fetchone() != (release.dataset,):
                    raise InputError(
                        f"{release.dataset} has no release {earlier[:40]!r} to supersede."
                    )
                later = connection.execute(
                    "SELECT id FROM releases WHERE supersedes = ?", (earlier,)
                ).fetchone()
                if later is not None:
                    raise InputError(
                        f"Release {earlier[:40]} is superseded by {later[0]} already. Supersede "
                        "that one."
                    )
            self._db.add(connection, "releases", release)

    def drop(self, identity: str) -> None:
        """Forget a reservation for which no number was made."""
        self._db.execute("DELETE FROM releases WHERE id = ? AND ready IS NULL", identity)

    def complete(self, identity: str, files: Mapping[str, str], guarantee: str) -> Published:
        """Its files lie in their place: from now on only its time holds it back."""
        self._db.change(
            "UPDATE releases SET files = ?, guarantee = ?, ready = ? WHERE id = ?",
            *(files, guarantee, self._db.clock(), identity),
        )
        return self.all(identity)[0]

    def all(self, identity: str | None = None) -> list[Published]:
        """One release, or all; newest first, embargoed and withdrawn ones too."""
        return self._db.one_or_all(Published, "releases", identity)

    def undecided(self, dataset: str) -> list[Published]:
        """Those of a data set that wait: not complete, or not approved; newest first."""
        waiting = f"WHERE dataset = ?1 AND {_NOT_PLAINLY_PUBLIC} AND withdrawn_at IS NULL"
        return self._db.records(
            Published, "releases", f"{waiting} ORDER BY created DESC, id", dataset
        )

    def held(self, dataset: str) -> frozenset[str]:
        """Questions and versions of a data set that wait for a release to be published.

        A question that was charged is held until its time, withdrawn or not: withdrawing publishes
        nothing. One that nobody approved, or gave a time, before it was withdrawn is held until
        another release of the same question is public. A version of the data is free again with the
        withdrawal, and so is what a release held that was never completed, once its time has come.
        """
        rows = self._db.rows(_HELD, dataset, self._db.clock(), NO_TIME)
        return frozenset(name for (holds,) in rows for name in str(holds).split(" "))

    def state(self, release: Published) -> State:
        """The one state a release is in now."""
        if release.withdrawn_at is not None:
            return "withdrawn"
        if release.ready is None:
            return "making"
        if release.approved_at is None:
            return "ready"
        if not release.public_at(self._db.clock()):
            return "approved"
        return "published" if self.successor(release.id) is None else "superseded"

    def successor(self, identity: str) -> str | None:
        """The public release that supersedes this one."""
        rows = self._db.rows(
            "SELECT id FROM releases WHERE supersedes = ? AND publish_at <= ? AND ready IS NOT NULL "
            "AND approved_at IS NOT NULL",
            *(identity, self._db.clock()),
        )
        return str(rows[0][0]) if rows else None

    def approve(self, identity: str, by: str, reason: str, publish_at: float | None) -> bool:
        """Approve a release that is ready, once; a time may be chosen with it."""
        values = (publish_at, self._db.clock(), by, reason, identity, *_NAMED_LATER)
        return self._db.execute(_APPROVE, *values) == 1

    def publish(self, seen: Published, publish_at: float) -> bool:
        """Choose when an approved release is published, as long as it is not public.

        Only as it was seen: whether one custodian may choose this time depends on the time there is.
        """
        values = (publish_at, self._db.clock(), seen.id, *_NAMED_LATER)
        return self._db.execute(_PUBLISH, *values, seen.approved_at, seen.publish_at) == 1

    def withdraw(self, identity: str, by: str, reason: str) -> bool:
        """Withdraw a release, once, with a reason that stays.

        One that was never completed supersedes nothing any more.
        """
        change = (
            "UPDATE releases SET withdrawn_at = ?, withdrawn_by = ?, withdrawn_reason = ?, "
            "supersedes = CASE WHEN ready IS NULL THEN NULL ELSE supersedes END "
            "WHERE id = ? AND withdrawn_at IS NULL"
        )
        return self._db.execute(change, self._db.clock(), by, reason, identity) == 1
