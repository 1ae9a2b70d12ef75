"""Attacks over HTTP: a live server that serves a twin gives the figures of the in-process run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import trials, workspace
from discreet.core.table import ProtectedTable
from discreet.errors import InputError
from discreet.quality.attacks import served, twin_workspace
from discreet.workspace import DataSet

from ..command import run
from ..languages.german import write_stays
from ..server.serving import Processes

KEYED = "family: cell-key\nrules: {max_variables: 2}\n"
DP = "family: dp\nmethod: noise\nbudget: {epsilon: 6}\n"
REPLACED = "records: 900\n" + DP
ROUNDS = {"differencing": 300, "same-set": 300, "small-cells": 300, "membership": 600}
ONLY = "differencing,small-cells,membership,many-users,repetition"


@pytest.fixture(scope="module", autouse=True)
def fewer_rounds() -> Any:
    """The same games with fewer rounds, in this process."""
    before = dict(served.SERVED)
    quick = {name: before[name].func for name in ROUNDS}  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        games = {name: served.partial(game, rounds=ROUNDS[name]) for name, game in quick.items()}
        patch.setattr(served, "SERVED", games)
        patch.setattr(served, "KEYED", {})
        patch.setattr(served, "TRIES", 20)
        yield


def stays(folder: Path, policy: str) -> Path:
    workspace.load(write_stays(folder, policy, people=900))
    return folder


def alike(one: float, of: int, two: float, again: int) -> bool:
    """Two shares of so many trials, no further apart than chance allows (one in a million)."""
    mean = (one * of + two * again) / (of + again)
    spread = sqrt(max(mean * (1 - mean), 1 / (of + again)) * (1 / of + 1 / again))
    return abs(one - two) <= 4.9 * spread


@pytest.mark.slow
@pytest.mark.parametrize("policy", [KEYED, DP, REPLACED], ids=["keyed", "dp", "replace-one"])
def test_a_live_server_gives_the_figures_of_the_run_in_process(tmp_path: Path, policy: str) -> None:
    """A server process, an analyst's token, the public API: each share alike, no claim exceeded."""
    data, twin = stays(tmp_path / "data", policy), tmp_path / "twin"
    token = trials.write_twin(data, twin, epsilon="" if policy is KEYED else "1")
    server = Processes(twin, 1)
    try:
        server.wait()
        page = tmp_path / "attacks.html"
        more = () if policy is KEYED else ("--epsilon", "1")
        with dc.connect(server.url, token) as asked:
            from discreet.cli.twin_server import asking

            found = trials.attack(
                data, epsilon="" if policy is KEYED else "1", ask=asking(asked, server.url)
            )
        wrong = run("attack", data, *more, "--server", server.url, "--token", "no", "-o", page)
        assert wrong.returncode != 0
        other = run("attack", data, "--only", "same-set", "--server", server.url, "-o", page)
        assert (other.returncode, "--keep-twin" in other.stderr) == (2, True)
    finally:
        server.close()
    same = [*ROUNDS, "many-users", "repetition"]
    here = {str(one.group): one for one in trials.attack(data, same).found}
    assert [str(one.group) for one in found.refuted] == []
    for one in found.found:
        own = here[str(one.group)]
        assert one.baseline >= one.baseline_needed
        assert one.ceiling == own.ceiling
        if one.group not in ("many users", "repetition"):
            assert one.measured is not None
            assert own.measured is not None
            assert alike(one.measured, one.trials, own.measured, own.trials), one.group
    assert found.to_json()["over_http"] is True
    assert "live server" in found.sentences()[-1]


def true_counts(folder: Path) -> np.ndarray:
    """What a data set of the twin holds: everybody in it is made up."""
    _, *lines = (folder / "people.csv").read_text().splitlines()
    seen = Counter(line.split(",")[1] for line in lines)
    codes = [line.split(",")[0] for line in (folder / "cells.csv").read_text().splitlines()[1:]]
    return np.array([seen[code] for code in codes])


def test_a_server_without_noise_is_caught(tmp_path: Path) -> None:
    """The claim of a server that answers with the true counts is refuted; one that keeps it is not."""
    data, twin = stays(tmp_path / "data", DP), tmp_path / "twin"
    trials.write_twin(data, twin, ["membership"])

    def honest(name: str, recipe: Mapping[str, Any]) -> ProtectedTable:
        with dc.open(twin / name) as asked:
            (table,) = asked.recipe(dict(recipe)).release().detail.tables
        return table

    def wrong(name: str, recipe: Mapping[str, Any]) -> ProtectedTable:
        return replace(honest(name, recipe), values=true_counts(twin / name))

    assert not trials.attack(data, ["membership"], ask=honest).refuted
    refuted = trials.attack(data, ["membership"], ask=wrong).refuted
    assert [str(one.group) for one in refuted] == ["membership"]


def test_a_twin_holds_nobody_and_only_the_policy(tmp_path: Path) -> None:
    """No record, key or ledger of the custodian's; a p-table that the policy names goes with it."""
    data, twin = stays(tmp_path / "data", KEYED), tmp_path / "twin"
    trials.write_twin(data, twin, ["small-cells"])
    text = "".join(path.read_text() for path in twin.rglob("*.csv"))
    assert "v1;" not in text
    assert "aufenthalte" not in text
    with DataSet.open(data) as own:
        secret, said = own.secrets.derive("x"), own.policy.parameters("cell-key")
    for folder in twin.glob("twin-*-1"):
        with DataSet.open(folder) as made:
            assert made.policy.parameters("cell-key") == said
            assert made.secrets.derive("x") != secret
    assert list(twin_workspace._files({"p_table": CSV, "n": "5"}, data)) == [CSV]


CSV = "aufenthalte.csv"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--over-http", "--server", "http://x"), "exclude one another"),
        (("--over-http", "--only", "update"), "needs more than an analyst has"),
        (("--keep-twin", "."), "is not empty"),
    ],
)
def test_what_cannot_be_done_over_http_is_said(
    tmp_path: Path, more: tuple[str, ...], words: str
) -> None:
    """One sentence, before anything is written or served."""
    data = stays(tmp_path / "data", KEYED)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    said = [str(tmp_path / "full") if word == "." else word for word in more]
    done = run("attack", data, *said, "-o", tmp_path / "a.html")
    assert (done.returncode, words in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_suppression_is_not_attacked_over_http(tmp_path: Path) -> None:
    """Its attacks are on whole tables with priors, in process."""
    from ..languages.test_german import SUPPRESSION

    data = stays(tmp_path / "data", SUPPRESSION)
    with pytest.raises(InputError, match="in this process alone"):
        trials.write_twin(data, tmp_path / "twin")


@pytest.mark.slow
def test_the_command_serves_and_attacks_by_itself(tmp_path: Path) -> None:
    """`--over-http` leaves nothing behind but the report."""
    data = stays(tmp_path / "data", DP)
    page = tmp_path / "a.html"
    done = run(
        "attack", data, "--over-http", "--only", "repetition,many-users", "--json", "-o", page
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["over_http"], told["refuted"]) == (True, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "data"]
    (users,) = [one for one in told["attacks"] if one["group"] == "many users"]
    assert 0.9 < users["measured"] <= 1
