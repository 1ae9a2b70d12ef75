"""JSON-stat 2.0: a dataset whose totals are categories `_T`, so that nobody has to add.

Unpublished numbers are null; `status` has a letter for each cell that needs one, explained in
`extension.status.label`. Several tables are a collection that holds its datasets. A grand total
has no variables, and JSON-stat asks for a dimension: it gets one of role metric.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..core.exact import plain
from ..core.table import ProtectedTable
from ..languages import say
from .flat import STATUS_LETTERS, Flat, flatten
from .footnote import about
from .numerals import Real, Whole, joined
from .percent import Percent

_PLACES = 1 << 14


class _Encoded(bytes):
    """JSON already: stands in the document as it is."""

    __slots__ = ()


class _Open(dict[str, Any]):
    """An object with something encoded in it."""

    __slots__ = ()


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table as a dataset, several as a collection."""
    datasets = [_encode(_dataset(table)) for table in tables]
    language = tables[0].layout.language
    stream.write(datasets[0] if len(datasets) == 1 else _encode(_collection(datasets, language)))


def _encode(value: Any) -> bytes:
    if isinstance(value, _Encoded):
        return value
    if isinstance(value, _Open):
        return b"{" + b",".join(_members(value)) + b"}"
    return _dumps(value).encode(errors="replace")


def _members(made: _Open) -> Iterator[bytes]:
    """What stands between the braces; plain members that follow each other are encoded at once."""
    plain_ones: dict[str, Any] = {}
    for key, value in made.items():
        if not isinstance(value, _Encoded | _Open):
            plain_ones[key] = value
            continue
        if plain_ones:
            yield _encode(plain_ones)[1:-1]
            plain_ones = {}
        yield _encode(key) + b":" + _encode(value)
    if plain_ones:
        yield _encode(plain_ones)[1:-1]


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _collection(datasets: Sequence[bytes], language: str) -> dict[str, Any]:
    """Several encoded datasets in one document."""
    items = _Open(item=_Encoded(b"[" + b",".join(datasets) + b"]"))
    label = say("{n} tables", n=len(datasets)).says(language)
    about = {"version": "2.0", "class": "collection", "label": label}
    return _Open(about, link=items)


def dataset(table: ProtectedTable) -> dict[str, Any]:
    """The table as a JSON-stat dataset, in plain values."""
    document: dict[str, Any] = json.loads(_encode(_dataset(table)))
    return document


def _dataset(table: ProtectedTable) -> dict[str, Any]:
    flat = flatten(table)
    facts = about(table, flat)
    document: dict[str, Any] = _Open()
    document |= {
        "version": "2.0",
        "class": "dataset",
        "label": facts["title"],
        "source": facts.get("source") or facts["dataset_title"],
        "id": [axis.name for axis in flat.axes],
        "size": list(flat.shape),
        "dimension": {
            axis.name: {
                "label": axis.label,
                "category": {
                    "index": list(axis.codes),
                    "label": dict(zip(axis.codes, axis.labels, strict=True)),
                },
            }
            for axis in flat.axes
        },
        "role": _roles(flat),
        "value": _column(flat.values, flat.hidden),
        "note": [note["words"] for note in facts["notes"]],
        "extension": _extension(table, flat, facts),
    }
    if not flat.axes:
        document["id"], document["size"] = ["measure"], [1]
        category = {"index": [flat.measure], "label": {flat.measure: flat.measure_words}}
        named = say("Measure").says(flat.language)
        document["dimension"] = {"measure": {"label": named, "category": category}}
        document["role"] = {"metric": ["measure"]}
    marked = np.flatnonzero(flat.status)
    if marked.size:
        document["status"] = _statuses(marked, flat)
    if not document["role"]:
        del document["role"]
    return document


def _extension(table: ProtectedTable, flat: Flat, facts: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in facts.items() if key != "status"}
    extension = _Open(kept)
    extension["law"] = _Encoded(table.law.text.encode(errors="replace"))
    extension["measure"] = flat.measure
    extension["layout"] = _layout(table, flat)
    extension["status"] = {"label": facts["status"]}
    if table.noise is not None and flat.numbers:
        noise: dict[str, Any] = {"coverage": plain(table.noise.coverage)}
        for name, title in (("noise_sd", "sd"), ("lower", "lower"), ("upper", "upper")):
            noise[title] = _column(flat.numbers[name], flat.hidden)
        extension["noise"] = _Open(noise)
    if flat.percent is not None:
        extension["percent"] = _percent(flat.percent)
    if flat.extra:
        extra = {name: _column(numbers, flat.hidden) for name, numbers in flat.extra.items()}
        extension["extra"] = _Open(extra)
    return extension


def _layout(table: ProtectedTable, flat: Flat) -> dict[str, Any]:
    """Which dimensions are layers, rows and columns, and what else was asked of the layout."""
    names, (layers, rows, _) = [axis.name for axis in flat.axes], table.sides
    down = layers + rows
    sides = {"layers": names[:layers], "rows": names[layers:down], "columns": names[down:]}
    layout = table.layout
    said = {
        "language": layout.language,
        "sort": "" if layout.sort is None else str(layout.sort),
        "decimals": "" if layout.decimals is None else str(layout.decimals),
        "empty": layout.empty,
    }
    return sides | {name: text for name, text in said.items() if text}


def _percent(made: Percent) -> dict[str, Any]:
    hidden: list[int] = np.flatnonzero(~made.shown).tolist()
    percent: dict[str, Any] = _Open({"of": made.of, "value": _column(made.values, hidden)})
    if made.lower is not None and made.upper is not None:
        percent["coverage"] = plain(made.coverage)
        percent["lower"] = _column(made.lower, hidden)
        percent["upper"] = _column(made.upper, hidden)
    return percent


def _column(numbers: Whole | Real, hidden: Sequence[int]) -> bytes:
    """A column of numbers, null at the places where none is published."""
    return _Encoded(b"[" + joined(numbers, hidden) + b"]")


def _statuses(marked: npt.NDArray[np.int64], flat: Flat) -> bytes:
    letters = flat.status[marked]
    if marked[-1] >= _PLACES:
        named = np.array(STATUS_LETTERS, dtype=object)[letters].tolist()
        return _Encoded(_encode(dict(zip(map(str, marked.tolist()), named, strict=True))))
    keys, values = _status_parts()
    return _Encoded(("{" + ",".join((keys[marked] + values[letters]).tolist()) + "}").encode())


@lru_cache(maxsize=1)
def _status_parts() -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """The halves of a status entry: for every place the key, for every status the letter."""
    keys = [f'"{place}":' for place in range(_PLACES)]
    letters = [f'"{letter}"' for letter in STATUS_LETTERS]
    return np.array(keys, dtype=object), np.array(letters, dtype=object)


def _roles(flat: Flat) -> dict[str, list[str]]:
    names = {"geography": "geo", "time": "time"}
    roles: dict[str, list[str]] = {}
    for axis in flat.axes:
        if axis.kind in names:
            roles.setdefault(names[axis.kind], []).append(axis.name)
    return roles
