"""How a CSV file is written: its encoding, delimiter, quote and header, found from its beginning.

What the custodian says is taken as said; the rest is found. An encoding is proved by decoding the
whole file, not only its beginning.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..core.control import Control
from ..errors import DataError, did_you_mean
from .coding import Dialect

_SAMPLE_BYTES = 1 << 18
_BLOCK_BYTES = 1 << 22
_DELIMITERS = (",", ";", "\t", "|", ":")
_QUOTES = ('"', "'")
_KNOWN = ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "iso-8859-15", "mac-roman")
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def detect(path: Path, said: Mapping[str, str], control: Control) -> tuple[Dialect, list[str]]:
    """The dialect of a file and its column names (`column1`, … where it has no header)."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
    encoding = (
        _said_encoding(said["encoding"]) if "encoding" in said else _encoding(path, head, control)
    )
    try:
        sample = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeError:
        raise _wrong_encoding(path, encoding) from None
    if not sample.strip("\ufeff \t\r\n"):
        raise DataError(f"{path.name} is empty. It needs a line of column names and records.")
    signs = {
        option: _one(path, option, said[option])
        for option in ("quote", "delimiter", "escape")
        if option in said
    }
    escape = signs.get("escape", "")
    quotes = [signs["quote"]] if "quote" in signs else _QUOTES
    delimiters = [signs["delimiter"]] if "delimiter" in signs else _DELIMITERS
    quote, delimiter = max(
        itertools.product(quotes, delimiters),
        key=lambda pair: _score(sample, pair[1], pair[0], escape),
    )
    rows = _rows(sample, delimiter, quote, escape, 1000)
    first = rows[0]
    header = _said_header(path, said["header"]) if "header" in said else not _looks_like_data(rows)
    dialect = Dialect(delimiter, encoding, quote, header, escape, _blank_lines(sample))
    if not header:
        return dialect, [f"column{i + 1}" for i in range(len(first))]
    return dialect, [name.strip() for name in first]


def as_utf8(path: Path, encoding: str, into: Path, control: Control) -> None:
    """The same text in UTF-8, block by block."""
    with into.open("wb") as target:
        try:
            for text, done in _texts(path, encoding):
                target.write(text.encode("utf-8", "surrogatepass"))
                control.step(0.02 * done, f"decoding {path.name}")
        except UnicodeError:
            raise _wrong_encoding(path, encoding) from None


def _texts(path: Path, encoding: str) -> Iterator[tuple[str, float]]:
    """A file's text block by block, each with the share read; UnicodeError where it is none."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for block, done in _blocks(path):
        yield decoder.decode(block), done
    yield decoder.decode(b"", final=True), 1.0


def _blocks(path: Path) -> Iterator[tuple[bytes, float]]:
    total = max(path.stat().st_size, 1)
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block, file.tell() / total


def one_line_end(path: Path, into: Path, control: Control) -> bool:
    """Write a UTF-8 text with every line ending in LF, where it has CRLF as well; else False.

    Files that were appended to on another system have both, and a strict reader stops there.
    """
    plain, wide, pending = 0, 0, b""
    with into.open("wb") as target:
        for read, done in _blocks(path):
            block = pending + read
            pending = b"\r" if block.endswith(b"\r") else b""
            block = block[: len(block) - len(pending)]
            crlf = block.count(b"\r\n")
            wide, plain = wide + crlf, plain + block.count(b"\n") - crlf
            target.write(block.replace(b"\r\n", b"\n"))
            control.step(0.02 * done, f"mending the line ends of {path.name}")
        target.write(pending)
    return bool(plain and wide)


def is_utf8(encoding: str) -> bool:
    """Whether DuckDB reads this encoding itself (a mark at the beginning is skipped)."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def _said_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError):
        raise DataError(
            f"There is no encoding {name!r}.{did_you_mean(name, _KNOWN)} Known are "
            f"{', '.join(_KNOWN)} and others of Python."
        ) from None
    return name


def _encoding(path: Path, head: bytes, control: Control) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if max(even, odd) > len(head) // 4:
            return "utf-16-le" if odd > even else "utf-16-be"
        raise DataError(
            f"{path.name} is not a text file: some of its bytes are zero, as in no text. Give a CSV or Parquet file."
        )
    try:
        for _, done in _texts(path, "utf-8"):
            control.step(0.01 * done, f"looking at {path.name}")
    except UnicodeError:
        meaningless = b"\x81\x8d\x8f\x90\x9d"  # in cp1252
        rare = any(byte in block for block, _ in _blocks(path) for byte in meaningless)
        return "latin-1" if rare else "cp1252"
    return "utf-8"


def _wrong_encoding(path: Path, encoding: str) -> DataError:
    return DataError(
        f"{path.name} is not in {encoding}. Give the right encoding, for example cp1252 or utf-16."
    )


def _said_header(path: Path, said: str) -> bool:
    if said.lower() in ("yes", "true", "1"):
        return True
    if said.lower() in ("no", "false", "0"):
        return False
    raise DataError(f"header is yes or no, got {said!r}, for {path.name}.")


def _one(path: Path, option: str, said: str) -> str:
    known = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "none": "", "space": " "}
    character = known.get(said.lower(), said)
    if len(character) > 1 or character in ("\n", "\r") or not (character or option == "quote"):
        raise DataError(f"{option} is one character, got {said!r}, for {path.name}.")
    return character


def _rows(sample: str, delimiter: str, quote: str, escape: str, most: int) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(sample.removeprefix("\ufeff"), newline=""),
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=escape if escape and escape != quote else None,
        doublequote=not escape or escape == quote,
    )
    rows: list[list[str]] = []
    with suppress(csv.Error):
        for row in itertools.islice(filter(None, reader), most):
            rows.append(row)
    return rows or [[sample.split("\n", 1)[0]]]


def _blank_lines(sample: str) -> int:
    """How many empty lines stand before the first that holds something."""
    lines = sample.removeprefix("\ufeff").splitlines()
    return next((i for i, line in enumerate(lines) if line.strip()), 0)


def _score(sample: str, delimiter: str, quote: str, escape: str) -> tuple[float, int]:
    """How well a dialect explains the sample: the share of rows as wide as the first, then width."""
    rows = _rows(sample, delimiter, quote, escape, 1000)
    if len(rows) > 1 and len(rows) < 1000:
        rows = rows[:-1] if len(sample) >= _SAMPLE_BYTES // 4 else rows
    width = len(rows[0])
    alike = sum(len(row) == width for row in rows) / len(rows)
    # Quotes left standing at both ends of a cell speak for another quote character.
    left = sum(
        len(cell) > 1 and cell[0] == cell[-1] and cell[0] in _QUOTES for row in rows for cell in row
    )
    if width == 1:
        return (0.1 if not left else 0.0, 1)
    return (alike if not left else alike / 2, width)


def _looks_like_data(rows: list[list[str]]) -> bool:
    """Whether the first line is a record: numbers where names should be, or values seen again."""
    first, rest = rows[0], rows[1:]
    repeated = 0
    for position, cell in enumerate(first):
        below = [row[position].strip() for row in rest if len(row) > position]
        if not _NUMBER.fullmatch(cell.strip()):
            numbers = sum(bool(_NUMBER.fullmatch(value)) for value in below)
            if below and numbers * 10 >= 9 * len(below):
                return False
        repeated += bool(cell.strip()) and cell.strip() in below
    numeric = any(_NUMBER.fullmatch(cell.strip()) for cell in first)
    return numeric or repeated * 2 > len(first)
