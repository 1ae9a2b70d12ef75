"""Posteriors and laws of cells against every data set there can be, and the saddlepoint at its gate."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople, cell_law
from discreet.methods.suppression.exact_law import marginals, parts
from discreet.methods.suppression.laws import LEAST_VARIANCE
from discreet.methods.suppression.outlook import Outlook
from discreet.methods.suppression.saddlepoint import Refit

from .brute_force import DataSets, lines

EXACT = 1e-12


def some_people(random: np.random.Generator, most: int, integers: bool) -> CellPeople:
    """A few people of one to three types."""
    people: dict[tuple[float, ...], int] = {}
    for _ in range(int(random.integers(1, most + 1))):
        if integers:
            law = tuple(random.choice([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]).tolist())
        else:
            p = float(random.choice([0.2, 0.45, 0.7]))
            law = (1 - p, p)
        people[law] = people.get(law, 0) + 1
    return CellPeople.of(people)


@pytest.mark.parametrize("seed", range(12))
def test_posteriors_are_those_of_every_data_set(seed: int):
    """P(X = a | the cell's sum) of several types and of integers, to 1e-12."""
    random = np.random.default_rng(seed)
    people = some_people(random, 6, integers=seed % 3 == 0)
    law, every = cell_law(people), DataSets([people])
    assert abs(np.exp(law.log_weight).sum() - 1) < EXACT
    for count in range(law.most + 1):
        given = every.tables[:, 0] == count
        assert abs(every.off(given) - law.spread()[count]) < 1e-11


@pytest.mark.parametrize("seed", range(10))
def test_laws_of_cells_are_those_of_every_data_set(seed: int):
    """Given all totals, and one more cell: the law of every other to 1e-12."""
    random = np.random.default_rng(100 + seed)
    shape = [(2, 2), (2, 3), (3, 2), (1, 3)][seed % 4]
    cells = [some_people(random, 2, integers=seed % 3 == 0) for _ in range(shape[0] * shape[1])]
    model, every = Model.of(cells, 0.5), DataSets(cells)
    table = every.tables[random.choice(len(every.chance), p=every.chance / every.chance.sum())]
    grid = table.reshape(shape)
    board = Board.of_grid(model.most.reshape(shape), grid.sum(axis=1), grid.sum(axis=0))
    given = every.same(lines(shape), table)
    for fixed in (None, 0):
        if fixed is not None:
            board.fix(fixed, int(table[fixed]))
            given = every.same([*lines(shape), [fixed]], table)
        for part in parts(board, board.unknown):
            for cell, law in marginals(board, part, model.laws, model.cumulants).items():
                size = model.laws[cell].most + 1
                assert np.abs(every.law(cell, given, size) - law[:size]).max() < EXACT
        assert model.safe_exactly(board) == (every.off(given) <= 0.5 + 1e-12)
    for cell, count in board.copy().implied().items():
        assert (every.tables[given, cell] == count).all()


def test_people_whose_value_is_certain_shift_the_count():
    """p of 0 and 1: never checked, the sum is moved by those with 1."""
    law = cell_law(CellPeople.of({(1.0, 0.0): 3, (0.0, 1.0): 2, (0.5, 0.5): 4}))
    assert (law.shift, law.most) == (2, 4)
    assert np.allclose(law.ratios[1], np.arange(5) / 2)


def test_a_population_of_one_is_never_safe():
    """Whatever the count of one person, it tells his value."""
    assert not cell_law(CellPeople.of({(0.7, 0.3): 1})).safe(0.5).any()


def test_few_types_checked_give_the_verdict_of_all():
    """Of many types those with the smallest and the largest p decide which counts are safe."""
    random = np.random.default_rng(5)
    for _ in range(4):
        ps = random.uniform(0.05, 0.95, 9)
        people = CellPeople.of({(1 - p, p): int(random.integers(1, 5)) for p in ps.tolist()})
        law, epsilon = cell_law(people), float(random.uniform(0.1, 0.8))
        spread = np.zeros(law.most + 1)
        for k, chosen in enumerate(people.laws):
            fewer = {
                one: many - (t == k)
                for t, (one, many) in enumerate(zip(people.laws, people.counts, strict=True))
            }
            rest = np.exp(cell_law(CellPeople.of(fewer)).log_weight)
            whole = np.exp(law.log_weight)
            for value in (0, 1):
                shifted = np.zeros(len(whole))
                shifted[value : value + len(rest)] = rest
                spread = np.maximum(spread, np.abs(1 - shifted / whole))
            assert chosen in people.laws
        assert np.array_equal(spread <= epsilon + 1e-12, law.safe(epsilon))


@pytest.mark.parametrize("seed", range(4))
def test_the_saddlepoint_is_within_a_thousandth_at_its_gate(seed: int):
    """Total variation from the exact law ≤ 1e-3 where every tilted variance is at least 4."""
    random = np.random.default_rng(seed)
    shape = (2, 3) if seed % 2 else (3, 3)
    size = shape[0] * shape[1]
    ps = random.uniform(0.2, 0.6, size)
    many = np.ceil(LEAST_VARIANCE * 1.6 / (ps * (1 - ps))).astype(int)
    cells = [
        CellPeople.of({(1 - p, p): int(b), (1 - p / 2, p / 2): 5})
        for p, b in zip(ps.tolist(), many, strict=True)
    ]
    model = Model.of(cells, 0.5)
    table = np.array([random.binomial(b, p) for b, p in zip(many, ps, strict=True)])
    grid = table.reshape(shape)
    board = Board.of_grid(model.most.reshape(shape), grid.sum(axis=1), grid.sum(axis=0))
    outlook = Outlook(model, board)
    assert outlook.solved
    law = Refit(board, model, 0, outlook).law()
    exact = marginals(board, board.unknown, model.laws, model.cumulants)[0][: len(law)]
    if float(outlook.tilted.variance.min()) >= LEAST_VARIANCE:
        assert np.abs(law - exact).sum() / 2 <= 1e-3
    else:
        assert np.abs(law - exact).sum() / 2 <= 1e-2


@pytest.mark.parametrize(("size", "people"), [(5, 25), (6, 100), (4, 60)])
def test_a_saddlepoint_at_some_counts_is_that_at_all(size: int, people: int):
    """Both tails of the law, down to 1e-9, to a ten-thousandth: solved at nodes and at every count."""
    random = np.random.default_rng(size)
    many = random.integers(people, people + people // 3, size * size)
    cells = [CellPeople.of({(0.7, 0.3): int(b // 2), (0.5, 0.5): int(b - b // 2)}) for b in many]
    model = Model.of(cells, 0.5)
    table = random.binomial(many, 0.4)
    grid = table.reshape(size, size)
    board = Board.of_grid(model.most.reshape(size, size), grid.sum(axis=1), grid.sum(axis=0))
    for cell in range(1, size * size // 2, 3):
        board.fix(cell, int(table[cell]))
    outlook = Outlook(model, board)
    few = Refit(board, model, 0, outlook)
    law, full = few.law(), Refit(board, model, 0, outlook, nodes=10**6).law()
    assert len(few.nodes) < len(few.counts)
    for step in (1, -1):
        tail, whole = np.cumsum(law[::step]), np.cumsum(full[::step])
        likely = whole > 1e-9
        assert np.abs(tail[likely] / whole[likely] - 1).max() < 1e-4


def test_the_near_part_of_a_law_is_all_of_it():
    """The look-ahead law is kept near its mean only: what is beyond is less than 1e-11."""
    cells = [CellPeople.of({(0.7, 0.3): 120, (0.2, 0.8): 40}) for _ in range(9)]
    model = Model.of(cells, 0.5)
    total = np.full(3, 3 * 68)
    outlook = Outlook(model, Board.of_grid(model.most.reshape(3, 3), total, total))
    tilted, place, counts = outlook.tilted, 4, np.arange(model.most[4] + 1)
    tension = outlook.resistance[place] / (1 - outlook.leverage[place])
    logged = model.laws[place].log_weight + tilted.shift[0, place] * counts
    logged -= 0.5 * tension * (counts - tilted.mean[0, place]) ** 2
    whole = np.exp(logged - logged.max())
    assert len(counts) > outlook.near.chance.shape[1]
    assert np.abs(whole / whole.sum() - outlook.law(place)).sum() < 1e-11
