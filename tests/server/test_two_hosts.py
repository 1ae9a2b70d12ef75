"""Two hosts: two folders, two processes, one Postgres, one folder of blobs, and nothing else shared."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from discreet.core.loss import PureLoss
from discreet.errors import InputError, StoreError
from discreet.file_names import ANCHOR, REHEARSAL_REPORTS, SERVED_FAMILY, SERVED_LAWS, STORE
from discreet.server import Settings, draft_jobs, rehearsal_jobs
from discreet.server.limits import SharedBuckets
from discreet.server.service import Service
from discreet.server.worker import Worker
from discreet.store.opening import prepare
from discreet.store.workspace_database import WorkspaceDatabase
from discreet.workspace import DataSet, hosts, noted, policy_change
from discreet.workspace.budget_change import change_budget

from ..patience import PATIENCE, wait_until
from .serving import Processes, Served, add_accounts, serving

pytestmark = pytest.mark.slow
KEYED = {"rows": ["sex"], "columns": ["region"]}
DATASETS = ("deaths", "deaths-dp")


def spending(epsilon):
    return {"rows": ["sex"], "epsilon": epsilon}


def one_host(demo: Path, root: Path, url: str) -> Path:
    """The first host: two data sets of the demo, loaded here and shared; no ledger from before."""
    first = root / "first"
    first.mkdir()
    # what another test may have left in the demo: a ledger, and notes that there must be one
    served = shutil.ignore_patterns(f"{STORE}*", ANCHOR, "*.lock", SERVED_FAMILY, SERVED_LAWS)
    for name in DATASETS:
        shutil.copytree(demo / name, first / name, ignore=served)
    (first / "store.yaml").write_text(f"database: {url}\nblobs: {root / 'blobs'}\n")
    prepare(first)
    for name in DATASETS:
        assert hosts.share(first / name)
    return first


def another_host(first: Path, root: Path) -> Path:
    """A further host is given the place of the database, and the keys; the rest it fetches."""
    second = root / "second"
    second.mkdir()
    for name in ("store.yaml", "accounts.key"):
        shutil.copy(first / name, second)
    for name in DATASETS:
        shutil.copytree(first / name / "secret", second / name / "secret")
    return second


@contextmanager
def both_hosts(demo, postgres, root):
    """Both hosts, running; each with anchors of its own."""
    first = one_host(demo, root, postgres.url(postgres.database()))
    tokens = add_accounts(first)
    second = another_host(first, root)
    before, running = os.environ["DISCREET_ANCHORS"], []
    try:
        for folder in (first, second):
            os.environ["DISCREET_ANCHORS"] = str(root / f"anchors of {folder.name}")
            running.append(Processes(folder, 1, "--public", "deaths", "--metrics"))
        os.environ["DISCREET_ANCHORS"] = before
        for server in running:
            server.wait()
        folders = zip(running, (first, second), strict=True)
        yield [Served(server.url, folder, tokens) for server, folder in folders], running
    finally:
        os.environ["DISCREET_ANCHORS"] = before
        for server in running:
            server.close()


@pytest.fixture(scope="module")
def world(demo, postgres, tmp_path_factory):
    """Two hosts that no test stops."""
    with both_hosts(demo, postgres, tmp_path_factory.mktemp("hosts")) as running:
        yield running


def asked(served, who, dataset, recipe, **headers):
    """The answer to a question; one that a busy machine put off is asked for again, as it says."""
    answers = []
    with served.client(who) as client:

        def given():
            path = f"/datasets/{dataset}/tables"
            answers.append(client.post(path, json=recipe, headers=headers))
            return answers[-1].status_code != 503

        wait_until(given, "an answer")
    return answers[-1]


def test_one_answer_one_budget_one_account(world):
    """Same bytes and ETags; a charge on one host is an answer on the other; tokens are global."""
    (here, there), _ = world
    keyed = [asked(host, None, "deaths", KEYED) for host in (here, there)]
    assert [answer.status_code for answer in keyed] == [200, 200]
    assert keyed[0].headers["etag"] == keyed[1].headers["etag"]
    assert keyed[0].content == keyed[1].content
    again = httpx.get(
        f"{there.url}/api/v1/datasets/deaths/tables",
        params={"rows": "sex", "columns": "region"},
        headers={"If-None-Match": keyed[0].headers["etag"]},
        timeout=300,
    )
    assert again.status_code in (200, 304)
    drawn = [asked(host, "ana", "deaths-dp", spending("0.5")) for host in (here, there)]
    assert drawn[0].json()["value"] == drawn[1].json()["value"]
    epsilons = [f"0.{number:03}" for number in range(101, 113)]

    def ask(number):
        return asked((here, there)[number % 2], "ana", "deaths-dp", spending(epsilons[number]))

    with ThreadPoolExecutor(6) as pool:
        assert {answer.status_code for answer in pool.map(ask, range(len(epsilons)))} == {200}
    budgets = []
    for host in (here, there):
        with host.client("cas") as client:
            budgets.append(client.get("/datasets/deaths-dp/budget").json())
            assert client.get("/datasets/deaths-dp/ledger:verify").status_code == 200
    assert budgets[0] == budgets[1]
    with here.client("ben") as ben:
        made = ben.post("/tokens", json={"label": "short"}).json()
    for host, code in ((there, 200), (here, 200)):
        bearer = {"Authorization": f"Bearer {made['token']}"}
        assert (
            httpx.get(f"{host.url}/api/v1/tokens", headers=bearer, timeout=300).status_code == code
        )
    with there.client("ben") as ben:
        ben.delete(f"/tokens/{made['id']}")
    assert httpx.get(f"{here.url}/api/v1/tokens", headers=bearer, timeout=300).status_code == 401


def test_a_job_and_a_release_of_one_host_are_read_on_the_other(world):
    (here, there), _ = world
    job = asked(here, "ana", "deaths-dp", spending("0.25"), Prefer="respond-async").json()["id"]
    with there.client("ana") as client:
        wait_until(lambda: client.get(f"/jobs/{job}").json()["state"] == "done", "the job")
        result = client.get(f"/jobs/{job}/result")
    assert (
        result.json()["value"] == asked(here, "ana", "deaths-dp", spending("0.25")).json()["value"]
    )
    release = {"dataset": "deaths", "title": "By sex", "recipe": KEYED}
    with here.client("cas") as client:
        made = client.post("/releases", json=release).json()["id"]
    read = [
        httpx.get(f"{host.url}/api/v1/releases/{made}/tables", timeout=300)
        for host in (here, there)
    ]
    assert [one.status_code for one in read] == [200, 200]
    assert read[0].content == read[1].content
    assert read[0].headers["etag"] == read[1].headers["etag"]


def test_a_release_whose_files_are_away_is_a_sentence(demo, postgres, tmp_path):
    """The folder that hosts share is not in its place: nothing failed that should not, and it comes back."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    served = Served("", first, add_accounts(first))
    settings = Settings(public=("deaths",), calls_per_minute=10**6)
    with (
        serving(first, settings) as served.url,
        served.client("cas") as cas,
        served.client() as anybody,
    ):
        release = {"dataset": "deaths", "title": "By sex", "recipe": KEYED}
        made = cas.post("/releases", json=release).json()["id"]
        path = f"/releases/{made}/tables"
        before = anybody.get(path)
        (tmp_path / "blobs").rename(tmp_path / "away")
        answer = anybody.get(path)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:discreet:store")
        assert "cannot be read at the moment" in answer.json()["detail"]
        assert str(tmp_path) not in answer.text
        shutil.rmtree(tmp_path / "blobs", ignore_errors=True)
        (tmp_path / "away").rename(tmp_path / "blobs")
        assert anybody.get(path).content == before.content


def test_guesses_of_passwords_are_counted_together(demo, postgres, tmp_path):
    """Tries in turn on both hosts: together as many get through as one host would let."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    now = [1000.0]
    databases = [WorkspaceDatabase(first, clock=lambda: now[0])]
    databases.append(WorkspaceDatabase(another_host(first, tmp_path), clock=lambda: now[0]))
    limits = [SharedBuckets(one, "name", 10) for one in databases]
    assert [limits[i % 2].take("ana").allowed for i in range(24)] == [True] * 10 + [False] * 14
    assert limits[1].take("ben").allowed
    now[0] += 6.0  # a tenth of a minute: one more
    assert [limits[i % 2].take("ana").allowed for i in range(3)] == [True, False, False]
    for one in databases:
        one.close()


def test_what_operators_watch_says_nothing_of_data(world):
    (here, _), _ = world
    assert httpx.get(f"{here.url}/ready", timeout=300).json() == {"status": "ready"}
    assert asked(here, None, "deaths", KEYED).status_code == 200
    text = httpx.get(f"{here.url}/metrics", timeout=300).text
    assert 'method="POST",status="2xx"' in text
    for word in ("deaths", "ana", "sex", "seconds"):
        assert word not in text


def killed_at_work(dying, living, tokens, epsilon):
    """A job is asked of one host, which is killed at once; the other does it, charged once."""
    job = asked(Served(dying.url, living.workspace, tokens), "ana", "deaths-dp", spending(epsilon), Prefer="respond-async")  # fmt: skip
    os.killpg(dying.process.pid, signal.SIGKILL)
    address = f"/jobs/{job.json()['id']}"
    with living.client("ana") as client:
        wait_until(lambda: client.get(address).json()["state"] == "done", "the job")
        once = client.get(f"{address}/result").json()["value"]
    assert asked(living, "ana", "deaths-dp", spending(epsilon)).json()["value"] == once
    with living.client("cas") as client:
        assert client.get("/datasets/deaths-dp/ledger:verify").status_code == 200


def test_either_host_may_be_killed(demo, postgres, tmp_path):
    """A job of a host that is killed is done by the other; the other serves on, in both directions."""
    with both_hosts(demo, postgres, tmp_path) as ((here, there), (first, second)):
        killed_at_work(first, there, here.tokens, "0.013")
        restarted = Processes(here.workspace, 1, "--public", "deaths")
        try:
            restarted.wait()
            again = Served(restarted.url, here.workspace, here.tokens)
            killed_at_work(second, again, here.tokens, "0.017")
        finally:
            restarted.close()


def test_a_host_with_other_keys_or_edits_is_refused(demo, postgres, tmp_path):
    """Another master key would make other noise, another accounts key other tokens and ETags."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    second = another_host(first, tmp_path)
    assert sorted(hosts.follow(second)) == sorted(DATASETS)
    (second / "deaths" / "secret" / "master.key").write_bytes(bytes(32))
    with (
        DataSet.open(second / "deaths") as data,
        pytest.raises(StoreError, match="another master key"),
    ):
        _ = data.secrets
    (second / "accounts.key").write_bytes(bytes(32))
    with pytest.raises(StoreError, match="another key than the other hosts"):
        WorkspaceDatabase(second)
    (second / "accounts.key").unlink()
    with pytest.raises(StoreError, match="is missing"):
        WorkspaceDatabase(second)
    described = second / "deaths-dp" / "discreet.yaml"
    described.write_text(described.read_text() + "# a word more\n")
    with pytest.raises(InputError, match="changed on this host alone"):
        DataSet.open(second / "deaths-dp")
    assert hosts.share(second / "deaths-dp")
    assert hosts.follow(first) == ["deaths-dp"]
    assert (first / "deaths-dp" / "discreet.yaml").read_bytes() == described.read_bytes()
    assert json.loads((first / "deaths-dp" / "shared.json").read_text())["version"]


def test_what_another_host_noted_meanwhile_is_kept(demo, postgres, tmp_path):
    """A note is written only over what its writer read."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    folder, notes = first / "deaths", hosts.shared(first / "deaths")
    _, before = noted.seen_note(folder, "served-laws")
    assert notes.put("deaths", "served-laws", "of another host\n", before)
    assert not noted.write_note(folder, "served-laws", "mine\n", before=before)
    assert noted.read_note(folder, "served-laws") == "of another host\n"


def test_what_is_fetched_is_what_was_shared(demo, postgres, tmp_path):
    """Dropped categories go, hidden files stay at home, names lead nowhere else."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    second = another_host(first, tmp_path)
    inside = first / "deaths" / "categories"
    inside.mkdir(exist_ok=True)
    (inside / "more.csv").write_text("code,label\n")
    (inside / ".more.csv.swp").write_text("x")
    assert hosts.share(first / "deaths")
    hosts.follow(second)
    assert (second / "deaths" / "categories" / "more.csv").exists()
    assert not (second / "deaths" / "categories" / ".more.csv.swp").exists()
    (inside / "more.csv").unlink()
    assert hosts.share(first / "deaths")
    hosts.follow(second)
    assert not (second / "deaths" / "categories" / "more.csv").exists()
    hosts.check_edits(second / "deaths")
    (second / "deaths" / "shared.json").unlink()
    (second / "deaths" / "discreet.yaml").write_text("name: deaths\n")
    with pytest.raises(InputError, match="Another host changed"):
        hosts.share(second / "deaths")
    notes = hosts.shared(first / "deaths")
    stray = json.dumps({"version": "../../elsewhere", "description": "x"})
    assert notes.put("stray", "current", stray, None)
    assert notes.put("../stray", "current", stray, None)
    assert "stray" not in "".join(hosts.follow(second))
    assert not (tmp_path / "stray").exists()


def test_a_host_killed_while_it_fetches_or_shares_goes_on(demo, postgres, tmp_path, monkeypatch):
    """What is here is then half of what is served, or all of it, and no edit of anybody's."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    second = another_host(first, tmp_path)
    hosts.follow(second)
    described = first / "deaths" / "discreet.yaml"
    described.write_text(described.read_text() + "# a word more\n")
    assert hosts.share(first / "deaths")

    def killed(*_):
        raise StoreError("killed")

    for moment in (hosts.versions, "point"), (hosts, "_remember"):
        with monkeypatch.context() as patch:
            patch.setattr(*moment, killed)
            assert hosts.follow(second) == []
            with pytest.raises(StoreError, match="is being fetched"):
                DataSet.open(second / "deaths")
    DataSet.open(second / "deaths").close()
    assert (second / "deaths" / "discreet.yaml").read_bytes() == described.read_bytes()

    described.write_text(described.read_text() + "# and another\n")
    with monkeypatch.context() as patch:
        patch.setattr(hosts, "_remember", killed)
        with pytest.raises(StoreError, match="killed"):
            hosts.share(first / "deaths")
    DataSet.open(first / "deaths").close()  # it is what all serve: nobody has to share it again
    assert hosts.follow(second) == ["deaths"]


def test_a_description_that_was_changed_among_the_blobs_is_not_fetched(demo, postgres, tmp_path):
    """It is known by its digest; what this host has stays."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    second = another_host(first, tmp_path)
    hosts.follow(second)
    own = (second / "deaths" / "discreet.yaml").read_bytes()
    described = first / "deaths" / "discreet.yaml"
    described.write_text(described.read_text() + "# a word more\n")
    assert hosts.share(first / "deaths")
    for path in (tmp_path / "blobs" / "datasets" / "deaths" / "descriptions").rglob("*.yaml"):
        path.write_text(path.read_text() + "# of somebody else\n")
    assert hosts.follow(second) == []
    assert (second / "deaths" / "discreet.yaml").read_bytes() == own


def test_a_policy_that_hosts_cannot_learn_of_is_not_served_here(demo, postgres, tmp_path):
    """The folder of blobs is away: the description stays as it was, and can be changed later."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    blobs, rules = tmp_path / "blobs", {"rules": {"max_cells": 77_000}}
    before = (first / "deaths" / "discreet.yaml").read_bytes()
    blobs.rename(tmp_path / "away")
    blobs.write_text("no folder")
    with pytest.raises(StoreError):
        policy_change.change_policy(first / "deaths", rules)
    assert (first / "deaths" / "discreet.yaml").read_bytes() == before
    blobs.unlink()
    (tmp_path / "away").rename(blobs)
    DataSet.open(first / "deaths").close()
    policy_change.change_policy(first / "deaths", rules)
    with DataSet.open(first / "deaths") as data:
        assert data.policy.rules["max_cells"] == "77000"


def test_a_budget_may_be_agreed_on_a_host_that_has_not_looked_yet(demo, postgres, tmp_path):
    """It is written over what the other host agreed on a moment ago, which this one fetches first."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    WorkspaceDatabase(first).close()
    second = another_host(first, tmp_path)
    hosts.follow(second)
    with DataSet.open(first / "deaths-dp") as here, DataSet.open(second / "deaths-dp") as there:
        ledgers = [data.ledger() for data in (here, there)]
        for data, epsilon in ((here, "9"), (there, "8"), (here, "7")):
            change = {"epsilon": epsilon}
            change_budget(data.folder, data.ledger(), change, who="cas", reason="agreed")
            assert [ledger.cap() for ledger in ledgers] == [PureLoss(epsilon)] * 2
    hosts.follow(second)
    written = [(host / "deaths-dp" / "discreet.yaml").read_bytes() for host in (first, second)]
    assert written[0] == written[1]


def test_a_host_lives_while_its_database_is_away(demo, postgres, tmp_path):
    """Liveness is not readiness: a restart would mend nothing, and a question that waits holds up no other."""
    name = postgres.database()
    first = one_host(demo, tmp_path, postgres.url(name))
    served = Served("", first, add_accounts(first))
    settings = Settings(public=("deaths",), calls_per_minute=10**6, metrics=True)
    with serving(first, settings) as served.url, ThreadPoolExecutor(1) as pool:
        import psycopg

        with psycopg.connect(postgres.url(name)) as other:
            other.execute("LOCK TABLE discreet.tokens, discreet.audit_log")
            with served.client("ana", follow_redirects=True) as client:
                waiting = pool.submit(client.get, "/tokens")
                began = time.monotonic()
                while time.monotonic() < began + 2:
                    assert httpx.get(f"{served.url}/health", timeout=PATIENCE).json() == {
                        "status": "serving"
                    }
                assert not waiting.done()
                other.rollback()
                assert waiting.result().status_code == 200
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")
        assert httpx.get(f"{served.url}/health", timeout=PATIENCE).status_code == 200
        assert httpx.get(f"{served.url}/ready", timeout=PATIENCE).status_code == 503
        assert "discreet_ready 0" in httpx.get(f"{served.url}/metrics", timeout=PATIENCE).text


def test_a_draft_is_worked_on_where_it_lies(demo, postgres, tmp_path):
    """Hosts share the list of jobs and not the drafts; a rehearsal's report is read on any of them."""
    first = one_host(demo, tmp_path, postgres.url(postgres.database()))
    add_accounts(first)
    second = another_host(first, tmp_path)
    hosts.follow(second)
    here, there = (Service(folder, Settings()) for folder in (first, second))
    try:
        draft = here.drafts.begin("cas", file="a.csv", bytes=4)
        draft_jobs.start(here, draft, "look", "cas")
        assert Worker(there)._claimed(draft_jobs) is None
        there.drafts.begin("cas", file="b.csv", bytes=4)
        assert Worker(there)._claimed(draft_jobs) is None
        claimed = Worker(here)._claimed(draft_jobs)
        assert claimed is not None
        assert claimed[0].request["draft"] == draft.folder.name
        asked = {"dataset": "deaths", "what": "attack"}
        job = here.jobs.create(rehearsal_jobs.KIND, asked, user="cas")
        folder = there.blobs.root / REHEARSAL_REPORTS
        folder.mkdir()
        (folder / f"{job.id}.json").write_text("{}")
        _, lease = there.jobs.claim(kind=rehearsal_jobs.KIND)
        ended = there.jobs.finish(job.id, lease, "{}")
        assert rehearsal_jobs.report(here, ended, "json") == b"{}"
        rehearsal_jobs.delete(here, ended)
        assert not any(folder.iterdir())
    finally:
        here.close()
        there.close()
