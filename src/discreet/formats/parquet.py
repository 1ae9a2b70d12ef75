"""Parquet: codes and labels dictionary-encoded, whole numbers nullable, the words in the footer.

The key-value footer has `discreet`, everything a file says as JSON, and the parts most looked
for (`title`, `citation`, `guarantee`, `question_hash` …) under their own keys.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..core.table import ProtectedTable
from .flat import STATUS_LETTERS, Flat, flatten
from .footnote import VERSIONS, about


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table."""
    parquet: Any = importlib.import_module("pyarrow.parquet")
    parquet.write_table(to_arrow(tables[0]), stream, compression="zstd")


def to_arrow(table: ProtectedTable) -> Any:
    """The table as a `pyarrow.Table`, with the footer's words in its schema."""
    pa: Any = importlib.import_module("pyarrow")
    flat = flatten(table)
    facts = about(table, flat)
    columns: dict[str, Any] = {}
    for place, axis in enumerate(flat.axes):
        positions = flat.positions(place)
        columns[axis.name] = _dictionary(axis.codes, positions)
        columns[axis.label_name] = _dictionary(axis.labels, positions)
    columns[flat.measure] = pa.array(flat.values, mask=~flat.shown)
    columns["status"] = _dictionary(STATUS_LETTERS, flat.status.astype(np.int32))
    for name, numbers in flat.numbers.items():
        columns[name] = pa.array(numbers, mask=~flat.shown_in(name))
    short = {
        "title": facts["title"],
        "citation": facts["citation"],
        "guarantee": facts["guarantee"]["sentence"],
        "footnote": "\n".join(note["words"] for note in facts["notes"]),
        "question": json.dumps(facts["question"], ensure_ascii=False, sort_keys=True),
        **{name: facts[name] for name in VERSIONS},
        "discreet": json.dumps(facts, ensure_ascii=False, sort_keys=True),
    }
    named = {key: value.encode(errors="replace") for key, value in short.items()}
    return _labelled(pa.table(columns), flat).replace_schema_metadata(named)


def _dictionary(texts: Sequence[str], positions: npt.NDArray[np.int32]) -> Any:
    """A dictionary-encoded column; equal texts (two labels "Other") share one entry."""
    pa: Any = importlib.import_module("pyarrow")
    written = [text.encode(errors="replace").decode() for text in texts]
    unique = list(dict.fromkeys(written))
    place = {text: i for i, text in enumerate(unique)}
    to_unique = np.array([place[text] for text in written], dtype=np.int32)
    return pa.DictionaryArray.from_arrays(to_unique[positions], pa.array(unique, pa.string()))


def _labelled(columns: Any, flat: Flat) -> Any:
    """The columns of each axis carry the variable's label in their field metadata."""
    pa: Any = importlib.import_module("pyarrow")
    fields = list(columns.schema)
    for place, axis in enumerate(flat.axes):
        label = {"label": axis.label.encode(errors="replace")}
        fields[2 * place : 2 * place + 2] = [
            field.with_metadata(label) for field in fields[2 * place : 2 * place + 2]
        ]
    return pa.Table.from_arrays(columns.columns, schema=pa.schema(fields))
