"""CSV with a byte-order mark: without one, spreadsheets opened by a double click misread UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import BinaryIO

from ..core.table import ProtectedTable
from . import csv


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table."""
    stream.write(codecs.BOM_UTF8)
    csv.save(tables, stream)
