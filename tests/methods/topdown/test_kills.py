"""Killed at any moment of measuring or fitting: charged once, one answer, the fit goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.workspace import DataSet

from ...attacks.people import make
from ...test_derive_marginals import VARIABLES
from .killed import asked

ROOT = Path(__file__).parents[3]


def killed(folder: Path, epsilon: str, moment: int) -> bool:
    """Whether a release in another process was killed; False: it had ended before that."""
    words = [sys.executable, "-m", "tests.methods.topdown.killed"]
    done = subprocess.run(
        [*words, str(folder), epsilon, str(moment)], cwd=ROOT, env=os.environ, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


def charged_once(folder: Path, epsilon: str) -> None:
    """Asked again twice: one charge, the same numbers."""
    with DataSet.open(folder) as data:
        first = asked(data, epsilon).release()
        again = asked(data, epsilon).release()
        name = first.plan.question_hash
        charges = [e for e in data.ledger().entries() if e.kind == "charge"]
        assert sum(e.body["question"] == name for e in charges) == 1
        assert [t.values.tolist() for t in first.tables] == [
            t.values.tolist() for t in again.tables
        ]


def kill(tmp_path: Path, kills: int, step: int) -> int:
    """Kill releases of ever new questions at ever later moments; how many were killed."""
    folder = make(tmp_path, "dp", variables=VARIABLES, budget={"epsilon": "1000"})
    found = moment = 0
    for number in range(kills):
        epsilon = f"1.{number + 1:03d}"
        if killed(folder, epsilon, moment):
            found += 1
            moment += step
        else:
            moment = 0
        charged_once(folder, epsilon)
    return found


@pytest.mark.slow
def test_a_killed_release_is_charged_once(tmp_path: Path) -> None:
    """A few moments from planning to the last table."""
    assert kill(tmp_path, 5, 4) >= 3


@pytest.mark.proof
def test_a_hundred_kills(tmp_path: Path, record_property: Any) -> None:
    """100 kills while measuring, writing and fitting: charged once, one answer, the fit resumes."""
    found = kill(tmp_path, 108, 1)
    record_property("kills", found)
    assert found >= 95
