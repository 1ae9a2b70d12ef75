"""Kills and races: many askers of one attribute, some killed: one history, δ never overspent."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.api import verify_ledger
from discreet.earlier import history
from discreet.methods.suppression.decisions import Decided
from discreet.workspace import DataSet

from . import world
from .test_simulatable import predicted

ASKER = """
import sys
import discreet as dc
from discreet.errors import DiscreetError
folder, seed, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
import random
draws = random.Random(seed)
sides = ["eyes", "hair", "half"]
print("ready", flush=True)
for _ in range(many):
    rows, columns, other = draws.sample(sides, 3)
    codes = {"eyes": ["blue", "black", "brown"], "hair": ["blonde", "black", "brown"], "half": ["n", "s"]}
    where = {other: [draws.choice(codes[other])]} if draws.random() < 0.8 else {}
    try:
        with dc.open(folder) as data:
            data.table(rows=rows, columns=columns, where=where).release()
    except DiscreetError:
        pass
    print("asked", flush=True)
"""


def race(folder: Path, clients: int, questions: int, kills: int) -> int:
    """Let clients ask overlapping questions and kill some; how many answers there are."""
    draws = random.Random(3)
    each = max(1, questions // clients)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ASKER, str(folder), str(seed), str(each)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(clients)
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in draws.sample(running, kills):
        assert one.stdout is not None
        for _ in range(draws.randrange(max(1, each - 1))):  # somewhere in its work
            one.stdout.readline()
        one.kill()
    for one in running:
        one.wait()
        assert one.stdout is not None
        one.stdout.close()
    return checked(folder)


def checked(folder: Path) -> int:
    """The ledger verifies, every decision can be replayed from it, and δ is not overspent."""
    assert verify_ledger(folder)["answers"] >= 1
    spent = 0.0
    with DataSet.open(folder) as data:
        answers = predicted(data)
        for guess, decided in answers:
            assert np.array_equal(guess, decided)

        for answer in history(data).answers:
            spent += float(answer.measurements.facts["suppression"]["charged"][0])
        assert spent <= 0.2 + 1e-9
    assert all((decided != Decided.OPEN).any() for _, decided in answers)
    return len(answers)


@pytest.mark.slow
def test_askers_that_race_and_die_leave_one_history(tmp_path: Path):
    """Three askers, one killed: the ledger verifies and every decision is replayed from it."""
    folder = world.make(tmp_path)
    assert race(folder, 3, 6, 1) >= 1


@pytest.mark.proof
def test_sixteen_clients_two_hundred_questions(tmp_path: Path, record_property):
    """16 clients ask 200 overlapping questions of one attribute while some are killed: one history,
    every decision replayable from the ledger, δ never overspent."""
    folder = world.make(tmp_path)
    record_property("answers", race(folder, 16, 200, 6))
