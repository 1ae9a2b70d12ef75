"""Whoever decides a proposal sees every value it changes, as it is at that moment and as it would be."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from discreet.server import Settings

from .serving import Served, add_accounts, serving

POLICY = {
    "rules": {"max_variables": "2", "mandatory": ["sex"]},
    "methods": {"noise": {"epsilon_most": "0.5"}},
}


@pytest.fixture
def office(demo: Path, tmp_path: Path) -> Iterator[Served]:
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(calls_per_minute=10**6)) as url:
        yield Served(url, workspace, tokens)


def rules(office: Served) -> dict[str, str]:
    said = yaml.safe_load((office.workspace / "deaths-dp" / "discreet.yaml").read_text("utf-8"))
    return {key: str(value) for key, value in said["rules"].items()}


def propose(office: Served, **more: Any) -> dict[str, Any]:
    with office.client("dora") as dora:
        made = dora.post("/proposals", json={"dataset": "deaths-dp", "reason": "so", **more})
        assert made.status_code == 201, made.text
        return dict(made.json())


def page(office: Served, path: str, who: str = "cas", **form: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {office.tokens[who]}"}
    method = "POST" if form else "GET"
    return httpx.request(method, office.url + path, headers=headers, data=form or None, timeout=300)


def test_every_value_is_shown_where_it_is_decided(office: Served) -> None:
    """In the proposal, the list, what waits, the two pages; a value left out of it counts too."""
    now = rules(office)
    made = propose(office, policy=POLICY)
    wanted = {
        "rules.max_variables": (now["max_variables"], "2"),
        "rules.mandatory": (None, "sex"),
        "methods.noise.epsilon_most": (None, "0.5"),
    }
    assert now["max_cells"] != "2000000"  # which the proposal leaves out, so that the default holds
    wanted["rules.max_cells"] = (now["max_cells"], "2000000")
    with office.client("cas") as cas:
        waits = [one for one in cas.get("/decisions").json()["decisions"] if one["changes"]]
        (listed,) = cas.get("/proposals").json()["proposals"]
        one = cas.get(f"/proposals/{made['id']}").json()
    for found in (made, listed, one, *waits):
        assert {c["part"]: (c["now"], c["then"]) for c in found["changes"]} == wanted
        assert "before" not in str(found.get("change"))
    words = f"at most 2 variables in a table (now {now['max_variables']})"
    assert words in waits[0]["words"]
    assert words in html.unescape(page(office, "/custodian").text)
    seen = html.unescape(page(office, f"/custodian/proposals/{made['id']}").text)
    for text in ("at most 2 variables in a table", "every table has sex", "2,000,000 cells"):
        assert text in seen
    assert f"at most {now['max_variables']} variables in a table" in seen


def test_a_budget_is_shown_as_it_is_and_would_be(office: Served) -> None:
    """And once it is made, nothing is left to compare."""
    made = propose(office, epsilon="12")
    assert [(c["part"], c["now"], c["then"]) for c in made["changes"]] == [
        ("budget.epsilon", "10", "12")
    ]
    with office.client("cas") as cas:
        assert cas.post(f"/proposals/{made['id']}/accept").json()["changes"] == []


def test_what_changed_meanwhile_is_not_accepted_unseen(office: Served) -> None:
    """Another proposal was accepted since: the old page and the old ETag are refused, a new look is
    not; afterwards the proposal still says what it changed on the day it was made."""
    first = propose(office, policy=POLICY)
    second = propose(office, policy={"rules": {"max_variables": "3"}})
    with office.client("cas") as cas:
        read = cas.get(f"/proposals/{first['id']}")
        home = page(office, "/custodian").text
        assert cas.post(f"/proposals/{second['id']}/accept").json()["state"] == "accepted"
        old = {"If-Match": read.headers["etag"]}
        late = cas.post(f"/proposals/{first['id']}/accept", headers=old)
        assert (late.status_code, "no longer what you saw" in late.text) == (412, True)
        form = home.partition(f"{first['id']}/accept")[2]
        seen = form.partition('name="seen" value="')[2].partition('"')[0]
        assert seen == read.headers["etag"].strip('"')
        at = f"/custodian/proposals/{first['id']}/accept"
        assert page(office, at, seen=seen).status_code == 412
        assert rules(office) == {"max_variables": "3"}
        again = cas.get(f"/proposals/{first['id']}")
        assert ("3", "2") in [(c["now"], c["then"]) for c in again.json()["changes"]]
        new = {"If-Match": again.headers["etag"]}
        made = cas.post(f"/proposals/{first['id']}/accept", headers=new).json()
        assert made["state"] == "accepted"
        assert [c["part"] for c in made["changes"]] == [c["part"] for c in first["changes"]]


def test_what_it_takes_away_is_said_before_it_is_accepted(office: Served) -> None:
    """An answered table that the rules would refuse is named on the proposal's page."""
    asked = {"rows": ["region"], "columns": ["sex"], "layers": ["marital"], "epsilon": "0.25"}
    with office.client("ana") as ana:
        assert ana.post("/datasets/deaths-dp/tables", json=asked).status_code == 200
    made = propose(office, policy={"rules": {"max_variables": "2"}})
    seen = html.unescape(page(office, f"/custodian/proposals/{made['id']}").text)
    assert "1 answered question would be refused by these rules" in seen


def test_a_data_set_that_is_gone_hides_no_proposal(office: Served) -> None:
    """Its values cannot be compared any more; the list and the page are there as before."""
    made = propose(office, policy=POLICY)
    shutil.rmtree(office.workspace / "deaths-dp")
    with office.client("cas") as cas:
        assert [one["changes"] for one in cas.get("/proposals").json()["proposals"]] == [[]]
        assert cas.get("/decisions").status_code == 200
    for path in ("/custodian", f"/custodian/proposals/{made['id']}"):
        assert page(office, path).status_code == 200
