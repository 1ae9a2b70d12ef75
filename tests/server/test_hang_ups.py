"""Clients that hang up at any moment of any request: the server stays as it was."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from discreet.server.routes import jobs as watching
from discreet.store import Jobs

from ..patience import PATIENCE, wait_until
from .serving import Served, every_route

pytestmark = pytest.mark.slow
TABLE = json.dumps({"rows": ["sex"], "columns": ["region"]}).encode()
SPENDING = json.dumps({"rows": ["sex"], "epsilon": "0.001"}).encode()
VALUES = {
    "dataset": "deaths",
    "variable": "sex",
    "name": "deaths",
    "table": "deaths",
    "user": "ana",
}


def _every_request(served: Served, job: str) -> list[tuple[str, bytes, str]]:
    """Method, address and who asks, for every route of the application."""
    requests: list[tuple[str, bytes, str]] = []
    values = {**VALUES, "job": job}
    for route in every_route():
        method, _, path = route.partition(" ")
        address = re.sub(r"{(\w+)(:\w+)?}", lambda part: values.get(part[1], "x"), path)
        if address.endswith("/logout") or method == "DELETE":
            continue  # what others hold must stay
        for who in ("", "ana", "odo"):
            requests.append((method, address.encode(), who))
    assert len(requests) > 150
    return [*requests, *(("POST", b"/api/v1/datasets/deaths-dp/tables", "ana") for _ in range(10))]


def _hang_up(served: Served, request: tuple[str, bytes, str], dice: random.Random) -> None:
    """Open a connection, send part of a request or all of it, wait a moment, and reset it."""
    method, address, who = request
    where = urlsplit(served.url)
    headers = [b"Host: 127.0.0.1", b"Content-Type: application/json"]
    if who:
        headers.append(f"Authorization: Bearer {served.tokens[who]}".encode())
    if dice.random() < 0.2:
        headers.append(b"Prefer: respond-async")
    body = b""
    if method in ("POST", "PUT", "PATCH"):
        body = SPENDING if b"deaths-dp" in address else TABLE
    headers.append(b"Content-Length: %d" % len(body))
    line = b"%s %s HTTP/1.1" % (method.encode(), address)
    text = b"\r\n".join([line, *headers, b"", b""]) + body
    if dice.random() < 0.3:
        text = text[: dice.randrange(len(text) + 1)]
    with socket.create_connection((where.hostname, where.port)) as connection:
        if dice.random() < 0.7:  # a reset instead of a polite end
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(text)
        time.sleep(dice.choice([0, 0, 0.001, 0.005, 0.01, 0.03]))
        if dice.random() < 0.3:
            connection.settimeout(0.1)
            with contextlib.suppress(OSError):
                connection.recv(dice.randrange(1, 2000))


def _job(served: Served) -> str:
    with served.client() as public:
        made = public.post(
            "/datasets/deaths/tables", json=json.loads(TABLE), headers={"Prefer": "respond-async"}
        )
        assert made.status_code == 202
        return str(made.json()["id"])


class Ordinary(threading.Thread):
    """Somebody who asks as people do, meanwhile."""

    def __init__(self, served: Served) -> None:
        super().__init__(daemon=True)
        self.client = served.client("ben")
        self.ended = threading.Event()
        self.answers: list[int] = []

    def run(self) -> None:
        for path in self._paths():
            try:
                self.answers.append(self.client.get(path, timeout=PATIENCE).status_code)
            except httpx.HTTPError:
                self.answers.append(0)
            if self.ended.is_set():
                self.client.close()
                return

    @staticmethod
    def _paths() -> Iterator[str]:
        while True:
            yield "/datasets"
            yield "/datasets/deaths/tables?rows=sex&columns=region"
            yield f"/datasets/deaths/tables?rows=month&where=sex:{random.choice('12')}"


def _hang_ups(served: Served, count: int, seed: int) -> None:
    job = _job(served)
    requests = _every_request(served, job)
    events = (b"/api/v1/jobs/%s/events" % job.encode(), "")
    ordinary = Ordinary(served)
    ordinary.start()
    mine = psutil.Process()

    def some(number: int) -> None:
        own = random.Random(seed * 1000 + number)
        for _ in range(count // 8):
            request = ("GET", *events) if own.random() < 0.2 else own.choice(requests)
            _hang_up(served, request, own)

    before = _left_behind(mine)
    crowd = [threading.Thread(target=some, args=(number,)) for number in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    ordinary.ended.set()
    ordinary.join(PATIENCE)
    assert ordinary.answers
    assert set(ordinary.answers) <= {200, 400}
    assert httpx.get(f"{served.url}/health", timeout=PATIENCE).json() == {"status": "serving"}
    wait_until(lambda: _left_behind(mine) <= before, "connections to be let go")
    wait_until(lambda: watching._streams._value == 64, "watchers to be forgotten")
    with served.client("cas") as custodian:
        wait_until(lambda: _unended(served) == 0, "jobs to end")
        (whole,) = custodian.get("/datasets/deaths-dp/budget").json()["standings"]
        cap, spent, left = (
            Fraction(whole[name].partition("=")[2].strip()) for name in ("cap", "spent", "left")
        )
        assert spent + left == cap  # nothing is held
        statuses = _statuses(custodian)
    assert len(statuses) >= count / 4
    assert max(statuses) < 500


def _statuses(custodian: httpx.Client) -> list[int]:
    """How every request ended, by the audit log."""
    rows, before = [], None
    while True:
        asked = {"most": 1000, **({"before": before} if before else {})}
        page = custodian.get("/audit", params=asked).json()
        rows += page["rows"]
        before = page["next"]
        if before is None:
            return [row["status"] for row in rows if "status" in row]


def _unended(served: Served) -> int:
    jobs = Jobs(served.workspace)
    try:
        return len(jobs.unended())
    finally:
        jobs.close()


def _left_behind(process: psutil.Process) -> int:
    """Open connections of this process, server and clients alike."""
    return sum(1 for each in process.net_connections() if each.status == "ESTABLISHED")


def test_thousand_hang_ups_stop_nothing(served: Served) -> None:
    """1,000 requests on all routes hung up at random moments: the server goes on answering others."""
    _hang_ups(served, 1000, seed=1)


@pytest.mark.proof
def test_twenty_thousand_hang_ups_stop_nothing(served: Served) -> None:
    """20,000 requests on all routes hung up at random moments: the server goes on answering others."""
    _hang_ups(served, int(os.environ.get("DISCREET_HANG_UPS", "20000")), seed=2)
