"""Show 5 at length: whatever is asked of whatever data, tables are whole, ≥ 0 and agree exactly.

Domains of one to six variables of 1 to 40 categories, workloads of up to six margins, 0 to 3,000
records (or a constant one), structural zeros over one or two variables, the number of records
declared (replace-one, kept exactly) or not, ε from 0.0005 to 90, both modes.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.core.description import Description, StructuralZero
from discreet.core.domain import Condition
from discreet.core.product import margin_of_rows
from discreet.core.table import ProtectedTable
from discreet.errors import InputError
from discreet.methods.shared.synthetic_table import SyntheticTable, whole_table

from ...examples import examples
from .people import described, latent, question, released

MOST_BITS = 11


@st.composite
def asked(
    draw: st.DrawFn, most_cells: float
) -> tuple[np.ndarray, Description, list[tuple[int, ...]], dict[str, str]]:
    """Records, what is public of them, the margins wanted and how."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 7, 40]), min_size=1, max_size=6)))
    while math.prod(shape) > most_cells:
        shape = shape[1:]
    if max(shape) == 1:
        shape = (*shape, 2)
    axes = range(len(shape))
    every = [m for r in (1, 2, 3) for m in itertools.combinations(axes, r)]
    every = [m for m in every if 1 < math.prod(shape[a] for a in m) <= 2000]
    margins = draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True))
    used = sorted({a for m in margins for a in m})
    rows = latent(shape, draw(st.sampled_from([0, 1, 30, 400, 3000])), draw(st.integers(0, 9)))
    if draw(st.integers(0, 5)) == 0:
        rows[:] = rows[:1]
    zeros = []
    for _ in range(draw(st.integers(0, 2))):
        over = draw(st.lists(st.sampled_from(used), min_size=1, max_size=2, unique=True))
        over = [a for a in over if shape[a] > 1]
        cell = [draw(st.integers(0, shape[a] - 1)) for a in over]
        if over and not any(z[0] == over[0] for z in zeros):
            zeros.append((over[0], over, cell))
            rows = rows[(rows[:, over] != cell).any(axis=1)]
    declared = draw(st.booleans())
    made = described(
        shape,
        records=len(rows) if declared else None,
        structural_zeros=tuple(
            StructuralZero(
                tuple(
                    Condition(f"v{a}", f"v{a}", (f"c{c}",)) for a, c in zip(over, cell, strict=True)
                ),
                "cannot be",
            )
            for _, over, cell in zeros
        ),
    )
    bits = sum((shape[a] - 1).bit_length() for a in used)
    classic = bits <= MOST_BITS and draw(st.integers(0, 3)) == 0
    parameters = {"epsilon": draw(st.sampled_from(["0.01", "0.3", "1", "20", "90"]))}
    if classic:
        parameters["mode"] = "classic"
        if draw(st.booleans()):
            parameters["objective"] = draw(st.sampled_from(["total", "hybrid in margins"]))
        if draw(st.booleans()):
            parameters["noise_on"] = draw(st.sampled_from(["cells", "coefficients"]))
    elif draw(st.booleans()):
        parameters["epsilon"] = draw(st.sampled_from(["0.0005", "0.1", "3"]))
        parameters["records_about"] = str(max(1, len(rows)))
    return rows, made, margins, parameters


def check(case: tuple[np.ndarray, Description, list[tuple[int, ...]], dict[str, str]]) -> None:
    """One release, and everything that must be true of it."""
    rows, made, margins, parameters = case
    names = [[f"v{a}" for a in margin] for margin in margins]
    try:
        _, _, tables = released(rows, made, question(made, names, **parameters))
    except InputError as refused:  # so little ε that no law has a share of it
        if float(parameters["epsilon"]) > 0.01 or "fewer margins" not in str(refused):
            raise
        return
    for margin, table in zip(margins, tables, strict=True):
        values = table.values
        assert values.dtype == np.int64
        assert values.min() >= 0
        for axis in range(values.ndim):
            parts = np.split(values, [-1], axis=axis)
            assert (parts[0].sum(axis=axis, keepdims=True) == parts[1]).all()
        _impossible_is_empty(made, margin, table)
        if made.records is not None and parameters.get("mode") != "classic":
            assert int(values.ravel()[-1]) == made.records
    for (one, first), (two, second) in itertools.combinations(zip(margins, tables, strict=True), 2):
        common = sorted(set(one) & set(two))
        assert (_part(first.values, one, common) == _part(second.values, two, common)).all()


def _impossible_is_empty(made: Description, margin: tuple[int, ...], table: ProtectedTable) -> None:
    for zero in made.structural_zeros:
        where = {int(c.variable[1:]): int(c.codes[0][1:]) for c in zero.conditions}
        if set(where) <= set(margin):
            inside = tuple(where.get(axis, slice(None)) for axis in margin)
            assert not table.values[inside].any()


def _part(values: np.ndarray, margin: tuple[int, ...], kept: list[int]) -> np.ndarray:
    return values[tuple(slice(None) if axis in kept else -1 for axis in margin)]


@given(asked(3000))
@examples(20, *HealthCheck)
def test_whole_nonnegative_and_in_agreement(
    case: tuple[np.ndarray, Description, list[tuple[int, ...]], dict[str, str]],
) -> None:
    """A few random releases are whole and not negative, and their tables agree."""
    check(case)


@pytest.mark.proof
@given(asked(math.inf))
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
def test_whole_nonnegative_and_in_agreement_many(
    case: tuple[np.ndarray, Description, list[tuple[int, ...]], dict[str, str]],
) -> None:
    """In 3,000 random releases all counts are whole and not negative, and all tables agree."""
    check(case)


def test_rounding_does_not_cost_more_than_the_noise() -> None:
    """Fractions of 60 cells as whole numbers: margins a fraction of the distance away, total kept.

    At ε = 20 a 3 × 4 × 5 × 6 domain has half the error it would have without (0.16, not 0.33).
    """
    shape, margins = (3, 4, 5), [(0, 1), (0, 2), (1, 2)]
    cells = np.array(list(itertools.product(*(range(n) for n in shape))))
    weights = np.random.default_rng(2).gamma(0.5, 3, len(cells))
    weights[7] = 0
    total = round(weights.sum())
    share = weights * (total / weights.sum())

    def off(table: SyntheticTable) -> float:
        return sum(
            float(np.abs(table.margin(m) - margin_of_rows(cells, shape, m, share)).sum())
            for m in margins
        )

    def possible(rows: np.ndarray) -> np.ndarray:
        return (rows != cells[7]).any(axis=1) * 1.0

    plain = whole_table(shape, cells, weights, total)
    repaired = whole_table(shape, cells, weights, total, margins=margins, allowed=possible)
    assert off(repaired) < 0.8 * off(plain)
    assert repaired.total == plain.total == total
    assert repaired.counts.min() > 0
    assert not (repaired.rows == cells[7]).all(axis=1).any()
