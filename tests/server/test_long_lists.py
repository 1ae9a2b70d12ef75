"""Lists that grow over the years come a part at a time, and the parts are the whole list."""

from __future__ import annotations

import re
from itertools import pairwise

import httpx
import pytest

from discreet.client.remote_custody import RemoteCustody
from discreet.server.routes import parts
from discreet.web import keeping_routes

from .serving import Served


def test_saved_tables_come_in_parts(served: Served) -> None:
    recipe = {"rows": ["sex"]}
    with served.client("ana") as client:
        for _ in range(5):
            body = {"dataset": "deaths", "recipe": recipe, "title": "Long list"}
            client.post("/saved", json=body).raise_for_status()
        whole = client.get("/saved").json()
        assert whole["next"] is None
        joined, offset, sizes = [], 0, []
        while offset is not None:
            part = client.get("/saved", params={"most": 2, "offset": offset}).json()
            joined += part["saved"]
            sizes.append(len(part["saved"]))
            offset = part["next"]
    assert joined == whole["saved"]
    assert set(sizes[:-1]) == {2}
    assert all(one["created"] >= two["created"] for one, two in pairwise(joined))


def test_pages_of_lists_come_in_parts(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Following Older from the first page shows each saved table once, and then there is no more."""
    monkeypatch.setattr(keeping_routes, "A_PAGE", 2)
    with served.client("ana") as client:
        for number in range(5):
            body = {"dataset": "deaths", "recipe": {"rows": ["sex"]}, "title": f"Page {number}"}
            client.post("/saved", json=body).raise_for_status()
        ids = [one["id"] for one in client.get("/saved").json()["saved"]]
    headers = {"Authorization": f"Bearer {served.tokens['ana']}"}
    seen: list[str] = []
    address: str | None = "/saved"
    while address is not None:
        page = httpx.get(served.url + address, headers=headers).text
        seen += re.findall(r'<a href="/saved/(\w+)">', page)
        assert ("Newest" in page) == ("offset" in address)
        older = re.search(r'rel="next" href="(\?offset=\d+)"', page)
        address = f"/saved{older[1]}" if older else None
    assert seen == ids
    beyond = httpx.get(f"{served.url}/saved?offset=1000000", headers=headers)
    assert beyond.status_code == 200
    assert "Nothing is saved yet" not in beyond.text
    assert httpx.get(f"{served.url}/releases?offset=x", headers=headers).status_code in {400, 422}


@pytest.mark.parametrize("asked", ["most=0", "most=1001", "offset=-1", "most=x"])
@pytest.mark.parametrize("path", ["/saved", "/releases"])
def test_a_part_that_cannot_be_is_refused(served: Served, path: str, asked: str) -> None:
    with served.client() as client:
        assert client.get(f"{path}?{asked}").status_code == 422
        assert client.get(f"{path}?offset=900000000").json()["next"] is None


def test_nobody_reads_all_at_once(served: Served) -> None:
    """What is asked without a number is bounded too."""
    assert parts.part_of(range(10**6), 0, parts.MOST)[1] == parts.MOST


def test_the_client_puts_releases_together() -> None:
    class Connection:
        def json(self, method: str, path: str, query: dict[str, int]) -> dict[str, object]:
            listed, onward = parts.part_of([{"id": i} for i in range(5)], query["offset"], 2)
            return {"releases": listed, "next": onward}

    custody = RemoteCustody.__new__(RemoteCustody)
    custody._connection = Connection()  # type: ignore[assignment]
    assert [one["id"] for one in custody.releases] == [0, 1, 2, 3, 4]
