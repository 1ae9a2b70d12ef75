"""Who may ask: users with roles, random tokens, cookie sessions; one file for a workspace.

    accounts = Accounts(WorkspaceDatabase(workspace))
    accounts.add_user("ana", "analyst", password="…")
    token = accounts.add_token("ana")          # shown once; only its keyed digest is stored

Tokens and sessions are 256 random bits, so a fast keyed digest (BLAKE2b, the key in a file of its
own) is the right way to store them; passwords are people's, so they get argon2id, at most two at
once. Nothing here has seen a record.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..errors import InputError
from .passwords import hash_password, nobody, verify_password
from .workspace_database import WorkspaceDatabase

Role: TypeAlias = Literal["public", "analyst", "custodian", "auditor"]
ROLES: tuple[Role, ...] = ("analyst", "custodian", "auditor")
SCOPES = ("read", "tables", "manage", "audit")
IDLE_HOURS = 1
"""A session in which nothing is asked for so long has ended."""
"""What a token may be used for: catalogue, asking, a custodian's changes, ledger and audit log."""

_USER = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"dct_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class User:
    """An account; `revoked` is when it ended."""

    name: str
    role: Role
    created: float
    revoked: float | None
    has_password: bool
    made_by: str = ""
    """Who was given its first token or chose its password; empty: the command line."""


@dataclass(frozen=True)
class Token:
    """What is known of a token; never the token itself."""

    id: str
    user: str
    label: str
    scopes: tuple[str, ...]
    created: float
    expires: float
    revoked: float | None


@dataclass(frozen=True)
class Identity:
    """Who is behind a token or a session."""

    name: str
    role: Role
    scopes: tuple[str, ...]
    via: str
    """`token ID` or `session`."""


class Accounts:
    """Users, tokens and sessions, in the file of a workspace."""

    def __init__(self, database: WorkspaceDatabase) -> None:
        self._db = database

    # Users

    def add_user(
        self, name: str, role: str, *, password: str | None = None, made_by: str = ""
    ) -> User:
        """A new account; its name is never used again, also after it was revoked."""
        if not _USER.fullmatch(name) or name == "public":
            raise InputError(
                f"A user's name is 1 to 64 of a–z, 0–9, . _ @ -, got {name[:80]!r}. Choose another."
            )
        if role not in ROLES:
            raise InputError(f"A role is one of {', '.join(ROLES)}, got {role[:40]!r}.")
        stored = None if password is None else hash_password(password)
        with self._db.writing() as connection:
            if connection.execute("SELECT 1 FROM users WHERE name = ?", (name,)).fetchone():
                raise InputError(f"There is an account {name} already. Choose another name.")
            connection.execute(
                "INSERT INTO users VALUES (?, ?, ?, ?, NULL, ?)",
                (name, role, stored, self._db.clock(), made_by),
            )
        return self.user(name)

    def user(self, name: str) -> User:
        """One account by name."""
        if user := next((user for user in self.users() if user.name == name), None):
            return user
        raise InputError(f"There is no account {name[:80]!r}. `discreet user list DIR` names them.")

    def users(self) -> list[User]:
        """Every account, revoked ones too."""
        rows = self._db.rows(
            "SELECT name, role, created, revoked, password IS NOT NULL, made_by FROM users "
            "ORDER BY name"
        )
        return [
            User(name, role, created, revoked, bool(has), made_by)
            for name, role, created, revoked, has, made_by in rows
        ]

    def custodians(self) -> list[str]:
        """Custodians that may act now."""
        return [u.name for u in self.users() if u.role == "custodian" and u.revoked is None]

    def origins(self) -> dict[str, str]:
        """Every account, and the account of the command line that it comes from.

        Accounts of one origin may all be one person's: each was handed over by another of them.
        """
        makers = {user.name: user.made_by for user in self.users()}
        origins = {}
        for name in makers:
            origin = name
            while makers.get(origin):
                origin = makers[origin]
            origins[name] = origin
        return origins

    def revoke_user(self, name: str) -> User:
        """End an account with its tokens and sessions, at once and for ever."""
        self.user(name)
        with self._db.writing() as connection:
            now = self._db.clock()
            left = "SELECT name FROM users WHERE role = 'custodian' AND revoked IS NULL"
            if connection.execute(left).fetchall() == [(name,)]:
                raise InputError(
                    f"{name} is the only custodian: without one nobody could add accounts. "
                    "Add another custodian first."
                )
            connection.execute(
                "UPDATE users SET revoked = ? WHERE name = ? AND revoked IS NULL", (now, name)
            )
            connection.execute(
                "UPDATE tokens SET revoked = ? WHERE user = ? AND revoked IS NULL", (now, name)
            )
            connection.execute("DELETE FROM sessions WHERE user = ?", (name,))
        return self.user(name)

    def check_password(self, name: str, password: str) -> User | None:
        """The account where name and password are right; takes as long where they are not."""
        rows = self._db.rows("SELECT password FROM users WHERE name = ? AND revoked IS NULL", name)
        stored = rows[0][0] if rows else None
        right = verify_password(stored or nobody(), password)
        return self.user(name) if right and stored else None

    # Tokens

    def add_token(
        self,
        user: str,
        *,
        label: str = "",
        scopes: Sequence[str] = SCOPES,
        days: float = 90,
        made_with: str = "",
    ) -> tuple[str, Token]:
        """A new token and what is stored of it; the token itself is shown this once.

        One that is made with another token (its id) does not outlive it, and ends with it.
        """
        if self.user(user).revoked is not None:
            raise InputError(f"The account {user} is revoked and gets no tokens.")
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            raise InputError(
                f"Scopes are some of {', '.join(SCOPES)}, got {', '.join(scopes)[:80] or 'none'}."
            )
        if not 0 < days <= 3660:
            raise InputError(f"A token lives more than 0 and at most 3,660 days, got {days:g}.")
        identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = self._db.clock()
        parents = [token.expires for token in self.tokens(user) if token.id == made_with]
        expires = min([now + days * 86400, *parents])
        made = Token(identity, user, label[:100], tuple(sorted(set(scopes))), now, expires, None)
        parent = made_with if parents else None
        self._db.execute(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)",
            *(identity, user, self._db.keyed("token", secret), made.label),
            *(json.dumps(made.scopes), made.created, made.expires, parent),
        )
        return f"dct_{identity}_{secret}", made

    def tokens(self, user: str) -> list[Token]:
        """The tokens of a user, newest first."""
        return self._db.records(Token, "tokens", "WHERE user = ? ORDER BY created DESC, id", user)

    def revoke_token(self, user: str, identity: str) -> bool:
        """End a token of this user at once, with all that were made with it.

        False where the user has no such token.
        """
        with self._db.writing() as connection:
            own = "SELECT 1 FROM tokens WHERE id = ? AND user = ?"
            if connection.execute(own, (identity, user)).fetchone() is None:
                return False
            connection.execute(
                "WITH RECURSIVE ended (id) AS (SELECT id FROM tokens WHERE id = ?1 AND user = ?2 "
                "UNION SELECT t.id FROM tokens t JOIN ended e ON t.made_with = e.id) "
                "UPDATE tokens SET revoked = coalesce(revoked, ?3) WHERE id IN (SELECT id FROM ended)",
                (identity, user, self._db.clock()),
            )
            return True

    def by_token(self, text: str) -> Identity | None:
        """Who a token belongs to; None where it is unknown, expired or revoked."""
        parts = _TOKEN.fullmatch(text)
        if parts is None:
            return None
        rows = self._db.rows(
            "SELECT t.digest, t.scopes, u.name, u.role FROM tokens t JOIN users u ON u.name = t.user "
            "WHERE t.id = ? AND t.revoked IS NULL AND t.expires > ? AND u.revoked IS NULL",
            parts[1],
            self._db.clock(),
        )
        if not rows or not hmac.compare_digest(rows[0][0], self._db.keyed("token", parts[2])):
            return None
        _, scopes, name, role = rows[0]
        return Identity(name, role, tuple(json.loads(scopes)), f"token {parts[1]}")

    # Sessions

    def open_session(self, user: str, *, hours: float = 12) -> str:
        """A new session; returns the cookie's value."""
        secret, now = secrets.token_urlsafe(32), self._db.clock()
        with self._db.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?)",
                (self._db.keyed("session", secret), user, now, now, now + hours * 3600),
            )
        return secret

    def session_ends(self, secret: str) -> tuple[float, float] | None:
        """When a session ends by itself if nothing is asked, and at the latest; None: it has ended."""
        rows = self._db.rows(
            "SELECT seen, expires FROM sessions WHERE digest = ?", self._db.keyed("session", secret)
        )
        return (min(rows[0][0] + IDLE_HOURS * 3600, rows[0][1]), rows[0][1]) if rows else None

    def keep_session(self, secret: str) -> None:
        """A session that is used at this moment."""
        digest = self._db.keyed("session", secret)
        self._db.execute("UPDATE sessions SET seen = ? WHERE digest = ?", self._db.clock(), digest)

    def by_session(self, secret: str, *, idle_hours: float = IDLE_HOURS) -> Identity | None:
        """Who a session belongs to; None where it is unknown, expired or idle for too long."""
        now, digest = self._db.clock(), self._db.keyed("session", secret)
        rows = self._db.rows(
            "SELECT s.seen, u.name, u.role FROM sessions s JOIN users u ON u.name = s.user "
            "WHERE s.digest = ? AND s.expires > ? AND s.seen > ? AND u.revoked IS NULL",
            digest,
            now,
            now - idle_hours * 3600,
        )
        if not rows:
            return None
        seen, name, role = rows[0]
        if now - seen > 60:
            self._db.execute("UPDATE sessions SET seen = ? WHERE digest = ?", now, digest)
        return Identity(name, role, SCOPES, "session")

    def csrf(self, secret: str) -> str:
        """The token that must come with every change made through this session."""
        return self._db.keyed("csrf", secret).hex()

    def close_session(self, secret: str) -> None:
        """End a session."""
        self._db.execute("DELETE FROM sessions WHERE digest = ?", self._db.keyed("session", secret))

    # Requests that name an idempotency key

    def same_request(self, user: str, key: str, digest: str) -> bool:
        """Note a request under its key; False where the key came before with another request."""
        with self._db.writing() as connection:
            row = connection.execute(
                "SELECT digest FROM requests WHERE user = ? AND key = ?", (user, key)
            ).fetchone()
            if row is None:
                connection.execute(
                    "INSERT INTO requests VALUES (?, ?, ?, ?)",
                    (user, key, digest, self._db.clock()),
                )
                return True
            return bool(row[0] == digest)

    def forget_requests(self, *, before: float) -> None:
        """Forget idempotency keys last noted before this time."""
        self._db.execute("DELETE FROM requests WHERE at < ?", before)
