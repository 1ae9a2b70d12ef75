"""Connections that send no request: let go after some seconds, whatever they drip.

The server underneath waits for ever for the end of a request's headers and keeps all of them in
memory meanwhile. Here the head of a request has a time and a size; bodies have theirs in the gate.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .problems import Problem

HEAD_SECONDS = 10.0
MOST_HEAD_BYTES = 1 << 20
"""A whole small request, head and body, may arrive in one piece."""


class HeadTimeout(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with limits on the head of a request."""

    _waiting: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there: it has some seconds to ask."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came; before the head is complete only so many."""
        if self._waiting is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._let_go()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Another request on the same connection."""
        super().on_message_begin()
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP, an address beyond all length too: one sentence as ever."""
        problem = Problem(
            400, "input", "The request cannot be read as HTTP, or its address is far too long."
        ).response()
        lines = [b"HTTP/1.1 400 Bad Request", b"connection: close"]
        lines += [b": ".join(pair) for pair in problem.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(problem.body)]))
        self.transport.close()

    def _wait(self) -> None:
        self._head_bytes = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._let_go)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _let_go(self) -> None:
        self._stop_waiting()
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete:
            self.transport.close()
        else:  # an answer to the request before is under way: it ends, then the connection does
            cycle.keep_alive = False
