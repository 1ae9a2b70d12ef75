"""Killed at any write between the first byte and the data set: it goes on, or nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.file_names import DRAFTS, SOURCES
from discreet.workspace import DataSet
from discreet.workspace.draft_folder import Drafts

from .draft_killed import NAME
from .drafting import stays

ROOT = Path(__file__).parents[2]
KEPT = {"draft.json", "lock"}
"""What a finished draft keeps until it is swept; a kill may leave a draft.json half written beside."""


class Journeys:
    """A process that makes drafts in children of its own, which are killed."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "tests.server.draft_killed"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words, cwd=ROOT, env=os.environ, stdin=pipe, stdout=pipe, text=True
        )

    def run(self, workspace: Path, moment: int | None) -> bool:
        """Whether the draft reached its end; else it was killed at this write."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{'-' if moment is None else moment} {workspace}\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        assert status in (0, -signal.SIGKILL)
        return status == 0

    def close(self) -> None:
        self._process.communicate("")


@pytest.fixture
def journeys() -> Iterator[Journeys]:
    made = Journeys()
    yield made
    made.close()


def made(workspace: Path) -> dict[str, bytes]:
    """What of a data set is the same however it was made: description, code lists, source."""
    folder = workspace / NAME
    kept = [folder / "discreet.yaml", *folder.glob("categories/*"), *folder.glob(f"{SOURCES}/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def whole_or_absent(workspace: Path) -> None:
    """A workspace never holds half of a data set."""
    if (workspace / NAME).exists():
        with DataSet.open(workspace / NAME) as data:
            assert data.data_version


def killed_and_gone_on(journeys: Journeys, tmp_path: Path, moments: Iterable[int]) -> Counter[str]:
    """Kill at each of these writes and go on; how far the drafts were, and how often."""
    whole = tmp_path / "whole" / "work"
    whole.mkdir(parents=True)
    assert journeys.run(whole, None)
    expected, found = made(whole), Counter[str]()
    assert len(expected) >= 2
    for moment in moments:
        place = tmp_path / str(moment)
        workspace = place / "work"
        workspace.mkdir(parents=True)
        if journeys.run(workspace, moment):
            break
        said = (place / "progress").read_text("utf-8").split()
        found[said[-1] if said else "beginning"] += 1
        whole_or_absent(workspace)
        cancelled = place / "cancelled"
        shutil.copytree(workspace, cancelled)
        left_by_a_cancel(cancelled)
        assert journeys.run(workspace, None)
        assert made(workspace) == expected
        assert len(list((workspace / NAME / "versions").glob("0*"))) == 1
        assert [one.state.state for one in Drafts(workspace).all()] == ["done"]
        parts = [path.name for path in (workspace / DRAFTS).rglob("*") if path.is_file()]
        assert {name for name in parts if not name.startswith(".draft.json.")} <= KEPT
        shutil.rmtree(place)
    return found


def left_by_a_cancel(workspace: Path) -> None:
    """Cancelled after the kill instead, and swept: no draft, no byte of the file beside a data set."""
    drafts = Drafts(workspace)
    for draft in drafts.all():
        draft.delete()
    drafts.sweep(before=0)
    shutil.rmtree(workspace / NAME, ignore_errors=True)
    young = [path for path in (workspace / DRAFTS).glob("*") if path.is_dir()]
    left = {path.name for folder in young for path in folder.rglob("*") if path.is_file()}
    assert not [name for name in left if not name.startswith(".draft.json.")]  # cut off as it began
    start = stays(120)[:40]
    holds = [path for path in workspace.rglob("*") if path.is_file() and start in path.read_bytes()]
    assert holds == []


@pytest.mark.slow
def test_killed_at_some_writes_it_goes_on(journeys: Journeys, tmp_path: Path):
    """From the same bytes the same data set, once, whatever was interrupted; cancelled, nothing stays."""
    found = killed_and_gone_on(journeys, tmp_path, (5, 21, 45, 80))
    assert found.total() == 4, found


@pytest.mark.proof
def test_killed_at_every_write_it_goes_on(journeys: Journeys, tmp_path: Path, record_property: Any):
    """A draft killed at any write between its first byte and its data set goes on to the same one."""
    found = killed_and_gone_on(journeys, tmp_path, range(10_000))
    record_property("kills", ", ".join(f"{many} while {step}" for step, many in found.items()))
    assert found.total() > 60
    assert set(found) >= {"uploading", "looking", "open", "loading"}
