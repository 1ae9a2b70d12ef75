"""What a file says beside its numbers: how to cite the table, and everything about it as values."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.exact import plain
from ..core.guarantee import unit_words
from ..core.table import ProtectedTable, Status
from ..languages import say, together
from .flat import Flat
from .notes import SYNTHETIC, notes

_JSON_WHOLE = 1 << 53

VERSIONS = ("question_hash", "data_version", "policy_version")
"""What names a table for ever."""


def citation(table: ProtectedTable) -> str:
    """How to cite the table: enough to ask for the very same numbers again."""
    about = table.provenance
    source = about.source or about.dataset_title or about.dataset
    parts: list[str] = [together(source, table.title or say("Table"), between=": ")]
    if about.dataset_title and about.dataset_title != source:
        parts.append(about.dataset_title)
    if about.period:
        parts.append(about.period)
    parts.append(
        say(
            "data version {data}, policy version {policy}",
            data=about.data_version,
            policy=about.policy_version,
        )
    )
    if about.release:
        parts.append(say("release {name}", name=about.release))
    parts.append(say("table {hash}", hash=about.question_hash[:16]))
    parts.append(
        say(
            "protected by {method} with {software}",
            method=method_words(about.method),
            software=about.software,
        )
    )
    text = together(together(*parts, between="; "), ".", between="")
    licence = say("Licence: {licence}.", licence=about.licence) if about.licence else ""
    return table.tells(together(text, licence, SYNTHETIC if about.synthetic else ""))


def method_words(method: str) -> str:
    """A method's name as readers see it."""
    return _METHODS.get(method, method)


_METHODS = {
    "cell-key": say("cell-key"),
    "noise": say("noise"),
    "marginals": say("marginals"),
    "topdown": say("topdown"),
    "suppression": say("suppression"),
    "classic": say("classic"),
    "synthetic": say("synthetic"),
}


def law_elsewhere(table: ProtectedTable) -> list[str]:
    """For formats without a place for the law of the cells: its digest, and which files have it."""
    if not table.law.to_json():
        return []
    return [
        table.tells(
            say(
                "The law of the cells is {digest}; the JSON-stat, CSVW, Parquet and XLSX files of "
                "table {hash} hold it in full.",
                digest=table.law.digest,
                hash=table.provenance.question_hash[:16],
            )
        )
    ]


def about(table: ProtectedTable, flat: Flat | None = None) -> dict[str, Any]:
    """Everything a file says beside its numbers, as plain values ready for JSON."""
    where = table.provenance
    said = notes(table, flat)
    present = np.flatnonzero(np.bincount(table.status.ravel())).tolist()
    facts: dict[str, Any] = {
        "title": table.tells(table.title),
        "dataset": where.dataset,
        "dataset_title": table.tells(where.dataset_title),
        "question": jsonable(where.question),
        **{name: getattr(where, name) for name in (*VERSIONS, "method")},
        "guarantee": table.guarantee.to_json(table.layout.language),
        "law": table.law.to_json(),
        "status": {
            Status(code).letter: table.tells(Status(code).meaning)
            for code in present
            if Status(code).letter
        },
        "notes": [note.to_json() for note in said],
        "citation": citation(table),
        "software": where.software,
        "unit": table.tells(unit_words(where.unit)),
        "synthetic": where.synthetic,
    }
    if table.noise is not None:
        facts["noise_interval_coverage"] = plain(table.noise.coverage)
    if table.layout.language:
        facts["language"] = table.layout.language
    for name in ("release", "source", "licence", "contact", "population", "period"):
        if getattr(where, name):
            facts[name] = table.tells(getattr(where, name))
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
