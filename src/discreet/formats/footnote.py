"""What a file says beside its numbers: how to cite the table, and everything about it as values."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.exact import plain
from ..core.table import ProtectedTable, Status
from .flat import Flat
from .notes import SYNTHETIC, notes

_JSON_WHOLE = 1 << 53

VERSIONS = ("question_hash", "data_version", "policy_version")
"""What names a table for ever."""


def citation(table: ProtectedTable) -> str:
    """How to cite the table: enough to ask for the very same numbers again."""
    about = table.provenance
    source = about.source or about.dataset_title or about.dataset
    parts = [f"{source}: {table.title or 'Table'}"]
    if about.dataset_title and about.dataset_title != source:
        parts.append(about.dataset_title)
    if about.period:
        parts.append(about.period)
    parts.append(f"data version {about.data_version}, policy version {about.policy_version}")
    if about.release:
        parts.append(f"release {about.release}")
    parts.append(f"table {about.question_hash[:16]}")
    parts.append(f"protected by {about.method} with {about.software}")
    text = "; ".join(parts) + "."
    if about.licence:
        text += f" Licence: {about.licence}."
    return f"{text} {SYNTHETIC}" if about.synthetic else text


def law_elsewhere(table: ProtectedTable) -> list[str]:
    """For formats without a place for the law of the cells: its digest, and which files have it."""
    if not table.law.to_json():
        return []
    return [
        f"The law of the cells is {table.law.digest}; the JSON-stat, CSVW, Parquet and XLSX files of "
        f"table {table.provenance.question_hash[:16]} hold it in full."
    ]


def about(table: ProtectedTable, flat: Flat | None = None) -> dict[str, Any]:
    """Everything a file says beside its numbers, as plain values ready for JSON."""
    where = table.provenance
    said = notes(table, flat)
    present = np.flatnonzero(np.bincount(table.status.ravel())).tolist()
    facts: dict[str, Any] = {
        "title": table.title,
        "dataset": where.dataset,
        "dataset_title": where.dataset_title,
        "question": jsonable(where.question),
        **{name: getattr(where, name) for name in (*VERSIONS, "method")},
        "guarantee": table.guarantee.to_json(),
        "law": table.law.to_json(),
        "status": {
            Status(code).letter: Status(code).meaning for code in present if Status(code).letter
        },
        "notes": [note.to_json() for note in said],
        "citation": citation(table),
        **{name: getattr(where, name) for name in ("software", "unit", "synthetic")},
    }
    if table.noise is not None:
        facts["noise_interval_coverage"] = plain(table.noise.coverage)
    for name in ("release", "source", "licence", "contact", "population", "period"):
        if getattr(where, name):
            facts[name] = getattr(where, name)
    return facts


def jsonable(value: Any) -> Any:
    """The same value in JSON's own types; fractions and numbers past 2^53 become exact text.

    >>> jsonable({"epsilon": Fraction(1, 2), "axes": ("a", "b")})
    {'epsilon': '0.5', 'axes': ['a', 'b']}
    >>> jsonable({"keys": 2**64, "weights": np.array([1, 2])})
    {'keys': '18446744073709551616', 'weights': [1, 2]}
    """
    if isinstance(value, str):  # most of what comes here
        return value
    if isinstance(value, list | tuple | set | frozenset):
        inners = sorted(value) if isinstance(value, set) else value
        return [inner if type(inner) is str else jsonable(inner) for inner in inners]
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, np.generic | np.ndarray):
        return jsonable(value.tolist())
    # Readers that take every number for a double would round a large one.
    large = isinstance(value, int) and abs(value) > _JSON_WHOLE
    return value if isinstance(value, int | float | None) and not large else str(value)
