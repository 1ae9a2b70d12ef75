"""Simulatable: every star can be predicted from public rows of the ledger, and hides nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import formats
from discreet.core.question import Treatment
from discreet.earlier import history
from discreet.errors import Refusal
from discreet.methods import registry
from discreet.methods.base import History, Measurements, Plan
from discreet.methods.suppression.decisions import Decided
from discreet.methods.suppression.groups import places
from discreet.methods.suppression.method import CHARGE_UNIT
from discreet.methods.suppression.table_plan import Result, TablePlan
from discreet.recipe import from_mapping
from discreet.release import Asked, ask
from discreet.workspace import DataSet

from . import world

QUESTION = {"rows": "eyes", "columns": "hair"}


def erase_records(folder: Path) -> None:
    """Only what is public is left: every record is overwritten with zeros, the source is removed."""
    for file in folder.glob("versions/*/data.duckdb"):
        file.chmod(0o600)
        file.write_bytes(bytes(file.stat().st_size))
    (folder.parent / "people.csv").unlink()


def predicted(data: DataSet) -> list[tuple[np.ndarray, np.ndarray]]:
    """What an outsider predicts of each answer of a ledger, with what is stored.

    He has the public description and policy, the questions, and the numbers that came out.
    A cell he is asked for that never came out would have no number: reading it fails.
    """
    facts, method = data.facts, registry.get("suppression")
    every = history(data).answers
    found = []
    for place, answer in enumerate(every):
        before = History("", every[:place])
        plan = method.plan(answer.question, Treatment(), replace(facts, history=before))
        assert isinstance(plan, Plan)
        table: TablePlan = plan.detail[0]
        out, decided = answer.measurements.arrays["values"], answer.measurements.arrays["decided"]
        bins = answer.measurements.facts["suppression"].get("binned")
        if bins:
            found.append((simulated_bins(table, out, decided, bins), decided))
            continue
        inner = tuple(slice(0, n) for n in table.shape)
        shown = np.isin(decided[inner].ravel(), (Decided.RELEASED, Decided.DERIVED))
        found.append((simulated(table, out, shown), decided))
    return found


def simulated_bins(
    table: TablePlan, out: np.ndarray, decided: np.ndarray, bins: list[list[int]]
) -> np.ndarray:
    """The decisions of a table with bins: each bin's count is spread over its cells as they come."""
    groups = tuple(tuple(of) for of in bins)
    joined = table.grouped(groups)
    inner = tuple(slice(0, n) for n in joined.shape)
    shown = np.isin(decided[inner].ravel(), (Decided.RELEASED, Decided.DERIVED))
    left = filled(joined, out, shown).ravel()
    most, counts = table.models()[0].most, np.zeros(len(places(groups)), dtype=np.int64)
    for cell, place in enumerate(places(groups).tolist()):
        counts[cell] = min(int(left[place]), int(most[cell]))
        left[place] -= counts[cell]
    assert not left.any()
    return table.run(counts).decided


def simulated(table: TablePlan, out: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """The decisions of a table whose hidden counts are made up to fit the totals that came out."""
    return table.run(filled(table, out, shown).ravel()).decided


def filled(table: TablePlan, out: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """The numbers that came out, and under the stars any that fit the totals."""
    inner = tuple(slice(0, n) for n in table.shape)
    grid = np.where(shown.reshape(table.shape), out[inner], 0).astype(np.int64)
    if len(table.shape) == 1:  # by one variable only the total is out beside the cells
        left, most = int(out[-1]) - int(grid.sum()), table.models()[0].most
        for cell in np.flatnonzero(~shown).tolist():
            grid[cell] = min(left, int(most[cell]))
            left -= int(grid[cell])
        return grid
    hidden = [tuple(place) for place in np.argwhere(~shown.reshape(table.shape))]
    most = table.models()[0].most.reshape(table.shape)
    rows, columns = out[:-1, -1] - grid.sum(axis=1), out[-1, :-1] - grid.sum(axis=0)
    for i, j in hidden:  # any filling will do: north-west corner first
        grid[i, j] = min(rows[i], columns[j], most[i, j])
        rows[i] -= grid[i, j]
        columns[j] -= grid[i, j]
    assert not rows.any()
    assert not columns.any()
    return grid


@pytest.mark.slow
def test_every_star_and_refusal_is_predicted_from_the_ledger(tmp_path: Path):
    """Tables with stars and one that is refused: a simulator without data gets all of them."""
    folder = world.make(tmp_path, epsilon="0.4", delta="0.1")
    with dc.open(folder) as data:
        data.table(**QUESTION, where={"half": ["n"]}).release()
        with pytest.raises(Refusal) as refused:
            data.table(**QUESTION, where={"half": ["s"]}).release()
    erase_records(folder)
    stars = 0
    with DataSet.open(folder) as data:
        for guess, decided in predicted(data):
            assert np.array_equal(guess, decided)
            stars += int((decided == Decided.SUPPRESSED).sum())
        facts = replace(data.facts, history=history(data))
        south = from_mapping({**QUESTION, "where": {"half": ["s"]}}, data.description, data.policy)
        with pytest.raises(Refusal) as foreseen:
            registry.get("suppression").plan(south.question, Treatment(), facts)
    assert stars
    assert foreseen.value.message == refused.value.message


@pytest.mark.slow
def test_successive_questions_are_predicted_without_records(tmp_path: Path):
    """Totals, a further split of them, and other people: each from the ledger alone."""
    folder = world.make(tmp_path, epsilon="0.45", delta="0.2")
    coarse = {"rows": "eyes", "columns": "tone", "where": {"half": ["n"]}}
    with dc.open(folder) as data:
        data.table(**coarse, cells="no").release()
        data.table(**QUESTION, where={"half": ["n"]}).release()
        data.table(rows="eyes", where={"half": ["s"]}).release()
    erase_records(folder)
    with DataSet.open(folder) as data:
        found = predicted(data)
    assert len(found) == 3
    assert all(np.array_equal(guess, decided) for guess, decided in found)


def other_hidden(table: TablePlan, counts: np.ndarray, hidden: np.ndarray, random) -> np.ndarray:
    """The same table with other counts under its stars: moves around squares of stars."""
    moved = counts.reshape(table.shape).copy()
    mask, most = hidden.reshape(table.shape), table.models()[0].most.reshape(table.shape)
    for _ in range(20):
        i, k = random.choice(table.shape[0], 2, replace=False)
        j, m = random.choice(table.shape[1], 2, replace=False)
        if mask[[i, i, k, k], [j, m, j, m]].all():
            tried = moved.copy()
            tried[i, j] += 1
            tried[k, m] += 1
            tried[i, m] -= 1
            tried[k, j] -= 1
            if (tried >= 0).all() and (tried <= most).all():
                moved = tried
    return moved.ravel()


OTHERS = 20
"""So many data sets are set beside one."""


def pairs_agree(folder: Path, wanted: int, seed: int) -> int:
    """Pairs of data sets that agree on what came out: the same bytes in every format."""
    random = np.random.default_rng(seed)
    found = 0
    with DataSet.open(folder) as data:
        asked = ask(data, from_mapping(QUESTION, data.description, data.policy))
        table: TablePlan = asked.plan.detail[0]
        people = table.people[0]
        while found < wanted:
            counts = np.array([random.binomial(cell.counts[0], cell.laws[0][1]) for cell in people])
            first = table.run(counts)
            hidden = first.decided[:-1, :-1].ravel() == Decided.SUPPRESSED
            if not hidden.any():
                continue
            bytes_of_first = written(asked, data, first)
            for _ in range(min(OTHERS, wanted - found)):
                other = other_hidden(table, counts, hidden, random)
                if not np.array_equal(other, counts):
                    found += 1
                    assert written(asked, data, table.run(other)) == bytes_of_first
    return found


def written(asked: Asked, data: DataSet, result: Result) -> list[bytes]:
    """What is published of a result, in every format."""
    told = {**asked.plan.question.settings, "charged": [str(one) for one in result.charged]}
    measured = Measurements(
        {"values": result.values, "decided": result.decided, "charges": _whole(result.charges)},
        {"suppression": {**told, "order_of_cells": result.order}},
    )
    (out,) = asked.method.fit(asked.plan, measured, data.facts, None)  # type: ignore[arg-type]
    return [formats.to_bytes(out, name) for name in formats.FORMATS]


def _whole(charges: np.ndarray) -> np.ndarray:
    return np.ceil(charges * CHARGE_UNIT).astype(np.int64)


@pytest.fixture(scope="module")
def starred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.make(tmp_path_factory.mktemp("pairs"), epsilon="0.35", delta="0.02")


@pytest.mark.slow
def test_what_stars_hide_changes_no_byte(starred: Path):
    """Twenty pairs of data sets, in every format."""
    assert pairs_agree(starred, 20, 1) == 20


@pytest.mark.proof
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_pairs_give_the_same_bytes(starred: Path, part: int, record_property):
    """10,000 pairs of data sets that agree on released values give identical bytes in every format."""
    record_property("pairs", pairs_agree(starred, 1000, part))
