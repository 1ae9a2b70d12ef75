"""What an uploaded file holds is in its draft and nowhere else: no log, job, audit row or other role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.file_names import DRAFTS
from discreet.server import Settings

from ..patience import PATIENCE, wait_until
from .custody_rows import REFUSED
from .drafting import begin, send, stays, until
from .serving import Served, add_accounts, serving

CANARY, NUMBER = "Zaunkoenig", "873465.25"
SETTINGS = Settings(calls_per_minute=10**6, lease_seconds=2, body_seconds=PATIENCE)


def planted() -> bytes:
    """Stays of which one has a category and an amount that nobody else has."""
    lines = stays(200).decode().splitlines()
    parts = lines[7].split(";")
    parts[-1], parts[-3] = CANARY, NUMBER
    lines[7] = ";".join(parts)
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Served]:
    workspace = tmp_path / "work"
    workspace.mkdir()
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


def holding(workspace: Path) -> set[str]:
    """Folders at the top of a workspace, or files, in which a canary is found."""
    found = set()
    for path in workspace.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if CANARY.encode() in data or NUMBER.encode() in data:
            found.add(path.relative_to(workspace).parts[0])
    return found


@pytest.mark.slow
def test_nothing_of_a_draft_is_anywhere_else(office: Served, caplog: pytest.LogCaptureFixture):
    """While it is open, when it fails, and once it is cancelled."""
    caplog.set_level("DEBUG")
    data = planted()
    with office.client("cas") as cas:
        draft = begin(cas, "stays.csv", data)
        assert send(cas, draft, data).is_success
        shown = until(cas, draft, "open")
        assert CANARY in str(shown), "custodians see what was found"
        assert holding(office.workspace) == {DRAFTS}
        broken = begin(cas, "broken.csv", broken_file())
        assert send(cas, broken, broken_file()).is_success
        wait_until(lambda: cas.get(f"/drafts/{broken}").json()["error"], "the look to fail")
        assert CANARY not in cas.get(f"/drafts/{broken}").text
        told = [cas.get(path).text for path in ("/audit", "/jobs", "/decisions", "/rehearsals")]
        told += seen_by_others(office, draft)
        assert cas.delete(f"/drafts/{draft}").status_code == 204
        assert cas.delete(f"/drafts/{broken}").status_code == 204
    lines = [record.getMessage() + str(record.__dict__) for record in caplog.records]
    ours = [line for line in lines if "discreet" in line]
    for text in (*told, *ours):
        assert CANARY not in text
        assert NUMBER not in text
    assert holding(office.workspace) == set()


def broken_file() -> bytes:
    """Lines of which one is longer than its head, and holds the canary."""
    return b"a;b\n1;2\n3;4\n" + f"{CANARY};{NUMBER};{CANARY};{NUMBER}\n".encode() + b"5;6\n"


def seen_by_others(office: Served, draft: str) -> list[str]:
    """What everybody else gets of every route of drafts."""
    told = []
    with httpx.Client(base_url=office.url, timeout=300) as wire:
        for route in REFUSED:
            if "draft" not in route:
                continue
            method, path = route.split()
            for who in ("ana", "odo"):
                headers = {"Authorization": f"Bearer {office.tokens[who]}"}
                answer = wire.request(method, path.replace("{draft}", draft), headers=headers)
                assert answer.status_code == 403
                told.append(answer.text)
    return told
