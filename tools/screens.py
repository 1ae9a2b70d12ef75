"""Pictures of every view of the page, in light, dark and on a phone; readers' ones from right to left.

    python tools/screens.py [docs/screens [VIEW …]]

Makes a demo workspace of its own, serves it on this machine alone, asks for what a reader would and
photographs it with Debian's Chromium. The language from right to left is one that nobody speaks.
"""

from __future__ import annotations

import os
import random
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
    "before": ("ana", PAID.replace("V01-Y98&epsilon=0.1", "C00-D48&epsilon=0.25")),
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
    "custodian": ("cas", "/custodian"),
    "policy": ("cas", "/custodian/deaths-dp/policy?records=529655"),
    "policy-draft": ("cas", "/custodian/deaths-dp/policy?variables=2&tables=40"),
    "publish": ("cas", "/custodian/deaths-dp/publish?title=Sex&recipe=rows%3Dsex%26epsilon%3D0.5"),
    "releases": ("cas", "/custodian/releases"),
    "release": ("cas", "{release}"),
    "withdraw": ("cas", "{release}/withdraw"),
    "proposal": ("cas", "{proposal}"),
    "proposed-policy": ("cas", "{policy}"),
    "request": ("cas", "{request}"),
    "rehearsal": ("cas", "{rehearsal}"),
    "new": ("cas", "/custodian/new"),
    "draft": ("cas", "{draft}"),
    "draft-done": ("cas", "{done}"),
    "new-version": ("cas", "{version}"),
    "custodian-ledger": ("cas", "/custodian/deaths-dp/ledger?verify=true"),
    "people": ("cas", "/custodian/people"),
    "person": ("cas", "/custodian/people/ana"),
    "log": ("cas", "/custodian/log"),
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


def ways_of(view: str) -> list[str]:
    """How a view is photographed: custodians' ones are not mirrored once more."""
    return [way for way in WAYS if way != "rtl" or VIEWS[view][0] != "cas"]


def serve(workspace: Path) -> tuple[Any, str]:
    """A server of the workspace in a thread, and its address."""
    import uvicorn

    from discreet.server import Settings, create_app
    from discreet.store.accounts import Accounts
    from discreet.store.workspace_database import WorkspaceDatabase

    database = WorkspaceDatabase(workspace)
    people = (("ana", "analyst"), ("odo", "auditor"), ("cas", "custodian"), ("dora", "custodian"))
    for name, role in people:
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


def take(browser: Any, base: str, folder: Path, views: set[str]) -> None:
    """These views in every way."""
    own = browser.new_page()
    sign_in(own, base, "ana")
    for address in SPENT:
        own.goto(base + address)
        own.click("#verdict button")
    own.goto(f"{base}{PAID}")
    own.click(".tools summary >> text=Share")
    own.click("text=Save this table")
    own.goto(f"{base}/build/deaths-dp?rows=region&columns=cause&epsilon=20")
    own.goto(f"{base}/build/deaths-dp/ask?at=rows%3Dccg%26columns%3Dcause")
    own.fill("textarea[name=words]", "May we have areas by cause, for the annual report?")
    own.click("main button:has-text('Send')")
    made = prepare(browser, base, folder)
    for way, options in WAYS.items():
        for who in ("", "ana", "odo", "cas"):
            context = browser.new_context(locale="en-GB", **options)
            page = context.new_page()
            if who:
                sign_in(page, base, who)
            if way == "rtl":
                cookie = {"name": "discreet-language", "value": "qps-rtl", "url": base}
                context.add_cookies([cookie])
            for name, (reader, address) in VIEWS.items():
                if reader == who and name in views and way in ways_of(name):
                    page.goto(base + address.format(**made))
                    file = folder / f"{name}-{way}.jpg"
                    page.screenshot(path=file, type="jpeg", quality=48, full_page=way != "phone")
            context.close()


def prepare(browser: Any, base: str, folder: Path) -> dict[str, str]:
    """What waits for a custodian: two proposals, a release to approve, a request, drafts."""
    page = browser.new_page()
    sign_in(page, base, "dora")
    made = {}
    for name, address, why in (
        ("policy", "variables=2&each=0.5", "Smaller tables until the bulletin is out"),
        ("proposal", "budget=12", "A monthly bulletin from January"),
    ):
        page.goto(f"{base}/custodian/deaths-dp/policy?{address}")
        page.fill("textarea[name=reason]", why)
        page.click("button:has-text('Propose this policy')")
        page.click("text=What it would mean >> nth=0")
        made[name] = page.url.removeprefix(base)
    page.goto(f"{base}/custodian/deaths-dp/publish")
    page.fill("input[name=title]", "Deaths by region and sex")
    page.fill("textarea[name=recipe]", "rows=region&columns=sex&epsilon=0.5")
    page.click("text=See what it would cost")
    page.click("button:has-text('Make it')")
    made["release"] = page.url.removeprefix(base)
    page.goto(f"{base}/custodian")
    page.click("text=Read and answer")
    made["request"] = page.url.removeprefix(base)
    page.close()
    page = browser.new_page()
    sign_in(page, base, "cas")
    made |= drafts(page, base, folder)
    page.goto(f"{base}/custodian/stays/policy")  # the smallest
    page.click("text=Rehearse on the true records")
    page.wait_for_selector("text=Delete what it found", timeout=300_000)
    made["rehearsal"] = page.url.removeprefix(base)
    page.close()
    return made


def drafts(page: Any, base: str, folder: Path) -> dict[str, str]:
    """A draft with answers, one that was finished, and a new version of that."""
    file = folder / "stays.csv"
    file.write_bytes(stays())
    made = {}
    for name in ("done", "draft", "version"):
        after = "/version/stays" if name == "version" else ""
        page.goto(f"{base}/custodian/new{after}")
        page.set_input_files("input[type=file]", str(file))
        page.click("main form .button.main")
        page.wait_for_selector("main form button[value=finish]", timeout=300_000)
        if name != "version":
            page.fill("#unit", "person")
            page.select_option("select[name=role-1]", "id")
            page.fill("#records", "4")
            page.check("input[name=over][value=drop]")
            page.fill("input[name=name]", "stays" if name == "done" else "stays-2025")
            page.click("#columns button")
        if name == "done":
            for box in page.locator("input[name=declared]").all():
                box.check()
            page.click("button[value=finish]")
            page.wait_for_selector("h1:has-text('is ready')", timeout=300_000)
        made[name] = page.url.removeprefix(base).partition("#")[0]
    file.unlink()
    return made


def stays() -> bytes:
    """Hospital stays of made-up people, several of one patient, in a ragged hierarchy."""
    draw = random.Random(3)
    lines = ["stay_id;patient_id;clinic;trust;region;admitted;sex;cost"]
    for number in range(900):
        clinic = draw.randrange(12)
        day = f"{draw.randrange(1, 29):02d}.{draw.randrange(1, 13):02d}.202{draw.randrange(3)}"
        parts = (f"S{number:05d}", f"P{int(270 * draw.random()):04d}", f"C{clinic:02d}")
        above = (f"T{clinic // 3}" if clinic % 5 else "", f"R{clinic // 6}", day)
        last = (draw.choice(("f", "m", "")), f"{draw.randrange(100, 99999) / 100:.2f}")
        lines.append(";".join((*parts, *above, *last)))
    return ("\n".join(lines) + "\n").encode()


def page_of(folder: Path) -> str:
    """A page that shows all of them."""
    lines = [
        "# The page, in pictures",
        "",
        "Made by `make screens` from the demo. All data are synthetic.",
        "",
    ]
    for name in VIEWS:
        shown = " ".join(f"[{way}]({name}-{way}.jpg)" for way in ways_of(name))
        lines += [f"## {name.capitalize()}", "", f"![{name}]({name}-light.jpg)", "", shown, ""]
    return "\n".join(lines)


def main(folder: Path, views: set[str]) -> int:
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
            take(browser, base, folder, views)
            browser.close()
        server.should_exit = True
    (folder / "README.md").write_text(page_of(folder), encoding="utf-8")
    print(f"{sum(len(ways_of(view)) for view in views)} pictures are in {folder}.")
    return 0


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screens"
    sys.exit(main(place, set(sys.argv[2:]) or set(VIEWS)))
