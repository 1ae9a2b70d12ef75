"""Pictures of every view of the page, in light, dark, on a phone and from right to left.

    python tools/screens.py [docs/screens]

Makes a demo workspace of its own, serves it on this machine alone, asks for what a reader would and
photographs it with Debian's Chromium. The language from right to left is one that nobody speaks.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "a long enough phrase"
TABLE = "/build/deaths?rows=region&columns=age"
PAID = "/build/deaths-dp?rows=region&columns=age&where=cause:V01-Y98&epsilon=0.1"
VIEWS = {
    "first": ("", "/"),
    "catalogue": ("", "/data"),
    "dataset": ("", "/data/deaths"),
    "empty": ("", "/build/deaths"),
    "table": ("ana", f"{PAID}&show=intervals"),
    "before": ("ana", PAID.replace("epsilon=0.1", "epsilon=0.25")),
    "percent": ("", "/build/deaths?rows=cause&columns=age&percent=columns&decimals=0&show=heat"),
    "refused": ("", "/build/deaths?rows=ccg&columns=cause,age,sex&layers=month"),
    "compare": ("ana", f"{PAID}&a=E12000008,25-34&b=E12000002,25-34"),
    "chart": ("ana", f"{PAID}&view=chart"),
    "notes": ("ana", f"{PAID}&view=notes"),
    "code": ("", f"{TABLE}&view=code"),
    "stars": ("ana", "/build/genes?rows=eyes&columns=hair&where=town:north"),
    "categories": ("", "/build/deaths/pick/ccg?rows=region"),
    "search": ("", "/search?query=wales"),
    "account": ("ana", "/account"),
    "saved": ("ana", "/saved"),
    "oversight": ("odo", "/audit"),
    "ledger": ("odo", "/audit/deaths-dp?verify=true"),
    "sign-in": ("", f"/login?next={PAID.replace('&', '%26')}"),
    "problem": ("", "/data/nowhere"),
}
SPENT = (PAID, "/build/genes?rows=eyes&columns=hair&where=town:north")
WAYS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1360, "height": 860}},
    "dark": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 1.5,
        "has_touch": True,
    },
    "rtl": {"viewport": {"width": 1360, "height": 860}},
}


def serve(workspace: Path) -> tuple[Any, str]:
    """A server of the workspace in a thread, and its address."""
    import uvicorn

    from discreet.server import Settings, create_app
    from discreet.store.accounts import Accounts
    from discreet.store.workspace_database import WorkspaceDatabase

    database = WorkspaceDatabase(workspace)
    for name, role in (("ana", "analyst"), ("odo", "auditor")):
        Accounts(database).add_user(name, role, password=PASSWORD)
    database.close()
    settings = Settings(public=("*",), calls_per_minute=10**6, logins_per_minute=10**6)
    config = uvicorn.Config(
        create_app(workspace, settings), host="127.0.0.1", port=0, log_config=None, ws="none"
    )
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}"


def sign_in(page: Any, base: str, name: str) -> None:
    """Sign in by the form."""
    page.goto(f"{base}/login")
    page.fill("input[name=name]", name)
    page.fill("input[name=password]", PASSWORD)
    page.click("main button")


def take(browser: Any, base: str, folder: Path) -> None:
    """Every view in every way."""
    own = browser.new_page()
    sign_in(own, base, "ana")
    for address in SPENT:
        own.goto(base + address)
        own.click("#verdict button")
    own.goto(f"{base}{PAID}")
    own.click(".tools summary >> text=Share")
    own.click("text=Save this table")
    for way, options in WAYS.items():
        for who in ("", "ana", "odo"):
            context = browser.new_context(locale="en-GB", **options)
            page = context.new_page()
            if who:
                sign_in(page, base, who)
            if way == "rtl":
                cookie = {"name": "discreet-language", "value": "qps-rtl", "url": base}
                context.add_cookies([cookie])
            for name, (reader, address) in VIEWS.items():
                if reader == who:
                    page.goto(base + address)
                    file = folder / f"{name}-{way}.jpg"
                    page.screenshot(path=file, type="jpeg", quality=60, full_page=way != "phone")
            context.close()


def page_of(folder: Path) -> str:
    """A page that shows all of them."""
    lines = [
        "# The page, in pictures",
        "",
        "Made by `make screens` from the demo. All data are synthetic.",
        "",
    ]
    for name in VIEWS:
        shown = " ".join(f"[{way}]({name}-{way}.jpg)" for way in WAYS)
        lines += [f"## {name.capitalize()}", "", f"![{name}]({name}-light.jpg)", "", shown, ""]
    return "\n".join(lines)


def main(folder: Path) -> int:
    """Make the pictures and the page that shows them."""
    from playwright.sync_api import sync_playwright

    from discreet.demo import make_demo

    program = shutil.which("chromium")
    if program is None:
        print("Chromium is not installed: run tools/system_needs.py.")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_ANCHORS"] = str(Path(name) / "anchors")
        workspace = Path(name) / "demo"
        make_demo(workspace)
        server, base = serve(workspace)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            take(browser, base, folder)
            browser.close()
        server.should_exit = True
    (folder / "README.md").write_text(page_of(folder), encoding="utf-8")
    print(f"{len(VIEWS) * len(WAYS)} pictures are in {folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screens"))
