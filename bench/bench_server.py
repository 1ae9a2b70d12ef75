"""The server against the bare engine: uncached cell-key tables, repeated questions, a large CSV.

    python -m bench.bench_server [--seconds 5] [--workers 2]

Sixteen clients send prepared requests over kept connections. *Uncached*: every question is new
(a filter that nobody used before), and the bare engine counts the same interiors in a loop of as
many threads, in the same run. *Repeated*: sixteen questions over and over.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.bars import measured
from discreet import release
from discreet.core.control import Control
from discreet.demo import make_demo
from discreet.recipe import make
from discreet.workspace import DataSet

CLIENTS = 16
SHAPES = (
    ("month × sex", {"rows": ["month"], "columns": ["sex"]}, "cause"),
    ("region × cause × age", {"rows": ["region", "cause"], "columns": ["age"]}, "month"),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(workspace: Path, workers: int) -> tuple[subprocess.Popen[bytes], int]:
    port = free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "discreet", "serve", str(workspace), "--port", str(port)),
            *("--workers", str(workers), "--public", "all", "--public-spends"),
            *("--calls-per-minute", "1000000000", "--log-level", "warning"),
        ],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            time.sleep(1)
            return process, port
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def stop(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=30)


def request(body: dict[str, object], query: str = "") -> bytes:
    text = json.dumps(body).encode()
    head = f"POST /api/v1/datasets/deaths/tables{query} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes
) -> tuple[int, int]:
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return status, length


async def load(port: int, messages: Iterable[bytes], seconds: float) -> float:
    """Requests answered with 200 in a second."""
    source = iter(messages)
    answered = 0
    end = time.perf_counter() + seconds

    async def client() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        while time.perf_counter() < end:
            status, _ = await exchange(reader, writer, next(source))
            if status != 200:
                raise RuntimeError(f"answered {status}")
            answered += 1
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return answered / (time.perf_counter() - start)


def filters(data: DataSet, by: str, part: int) -> Iterator[dict[str, list[str]]]:
    """Filters nobody used before: most categories of one variable."""
    codes = data.description.variable(by).finest.codes
    number = 0
    for size in range(len(codes) - 1, 3, -1):
        for kept in itertools.combinations(codes, size):
            number += 1
            if number % 2 == part:
                yield {by: list(kept)}


def bare(data: DataSet, shape: dict[str, list[str]], by: str, seconds: float) -> float:
    """Interiors counted in a second by the engine alone, from sixteen threads."""
    plans = []
    for where in itertools.islice(filters(data, by, 0), 400):
        asked = make(data.description, data.policy, **shape, where=where)  # type: ignore[arg-type]
        plans.append(release.preview(data, asked).plan)
    engine = data.engine()
    todo = itertools.cycle(plans)
    lock = threading.Lock()
    done = 0
    end = time.perf_counter() + seconds

    def work() -> None:
        nonlocal done
        while time.perf_counter() < end:
            with lock:
                plan = next(todo)
            engine.count(plan.counts, keys=True, weights=False, control=Control())
            with lock:
                done += 1

    start = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--workspace", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = options.workspace or Path(folder) / "demo"
        make_demo(workspace)
        data = DataSet.open(workspace / "deaths")
        for name, shape, by in SHAPES:
            engine = bare(data, shape, by, options.seconds)
            process, port = start(workspace, options.workers)
            try:
                messages = iter(
                    [
                        request({**shape, "where": where})
                        for where in itertools.islice(filters(data, by, 1), 20_000)
                    ]
                )
                asyncio.run(load(port, messages, 1))  # both workers open the data set
                rate = asyncio.run(load(port, messages, min(options.seconds, 5)))
            finally:
                stop(process)
            told = f"server {rate:.0f}/s, bare engine {engine:.0f}/s"
            what = f"uncached {name} ÷ bare engine, {CLIENTS} clients"
            measured(what, rate / engine, "×", at_least=0.6, note=told)
        process, port = start(workspace, options.workers)
        try:
            codes = data.description.variable("area").level("region").codes
            repeated = [
                request({"rows": ["month"], "columns": ["sex"], "where": {"area:region": code}})
                for code in codes
            ]
            asyncio.run(load(port, itertools.cycle(repeated), 1))
            rate = asyncio.run(load(port, itertools.cycle(repeated), options.seconds))
            measured("repeated questions", rate, "/s", at_least=1000)
            asyncio.run(large(port))
        finally:
            stop(process)
        data.close()


async def large(port: int) -> None:
    """One table of 133,056 cells as CSV, first asked and asked again."""
    body = {"rows": ["ccg", "cause"], "columns": ["age", "sex"]}
    message = request(body, "?format=csv")
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 28)
    for words in ("first", "again"):
        start = time.perf_counter()
        status, size = await exchange(reader, writer, message)
        seconds = time.perf_counter() - start
        if status != 200:
            raise RuntimeError(f"answered {status}")
        what = f"133,056 cells as CSV over HTTP, {words}"
        measured(what, seconds, "s", at_most=1, note=f"{size:,} bytes")
    writer.close()


if __name__ == "__main__":
    main()
