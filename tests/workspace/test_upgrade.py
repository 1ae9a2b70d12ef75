"""A workspace of version 0.1, carried over: spent stays spent, old answers answer, nothing is lost.

`fixtures/workspace-0.1.tar.xz` was made by that version, and `workspace-0.1.json` says what it answered.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import discreet as dc
from discreet import release as flow
from discreet.cli.main import app
from discreet.errors import InputError, LedgerDamaged, StoreError
from discreet.recipe import from_mapping
from discreet.server import Settings
from discreet.store import verify
from discreet.store.workspace_database import WorkspaceDatabase
from discreet.workspace import DataSet, versions
from discreet.workspace.old_questions import todays_recipe
from discreet.workspace.upgrade import upgrade

from ..server.serving import serving

FIXTURES = Path(__file__).parent.parent / "fixtures"
FACTS: dict[str, Any] = json.loads((FIXTURES / "workspace-0.1.json").read_text("utf-8"))
ASKED = {"noise": {"epsilon": "0.5"}, "marginals": {"epsilon": "1"}}
"""What the policy of `people` said when most of its questions were asked."""


def unpacked(into: Path) -> Path:
    with tarfile.open(FIXTURES / "workspace-0.1.tar.xz") as archive:
        archive.extractall(into, filter="data")
    return into / "workspace"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The workspace as version 0.1 left it."""
    return unpacked(tmp_path)


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace carried over; not to be spent from."""
    workspace = unpacked(tmp_path_factory.mktemp("upgraded"))
    upgrade(workspace)
    return workspace


def questions(dataset: str) -> list[dict[str, Any]]:
    return [q for q in FACTS["questions"] if q["dataset"] == dataset]


def change(folder: Path, **changes: Any) -> None:
    file = folder / "discreet.yaml"
    said = {**yaml.safe_load(file.read_text("utf-8")), **changes}
    file.write_text(yaml.safe_dump(said, sort_keys=False, allow_unicode=True), "utf-8")


def facts_of(table: Any) -> dict[str, Any]:
    return {
        "axes": [str(axis.ref) for axis in table.domain.axes],
        "totals": list(table.totals),
        "values": table.values.tolist(),
    }


def in_full(question: dict[str, Any]) -> dict[str, Any]:
    """A recipe as it was asked, with what the policy of the day gave it."""
    recipe = todays_recipe(question["recipe"])
    loss = question["charge"]["loss"]
    if not {"epsilon", "rho", "within"} & set(recipe):
        recipe |= {name: loss[name] for name in ("epsilon", "rho") if name in loss}
    if question["one"].endswith(", wanted"):
        recipe["plan"] = "wanted"  # least squares made it the best one then; today it is not
    return recipe


@pytest.fixture
def then(upgraded: Path, tmp_path: Path) -> Iterator[dict[str, DataSet]]:
    """Data sets by data version, under the policy most questions were asked under."""
    opened = {}
    for name in ("people", "staff"):
        versions_there = versions.every(upgraded / name)
        for number, version in enumerate(versions_there):
            folder = tmp_path / str(number) / name
            shutil.copytree(upgraded / name, folder)
            versions.point(folder, folder / "versions" / version.name)
            if name == "people":
                change(folder, methods=ASKED)
            data = DataSet.open(folder)
            opened[data.data_version] = data
    yield opened
    for data in opened.values():
        data.close()


@pytest.mark.slow
def test_every_charged_question_is_answered_at_no_cost(then: dict[str, DataSet]):
    """Asked again in its old words, each is answered by the first answer to it: the old numbers."""
    first: dict[str, dict[str, Any]] = {}
    names: dict[str, set[str]] = {}
    for question in [*questions("people"), *questions("staff")]:
        data = then[question["data_version"]]
        before = str(data.ledger().spent())
        recipe = from_mapping(in_full(question), data.description, data.policy)
        asked = flow.ask(data, recipe)
        assert asked.standing == "answered", question["recipe"]
        made = asked.release()
        assert str(data.ledger().spent()) == before
        names.setdefault(question["one"], set()).add(asked.plan.question_hash)
        earlier = first.setdefault(asked.plan.question_hash, question)
        assert made.receipt == earlier["receipt"]
        if question is earlier:
            told = [{k: t[k] for k in ("axes", "totals", "values")} for t in question["tables"]]
            assert [facts_of(table) for table in made.tables] == told, question["recipe"]
    assert {one for one, hashes in names.items() if len(hashes) > 1} == set()


def test_an_answer_is_still_found_by_its_old_name(upgraded: Path):
    """Whoever cites a hash of version 0.1 gets those very measurements, also of a later duplicate."""
    for name in ("people", "staff"):
        with DataSet.open(upgraded / name) as data:
            for question in questions(name):
                stored = data.ledger().find(question["hash"])
                assert stored.receipt == question["receipt"]


@pytest.mark.parametrize("name", ["people", "staff"])
def test_what_was_spent_stays_spent_and_history_is_not_rewritten(upgraded: Path, name: str):
    """Sums, shares and the old chain are as they were; the upgrade is one entry after it."""
    told = FACTS["ledgers"][name]
    found = verify(upgraded / name)
    assert str(found.spent) == told["verified"]["spent"]
    assert found.entries == told["verified"]["entries"] + 1
    with dc.open(upgraded / name) as data:
        facts = data.ledger_facts()
    for key in ("cap", "spent", "left", "shares", "by_version"):
        assert facts[key] == told["ledger"][key]
    old_entries = [entry["hash"] for entry in told["ledger"]["entries"]]
    assert [entry["hash"] for entry in facts["entries"]][:-1] == old_entries
    assert old_entries[-1] == told["verified"]["head"]
    assert facts["entries"][-1]["kind"] == "upgrade"


def test_free_answers_come_from_old_releases(upgraded: Path):
    """A table that follows from an answer of version 0.1 is had from it, with its own treatment."""
    with dc.open(upgraded / "people") as data:
        before = data.ledger_facts()["spent"]
        made = data.table(rows="age", epsilon="9", negatives="clip").release(free=True)
        assert made.protected.values.min() >= 0
        assert data.ledger_facts()["spent"] == before


def test_keyed_tables_count_as_answered_under_another_law(upgraded: Path):
    """Designed p-tables of version 0.1 were rounded as its machine rounds: every table says so."""
    with DataSet.open(upgraded / "visits") as data:
        assert data.facts.earlier_laws == 2
        for question in questions("visits"):
            if "another law" not in question["one"]:
                continue
            recipe = from_mapping(question["recipe"], data.description, data.policy)
            made = flow.ask(data, recipe).release()
            assert np.shape(question["tables"][0]["values"]) == made.tables[0].values.shape
            assert any("under 2 other laws" in str(one) for one in made.plan.guarantee.caveats)


def test_synthetic_records_keep_their_release(upgraded: Path):
    """A data set made from a release names it by its old hash, and the ledger still knows that."""
    with DataSet.open(upgraded / "open") as opened, DataSet.open(upgraded / "people") as people:
        assert opened.origin is not None
        assert opened.origin.release == FACTS["origin of open"]
        assert people.ledger().find(opened.origin.release) is not None


@pytest.mark.slow
def test_the_server_goes_on(old: Path):
    """Accounts, tokens, saved tables, releases and jobs: done ones keep their bytes, waiting ones run."""
    told = FACTS["server"]
    upgrade(old)
    with serving(old, Settings(calls_per_minute=10**6, public=("visits",))) as url:

        def get(who: str, path: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {told['tokens'][who]}"}
            return httpx.get(f"{url}/api/v1{path}", headers=headers, timeout=300)

        saved = get("ana", f"/saved/{told['saved']['id']}").json()
        assert saved["title"] == told["saved"]["title"]
        for release in told["releases"]:
            facts = get("cas", f"/releases/{release['id']}").json()
            assert facts["question"] == release["question"]
        done = get("ana", f"/jobs/{told['job']['id']}/result")
        assert done.text == told["job"]["csv"]
        waiting = f"/jobs/{told['waiting job']['id']}"
        for _ in get("ana", f"{waiting}/events").iter_lines():
            pass
        assert get("ana", waiting).json()["state"] == "done"


@pytest.mark.slow
def test_it_is_harmless_to_run_it_again(old: Path):
    """The second run finds nothing to do and copies nothing."""
    first = upgrade(old)
    assert first.copy is not None
    before = {path: path.read_bytes() for path in old.rglob("*.sqlite3")}
    assert upgrade(old).copy is None
    assert {path: path.read_bytes() for path in old.rglob("*.sqlite3")} == before


@pytest.mark.slow
def test_the_copy_is_the_old_workspace(old: Path, another_machine: Callable[[], None]):
    """The copy can take the workspace's place: upgraded itself, it gives the same names."""
    copy = upgrade(old).copy
    assert copy is not None
    assert copy.parent == old.parent
    upgrade(copy)
    for name in ("people", "staff"):
        with DataSet.open(old / name) as here, DataSet.open(copy / name) as there:
            for version in versions.every(old / name):
                data_version = versions.manifest(version).data_version
                names = here.ledger().questions(data_version)
                another_machine()
                assert names == there.ledger().questions(data_version)


@pytest.mark.slow
def test_going_back_to_the_copy_counts_what_was_spent_meanwhile(old: Path):
    """Upgraded, charged, and the copy upgraded in its place: refused until that is accepted."""
    copy = upgrade(old).copy
    assert copy is not None
    with dc.open(old / "people") as data:
        before = data.ledger_facts()["spent"]
        data.table(rows="age", epsilon="0.01", method="noise").release()
        spent = data.ledger_facts()["spent"]
    assert spent != before
    shutil.rmtree(old)
    copy.rename(old)
    upgrade(old)
    with dc.open(old / "people") as data, pytest.raises(LedgerDamaged, match="not the newest"):
        data.ledger_facts()
    words = ["ledger", "accept-restore", str(old / "people"), "--reason", "went back"]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output
    assert "epsilon = 0.01" in " ".join(run.output.split())
    with dc.open(old / "people") as data:
        assert data.ledger_facts()["spent"] == spent
        assert data.ledger_facts()["entries"][-1]["kind"] == "restore"


@pytest.mark.slow
def test_older_and_newer_code_refuse_what_is_not_theirs(old: Path):
    """An old workspace gets a sentence with the command; the new form is marked for older code."""
    for refused in (DataSet.open(old / "people").ledger, lambda: verify(old / "people")):
        with pytest.raises(StoreError, match=r"older version.*`discreet upgrade .*workspace`"):
            refused()
    with pytest.raises(StoreError, match=r"older version.*`discreet upgrade .*workspace`"):
        WorkspaceDatabase(old)
    connection = sqlite3.connect(old / "people" / "store.sqlite3", isolation_level=None)
    last = connection.execute("SELECT max(seq) FROM log").fetchone()[0]
    upgrade(old)
    # version 0.1 reads form 1 and says of any other: "The ledger is stored in form 3, …"
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    # a server of version 0.1 that still runs has looked at the form before
    with pytest.raises(sqlite3.OperationalError, match="has 4 columns but 3 values"):
        connection.execute("INSERT INTO log VALUES (?, ?, ?)", (last + 2, "{}", ""))
    connection.close()
    verify(old / "people")


@pytest.mark.slow
def test_a_ledger_of_the_form_between_is_carried_over(old: Path):
    """Form 2 had names for carried answers, and no column of questions in its log."""
    upgrade(old)
    before = verify(old / "people")
    connection = sqlite3.connect(old / "people" / "store.sqlite3", isolation_level=None)
    connection.execute("DROP INDEX log_question")
    connection.execute("ALTER TABLE log DROP COLUMN question")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(StoreError, match="older version"):
        verify(old / "people")
    assert [one.dataset for one in upgrade(old).ledgers] == ["people"]
    after = verify(old / "people")
    assert (after.spent, after.answers) == (before.spent, before.answers)
    assert after.entries == before.entries + 1


@pytest.mark.parametrize("name", ["people", "staff"])
@pytest.mark.slow
def test_of_several_ledgers_the_damaged_one_is_named(old: Path, name: str):
    connection = sqlite3.connect(old / name / "store.sqlite3", isolation_level=None)
    connection.execute("UPDATE scopes SET spent = cap")
    connection.close()
    with pytest.raises(LedgerDamaged, match=f"The ledger of {name} is damaged: its sums"):
        upgrade(old)


def test_one_data_set_alone(old: Path):
    """A data set can be carried over by itself; its copy is hidden, or it would be served."""
    copy = upgrade(old / "staff").copy
    assert copy is not None
    assert copy.name.startswith(".staff-before-upgrade")
    assert copy.parent == old
    verify(old / "staff")
    with pytest.raises(StoreError, match="older version"):
        verify(old / "people")


@pytest.mark.slow
def test_tampering_with_names_is_found(old: Path):
    """A name that the log does not give is damage."""
    upgrade(old)
    path = old / "people" / "store.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    (sql,) = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = 'carried_UPDATE'"
    ).fetchone()
    connection.execute("DROP TRIGGER carried_UPDATE")
    connection.execute("UPDATE carried SET question = 'another' WHERE rowid = 3")
    connection.execute(sql)
    connection.close()
    with pytest.raises(LedgerDamaged, match="carried over"):
        verify(old / "people")


def test_an_answer_that_cannot_be_named_stays_charged(old: Path):
    """Structural zeros that were declared since: what was measured there is no answer of today."""
    zeros = [{"where": {"age": ["0-15"], "sex": ["f"]}, "reason": "declared since"}]
    change(old / "people", structural_zeros=zeros)
    done = upgrade(old)
    people = next(one for one in done.ledgers if one.dataset == "people")
    assert people.left
    assert all("structural zeros" in why for why in people.left)
    assert str(verify(old / "people").spent) == FACTS["ledgers"]["people"]["verified"]["spent"]


def test_what_stands_in_the_way_is_said_before_anything_changes(old: Path):
    """A description that does not fit its data any more stops the upgrade with nothing done."""
    before = {path: path.read_bytes() for path in old.rglob("*.sqlite3")}
    change(old / "people", id="ward")
    with pytest.raises(InputError, match="discreet load"):
        upgrade(old)
    assert {path: path.read_bytes() for path in old.rglob("*.sqlite3")} == before
    assert [path.name for path in old.parent.iterdir() if "upgrade" in path.name] == []


KILLED = """
import os, sqlite3, sys
left = [int(sys.argv[2])]

class Counted(sqlite3.Connection):
    def execute(self, *args):
        count()
        return super().execute(*args)

def count():
    left[0] -= 1
    if left[0] == 0:
        os._exit(9)

def connect(*args, **more):
    return real(*args, **{**more, "factory": Counted})

def rename(*args):
    count()
    return moved(*args)

real, sqlite3.connect = sqlite3.connect, connect
moved, os.rename = os.rename, rename
replaced = os.replace
os.replace = lambda *args: (count(), replaced(*args))[1]
from discreet.workspace.upgrade import upgrade
upgrade(sys.argv[1])
print(sys.argv[2], left[0])
"""


def killed_after(workspace: Path, steps: int) -> int | None:
    """Upgrade in a process that dies at a step; how many steps it had where it came to its end."""
    command = [sys.executable, "-c", KILLED, str(workspace), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 9:
        return None
    assert done.returncode == 0, done.stderr
    return steps - int(done.stdout.split()[1])


def sound(folder: Path) -> str:
    """The form a ledger is whole in."""
    connection = sqlite3.connect(folder / "store.sqlite3")
    form = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    if form == 1:
        with pytest.raises(StoreError, match="older version"):
            verify(folder)
        return "old"
    verify(folder)
    return "new"


def check_kill(into: Path, step: int, names: list[str]) -> set[str]:
    workspace = unpacked(into)
    assert killed_after(workspace, step) is None
    states = {sound(workspace / name) for name in ("people", "staff")}
    upgrade(workspace)
    with DataSet.open(workspace / "people") as data:
        assert data.ledger().questions(data.data_version) == names
        assert str(data.ledger().spent()) == FACTS["ledgers"]["people"]["verified"]["spent"]
    WorkspaceDatabase(workspace).close()
    shutil.rmtree(into)
    return states


@pytest.mark.parametrize(
    "points",
    [pytest.param(12, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.proof)],
)
def test_killed_at_any_moment_it_is_old_or_new(
    tmp_path: Path, upgraded: Path, another_machine: Callable[[], None], points: int
):
    """Killed at whatever step, an upgrade leaves each ledger whole in one form; the next run finishes."""
    with DataSet.open(upgraded / "people") as data:
        names = data.ledger().questions(data.data_version)
    all_steps = killed_after(unpacked(tmp_path / "all"), 10**6)
    assert all_steps is not None
    states: set[str] = set()
    for point in range(points):
        step = 1 + point * (all_steps - 1) // points
        another_machine()
        states |= check_kill(tmp_path / str(point), step, names)
    assert states == {"old", "new"}


@pytest.mark.slow
def test_the_command_says_what_it_did(old: Path):
    """The copy is named; spent budget and what was charged twice are said."""
    run = CliRunner().invoke(app, ["upgrade", str(old)])
    assert run.exit_code == 0, run.output
    words = "".join(run.output.split())  # a long path is broken anywhere
    assert "before-upgrade-" in words
    assert "staycharged" in words
    again = CliRunner().invoke(app, ["upgrade", str(old)])
    assert "Nothing was done" in again.output


def test_an_answer_charged_today_is_not_replaced_by_a_carried_one(upgraded: Path, tmp_path: Path):
    """Where a name has an answer of its own, that one answers, whatever an upgrade adds later."""
    from discreet.store import Ledger

    folder = tmp_path / "people"
    shutil.copytree(upgraded / "people", folder)
    with Ledger(folder, dataset="people") as ledger:
        names = [
            row[0]
            for row in sqlite3.connect(folder / "store.sqlite3").execute(
                "SELECT question FROM answers ORDER BY seq"
            )
        ]
        mine = ledger.find(names[-1])
        assert mine is not None
    database = sqlite3.connect(folder / "store.sqlite3")
    for (name,) in list(
        database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    ):
        database.execute(f"DROP TRIGGER {name}")
    columns = [row[1] for row in database.execute("PRAGMA table_info(carried)")]
    values = {"answer": names[0], "question": names[-1]}
    database.execute("DELETE FROM carried WHERE answer = ?", (names[0],))
    marks = ", ".join("?" * len(columns))
    database.execute(
        f"INSERT INTO carried VALUES ({marks})", [values.get(name, "{}") for name in columns]
    )
    database.commit()
    from discreet.store.measurement_files import MeasurementFiles
    from discreet.store.sqlite.ledger_rows import SqliteRows

    rows = SqliteRows(database, "people", MeasurementFiles(folder), lambda: 0.0)
    again = rows.answer(names[-1])
    assert again is not None
    assert again.measurements == mine.measurements


def test_words_of_today_are_not_rewritten_again():
    """An upgrade that is begun twice rewrites a waiting job once."""
    from discreet.workspace.old_questions import todays_recipe

    old_words = {"method": "marginals", "objective": "hybrid non-fourier"}
    once = todays_recipe(old_words)
    assert once["noise_on"] == "cells"
    assert todays_recipe(once) == once


@pytest.mark.slow
def test_the_copy_holds_data_sets_behind_links(old: Path, tmp_path: Path):
    """A data set that is a link into another folder is upgraded, so it is copied before."""
    elsewhere = tmp_path / "elsewhere"
    shutil.move(old / "people", elsewhere)
    (old / "people").symlink_to(elsewhere)
    report = upgrade(old)
    assert report.copy is not None
    assert (report.copy / "people" / "store.sqlite3").is_file()
