"""Files to upload, and a custodian's way through a draft over HTTP."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import httpx

from ..patience import wait_until

STAYS = "stays.csv"


def stays(records: int = 600, seed: int = 3) -> bytes:
    """Hospital stays, several of one patient, in a ragged hierarchy, with dates, amounts, weights."""
    draw = random.Random(seed)
    lines = ["stay_id;patient_id;clinic;trust;region;admitted;sex;cost;weight;note"]
    for number in range(records):
        clinic = draw.randrange(12)
        trust = f"T{clinic // 3}" if clinic % 5 else ""
        day = f"{draw.randrange(1, 29):02d}.{draw.randrange(1, 13):02d}.202{draw.randrange(3)}"
        lines.append(
            f"S{number:05d};P{int(records * 0.3 * draw.random()):04d};C{clinic:02d};{trust};"
            f"R{clinic // 6};{day};{draw.choice(['f', 'm', ''])};{draw.randrange(100, 99999) / 100:.2f};"
            f"{draw.randrange(50, 300) / 100:.2f};{draw.choice(['a', 'b'])}"
        )
    return ("\n".join(lines) + "\n").encode()


def tree(workspace: Path) -> dict[str, bytes | None]:
    """Every file and folder below a workspace with its bytes; what a server itself keeps apart."""
    own = ("audit.sqlite3", "jobs.sqlite3", "accounts.sqlite3")
    return {
        str(path.relative_to(workspace)): path.read_bytes() if path.is_file() else None
        for path in sorted(workspace.rglob("*"))
        if not path.name.startswith(own)
    }


def begin(client: httpx.Client, name: str, data: bytes, **more: str) -> str:
    """A draft that waits for its file."""
    made = client.post("/drafts", json={"file": name, "bytes": len(data), **more})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def send(client: httpx.Client, draft: str, data: bytes, offset: int = 0) -> httpx.Response:
    """A piece of a file."""
    headers = {"Upload-Offset": str(offset), "Content-Type": "application/octet-stream"}
    return client.patch(f"/drafts/{draft}/file", content=data, headers=headers)


def upload(client: httpx.Client, name: str, data: bytes, **more: str) -> str:
    """A whole file, looked at."""
    draft = begin(client, name, data, **more)
    sent = send(client, draft, data)
    assert sent.status_code == 200, sent.text
    until(client, draft, "open")
    return draft


def until(client: httpx.Client, draft: str, state: str) -> dict[str, Any]:
    """The draft once it is in a state; fails where it stopped with an error instead."""
    last: dict[str, Any] = {}

    def there() -> bool:
        answer = client.get(f"/drafts/{draft}")
        assert answer.status_code == 200, answer.text
        last.update(answer.json())
        assert not last["error"], last["error"]
        return last["state"] == state

    wait_until(there, f"a draft to be {state}")
    return last


def say(client: httpx.Client, draft: str, **answers: Any) -> dict[str, Any]:
    """Answer on the edition there is; the draft afterwards."""
    edition = client.get(f"/drafts/{draft}").headers["etag"]
    said = client.patch(f"/drafts/{draft}", json=answers, headers={"If-Match": edition})
    assert said.status_code == 200, said.text
    return dict(said.json())


def finish(client: httpx.Client, draft: str) -> dict[str, Any]:
    """The last step, to its end."""
    edition = client.get(f"/drafts/{draft}").headers["etag"]
    begun = client.post(f"/drafts/{draft}/finish", headers={"If-Match": edition})
    assert begun.status_code == 202, begun.text
    return until(client, draft, "done")
