"""A job's budget cannot be gone when it runs, and does not stay held when it will not run."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from discreet.core.control import Control
from discreet.errors import LedgerDamaged, StoreError
from discreet.server import Settings, create_app, table_jobs
from discreet.server.worker import Worker
from discreet.store import Jobs

from .serving import Served, add_accounts, serving, serving_app

NOBODY_WORKS = Settings(calls_per_minute=10**6, job_threads=0)
WORKS = replace(NOBODY_WORKS, job_threads=1)
PATH = "/datasets/deaths-dp/tables"
LATER = {"Prefer": "respond-async"}
ALL = {"rows": ["sex"], "epsilon": "10"}
"""The demo's whole budget."""
LITTLE = {"rows": ["age"], "epsilon": "0.1"}

Serve = Callable[[Settings], AbstractContextManager[httpx.Client]]


@pytest.fixture
def workspace(demo: Path, tmp_path: Path) -> Path:
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path / "demo"


@pytest.fixture
def serve(workspace: Path) -> Serve:
    """Serve the same workspace, one process after another; the client is ana's."""
    tokens = add_accounts(workspace)

    @contextmanager
    def running(settings: Settings) -> Iterator[httpx.Client]:
        with (
            serving(workspace, settings) as url,
            Served(url, workspace, tokens).client("ana") as ana,
        ):
            yield ana

    return running


def left(client: httpx.Client) -> str:
    return str(client.get("/datasets/deaths-dp/budget").json()["standings"][0]["left"])


def ended(client: httpx.Client, job: str) -> dict[str, object]:
    """The job once it has ended, however long that takes."""
    while True:
        facts: dict[str, object] = client.get(f"/jobs/{job}").json()
        if facts["state"] not in ("waiting", "running"):
            return facts
        time.sleep(0.05)


def test_what_a_job_will_cost_is_not_there_for_others(serve: Serve) -> None:
    """From the moment it is asked for until it is cancelled; the same question is held once."""
    with serve(NOBODY_WORKS) as ana:
        assert left(ana) == "epsilon = 10"
        first, again = (ana.post(PATH, json=ALL, headers=LATER) for _ in range(2))
        assert (first.status_code, again.status_code) == (202, 202)
        refused = ana.post(PATH, json=LITTLE)
        assert (refused.status_code, refused.json()["rule"]) == (403, "budget")
        assert "held epsilon = 10" in refused.json()["detail"]
        later = ana.post(PATH, json=LITTLE, headers=LATER)
        assert (later.status_code, later.json()["rule"]) == (403, "budget")
        ana.delete(f"/jobs/{first.json()['id']}")
        assert ana.post(PATH, json=LITTLE).status_code == 403
        ana.delete(f"/jobs/{again.json()['id']}")
        assert left(ana) == "epsilon = 10"
        assert ana.post(PATH, json=LITTLE).status_code == 200


@pytest.mark.slow
def test_a_hold_survives_the_process_that_took_it(serve: Serve, workspace: Path) -> None:
    """A job whose worker died is done by another process with what was held, and charged once."""
    with serve(NOBODY_WORKS) as ana:
        job = ana.post(PATH, json=ALL, headers=LATER).json()["id"]
    jobs = Jobs(workspace)
    assert jobs.claim(seconds=0)  # by a worker that dies at once
    jobs.close()
    with serve(WORKS) as ana:
        assert ended(ana, job)["state"] == "done"
        assert left(ana) == "epsilon = 0"
        again = ana.post(PATH, json=ALL)
        assert (again.status_code, again.headers["discreet-charged"]) == (200, "no")


@pytest.mark.slow
def test_a_job_that_fails_gives_its_budget_back(serve: Serve, workspace: Path) -> None:
    """Here its account is revoked before it runs."""
    from discreet.store.accounts import Accounts
    from discreet.store.workspace_database import WorkspaceDatabase

    with serve(NOBODY_WORKS) as ana:
        job = ana.post(PATH, json=ALL, headers=LATER).json()["id"]
        assert left(ana) == "epsilon = 0"
    database = WorkspaceDatabase(workspace)
    accounts = Accounts(database)
    accounts.revoke_user("ana")
    token, _ = accounts.add_token("cas")
    database.close()
    jobs = Jobs(workspace)
    with (
        serving(workspace, WORKS) as url,
        Served(url, workspace, {"cas": token}).client("cas") as cas,
    ):
        while jobs.get(job).state != "failed" or left(cas) != "epsilon = 10":
            time.sleep(0.05)
    jobs.close()


@pytest.mark.slow
def test_a_hold_that_lapsed_is_asked_for_again(serve: Serve) -> None:
    """No server renewed it for too long: the job is made if the budget is there, else it fails with
    the ledger's sentence, and nothing is spent twice."""
    short = replace(NOBODY_WORKS, hold_seconds=0.001)
    with serve(short) as ana:
        job = ana.post(PATH, json=ALL, headers=LATER).json()["id"]
        other = ana.post(PATH, json={**LITTLE, "epsilon": "1"}, headers=LATER).json()["id"]
        assert ana.post(PATH, json=LITTLE).status_code == 200
    with serve(WORKS) as ana:
        failed = ended(ana, job)
        assert failed["state"] == "failed"
        assert failed["error"]["rule"] == "budget"  # type: ignore[index]
        assert ended(ana, other)["state"] == "done"
        assert left(ana) == "epsilon = 8.9"


def test_waiting_jobs_keep_their_budget(serve: Serve, workspace: Path) -> None:
    """A worker's heart beat renews the holds of all jobs that have not ended."""
    with serve(replace(NOBODY_WORKS, hold_seconds=600)) as ana:
        ana.post(PATH, json=ALL, headers=LATER)
    app = create_app(workspace, replace(NOBODY_WORKS, hold_seconds=36_000))
    with serving_app(app):
        table_jobs.renew_holds(app.state.service)
        database = sqlite3.connect(workspace / "deaths-dp" / "store.sqlite3")
        ((expires,),) = database.execute("SELECT expires FROM holds").fetchall()
        database.close()
    assert expires > time.time() + 30_000


@pytest.mark.slow
def test_a_kept_result_shows_what_today_s_policy_shows(serve: Serve, workspace: Path) -> None:
    """A stricter threshold holds for tables made before it too, and so does who may see them."""
    path, recipe = "/datasets/deaths/tables", {"rows": ["region"], "columns": ["sex"]}
    with serve(WORKS) as ana:
        job = ana.post(path, json=recipe, headers=LATER).json()["id"]
        assert ended(ana, job)["state"] == "done"
        before = ana.get(f"/jobs/{job}/result").json()["value"]
        assert None not in before
    file = workspace / "deaths" / "discreet.yaml"
    text = file.read_text("utf-8")
    stricter = text.replace("    keys: strong\n", "    keys: strong\n    threshold: 1000\n")
    assert stricter != text
    file.write_text(stricter, "utf-8")
    with serve(WORKS) as ana:
        answer = ana.get(f"/jobs/{job}/result")
        assert answer.status_code == 200, answer.text
        after = answer.json()["value"]
        assert None in after
        assert all(new in (old, None) for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize("trouble", [LedgerDamaged("edited"), StoreError("away"), None])
def test_a_ledger_that_cannot_be_used_holds_up_no_other_job(
    trouble: Exception | None, tmp_path: Path
) -> None:
    """What its ended job held lapses with its time; the worker goes on to the next."""
    lapsed = []

    def ledger() -> SimpleNamespace:
        if trouble is not None:
            raise trouble
        return SimpleNamespace(lapse=lapsed.append)

    @contextmanager
    def use(_: str) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(ledger=ledger)

    jobs = Jobs(tmp_path)
    made = jobs.create(table_jobs.KIND, {"dataset": "deaths"}, user="ana", hold="h1")
    jobs.request_cancel(made.id)
    (ended,) = jobs.ended_holding()
    service: Any = SimpleNamespace(jobs=jobs, datasets=SimpleNamespace(use=use))
    table_jobs.end(service, ended)
    assert jobs.ended_holding() == ()
    assert lapsed == ([] if trouble else ["h1"])
    jobs.close()


@pytest.mark.parametrize("moment", ["heartbeat", "progress", "finish"])
def test_a_list_of_jobs_that_is_away_for_a_moment_ends_no_job(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked it to stop, and what was made is no failure: it is done, if need be over again."""
    jobs = Jobs(tmp_path)
    away: list[str] = []
    asked = getattr(jobs, moment)

    def lost(*words: Any, **more: Any) -> Any:
        if len(away) < 2:
            away.append(moment)
            raise StoreError("the connection was lost")
        return asked(*words, **more)

    def made(service: Any, job: Any, control: Control) -> dict[str, Any]:
        while not away or (moment == "heartbeat" and len(away) < 2):
            control.step(0.5, "drawing")
            if moment == "finish":
                break
        return {"bytes": job.attempts}

    monkeypatch.setattr(jobs, moment, lost)
    lane: Any = SimpleNamespace(KIND="tables", made=made, end=lambda service, job: None)
    settings = Settings(lease_seconds=0.4, job_threads=0)
    worker = Worker(SimpleNamespace(jobs=jobs, settings=settings))  # type: ignore[arg-type]
    monkeypatch.setattr(worker, "_renew_holds", lambda: None)
    job = jobs.create("tables", {}, user="ana")
    while (now := jobs.get(job.id)).state in ("waiting", "running"):
        if claimed := jobs.claim(kind="tables", seconds=settings.lease_seconds):
            with suppress(StoreError):
                worker._do(lane, *claimed)
    assert (now.state, now.error, len(away)) == ("done", None, 2 if moment != "progress" else 1)
    jobs.close()
