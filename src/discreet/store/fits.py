"""Fits of what was charged: made once and kept, so that an answer is the same on every machine.

A fit may use floats, and another processor rounds their last digits another way: made again there,
a table could differ by a record here and there. So the first fit of some measurements under one
treatment is on disk before a number of it leaves, and whoever asks later gets that one.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import StoreError
from ..file_names import FITS
from .blobs import Blobs, blobs_of
from .chain import digest


class Fits:
    """The fits of a data set, by a name made of all that they depend on."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()
        self._blobs: Blobs = blobs_of(folder.parent)
        self._folder = f"{folder.name}/{FITS}"

    def get(self, name: str) -> bytes | None:
        """The fit that was kept under a name, or None."""
        path = self._blobs.fetch(f"{self._folder}/{name}")
        return None if path is None else _whole(path)

    def keep(self, name: str, fit: bytes) -> bytes:
        """Keep a fit, durably, unless there is one; the one that answers from now on."""
        return _whole(self._blobs.keep_first(f"{self._folder}/{name}", _sealed(fit)))


def _sealed(fit: bytes) -> bytes:
    return digest(fit).encode() + b"\n" + fit


def _whole(path: Path) -> bytes:
    """The fit in a file; never another than was answered from."""
    try:
        seal, _, fit = path.read_bytes().partition(b"\n")
    except OSError:
        raise StoreError(f"{path} cannot be read. It holds tables that were answered.") from None
    if digest(fit).encode() != seal:
        raise StoreError(
            f"{path} is damaged. It holds tables that were answered: put it back from a backup, or "
            "remove it to have them made again from the stored measurements."
        )
    return fit
