"""JSON-stat 2.0 as discreet writes it, read back to the table it was.

What comes back shows, writes and tabulates like the table that was published. Exact numbers that
were written rounded up (δ) stay rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.cell_law import CellLaw
from ..core.domain import TOTAL, Axis, Category, Domain, Level, Variable
from ..core.exact import exact
from ..core.guarantee import Guarantee
from ..core.question import Layout
from ..core.table import Noise, ProtectedTable, Provenance, Status
from ..core.text import Text
from ..errors import InputError
from .percent import NAMES

_STATUS = {status.letter: status for status in Status}
_PROVENANCE = [field.name for field in fields(Provenance)]
_KINDS = {"geo": "geography", "time": "time"}


def tables(document: Mapping[str, Any]) -> list[ProtectedTable]:
    """Every table of a document: a dataset, or a collection that holds its datasets.

    InputError where it is none of ours.
    """
    with _ours():
        several = document.get("class") == "collection"
        items = document["link"]["item"] if several else [document]
        return [_table(item) for item in items]


@contextmanager
def _ours() -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(
            "This is not a JSON-stat table that discreet wrote "
            f"({type(error).__name__} while reading it). Ask the server for format=json-stat."
        ) from None


def _table(document: Mapping[str, Any]) -> ProtectedTable:
    facts = document["extension"]
    alone = document.get("role", {}).get("metric") == document["id"]
    names = [] if alone else document["id"]
    kinds = {
        name: _KINDS[role]
        for role, named in document.get("role", {}).items()
        if role in _KINDS
        for name in named
    }
    axes, totals = [], []
    for name in names:
        codes = codes_of(document, name)
        total = bool(codes) and codes[-1] == TOTAL
        totals.append(total)
        axes.append(_axis(document, name, codes[:-1] if total else codes, kinds.get(name)))
    domain = Domain(tuple(axes))
    shape = tuple(len(axis) + total for axis, total in zip(axes, totals, strict=True))
    status = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.uint8)
    for place, letter in document.get("status", {}).items():
        status[int(place)] = _STATUS[letter]

    def column(listed: Sequence[Any]) -> npt.NDArray[np.int64]:
        filled = [0 if value is None else value for value in listed]
        return np.array(filled, dtype=np.int64).reshape(shape)

    noise = None
    if "noise" in facts:
        sd = [0.0 if value is None else value for value in facts["noise"]["sd"]]
        noise = Noise(
            np.array(sd, dtype=np.float64).reshape(shape),
            column(facts["noise"]["lower"]),
            column(facts["noise"]["upper"]),
            exact(facts["noise"]["coverage"], "coverage"),
        )
    return ProtectedTable(
        title=document["label"],
        domain=domain,
        totals=tuple(totals),
        values=column(document["value"]),
        status=status.reshape(shape),
        guarantee=Guarantee.from_json(facts["guarantee"]),
        provenance=Provenance(**{name: facts[name] for name in _PROVENANCE if name in facts}),
        noise=noise,
        extra={name: column(values) for name, values in facts.get("extra", {}).items()},
        law=CellLaw.from_json(facts.get("law", {})),
        notes=tuple(document.get("note", ())),
        measure=facts["measure"],
        layout=_layout(facts),
        percentages={} if all(totals) else _percentages(facts.get("percent", {}), shape),
    )


def _percentages(
    said: Mapping[str, Any], shape: tuple[int, ...]
) -> dict[str, npt.NDArray[np.float64]]:
    """Those of a part of a table, whose totals may be elsewhere; they cannot be made again."""
    names = dict(zip(("value", "lower", "upper"), NAMES, strict=True))
    return {
        column: np.array(said[name], dtype=np.float64).reshape(shape)
        for name, column in names.items()
        if name in said
    }


def _layout(facts: Mapping[str, Any]) -> Layout:
    said = facts["layout"]
    decimals = said.get("decimals")
    return Layout(
        tuple(said["rows"]),
        tuple(said["columns"]),
        tuple(said["layers"]),
        said.get("language", ""),
        facts.get("percent", {}).get("of", ""),
        decimals=int(decimals) if str(decimals) in ("0", "1", "2") else None,
        empty="hide" if said.get("empty") == "hide" else "",
    )


def codes_of(document: Mapping[str, Any], name: str) -> list[str]:
    """The codes of a dimension in order; JSON-stat writes them as a list, or each with its place."""
    index = document["dimension"][name]["category"]["index"]
    return list(index) if isinstance(index, list) else sorted(index, key=index.__getitem__)


def _axis(document: Mapping[str, Any], name: str, codes: Sequence[str], kind: str | None) -> Axis:
    dimension = document["dimension"][name]
    labels = dimension["category"]["label"]
    level = Level(
        name,
        Text.of(dimension["label"]),
        tuple(Category(code, Text.of(labels[code])) for code in codes),
        tuple(range(len(codes))),
    )
    variable = Variable(name, level.label, (level,), kind=kind or "classification")
    return Axis(variable, level)
