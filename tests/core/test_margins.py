"""Levels, margins and structural zeros against counting records by hand."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import Count, variable
from discreet.core.margins import Margin, Projection, Sources, covers, joint, merged, projection

from .. import trees


def inside(level, category: int) -> set[int]:
    """The finest categories within one category."""
    return {i for i, at in enumerate(level.of_finest) if at == category}


@given(trees.variables("v"))
def test_a_level_sums_to_another_exactly_if_no_category_splits(made):
    """Every pair of levels: the map says where each category goes, the empty ones nowhere."""
    for fine, coarse in itertools.product(made.levels, repeat=2):
        holding = [{coarse.of_finest[i] for i in inside(fine, c)} for c in range(len(fine))]
        found = made.level_map(fine.name, coarse.name)
        assert (found is None) == any(len(places) > 1 for places in holding)
        by_hand = [min(places) if len(places) == 1 else -1 for places in holding]
        assert fine.holders(coarse).tolist() == by_hand
        if found is not None:
            assert found.tolist() == by_hand


@given(trees.variables("v"), st.data())
def test_a_set_is_joined_from_whole_categories_or_not_at_all(made, data):
    """The categories found are the set and hold something; None means that one would split."""
    finest = np.array(
        data.draw(st.lists(st.booleans(), min_size=(n := len(made.finest)), max_size=n))
    )
    wanted = set(np.flatnonzero(finest).tolist())
    for level in made.levels:
        parts = [inside(level, category) for category in range(len(level))]
        assert level.held.tolist() == [bool(part) for part in parts]
        found = level.joined(finest)
        if found is None:
            assert any(part & wanted and part - wanted for part in parts)
        else:
            assert set().union(*(parts[i] for i in found)) == wanted
            assert all(parts[i] for i in found)


@given(trees.variables("v"), st.data())
def test_the_refining_level_is_the_coarsest_that_serves(made, data):
    """All wanted levels are sums of it, and of no level declared after it."""
    names = [level.name for level in made.levels]
    wanted = data.draw(st.sets(st.sampled_from(names), min_size=1))
    serving = [n for n in names if all(made.level_map(n, w) is not None for w in wanted)]
    assert made.refining(wanted).name == serving[-1]


@given(trees.descriptions(rules=False), st.data())
def test_projections_are_the_counts_of_records(description, data):
    """Dense, sparse and by address: what is had from a table is what counting would bring."""
    records = data.draw(trees.records_of(description))
    whole, part = (data.draw(trees.axes_of(description)) for _ in range(2))
    found = projection(Margin(whole), Margin(part), description)
    assert (found is not None) == covers(whole, part, description)
    assert (found is not None) == all(
        any(
            ref.variable == axis.variable
            and description.variable(ref.variable).level_map(axis.level, ref.level) is not None
            for axis in whole
        )
        for ref in part
    )
    if found is None:
        return
    full = trees.counted(description, Count(whole), records)
    by_hand = trees.counted(description, Count(part), records)
    assert np.array_equal(found.sums(full), by_hand)
    assert np.allclose(found.sums(full.astype(float)), by_hand)
    held = np.flatnonzero(full)
    sparse = np.zeros(by_hand.size, dtype=np.int64)
    np.add.at(sparse, found.addresses(held), full.ravel()[held])
    assert np.array_equal(sparse.reshape(by_hand.shape), by_hand)
    cells = [trees.cell(description, whole, record) for record in records]
    rows = np.array(cells, dtype=np.int64).reshape(len(records), len(whole))
    address = found.address(list(rows.T))
    assert (address >= 0).all()
    counts = np.bincount(np.broadcast_to(address, len(records)), minlength=by_hand.size)
    assert np.array_equal(counts.reshape(by_hand.shape), by_hand)
    if found.plain:
        assert found.whole.size % found.part.size == 0


@given(trees.descriptions(rules=False), st.data())
def test_a_cell_goes_nowhere_only_if_no_record_can_be_in_it(description, data):
    """An empty category has no place in a coarser level, and every other cell has one."""
    whole = description.domain(data.draw(trees.axes_of(description, unique=True)))
    part = description.domain(data.draw(trees.axes_of(description)))
    found = Projection.of(whole, part)
    if found is None:
        return
    nowhere = found.addresses(np.arange(whole.size)) < 0
    empty = description.zero_mask(Count(tuple(axis.ref for axis in whole.axes)))
    assert not nowhere.any() if empty is None else (empty.ravel() | ~nowhere).all()


@given(trees.descriptions(rules=False), st.data())
def test_all_margins_of_a_group_are_sums_of_their_joint_table(description, data):
    """The joint table has each variable once and gives every margin."""
    records = data.draw(trees.records_of(description))
    drawn = data.draw(st.lists(trees.axes_of(description), min_size=1, max_size=4))
    margins = [Margin(axes) for axes in drawn]
    whole = joint(margins, description)
    assert len({ref.variable for ref in whole.axes}) == len(whole.axes)
    full = trees.counted(description, whole.count, records)
    for margin in margins:
        found = projection(whole, margin, description)
        assert found is not None
        assert np.array_equal(found.sums(full), trees.counted(description, margin.count, records))
    sources = Sources(margins, description)
    for margin in margins:
        by_hand = [i for i, one in enumerate(margins) if covers(one.axes, margin.axes, description)]
        assert sources.of(margin) == by_hand


@given(trees.descriptions(), st.data())
def test_the_zero_mask_is_what_enumeration_says(description, data):
    """A cell is masked exactly if no record can be in it, or the rules together exclude all that could."""
    axes = data.draw(trees.axes_of(description))
    filtered = data.draw(st.sets(st.sampled_from([v.name for v in description.variables])))
    where = tuple(data.draw(trees.conditions(description.variable(n))) for n in sorted(filtered))
    count = Count(axes, where)
    possible = [
        record
        for record in trees.every_record(description)
        if not any(
            trees.meets(description, zero.conditions, record)
            for zero in description.structural_zeros
        )
    ]
    by_hand = trees.counted(description, count, possible) == 0
    mask = description.zero_mask(count)
    assert np.array_equal(np.zeros_like(by_hand) if mask is None else mask, by_hand)
    assert mask is None or mask.any()
    for side, ref in zip(description.kept(count), axes, strict=True):
        own = Count((ref,), tuple(c for c in where if c.variable == ref.variable))
        let_in = trees.counted(description, own, list(trees.every_record(description))) > 0
        assert let_in.all() or side is not None or not own.where
        assert side is None or side.tolist() == let_in.tolist()


@given(trees.descriptions(), st.data())
def test_zero_tables_and_codes_say_the_same_as_the_mask(description, data):
    """Tables over few axes together are the mask; a rule in codes names the cells it empties."""
    axes = data.draw(trees.axes_of(description, unique=True))
    shape = description.domain(axes).shape
    together = np.zeros(shape, dtype=bool)
    for positions, table in description.zero_tables(description.domain(axes).axes).items():
        wide = [shape[at] if at in positions else 1 for at in range(len(axes))]
        together |= table.reshape(wide)
    mask = description.zero_mask(Count(axes))
    if mask is None or not mask.all():  # a rule that empties everything is over no axis at all
        assert np.array_equal(together, np.zeros_like(together) if mask is None else mask)
    possible = trees.counted(description, Count(axes), list(trees.every_record(description))) > 0
    for zero in description.structural_zeros:
        said = description.ruled_codes(zero, axes)
        left = [
            record
            for record in trees.every_record(description)
            if not trees.meets(description, zero.conditions, record)
        ]
        empties = possible & (trees.counted(description, Count(axes), left) == 0)
        if said is None:
            assert not empties.any() or not {c.variable for c in zero.conditions} & {
                ref.variable for ref in axes
            }
            continue
        named = np.ones(shape, dtype=bool)
        for at, codes in said.items():
            level = description.axis(axes[at]).level
            flags = np.array([code in codes for code in level.codes])
            named &= flags.reshape([-1 if i == at else 1 for i in range(len(axes))])
        assert np.array_equal(named & possible, empties)


def test_a_branch_that_stops_early_is_its_own_category_further_down():
    """Wales has no regions: at the level of regions it is Wales, and every level partitions."""
    area = variable(
        "area",
        ["n1", "n2", "s1", "w"],
        levels={
            "region": {"n1": "north", "n2": "north", "s1": "south", "w": "w"},
            "country": {"north": "england", "south": "england", "w": "wales"},
        },
    )
    assert area.level_map("region", "country").tolist() == [0, 0, 1]
    assert area.level_map("area", "region").tolist() == [0, 0, 1, 2]
    assert area.level_map("country", "region") is None
    assert area.refining(["region", "country"]).name == "region"


@given(
    st.lists(st.integers(-1, 3), min_size=1, max_size=6),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
)
def test_merging_an_axis_is_adding_its_slices(places, axis, random):
    """Whole numbers stay exact, and what goes nowhere is left out."""
    shape = [2, 3, 2]
    shape[axis] = len(places)
    size = int(np.prod(shape))
    values = np.array([random.randint(-(2**60), 2**60) for _ in range(size)]).reshape(shape)
    out = merged(values, axis, np.array(places), 4)
    for into in range(4):
        chosen = [i for i, at in enumerate(places) if at == into]
        assert np.array_equal(out.take(into, axis), values.take(chosen, axis).sum(axis=axis))


@given(trees.descriptions(rules=False), st.data())
def test_held_counts_the_cells_that_records_can_be_in(description, data):
    """Without filters and rules these are the cells that the hierarchy lets a record into."""
    axes = data.draw(trees.axes_of(description, unique=True))
    reached = trees.counted(description, Count(axes), list(trees.every_record(description))) > 0
    assert description.domain(axes).held == int(reached.sum())
