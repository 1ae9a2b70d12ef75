"""`tables:infer` and `tables:difference`: the answers of the table, to whoever may have the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.release import Asked
from discreet.server.asking import Asking

from .serving import Served

RECIPE = {"rows": ["region"], "columns": ["sex"]}


@pytest.mark.slow
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


def test_answers_and_refusals_in_the_readers_language(served: Served) -> None:
    """By Accept-Language or by the recipe's own language; the numbers are the same."""
    a, b = {"region": "E12000001", "sex": "F"}, {"region": "E12000001", "sex": "M"}
    body = {"recipe": RECIPE, "a": a, "b": b}
    german = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.5"}
    with served.client("ana") as client:
        plain = client.post("/datasets/deaths/tables:difference", json=body).json()
        said = client.post("/datasets/deaths/tables:difference", json=body, headers=german)
        assert said.json()["numbers"]["p_same_count"] == plain["numbers"]["p_same_count"]
        assert " und " in said.json()["sentence"]
        assert " and " not in said.json()["sentence"]
        asked = {"recipe": RECIPE, "question": "independence"}
        tested = client.post("/datasets/deaths/tables:infer", json=asked, headers=german).json()
        assert "Score-Test, der das Rauschen kennt" in tested["sentence"]
        assert not any(" the " in words for words in tested["caveats"])
        wrong = {"recipe": RECIPE, "question": "truth"}
        refused = client.post("/datasets/deaths/tables:infer", json=wrong, headers=german)
        assert refused.status_code == 400
        assert refused.json()["detail"].startswith("Es gibt keine Frage 'truth'")


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


@pytest.mark.slow
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


def test_a_test_ends_with_the_time_of_its_request(served: Served) -> None:
    """A test that takes too long gets a sentence, what to do instead, and holds nobody up."""
    recipe = {"rows": ["marital"], "columns": ["sex"]}
    asked = {"recipe": recipe, "question": "independence"}
    ended = Control(cancelled=lambda: True)
    with served.client("ana") as client, pytest.MonkeyPatch.context() as patch:
        assert client.post("/datasets/deaths/tables:infer", json=asked).status_code == 200
        patch.setattr(Asking, "deadline", lambda asking: ended)
        said = client.post("/datasets/deaths/tables:infer", json=asked)
        assert said.status_code == 503
        assert said.json()["detail"].startswith("This test takes longer than one request may.")
        assert "`discreet infer`" in said.json()["detail"]
        few = {"cell": {"marital": "_T", "sex": "F"}}
        asked = {"recipe": recipe, "question": "interval", "arguments": few}
        assert client.post("/datasets/deaths/tables:infer", json=asked).status_code == 200


def test_conclusions_from_one_table_make_it_once(served: Served) -> None:
    """Asked again, in another language too, the table comes from memory and the answer is the same."""
    made: list[str] = []
    release = Asked.release

    def counted(asked: Asked, **more: Any) -> Any:
        made.append(asked.plan.question_hash)
        return release(asked, **more)

    a, b = {"sex": "F"}, {"sex": "M"}
    body = {"recipe": {"rows": ["sex"], "columns": ["marital"]}, "a": a, "b": b}
    with pytest.MonkeyPatch.context() as patch, served.client("ana") as client:
        patch.setattr(Asked, "release", counted)
        told = [client.post("/datasets/deaths/tables:difference", json=body) for _ in range(3)]
        german = {"Accept-Language": "de"}
        other = client.post("/datasets/deaths/tables:difference", json=body, headers=german)
    assert [one.status_code for one in (*told, other)] == [200] * 4
    assert len({one.text for one in told}) == 1
    assert other.json()["numbers"] == told[0].json()["numbers"]
    assert len(made) == 1
