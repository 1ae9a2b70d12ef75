"""What the readers' page costs: bytes of a first visit, a browser's main thread, the server's time.

    python -m bench.bench_readers_page [--rounds N]

Serves a demo of its own on this machine. Server times are processor time of the whole answer, so
that a busy machine does not change them; the browser's are those of its main thread (thread ticks),
from the first byte to two frames after load. Debian's Chromium is driven by Playwright.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.bars import measured

LARGE = "rows=ccg,marital&columns=age"
"""252 × 7 × 11 cells with all totals: 19,404."""
CHANGES = (
    "rows=region&columns=age&epsilon=0.25",
    "rows=region&columns=age&epsilon=0.5",
    "rows=region&columns=cause&epsilon=0.1",
    "rows=region,sex&columns=cause&epsilon=0.1",
    "rows=ccg&columns=cause,sex&epsilon=0.1",
    "rows=month&columns=marital&where=cause:V01-Y98&epsilon=0.1",
)
PICTURES = ("", "&chart=heat", "&chart=multiples")


def served(folder: Path) -> tuple[Any, str, Any]:
    """A demo on this machine, in a thread: the server, its address, its app."""
    import uvicorn

    from discreet.demo import make_demo
    from discreet.server import Settings, create_app

    make_demo(folder)
    app = create_app(folder, Settings(public=("*",), calls_per_minute=10**6))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none")
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return server, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", app


def seconds(ask: Callable[[], object], rounds: int) -> float:
    """The median processor time of one call, the first left out."""
    found = []
    for number in range(rounds + 1):
        start = time.process_time()
        ask()
        if number:
            found.append(time.process_time() - start)
    return statistics.median(found)


def server_times(base: str, rounds: int) -> None:
    """Verdict, table and picture: what each costs the server's processor."""
    import httpx

    with httpx.Client(base_url=base, timeout=600) as wire:
        worst, page = 0.0, 0.0
        for at in CHANGES:
            said = dict(pair.split("=") for pair in at.split("&"))
            recipe: dict[str, Any] = {
                name: said[name].split(",") for name in ("rows", "columns") if name in said
            }
            recipe["epsilon"] = said["epsilon"]
            address = "/api/v1/datasets/deaths-dp/tables:check?ladder=true"
            worst = max(worst, seconds(lambda: wire.post(address, json=recipe), rounds))  # noqa: B023 - called at once
            page = max(page, seconds(lambda: wire.get(f"/build/deaths-dp?{at}"), rounds))  # noqa: B023 - called at once
        told = f"slowest of {len(CHANGES)} changes, with the ladder; client's share included"
        measured("verdict after a change, server", 1000 * worst, "ms", at_most=60, note=told)
        note = "chips, verdict, accuracies and the table of errors, whole"
        measured("page after a change, server", 1000 * page, "ms", note=note)
        address = f"/api/v1/datasets/deaths/tables?{LARGE}&format=html&rows_most=1764"
        again = seconds(lambda: wire.get(address), rounds)
        measured("19,404 cells as html, asked again", 1000 * again, "ms", at_most=60)
        window = seconds(lambda: wire.get(f"/build/deaths?{LARGE}"), rounds)
        measured("builder page of them, 100 rows", 1000 * window, "ms", at_most=60)
        for kind in PICTURES:
            address = f"/api/v1/datasets/deaths/tables?rows=region&columns=age&format=svg{kind}"
            chart = seconds(lambda: wire.get(address), rounds)  # noqa: B023 - called at once
            measured(
                f"picture{kind.replace('&chart=', ', ')}, asked again", chart, "s", at_most=0.3
            )


def rendering_times(folder: Path, rounds: int) -> None:
    """Table and pictures made anew from the protected numbers, without a server or its cache."""
    import discreet as dc
    from discreet.formats.html import Window, fragment
    from discreet.formats.svg import to_svg
    from discreet.web.grid import Grid

    with dc.open(folder / "deaths") as data:
        words: dict[str, Any] = {"rows": ["ccg", "marital"], "columns": ["age"]}
        large = data.table(**words).release().protected
        small = data.table(rows=["region"], columns=["age"]).release().protected
    whole = seconds(lambda: fragment(large, Window(most=1764)), rounds)
    measured("19,404 cells as html, made anew", 1000 * whole, "ms", at_most=60)
    page = seconds(lambda: Grid(large).body(), rounds)
    measured("100 rows of them for the page", 1000 * page, "ms", at_most=60)
    for kind in ("", "heat", "multiples"):
        drawn = seconds(lambda: to_svg(small, kind), rounds)  # noqa: B023 - called at once
        measured(f"picture {kind}".strip() + ", drawn anew", drawn, "s", at_most=0.3)


def browser_times(base: str, rounds: int) -> None:
    """Bytes over the wire of a first visit, and main-thread time of a large table."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        measured("first load, packed", None, "kB", at_most=40, note="Chromium is not installed")
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for what, path in (
            ("first load, packed", "/"),
            ("builder's first load, packed", "/build/deaths?rows=region&columns=age"),
        ):
            kilobytes, requests = _weight(browser, base + path)
            note = f"{requests} requests"
            measured(what, kilobytes, "kB", at_most=40, note=note)
        found = [_main_thread(browser, f"{base}/build/deaths?{LARGE}") for _ in range(rounds)]
        note = "19,404 cells, the first 100 of 1,764 rows on the page"
        measured("large table, main thread", statistics.median(found), "s", at_most=0.3, note=note)
        browser.close()


def _weight(browser: Any, address: str) -> tuple[float, int]:
    """What a page and all it loads weigh on the wire, heads included."""
    context = browser.new_context()
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    sizes: list[float] = []
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address, wait_until="networkidle")
    context.close()
    return sum(sizes) / 1000, len(sizes)


def _main_thread(browser: Any, address: str) -> float:
    """Seconds of the main thread until two frames after load."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.evaluate("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")
    told = {one["name"]: one["value"] for one in wire.send("Performance.getMetrics")["metrics"]}
    context.close()
    return float(told["TaskDuration"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_ANCHORS"] = str(Path(name) / "anchors")
        server, base, _ = served(Path(name) / "demo")
        server_times(base, options.rounds)
        rendering_times(Path(name) / "demo", options.rounds)
        browser_times(base, options.rounds)
        server.should_exit = True


if __name__ == "__main__":
    main()
