"""Tests wait as long as a busy machine needs."""

from __future__ import annotations

import http.server
import threading

import httpx

from .patience import PATIENCE


class Late(http.server.BaseHTTPRequestHandler):
    """Answers when it is let."""

    let = threading.Event()

    def do_GET(self) -> None:
        self.let.wait(PATIENCE)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_late_answer_is_waited_for() -> None:
    """Whoever asks without a word about time, by `httpx.get` or a client, has the patience of tests."""
    assert httpx.Client().timeout == httpx.Timeout(PATIENCE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Late) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        timer = threading.Timer(0.1, Late.let.set)
        timer.start()
        assert httpx.get(f"http://127.0.0.1:{server.server_port}/").status_code == 204
        server.shutdown()
