"""Killed at any moment of measuring or fitting: charged once, one answer, the fit goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from discreet.workspace import DataSet

from ...attacks.people import make
from ...test_derive_marginals import VARIABLES
from .killed import asked

ROOT = Path(__file__).parents[3]


def killed(folder: Path, epsilon: str, moment: int) -> str:
    """What a release in another process was killed at; empty: it had ended before that."""
    words = [sys.executable, "-m", "tests.methods.topdown.killed"]
    said = [*words, str(folder), epsilon, str(moment)]
    done = subprocess.run(
        said, cwd=ROOT, env=os.environ, check=False, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode in (0, -signal.SIGKILL)
    doing = done.stdout.strip()
    assert bool(doing) == (done.returncode != 0)
    return doing


def charged_once(folder: Path, epsilon: str, doing: str) -> None:
    """Asked again twice: one charge, one answer, fitted from what was stored before the kill."""
    with DataSet.open(folder) as data:
        question = asked(data, epsilon)
        name = question.plan.question_hash
        before = data.ledger().find(name)
        if doing.startswith("fitting"):
            assert before is not None, "fitting begins when the measurements are on disk"
        first, again = question.release(), asked(data, epsilon).release()
        stored = data.ledger().find(name)
        assert stored is not None
        if before is not None:
            assert first.reused
            assert stored.measurements == before.measurements
        charges = [e for e in data.ledger().entries() if e.kind == "charge"]
        assert sum(e.body["question"] == name for e in charges) == 1
        assert [t.values.tolist() for t in first.tables] == [
            t.values.tolist() for t in again.tables
        ]


def kill(tmp_path: Path, kills: int, first: int = 0, step: int = 1) -> Counter[str]:
    """Kill releases of ever new questions at ever later moments; at what, and how often."""
    folder = make(tmp_path, "dp", variables=VARIABLES, budget={"epsilon": "1000"})
    found: Counter[str] = Counter()
    moment = first
    for number in range(2 * kills):
        epsilon = f"0.005{number:03d}"
        doing = killed(folder, epsilon, moment)
        charged_once(folder, epsilon, doing)
        moment = moment + step if doing else 0
        if doing:
            found[doing.split(" ")[0]] += 1
        if found.total() == kills:
            break
    return found


@pytest.mark.slow
def test_a_killed_release_is_charged_once(tmp_path: Path) -> None:
    """A few moments from planning to the last table, one while fitting."""
    found = kill(tmp_path, 3, first=4, step=2)
    assert found["fitting"] >= 1


@pytest.mark.proof
def test_a_hundred_kills(tmp_path: Path, record_property: Any) -> None:
    """100 kills while measuring, writing and fitting: charged once, one answer, fitted from store."""
    found = kill(tmp_path, 100)
    record_property("killed at", ", ".join(f"{doing} {n}" for doing, n in sorted(found.items())))
    assert found.total() == 100
    assert min(found["adding"], found["writing"], found["fitting"]) >= 8
