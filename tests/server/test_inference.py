"""`tables:infer` and `tables:difference`: the answers of the table, to whoever may have the table."""

from __future__ import annotations

from pathlib import Path

import discreet as dc

from .serving import Served

RECIPE = {"rows": ["region"], "columns": ["sex"]}


def test_the_server_says_what_the_table_says(served: Served) -> None:
    """The same sentence, numbers and caveats over HTTP, by the client and from the table itself."""
    a, b = {"region": "E12000001", "sex": "F"}, {"region": "E12000001", "sex": "M"}
    with served.client("ana") as client:
        said = client.post(
            "/datasets/deaths/tables:difference", json={"recipe": RECIPE, "a": a, "b": b}
        )
        assert said.status_code == 200
        asked = {"recipe": RECIPE, "question": "ranking", "arguments": {"axis": "region"}}
        ranked = client.post("/datasets/deaths/tables:infer", json=asked)
        assert ranked.status_code == 200
    with dc.connect(served.url, served.tokens["ana"]) as server:
        table = server.open("deaths").table(rows=["region"], columns=["sex"]).release()
        assert said.json() == table.difference(a, b).to_json()
        assert ranked.json() == table.ranking("region").to_json()
        assert table.independence_test().p > 0


def test_bad_questions_get_a_sentence(served: Served) -> None:
    """Unknown questions, cells that are not there, and cells in common: 400 with words."""
    with served.client("ana") as client:
        for body in (
            {"recipe": RECIPE, "question": "truth"},
            {"recipe": RECIPE, "question": "interval", "arguments": {"cell": {"region": "none"}}},
            {"recipe": RECIPE, "question": "interval", "arguments": {"cell": 5}},
            {"recipe": RECIPE, "question": "independence", "table": 2},
        ):
            said = client.post("/datasets/deaths/tables:infer", json=body)
            assert said.status_code == 400
            assert said.json()["detail"].endswith(".")
        same = {"recipe": RECIPE, "a": {"sex": "F"}, "b": {"sex": "F"}}
        assert client.post("/datasets/deaths/tables:difference", json=same).status_code == 400


def test_nothing_is_charged_twice(served: Served, demo: Path) -> None:
    """A table that was charged is concluded from at no further cost."""
    recipe = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.125"}
    with served.client("ana") as client:
        assert client.post("/datasets/deaths-dp/tables", json=recipe).status_code == 200
        before = client.get("/datasets/deaths-dp/budget").json()
        asked = {"recipe": recipe, "question": "independence"}
        said = client.post("/datasets/deaths-dp/tables:infer", json=asked)
        assert said.status_code == 200
        assert "p" in said.json()["numbers"]
        assert client.get("/datasets/deaths-dp/budget").json() == before
