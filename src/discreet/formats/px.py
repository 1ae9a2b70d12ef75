"""PX (PC-Axis 2013), for PxWeb and its readers: counts in DATA, words in notes.

UTF-8. Statuses are PX's own data symbols; an unreliable number keeps its value and gets a
DATANOTECELL, where they are not so many that readers would never end looking for them. Readers are told not to add: AGGREGALLOWED=NO, and a variable that is left out is
read at its published total (ELIMINATION). A PX text cannot hold a double quote, so one becomes an
apostrophe and a note says so. Noise intervals have no place in PX; a note says where they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..core.table import ProtectedTable, Status
from ..languages import ENGLISH, counted, listed, say
from .flat import Flat, FlatAxis, flatten
from .footnote import citation, law_elsewhere
from .notes import notes
from .periods import periods

LINE = 250
"""PX lines have at most 256 characters."""

SYMBOLS = {
    Status.NOT_RELEASED: ".",
    Status.SUPPRESSED: "..",
    Status.BELOW_THRESHOLD: "...",
    Status.LOW: "....",
    Status.STRUCTURAL_ZERO: "-",
}
"""How a status is written in DATA, in double quotes."""

MOST_CELL_NOTES = 2_000
"""PxWeb looks through all of them for each cell it shows."""

MOST_NAME = 150
"""Characters of a variable's name, which stands in one line with its keyword and a value."""

_TOTAL_NOTE = say("A published total: it need not be the sum of its cells.")
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True)
class _Words:
    """Names and values of a table's variables as PX can hold them, and what was changed."""

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one table."""
    table = tables[0]
    flat = flatten(table)
    layers, rows, _ = table.sides
    down = layers + rows
    # A grand total has no variables, and PX asks for one.
    named = table.tells(say("Measure"))
    lone = FlatAxis("measure", named, (flat.measure,), (flat.measure_words,), False, "")
    axes = flat.axes or (lone,)
    words = _words(table, axes)
    for line in _keywords(table, flat, axes, words, down):
        stream.write((line + "\r\n").encode(errors="replace"))
    for block in _data(flat, down):
        stream.write(block.encode())


def plain_text(text: str) -> str:
    """A text as PX can hold it: apostrophes for double quotes, one space for any white space.

    >>> plain_text('The "South",  so called')
    "The 'South', so called"
    """
    return _SPACES.sub(" ", text.replace('"', "'")).strip()


def _keywords(
    table: ProtectedTable, flat: Flat, axes: Sequence[FlatAxis], words: _Words, down: int
) -> Iterator[str]:
    where = table.provenance
    matrix = re.sub(r"[^A-Za-z0-9]+", "_", where.dataset)[:11] + "_" + where.question_hash[:8]
    title = table.tells(table.title).strip() or table.tells(
        say("{title} by {axes}", title=flat.measure_words, axes=", ".join(words.names))
    )
    yield 'CHARSET="ANSI";'
    yield 'AXIS-VERSION="2013";'
    yield 'CODEPAGE="utf-8";'
    yield from _texts("LANGUAGE", [_language(table)])
    yield "DECIMALS=0;"
    yield from _texts("MATRIX", [matrix])
    yield "AGGREGALLOWED=NO;"
    yield from _texts("SUBJECT-CODE", [where.dataset[:20]])
    yield from _texts("SUBJECT-AREA", [table.tells(where.dataset_title or where.dataset)])
    yield from _prose("DESCRIPTION", [title])
    yield from _prose("TITLE", [title])
    yield from _texts("CONTENTS", [flat.measure_words])
    yield from _texts("UNITS", [table.tells(say("number"))])
    if words.names[:down]:
        yield from _texts("STUB", words.names[:down])
    if words.names[down:]:
        yield from _texts("HEADING", words.names[down:])
    for name, values in zip(words.names, words.values, strict=True):
        yield from _texts(f'VALUES("{name}")', values)
    for name, codes in zip(words.names, words.codes, strict=True):
        yield from _texts(f'CODES("{name}")', codes)
    for name, values, axis in zip(words.names, words.values, axes, strict=True):
        if axis.total:
            yield from _texts(f'ELIMINATION("{name}")', values[-1:])
        else:
            yield f'ELIMINATION("{name}")=NO;'
    for name, axis in zip(words.names, axes, strict=True):
        yield from _time(name, axis)
    yield from _about(table, flat, axes, words)


def _time(name: str, axis: FlatAxis) -> Iterator[str]:
    """The periods of a variable of time, by which readers know it; a total is none."""
    if axis.kind != "time" or axis.total:
        return
    found = periods(axis.codes)
    if found is not None and found[0] != "D1" and found[1] == sorted(found[1]):
        yield from _texts(f'TIMEVAL("{name}")', found[1], before=f"TLIST({found[0]}),")


def _about(
    table: ProtectedTable, flat: Flat, axes: Sequence[FlatAxis], words: _Words
) -> Iterator[str]:
    """Source, notes, and what symbols mean."""
    where = table.provenance
    if where.source or where.dataset_title:
        yield from _texts("SOURCE", [table.tells(where.source or where.dataset_title)])
    if where.contact:
        yield from _prose("CONTACT", [table.tells(where.contact)])
    if where.period:
        yield from _texts("REFPERIOD", [table.tells(where.period)])
    yield from _prose("NOTEX", [note.words for note in notes(table, flat) if note.depth == 1])
    yield from _prose("NOTE", _notes(table, flat, words))
    for name, values, axis in zip(words.names, words.values, axes, strict=True):
        if axis.total:
            yield from _prose(f'VALUENOTE("{name}","{values[-1]}")', [table.tells(_TOTAL_NOTE)])
    for status, symbol in SYMBOLS.items():
        keyword = "DATASYMBOLNIL" if symbol == "-" else f"DATASYMBOL{len(symbol)}"
        if (flat.status == status).any():
            yield f'{keyword}="{symbol if symbol == "-" else f"[{status.letter}]"}";'
    yield from _unreliable(flat, words)


def _language(table: ProtectedTable) -> str:
    """The language labels are shown in: the one wanted where they have it, else their first."""
    wanted = table.layout.language
    known = [code for axis in table.domain.axes for code, _ in axis.level.label.by_language if code]
    return wanted if wanted in known else next(iter(known), wanted or ENGLISH)


def _notes(table: ProtectedTable, flat: Flat, words: _Words) -> list[str]:
    where = table.provenance
    sentences = [note.words for note in notes(table, flat) if note.depth > 1]
    more = []
    if flat.lower is not None:
        more.append(say("standard deviation and noise interval (lower, upper)"))
    if flat.percent is not None:
        more.append(say("percentages"))
    if more:
        elsewhere = say(
            "A PX file holds the numbers only; {more} of every cell are in the CSV, Parquet, "
            "JSON-stat and XLSX files of this table.",
            more=listed(more),
        )
        sentences.append(table.tells(elsewhere))
    if (many := _marked(flat).size) > MOST_CELL_NOTES:
        unmarked = say(
            "{n} numbers are unreliable, more than PX readers can mark one by one; which they are "
            "is in the CSV, Parquet, JSON-stat and XLSX files of this table.",
            n=many,
        )
        sentences.append(table.tells(unmarked))
    sentences += words.notes
    versions = say(
        "Question {hash}, data version {data}, policy version {policy}.",
        hash=where.question_hash,
        data=where.data_version,
        policy=where.policy_version,
    )
    sentences.append(table.tells(versions))
    sentences += law_elsewhere(table)
    sentences.append(citation(table))
    return sentences


def _unreliable(flat: Flat, words: _Words) -> Iterator[str]:
    """The mark beside each unreliable number."""
    marked = _marked(flat)
    if marked.size > MOST_CELL_NOTES:
        return
    places = np.unravel_index(marked, flat.shape) if flat.axes else (np.zeros_like(marked),)
    for cell in zip(*(place.tolist() for place in places), strict=True):
        codes = [words.codes[axis][at] for axis, at in enumerate(cell)]
        if "*" in codes:
            continue  # PX would take it for all codes
        line = "DATANOTECELL("
        for i, code in enumerate(codes):
            part = f'"{code}"' + ("," if i < len(codes) - 1 else ')="[u]";')
            if len(line) + len(part) > LINE:
                yield line
                line = ""
            line += part
        yield line


def _marked(flat: Flat) -> npt.NDArray[np.intp]:
    return np.flatnonzero(flat.status == Status.UNRELIABLE)


def _data(flat: Flat, down: int) -> Iterator[str]:
    """DATA, a line for each row of the table or as many as the row needs."""
    written = np.array(list(map(str, flat.values.tolist())), dtype=object)
    for status, symbol in SYMBOLS.items():
        written[flat.status == status] = f'"{symbol}"'
    across = int(np.prod(flat.shape[down:], dtype=np.int64))
    widest = max(map(len, written.tolist()), default=1) + 1
    step = max(1, min(across, LINE // widest))
    yield "DATA=\r\n"
    listed = written.tolist()
    lines = (
        " ".join(listed[start : min(start + step, row + across)])
        for row in range(0, len(listed), max(across, 1))
        for start in range(row, row + across, step)
    )
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == 1 << 14:
            yield "\r\n".join(block) + "\r\n"
            block = []
    yield "".join(f"{line}\r\n" for line in block) + ";\r\n"


def _texts(keyword: str, texts: Iterable[str], *, before: str = "") -> Iterator[str]:
    """A keyword with a list of texts, broken between them, and within one that is too long."""
    line = f"{keyword}={before}"
    parts = [f'"{plain_text(text)}"' for text in texts]
    for i, part in enumerate(parts):
        end = ";" if i == len(parts) - 1 else ","
        if i and len(line) + len(part) + 1 > LINE:
            yield line
            line = ""
        start = len(line)
        line += part + end
        while len(line) > LINE > start + 2:  # adjoining quoted parts are one text
            yield line[: LINE - 1] + '"'
            line, start = '"' + line[LINE - 1 :], 0
    yield line


def _prose(keyword: str, sentences: Iterable[str]) -> Iterator[str]:
    """A keyword with one long text: `#` is PX's line end, and lines are broken between words."""
    # PX reads # as a line end: one inside a sentence is written wide
    plain = (
        plain_text(sentence).replace("#", "\N{FULLWIDTH NUMBER SIGN}") for sentence in sentences
    )
    text = "#".join(filter(None, plain))
    room = LINE - 3
    line = f"{keyword}="
    while True:
        cut = len(text) if len(text) + len(line) <= room else text.rfind(" ", 1, room - len(line))
        cut = cut + 1 if 0 < cut < len(text) else cut
        if cut <= 0:
            cut = min(len(text), max(1, room - len(line)))
        piece, text = text[:cut], text[cut:]
        yield f'{line}"{piece}"' + ("" if text else ";")
        if not text:
            return
        line = ""


def _words(table: ProtectedTable, axes: Sequence[FlatAxis]) -> _Words:
    labels = [plain_text(axis.label) or axis.name for axis in axes]
    short = [_shortened(label) for label in labels]
    names = _unique(short, [axis.name for axis in axes])
    values = []
    codes = []
    for axis in axes:
        kept = _unique([plain_text(code) or "_" for code in axis.codes], None)
        codes.append(kept)
        said = [plain_text(label) or code for label, code in zip(axis.labels, kept, strict=True)]
        values.append(_unique(said, kept))
    texts = [text for axis in axes for text in (axis.label, *axis.labels, *axis.codes)]
    changed = {text for text in (table.tells(table.title), *texts) if '"' in text}
    notes = []
    if changed:
        notes.append(
            counted(
                "PX cannot hold double quotes: in {n} text of this table each was replaced by an "
                "apostrophe (').",
                "PX cannot hold double quotes: in {n} texts of this table each was replaced by an "
                "apostrophe (').",
                len(changed),
            )
        )
    if any(
        written != plain_text(label)
        for axis, kept in zip(axes, values, strict=True)
        for written, label in zip(kept, axis.labels, strict=True)
    ):
        notes.append(say("Labels that were empty or equal were told apart by their codes."))
    if short != labels:
        notes.append(
            say("Names of variables of more than {most} characters were shortened.", most=MOST_NAME)
        )
    return _Words(names, tuple(values), tuple(codes), tuple(map(table.tells, notes)))


def _shortened(name: str) -> str:
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 1].rstrip() + "…"


def _unique(texts: Sequence[str], codes: Sequence[str] | None) -> tuple[str, ...]:
    """No two equal: PX finds values and variables by their texts."""
    unique: list[str] = []
    times = Counter(texts)
    taken = {text for text, many in times.items() if many == 1}
    for i, text in enumerate(texts):
        free, number = text, 1
        if times[text] > 1:
            if codes is not None:
                free = f"{text} ({plain_text(codes[i])})"
            while free in taken:
                number += 1
                free = f"{text} ({number})"
        taken.add(free)
        unique.append(free)
    return tuple(unique)
