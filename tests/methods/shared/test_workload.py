"""Workloads over any hierarchy: tables as sums of one product, against counting by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import AxisRef, Count, variable
from discreet.core.product import whole_margin_of_rows
from discreet.core.question import TableSpec
from discreet.core.table import Status
from discreet.methods.shared.assembly import impossible, zero_status
from discreet.methods.shared.synthetic_table import SyntheticTable
from discreet.methods.shared.workload import read_workload, wanted_within

from ... import trees

WIDE = variable("wide", ["0", "1"])
"""A method of margins needs one variable of two categories; the rest is at random."""


@st.composite
def specs(draw, description) -> TableSpec:
    """A table over distinct variables, filtered or not."""
    axes = draw(trees.axes_of(description, unique=True))
    named = draw(st.sets(st.sampled_from([v.name for v in description.variables]), max_size=2))
    where = tuple(draw(trees.conditions(description.variable(name))) for name in sorted(named))
    return TableSpec(tuple(sorted(axes)), where, totals=draw(st.booleans()))


def product_of(workload, description, records) -> SyntheticTable:
    """The records as the product would hold them."""
    names = [v.name for v in description.variables]
    levels = [(axis.level, names.index(axis.variable.name)) for axis in workload.domain.axes]
    cells = [[level.of_finest[record[at]] for level, at in levels] for record in records]
    rows = np.array(cells, dtype=np.int64).reshape(len(records), len(levels))
    return SyntheticTable(workload.shape, rows, np.ones(len(records), dtype=np.int64))


@given(trees.descriptions(), st.data())
@pytest.mark.slow
def test_every_table_is_a_sum_of_the_product(description, data):
    """From its margin's cells and from single records, whatever the levels and filters."""
    asked = data.draw(st.lists(specs(description), min_size=1, max_size=4))
    asked = list({(spec.axes, spec.where): spec for spec in asked}.values())
    description = dataclasses.replace(description, variables=(*description.variables, WIDE))
    records = data.draw(trees.records_of(description))
    workload = read_workload([*asked, TableSpec((AxisRef("wide", "wide"),))], description, "any")
    table = product_of(workload, description, records)
    further = data.draw(specs(description))
    found = wanted_within(workload, further, description)
    for wanted in (*workload.tables, *([] if found is None else [found])):
        by_hand = trees.counted(description, wanted.spec.count, records)
        assert np.array_equal(wanted.read_off(table), by_hand)
        margin = whole_margin_of_rows(table.rows, workload.shape, wanted.margin, table.counts)
        assert np.array_equal(wanted.publish(margin), by_hand)
        summed = wanted.publish(np.ones([workload.shape[axis] for axis in wanted.margin]))
        sizes = wanted.group_sizes(totals=False)
        product = np.ones(())
        for size in sizes:
            product = np.multiply.outer(product, size)
        gone = tuple(i for i, axis in enumerate(wanted.margin) if axis not in wanted.axes)
        left = [axis for axis in wanted.margin if axis in wanted.axes]
        order = [left.index(axis) for axis in wanted.axes]
        assert np.array_equal(product.sum(axis=gone).transpose(order), summed)
        for size, whole in zip(sizes, wanted.group_sizes(totals=True), strict=True):
            assert whole[: len(size)].tolist() == size.tolist()
            assert len(whole) == len(size) or whole[-1] == size.sum()


@given(trees.descriptions(), st.data())
def test_nobody_is_where_the_workload_forbids(description, data):
    """Forbidden places are exactly those that categories without anything or one rule empty."""
    spec = data.draw(specs(description))
    description = dataclasses.replace(description, variables=(*description.variables, WIDE))
    every = list(trees.every_record(description))
    workload = read_workload([spec, TableSpec((AxisRef("wide", "wide"),))], description, "any")
    forbidden = np.zeros(workload.shape)
    for margin, table in workload.forbidden.items():
        wide = [workload.shape[at] if at in margin else 1 for at in range(len(workload.refs))]
        forbidden = np.maximum(forbidden, table.reshape(wide))
    full = [description.axis(ref).level for ref in workload.refs]
    held = np.ix_(*(np.flatnonzero(level.held) for level in full))
    assert workload.shape == tuple(int(level.held.sum()) for level in full)
    mask = description.zero_mask(Count(workload.refs))
    if mask is None:
        assert not forbidden.any()
    elif not mask[held].all():
        assert np.array_equal(forbidden > 0, mask[held])
    reached = trees.counted(description, Count(workload.refs), every) > 0
    assert reached[held].all()


@given(trees.descriptions(), st.data())
def test_a_total_of_impossible_cells_is_impossible(description, data):
    """With totals and without, statuses are those of enumeration."""
    spec = dataclasses.replace(data.draw(specs(description)), totals=data.draw(st.booleans()))
    mask = description.zero_mask(spec.count)
    status = zero_status(spec, description)
    shape = description.domain(spec.axes).shape
    assert status.shape == tuple(n + spec.totals for n in shape)
    found = impossible(spec, description)
    if found is None:
        assert mask is None
        assert not status.any()
        return
    assert np.array_equal(status == Status.STRUCTURAL_ZERO, found)
    for at in np.ndindex(*status.shape):
        cells = tuple(slice(None) if i == n else i for i, n in zip(at, shape, strict=True))
        assert found[at] == mask[cells].all()
