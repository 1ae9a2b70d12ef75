"""A form with a file, read as it comes: whatever it holds, only a little of it is held in memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Iterable

import pytest

from discreet.server.multipart import Writer, read_form
from discreet.server.problems import Problem

MEGABYTE = b"a" * (1 << 20)
MOST = 6 << 20
END = b"\r\n--X--\r\n"


def part(more: bytes, content: bytes = b"") -> bytes:
    """A part of a form, without its end."""
    return b"--X\r\nContent-Disposition: form-data; " + more + b"\r\n\r\n" + content


def sent(pieces: Iterable[bytes]) -> tuple[dict[str, str], int]:
    """The fields that came before the file, and how many bytes of it were written."""
    fields: dict[str, str] = {}
    written = 0

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def begin(said: dict[str, str], _: str) -> Writer:
        async def write(data: bytes) -> None:
            nonlocal written
            written += len(data)

        fields.update(said)
        return write

    tracemalloc.start()
    try:
        asyncio.run(read_form("multipart/form-data; boundary=X", chunks(), begin))
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST
    return fields, written


def test_a_file_goes_through():
    """Fields are known before its first byte is taken."""
    start = part(b'name="csrf"', b"abc\r\n") + part(b'name="file"; filename="a.csv"')
    assert sent([start, *[MEGABYTE] * 20, END]) == ({"csrf": "abc"}, 20 << 20)


@pytest.mark.parametrize(
    "pieces",
    [
        [part(b'name="file"; filename=""'), *[MEGABYTE] * 20, END],
        [part(b'name="a"'), *[MEGABYTE] * 20, END],
        [part(b'name="%d"' % number, b"\r\n") for number in range(100_000)],
        [b'--X\r\nContent-Disposition: form-data; name="', *[MEGABYTE] * 20, b'"\r\n\r\n', END],
        [b"--X\r\nX-", *[MEGABYTE] * 20, b": 1\r\n\r\n", END],
        [b"--X\r\n", *[b"X-%d: 1\r\n" % number for number in range(100_000)], b"\r\n", END],
        [*[MEGABYTE] * 20, END],
    ],
    ids=["nameless", "long field", "many fields", "long name", "long header", "headers", "no part"],
)
def test_what_would_have_to_be_held_is_refused(pieces: list[bytes]):
    """A file without a name, fields and headers without an end: one sentence, little memory."""
    with pytest.raises(Problem, match="cannot be read"):
        sent(pieces)


def test_a_form_without_a_file_says_so():
    """As a browser sends a form in which none was chosen."""
    with pytest.raises(Problem, match="No file was chosen"):
        sent([part(b'name="file"; filename=""'), END])
