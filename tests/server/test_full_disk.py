"""A disk without room under a running server: the documented 503, and well again with room."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from discreet.server import Settings

from .serving import Served, add_accounts, serving

pytestmark = pytest.mark.slow
SETTINGS = Settings(public=("deaths",), calls_per_minute=10**6)
ASKED = (
    ("GET", "/health", None),
    ("GET", "/api/v1/datasets", None),
    ("GET", "/api/v1/datasets/deaths/tables?rows=sex", None),
    ("GET", "/", None),
    ("POST", "/api/v1/datasets/deaths-dp/tables", {"rows": ["sex"], "epsilon": "0.01"}),
    ("POST", "/api/v1/datasets/deaths/tables:check", {"rows": ["sex"]}),
)


@pytest.fixture
def cramped(demo: Path, mount: Callable[[str], Path]) -> Iterator[Served]:
    """The demo on a small disk of its own."""
    size = sum(path.stat().st_size for path in demo.rglob("*") if path.is_file())
    workspace = mount(f"size={size + (8 << 20)}") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


def test_a_full_disk_is_a_503_on_every_route(cramped: Served) -> None:
    """Problem documents with their headers, nothing charged; all is well once there is room."""
    token = {"Authorization": f"Bearer {cramped.tokens['ana']}"}
    with httpx.Client(base_url=cramped.url, headers=token, timeout=300) as client:

        def statuses() -> list[httpx.Response]:
            return [client.request(verb, path, json=body) for verb, path, body in ASKED]

        client.get("/health")
        filler = cramped.workspace.parent / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        os.write(file.fileno(), b"\0" * size)
                except OSError:
                    continue
        refused = [answer for _ in range(4) for answer in statuses()]
        full = [answer for answer in refused if answer.status_code != 200]
        assert full
        for answer in full:
            assert answer.status_code == 503, answer.text
            assert answer.headers["content-type"].startswith(
                ("application/problem+json", "text/html")
            )
            assert answer.headers["retry-after"]
            assert answer.headers["x-content-type-options"] == "nosniff"
        filler.unlink()
        assert [answer.status_code for answer in statuses()] == [200] * len(ASKED)
