"""From a file to a data set over HTTP: as the command line would make it, or nothing at all."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from discreet.errors import InputError
from discreet.server import Settings, draft_jobs, draft_sources
from discreet.workspace.draft_folder import DraftFolder, Drafts
from discreet.workspace.draft_steps import free_name

from ..patience import PATIENCE, wait_until
from .drafting import STAYS, begin, finish, say, send, stays, tree, until, upload
from .serving import Served, add_accounts, serving

SETTINGS = Settings(
    calls_per_minute=10**6, logins_per_minute=10**6, lease_seconds=2, body_seconds=PATIENCE
)
UNIT = {"unit": "person", "id": "patient_id", "records": 4, "drop": True}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workspace without a data set, and accounts."""
    workspace = tmp_path_factory.mktemp("drafts")
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


def discreet(*words: object) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "discreet", *map(str, words)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_page_and_command_line_make_the_same_data_set(served: Served, tmp_path: Path):
    """Equal discreet.yaml, equal code lists; under the same secrets equal numbers."""
    data = stays()
    with served.client("cas") as cas:
        draft = upload(cas, STAYS, data)
        seen = say(cas, draft, name="stays", unit=UNIT, columns={"leave_out": ["note"]})
        names = [one["name"] for one in seen["review"]["variables"]]
        say(cas, draft, declared=names)
        done = finish(cas, draft)
        assert done["made"] == "stays"
        first = cas.get("/datasets/stays/tables?rows=region&columns=sex&format=csv").text
    made, own = served.workspace / "stays", tmp_path / "stays"
    (own / "source").mkdir(parents=True)
    (own / "source" / STAYS).write_bytes(data)
    subprocess.run(["cp", "-r", made / "secret", own / "secret"], check=True)
    words = ("--unit", "person", "--id", "patient_id", "--records-per-unit", "4", "--drop")
    discreet("init", own / "source" / STAYS, "--into", own, *words, "--leave-out", "note")
    discreet("declare", own, "--all")
    assert (own / "discreet.yaml").read_text() == (made / "discreet.yaml").read_text()
    lists = [
        {path.name: path.read_text() for path in (one / "categories").glob("*")}
        for one in (own, made)
    ]
    assert lists[0] == lists[1]
    out = tmp_path / "first.csv"
    discreet("table", own, "--rows", "region", "--columns", "sex", "-o", out)
    assert out.read_text("utf-8-sig").split() == first.removeprefix("\ufeff").split()


def test_cancel_leaves_nothing(served: Served):
    """After cancel no file, row or draft is left: while it uploads, once it is open, while it is looked at."""
    data = stays()
    with served.client("cas") as cas:
        before, listed = tree(served.workspace), cas.get("/drafts").json()
        rows = _jobs(served.workspace)
        half = begin(cas, STAYS, data)
        assert send(cas, half, data[:1000]).json()["received"] == 1000
        whole = upload(cas, STAYS, data)
        say(cas, whole, unit=UNIT)
        busy = begin(cas, STAYS, data)
        send(cas, busy, data)
        for draft in (half, whole, busy):
            assert cas.delete(f"/drafts/{draft}").status_code == 204
            assert cas.get(f"/drafts/{draft}").status_code == 404
        assert cas.get("/drafts").json() == listed
        assert tree(served.workspace) == before
        assert _jobs(served.workspace) == rows


def _jobs(workspace: Path) -> list[object]:
    connection = sqlite3.connect(workspace / "jobs.sqlite3")
    try:
        return connection.execute("SELECT * FROM jobs WHERE kind = 'drafts'").fetchall()
    finally:
        connection.close()


def test_an_upload_goes_on_where_it_stopped(served: Served):
    """A piece at the wrong place is refused with the right one; the file is whole in the end."""
    data = stays(200)
    with served.client("cas") as cas:
        draft = begin(cas, STAYS, data)
        send(cas, draft, data[:500])
        wrong = send(cas, draft, data[400:], 400)
        assert wrong.status_code == 409
        assert "byte 500" in wrong.json()["detail"]
        assert cas.get(f"/drafts/{draft}").json()["received"] == 500
        assert send(cas, draft, data[500:], 500).status_code == 200
        until(cas, draft, "open")
        kept = served.workspace / ".drafts" / draft / "made" / "source" / STAYS
        assert kept.read_bytes() == data
        assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_two_custodians_edit_one_draft(served: Served):
    """The second is told of the first, in one sentence, and nothing is lost."""
    with served.client("cas") as cas, served.client("dora") as dora:
        draft = upload(cas, STAYS, stays(200))
        edition = {"If-Match": dora.get(f"/drafts/{draft}").headers["etag"]}
        say(cas, draft, about={"title": "Stays"})
        late = dora.patch(f"/drafts/{draft}", json={"about": {"title": "Other"}}, headers=edition)
        assert late.status_code == 412
        assert late.json()["detail"].startswith("cas changed this draft after you had opened it.")
        assert dora.post(f"/drafts/{draft}/finish", headers=edition).status_code == 412
        unsaid = dora.patch(f"/drafts/{draft}", json={"name": "other"})
        assert unsaid.status_code == 428
        assert dora.get(f"/drafts/{draft}").json()["review"]["about"]["title"] == "Stays"
        assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_a_unit_is_asked_never_guessed(served: Served):
    """A draft is not made before somebody said who one unit is, whatever the file looks like."""
    plain = b"id,sex\n" + b"".join(b"%d,%s\n" % (n, b"fm"[n % 2 : n % 2 + 1]) for n in range(80))
    with served.client("cas") as cas:
        for data in (plain, stays(200)):
            draft = upload(cas, STAYS, data)
            edition = {"If-Match": cas.get(f"/drafts/{draft}").headers["etag"]}
            refused = cas.post(f"/drafts/{draft}/finish", headers=edition)
            assert refused.status_code == 400
            assert "Say who one unit of protection is" in refused.json()["detail"]
            assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_a_column_that_the_page_proposed_is_not_yet_chosen(served: Served):
    """Saving the page with another word for the unit asks which column names it; choosing one settles it."""
    rows = b"".join(b"%d,H%d,%s\n" % (n, n // 3, b"fm"[n % 2 : n % 2 + 1]) for n in range(120))
    with served.client("cas") as cas:
        draft = upload(cas, "homes.csv", b"person_id,household_no,sex\n" + rows)

        def saved(*roles: str) -> dict[str, Any]:
            """What the draft says of its unit after the page was sent with these roles."""
            found = until(cas, draft, "open")
            columns = found["review"]["columns"]
            role = {one["name"]: one["role"] for one in columns} | dict.fromkeys(roles, "id")
            form = {f"role-{n}": role[one["name"]] for n, one in enumerate(columns)}
            form |= {"unit": "household", "name": "homes", "family": "cell-key"}
            form |= {"edition": str(found["edition"])}
            page = f"{served.url}/custodian/new/{draft}"
            sent = httpx.post(page, data=form, headers=cas.headers, timeout=PATIENCE)
            assert sent.status_code == 303, sent.text
            return dict(until(cas, draft, "open")["review"]["unit"])

        unit = saved()
        assert (unit["decided"], unit["id"]) == (False, None)
        assert "Column person_id names people, and one household is no person." in unit["doubts"]
        unit = saved("household_no")
        assert (unit["decided"], unit["id"], unit["records"]) == (True, "household_no", 3)
        assert saved()["id"] == "household_no"
        assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_a_new_version_comes_the_same_way(served: Served):
    """What changed is said; a code nobody listed bars it; loaded, the next table is of the new version."""
    with served.client("cas") as cas:
        draft = upload(cas, STAYS, stays(300))
        seen = say(cas, draft, name="again", unit=UNIT, columns={"leave_out": ["note"]})
        say(cas, draft, declared=[one["name"] for one in seen["review"]["variables"]])
        finish(cas, draft)
        before = (served.workspace / "again" / "current").read_text()
        strange = stays(400, seed=4).replace(b";f;", b";x;")
        draft = upload(cas, STAYS, strange, dataset="again")
        facts = cas.get(f"/drafts/{draft}").json()
        assert any(
            "sex has codes that the description does not list: x" in w for w in facts["barred"]
        )
        edition = {"If-Match": cas.get(f"/drafts/{draft}").headers["etag"]}
        assert cas.post(f"/drafts/{draft}/finish", headers=edition).status_code == 400
        assert cas.delete(f"/drafts/{draft}").status_code == 204
        assert (served.workspace / "again" / "current").read_text() == before
        draft = upload(cas, "stays_2.csv", stays(400, seed=4), dataset="again")
        facts = cas.get(f"/drafts/{draft}").json()
        assert facts["changes"][0] == "The file has 400 records; the one before had 300."
        done = finish(cas, draft)
        assert done["told"][0].startswith("Loaded")
        assert (served.workspace / "again" / "current").read_text() != before
        text = (served.workspace / "again" / "discreet.yaml").read_text()
        assert "source/stays_2.csv" in text
        assert not (served.workspace / "again" / "source" / STAYS).exists()
        assert cas.get("/datasets/again/tables?rows=region").status_code == 200


def test_a_database_is_named_or_refused(served: Served):
    """What cannot be read is refused by name, and no file of the server's machine can be named."""
    with served.client("cas") as cas:
        for source, words in (
            ("oracle://host/db?table=t", "'oracle' databases cannot be read"),
            ("sqlite:////etc/passwd?table=x", "Over HTTP a source is an address"),
            ("/etc/passwd", "Over HTTP a source is an address"),
            ("accounts.sqlite3::users", "Over HTTP a source is an address"),
            ("postgresql://ann@db.example/own?table=t", "reads no databases for drafts"),
        ):
            answer = cas.post("/drafts", json={"source": source})
            assert answer.status_code == 400
            assert words in answer.json()["detail"]
        assert all(not one["source"] for one in cas.get("/drafts").json()["drafts"])
        there = next(one.parent.name for one in served.workspace.glob("*/discreet.yaml"))
        both = {"source": "postgresql://h/d?table=t", "dataset": there}
        assert "comes from an uploaded file" in cas.post("/drafts", json=both).json()["detail"]


def test_only_listed_databases_are_read_and_never_the_own_store(tmp_path: Path):
    """Host and database exactly as listed; no option that leads elsewhere."""
    (tmp_path / "store.yaml").write_text("database: host=db.example dbname=kept user=me\n")
    listed = ("db.example/register", "db.example/kept")
    service: Any = SimpleNamespace(settings=Settings(draft_sources=listed), folder=tmp_path)
    draft_sources.may_be_read(service, "postgresql://ann@db.example/register?table=t")
    for source in (
        "postgresql://ann@other.example/register?table=t",
        "postgresql://ann@db.example/register?host=other.example&table=t",
        "postgresql://ann@other.example,@db.example/register?table=t",
        "postgresql://ann@db.example/other?table=t",
        "sc://db.example:15002?table=t",
    ):
        with pytest.raises(InputError, match="reads no such database"):
            draft_sources.may_be_read(service, source)
    with pytest.raises(InputError, match="itself keeps"):
        draft_sources.may_be_read(service, "postgresql://ann@db.example/kept?table=t")


def test_names_of_the_server_itself_are_no_data_sets(tmp_path: Path):
    """A folder of the workspace or a page cannot be taken."""
    for name in ("published", "job-results", "new", "Releases"):
        with pytest.raises(InputError, match="the server itself uses"):
            free_name(name, tmp_path)


def test_what_is_worked_on_is_not_written_over(served: Served):
    """An answer on an old edition, or to a draft that loads, leaves its description as it was."""
    with served.client("cas") as cas:
        draft = upload(cas, STAYS, stays(200))
        old = {"If-Match": cas.get(f"/drafts/{draft}").headers["etag"]}
        say(cas, draft, unit=UNIT)
        folder = Drafts(served.workspace).get(draft)
        before = tree(folder.folder)
        wish = {"columns": {"leave_out": ["sex"]}}
        assert cas.patch(f"/drafts/{draft}", json=wish, headers=old).status_code == 412
        assert tree(folder.folder) == before
        folder.set(state="loading")
        now = {"If-Match": f'"{folder.state.edition}"'}
        before = tree(folder.folder)
        assert cas.patch(f"/drafts/{draft}", json=wish, headers=now).status_code == 400
        assert cas.post(f"/drafts/{draft}/finish", headers=now).status_code == 409
        assert tree(folder.folder) == before
        assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_a_step_that_was_given_up_leaves_its_draft_open(tmp_path: Path):
    """The draft says so and can be finished again; another's job changes nothing."""
    drafts = Drafts(tmp_path)
    draft = drafts.begin("cas", file="a.csv", state="loading", job="j1")
    service: Any = SimpleNamespace(drafts=drafts)
    draft_jobs.end(service, _job(draft, "j0"))
    assert draft.state.state == "loading"
    draft_jobs.end(service, _job(draft, "j1"))
    assert draft.state.state == "open"
    assert draft.state.error.startswith("This was stopped")


def _job(draft: DraftFolder, identity: str) -> Any:
    return SimpleNamespace(id=identity, request={"draft": draft.folder.name, "step": "load"})


def test_a_file_without_a_variable_says_so_in_its_draft(served: Served):
    """The look has failed: API and page show the sentence, and the draft can be cancelled."""
    with served.client("cas") as cas:
        draft = begin(cas, "same.csv", b"a,b\n" + b"1,2\n" * 40)
        assert send(cas, draft, b"a,b\n" + b"1,2\n" * 40).status_code == 200
        found: dict[str, Any] = {}

        def ended() -> bool:
            answer = cas.get(f"/drafts/{draft}")
            assert answer.status_code == 200, answer.text
            found.update(answer.json())
            return bool(found["error"])

        wait_until(ended, "the look to end")
        assert "no column that can be a variable" in found["error"]
        page = f"{served.url}/custodian/new/{draft}"
        shown = httpx.get(page, headers=cas.headers, timeout=PATIENCE)
        assert shown.status_code == 200
        assert found["error"][:40] in shown.text
        assert cas.delete(f"/drafts/{draft}").status_code == 204


def test_what_a_killed_look_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Copies of records beside the system's own scratch files go at the next start, not the next look."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "discreet-profile-left"
    young, other = tmp_path / "discreet-profile-young", tmp_path / "something-else"
    for folder in (left, young, other):
        folder.mkdir()
        (folder / "records.csv").write_text("a,b\n1,2\n")
    for folder in (left, other):
        os.utime(folder, (1, 1))
    settings = SimpleNamespace(upload_hours=24)
    service: Any = SimpleNamespace(drafts=Drafts(tmp_path / "work"), settings=settings)
    draft_jobs.tidy(service)
    assert (left.exists(), young.exists(), other.exists()) == (False, True, True)
