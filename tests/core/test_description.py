"""Structural zeros and filters say which cells cannot hold a record."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import AxisRef, Condition, Count, margins
from discreet.core.true_values import add_totals

from ..facts import people

DESCRIPTION = people()
CHOICES = [("area", "area"), ("area", "region"), ("age", "age"), ("sex", "sex"), ("work", "work")]


@given(st.data())
def test_zero_mask_is_what_enumeration_says(data):
    """A cell is masked exactly when no finest record can fall into it."""
    chosen = data.draw(st.lists(st.sampled_from(CHOICES), unique_by=lambda c: c[0], max_size=3))
    axes = tuple(AxisRef(*c) for c in chosen)
    where = []
    for name in data.draw(st.sets(st.sampled_from(["area", "age", "work"]), max_size=2)):
        codes = DESCRIPTION.variable(name).finest.codes
        picked = data.draw(st.sets(st.sampled_from(codes), min_size=1))
        where.append(Condition(name, name, tuple(sorted(picked))))
    count = Count(axes, tuple(where))
    shape = DESCRIPTION.domain(axes).shape
    possible = np.zeros(shape, dtype=bool)
    finest = [v.finest.codes for v in DESCRIPTION.variables]
    names = [v.name for v in DESCRIPTION.variables]
    for record in itertools.product(*finest):
        values = dict(zip(names, record, strict=True))
        if values["age"] == "0" and values["work"] in {"e", "u"}:
            continue
        if any(values[c.variable] not in c.codes for c in where):
            continue
        cell = []
        for ref in axes:
            variable = DESCRIPTION.variable(ref.variable)
            at = variable.finest.index[values[ref.variable]]
            cell.append(variable.level(ref.level).of_finest[at])
        possible[tuple(cell)] = True
    mask = DESCRIPTION.zero_mask(count)
    found = np.zeros(shape, dtype=bool) if mask is None else mask
    # One rule at a time decides, so a cell emptied only by a filter *and* a rule together may be
    # left unmasked: never the other way round.
    assert not (found & possible).any()
    if not where:
        assert np.array_equal(found, ~possible)


@given(st.lists(st.integers(1, 4), min_size=0, max_size=4), st.randoms())
def test_totals_are_sums(shape, random):
    """Every margin of a cube is the sum of its cells, on every subset of axes."""
    size = int(np.prod(shape, dtype=int))
    values = np.array([random.randint(-5, 5) for _ in range(size)], dtype=np.int64).reshape(shape)
    full = add_totals(values)
    for kept in margins(len(shape)):
        at = tuple(slice(0, n) if i in kept else n for i, n in enumerate(shape))
        gone = tuple(i for i in range(len(shape)) if i not in kept)
        assert np.array_equal(full[at], values.sum(axis=gone))


def test_margins_start_with_the_interior_and_end_with_the_total():
    """2^t margins, each once."""
    assert list(margins(0)) == [()]
    assert len(set(margins(4))) == 16


@pytest.mark.parametrize("axes", [(("age", "age"), ("work", "work"))])
def test_a_declared_zero_is_masked(axes):
    """Children do not work: the declared cells, and no others."""
    mask = DESCRIPTION.zero_mask(Count(tuple(AxisRef(*a) for a in axes)))
    assert mask is not None
    assert mask.tolist() == [[True, True, False], [False] * 3, [False] * 3]
