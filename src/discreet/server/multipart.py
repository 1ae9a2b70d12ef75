"""A form with a file in it, read as it comes: small fields are held, the file is not.

The fields must come before the file, as the page writes them: who sends it and what it is for is
known before the first byte of the file is kept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from ..languages import say
from .problems import Problem

_MOST_FIELDS = 64 << 10
"""Bytes of all that is held: names and values of fields, and the head of a part."""
_BLOCK = 1 << 20

Writer = Callable[[bytes], Awaitable[None]]
Begin = Callable[[dict[str, str], str], Awaitable[Writer]]
"""Given the fields and the file's name: whom to give its bytes."""


class _Parts:
    """What the parser met so far: fields, and the file's bytes that nobody took yet."""

    def __init__(self) -> None:
        self.fields: dict[str, bytes] = {}
        self.name, self.file, self.held = "", "", bytearray()
        self.in_file = self.ended = False
        self._header, self._value = b"", b""
        self._disposition = b""
        self._room = _MOST_FIELDS

    def _take(self, some: int) -> None:
        """Count what is held; a part without an end, or parts without an end, are no form."""
        self._room -= some
        if self._room < 0:
            raise _unreadable()

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._take(end - start)
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._take(end - start)
        self._value += data[start:end]

    def header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def part_begins(self) -> None:
        self._take(1)
        _, said = parse_options_header(self._disposition)
        self._disposition = b""
        self.name = said.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in said:
            if self.in_file or self.file:
                raise _unreadable()
            self.file = said[b"filename"].decode("utf-8", "replace")
            self.in_file = True
        else:
            self.fields[self.name] = b""

    def data(self, data: bytes, start: int, end: int) -> None:
        if self.in_file and not self.file:
            raise _unreadable()  # bytes of a file that nobody named, so that nobody takes them
        if self.in_file:
            self.held += data[start:end]
            return
        self._take(end - start)
        self.fields[self.name] += data[start:end]

    def part_ends(self) -> None:
        self.in_file = False

    def all_ends(self) -> None:
        self.ended = True


async def read_form(content_type: str, chunks: AsyncIterator[bytes], begin: Begin) -> None:
    """Read a form; its file goes to the writer that `begin` gives. One that breaks off raises."""
    kind, said = parse_options_header(content_type)
    boundary = said.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise _unreadable()
    parts = _Parts()
    parser = MultipartParser(
        boundary,
        {
            "on_header_field": parts.header_name,
            "on_header_value": parts.header_value,
            "on_header_end": parts.header_end,
            "on_headers_finished": parts.part_begins,
            "on_part_data": parts.data,
            "on_part_end": parts.part_ends,
            "on_end": parts.all_ends,
        },
    )
    write: Writer | None = None
    async for chunk in chunks:
        try:
            parser.write(chunk)
        except FormParserError:
            raise _unreadable() from None
        if parts.file and write is None:
            write = await begin(_texts(parts.fields), parts.file)
        if write is not None and len(parts.held) >= _BLOCK:
            await write(bytes(parts.held))
            parts.held.clear()
    if not parts.ended:
        raise Problem(400, "input", say("The upload broke off before its end. Send it again."))
    if write is None:
        raise Problem(400, "input", say("No file was chosen. Choose one and send it again."))
    await write(bytes(parts.held))


def _texts(fields: dict[str, bytes]) -> dict[str, str]:
    return {name: value.decode("utf-8", "replace") for name, value in fields.items()}


def _unreadable() -> Problem:
    return Problem(400, "input", say("The form cannot be read. Fill it in again."))
