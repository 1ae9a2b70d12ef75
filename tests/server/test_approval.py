"""A release is ready, approved, published, superseded or withdrawn; one state, by every surface."""

from __future__ import annotations

import html
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from discreet.file_names import ACCOUNTS
from discreet.server import Settings, publishing
from discreet.store.published import NO_TIME, Published, Releases
from discreet.store.workspace_database import WorkspaceDatabase

from .. import command
from .serving import Served, add_accounts, serving

RECIPE = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.5"}
DP = "/datasets/deaths-dp"


def workspace_of(demo: Path, folder: Path, *, two: bool = False) -> Path:
    workspace = folder / "demo"
    shutil.copytree(demo, workspace)
    if two:
        with (workspace / "deaths-dp" / "discreet.yaml").open("a", encoding="utf-8") as stream:
            stream.write("approval: two\n")
    return workspace


@pytest.fixture(params=[False, True], ids=["one", "two"])
def office(
    demo: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Served, bool]]:
    """A server whose data set needs one or two custodians for a release."""
    workspace = workspace_of(demo, tmp_path, two=request.param)
    tokens = add_accounts(workspace, passwords=("cas", "dora"))
    with serving(workspace, Settings(public=("*",), calls_per_minute=10**6)) as url:
        yield Served(url, workspace, tokens), request.param


def draft(title: str = "Regions", **more: Any) -> dict[str, Any]:
    return {"dataset": "deaths-dp", "recipe": RECIPE, "title": title, "draft": True, **more}


def test_nothing_is_public_before_it_is_approved_and_published(office: tuple[Served, bool]):
    """Made, refused to oneself where two are needed, approved by another, published, withdrawn."""
    served, two = office
    with served.client("cas") as cas, served.client("dora") as dora, served.client() as public:
        made = cas.post("/releases", json=draft()).json()
        path = f"/releases/{made['id']}"
        assert (made["state"], made["publish_at"], made["approved"]) == ("ready", None, None)
        assert cas.post(f"{path}/publish", json={}).status_code == 409
        own = cas.post(f"{path}/approve", json={"reason": "it is mine"})
        assert own.status_code == (403 if two else 200)
        if two:
            assert own.json()["detail"].startswith("Another custodian must approve this release")
            done = dora.post(f"{path}/approve", json={"reason": "compared with 2025"})
            assert done.json()["approved"]["by"] == "dora"
        assert public.get(path).status_code == 404
        assert public.post(f"{DP}/tables", json=RECIPE).status_code in (401, 403)
        assert cas.get(path).json()["state"] == "approved"
        assert dora.post(f"{path}/approve", json={"reason": "again"}).status_code == 409
        later = dora.post(f"{path}/publish", json={"publish_at": "2999-01-01T00:00:00+00:00"})
        assert later.json()["state"] == "approved"
        assert dora.post(f"{path}/publish", json={}).json()["state"] == "published"
        assert dora.post(f"{path}/publish", json={}).status_code == 409
        seen = public.get(path).json()
        assert seen["state"] == "published"
        assert seen["approved"]["reason"] == ("compared with 2025" if two else "it is mine")
        assert public.get(f"{path}/tables").status_code == 200
        assert cas.post(f"{path}/withdraw", json={"reason": "wrong codes"}).is_success
        gone = public.get(f"{path}/tables")
        assert gone.status_code == 410
        assert "wrong codes" in gone.json()["detail"]
        assert public.get(path).json()["withdrawn"]["reason"] == "wrong codes"


def test_where_two_are_needed_posting_publishes_nothing(office: tuple[Served, bool]):
    """A release that is posted to be published waits for the other custodian, who then publishes it."""
    served, two = office
    body = draft() | {"draft": False}
    with served.client("cas") as cas, served.client("dora") as dora, served.client() as public:
        made = cas.post("/releases", json=body).json()
        assert made["state"] == ("ready" if two else "published")
        assert public.get(f"/releases/{made['id']}").status_code == (404 if two else 200)
        if two:
            dora.post(f"/releases/{made['id']}/approve", json={"reason": "seen"})
            assert public.get(f"/releases/{made['id']}").json()["state"] == "published"


def test_a_draft_that_nobody_approved_stays_back_when_it_is_withdrawn(office: tuple[Served, bool]):
    """Withdrawing publishes nothing; another release of the same question, approved, does."""
    served, two = office
    with served.client("cas") as cas, served.client("dora") as dora, served.client() as public:
        made = cas.post("/releases", json=draft()).json()
        cas.post(f"/releases/{made['id']}/withdraw", json={"reason": "not now"})
        assert public.post(f"{DP}/tables", json=RECIPE).status_code in (401, 403)
        again = cas.post("/releases", json=draft("Again")).json()
        assert public.post(f"{DP}/tables", json=RECIPE).status_code in (401, 403)
        dora.post(f"/releases/{again['id']}/approve", json={"reason": "now"})
        dora.post(f"/releases/{again['id']}/publish", json={})
        assert public.post(f"{DP}/tables", json=RECIPE).status_code == 200
        assert two in (True, False)


def test_a_time_is_one_that_can_be_shown(office: tuple[Served, bool]):
    """The year 1, and the end of all time, are refused; the list of releases goes on."""
    served, _ = office
    with served.client("cas") as cas:
        for at in ("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.5+00:00"):
            answer = cas.post("/releases", json=draft(publish_at=at))
            assert answer.status_code == 400
            assert "from 1970 to 9999" in answer.json()["detail"]
        assert cas.get("/releases").status_code == 200


def test_who_made_a_release_does_not_hasten_it_alone(office: tuple[Served, bool]):
    """Where two are needed the approved time is not moved forward by the maker."""
    served, two = office
    at = {"publish_at": "2999-01-01T00:00:00+00:00"}
    with served.client("cas") as cas, served.client("dora") as dora:
        path = f"/releases/{cas.post('/releases', json=draft()).json()['id']}"
        assert dora.post(f"{path}/approve", json={"reason": "compared", **at}).is_success
        assert cas.post(f"{path}/publish", json={}).status_code == (403 if two else 200)
        if two:
            assert dora.post(f"{path}/publish", json={}).json()["state"] == "published"


def test_a_time_that_was_approved_meanwhile_is_not_passed_over(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Who asks again and again until it is approved publishes nothing before the approved time."""
    workspace = workspace_of(demo, tmp_path, two=True)
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(calls_per_minute=10**6)) as url:
        served = Served(url, workspace, tokens)
        with served.client("cas") as cas, served.client("dora") as dora:
            path = f"/releases/{cas.post('/releases', json=draft()).json()['id']}"
            find, at = publishing.find, {"publish_at": "2999-01-01T00:00:00+00:00"}

            def slow(service: Any, asker: Any, identity: str) -> Published:
                found = find(service, asker, identity)
                if asker.name == "cas" and found.approved_at is None:
                    assert dora.post(f"{path}/approve", json={"reason": "yes", **at}).is_success
                return found

            monkeypatch.setattr(publishing, "find", slow)
            assert cas.post(f"{path}/publish", json={}).status_code == 409
            assert cas.get(path).json()["state"] == "approved"
            assert cas.get(path).json()["publish_at"] == at["publish_at"]


def test_a_time_that_is_chosen_later_holds_keyed_data_back(tmp_path: Path):
    """A draft of keyed data withholds nothing until it has a time to come; then its version."""
    releases = Releases(WorkspaceDatabase(tmp_path, clock=lambda: 100.0))
    for name, wished in (("a", 200.0), ("b", None)):
        one = Published(
            *(name, name, "", {}, f"q{name}", "", {}, "cas", 1.0, NO_TIME, None),
            holds="-version",
        )
        releases.reserve(one)
        releases.complete(name, {}, "")
        assert "version" not in releases.held(name)
        assert releases.approve(name, "dora", "yes", wished)
        assert ("version" in releases.held(name)) == (wished is not None)
    assert releases.publish(releases.all("b")[0], 300.0)
    assert "version" in releases.held("b")


def test_a_withdrawn_draft_without_a_time_is_freed_by_a_later_release(tmp_path: Path):
    """Approved or not: without a time it waits for another release of its question."""
    releases = Releases(WorkspaceDatabase(tmp_path, clock=lambda: 100.0))
    for name, time in (("a", NO_TIME), ("b", 50.0)):
        releases.reserve(
            Published(*(name, "d", "", {}, "q", "", {}, "cas", 1.0, time, None), holds="q")
        )
        releases.complete(name, {}, "")
        assert releases.approve(name, "dora", "yes", None)
        if name == "a":
            assert releases.withdraw("a", "cas", "wrong")
            assert releases.held("d") == {"q"}
    assert releases.held("d") == frozenset()


def test_a_draft_takes_nothing_away_that_was_read_before(office: tuple[Served, bool]):
    """Keyed tables, and questions answered before, are answered while a draft of them waits."""
    served, _ = office
    with served.client("cas") as cas, served.client("ana") as ana:
        assert ana.post(f"{DP}/tables", json=RECIPE).status_code == 200
        assert cas.post("/releases", json=draft()).status_code == 201
        assert ana.post(f"{DP}/tables", json=RECIPE).status_code == 200
        keyed = draft() | {"dataset": "deaths", "recipe": {"rows": ["sex"]}}
        assert cas.post("/releases", json=keyed).status_code == 201
        assert ana.post("/datasets/deaths/tables", json={"rows": ["sex"]}).status_code == 200


def test_pages_lead_from_a_recipe_to_a_withdrawn_release(office: tuple[Served, bool]):
    """The same states by forms; what is refused is said on the page, and nothing is made."""
    served, two = office
    pages = {
        name: httpx.Client(
            base_url=served.url, headers={"Authorization": f"Bearer {served.tokens[name]}"}
        )
        for name in ("cas", "dora")
    }
    cas, dora = pages.values()
    wrong = cas.post(
        "/custodian/deaths-dp/publish", data={"recipe": "rows=colour", "title": "No"}, timeout=300
    )
    assert wrong.status_code == 400
    assert "colour" in wrong.text
    address = "rows=region&columns=sex&epsilon=0.5"
    price = cas.get("/custodian/deaths-dp/publish", params={"recipe": address, "title": "R"})
    assert "Make it, for ε 0.5" in html.unescape(price.text)
    made = cas.post(
        "/custodian/deaths-dp/publish", data={"recipe": address, "title": "Regions"}, timeout=300
    )
    assert made.status_code == 303
    at = made.headers["location"]
    look = html.unescape(cas.get(at).text)
    assert "Regions" in look
    assert len(re.findall(r"<td", look)) > 30
    own = cas.post(f"{at}/approve", data={"reason": "mine"})
    assert own.status_code == (403 if two else 303)
    if two:
        assert "Another custodian must approve" in look
        assert dora.post(f"{at}/approve", data={"reason": " "}).status_code == 400
        assert dora.post(f"{at}/approve", data={"reason": "seen"}).status_code == 303
    late = {"day": "2999-01-31", "hour": "09:30"}
    assert dora.post(f"{at}/publish", data=late).status_code == 303
    assert "2999-01-31 09:30" in dora.get(at).text
    assert dora.post(f"{at}/publish", data={"day": "31.1.2999"}).status_code == 400
    assert dora.post(f"{at}/publish", data={"csrf": ""}).status_code == 303
    assert dora.post(f"{at}/withdraw", data={"reason": "wrong codes"}).status_code == 303
    gone = dora.get(at).text
    assert "wrong codes" in gone
    assert "<td" not in gone  # no page shows what the API answers with 410
    assert "<td" not in dora.get(f"{at}/withdraw").text
    assert dora.get(at.replace("deaths-dp", "deaths")).status_code == 404
    for client in pages.values():
        client.close()


def test_commands_go_the_same_way(demo: Path, tmp_path: Path):
    """Made, refused to its maker, approved, published and withdrawn by `discreet releases`."""
    workspace = workspace_of(demo, tmp_path, two=True)
    add_accounts(workspace)
    recipe = tmp_path / "tables.yaml"
    recipe.write_text("rows: region\ncolumns: sex\nepsilon: '0.5'\n")

    def run(*words: str, code: int = 0) -> Any:
        done = command.run("releases", *words, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else done.stdout + done.stderr

    place = str(workspace)
    made = run("make", place, "deaths-dp", str(recipe), "--title", "Regions", "--by", "cas")
    assert made["state"] == "ready"
    one = made["id"]
    refused = run("approve", place, one, "--by", "cas", "--reason", "mine", code=3)
    assert "Another custodian must approve" in refused
    assert "custodian's account" in run(
        "approve", place, one, "--by", "ana", "--reason", "x", code=2
    )
    run("approve", place, one, "--by", "dora", "--reason", "seen")
    assert run("publish", place, one, "--by", "dora")["state"] == "published"
    run("withdraw", place, one, "--by", "dora", "--reason", "wrong codes")
    (listed,) = run("list", place)["releases"]
    assert listed["withdrawn"]["reason"] == "wrong codes"


# -- the state machine, against a model -----------------------------------------------------


def release(number: int, at: float, *, approved: bool) -> Published:
    return Published(
        f"r{number}", "d", "t", {}, f"q{number}", "", {}, "cas", float(number), at, None,
        holds=f"q{number}", approved_at=1.0 if approved else None,
    )  # fmt: skip


class States(RuleBasedStateMachine):
    """Any order of calls: the state is the model's, and what is not public is held."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.now = 100.0
        self.folder = tempfile.TemporaryDirectory()
        self.database = WorkspaceDatabase(Path(self.folder.name), clock=lambda: self.now)
        self.releases = Releases(self.database)
        self.model: dict[str, dict[str, Any]] = {}

    @rule(at=st.sampled_from([50.0, 150.0, NO_TIME]), approved=st.booleans())
    def reserve(self, at: float, approved: bool) -> None:
        number = len(self.model)
        self.releases.reserve(release(number, at, approved=approved))
        self.model[f"r{number}"] = {
            "at": at,
            "ready": False,
            "approved": approved,
            "withdrawn": False,
        }

    def _state(self, one: dict[str, Any]) -> str:
        if one["withdrawn"]:
            return "withdrawn"
        if not one["ready"]:
            return "making"
        if not one["approved"]:
            return "ready"
        return "published" if one["at"] <= self.now else "approved"

    @rule(data=st.data(), step=st.sampled_from(["complete", "approve", "publish", "withdraw"]))
    def act(self, data: st.DataObject, step: str) -> None:
        if not self.model:
            return
        name = data.draw(st.sampled_from(sorted(self.model)))
        one, before = self.model[name], self._state(self.model[name])
        if step == "complete":
            if before == "making":
                self.releases.complete(name, {}, "")
                one["ready"] = True
        elif step == "approve":
            assert self.releases.approve(name, "dora", "why", None) == (before == "ready")
            one["approved"] = one["approved"] or before == "ready"
        elif step == "publish":
            seen = self.releases.all(name)[0]
            assert self.releases.publish(seen, self.now) == (before == "approved")
            one["at"] = self.now if before == "approved" else one["at"]
        else:
            assert self.releases.withdraw(name, "dora", "why") == (before != "withdrawn")
            one["withdrawn"] = True

    @rule()
    def time_goes_on(self) -> None:
        self.now += 60.0

    def teardown(self) -> None:
        if not hasattr(self, "releases"):
            return
        held = self.releases.held("d")
        for name, one in self.model.items():
            (stored,) = self.releases.all(name)
            assert self.releases.state(stored) == self._state(one)
            assert stored.public_at(self.now) == (
                one["ready"] and one["approved"] and one["at"] <= self.now
            )
            ever = one["approved"] and one["at"] <= self.now and (one["ready"] or one["withdrawn"])
            assert (f"q{name[1:]}" in held) == (not ever)
        self.database.close()
        self.folder.cleanup()


TestStates = States.TestCase
TestStates.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_releases_of_before_approval_read_on(tmp_path: Path):
    """A file whose releases have no columns of approval opens; its releases are as they were."""
    WorkspaceDatabase(tmp_path).close()
    with sqlite3.connect(tmp_path / ACCOUNTS) as connection:
        connection.execute("DROP INDEX releases_undecided")
        for column in ("approved_at", "approved_by", "approved_reason"):
            connection.execute(f"ALTER TABLE releases DROP COLUMN {column}")
        connection.execute(
            "INSERT INTO releases VALUES ('old', 'd', 't', '{}', 'q', '', '{}', 'cas', 1, 1, NULL, "
            "NULL, NULL, NULL, 'q', 2)"
        )
    database = WorkspaceDatabase(tmp_path)
    releases = Releases(database)
    (old,) = releases.all()
    assert releases.state(old) == "published"
    assert releases.held("d") == frozenset()
    database.close()
