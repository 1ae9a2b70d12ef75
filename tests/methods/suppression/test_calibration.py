"""Calibration: over simulated tables the share with a breach is what was spent of δ."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople
from discreet.methods.suppression.decisions import Decided, Progress, Rule, decide


def breaches(
    size: int, low: int, high: int, epsilon: float, tables: int, thin: int = 0
) -> tuple[float, float]:
    """The share of tables in which a released count is unsafe, and the mean of what was spent."""
    random = np.random.default_rng(size)
    many = random.integers(low, high + 1, size * size)
    many[:: size + 2][:thin] = 7
    cells = [CellPeople(((0.5, 0.5), (0.6, 0.4)), (int(b // 2), int(b - b // 2))) for b in many]
    model = Model.of(cells, epsilon)
    broken, spent = 0, 0.0
    for _ in range(tables):
        counts = np.array([random.binomial(c.counts[1], 0.4) for c in cells])
        counts += np.array([random.binomial(c.counts[0], 0.5) for c in cells])
        grid = counts.reshape(size, size)
        board = Board.of_grid(model.most.reshape(size, size), grid.sum(axis=1), grid.sum(axis=0))
        progress = Progress(board, np.zeros(size * size, np.uint8), [0.0])
        decide(progress, [model], Rule(0.3), lambda cell, c=counts: int(c[cell]))
        out = np.flatnonzero(progress.decided != Decided.SUPPRESSED)
        broken += not all(model.safe[cell][counts[cell]] for cell in out.tolist())
        spent += progress.spent[0]
    return broken / tables, spent / tables


@pytest.mark.proof
@pytest.mark.parametrize(
    ("size", "low", "high", "epsilon", "thin"),
    [(4, 30, 50, 0.5, 0), (10, 80, 120, 0.42, 0), (6, 60, 90, 0.48, 3)],
    ids=["4 x 4", "10 x 10", "6 x 6 with thin cells"],
)
def test_breaches_are_as_many_as_spent(size, low, high, epsilon, thin, record_property):
    """Of 300 tables the share that moves a belief beyond ε is the spent δ, within 3 standard errors.

    The laws are bracketed from above, so the share may be smaller than what was spent.
    """
    share, spent = breaches(size, low, high, epsilon, 300, thin)
    error = np.sqrt(max(spent * (1 - spent), 1e-4) / 300)
    record_property("share with a breach", round(share, 4))
    record_property("spent", round(spent, 4))
    assert abs(share - spent) <= 3 * error


@pytest.mark.slow
def test_a_few_tables_break_no_more_than_spent():
    """The reduced form: 30 tables of 4 × 4."""
    share, spent = breaches(4, 30, 50, 0.5, 30)
    assert share <= spent + 3 * np.sqrt(max(spent, 0.01) / 30)
