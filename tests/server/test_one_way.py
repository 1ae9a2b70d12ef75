"""The short way and the whole way answer alike."""

from __future__ import annotations

import pytest

from .serving import Served

ORDINARY = {"rows": ["month"], "columns": ["sex"], "where": {"cause": ["V01-Y98"]}}
"""A question the short way takes."""

TO_BOTH = {
    "a table": (ORDINARY, 200),
    "an error of the flow": ({"rows": ["nothing of the kind"]}, 400),
    "a refusal": ({"rows": ["ccg", "age", "cause", "month", "sex"]}, 403),
}


@pytest.mark.parametrize(("body", "status"), TO_BOTH.values(), ids=TO_BOTH.keys())
@pytest.mark.parametrize("who", [None, "ana"])
def test_both_ways_answer_alike(
    served: Served, who: str | None, body: dict[str, object], status: int
) -> None:
    """A language that is not there changes nothing but the way a request goes."""
    with served.client(who) as client:
        answers = [
            client.post("/datasets/deaths/tables", json=body, params=params)
            for params in ({}, {"language": ""})
        ]
    short, whole = answers
    assert short.status_code == whole.status_code == status
    assert short.content == whole.content
    names = [name for name in short.headers if not name.startswith(("ratelimit", "date", "x-req"))]
    assert {name: short.headers[name] for name in names} == {
        name: whole.headers[name] for name in names
    }


def test_what_is_unusual_is_refused_as_ever(served: Served) -> None:
    """Roles, scopes, unknown data sets, media types and forms: the whole way says it."""
    path = "/datasets/deaths/tables"
    with served.client("odo") as auditor:
        assert auditor.post(path, json=ORDINARY).status_code == 403
    with served.client("ana") as client:
        assert client.post("/datasets/none/tables", json=ORDINARY).status_code == 404
        assert client.post(path, json={"rows": 5}).status_code == 422
        assert client.post(path, content=b"{").status_code == 415
        assert client.post(path, json=ORDINARY, params={"format": "docx"}).status_code == 406
        csv = client.post(path, json=ORDINARY, params={"format": "csv"})
        assert csv.headers["content-type"].startswith("text/csv")
    with served.client() as nobody:
        assert nobody.post("/datasets/deaths-dp/tables", json=ORDINARY).status_code == 401


def test_every_way_is_in_the_audit_log(served: Served) -> None:
    """With who asked, which data set, and under one name of the route."""
    with served.client("ben") as client:
        for params in ({}, {"language": ""}, {}):
            body = {**ORDINARY, "columns": []}
            assert client.post("/datasets/deaths/tables", json=body, params=params).is_success
    with served.client("odo") as auditor:
        rows = auditor.get("/audit", params={"user": "ben"}).json()["rows"]
    asked = [(row["route"], row["dataset"], row["status"]) for row in rows]
    assert len(asked) == 3
    assert len(set(asked)) == 1
