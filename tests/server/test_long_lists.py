"""Lists that grow over the years come a part at a time, and the parts are the whole list."""

from __future__ import annotations

from itertools import pairwise

import pytest

from discreet.client.remote_custody import RemoteCustody
from discreet.server.routes import parts

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
