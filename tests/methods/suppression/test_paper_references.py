"""Weights of cells give what nabar's dynamic programme and his matchings give."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople
from discreet.methods.suppression.exact_law import marginals, parts

from .paper_references import (
    People,
    by_dynamic_programme,
    by_matchings,
    data_sets_by_matchings,
    permanent,
)


def drawn(seed: int, shape: tuple[int, int], most: int) -> tuple[People, list[CellPeople]]:
    """A few people with their own probabilities, and the totals of one data set."""
    random = np.random.default_rng(seed)
    cells, chance, kinds = [], [], []
    for place in np.ndindex(*shape):
        ps = random.choice([0.2, 0.45, 0.7], int(random.integers(1, most + 1))).tolist()
        cells += [place] * len(ps)
        chance += ps
        kinds.append(CellPeople.of({(1 - p, p): ps.count(p) for p in ps}))
    values = random.random(len(cells)) < np.array(chance)
    table = np.zeros(shape, dtype=np.int64)
    for place, value in zip(cells, values.tolist(), strict=True):
        table[place] += value
    totals = tuple(table.sum(axis=1).tolist()), tuple(table.sum(axis=0).tolist())
    return People(tuple(cells), tuple(chance), *totals), kinds


def by_weights(people: People, kinds: list[CellPeople], shape: tuple[int, int]) -> list[float]:
    """Each person's posterior by the weights of cells."""
    model = Model.of(kinds, 0.5)
    board = Board.of_grid(
        model.most.reshape(shape), np.array(people.rows), np.array(people.columns)
    )
    laws = {cell: np.eye(int(model.most[cell]) + 1)[n] for cell, n in board.implied().items()}
    for part in parts(board, board.unknown):
        laws |= marginals(board, part, model.laws, model.cumulants)
    found = []
    for (i, j), p in zip(people.cells, people.chance, strict=True):
        cell = i * shape[1] + j
        law = model.laws[cell]
        row = law.checked.index((kinds[cell].laws.index((1 - p, p)), 1))
        found.append(p * float(law.ratios[row] @ laws[cell][: law.most + 1]))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_dynamic_programme_gives_the_same_posteriors(seed: int):
    """§5.2.1, person after person, with different probabilities: to 1e-12."""
    shape = [(2, 2), (2, 3), (3, 3)][seed % 3]
    people, kinds = drawn(seed, shape, 3 if seed % 3 < 2 else 2)
    assert by_weights(people, kinds, shape) == pytest.approx(
        by_dynamic_programme(people), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(4))
def test_matchings_give_the_same_posteriors(seed: int):
    """§5.2.2, as perfect matchings of a graph: to 1e-12, and as many data sets as there are."""
    shape = [(2, 2), (2, 3)][seed % 2]
    people, kinds = drawn(10 + seed, shape, 2)
    assert by_weights(people, kinds, shape) == pytest.approx(by_matchings(people), abs=1e-12)
    odds = [p / (1 - p) for p in people.chance]
    whole = 0.0
    for chosen in np.ndindex(*(2,) * len(odds)):
        rows, columns = [0] * shape[0], [0] * shape[1]
        for (i, j), value in zip(people.cells, chosen, strict=True):
            rows[i] += value
            columns[j] += value
        if (tuple(rows), tuple(columns)) == (people.rows, people.columns):
            whole += float(np.prod([w for w, value in zip(odds, chosen, strict=True) if value]))
    assert data_sets_by_matchings(people) == pytest.approx(whole, rel=1e-12)


def test_a_permanent_is_what_it_is():
    """1·4 + 2·3, and the number of orders of five."""
    assert permanent(np.array([[1.0, 2.0], [3.0, 4.0]])) == 10
    assert permanent(np.ones((5, 5))) == 120
