"""A process that counts one shard: statements come in, sums go out, to the process that started it.

It opens its file read-only and locked, as the engine of a whole version does, and ends when nobody
talks to it any more. It writes no log and no error text: a failure is named by one of a few words.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
from typing import IO

import duckdb
import numpy as np

from ...errors import EngineError
from .engine import integers, locked_connection

_LENGTH = struct.Struct("<Q")
COLUMNS = ("a", "n", "lo", "hi", "w")


def send(stream: IO[bytes], *parts: bytes) -> None:
    """Write messages, each behind its length."""
    for part in parts:
        stream.write(_LENGTH.pack(len(part)))
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """One message, whole; raises EOFError where the other side is gone."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    read = stream.read(length)
    if read is None or len(read) < length:
        raise EOFError
    return read


def _counted(connection: duckdb.DuckDBPyConnection, statement: str) -> list[bytes]:
    """What a statement gives: the names of its columns, then each as 64-bit integers."""
    try:
        found = connection.execute(statement).fetchnumpy()
        columns = {name: integers(found.get(name)) for name in COLUMNS}
    except duckdb.OutOfMemoryException:
        return [b'{"failed": "memory"}']
    except (duckdb.OutOfRangeException, duckdb.ConversionException):
        return [b'{"failed": "range"}']
    except (duckdb.Error, RuntimeError, EngineError):
        return [b'{"failed": "other"}']
    held = {name: values for name, values in columns.items() if values is not None}
    parts = [values.astype("<i8", copy=False).tobytes() for values in held.values()]
    return [json.dumps({"columns": list(held)}).encode(), *parts]


def serve(path: str, threads: int, memory: str, talk: tuple[IO[bytes], IO[bytes]]) -> None:
    """Say what the shard is, then answer statements until nobody asks."""
    said, answer = talk
    try:
        connection = locked_connection(path, threads=threads, memory=memory)
        ((about,),) = connection.execute("SELECT about FROM about").fetchall()
    except (EngineError, duckdb.Error):
        send(answer, b"")
        return
    send(answer, about.encode())
    with contextlib.suppress(EOFError, OSError), contextlib.closing(connection):
        while True:
            send(answer, *_counted(connection, receive(said).decode()))


if __name__ == "__main__":
    np.seterr(all="raise")
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3], (sys.stdin.buffer, sys.stdout.buffer))
