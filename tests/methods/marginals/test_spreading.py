"""Spreading: the same records, nearly the same margins, and far better beyond them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.product import Rows, Shape, margin_of_rows
from discreet.methods.marginals.fit.spread import spread_out
from discreet.methods.shared.synthetic_table import SyntheticTable

from ...examples import examples
from .margins import all_ways


def people(shape: Shape, records: int, seed: int) -> Rows:
    """Records of six hidden groups, so that variables depend on each other."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 6, records)
    return np.stack(
        [
            (random.random(records)[:, None] > np.cumsum(random.dirichlet(np.ones(n), 6)[group], 1))
            .sum(axis=1)
            .clip(0, n - 1)
            for n in shape
        ],
        axis=1,
    ).astype(np.int64)


def off(table: SyntheticTable, aims: dict, power: int = 2) -> float:
    return float(
        np.mean(
            np.concatenate(
                [(np.abs(table.margin(m) - t) ** power).ravel() for m, t in aims.items()]
            )
        )
    )


@examples(40)
@given(st.data())
def test_records_are_kept_and_margins_stay_near(data: st.DataObject) -> None:
    """Whatever the domain, workload and noise: a table of whole counts > 0 with the same total,
    no farther from the aims than promised, and the same again from the same fit."""
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=5)))
    order = data.draw(st.integers(1, min(3, len(shape))))
    records = data.draw(st.integers(1, 400))
    noise = data.draw(st.sampled_from([0.0, 0.1, 4.0, 900.0]))
    rows = people(shape, records, data.draw(st.integers(0, 99)))
    found, counts = np.unique(rows, axis=0, return_counts=True)
    table = SyntheticTable(shape, found, counts.astype(np.int64))
    aims = {m: margin_of_rows(rows, shape, m) for m in all_ways(len(shape), order)}
    made = spread_out(table, aims, noise=noise)
    again = spread_out(table, aims, noise=noise)
    assert made.total == records
    assert (made.counts > 0).all()
    assert len(np.unique(made.rows, axis=0)) == len(made.rows)
    assert ((made.rows >= 0) & (made.rows < np.array(shape))).all()
    assert off(made, aims) <= 0.02 * noise + 1e-9
    assert np.array_equal(made.rows, again.rows)
    assert np.array_equal(made.counts, again.counts)


@pytest.mark.parametrize(
    "shape", [(3, 4, 5, 6), pytest.param((7, 2, 9, 4, 5, 3, 6), marks=pytest.mark.slow)]
)
def test_what_was_not_measured_comes_far_nearer(shape: Shape) -> None:
    """All pairs known, without noise: triples of a table on few cells are wrong by far; spread,
    by what pairs do not tell. With every cell taken and with rows drawn."""
    rows = people(shape, 20_000, 3)
    pairs = {m: margin_of_rows(rows, shape, m) for m in all_ways(len(shape), 2)}
    triples = {m: margin_of_rows(rows, shape, m) for m in all_ways(len(shape), 3)}
    few = sparse_with(rows, shape, pairs)
    made = spread_out(few, pairs, noise=25.0)
    assert len(made.rows) > 2 * len(few.rows)
    assert off(made, pairs) <= off(few, pairs) + 0.5
    assert off(made, triples, 1) < 0.5 * off(few, triples, 1)


def sparse_with(rows: Rows, shape: Shape, pairs: dict) -> SyntheticTable:
    """What the sparse fit makes of these pairs: as many cells as it needs and no more."""
    from scipy.optimize import nnls

    random = np.random.default_rng(0)
    found = np.unique(rows, axis=0)
    found = found[random.permutation(len(found))[:1500]]
    columns = []
    for margin, wanted in pairs.items():
        place = np.ravel_multi_index([found[:, a] for a in margin], [shape[a] for a in margin])
        block = np.zeros((wanted.size, len(found)))
        block[place, np.arange(len(found))] = 1
        columns.append(block)
    weights, _ = nnls(np.vstack(columns), np.concatenate([t.ravel() for t in pairs.values()]))
    counts = np.rint(weights).astype(np.int64)
    counts[np.argmax(counts)] += len(rows) - counts.sum()
    held = np.flatnonzero(counts)
    return SyntheticTable(shape, found[held], counts[held])


def test_where_nobody_can_be_nobody_is() -> None:
    """Rows that cannot exist are never taken."""
    shape = (4, 5, 6)
    rows = people(shape, 900, 5)
    rows = rows[rows[:, 0] != rows[:, 1]]
    found, counts = np.unique(rows, axis=0, return_counts=True)
    table = SyntheticTable(shape, found, counts.astype(np.int64))
    aims = {m: margin_of_rows(rows, shape, m) for m in [(0, 2), (1, 2)]}

    def allowed(some: Rows) -> np.ndarray:
        return (some[:, 0] != some[:, 1]).astype(np.float64)

    made = spread_out(table, aims, noise=100.0, allowed=allowed)
    assert made is not table
    assert (made.rows[:, 0] != made.rows[:, 1]).all()


def test_a_table_that_would_lose_its_margins_stays_as_it_is() -> None:
    """Aims that no other table meets, and no noise to hide a difference in."""
    shape = (2, 2, 2)
    table = SyntheticTable(shape, np.array([[0, 0, 0]]), np.array([1]))
    aims = {m: table.margin(m).astype(np.float64) for m in itertools.combinations(range(3), 2)}
    made = spread_out(table, aims, noise=0.0)
    assert np.array_equal(made.rows, table.rows)
    whole = {(0, 1, 2): table.margin((0, 1, 2)).astype(np.float64)}
    assert spread_out(table, whole, noise=9.0) is table
