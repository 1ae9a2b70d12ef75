"""There is one way to a table: however it is asked, and however often, it is answered alike."""

from __future__ import annotations

import re

import pytest

from .serving import Served

ORDINARY = {"rows": ["month"], "columns": ["sex"], "where": {"cause": ["V01-Y98"]}}

QUESTIONS = {
    "a table": (ORDINARY, 200),
    "an error of the flow": ({"rows": ["nothing of the kind"]}, 400),
    "a refusal": ({"rows": ["ccg", "age", "cause", "month", "sex"]}, 403),
}


@pytest.mark.parametrize(("body", "status"), QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("who", [None, "ana"])
def test_other_bytes_for_a_question_are_answered_alike(
    served: Served, who: str | None, body: dict[str, object], status: int
) -> None:
    """An empty wish for a language changes the bytes of a request and nothing of its answer."""
    with served.client(who) as client:
        answers = [
            client.post("/datasets/deaths/tables", json=body, params=params)
            for params in ({}, {"language": ""})
        ]
    plain, wishing = answers
    assert plain.status_code == wishing.status_code == status
    assert plain.content == wishing.content
    names = [name for name in plain.headers if not name.startswith(("ratelimit", "date", "x-req"))]
    assert {name: plain.headers[name] for name in names} == {
        name: wishing.headers[name] for name in names
    }


def test_what_is_unusual_is_refused_as_ever(served: Served) -> None:
    """Roles, scopes, unknown data sets, media types and forms, after the same was answered too."""
    path = "/datasets/deaths/tables"
    with served.client("ana") as client:
        assert client.post(path, json=ORDINARY).status_code == 200
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


def test_every_answer_is_in_the_audit_log(served: Served) -> None:
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


def test_files_of_the_pages_are_no_rows_of_the_audit_log(served: Served) -> None:
    """A style sheet is the same to everybody; a page, and a name that is no file, are rows."""
    with served.client("odo") as auditor:
        before = auditor.get("/audit", params={"most": 1}).json()["rows"]
        latest = max((row["number"] for row in before), default=0)
        page = auditor.get(f"{served.url}/data", headers={"Accept": "text/html"}).text
        files = re.findall(r'(?:href|src)="(/assets/[^"]*)"', page)
        for address in (*files, "/api/v1/docs/docs.css"):
            assert auditor.get(f"{served.url}{address}").is_success
        assert auditor.head(f"{served.url}{files[0]}").is_success
        assert auditor.get(f"{served.url}/assets/none.css").status_code == 404
        rows = auditor.get("/audit", params={"most": 100}).json()["rows"]
    new = [
        (row["route"], row["status"]) for row in rows if row["number"] > latest and "route" in row
    ]
    assert [one for one in new if one[0] == "/data"] == [("/data", 200)]
    files_noted = [one for one in new if one[0] in ("/assets/{name}", "/api/v1/docs/{name}")]
    assert files_noted == [("/assets/{name}", 404)]


def test_nothing_of_a_body_is_read_for_who_may_not_ask(served: Served) -> None:
    """The guard comes before media type, JSON and form: the answer is of the role alone."""
    path = "/datasets/deaths/tables"
    with served.client("odo") as auditor:
        for content in (b"{", b"[" * 100, b'{"rows": ["sex"]}'):
            for kind in ("application/json", "text/plain"):
                answer = auditor.post(path, content=content, headers={"Content-Type": kind})
                assert answer.status_code == 403
                assert "auditor" in answer.json()["detail"]
