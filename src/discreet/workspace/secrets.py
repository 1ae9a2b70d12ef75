"""The custodian's secrets: a master key, from which every other key is derived, and the salt.

    secret/           0700
      master.key      32 random bytes, drawn when the data set is made; never replaced
      salt            32 random bytes, mixed into record keys at load

The master key alone decides the noise of cell keys: whoever has it and the published tables can
take the noise away. The salt (or the key column it made) without the master key tells nothing
about the noise. A new key epoch derives new keys from the same master key.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from ..durable import make_folder, replace_bytes
from ..errors import StoreError
from ..file_names import SECRETS
from .file_modes import open_to_others as loose

SIZE = 32
FIRST_EPOCH = "epoch-1"


class DataSetSecrets:
    """Derives keys; its repr shows the epoch, never a key."""

    __slots__ = ("__derived", "__master", "__salt", "epoch")

    def __init__(self, master: bytes, salt: bytes, epoch: str = FIRST_EPOCH) -> None:
        self.__master = master
        self.__salt = salt
        self.__derived: dict[str, bytes] = {}
        self.epoch = epoch

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for this purpose, the same for ever within a key epoch.

        HKDF-SHA256 (RFC 5869) of the master key; epoch and purpose are its context.

        >>> s = DataSetSecrets(bytes(32), bytes(32))
        >>> s.derive("cell keys") == s.derive("cell keys"), len(s.derive("cell keys"))
        (True, 32)
        """
        if purpose not in self.__derived:
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF

            context = b"discreet 1\x00" + self.epoch.encode() + b"\x00" + purpose.encode()
            key = HKDF(SHA256(), SIZE, salt=None, info=context).derive(self.__master)
            self.__derived[purpose] = key
        return self.__derived[purpose]

    def record_salt(self) -> bytes:
        """What record keys are salted with at load."""
        return self.__salt

    def __repr__(self) -> str:
        return f"<secrets of {self.epoch}; hidden>"

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("Secrets cannot be copied, pickled or sent.")


def create(folder: Path) -> None:
    """Draw what is not there yet; what is there is never replaced."""
    inside = folder / SECRETS
    make_folder(inside)
    for name in ("master.key", "salt"):
        path = inside / name
        if not path.exists():
            replace_bytes(path, secrets.token_bytes(SIZE))


def read(folder: Path, epoch: str = FIRST_EPOCH) -> DataSetSecrets:
    """The secrets of a data set; damaged or missing ones get one sentence and no guess."""
    keys = []
    for name in ("master.key", "salt"):
        path = folder / SECRETS / name
        try:
            data = path.read_bytes()
        except OSError as problem:
            raise StoreError(
                f"{path} cannot be read ({problem.strerror}). Without it tables cannot be made as "
                "before; restore it from a backup."
            ) from None
        if len(data) != SIZE:
            raise StoreError(
                f"{path} is damaged: it must hold {SIZE} bytes, got {len(data)}. "
                "Restore it from a backup."
            )
        keys.append(data)
    return DataSetSecrets(keys[0], keys[1], epoch)


def open_to_others(folder: Path) -> list[Path]:
    """Secret files and folders that someone else on this machine may read."""
    inside = folder / SECRETS
    return [path for path in (inside, inside / "master.key", inside / "salt") if loose(path)]
