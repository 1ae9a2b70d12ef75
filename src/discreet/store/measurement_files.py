"""Measurements too large for the database: files named by their own SHA-256.

A file is complete and durable, name included, before the transaction that names it begins.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..durable import make_folder, replacing, sync_file, sync_folder
from ..file_names import MEASUREMENTS
from .chain import digest

INLINE_BYTES = 1_000_000
_GRACE_SECONDS = 3600.0


class MeasurementFiles:
    """The folder `measurements` of a data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / MEASUREMENTS

    def keep(self, content: bytes, name: str) -> None:
        """Store `content` under its digest `name`, durably."""
        path = self.folder / name
        if not self.folder.is_dir():
            make_folder(self.folder)
            sync_folder(self.folder.parent)
        if self.read(name) == content:
            os.utime(path)  # young again: `tidy` of another process leaves it alone
            sync_file(path)
            sync_folder(self.folder)
        else:
            with replacing(path) as stream:
                stream.write(content)

    def read(self, name: str) -> bytes | None:
        """The content, or None where the file is missing or not what its name says."""
        try:
            content = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        return content if digest(content) == name else None

    def size(self, name: str) -> int | None:
        """Bytes on disk, or None where the file is missing."""
        try:
            return (self.folder / name).stat().st_size
        except FileNotFoundError:
            return None

    def tidy(self, named: set[str]) -> int:
        """Delete files that no charge names and that no commit can be about to name."""
        gone = 0
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                old = time.time() - path.stat().st_mtime > _GRACE_SECONDS
                if path.name not in named and old:
                    path.unlink()
                    gone += 1
        return gone
