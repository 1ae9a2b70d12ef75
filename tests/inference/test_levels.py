"""rinott Table 3, and the level of the printed p-value: reduced in `make test`, whole in `make proof`."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.law_builders import laplace
from discreet.inference import chi_square
from discreet.inference.channel import channel
from discreet.inference.design_matrix import hierarchical
from discreet.inference.statistics import Model, naive_level, naive_statistic, statistics

TEN = Model(hierarchical((10, 10), [(0,), (1,)]))
KINDS = np.zeros(100, dtype=np.int64)
TABLE_3 = {
    # ε, m: LR mean and rejections, score mean, naive mean and rejections, power of LR and score
    ("0.1", 10): (78.2, 3.0, 79.2, 128.1, 88.7, 50.5, 57.0),
    ("0.1", 7): (79.8, 3.9, 80.1, 107.2, 57.2, 63.2, 65.4),
    ("0.5", 10): (82.1, 5.9, 81.3, 93.1, 24.5, 75.2, 73.1),
    ("0.5", 7): (81.6, 5.4, 81.0, 90.9, 20.1, 75.6, 74.0),
}


def drawn_tables(count: int, interaction: float, seed: int) -> np.ndarray:
    """True tables of rinott §6.1: log mean 4 + U + U, and an interaction."""
    random = np.random.default_rng(seed)
    logs = 4 + random.uniform(-0.5, 0.5, (count, 10, 1)) + random.uniform(-0.5, 0.5, (count, 1, 10))
    logs = logs + interaction * random.uniform(-0.5, 0.5, (count, 10, 10))
    return random.poisson(np.exp(logs)).reshape(count, 100)


def table_3(epsilon: str, reach: int, count: int) -> None:
    made = channel(laplace(epsilon, reach))
    lr, lr_share, score, naive, naive_share, lr_power, score_power = TABLE_3[epsilon, reach]
    random = np.random.default_rng(11)
    shown = made.release(drawn_tables(count, 0.0, 1), random)
    found = statistics([made], KINDS, shown, TEN)
    means_within, shares_within = 3 * 13 / count**0.5, 3 * (0.25 / count) ** 0.5 * 100
    level_within = 3 * (0.05 * 0.95 / count) ** 0.5 * 100
    assert found.fit.converged.all()
    assert found.lr.mean() == pytest.approx(lr, abs=means_within)
    assert found.score.mean() == pytest.approx(score, abs=means_within)
    assert 100 * (found.p_lr < 0.05).mean() == pytest.approx(lr_share, abs=level_within)
    assert 100 * (found.p_score < 0.05).mean() == pytest.approx(5.0, abs=level_within)
    ordinary = naive_statistic(shown, TEN)
    rejected = 100 * float((chi_square.tail(ordinary, 81) < 0.05).mean())
    assert ordinary.mean() == pytest.approx(naive, abs=1.7 * means_within)
    assert rejected == pytest.approx(naive_share, abs=shares_within)
    warned = 100 * float(naive_level([made], KINDS, found.fit.means, 81).mean())
    assert warned == pytest.approx(naive_share, abs=4)
    dependent = made.release(drawn_tables(count, 0.31, 2), random)
    found = statistics([made], KINDS, dependent, TEN)
    assert 100 * (found.p_lr < 0.05).mean() == pytest.approx(lr_power, abs=shares_within)
    assert 100 * (found.p_score < 0.05).mean() == pytest.approx(score_power, abs=shares_within)


@pytest.mark.parametrize(("epsilon", "reach"), TABLE_3)
def test_rinott_table_3_reduced(epsilon: str, reach: int) -> None:
    """100 tables a row, each figure within 3 standard errors of its value over 20,000."""
    table_3(epsilon, reach, 100)


@pytest.mark.proof
@pytest.mark.parametrize(("epsilon", "reach"), TABLE_3)
def test_rinott_table_3(epsilon: str, reach: int) -> None:
    """1,000 tables a row."""
    table_3(epsilon, reach, 1000)
