"""Bins made by safe splitting: the guarantee by enumeration, exact chances, and the flow."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import formats
from discreet.core.table import Status
from discreet.errors import RecipeError, Refusal
from discreet.methods.suppression import laws
from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.binning import BinnedPeople, make_bins, split_chance, true_sums
from discreet.methods.suppression.cell_weights import CellPeople, cell_law
from discreet.methods.suppression.decisions import Decided, Rule
from discreet.methods.suppression.exact_law import marginals, parts
from discreet.methods.suppression.groups import axis_mass, median_groups
from discreet.methods.suppression.outlook import Outlook
from discreet.methods.suppression.past import Split
from discreet.methods.suppression.saddlepoint import Refit
from discreet.methods.suppression.splitting import split_board

from . import world
from .brute_force import DataSets
from .test_end_to_end import (
    HALF,
    THREE,
    TWO,
    WHOLE,
    broken_and_spent,
    cell_of,
    plan,
    published,
)

CERTAIN = (0.0, 1.0)
CASES = [
    ("one way", [HALF] * 3, (4,), (4,), 0.8, 0.5, False),
    ("one way of two types", [TWO, TWO, THREE], (4,), (3,), 0.9, 0.6, False),
    ("two by two", [HALF] * 3, (2, 2), (2, 2), 0.8, 0.6, False),
    ("the paper's rule", [HALF] * 3, (2, 2), (2, 2), 0.9, 0.9, True),
    ("three by two", [HALF] * 2, (3, 2), (3, 2), 0.9, 0.7, False),
    ("two types", [TWO, THREE], (2, 3), (2, 3), 0.9, 0.8, False),
    ("fewer bins than categories", [TWO, THREE], (3, 2), (2, 2), 0.9, 0.8, False),
    ("whole numbers", [WHOLE, WHOLE], (2, 2), (2, 2), 0.97, 0.98, False),
    ("certain people among them", [HALF, HALF, CERTAIN], (3, 2), (3, 2), 0.9, 0.8, False),
]
QUICK = ("one way", "one way of two types")


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=[] if one[0] in QUICK else pytest.mark.proof) for one in CASES],
    ids=lambda case: case[0],
)
def test_bins_break_at_most_what_is_spent(case, record_property):
    """Bins, totals and cells together break ε-semantic privacy with at most the chance that is spent."""
    name, laws_of_cell, shape, bins, epsilon, delta, share = case
    cells = [cell_of(laws_of_cell) for _ in range(int(np.prod(shape)))]
    every = DataSets(cells)
    made = plan([cells], shape, epsilon, delta, share=share, bins=bins)
    runs: dict[bytes, tuple[bytes, float]] = {}
    shapes: Counter[tuple[int, ...]] = Counter()
    for table in np.unique(every.tables, axis=0):
        result = made.run(table)
        shapes[tuple(max(of) + 1 for of in result.bins)] += 1
        runs[table.tobytes()] = published(result), result.charged[0]
        assert result.charged[0] <= delta + 1e-9
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert len(shapes) > 1  # or no split was ever decided otherwise
    assert all(n <= most for one in shapes for n, most in zip(one, bins, strict=True))
    assert broken <= spent + 1e-9
    record_property(name, f"broken {broken:.4f}, spent {spent:.4f}")


def test_an_interval_holds_at_every_point_of_it():
    """Bins are decided once for all points: under each what breaks is at most what is spent."""
    epsilon, delta = 0.85, 0.6
    people = [[cell_of([(1 - p, p)] * 3) for _ in range(4)] for p in (0.45, 0.5, 0.55)]
    made = plan(people, (4,), epsilon, delta, bins=(4,))
    for point, cells in enumerate(people):
        every = DataSets(cells)
        runs = {}
        for table in np.unique(every.tables, axis=0):
            result = made.run(table)
            runs[table.tobytes()] = published(result), result.charged[point]
        broken, spent = broken_and_spent(every, epsilon, runs)
        assert 0 < broken <= spent + 1e-9
        assert spent <= delta + 1e-9


def test_a_splitter_that_looks_is_caught():
    """The twin: bins split where the truth is safe, nothing charged for it, break ε by not splitting."""
    epsilon = 0.6
    cells = [cell_of([HALF] * many) for many in (3, 5)]
    every, safe = DataSets(cells), [cell_law(cell).safe(epsilon) for cell in cells]
    looked, totals = {}, {}
    for table in np.unique(every.tables, axis=0):
        fine = all(one[count] for one, count in zip(safe, table, strict=True))
        totals[table.tobytes()] = table.sum().tobytes(), 0.0
        looked[table.tobytes()] = (table if fine else table.sum()).tobytes(), 0.0
    alone, _ = broken_and_spent(every, epsilon, totals)
    broken, _ = broken_and_spent(every, epsilon, looked)
    assert broken > alone + 0.05


@pytest.mark.parametrize("epsilon", [0.3, 0.6, 0.9])
def test_the_chance_of_a_row_split_is_exact(epsilon: float):
    """Against every data set of two halves of several types: to 1e-12, at every sum."""
    halves = [cell_of([TWO, TWO, THREE, HALF]), cell_of([THREE, HALF, HALF])]
    every = DataSets(halves)
    first, second = (cell_law(half) for half in halves)
    for total in range(8):
        given = every.tables.sum(axis=1) == total
        broken = 0.0
        for count in np.unique(every.tables[given, 0]).tolist():
            known = given & (every.tables[:, 0] == count)
            if every.off(known) > epsilon + 1e-12:
                broken += every.chance[known].sum()
        chance, _ = split_chance(first, second, total, epsilon)
        assert chance == pytest.approx(broken / every.chance[given].sum(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns", "most"), [(3, 1, 60), (3, 2, 40), (4, 1, 25)])
def test_the_saddlepoint_of_a_column_split_is_on_the_safe_side(rows: int, columns: int, most: int):
    """Total variation ≤ 1e-3 of the exact law; no sum that is unsafe is taken as safe."""
    random, epsilon = np.random.default_rng(most), 0.5
    shape = rows, columns + 1
    split = Split(1, (0, 0, *range(1, columns)))
    for _ in range(3):
        people = [
            CellPeople.of(
                {
                    (1 - p, p): int(random.integers(most // 2, most))
                    for p in random.uniform(0.3, 0.5, 2)
                }
            )
            for _ in range(rows * (columns + 1))
        ]
        grid = np.array(
            [
                sum(random.binomial(n, law[1]) for law, n in zip(one.laws, one.counts, strict=True))
                for one in people
            ]
        ).reshape(shape)
        earlier = np.bincount(split.of, grid.sum(axis=0)).astype(np.int64)
        alone = Model.of(people, epsilon)
        made = split_board(shape, split, alone.most, earlier, grid.sum(axis=1))
        board, rest = made.board, made.rest_of[0]
        model = Model.of(people, epsilon, made.most)
        outlook = Outlook(model, board)
        part = next(some for some in parts(board, board.unknown) if rest in some)
        exact = marginals(board, part, model.laws, model.cumulants)[rest]
        near = Refit(board, model, rest, outlook).law()
        size = min(len(exact), len(near))
        assert np.abs(exact[:size] - near[:size]).sum() / 2 <= 1e-3
        right, charged = (
            laws._exact(board, model, rest, part),
            laws._saddlepoint(board, model, rest, outlook),
        )
        assert not (right.unsafe & ~charged.unsafe).any()
        assert right.charge <= charged.charge


def test_splits_follow_from_the_sums_that_are_out():
    """Tables with the same sums of all bins are split alike, and no sum is read before its decision."""
    random = np.random.default_rng(5)
    cells = [cell_of([HALF] * 4) for _ in range(8)]
    made = BinnedPeople([cells], (8,), (8,), 0.7)
    refusals = 0
    for _ in range(40):
        table = random.binomial(4, 0.5, 8)
        asked: list[tuple[int, int]] = []
        read = true_sums(table, (8,))

        def noted(axis: int, first: int, last: int, asked=asked, read=read) -> int:
            asked.append((first, last))
            return read(axis, first, last)

        bins = make_bins(made, Rule(0.3), [0.0], noted)
        out = sorted(bins.ends[0])
        assert len(asked) == len(out)  # the total, and one half of each split
        other = table.copy()
        for first, last in out:  # the same sums, differently spread within bins
            whole, spread = int(table[first:last].sum()), np.zeros(last - first, dtype=np.int64)
            for place in range(last - first):
                spread[place] = min(4, whole - int(spread.sum()))
            other[first:last] = spread
        again = make_bins(made, Rule(0.3), [0.0], true_sums(other, (8,)))
        assert again == bins
        refusals += len(out) < 8
    assert refusals


WIDE = {"rows": "eyes", "columns": "hair", "where": {"half": ["n"]}}


def test_bins_come_out_in_every_format(tmp_path: Path):
    """Rows and columns are bins, named by their categories; asked again nothing changes."""
    folder = world.make(tmp_path, epsilon="0.4", delta="0.1")
    with dc.open(folder) as data:
        draft = data.table(**WIDE, bins="eyes=2,hair=2")
        assert draft.standing == "affordable"
        release = draft.release()
        table = release.protected
        again = data.table(**WIDE, bins=2).release()
        assert again.detail.reused
    assert table.domain.shape == (2, 2)
    assert ".." in "".join(table.codes(0) + table.codes(1))
    assert table.values[-1, -1] == table.values[-1, :-1].sum()
    assert any("bins" in note for note in table.notes)
    for name in formats.FORMATS:
        assert formats.to_bytes(table, name)
    written = json.loads(formats.to_bytes(table, "jsonstat"))
    assert table.codes(0)[0] in json.dumps(written)


def test_all_categories_may_stand_alone(tmp_path: Path):
    """Where δ bears every split the table has its own categories, as without bins."""
    folder = world.make(tmp_path)
    with dc.open(folder) as data:
        table = data.table(rows="eyes", columns="hair", bins="3").release().protected
    assert table.domain.names == ("eyes", "hair")
    assert set(table.codes(0)) >= set(world.EYES)
    assert set(np.unique(table.status)) <= {Status.OK, Status.DERIVED, Status.SUPPRESSED}


def test_what_follows_bins(tmp_path: Path):
    """Totals of bins, then their cells, then other people; other bins of the same people are refused."""
    folder = world.make(tmp_path, epsilon="0.45", delta="0.2")
    with dc.open(folder) as data:
        first = data.table(**WIDE, bins="2", cells="no").release().protected
        second = data.table(**WIDE, bins="2").release().protected
        assert first.domain.shape == second.domain.shape
        assert np.array_equal(first.values[-1], second.values[-1])
        for other in ({"bins": "3"}, {}, {"bins": "eyes=3,hair=2"}):
            with pytest.raises(Refusal) as refused:
                data.table(**WIDE, **other).release()
            assert refused.value.rule == "overlapping-table"
        data.table(rows="eyes", where={"half": ["s"]}, bins="3").release()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"rows": "eyes", "bins": "1"}, "from 2 to"),
        ({"rows": "eyes", "bins": "many"}, "from 2 to"),
        ({"rows": "eyes", "bins": "shoes=2"}, "no variable of this table"),
        ({"rows": "eyes", "bins": "2", "cells": "no"}, "are its cells"),
        ({"rows": [], "bins": "2"}, "no categories to join"),
    ],
)
def test_bins_that_make_no_sense(tmp_path_factory, said, words):
    """One sentence says what is wrong."""
    folder = made_once(tmp_path_factory)
    with dc.open(folder) as data, pytest.raises(RecipeError, match=words):
        data.table(**said).release()


def made_once(factory: pytest.TempPathFactory) -> Path:
    """A data set that these tests ask nothing of that comes out."""
    known = factory.getbasetemp() / "bins"
    return known / "people" if known.exists() else world.make(known)


def test_the_first_bins_are_those_of_the_medians():
    """With δ in plenty splits end at the groups that public medians give; no certain person is checked."""
    cells = [cell_of([HALF] * 40 + [CERTAIN] * 3) for _ in range(6)]
    result = plan([cells], (6,), 0.9, 0.9, bins=(3,)).run(np.full(6, 23))
    assert result.bins == (median_groups(axis_mass(cells, (6,), 0), 3),)
    assert result.values.tolist() == [23, 46, 69, 138]
    assert (result.decided == Decided.RELEASED).all()


@pytest.mark.slow
def test_large_tables_are_split_without_overflow():
    """Ten thousand people in 10 × 10 cells: every split is decided, and no solver leaves its range."""
    random = np.random.default_rng(10)
    many = random.integers(80, 121, (100, 2))
    cells = [CellPeople.of({TWO: int(a) // 2, HALF: int(b) // 2}) for a, b in many]
    counts = np.array([random.binomial(c.counts, [law[1] for law in c.laws]).sum() for c in cells])
    made = BinnedPeople([cells], (10, 10), (10, 10), 0.5)
    bins = make_bins(made, Rule(0.2), [0.0], true_sums(counts, (10, 10)))
    assert [len(ends) for ends in bins.ends] == [10, 10]
    assert bins.spent[0] < 0.1
