"""What somebody who did not write the server tried, and what must not come back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from .serving import PASSWORD, Served


@pytest.fixture
def session(served: Served) -> Iterator[httpx.Client]:
    """A browser that ana has logged in with."""
    with served.client() as client:
        answer = client.post("/session", json={"name": "ana", "password": PASSWORD})
        assert answer.status_code == 200
        yield client


def spent(served: Served) -> str:
    with served.client("ana") as client:
        return str(client.get("/datasets/deaths-dp/budget").json()["standings"][0]["spent"])


@pytest.mark.parametrize("came_from", [None, "cross-site", "same-site", "none"])
def test_a_link_followed_with_a_session_spends_nothing(
    served: Served, session: httpx.Client, came_from: str | None
) -> None:
    """A page elsewhere that sends a browser here cannot spend its owner's budget."""
    before = spent(served)
    headers = {"Sec-Fetch-Site": came_from} if came_from else {}
    asked = {"rows": "sex", "epsilon": "0.4"}
    answer = session.get("/datasets/deaths-dp/tables", params=asked, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:discreet:csrf"
    assert spent(served) == before


def test_our_own_page_a_token_and_an_answered_question_are_let_through(
    served: Served, session: httpx.Client
) -> None:
    """What no other site can forge may spend; what was answered before may be read by any link."""
    asked = {"rows": "sex", "epsilon": "0.03"}
    own = session.get(
        "/datasets/deaths-dp/tables", params=asked, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert own.headers["Discreet-Charged"] == "yes"
    linked = session.get("/datasets/deaths-dp/tables", params=asked)
    assert (linked.status_code, linked.headers["Discreet-Charged"]) == (200, "no")
    free = session.get("/datasets/deaths/tables", params={"rows": "sex"})
    assert free.status_code == 200
    with served.client("ana") as client:
        token = client.get("/datasets/deaths-dp/tables", params={**asked, "epsilon": "0.031"})
    assert token.headers["Discreet-Charged"] == "yes"


@pytest.mark.slow
def test_one_of_many_who_ask_the_same_at_once_is_told_that_it_was_charged(served: Served) -> None:
    """The ledger has one charge, one answer says so, and all numbers are the same."""

    def ask(number: int) -> tuple[str, str]:
        with served.client("ana" if number % 2 else "ben") as client:
            body = {"rows": ["marital"], "epsilon": "0.0131"}
            answer = client.post("/datasets/deaths-dp/tables", json=body)
        return answer.headers["Discreet-Charged"], str(answer.json()["value"])

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(24)))
    assert [said for said, _ in answers].count("yes") == 1
    assert len({numbers for _, numbers in answers}) == 1
