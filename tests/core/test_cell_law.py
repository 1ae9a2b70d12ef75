"""The law of a table: runs, cuts, symbols, covariance, and text that reads back to an equal law."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.cell_law import CellLaw, MarginLaw, Runs, Source, alike, by_margin
from discreet.core.count_law import CountLaw, Row
from discreet.core.law_builders import laplace
from discreet.core.product import subsets
from discreet.core.pure_laplace import PureLaplace
from discreet.core.residual_law import ResidualAxis, Residuals
from discreet.errors import LawError

P_TABLE = CountLaw(8, (Row((0,), (8,)), Row.of([(-1, 2), (0, 4), (1, 2)])))
ONE = CellLaw((Source("a", PureLaplace.of("1")),), (MarginLaw(None, 0),))


@given(st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_runs_hold_every_number(numbers: list[int]) -> None:
    """Numbers of draws come back as they were, a plain number where all are alike."""
    array = np.array(numbers).reshape(2, 3)
    assert Runs.of(array).numbers.tolist() == array.tolist()
    kept = alike(array)
    assert kept == numbers[0] if len(set(numbers)) == 1 else isinstance(kept, Runs)


def _every_law() -> list[CellLaw]:
    residuals = Residuals(
        (
            ResidualAxis("a", 3),
            ResidualAxis("b", 4, (0, 0, 1, -1)),
            ResidualAxis("c", 2, (0, -1), True),
        ),
        tuple((kept, 1 / 3 + len(kept)) for kept in subsets((0, 1, 2))),
    )
    return [
        CellLaw(),
        ONE,
        replace(ONE, negatives="threshold", threshold=4, unit=10),
        CellLaw(
            (Source("x", PureLaplace.of("1")), Source("y", PureLaplace.of("1"), 7)),
            by_margin(("a", "b"), True, np.array([[1, 0, 1], [1, 1, 2], [2, 1, 3]])),
        ),
        CellLaw((Source("cell", P_TABLE),), (MarginLaw(None, 0),), "keys", hidden_below=3, display_floor=5),
        CellLaw(consistency="synthetic table", residual_variance=residuals, column="unbiased", about={"mode": "modern"}),
        CellLaw(consistency="synthetic table", measured=False),
        CellLaw(cells=(MarginLaw(None, None),)),
    ]  # fmt: skip


@pytest.mark.parametrize("law", _every_law())
def test_a_law_reads_back_to_an_equal_one(law: CellLaw) -> None:
    """Through JSON text; the digest is the same, and another law has another."""
    again = CellLaw.from_json(json.loads(json.dumps(law.to_json())))
    assert again == law
    assert again.digest == law.digest
    assert len({one.digest for one in _every_law()}) == len(_every_law())


def test_one_law_of_many_sources_is_written_once() -> None:
    """Sources that share a law name one entry; a large p-table would be written again and again."""
    law = _every_law()[3]
    assert len(law.to_json()["laws"]) == 1
    assert [source["law"] for source in law.to_json()["sources"]] == [0, 0]


@pytest.mark.parametrize("negatives", ["keep", "clip", "threshold"])
@pytest.mark.parametrize("unit", [1, 3, 10])
@pytest.mark.parametrize("cells", [1, 2])
def test_what_is_released_follows_the_cuts(negatives: str, unit: int, cells: int) -> None:
    """Every draw pushed through rounding and cuts by hand gives the same probabilities."""
    noise = laplace("0.4", 6, key_bits=16)
    law = CellLaw(
        (Source("a", noise),),
        (MarginLaw(None, 0, cells),),
        unit=unit,
        negatives=negatives,
        threshold=2 if negatives == "threshold" else None,
    )
    for true in (0, 1, 7, 12):
        found: dict[int, Fraction] = {}
        for draws in itertools.product(range(-6, 7), repeat=cells):
            value = (2 * (true + sum(draws)) + unit) // (2 * unit)
            if negatives == "clip" and value < 0:
                value = 0
            if negatives == "threshold" and value < 2:
                value = 0
            share = np.prod([noise.pmf[z] for z in draws])
            found[value] = found.get(value, Fraction(0)) + share
        for value in range(-15, 30):
            assert law.probability(value, true, {}) == found.get(value, 0)


@pytest.mark.parametrize(("below", "floor"), [(None, None), (2, None), (None, 4), (3, 5), (5, 3)])
def test_hidden_cells_are_symbols_too(below: int | None, floor: int | None) -> None:
    """Every value of every count is shown, low or hidden; a kept zero is shown under a floor."""
    law = CellLaw(
        (Source("cell", P_TABLE),), (MarginLaw(None, 0),), "keys", hidden_below=below, display_floor=floor
    )  # fmt: skip
    for true in range(8):
        found: dict[int | str, Fraction] = {}
        for z, p in P_TABLE.row(true).pmf.items():
            value: int | str = true + z
            if floor is not None and value != 0 and true + z < floor:
                value = "low"
            if below is not None and true + z < below:
                value = "c"
            found[value] = found.get(value, Fraction(0)) + p
        for symbol in (*range(-3, 12), "low", "c", "s"):
            assert law.probability(symbol, true, {"a": 1}) == found.get(symbol, 0)


def test_cells_without_a_law_of_their_own_are_refused() -> None:
    """Estimates, weights by an unpublished mean, models: one sentence, no number."""
    for law in (
        CellLaw(),
        replace(ONE, consistency="least squares"),
        replace(ONE, mean_weight=True),
        replace(ONE, measured=False),
    ):
        with pytest.raises(LawError, match="no law of their own"):
            law.probability(3, 3, {"a": 0})


def test_impossible_and_known_cells_have_no_noise() -> None:
    """A structural zero is 0 whatever was counted; a declared total is what it is."""
    law = CellLaw((Source("x", PureLaplace.of("1")),), by_margin(("a",), False, np.array([1, 0])))
    assert law.probability(0, 0, {"a": 1}) == 1
    assert law.probability(1, 0, {"a": 1}) == 0
    assert 0 < law.probability(0, 0, {"a": 0}) < 1
    known = CellLaw(cells=(MarginLaw(None, None),))
    assert (known.probability(60, 60, {}), known.probability(61, 60, {})) == (1, 0)


def test_a_cut_table_keeps_the_law_of_what_is_left() -> None:
    """Categories left out take their numbers of draws and their places with them."""
    summed = np.array([[1, 0, 2], [3, 4, 5]])
    residuals = Residuals((ResidualAxis("b", 3),), (((), 1.0), ((0,), 2.0)))
    law = CellLaw((), by_margin(("a", "b"), False, summed), residual_variance=residuals)
    cut = law.taken({"b": [0, 2]})
    assert cut.cells[0].summed == Runs.of(summed[:, [0, 2]])
    assert cut.residual_variance is not None
    for new, old in enumerate([0, 2]):
        assert cut.residual_variance.covariance({"b": new}) == residuals.covariance({"b": old})
    two_of_three = (2 / 3) ** 2 * 1.0 + (2 - 4 / 3) * 2.0
    assert cut.residual_variance.covariance({}) == pytest.approx(two_of_three)


def test_covariances_are_those_of_weighted_least_squares() -> None:
    """Interior, a margin and the total, all noised: C from v_A equals the normal equations' inverse."""
    n, m = 3, 4
    interior = np.eye(n * m)
    rows = np.kron(np.eye(n), np.ones(m))
    total = np.ones((1, n * m))
    precision = interior / 2.0 + rows.T @ rows / 0.5 + total.T @ total / 3.0
    dense = np.linalg.inv(precision)

    def v(a: bool, b: bool) -> float:
        found = 1 / (2.0 * (1 if a else n) * (1 if b else m))
        found += 0 if b else 1 / (0.5 * (1 if a else n))
        found += 0 if a or b else 1 / 3.0
        return 1 / found

    law = Residuals(
        (ResidualAxis("a", n), ResidualAxis("b", m)),
        tuple((kept, v(0 in kept, 1 in kept)) for kept in subsets((0, 1))),
    )
    for (i, j), (k, o) in itertools.product(itertools.product(range(n), range(m)), repeat=2):
        here, there = {"a": i, "b": j}, {"a": k, "b": o}
        assert law.covariance(here, there) == pytest.approx(dense[i * m + j, k * m + o], abs=1e-12)
    one = np.kron(np.eye(n)[1], np.ones(m))
    assert law.covariance({"a": 1, "b": None}) == pytest.approx(one @ dense @ one)


def test_what_is_no_law_of_a_table_is_refused() -> None:
    """Another form, lost parts: a sentence."""
    good = ONE.to_json()
    for data in (
        {"form": "discreet law 9"},
        {"form": good["form"]},
        {**good, "sources": [{"law": 9}]},
    ):
        with pytest.raises(LawError):
            CellLaw.from_json(data)
