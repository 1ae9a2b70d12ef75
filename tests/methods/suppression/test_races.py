"""Kills and races: many askers of one attribute, some killed: one history, δ never overspent."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
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
import random, sys, time
import discreet as dc
from discreet.errors import DiscreetError
from discreet.methods.suppression.method import SuppressionMethod
from discreet.workspace import DataSet

folder, seed, many, towns, stop = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]


def stops_after(owner, name, word):
    inner = getattr(owner, name)

    def called(*given, **named):
        result = inner(*given, **named)
        print(word, flush=True)
        time.sleep(600)
        return result

    setattr(owner, name, called)


if stop == "decided":
    stops_after(SuppressionMethod, "measure", stop)
if stop == "committed":
    with DataSet.open(folder) as data:
        stops_after(type(data.ledger()), "commit", stop)
draws = random.Random(seed)
print("ready", flush=True)
for _ in range(many):
    columns = draws.choice(["hair", "hair", "tone"])
    where = {"half": [f"t{draws.randrange(towns)}"]} if draws.random() < 0.95 else {}
    more = draws.choice([{}, {}, {"cells": "no"}, {"bins": "3"}])
    try:
        with dc.open(folder) as data:
            data.table(rows="eyes", columns=columns, where=where, **more).release()
        print("answered", flush=True)
    except DiscreetError:
        print("refused", flush=True)
"""
STOPS = ("decided", "committed", "")
"""Where a process is killed: before its decision is committed, after it, or anywhere."""


class Asker:
    """One process that asks question after question."""

    def __init__(self, folder: Path, seed: int, many: int, towns: int, stop: str = "") -> None:
        said = [str(folder), str(seed), str(many), str(towns), stop]
        self.many, self.heard = many, Counter[str]()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ASKER, *said], stdout=subprocess.PIPE, text=True
        )

    def hear(self) -> str:
        """What it says next; empty when it has ended."""
        assert self.process.stdout is not None
        word = self.process.stdout.readline().strip()
        if word in ("answered", "refused"):
            self.heard[word] += 1
        return word

    def end(self) -> Counter[str]:
        """Hear it to its end."""
        while self.hear():
            pass
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.heard

    def kill_at(self, stop: str, after: int) -> bool:
        """Kill it where it stops, or after so many answers; whether it was still at work."""
        left = after
        while word := self.hear():
            left -= word in ("answered", "refused")
            if word == stop or (not stop and left <= 0):
                self.process.kill()
                return True
        return False


def race(folder: Path, clients: int, questions: int, kills: int, towns: int) -> dict[str, int]:
    """Let clients ask overlapping questions; kill some in their work, others take theirs over."""
    draws = random.Random(3)
    each = max(1, questions // clients)
    stops = [STOPS[k % len(STOPS)] for k in range(kills)]
    doomed = [Asker(folder, seed, each, towns, stop) for seed, stop in enumerate(stops[:clients])]
    running = [Asker(folder, seed, each, towns) for seed in range(len(doomed), clients)]
    heard: Counter[str] = Counter()
    for seed, stop in enumerate(stops):
        one = doomed.pop(0) if doomed else running.pop(0)
        if one.kill_at(stop, draws.randrange(1, max(2, each - 1))):
            heard[f"killed {stop or 'anywhere'}"] += 1
        heard += one.end()
        left = max(1, each - one.heard.total())
        more = Asker(
            folder,
            1000 + seed,
            left,
            towns,
            stops[seed + clients] if seed + clients < kills else "",
        )
        (doomed if seed + clients < kills else running).append(more)
    for one in running:
        heard += one.end()
    return {**heard, "in the ledger": checked(folder)}


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
    """Four askers, three killed, one of them between its decision and its commit: all is replayed."""
    folder = world.make_towns(tmp_path, 6)
    found = race(folder, 4, 12, 3, 6)
    assert found["killed decided"] == 1
    assert found["in the ledger"] >= 3


@pytest.mark.proof
def test_sixteen_clients_two_hundred_questions(tmp_path: Path, record_property):
    """16 clients ask 200 overlapping questions of one attribute while some are killed, before and
    after their commits: one history, every decision replayable from the ledger, δ never overspent."""
    folder = world.make_towns(tmp_path, 40, 6)
    found = race(folder, 16, 208, 12, 40)
    for name, many in found.items():
        record_property(name, many)
    assert found["killed decided"] >= 3
    assert found["killed committed"] >= 3
    assert found["in the ledger"] >= 40
    assert found["answered"] >= 100
