"""Show 6: nabar's Figures 4 and 5, the perturbed side, by this method."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.core.pure_laplace import PureLaplace

from .people import described, question, released

HAIR_EYE = np.array([[101, 23, 22], [32, 95, 24], [45, 38, 70]])
"""nabar Figure 3, interior: people with the gene by eye colour (rows) and hair colour."""


def rows_of(table: np.ndarray) -> np.ndarray:
    cells = np.argwhere(table > -1)
    return np.repeat(cells, table.ravel(), axis=0)


def off_by_a_quarter(table: np.ndarray, releases: int, **parameters: str) -> float:
    """The share of cells off by more than 25 % of their true value, over so many releases."""
    made = described(table.shape)
    asked = question(made, [["v0", "v1"]], epsilon="0.5", **parameters)
    off = []
    for _ in range(releases):
        _, _, (out,) = released(rows_of(table), made, asked)
        inside = out.values[: table.shape[0], : table.shape[1]]
        off.append(np.abs(inside - table) > table / 4)
    return float(np.mean(off))


def ten_by_ten() -> np.ndarray:
    """10,000 people in 100 cells, each with the gene with a probability from 0.3 to 0.5."""
    rng = np.random.default_rng(7)
    people = rng.integers(80, 121, (10, 10))
    return rng.binomial(people, rng.uniform(0.3, 0.5, (10, 10)))


def expected(table: np.ndarray, epsilon_a_cell: Fraction) -> float:
    law = PureLaplace.of(epsilon_a_cell)
    return float(np.mean([float(law.tail(int(count) // 4)) for count in table.ravel()]))


def test_figure_5_about_a_tenth_of_the_cells() -> None:
    """Classic mode, noise on the margin itself (§4.2), least total error, ε = 0.5: about 10 % of cells off by > 25 %.

    20 releases of 100 cells, independent noise Lap(2/ε): the share is compared with the exact tail
    of the law at 6 standard errors (about 2e-9). The twin, coefficients of the bit-coded table
    (§3), distorts most cells: nabar's 10 % cannot have come from them.
    """
    table = ten_by_ten()
    told = expected(table, Fraction(1, 4))
    assert 0.07 < told < 0.13
    seen = off_by_a_quarter(table, 20, mode="classic", objective="total non-fourier")
    assert abs(seen - told) < 6 * (told * (1 - told) / 2000) ** 0.5
    assert off_by_a_quarter(table, 1, mode="classic") > 0.5


def test_modern_mode_distorts_a_tenth_of_that() -> None:
    """Modern mode, same ε: under add/remove the same table gets half the noise, 1 % of cells."""
    table = ten_by_ten()
    told = expected(table, Fraction(1, 2))
    assert told < 0.015
    seen = off_by_a_quarter(table, 20, one_way_share="0")
    assert seen < told + 6 * (told / 2000) ** 0.5


def test_figure_4_hair_and_eyes() -> None:
    """The 3 × 3 table: whole, non-negative, additive; margins near theirs, as Figure 4 shows.

    Row sums of 3 Laplace draws of scale 4 have sd 9.8; 100 is beyond 10 of them (1e-9 by the tail
    of the largest of nine draws, 9·e^−25).
    """
    made = described((3, 3))
    asked = question(
        made, [["v0", "v1"]], epsilon="0.5", mode="classic", objective="total non-fourier"
    )
    _, _, (out,) = released(rows_of(HAIR_EYE), made, asked)
    assert out.values.min() >= 0
    assert (out.values[:3, :3].sum(axis=1) == out.values[:3, 3]).all()
    assert np.abs(out.values[:3, 3] - HAIR_EYE.sum(axis=1)).max() < 100
