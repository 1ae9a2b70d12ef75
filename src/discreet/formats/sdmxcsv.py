"""SDMX-CSV 2.0: one observation a row, for tools that speak SDMX; no registry is needed.

    STRUCTURE, STRUCTURE_ID, ACTION     dataflow, DISCREET:<DATA SET>_<question>(1.0.0), I
    a column for each variable          codes; the total is _T
    OBS_VALUE, OBS_STATUS, CONF_STATUS  the number, and SDMX's own codes for its status
    CELL_STATUS                         the status letter of every other format
    NOISE_SD, LOWER, UPPER              where the noise is known
    PERCENT, PERCENT_LOWER, …_UPPER     where asked for; then further columns of a method
    <VARIABLE>_LABEL                    labels, escaped as in CSV
    TITLE, GUARANTEE, NOTE, CITATION,   about the whole table, so only in the first row
    QUESTION_HASH, DATA_VERSION, POLICY_VERSION, LAW (the digest of the cells' law)

SDMX allows letters, digits and `_ @ $ -` in a code: any other character becomes `_`, and the note
in the first row says for which codes. The structure that lies beside a file is `sdmxstructure`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ..core.domain import TOTAL
from ..core.table import ProtectedTable, Status
from ..languages import say, together
from .csv import quoted, written
from .flat import STATUS_LETTERS, Flat, FlatAxis, flatten, numbered
from .footnote import VERSIONS, citation, law_elsewhere
from .notes import footnote

STATUS_CODES = {
    Status.OK: ("A", "F"),
    Status.UNRELIABLE: ("U", "F"),
    Status.LOW: ("Q", "C"),
    Status.BELOW_THRESHOLD: ("Q", "C"),
    Status.SUPPRESSED: ("Q", "C"),
    Status.STRUCTURAL_ZERO: ("A", "F"),
    Status.NOT_RELEASED: ("O", "N"),
    Status.DERIVED: ("A", "F"),
}
"""CL_OBS_STATUS: A normal, U low reliability, Q missing: suppressed, O missing; and
CL_CONF_STATUS: F free for publication, C confidential, N not for publication."""

AGENCY = "DISCREET"
"""Who maintains the structures: nobody's registry."""
VERSION = "1.0.0"
"""The version of the form: another question, data or policy is another identifier."""
TABLE_COLUMNS = (
    *("TITLE", "GUARANTEE", "NOTE", "CITATION"),
    *("QUESTION_HASH", "DATA_VERSION", "POLICY_VERSION", "LAW"),
)
"""What is said about the whole table, in its first row."""
_FIRST = ("STRUCTURE", "STRUCTURE_ID", "ACTION")
_OBSERVED = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "CELL_STATUS")
_BLOCK = 1 << 17


@dataclass(frozen=True)
class Columns:
    """The columns of a file under SDMX's identifiers, no two alike, and the codes of each variable."""

    variables: list[str]
    numbers: list[str]
    labels: list[str]
    codes: list[list[str]]


def name_columns(flat: Flat) -> Columns:
    """The identifiers that file and structure share."""
    taken = {*_FIRST, *_OBSERVED, *TABLE_COLUMNS, "TIME_PERIOD", "SERIES_KEY", "OBS_KEY"}
    numbers = [identifier(name, taken) for name in flat.numbers]
    variables = [identifier(axis.name, taken) for axis in flat.axes]
    labels = [identifier(f"{name}_LABEL", taken) for name in variables]
    return Columns(variables, numbers, labels, [_codes(axis) for axis in flat.axes])


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table."""
    table = tables[0]
    flat = flatten(table)
    named = name_columns(flat)
    codes = named.codes
    words = [[quoted(_one_line(label)) for label in axis.labels] for axis in flat.axes]
    header = (*_FIRST, *named.variables, *_OBSERVED, *named.numbers, *named.labels, *TABLE_COLUMNS)
    stream.write((",".join(header) + "\r\n").encode())
    start = ",".join(("dataflow", structure(table), "I"))
    about = ",".join(quoted(_one_line(text)) for text in _about(table, flat, codes))
    empty = "," * (len(TABLE_COLUMNS) - 1)
    for at in range(0, len(flat), _BLOCK):
        block = slice(at, at + _BLOCK)
        columns = [[start] * len(flat.values[block])]
        columns += [_taken(codes[i], flat, i, block) for i in range(len(codes))]
        columns += _observed(flat, block)
        columns += [written(flat, name, block) for name in flat.numbers]
        columns += [_taken(words[i], flat, i, block) for i in range(len(words))]
        columns.append([empty] * len(columns[0]))
        if at == 0:
            columns[-1][0] = about
        lines = map(",".join, zip(*columns, strict=True))
        stream.write(("\r\n".join(lines) + "\r\n").encode(errors="replace"))


def structure(table: ProtectedTable) -> str:
    """The table's dataflow as a file refers to it."""
    return f"{AGENCY}:{flow(table)}({VERSION})"


def flow(table: ProtectedTable) -> str:
    """The identifier of the table's dataflow."""
    about = table.provenance
    return f"{identifier(about.dataset, set())}_{about.question_hash[:16].upper()}"


def identifier(name: str, taken: set[str]) -> str:
    """An SDMX identifier for a column: capitals, digits and `_`, a letter first, not taken before.

    >>> identifier("age band", set()), identifier("status", {"STATUS"}), identifier("9", set())
    ('AGE_BAND', 'STATUS_2', 'D_9')
    """
    text = re.sub(r"[^A-Z0-9_]", "_", name.upper()) or "_"
    if not text[0].isalpha():
        text = f"D_{text}"
    return _free(text, taken)


def code_identifier(code: str, taken: set[str]) -> str:
    """An SDMX code: the code itself where SDMX and spreadsheets allow it, else `_` for the rest.

    >>> code_identifier("E12000001", set()), code_identifier("65+", set()), code_identifier("@x", set())
    ('E12000001', '65_', '_x')
    """
    text = re.sub(r"[^A-Za-z0-9_@$-]", "_", code) or "_"
    if text[0] == "@" or (text[0] == "-" and not text[1:].isdigit()):
        text = "_" + text[1:]
    return _free(text, taken)


def _free(wanted: str, taken: set[str]) -> str:
    free = next(name for name in numbered(wanted) if name not in taken)
    taken.add(free)
    return free


def _codes(axis: FlatAxis) -> list[str]:
    """Codes of an axis; those SDMX allows come first, so that none of them is changed."""
    allowed = {code for code in axis.codes if code_identifier(code, set()) == code}
    taken = {TOTAL, *allowed}
    return [code if code in allowed else code_identifier(code, taken) for code in axis.codes]


def _about(table: ProtectedTable, flat: Flat, codes: Sequence[Sequence[str]]) -> tuple[str, ...]:
    promise = table.tells(table.guarantee.sentence())
    notes = [words for words in footnote(table, flat) if words != promise] + law_elsewhere(table)
    for axis, kept in zip(flat.axes, codes, strict=True):
        changed = [
            say("{old} is {new}", old=repr(old), new=new)
            for old, new in zip(axis.codes, kept, strict=True)
            if old != new
        ]
        if changed:
            words = say(
                "Codes of {axis} that SDMX does not allow: {changed}.",
                axis=axis.name,
                changed=together(*changed, between="; "),
            )
            notes.append(table.tells(words))
    return (
        table.tells(table.title),
        promise,
        " ".join(notes),
        citation(table),
        *(getattr(table.provenance, name) for name in VERSIONS),
        table.law.digest if table.law.to_json() else "",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _taken(texts: Sequence[str], flat: Flat, axis: int, block: slice) -> list[str]:
    column: list[str] = np.array(texts, dtype=object)[flat.positions(axis)[block]].tolist()
    return column


def _observed(flat: Flat, block: slice) -> list[list[str]]:
    observed, confidential = zip(*(STATUS_CODES[each] for each in Status), strict=True)
    return [
        written(flat, flat.measure, block),
        *(
            np.array(letters, dtype=object)[flat.status[block]].tolist()
            for letters in (observed, confidential, STATUS_LETTERS)
        ),
    ]
