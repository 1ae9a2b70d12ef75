"""The server against the bare engine: uncached cell-key tables, repeated questions, a large CSV.

    python -m bench.bench_server [--seconds 2] [--rounds 7] [--workers 2]

Sixteen clients send prepared requests over kept connections. *Uncached*: every question is new (a
filter that nobody used before; the server sums most of them from interiors that it kept). DuckDB
counts the interiors of such tables in as many processes, engine threads and askers as the server
has; server and engine take turns, and the figure is the median of the ratios of neighbouring turns.
Processor time for each table stands beside it: it says the same where others keep the machine busy.
Beside the engine that counts from arrays in memory there is no bar: what it leaves of a small
table's time is nearly all the work around counting. *Repeated*: some questions over and over.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import psutil

from bench.bare_engine import BareEngine, Pace
from bench.bars import measured
from discreet.demo import make_demo
from discreet.workspace import DataSet

CLIENTS = 16
SHAPES = (
    ("month × sex", {"rows": ["month"], "columns": ["sex"]}, ("cause", "marital")),
    ("region × cause × age", {"rows": ["region", "cause"], "columns": ["age"]}, ("month", "age")),
)
"""Tables, and two variables that filters are on: with them a table has at most four."""


class Server:
    """`discreet serve` on a workspace. Use as a context manager."""

    def __init__(self, workspace: Path, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "discreet", "serve", str(workspace)),
                *("--port", str(self.port), "--workers", str(workers)),
                *("--public", "all", "--public-spends"),
                *("--calls-per-minute", "1000000000", "--log-level", "warning"),
            ],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                time.sleep(1)
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def processor_seconds(self) -> float:
        """Used so far by the server and its workers."""
        parent = psutil.Process(self._process.pid)
        times = [each.cpu_times() for each in (parent, *parent.children(recursive=True))]
        return sum(each.user + each.system for each in times)

    def pace(self, messages: Iterable[bytes], seconds: float) -> Pace:
        """Answer sixteen clients for so long."""
        before = self.processor_seconds()
        answered, elapsed = load(self.port, messages, seconds)
        used = self.processor_seconds() - before
        return Pace(answered / elapsed, 1000 * used / answered)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(timeout=30)


def request(body: dict[str, object], query: str = "") -> bytes:
    text = json.dumps(body).encode()
    head = f"POST /api/v1/datasets/deaths/tables{query} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


class Client:
    """One kept connection: sends a message and reads its answer, with little work of its own."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wanted = self._got = 0
        self._head = b""

    def send(self, message: bytes) -> None:
        self._wanted = self._got = 0
        self._head = b""
        self.socket.sendall(message)

    def read(self) -> int | None:
        """What has arrived; the size of the answer once it is whole."""
        part = self.socket.recv(1 << 20)
        if not part:
            raise RuntimeError("the server closed the connection")
        if not self._wanted:
            self._head += part
            head, mark, body = self._head.partition(b"\r\n\r\n")
            if not mark:
                return None
            if head[9:12] != b"200":
                raise RuntimeError(f"answered {head[9:12].decode()}")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._wanted, part = int(length), body
        self._got += len(part)
        return self._wanted if self._got >= self._wanted else None


def load(port: int, messages: Iterable[bytes], seconds: float) -> tuple[int, float]:
    """Requests answered with 200, and how long it took."""
    source = iter(messages)
    clients = [Client(port) for _ in range(CLIENTS)]
    start = time.perf_counter()
    end, answered, open_ = start + seconds, 0, CLIENTS
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send(next(source))
        while open_:
            for key, _ in selector.select():
                if key.data.read() is None:
                    continue
                answered += 1
                if time.perf_counter() < end:
                    key.data.send(next(source))
                else:
                    selector.unregister(key.fileobj)
                    open_ -= 1
    elapsed = time.perf_counter() - start
    for client in clients:
        client.socket.close()
    return answered, elapsed


def filters(data: DataSet, by: tuple[str, str]) -> Iterator[dict[str, list[str]]]:
    """Filters nobody used before: most categories of one variable, then fewer; then of another too."""
    first, second = by
    for beside in itertools.chain([{}], _parts(data, second)):
        for part in _parts(data, first):
            yield {**part, **beside}


def _parts(data: DataSet, by: str) -> Iterator[dict[str, list[str]]]:
    codes = data.description.variable(by).finest.codes
    for size in range(len(codes) - 1, 0, -1):
        for kept in itertools.combinations(codes, size):
            yield {by: list(kept)}


def uncached(
    workspace: Path,
    name: str,
    shape: dict[str, object],
    by: tuple[str, str],
    options: argparse.Namespace,
) -> None:
    """Server and engine in turns; the one that begins changes every round."""
    with DataSet.open(workspace / "deaths") as data:
        asked = list(itertools.islice(filters(data, by), 400))
        questions = itertools.islice(filters(data, by), 100_000)
        messages = iter([request({**shape, "where": where}) for where in questions])
    for in_memory in (False, True):
        bare = BareEngine(
            workspace / "deaths",
            shape,
            asked,
            processes=options.workers,
            askers=CLIENTS,
            in_memory=in_memory,
        )
        with bare, Server(workspace, options.workers) as server:
            server.pace(messages, 1)  # every worker opens the data set
            _in_turns(name, server, bare, messages, options, in_memory)


def _in_turns(
    name: str,
    server: Server,
    bare: BareEngine,
    messages: Iterator[bytes],
    options: argparse.Namespace,
    in_memory: bool,
) -> None:
    own = spent = 0.0
    rounds: list[tuple[Pace, Pace]] = []
    for number in range(options.rounds):
        engine = bare.pace(options.seconds) if number % 2 else None
        before = time.process_time()
        served = server.pace(messages, options.seconds)
        own += time.process_time() - before
        spent += served.per_second * options.seconds
        rounds.append((served, engine or bare.pace(options.seconds)))
    ratios = [served.per_second / engine.per_second for served, engine in rounds]
    times = [engine.milliseconds / served.milliseconds for served, engine in rounds]
    told = (
        f"server {median(s.per_second for s, _ in rounds):.0f}/s, bare engine "
        f"{median(e.per_second for _, e in rounds):.0f}/s; {min(ratios):.2f} to {max(ratios):.2f} "
        f"in {len(rounds)} rounds"
    )
    peer, bar = ("counting in memory", None) if in_memory else ("bare DuckDB", 0.65)
    what = f"uncached {name} ÷ {peer}, {CLIENTS} clients"
    measured(what, median(ratios), "×", at_least=bar, note=told)
    told = (
        f"a table: server {median(s.milliseconds for s, _ in rounds):.1f} ms, bare engine "
        f"{median(e.milliseconds for _, e in rounds):.1f} ms, clients {1000 * own / spent:.1f} ms"
    )
    what = f"the same in processor time, {name}, {peer}"
    measured(what, median(times), "×", at_least=bar, note=told)


def large(port: int) -> None:
    """One table of 133,056 cells as CSV, first asked and asked again."""
    message = request({"rows": ["ccg", "cause"], "columns": ["age", "sex"]}, "?format=csv")
    client = Client(port)
    for words in ("first", "again"):
        start = time.perf_counter()
        client.send(message)
        while (size := client.read()) is None:
            pass
        seconds = time.perf_counter() - start
        what = f"133,056 cells as CSV over HTTP, {words}"
        measured(what, seconds, "s", at_most=1, note=f"{size:,} bytes")
    client.socket.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--workspace", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = options.workspace or Path(folder) / "demo"
        make_demo(workspace)
        for name, shape, by in SHAPES:
            uncached(workspace, name, dict(shape), by, options)
        with DataSet.open(workspace / "deaths") as data:
            codes = data.description.variable("area").level("region").codes
        repeated = [
            request({"rows": ["month"], "columns": ["sex"], "where": {"area:region": code}})
            for code in codes
        ]
        with Server(workspace, options.workers) as server:
            server.pace(itertools.cycle(repeated), 1)
            pace = server.pace(itertools.cycle(repeated), 2 * options.seconds)
            told = f"{pace.milliseconds:.2f} ms of processor time each"
            measured("repeated questions", pace.per_second, "/s", at_least=1500, note=told)
            large(server.port)


if __name__ == "__main__":
    main()
