"""Folders for what is made once and copied by many tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path


def kept_folder() -> Path:
    """An empty folder that is there until this process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
