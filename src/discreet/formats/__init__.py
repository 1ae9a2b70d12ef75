"""Formats: a `ProtectedTable` as CSV with CSVW, Parquet, JSON-stat 2.0, XLSX, or in a terminal.

One model (`flat`) feeds all, so every format has the same numbers, statuses and labels. Each
file carries question, hash, data and policy version, guarantee, a footnote written from the
table itself, and how to cite it.
"""

from .base import (
    FORMATS,
    IN_FOLDERS,
    Format,
    by_extension,
    by_name,
    new_file,
    one_file,
    to_bytes,
    write,
    write_beside,
)
from .flat import flatten
from .footnote import citation
from .notes import footnote, typical_error

__all__ = [
    "FORMATS", "IN_FOLDERS", "Format", "by_extension", "by_name", "citation", "flatten",
    "footnote", "new_file", "one_file", "to_bytes", "typical_error", "write", "write_beside",
]  # fmt: skip
