"""CSV: rectangular, no prose, RFC 4180, UTF-8; the words are in the CSVW file beside it.

For each axis its code and its label, then the number, its status, and where noise is known
`noise_sd`, `lower`, `upper`; percentages and further columns last. An unpublished number is an empty field.
A text that a spreadsheet would take for a formula gets an apostrophe in front (`escape`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from ..core.table import ProtectedTable
from .escape import escaped
from .flat import STATUS_LETTERS, Flat, flatten
from .numerals import listed

_QUOTED = re.compile(r'[",\r\n]|^[\s\']|\s$|^$')

_BLOCK = 1 << 18


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table."""
    flat = flatten(tables[0])
    stream.write((",".join(quoted(name) for name in flat.names) + "\r\n").encode())
    texts = _texts(flat)
    for start in range(0, len(flat), _BLOCK):
        block = slice(start, start + _BLOCK)
        columns = _numbers(flat, block)
        if flat.axes:
            columns.insert(0, texts[block])
        lines = map(",".join, zip(*columns, strict=True))
        stream.write(("\r\n".join(lines) + "\r\n").encode(errors="replace"))


def quoted(text: str) -> str:
    """A field of text: escaped, and in quotes where RFC 4180 or an apostrophe asks for them."""
    text = escaped(text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _texts(flat: Flat) -> list[str]:
    """The codes and labels of every cell, joined: each category is quoted once, not once a cell."""
    rows = [""]
    for place, axis in enumerate(flat.axes):
        fields = [
            f"{quoted(code)},{quoted(label)}"
            for code, label in zip(axis.codes, axis.labels, strict=True)
        ]
        rows = [f"{row},{field}" for row in rows for field in fields] if place else fields
    return rows


def _numbers(flat: Flat, block: slice) -> list[list[str]]:
    status = np.array(STATUS_LETTERS, dtype=object)[flat.status[block]].tolist()
    numbers = [written(flat, name, block) for name in (flat.measure, *flat.numbers)]
    return [numbers[0], status, *numbers[1:]]


def written(flat: Flat, name: str, block: slice) -> list[str]:
    """A block of a column of numbers as text, empty where none is published."""
    numbers = flat.values if name == flat.measure else flat.numbers[name]
    column = listed(numbers[block])
    for place in np.flatnonzero(~flat.shown_in(name)[block]).tolist():
        column[place] = ""
    return column
