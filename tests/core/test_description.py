"""Structural zeros and filters say which cells cannot hold a record."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.description import StructuralZero
from discreet.core.domain import AxisRef, Condition, Count, margins, variable
from discreet.core.question import Question, TableSpec
from discreet.core.true_values import add_totals
from discreet.methods.base import Facts, question_hash

from ..examples import examples
from ..facts import people, policy

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


RULE = st.dictionaries(
    st.sampled_from(["area", "age", "sex", "work"]), st.integers(1, 10**6), min_size=1, max_size=3
)


def as_zero(rule):
    """A structural zero over the finest categories that the bits of each number name."""
    conditions = []
    for name, bits in rule.items():
        codes = DESCRIPTION.variable(name).finest.codes
        chosen = [code for i, code in enumerate(codes) if bits >> i & 1] or codes[:1]
        conditions.append(Condition(name, name, tuple(sorted(chosen))))
    return StructuralZero(tuple(sorted(conditions)))


def in_pieces(zero, random):
    """The same as several rules: cut along one condition, or into single codes of all of them."""
    if random.random() < 0.5:
        parts = [
            [Condition(c.variable, c.level, (code,)) for code in c.codes] for c in zero.conditions
        ]
        return [StructuralZero(one) for one in itertools.product(*parts)]
    at = random.randrange(len(zero.conditions))
    part = zero.conditions[at]
    cut = random.randrange(len(part.codes) + 1)
    pieces = [part.codes[:cut], part.codes[cut:], part.codes[: cut + 1]]
    return [
        StructuralZero(
            (
                *zero.conditions[:at],
                Condition(part.variable, part.level, piece),
                *zero.conditions[at + 1 :],
            )
        )
        for piece in pieces
        if piece
    ]


def question_hash_of(description):
    question = Question("people", (TableSpec((AxisRef("age", "age"),)),), "noise", {}, True)
    everything = replace(
        question, tables=(TableSpec(tuple(AxisRef(v.name, v.name) for v in description.variables)),)
    )
    facts = Facts(description, policy(), "v1", "p1")
    return question_hash(everything, facts)


@examples(40)
@given(st.lists(RULE, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_it_does_not_matter_as_how_many_rules_zeros_are_written(rules, random):
    """Masks at every level are those of all rules together, and the question has one hash."""
    written = [as_zero(rule) for rule in rules]
    one = replace(DESCRIPTION, structural_zeros=tuple(written))
    pieces = [piece for zero in written for piece in in_pieces(zero, random)]
    random.shuffle(pieces)
    many = replace(DESCRIPTION, structural_zeros=tuple(pieces))
    assert question_hash_of(one) == question_hash_of(many)
    other = replace(DESCRIPTION, structural_zeros=tuple(written[1:]))
    names = [v.name for v in DESCRIPTION.variables]
    whole = Count(tuple(AxisRef(name, name) for name in names))
    finest = [v.finest for v in DESCRIPTION.variables]
    full = np.zeros([len(level) for level in finest], dtype=bool)
    for zero in written:
        inside = np.ones_like(full)
        for part in zero.conditions:
            at = names.index(part.variable)
            flags = np.array([code in part.codes for code in finest[at].codes])
            inside &= flags.reshape([-1 if i == at else 1 for i in range(len(names))])
        full |= inside
    for description in (one, many):
        mask = description.zero_mask(whole)
        assert np.array_equal(np.zeros_like(full) if mask is None else mask, full)
        for ref in (AxisRef("area", "region"), AxisRef("age", "age")):
            sides = np.array(description.variable(ref.variable).level(ref.level).of_finest)
            axis = names.index(ref.variable)
            rest = tuple(i for i in range(len(names)) if i != axis)
            empty = full.all(axis=rest)
            wanted = [bool(empty[sides == i].all()) for i in range(sides.max() + 1)]
            mask = description.zero_mask(Count((ref,)))
            assert (wanted if mask is None else mask.tolist()) == wanted
            assert mask is not None or not any(wanted)
    mask = other.zero_mask(whole)
    fewer = np.zeros_like(full) if mask is None else mask
    assert (question_hash_of(other) == question_hash_of(one)) == np.array_equal(fewer, full)


def test_very_many_rules_stay_as_they_are_written():
    """Finding all largest ones could take for ever; masks are then decided rule by rule."""
    codes = tuple(f"{i:02}" for i in range(30))
    wide = replace(DESCRIPTION, variables=tuple(variable(name, codes) for name in "abcd"))
    random = np.random.default_rng(1)
    rules = [
        StructuralZero(
            tuple(
                Condition(name, name, tuple(sorted(random.choice(codes, 15, replace=False))))
                for name in "abcd"
            )
        )
        for _ in range(40)
    ]
    described = replace(wide, structural_zeros=tuple(rules))
    assert described.zero_rules == tuple(rule.conditions for rule in rules)
