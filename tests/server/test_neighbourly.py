"""What one client does is no other client's trouble."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from discreet.server import Settings

from .serving import PASSWORD, Served, add_accounts, serving

TABLE = {"rows": ["sex"]}
KEY = {"Idempotency-Key": "order-1"}


def from_address(url: str, address: str) -> httpx.Client:
    """A client at another address of this machine."""
    return httpx.Client(base_url=url, transport=httpx.HTTPTransport(local_address=address))


@pytest.mark.slow
def test_wrong_logins_elsewhere_lock_nobody_out(tmp_path: Path) -> None:
    """A name is held up where it was tried, not where its owner is."""
    workspace = tmp_path / "w"
    workspace.mkdir()
    add_accounts(workspace)
    with (
        serving(workspace, Settings(logins_per_minute=3)) as url,
        from_address(url, "127.0.0.2") as other,
        from_address(url, "127.0.0.3") as owner,
    ):
        wrong = {"name": "cas", "password": "not the right phrase"}
        codes = [other.post("/api/v1/session", json=wrong).status_code for _ in range(40)]
        assert codes == [401] * 3 + [429] * 37
        right = {"name": "cas", "password": PASSWORD}
        assert owner.post("/api/v1/session", json=right).status_code == 200


def test_the_public_at_two_addresses_has_keys_of_its_own(served: Served) -> None:
    """The same key with another request is a conflict for its sender alone."""
    path = "/api/v1/datasets/deaths/tables"
    with from_address(served.url, "127.0.0.2") as one, from_address(served.url, "127.0.0.3") as two:
        assert one.post(path, json=TABLE, headers=KEY).status_code == 200
        assert two.post(path, json={"rows": ["region"]}, headers=KEY).status_code == 200
        assert one.post(path, json={"rows": ["region"]}, headers=KEY).status_code == 409


def test_settings_beside_a_body_are_not_ignored(served: Served) -> None:
    """A POST says what it asks in its body; an address that says more is refused."""
    with served.client("ana") as ana:
        path = "/datasets/deaths-dp/tables"
        answer = ana.post(f"{path}?epsilon=9", json={**TABLE, "epsilon": "0.01"})
        assert answer.status_code == 422
        assert "epsilon" in answer.json()["detail"]
        assert ana.post(f"{path}:check?ladder=true", json={**TABLE, "epsilon": "0.01"}).is_success


def test_two_hosts_are_refused(served: Served) -> None:
    """As RFC 9112 has it."""
    where = urlsplit(served.url)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(
            b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
