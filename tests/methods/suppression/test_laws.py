"""Posteriors and laws of cells against every data set there can be, and the saddlepoint at its gate."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople, cell_law
from discreet.methods.suppression.drawn_law import drawn_risk, drawn_safe
from discreet.methods.suppression.draws import Sampler
from discreet.methods.suppression.exact_law import marginals, parts
from discreet.methods.suppression.laws import _exact, beliefs_off
from discreet.methods.suppression.margins import draw, listed_risk, margins_risk
from discreet.methods.suppression.outlook import (
    CARRIES,
    LEAST_VARIANCE,
    THIN_GUARD,
    Outlook,
    carriers,
)
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


def test_totals_that_a_prior_rules_out_have_no_chance():
    """Values 0 and 2 only: the chance that totals are unsafe is that of every data set."""
    cells = [CellPeople.of({(0.5, 0.0, 0.5): 2}) for _ in range(4)]
    every, sums = DataSets(cells), lines((2, 2))
    broken, seen = 0.0, set()
    for table in every.tables[every.chance > 0]:
        totals = tuple(table[line].sum() for line in sums)
        given = every.same(sums, table)
        if totals not in seen and every.off(given) > 0.9:
            broken += every.chance[given].sum()
        seen.add(totals)
    assert 0 < broken < 1
    assert listed_risk(Model.of(cells, 0.9), (2, 2)) == pytest.approx(broken, abs=1e-12)


def test_a_population_of_one_is_never_safe():
    """Whatever the count of one person, it tells his value."""
    assert not cell_law(CellPeople.of({(0.7, 0.3): 1})).safe(0.5).any()


def ratios_of(people: CellPeople) -> np.ndarray:
    """Posterior over prior of every type and possible value, by sum, each convolved person by person."""

    def law_of(laws: list[tuple[float, ...]]) -> np.ndarray:
        joint = np.ones(1)
        for law in laws:
            joint = np.convolve(joint, law)
        return joint

    everybody = [
        law for law, many in zip(people.laws, people.counts, strict=True) for _ in range(many)
    ]
    whole, found = law_of(everybody), []
    for law in people.laws:
        others = list(everybody)
        others.remove(law)
        rest = law_of(others)
        for value, chance in enumerate(law):
            if chance > 0:
                shifted = np.zeros(len(whole))
                shifted[value : value + len(rest)] = rest[: len(whole) - value]
                found.append(np.divide(shifted, whole, out=np.zeros_like(whole), where=whole > 0))
    return np.array(found)


@pytest.mark.parametrize("seed", range(6))
def test_everybody_of_many_types_is_checked(seed: int):
    """Next to the mode a type between two others may be the worst off: nobody's ratio is left out."""
    random = np.random.default_rng(seed)
    missed = 0
    for _ in range(30):
        ps = random.beta(0.3, 0.3, 9).clip(1e-4, 1 - 1e-4)
        people = CellPeople.of({(1 - p, p): int(random.integers(1, 3)) for p in ps.tolist()})
        off = np.abs(1 - ratios_of(people))
        assert np.allclose(cell_law(people).spread(), off.max(axis=0), rtol=1e-9, atol=1e-11)
        few = np.linspace(0, len(people.laws) - 1, 6).round().astype(int)
        extremes = off[np.ravel([[2 * k, 2 * k + 1] for k in few])]
        missed += bool((off.max(axis=0) > extremes.max(axis=0) + 1e-6).any())
    assert missed  # six of them would not have done


def test_every_type_of_whole_numbers_is_checked():
    """Seven types of values up to 3, and an eighth that has 0 or 1 alone: no ratio is left out."""
    random = np.random.default_rng(4)
    laws = [tuple(random.dirichlet(np.ones(4)).tolist()) for _ in range(7)]
    people = CellPeople.of({(0.001, 0.999): 2, **dict.fromkeys(laws, 2)})
    off = np.abs(1 - ratios_of(people)).max(axis=0)
    assert np.allclose(cell_law(people).spread(), off, rtol=1e-9, atol=1e-11)


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


def thin_table(seed: int) -> tuple[Model, Board]:
    """A table of 3 × 3 with one cell of a few people among cells of a variance of 8 and more."""
    random = np.random.default_rng(seed)
    ps = random.uniform(0.2, 0.6, 9)
    many = np.ceil(CARRIES * 1.6 / (ps * (1 - ps))).astype(int)
    many[int(random.integers(9))] = int(random.integers(1, 8))
    cells = [CellPeople.of({(1 - p, p): int(b)}) for p, b in zip(ps.tolist(), many, strict=True)]
    model, grid = Model.of(cells, 0.5), random.binomial(many, ps).reshape(3, 3)
    return model, Board.of_grid(model.most.reshape(3, 3), grid.sum(axis=1), grid.sum(axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_large_cells_carry_thin_ones(seed: int):
    """Laws of thin and of large cells within 1e-3, beliefs within the guard, by enumeration."""
    model, board = thin_table(seed)
    board.implied()
    outlook = Outlook(model, board)
    if outlook.carry is None:
        pytest.fail("the case tries nothing: choose a larger variance")
    exact = marginals(board, board.unknown, model.laws, model.cumulants)
    off = beliefs_off(model, board, outlook.tilted)
    for place, cell in enumerate(board.unknown.tolist()):
        law = Refit(board, model, cell, outlook).law()
        assert np.abs(law - exact[cell][: len(law)]).sum() / 2 <= 1e-3
        assert abs(off[place] - model.off(cell, exact[cell])) <= THIN_GUARD / 2


def test_thin_cells_are_carried_only_by_two_large_ones_in_every_sum():
    """One large cell in a row of thin ones, or large cells that do not connect all sums, carry nothing."""
    board = Board.of_grid(np.full((4, 4), 50), np.full(4, 80), np.full(4, 80))
    cells, thick = board.unknown, np.full((4, 4), 10.0)
    assert carriers(board, cells, np.full(16, 4.0)) is not None
    thick[0, 0] = 0.5
    assert carriers(board, cells, thick.ravel()) is not None
    thick[0, 1:3] = 0.5
    assert carriers(board, cells, thick.ravel()) is None
    thick[0, 1:3] = 10.0
    peopled = np.arange(16) != 5
    thick[1, 2] = 0.5
    assert carriers(board, cells, thick.ravel()) is not None
    peopled[[4, 5]] = False  # numbers of which nothing is known carry nothing
    assert carriers(board, cells, thick.ravel(), peopled) is None
    apart = np.kron(np.eye(2), np.full((2, 2), 10.0)) + 0.5
    assert carriers(board, cells, apart.ravel()) is None


def test_cells_that_follow_from_several_sums_together_are_derived():
    """Two rows take all that two columns hold: no single sum shows it, all together do."""
    grid = np.array([[2, 2, 1, 1], [2, 2, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    board = Board.of_grid(np.full((4, 4), 2), grid.sum(axis=1), grid.sum(axis=0))
    assert board.implied() == {0: 2, 1: 2, 4: 2, 5: 2, 10: 0, 11: 0, 14: 0, 15: 0}
    alone = Board.of_grid(np.full((4, 4), 2), grid.sum(axis=1), grid.sum(axis=0))
    model = Model.of([CellPeople.of({(0.5, 0.5): 2})] * 16, 0.9)
    assert Outlook(model, alone).suspects is None  # all are looked at
    assert Outlook(model, board).suspects == []


def test_values_that_nobody_can_have_bound_the_sums():
    """People who have 1 or 2 but never 0 or 3: a total of the smallest values tells every cell."""
    from_one = CellPeople.of({(0.0, 0.5, 0.5, 0.0): 3, (0.7, 0.3): 2})
    law = cell_law(from_one)
    assert (law.shift, law.most) == (3, 5)
    exact = DataSets([from_one])
    every = np.ones(len(exact.chance), dtype=bool)
    assert np.exp(law.log_weight) == pytest.approx(exact.law(0, every, 9)[3:9], abs=EXACT)
    total = np.array([0], dtype=np.int64)
    none = np.zeros(2, dtype=np.int64)
    board = Board(none, none, np.array([law.most] * 2), total, total.copy())
    assert board.implied() == {0: 0, 1: 0}


HEAPED = (0.5, 0.002, 0.498)
"""Of 0, 1 and 2 hardly anybody has 1: an odd sum tells that somebody has, an even one that nobody has."""


def test_totals_of_heaped_values_are_charged_as_they_tell():
    """Totals that give a rare value between common ones away are no safer by draws than exactly."""
    cells = tuple(CellPeople.of({HEAPED: 40}) for _ in range(4))
    model = Model.of(cells, 0.5)
    unsafe = 0
    for table in draw(np.random.default_rng(1), cells, 8):
        grid = table.reshape(2, 2)
        board = Board.of_grid(model.most.reshape(2, 2), grid.sum(axis=1), grid.sum(axis=0))
        unsafe += not model.safe_exactly(board)
    assert unsafe == 8
    assert margins_risk(cells, (2, 2), 0.5, 0.2) == (1.0, "drawn")


def test_heaped_values_carry_no_saddlepoint():
    """Laws of multiples, and nearly so, are told from smooth ones; all cells of a board must be these."""
    smooth = [
        ((0.5, 0.5), 40),
        ((0.4, 0.3, 0.3), 12),
        ((0.5, 0.02, 0.48), 200),
        ((1 / 21,) * 21, 4),
    ]
    heaped = [
        ((0.5, 0.0, 0.5), 400),
        (HEAPED, 400),
        ((0.6, *[0.0] * 9, 0.4), 90),
        ((1 / 21,) * 21, 1),
    ]
    assert all(cell_law(CellPeople.of({law: many})).is_even for law, many in smooth)
    assert not any(cell_law(CellPeople.of({law: many})).is_even for law, many in heaped)
    for law, carried in (((0.4, 0.3, 0.3), True), (HEAPED, False)):
        model = Model.of([CellPeople.of({law: 60})] * 9, 0.5)
        sums = np.full(3, 180)
        outlook = Outlook(model, Board.of_grid(model.most.reshape(3, 3), sums, sums))
        assert outlook.solved
        assert (outlook.carry is not None) == carried


@pytest.mark.parametrize("people", [3, 12])
def test_drawn_tables_have_the_law_of_every_data_set(people: int):
    """20,000 tables: laws of cells within five standard errors of the exact ones; all sums are kept."""
    random = np.random.default_rng(people)
    cells = [CellPeople.of({(0.7, 0.3): people, (0.5, 0.5): k % 3}) for k in range(12)]
    model = Model.of(cells, 0.5)
    grid = random.binomial(model.most, 0.4).reshape(3, 4)
    board = Board.of_grid(model.most.reshape(3, 4), grid.sum(axis=1), grid.sum(axis=0))
    board.implied()
    exact = marginals(board, board.unknown, model.laws, model.cumulants)
    draws = Sampler(board, model).draw(20_000, random)
    assert draws.effective > 0.5
    kept = draws.counts[draws.weight > 0]
    assert (np.bincount(board.left[draws.cells], kept[0], 3) == board.left_sums).all()
    for place, cell in enumerate(draws.cells.tolist()):
        law = exact[cell][: model.most[cell] + 1]
        error = np.sqrt(law * (1 - law) / (20_000 * draws.effective)) + 1e-4
        assert (np.abs(draws.law(place, len(law)) - law) <= 5 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_drawn_chances_are_bracketed_from_above(seed: int):
    """By draws a chance is at least the exact one and not far above, and no unsafe count is missed."""
    random = np.random.default_rng(seed)
    cells = [CellPeople.of({(0.5, 0.5): 12, (0.6, 0.4): k % 3}) for k in range(9)]
    model = Model.of(cells, 0.8)
    grid = random.binomial(model.most, 0.5).reshape(3, 3)
    board = Board.of_grid(model.most.reshape(3, 3), grid.sum(axis=1), grid.sum(axis=0))
    outlook = Outlook(model, board)
    exact = _exact(board, model, 0, board.unknown)
    chance, unsafe = drawn_risk(board, model, 0, outlook, 1.0)
    assert exact.charge <= chance <= 2 * exact.charge + 0.01
    assert not (exact.unsafe & ~unsafe).any()
    assert drawn_safe(board, model) == model.safe_exactly(board)
