"""What is too large for a database and is written once: versions, releases, results of jobs.

A folder, in the workspace or one that all hosts see. A store of objects can take its place: it needs
to keep a file under a name, whole or not at all, and to give one back.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from ..durable import make_folder, plain_errors, replacing, sync_folder
from .place import place_of


class Blobs(ABC):
    """Files by name; a name may have folders in it."""

    @abstractmethod
    def keep(self, name: str, source: Path) -> None:
        """Keep a copy of a file, durably; one that is there under this name is replaced."""

    @abstractmethod
    def keep_first(self, name: str, content: bytes) -> Path:
        """Keep this durably where nothing lies under this name, and give what lies there then."""

    @abstractmethod
    def fetch(self, name: str) -> Path | None:
        """A file of this machine with the content; None where there is none."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of all that lies in a folder, and in those inside it."""

    @abstractmethod
    def forget(self, folder: str, *, before: float) -> None:
        """Remove what was kept in a folder before a moment."""

    def keep_folder(self, name: str, source: Path) -> None:
        """Keep every file of a folder."""
        for path in sorted(source.rglob("*")):
            if path.is_file():
                self.keep(f"{name}/{path.relative_to(source).as_posix()}", path)


class FolderBlobs(Blobs):
    """Files in a folder of a local disk or of a file system that hosts share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def keep(self, name: str, source: Path) -> None:
        """A copy, synced before it takes its name."""
        target = self.root / name
        with plain_errors(f"Keeping {name}"):
            make_folder(target.parent)
            with source.open("rb") as stream, replacing(target) as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
            sync_folder(target.parent)

    def keep_first(self, name: str, content: bytes) -> Path:
        """Written under another name first: a link is made by one of several writers only."""
        target = self.root / name
        with plain_errors(f"Keeping {name}"):
            make_folder(target.parent)
            draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.first")
            try:
                with replacing(draft) as stream:
                    stream.write(content)
                with contextlib.suppress(FileExistsError):
                    os.link(draft, target)
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(target.parent)
        return target

    def fetch(self, name: str) -> Path | None:
        """Where the file lies."""
        path = self.root / name
        return path if path.is_file() else None

    def names(self, folder: str) -> list[str]:
        """All files inside, by name."""
        inside = self.root / folder
        paths = sorted(path for path in inside.rglob("*") if path.is_file())
        return [path.relative_to(self.root).as_posix() for path in paths if path.name[:1] != "."]

    def forget(self, folder: str, *, before: float) -> None:
        """Remove old files, and what a killed process was writing into."""
        for path in _inside(self.root / folder):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _inside(folder: Path) -> Iterator[Path]:
    yield from folder.glob("*")


def blobs_of(workspace: Path) -> FolderBlobs:
    """Where a workspace keeps large files: where `store.yaml` says, else in itself."""
    place = place_of(workspace)
    return FolderBlobs(workspace if place is None or place.blobs is None else place.blobs)
