"""An embargo begins before the charge and holds for everybody but custodians."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.server import Settings, create_app
from discreet.workspace import DataSet

from ..attacks.people import make as made_people
from ..patience import PATIENCE, wait_until
from .reading import shows_numbers
from .serving import Processes, Served, add_accounts, serving, serving_app

LATE = "2999-01-01T00:00:00+00:00"
PATH = "/datasets/deaths-dp/tables"
SEXES = {"a": {"sex": "F"}, "b": {"sex": "M"}}
OTHERS = (None, "ana", "odo")


@pytest.fixture
def embargoed(demo: Path, tmp_path: Path) -> Iterator[Served]:
    """Both data sets public; ana has no budget of her own to ask first with."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    _nothing_for(workspace, "ana")
    settings = Settings(public=("*",), calls_per_minute=10**6)
    with serving(workspace, settings) as url:
        yield Served(url, workspace, tokens)


def _nothing_for(workspace: Path, user: str) -> None:
    from discreet.core.loss import PureLoss

    with DataSet.open(workspace / "deaths-dp") as data:
        data.ledger().set_subcap(f"user:{user}", PureLoss("1/1000000000"), who="cas", reason="none")


def recipe(number: int) -> dict[str, Any]:
    """Questions of their own."""
    return {"rows": ["sex"], "columns": ["region"], "epsilon": f"0.0{number + 100}"}


def release(recipe: dict[str, Any], dataset: str = "deaths-dp", **more: Any) -> dict[str, Any]:
    return {"dataset": dataset, "recipe": recipe, "title": "Later", "publish_at": LATE, **more}


def reads(client: httpx.Client, asked: dict[str, Any]) -> list[int]:
    """Every way to the numbers of a question: asked, derived, in a format, compared, on a page."""
    query = {**asked, "rows": asked["rows"][0], "columns": asked["columns"][0]}
    root = str(client.base_url).removesuffix("/api/v1/")
    address = f"{root}/build/deaths-dp"
    page = client.get(address, params=query)
    shown = page.status_code if shows_numbers(page.text) else 403
    return [
        client.get(PATH, params=query).status_code,
        client.get(PATH, params={**query, "format": "csv"}).status_code,
        client.get(PATH, params={**query, "free": "true"}).status_code,
        client.post(PATH, json={**asked, "negatives": "clip"}).status_code,
        client.get(PATH, params={"rows": "region", "free": "true"}).status_code,
        client.post(f"{PATH}:difference", json={"recipe": asked, **SEXES}).status_code,
        shown,
    ]


class Pollers:
    """Anonymous, an analyst and an auditor, who try all the time."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self.served = Served(url, Path(), tokens)
        self.asked: dict[str, Any] = recipe(0)
        self.ended = threading.Event()
        self.early: list[tuple[str | None, int]] = []
        self.tries = 0
        self.threads = [threading.Thread(target=self._run, args=(who,)) for who in OTHERS]

    def __enter__(self) -> Pollers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def _run(self, who: str | None) -> None:
        with self.served.client(who) as client:
            while not self.ended.is_set():
                with contextlib.suppress(httpx.HTTPError):
                    statuses = reads(client, self.asked)
                    self.tries += 1
                    self.early += [(who, status) for status in statuses if status == 200]


@pytest.mark.slow
def test_nobody_reads_while_a_release_is_made(embargoed: Served) -> None:
    """Anonymous, analyst and auditor poll every way from before the release until after it."""
    with (
        Pollers(embargoed.url, embargoed.tokens) as pollers,
        embargoed.client("cas") as cas,
    ):
        for number in range(3):
            pollers.asked = recipe(number)
            seen = pollers.tries
            made = cas.post("/releases", json=release(pollers.asked))
            assert (made.status_code, made.json()["state"]) == (201, "approved")
            wait_until(lambda seen=seen: pollers.tries > seen + 3, "the pollers to try again")  # type: ignore[misc]
        assert pollers.early == []
        assert cas.post(PATH, json=recipe(0)).status_code == 200


@pytest.mark.slow
def test_two_successors_are_decided_before_either_is_charged(embargoed: Served) -> None:
    """Of two posted at once one is made; the other is refused, and nothing was charged for it."""
    with embargoed.client("cas") as cas, embargoed.client("odo") as odo:
        first = cas.post("/releases", json=release(recipe(0), publish_at=None)).json()["id"]
        entries = odo.get("/datasets/deaths-dp/ledger").json()["entry_count"]

        def post(number: int) -> int:
            with embargoed.client("dora" if number % 2 else "cas") as client:
                body = release(recipe(number), supersedes=first)
                return client.post("/releases", json=body).status_code

        with ThreadPoolExecutor(4) as pool:
            codes = sorted(pool.map(post, range(1, 5)))
        assert codes == [201, 400, 400, 400]
        assert odo.get("/datasets/deaths-dp/ledger").json()["entry_count"] == entries + 1


@pytest.mark.slow
def test_a_release_that_failed_after_its_charge_goes_on_withholding(
    embargoed: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a custodian withdraws it; one whose charge was refused holds nothing."""
    from discreet.server import publishing

    def fails(*_: object) -> dict[str, str]:
        raise OSError("no room")

    soon = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    with embargoed.client("cas") as cas, monkeypatch.context() as patched:
        patched.setattr(publishing, "_publish", fails)
        assert cas.post("/releases", json=release(recipe(0), publish_at=soon)).status_code == 500
        (failed,) = cas.get("/releases").json()["releases"]
        assert failed["state"] == "making"
        assert cas.get(f"/releases/{failed['id']}/tables").status_code == 409
        for who in OTHERS:
            with embargoed.client(who) as other:
                assert 200 not in reads(other, recipe(0))
                assert other.get(f"/releases/{failed['id']}").status_code in (403, 404)
        withdrawn = cas.post(f"/releases/{failed['id']}/withdraw", json={"reason": "failed"})
        assert withdrawn.json()["state"] == "withdrawn"
        with embargoed.client() as public:
            assert public.post(PATH, json=recipe(0)).status_code == 200
        much = {**recipe(1), "epsilon": "50"}
        assert cas.post("/releases", json=release(much)).status_code == 403
        assert len(cas.get("/releases").json()["releases"]) == 1


@pytest.mark.slow
def test_withdrawing_before_its_time_publishes_nothing(embargoed: Served) -> None:
    """What was charged under an embargo stays back until the time that was named."""
    with embargoed.client("cas") as cas:
        made = cas.post("/releases", json=release(recipe(0))).json()
        assert cas.post(f"/releases/{made['id']}/withdraw", json={"reason": "no"}).is_success
        for who in OTHERS:
            with embargoed.client(who) as other:
                assert 200 not in reads(other, recipe(0))


@pytest.mark.slow
def test_for_cell_keys_it_holds_the_version_of_the_data(embargoed: Served) -> None:
    """Other tables of the same people show the same numbers, so none is given before the time."""
    asked = {"rows": ["region"]}
    known = {"rows": ["sex"], "columns": ["month"]}
    path = "/datasets/deaths/tables"
    with embargoed.client("cas") as cas, embargoed.client() as public:
        before = public.post(path, json=known)
        later = cas.post(path, json=known, headers={"Prefer": "respond-async"}).json()["id"]
        assert before.status_code == 200
        publish_at = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
        body = release(asked, "deaths", publish_at=publish_at)
        made = cas.post("/releases", json=body)
        assert made.json()["state"] == "approved"
        wait_until(lambda: cas.get(f"/jobs/{later}").json()["state"] == "done", "the job")
        for who in (None, "ana"):
            with embargoed.client(who) as other:
                for question in (asked, known, {"rows": ["region"], "columns": ["sex"]}):
                    answer = other.post(path, json=question)
                    tag = other.post(path, json=question, headers={"If-None-Match": "x"})
                    assert {answer.status_code, tag.status_code} <= {403}
                    assert answer.json()["rule"] == "embargo"
        tagged = {"If-None-Match": before.headers["etag"]}
        assert public.get(f"{path}?rows=sex&columns=month", headers=tagged).status_code == 403
        assert cas.post(path, json=known).status_code == 200
        wait_until(lambda: public.post(path, json=known).status_code == 200, "publication")
        assert public.get(f"/releases/{made.json()['id']}").json()["state"] == "published"


def test_for_exact_counts_it_holds_the_version_too(tmp_path: Path) -> None:
    """Totals of another table are the same exact counts: none is given before the time."""
    workspace = tmp_path / "office"
    made_people(workspace, "classic")
    (workspace / "people.csv").rename(tmp_path / "people.csv")
    tokens = add_accounts(workspace)
    path = "/datasets/people/tables"
    with serving(workspace) as url:
        served = Served(url, workspace, tokens)
        with served.client("cas") as cas, served.client("ana") as ana:
            known = {"rows": ["job"]}
            assert ana.post(path, json=known).status_code == 200
            made = cas.post("/releases", json=release({"rows": ["area"]}, "people"))
            assert made.json()["state"] == "approved"
            for asked in ({"rows": ["area"]}, {"rows": ["area"], "columns": ["sex"]}, known):
                answer = ana.post(path, json=asked)
                assert (answer.status_code, answer.json().get("rule")) == (403, "embargo"), asked
            assert cas.post(path, json=known).status_code == 200
            identity = made.json()["id"]
            cas.post(f"/releases/{identity}/withdraw", json={"reason": "wrong"})
            assert ana.post(path, json={"rows": ["area"]}).json().get("rule") == "embargo"
            assert ana.post(path, json=known).status_code == 200


def raced_and_killed(workspace: Path, tokens: dict[str, str], count: int) -> int:
    """Embargoed releases whose workers are killed at random moments; how many were charged."""
    server = Processes(workspace, 2, "--public", "*")
    dice = random.Random(count)
    try:
        server.wait()
        with Pollers(server.url, tokens) as pollers:
            for number in range(count):
                pollers.asked = asked = {**recipe(0), "epsilon": f"0.00{number + 1000}"}
                poster = threading.Thread(target=_post, args=(server.url, tokens, asked))
                poster.start()
                time.sleep(dice.uniform(0, 0.5))
                for child in server.children()[-2:]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                poster.join()
                seen = pollers.tries
                wait_until(lambda seen=seen: pollers.tries > seen + 1, "the pollers")  # type: ignore[misc]
        assert pollers.early == []
    finally:
        server.close()
    with DataSet.open(workspace / "deaths-dp") as data:
        return sum(entry.kind == "charge" for entry in data.ledger().entries())


def _post(url: str, tokens: dict[str, str], asked: dict[str, Any]) -> None:
    with (
        Served(url, Path(), tokens).client("cas") as cas,
        contextlib.suppress(httpx.HTTPError),
    ):
        cas.post("/releases", json=release(asked), timeout=PATIENCE)


@pytest.mark.slow
def test_killed_releases_are_not_read(demo: Path, tmp_path: Path) -> None:
    """The reduced count of the proof below."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    _nothing_for(workspace, "ana")
    raced_and_killed(workspace, tokens, 3)


@pytest.mark.proof
def test_two_hundred_killed_releases_are_not_read(
    demo: Path, tmp_path: Path, record_property: Any
) -> None:
    """Of 200 embargoed releases killed at random moments nobody but custodians reads a number."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    _nothing_for(workspace, "ana")
    charged = raced_and_killed(workspace, tokens, 200)
    record_property("charged", charged)
    assert charged > 20


@pytest.mark.parametrize("hours", [-2, 2])
def test_an_embargo_ends_by_the_clock_that_hosts_share(
    demo: Path, tmp_path: Path, hours: int
) -> None:
    """A host whose own clock is wrong shows nothing early, and hides nothing that is public."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    app = create_app(workspace, Settings(public=("*",), calls_per_minute=10**6))
    database = app.state.service.database

    def shared() -> float:
        return time.time() + hours * 3600

    for room in (database, app.state.service.catalogue):
        room.clock = shared
    later = datetime.fromtimestamp(shared() + 3600, UTC).isoformat()
    with serving_app(app) as url:
        served = Served(url, workspace, tokens)
        with served.client("cas") as cas, served.client() as anybody:
            for publish_at, state in ((later, "approved"), (None, "published")):
                asked = {"rows": ["sex"], "epsilon": "0.01" if publish_at else "0.02"}
                body = release(asked, publish_at=publish_at)
                made = cas.post("/releases", json=body).json()
                assert (made["state"], made["public"]) == (state, publish_at is None)
                assert abs(made["created"] - shared()) < PATIENCE
                for path in ("", "/tables"):
                    seen = anybody.get(f"/releases/{made['id']}{path}").status_code
                    assert seen == (404 if publish_at else 200)
