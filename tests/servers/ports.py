"""A port that nobody listens on."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of this machine that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody of this machine listens on a port."""
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0
