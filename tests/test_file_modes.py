"""Nothing of a workspace can be read by others, from its first byte on, whatever the umask."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from discreet import workspace
from discreet.durable import SHARED, owner_only, replace_text
from discreet.engines.coding import Source
from discreet.engines.duckdb.profiling import profile
from discreet.workspace import DataSet, UnitChoice, init, load, versions

from .patience import PATIENCE
from .workspace.people import CONTEXT, finish, make_people, start, write_people

NOBODY = 65534


def everything(folder: Path) -> Iterator[Path]:
    yield folder
    with contextlib.suppress(FileNotFoundError):
        yield from sorted(folder.rglob("*"))


def loose(folder: Path) -> list[str]:
    """What anybody but the owner may read, write or enter."""
    found = []
    for path in everything(folder):
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_mode & 0o077:
                found.append(f"{path.lstat().st_mode & 0o777:o} {path}")
    return found


def holding(folder: Path, what: bytes) -> list[str]:
    """The files that hold these bytes."""
    found = []
    for path in everything(folder):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            if what in path.read_bytes():
                found.append(path.name)
    return found


SESSION = """
import os, sys
os.umask(0)
import discreet as dc
from discreet import workspace
from discreet.store import Jobs
from discreet.store.audit_log import AuditLog
from discreet.store.workspace_database import WorkspaceDatabase
from pathlib import Path
source, folder = Path(sys.argv[1]), Path(sys.argv[2])
budget = {"epsilon": "4"}
for name, family in (("keyed", "cell-key"), ("dp", "dp")):
    more = {"budget": budget} if family == "dp" else {}
    workspace.init(source, folder / name, family=family, **more)
    workspace.declare(folder / name)
    with dc.open(folder / name) as data:
        asked = data.table(rows="sex", **({"epsilon": "1"} if family == "dp" else {}))
        asked.release()
Jobs(folder).close()
WorkspaceDatabase(folder).close()
AuditLog(folder).close()
assert os.umask(0) == 0
"""


@pytest.mark.slow
def test_a_loose_umask_changes_nothing(tmp_path: Path) -> None:
    """init, declare, load, tables of two families, jobs, accounts and audit log under umask 000."""
    people = make_people(tmp_path / "source", 200)
    command = [sys.executable, "-c", SESSION, str(people / "people.csv"), str(tmp_path / "work")]
    subprocess.run(command, check=True, timeout=PATIENCE)
    names = {path.name for path in everything(tmp_path / "work")}
    assert {
        "data.duckdb",
        "store.sqlite3",
        "cache.sqlite3",
        "jobs.sqlite3",
        "audit.sqlite3",
    } <= names
    assert loose(tmp_path / "work") == []


def load_and_wait(folder: str, begun: Connection) -> None:
    """Load under umask 000, and wait for ever once records are being coded."""
    from discreet.core.control import Control

    os.umask(0)

    def progress(done: float, doing: str) -> None:
        if doing.startswith("coding"):
            begun.send(doing)
            signal.pause()

    load(folder, Control(progress))


def open_files_as_nobody(folder: str) -> None:
    """Exit with 1 where another account can read any file of a folder."""
    paths = [path for path in everything(Path(folder)) if path.is_file()]
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    for path in paths:
        with contextlib.suppress(PermissionError):
            path.read_bytes()
            os._exit(1)
    os._exit(0 if paths else 2)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_load_that_is_killed_leaves_no_id_and_nothing_readable(
    tmp_path: Path, encoding: str
) -> None:
    """While it runs, after kill -9, and after the data set is opened again: then it is gone."""
    folder = make_people(tmp_path / "people", 3_000)
    load(folder)
    rows = [f"NHS{n:07d},{'abc'[n % 3]},{'nns'[n % 3]},{'fm'[n % 2]}" for n in range(3_000)]
    source = tmp_path / "source.csv"
    source.write_text("\n".join(["person,ward,side,sex", *rows]) + "\n", encoding=encoding)
    yaml = folder / "discreet.yaml"
    yaml.write_text(yaml.read_text().replace("people.csv", str(source)))
    os.chmod(tmp_path, 0o755)
    ours, theirs = CONTEXT.Pipe()
    process = start(load_and_wait, str(folder), theirs)
    assert ours.poll(PATIENCE)
    (spare,) = (folder / "versions").glob(".loading-*")
    try:
        assert (spare / "scratch" / "staged.duckdb").exists()
        assert loose(folder / "versions") == []
        assert holding(folder, b"NHS000") == holding(folder, "NHS000".encode("utf-16-le")) == []
        assert workspace.DataSet.open(folder).close() is None  # and leaves it to who is loading
        assert spare.exists()
    finally:
        process.kill()
        process.join()
    assert spare.exists()
    assert loose(folder / "versions") == []
    assert holding(folder, b"NHS000") == holding(folder, "NHS000".encode("utf-16-le")) == []
    if os.getuid() == 0:
        assert finish(start(open_files_as_nobody, str(spare))) == 0
    DataSet.open(folder).close()
    assert not spare.exists()
    load(folder)


@pytest.mark.slow
def test_the_scan_sees_what_is_staged(tmp_path: Path) -> None:
    """The twin of the test above: values of variables are staged, and the scan finds them."""
    words = "\n".join(f"p{n},{'alderwood' if n % 2 else 'birchwood'}" for n in range(3_000))
    folder = tmp_path / "woods"
    folder.mkdir()
    (folder / "woods.csv").write_text(f"person,wood\n{words}\n")
    (folder / "discreet.yaml").write_text(
        "dataset: woods\nsource: {file: woods.csv}\nid: person\nvariables:\n"
        "  wood: {column: wood, categories: [alderwood, birchwood]}\n"
    )
    ours, theirs = CONTEXT.Pipe()
    process = start(load_and_wait, str(folder), theirs)
    try:
        assert ours.poll(PATIENCE)
        assert holding(folder / "versions", b"alderwood")
    finally:
        process.kill()
        process.join()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "sqlite", "duckdb"])
def test_no_kind_of_source_leaves_its_ids(tmp_path: Path, kind: str) -> None:
    """While records are coded no file of the data set holds an id, whatever they are read from."""
    source = _source(tmp_path, kind)
    folder = make_people(tmp_path / "people")
    yaml = folder / "discreet.yaml"
    yaml.write_text(yaml.read_text().replace("{file: people.csv}", source))
    (folder / "people.csv").unlink()
    ours, theirs = CONTEXT.Pipe()
    process = start(load_and_wait, str(folder), theirs)
    try:
        assert ours.poll(PATIENCE)
        assert holding(folder, b"NHS000") == []
        assert loose(folder / "versions") == []
    finally:
        process.kill()
        process.join()
    load(folder)


def _source(folder: Path, kind: str) -> str:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = range(3_000)
    columns: dict[str, Any] = {
        "person": [f"NHS{n:07d}" for n in rows],
        "ward": ["abc"[n % 3] for n in rows],
        "side": ["nns"[n % 3] for n in rows],
        "sex": ["fm"[n % 2] for n in rows],
    }
    table = pa.table(columns)
    if kind == "parquet":
        pq.write_table(table, folder / "x.parquet")
        return f'{{file: "{folder}/x.parquet"}}'
    if kind == "duckdb":
        with duckdb.connect(str(folder / "x.duckdb")) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
    else:
        import sqlite3

        with contextlib.closing(sqlite3.connect(folder / "x.sqlite")) as database:
            database.execute("CREATE TABLE people (person, ward, side, sex)")
            filled = list(zip(*columns.values(), strict=True))
            database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", filled)
            database.commit()
    return f'{{database: "{kind}:///{folder}/x.{kind}", table: people}}'


def test_what_a_killed_profile_left_is_removed_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, used, young = (tmp_path / f"discreet-profile-{name}" for name in ("a", "b", "c"))
    for folder in (left, used, young):
        folder.mkdir()
        (folder / "staged.duckdb").write_text("people")
    for folder in (left, used):
        os.utime(folder, (1, 1))
    handle = os.open(used, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    write_people(tmp_path, 40)
    profile(Source.guess(tmp_path / "people.csv"))
    os.close(handle)
    kept = sorted(path.name for path in tmp_path.glob("discreet-*"))
    assert kept == ["discreet-profile-b", "discreet-profile-c"]


def test_check_names_what_an_older_version_left_open(tmp_path: Path) -> None:
    """One command closes it; a closed folder makes what lies in it nobody's business."""
    folder = make_people(tmp_path / "people")
    load(folder)
    version = versions.every(folder)[0]
    for path in (folder, folder / "versions", version):
        path.chmod(0o755)
    (version / "data.duckdb").chmod(0o644)
    (tmp_path / "jobs.sqlite3").touch(mode=0o644)
    tmp_path.chmod(0o755)
    told = [str(finding) for finding in workspace.check(folder)]
    assert any(f"data.duckdb. Run `chmod -R go= {folder}`" in words for words in told)
    assert any("jobs.sqlite3" in words for words in told)
    folder.chmod(0o700)
    tmp_path.chmod(0o700)
    assert not any("others on this machine" in str(one) for one in workspace.check(folder))


def test_what_is_handed_on_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        replace_text(tmp_path / "own", "x")
        replace_text(tmp_path / "shared", "x", mode=SHARED)
        with owner_only(), owner_only():
            (tmp_path / "library").touch()
        (tmp_path / "after").touch()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"own": 0o600, "shared": 0o644, "library": 0o600, "after": 0o644}


def test_a_release_is_for_readers_but_not_its_internal_report(tmp_path: Path) -> None:
    import discreet as dc

    folder = make_people(tmp_path / "people")
    load(folder)
    before = os.umask(0o022)
    try:
        with dc.open(folder) as data:
            data.table(rows="sex").release().write(tmp_path / "out", formats=["csv"])
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "out").glob("*.html")}
    assert modes == {"report.html": 0o644, "report-internal.html": 0o600}


def test_a_unit_said_at_once_is_loaded(tmp_path: Path) -> None:
    """What `init` makes is its owner's before there is any secret in it."""
    make_people(tmp_path / "source")
    made = init(tmp_path / "source" / "people.csv", tmp_path / "a" / "b", unit=UnitChoice("person"))
    assert made.loaded is not None
    assert loose(tmp_path / "a") == []
