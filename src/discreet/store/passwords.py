"""Passwords are people's, so they are stored as argon2id; at most two are worked out at once."""

from __future__ import annotations

import secrets
import threading
from functools import cache

from ..errors import InputError, StoreError

_HASHING = threading.BoundedSemaphore(2)


def hash_password(password: str) -> str:
    """Argon2id of a password of 12 to 200 characters."""
    from argon2 import PasswordHasher

    if not 12 <= len(password) <= 200:
        raise InputError(
            f"A password has 12 to 200 characters, got {len(password)}. Choose a longer phrase."
        )
    with _HASHING:
        return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1).hash(password)


def verify_password(stored: str, password: str) -> bool:
    """Whether the password is the stored one; at most two are checked at once."""
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    if not _HASHING.acquire(timeout=5):
        raise StoreError("Too many logins at once. Try again in a few seconds.")
    try:
        return PasswordHasher().verify(stored, password[:200])
    except (Argon2Error, InvalidHashError):
        return False
    finally:
        _HASHING.release()


@cache
def nobody() -> str:
    """A hash whose password nobody knows, so that unknown names take as long as wrong passwords."""
    return hash_password(secrets.token_urlsafe(32))
