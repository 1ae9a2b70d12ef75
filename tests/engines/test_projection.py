"""Margins and sums of parts: cell by cell the same, whether cells are many or few."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.domain import AxisRef, Count, variable
from discreet.core.true_values import Cells
from discreet.engines.projection import Projections, joined

from ..facts import people

KINDS = ("counts", "key_low", "key_high", "weights")
WORD = 1 << 64


def description(sizes):
    """Variables of so many categories; the first has a coarser level of two."""
    made = []
    for number, size in enumerate(sizes):
        codes = [f"c{i}" for i in range(size)]
        coarser = {"half": {code: "ab"[i % 2] for i, code in enumerate(codes)}}
        levels = coarser if number == 0 and size > 2 else None
        made.append(variable(f"v{number}", codes, levels=levels or {}))
    return dataclasses.replace(people(), variables=tuple(made))


def cells_of(generator, size, share, kinds):
    """So many of the cells of a domain, with sums of any 64 bits."""
    addresses = np.flatnonzero(generator.random(size) < share)
    any_sum = {"low": -(1 << 63), "high": (1 << 63) - 1, "size": len(addresses)}
    columns = {kind: generator.integers(**any_sum) for kind in kinds}
    columns["counts"] = generator.integers(1, 1 << 40, len(addresses))
    return Cells(addresses, *(columns.get(kind) for kind in KINDS))


def as_mapping(cells):
    """Address → what stands there, mod 2^64."""
    columns = [getattr(cells, kind) for kind in KINDS]
    return {
        int(address): tuple(None if c is None else int(c[i]) % WORD for c in columns)
        for i, address in enumerate(cells.addresses)
    }


def plus(one, other):
    pairs = zip(one, other, strict=True)
    return tuple(None if a is None or b is None else (a + b) % WORD for a, b in pairs)


CASES = given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 40]), min_size=1, max_size=4).filter(
        lambda sizes: math.prod(sizes) <= 3_000
    ),
    share=st.sampled_from([0.0, 0.01, 0.3, 0.9, 1.0]),
    kinds=st.sampled_from([(), ("key_low", "key_high"), ("key_low", "key_high", "weights")]),
    seed=st.integers(0, 1000),
)


@settings(deadline=None)
@CASES
def test_every_margin_is_the_sum_of_its_cells(sizes, share, kinds, seed):
    """Whole or one from another, at a coarser level too, in any order of axes."""
    generator, facts = np.random.default_rng(seed), description(sizes)
    refs = [AxisRef(one.name, one.name) for one in facts.variables]
    refs = [refs[i] for i in generator.permutation(len(refs))]
    counts = [Count(some) for size in range(len(refs) + 1) for some in combinations(refs, size)]
    if len(facts.variables[0].levels) > 1:
        coarse = AxisRef("v0", "half")
        counts.append(Count((coarse, *(ref for ref in refs if ref.variable != "v0"))))
    counts = [counts[i] for i in generator.permutation(len(counts))]
    domains = [facts.domain(count.axes) for count in counts]
    projections = Projections(counts, domains)
    whole = next(i for i, count in enumerate(counts) if set(count.axes) == set(refs))
    interior = cells_of(generator, domains[whole].size, share, kinds)
    found: dict[int, Cells] = {}
    for i in projections.order:
        source, expected = projections.source[i], in_words(interior, domains[whole], domains[i])
        found[i] = as_cells(expected, kinds)
        if source is not None:
            made = projections.project(found[source], i)
            assert as_mapping(made) == expected
            assert list(made.addresses) == sorted(expected)


def in_words(interior, whole, part):
    """The sums of a margin, cell by cell."""
    expected: dict[int, tuple] = {}
    places = dict(zip((a.variable.name for a in whole.axes), np.unravel_index(interior.addresses, whole.shape), strict=True))  # fmt: skip
    for row, values in enumerate(as_mapping(interior).values()):
        address = sum(
            axis.level.of_finest[places[axis.variable.name][row]] * stride
            for axis, stride in zip(part.axes, part.strides, strict=True)
        )
        known = expected.get(address)
        expected[address] = values if known is None else plus(known, values)
    return expected


def as_cells(mapping, kinds):
    """Cells of what stands at addresses."""
    addresses = sorted(mapping)
    columns = {
        kind: np.array([mapping[at][i] for at in addresses], dtype=np.uint64).view(np.int64)
        for i, kind in enumerate(KINDS)
        if kind == "counts" or kind in kinds
    }
    return Cells(np.array(addresses, dtype=np.int64), *(columns.get(kind) for kind in KINDS))


@settings(deadline=None)
@CASES
def test_parts_add_up(sizes, share, kinds, seed):
    """Of one, two or three, some of them empty."""
    generator, facts = np.random.default_rng(seed), description(sizes)
    domain = facts.domain([AxisRef(one.name, one.name) for one in facts.variables])
    parts = [
        cells_of(generator, domain.size, share * generator.choice([0, 0.5, 1]), kinds)
        for _ in range(1 + seed % 3)
    ]
    expected: dict[int, tuple] = {}
    for part in parts:
        for address, values in as_mapping(part).items():
            expected[address] = plus(expected[address], values) if address in expected else values
    assert as_mapping(joined(parts, domain)) == expected
