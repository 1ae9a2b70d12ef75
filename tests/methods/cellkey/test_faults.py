"""Faults seeded on purpose: each must be caught by a check that the true code passes.

A check is a function that asserts something the method promises; a fault is a small change of the
code that somebody could make. Every fault names the check that catches it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.core.description import Description, Weight
from discreet.core.design import design as design_law
from discreet.core.domain import variable
from discreet.core.text import Text
from discreet.core.true_values import cube, reveal
from discreet.methods.cellkey import cell_descriptions as describe
from discreet.methods.cellkey import intervals as reading
from discreet.methods.cellkey import keys, lookup, method, ptable, quantisers, risk
from discreet.methods.cellkey import protection as perturb
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.dialects import write

from .test_keys import plain_mac
from .world import FixedSecrets, World, spec, ten_five

LAW = {"epsilon": "1", "delta": "1e-3"}
BLOCKED = {"max_perturbation": "5", "variance": "3", "blocked_below": "2"}


@pytest.fixture(autouse=True)
def _nothing_cached():
    """A fault must not live on in, or hide behind, a cache."""
    yield
    method._ready.cache_clear()
    method._cached_settings.cache_clear()


def people(size: int = 900, parameters: dict | None = None, **more) -> World:
    method._ready.cache_clear()
    method._cached_settings.cache_clear()
    rng = np.random.default_rng(11)
    variables = (
        variable("town", [f"t{i}" for i in range(15)]),
        variable("age", [f"a{i}" for i in range(10)]),
        variable("sex", ["f", "m", "missing"]),
    )
    codes = {
        "town": rng.integers(0, 15, size),
        "age": rng.integers(0, 10, size) ** 2 // 9,
        "sex": rng.choice(3, size, p=[0.5, 0.4, 0.1]),
    }
    weight = Weight("w", 100) if "weights" in more else None
    description = Description("people", Text.of("People"), variables, weight=weight)
    return World(description, codes, dict(LAW if parameters is None else parameters), **more)


FULL = spec("town", "age", "sex")


def check_empty_cells():
    """Empty cells take many values."""
    world = people(60)
    empty = world.values(FULL)[world.true(FULL) == 0]
    assert np.bincount(empty - empty.min()).max() < 0.5 * empty.size


def check_enumeration():
    """All 256 keys of every row, and counts beyond, give exactly the row's weights."""
    for table in (design(5, "3", 2, keys=256), ten_five()):
        look = lookup.Lookup(table)
        every = np.arange(256, dtype=np.uint64)
        for count in (0, 1, 2, 7, 8, 9, 750, 751, 1000, 1234):
            got = look(np.full(256, count), every)
            values, counts = np.unique(got, return_counts=True)
            have = dict(zip(values.tolist(), counts.tolist(), strict=True))
            assert have == table.row(count).weights


def check_bounds():
    """At every bound of 64-bit rows: the key before and the key itself."""
    table = design(5, "2")
    look = lookup.Lookup(table)
    for count, row in enumerate(table.rows):
        for (v, _, high), (w, _, _) in zip(row.intervals, row.intervals[1:], strict=False):
            both = np.array([high - 1, high], dtype=np.uint64)
            assert look(np.full(2, count), both).tolist() == [v, w]


def check_ceil():
    """sadeghi Example 2: 425760, 1126343, 2255949."""
    masses = design_law("0.5", "1e-4", rule="sadeghi").law
    shares = list(masses.pmf.values())
    weights = quantisers.quantised(list(masses.pmf), shares, 1 << 32, "ceil")
    assert np.cumsum(weights)[:3].tolist() == [425760, 1126343, 2255949]


def check_unbiased():
    """Every row's mean is exactly 0 at 256 keys."""
    assert design(5, "3", 2, keys=256).bias == 0


def check_reach():
    """Every value is its true count plus a perturbation of that count's row."""
    for parameters in (BLOCKED, LAW):
        world = people(parameters=parameters)
        table = world.plan(FULL).detail.ready.settings.table
        true, values = world.true(FULL).ravel().tolist(), world.values(FULL).ravel().tolist()
        assert all(j - n in table.row(n).weights for n, j in zip(true, values, strict=True))


def check_spread():
    """Noise is not one number: no value of it takes more than three times its chance."""
    world = people(5000)
    noise = (world.values(FULL) - world.true(FULL)).ravel()
    chance = world.plan(FULL).detail.ready.settings.table.rows[0].pmf
    _, counts = np.unique(noise, return_counts=True)
    assert counts.max() < 3 * float(max(chance.values())) * noise.size


def check_margins():
    """A margin is perturbed by itself: it is the number the smaller table shows."""
    world = people()
    full = world.values(FULL)
    assert np.array_equal(full[:, :, -1], world.values(spec("town", "age")))
    assert np.array_equal(full[-1, -1], world.values(spec("sex")))
    assert not np.array_equal(full[:-1].sum(axis=0), full[-1])


def check_canonical():
    """A cell reached through a filter is the same cell, empty or not."""
    world = people(60)
    full = world.values(FULL)
    for i, code in enumerate(("f", "m", "missing")):
        assert np.array_equal(
            world.values(spec("town", "age", where=[("sex", code)])), full[:, :, i]
        )


def check_definition():
    """Cell by cell: the top bits of the MAC of the wrapped sum, count and description 0."""
    world = people(4000, {**LAW, "zeros": "kept"})
    table = world.plan(FULL).detail.ready.settings.table
    shape = spec("town", "sex", totals=False)
    values, true = world.values(shape), world.true(shape)
    secret = FixedSecrets(world.seed).derive(f"cell key, p-table {table.digest}")
    low, high = world.keys
    for town in range(15):
        for sex in range(3):
            here = (world.codes["town"] == town) & (world.codes["sex"] == sex)
            total = int(low[here].sum()) + (int(high[here].sum()) << 32)
            n = int(here.sum())
            if n:
                key = plain_mac(secret, total, n, 0, keys.FAMILY)
                assert values[town, sex] == true[town, sex] + table.row(n).at(key)


def check_missing():
    """The missing category's cells have keys of their own."""
    world = people(9000)
    noise = (world.values(FULL) - world.true(FULL))[:-1, :-1, 2]
    assert len(np.unique(noise)) > 4


def check_weighted():
    """Weighted values are (n + v) × mean weight, rounded half up."""
    rng = np.random.default_rng(1)
    world = people(parameters=BLOCKED, weights=rng.integers(100, 900, 900))
    shape = spec("town", "age")
    values, true = world.values(shape), world.true(shape)
    weighted = world.values(spec("town", "age", weighted=True))
    for town in range(15):
        here = world.codes["town"] == town
        mean = Fraction(int(world.weights[here].sum()), 100 * int(here.sum()))
        assert weighted[town, -1] == int(int(values[town, -1]) * mean + Fraction(1, 2))
    assert (weighted[true == 0] == 0).all()


def check_participants():
    """The same people under another description have the same number."""
    world = people()
    world.codes["sex"][:] = 0
    one = world.values(spec("town", totals=False))
    other = world.values(spec("town", where=[("sex", "f")], totals=False))
    assert np.array_equal(one, other)


def check_intervals():
    """Noise intervals hold the true count with at least 95 %, for every count."""
    table = design(5, "3", 2)
    read = reading.Readings(table)
    for n in range(30):
        held = Fraction(0)
        for v, p in table.row(n).pmf.items():
            _, lower, upper = read.of(np.array([n + v]))
            held += p if lower[0] <= n <= upper[0] else 0
        assert held >= Fraction(95, 100)


def check_hired_today():
    """Example 1's law: 0.960."""
    table = ptable.PTable.from_law(design_law("0.5", "1e-4", rule="sadeghi").law)
    assert round(float(risk.hired_today(table, 3).success), 3) == 0.960
    steep = design(5, "3", 2)
    a, b = steep.row(3).pmf, steep.row(4).pmf
    differ = sum(p * q for v, p in a.items() for w, q in b.items() if 3 + v != 4 + w)
    assert risk.hired_today(steep, 3).success == differ


def check_ons_mapping():
    """751 → 501, 1000 → 750, 1001 → 501 in the published table too."""
    world = people(parameters={"ptable": write(ten_five(), "ons"), "keys": "ons-256"})
    table = world.plan(spec("sex")).detail.ready
    counts = np.array([749, 750, 751, 752, 1000, 1001, 1253])
    got = counts + table.lookup(counts, np.zeros(counts.size, np.uint64))
    assert got.tolist() == [750, 750, 750, 750, 1000, 1000, 1255]


honest_keys = keys.StrongKeys.cell_keys
honest_call = lookup.Lookup.__call__
honest_protect = perturb.Protector.protect
honest_guide = lookup.Lookup._guide_of


def _left_bounds(self, row):
    moved = ptable.Row(row.perturbations, (*(u + 1 for u in row.uppers[:-1]), row.uppers[-1]))
    return honest_guide(self, moved)


def _shared(self, sums, counts, descriptions, family=keys.FAMILY):
    return honest_keys(self, np.zeros_like(sums), np.ones_like(counts), np.zeros(1, np.uint64))


def _summed_margins(self, table, texts, zeros, shape, scale=1, everybody=None):
    from discreet.core.true_values import add_totals

    values = honest_protect(self, table, texts, zeros, shape, scale, everybody)
    inner = values[tuple(slice(0, n) for n in table.domain.shape)]
    return add_totals(inner) if shape.totals else values


def _clamped_first(self, counts, cell_keys):
    noise = honest_call(self, counts, cell_keys)
    np.minimum(counts, self.table.max_count, out=counts)
    return noise


def _clipped_result(self, table, texts, zeros, shape, scale=1, everybody=None):
    return np.minimum(honest_protect(self, table, texts, zeros, shape, scale, everybody), 8)


def _missing_key_zero(self, table, texts, zeros, shape, scale=1, everybody=None):
    cells = reveal(table)
    counts = cube(table.domain.shape, cells.addresses, cells.counts, shape.totals)
    values = honest_protect(self, table, texts, zeros, shape, scale, everybody)
    values[..., 2] = counts[..., 2] + self._lookup(
        counts[..., 2].ravel(), np.zeros(counts[..., 2].size, np.uint64)
    ).reshape(counts[..., 2].shape)
    return values


def _by_position(texts, strong):
    return np.arange(int(np.prod(texts.shape)), dtype=np.uint64).reshape(texts.shape)


def _floor(masses, bits):
    total = sum(masses)
    cuts = [int(c * (1 << bits)) // total for c in np.cumsum(np.array(masses, dtype=object))]
    return [b - a for a, b in zip([0, *cuts[:-1]], cuts, strict=True)]


def _plain_weighted(counts, perturbations, weights, scale, whole):
    return weights // scale + perturbations


def _one_tail(row):
    low, high = honest_central(row)
    return low + 1, high


honest_central = reading.central


def _one_sided(table, count, sameness="participants"):
    p = table.row(count).pmf
    hidden = sum(x * p.get(v + 1, 0) for v, x in p.items())
    return risk.HiredToday(1 - hidden, Fraction(0))


FAULTS = {
    "key 0 for empty cells": (
        perturb.Protector,
        "_descriptions",
        lambda self, texts: np.zeros(int(np.prod(texts.shape)), np.uint64),
        check_empty_cells,
    ),
    "descriptions by position": (describe.CellTexts, "numbers", _by_position, check_canonical),
    "lookup off by one": (lookup.Lookup, "_guide_of", _left_bounds, check_enumeration),
    "bound belongs to the interval before": (
        lookup,
        "_bounds",
        lambda row: np.array([u + 1 for u in row.uppers[:-1]], dtype=np.uint64),
        check_bounds,
    ),
    "row off by one": (
        lookup.Lookup,
        "rows",
        lambda self, counts: np.minimum(counts + 1, self.table.max_count),
        check_reach,
    ),
    "large counts in the wrong row": (
        lookup.Lookup,
        "rows",
        lambda self, counts: np.where(counts > self.table.max_count, 1, counts),
        check_enumeration,
    ),
    "ONS cycle off by one": (
        lookup.Lookup,
        "rows",
        lambda self, counts: np.where(counts <= 750, counts, 501 + counts % 250),
        check_ons_mapping,
    ),
    "floor for ceil": (quantisers, "ceil_weights", _floor, check_ceil),
    "mean not mended": (
        quantisers,
        "_unbiased",
        lambda perturbations, ideal, weights, wanted: weights,
        check_unbiased,
    ),
    "clamp before noise": (lookup.Lookup, "__call__", _clamped_first, check_reach),
    "clamp after noise": (perturb.Protector, "protect", _clipped_result, check_reach),
    "one noise for all cells": (keys.StrongKeys, "cell_keys", _shared, check_spread),
    "margins as sums": (perturb.Protector, "protect", _summed_margins, check_margins),
    "high half of the key lost": (
        perturb,
        "sum_of_halves",
        lambda low, high: low.view(np.uint64).copy(),
        check_definition,
    ),
    "low bits for top bits": (
        perturb,
        "top_bits",
        lambda found, bits: found >> np.uint64(1),
        check_definition,
    ),
    "missing category without keys": (
        perturb.Protector,
        "protect",
        _missing_key_zero,
        check_missing,
    ),
    "description in every key": (
        perturb.Protector,
        "_in_key",
        lambda self, counts, names: names,
        check_participants,
    ),
    "weight without the mean": (perturb, "weighted_values", _plain_weighted, check_weighted),
    "interval short of a tail": (reading, "central", _one_tail, check_intervals),
    "hired today with one row": (risk, "hired_today", _one_sided, check_hired_today),
}


@cache
def holds(check):
    """Once is enough for the code as it is: several faults have one check."""
    check()


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.slow
def test_a_seeded_fault_is_caught(name, monkeypatch):
    """The check holds for the code as it is, and fails once the fault is in."""
    owner, attribute, fault, check = FAULTS[name]
    holds(check)
    monkeypatch.setattr(owner, attribute, fault)
    with pytest.raises(AssertionError):
        check()
