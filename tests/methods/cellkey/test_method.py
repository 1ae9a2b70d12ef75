"""The method in the flow: one pass, all margins, the same cell the same number for ever."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.count_law import Row
from discreet.core.description import Description, StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.guarantee import Kind
from discreet.core.table import Status
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.errors import Bug, DataError, InputError, LawError, RecipeError, Refusal
from discreet.methods import registry
from discreet.methods.base import Measurements
from discreet.methods.cellkey.additive import additive_view
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.dialects import write
from discreet.methods.cellkey.intervals import Readings
from discreet.methods.cellkey.method import CellKeyMethod
from discreet.methods.cellkey.protection import weighted_values
from discreet.methods.cellkey.ptable import PTable
from discreet.methods.cellkey.settings import Treatment

from .world import FixedSecrets, World, spec, ten_five

TOWN = variable(
    "town",
    [f"t{i}" for i in range(12)],
    levels={"region": {f"t{i}": "NSW"[i % 3] for i in range(12)}},
)
AGE = variable(
    "age", [f"a{i}" for i in range(6)], levels={"band": {f"a{i}": "yo"[i // 3] for i in range(6)}}
)
SEX = variable("sex", ["f", "m", "missing"])
LAW = {"epsilon": "1", "delta": "1e-3"}


def make(size: int = 300, seed: int = 1, parameters: dict | None = None, **more) -> World:
    """Records over towns, ages and sexes; many cells stay empty."""
    rng = np.random.default_rng(seed)
    codes = {
        "town": rng.integers(0, 12, size),
        "age": rng.integers(0, 6, size),
        "sex": rng.choice(3, size, p=[0.48, 0.48, 0.04]),
    }
    facts = {name: more.pop(name) for name in ("weight", "structural_zeros") if name in more}
    description = Description("people", Text.of("People"), (TOWN, AGE, SEX), **facts)
    return World(description, codes, dict(parameters or {}), seed=seed, **more)


POLICIES = [
    {},
    LAW,
    {"max_perturbation": "5", "variance": "3", "blocked_below": "2"},
    {**LAW, "sameness": "participants and description"},
    {**LAW, "keys": "sadeghi", "key_bits": "16", "delta": "1e-2"},
    {"ptable": write(ten_five(), "ons"), "keys": "ons-256"},
]


@pytest.mark.parametrize(
    "parameters", [*POLICIES[:-1], pytest.param(POLICIES[-1], marks=pytest.mark.slow)]
)
def test_the_same_cell_has_the_same_number_wherever_it_is_seen(parameters):
    """Interior, margin, filter, another level, another order: one cell, one number (empty ones too)."""
    world = make(parameters=parameters)
    full = world.values(spec("town", "age", "sex"))
    assert np.array_equal(world.values(spec("town", "age", "sex")), full)
    assert np.array_equal(world.values(spec("town", "age")), full[:, :, -1])
    assert np.array_equal(world.values(spec("age")), full[-1, :, -1])
    assert world.values(spec()) == full[-1, -1, -1]
    assert np.array_equal(
        world.values(spec("town", "age", "sex", totals=False)), full[:-1, :-1, :-1]
    )
    for i, code in enumerate(SEX.finest.codes):
        assert np.array_equal(
            world.values(spec("town", "age", where=[("sex", code)])), full[:, :, i]
        )
    two = world.values(spec("town", where=[("age", "a0"), ("sex", "f")]))
    assert np.array_equal(two, full[:, 0, 0])
    everything = world.values(spec("town", "age", where=[("sex", "f", "m", "missing")]))
    assert np.array_equal(everything, full[:, :, -1])
    within = world.values(spec("age", "sex", where=[("age:band", "y")], totals=False))
    assert np.array_equal(within[:3], full[-1, :3, :-1])


def test_a_category_at_one_level_is_the_set_of_its_finest():
    """A region asked for as a level, as a filter or as its towns is the same cell, empty or not."""
    world = make(20, parameters=LAW)
    by_level = world.values(spec("town:region", "age"))
    for i, code in enumerate(TOWN.level("region").codes):
        by_filter = world.values(spec("age", where=[("town:region", code)]))
        assert np.array_equal(by_filter, by_level[i])
        towns = [
            t
            for t, r in zip(TOWN.finest.codes, TOWN.level("region").of_finest, strict=True)
            if r == i
        ]
        assert np.array_equal(world.values(spec("age", where=[("town", *towns)])), by_level[i])


def test_two_levels_of_one_variable():
    """A town beside its own region is the town; beside another it is impossible and stays 0."""
    world = make(40, parameters=LAW)
    alone = world.values(spec("town", "age"))
    both = world.values(spec("town", "town:region", "age"))
    regions = TOWN.level("region").of_finest
    for i, region in enumerate(regions):
        assert np.array_equal(both[i, region], alone[i])


def test_the_second_mode_follows_the_description():
    """The same people under another description: equal in the first mode, fresh in the second."""
    size = 400
    codes = {"town": np.arange(size) % 12, "age": np.zeros(size, int), "sex": np.zeros(size, int)}
    description = Description("people", Text.of("People"), (TOWN, AGE, SEX))
    first = World(description, codes, dict(LAW))
    one, other = spec("town", totals=False), spec("town", where=[("age", "a0")], totals=False)
    assert np.array_equal(first.values(one), first.values(other))
    second = World(description, codes, {**LAW, "sameness": "participants and description"})
    assert not np.array_equal(second.values(one), second.values(other))


def test_values_are_true_counts_plus_a_perturbation_of_their_row():
    """Every published number is reachable by the law of its true count; zeros stay in ABS mode."""
    parameters = {"max_perturbation": "5", "variance": "3", "blocked_below": "2"}
    world = make(800, parameters=parameters)
    shape = spec("town", "age", "sex")
    true, values = world.true(shape), world.values(shape)
    table = design(5, "3", 2)
    for n, j in zip(true.ravel().tolist(), values.ravel().tolist(), strict=True):
        assert j - n in table.row(n).weights
    assert not np.isin(values, (1, 2)).any()
    assert (values[true == 0] == 0).all()
    assert (values != true).mean() > 0.3


def test_the_true_table_is_never_in_what_is_measured():
    """One array a table, of perturbed values only; facts name the p-table and nothing of the data."""
    world = make(parameters=LAW)
    measured = world.measure(spec("town"), spec("age", "sex"))
    assert len(measured.arrays) == 2
    assert set(measured.facts) == {"p_table"}
    assert not np.array_equal(next(iter(measured.arrays.values())), world.true(spec("town")))


def test_another_secret_gives_other_noise():
    """The noise is in the secret: the same data under another key are perturbed otherwise."""
    world = make(2000, parameters=LAW)
    shape = spec("town", "age")
    first = world.values(shape)
    plan = world.plan(shape)
    counted = world.engine.count(plan.counts, keys=True)
    measured = world.method.measure(plan, counted, FixedSecrets(99), Control())
    (other,) = measured.arrays.values()
    assert not np.array_equal(first, other)
    assert np.abs(first - other).max() <= 2 * plan.detail.ready.settings.table.max_perturbation


def test_structural_zeros_stay_zero():
    """Declared impossible: 0, status z, no noise; a margin of nothing else too."""
    zero = StructuralZero((Condition("age", "age", ("a0",)), Condition("sex", "sex", ("m",))))
    world = make(parameters=LAW, structural_zeros=(zero,))
    keep = ~((world.codes["age"] == 0) & (world.codes["sex"] == 1))
    world.codes = {name: codes[keep] for name, codes in world.codes.items()}
    world.keys = tuple(half[keep] for half in world.keys)
    (table,) = world.tables(spec("age", "sex"))
    assert table.values[0, 1] == 0
    assert table.status[0, 1] == Status.STRUCTURAL_ZERO
    assert table.noise.sd[0, 1] == table.noise.upper[0, 1] == 0
    assert (table.status == Status.STRUCTURAL_ZERO).sum() == 1
    (one,) = world.tables(spec("sex", where=[("age", "a0")]))
    assert one.status[1] == Status.STRUCTURAL_ZERO
    assert one.values[0] == table.values[0, 0]


def test_missing_is_a_category_with_real_keys():
    """Cells of the missing category differ in noise: they are not all given key 0."""
    world = make(6000, parameters=LAW)
    shape = spec("town", "age", "sex", totals=False)
    noise = (world.values(shape) - world.true(shape))[:, :, 2]
    assert len(np.unique(noise)) > 5


def test_empty_cells_do_not_announce_themselves():
    """Noise over empty cells takes many values, negative and positive."""
    world = make(50, parameters=LAW)
    shape = spec("town", "age", "sex", totals=False)
    values = world.values(shape)[world.true(shape) == 0]
    assert len(np.unique(values)) > 5
    assert values.min() < 0 < values.max()


# What is shown -----------------------------------------------------------------------------------


def test_threshold_and_display_floor_are_decided_on_protected_values():
    """Below the threshold c, low numbers low, zero shown; a hidden number is nowhere in the table."""
    world = make(600, parameters={"threshold": "5"})
    (table,) = world.tables(spec("town", "age"))
    raw = world.values(spec("town", "age"))
    assert np.array_equal(table.status == Status.BELOW_THRESHOLD, raw < 5)
    assert (table.values[raw < 5] == 0).all()
    world.parameters = {"display_floor": "11"}
    (table,) = world.tables(spec("town", "age"))
    assert np.array_equal(table.status == Status.LOW, (raw > 0) & (raw < 11))
    hidden = table.status == Status.LOW
    assert len(set(zip(table.noise.lower[hidden], table.noise.upper[hidden], strict=True))) == 1
    assert (table.values[hidden] == 0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hiding", [{}, {"threshold": 10**4}, {"display_floor": 10**4}])
def test_a_table_of_one_number(hiding, weighted):
    """No variable at all: one number with its interval, shown or hidden, weighted or not."""
    rng = np.random.default_rng(2)
    weight = Weight("w", 100, Fraction(3))
    for law in ({}, LAW):
        world = make(
            weight=weight, weights=rng.integers(100, 300, 300), parameters={**law, **hiding}
        )
        for asked in (spec(weighted=weighted), spec(where=[("sex", "f")], weighted=weighted)):
            (table,) = world.tables(asked)
            assert table.values.shape == table.noise.lower.shape == table.noise.upper.shape == ()
            assert table.noise.lower <= table.values <= table.noise.upper
            if hiding:
                assert table.values == table.noise.lower == 0
                assert table.noise.upper >= 10**4 - 1


def test_unreliable_has_the_policy_rule():
    """Noise sd ÷ released count above the limit is marked; the limit is the policy's."""
    world = make(3000, reliable={"noise_sd_over_count": "1/32"})
    (table,) = world.tables(spec("town", "age"))
    marked = table.status == Status.UNRELIABLE
    assert np.array_equal(marked, table.noise.sd > np.abs(table.values) / 32)
    assert marked.any()
    assert not marked.all()


@pytest.mark.parametrize("table", [design(5, "3", 2), design(5, "2"), ten_five()], ids=str)
def test_noise_intervals_cover_exactly(table):
    """For every true count, the interval of the published number holds it with ≥ 95 %: enumerated."""
    readings = Readings(table)
    for count in (*range(40), 745, 751, 752, 753, 999, 1001, 12_345):
        held = Fraction(0)
        for v, p in table.row(count).pmf.items():
            _, lower, upper = readings.of(np.array([count + v]))
            if lower[0] <= count <= upper[0]:
                held += p
        assert held >= Fraction(95, 100)


def test_intervals_are_not_needlessly_wide():
    """A large count under D = 5, V = 2: ± 3 holds 0.976 and ± 2 only 0.92, so ± 3 it is."""
    _, lower, upper = Readings(design(5, "2")).of(np.array([1000]))
    assert (lower[0], upper[0]) == (997, 1003)


def test_the_additive_view_adds_up():
    """Margins of the extra column are sums of its interior, whole and ≥ 0; values are left alone."""
    world = make(2000, parameters={**LAW, "additive": "yes"})
    (table,) = world.tables(spec("town", "age", "sex"))
    view = table.extra["additive"]
    inner = view[:-1, :-1, :-1]
    assert view.min() >= 0
    assert np.array_equal(view[-1], view[:-1].sum(axis=0))
    assert np.array_equal(view[:, -1], view[:, :-1].sum(axis=1))
    assert np.array_equal(view[:, :, -1], view[:, :, :-1].sum(axis=2))
    assert inner.sum() == view[-1, -1, -1]
    assert abs(int(view[-1, -1, -1]) - int(table.values[-1, -1, -1])) < 60
    assert np.array_equal(table.values, world.values(spec("town", "age", "sex")))


def test_a_consistent_table_is_its_own_additive_view():
    """Nothing to mend: the view of an additive table is that table."""
    inner = np.arange(24).reshape(2, 3, 4) + 1
    from discreet.core.true_values import add_totals

    assert np.array_equal(additive_view(add_totals(inner)), add_totals(inner))


def test_weighted_counts_are_whole_and_rounded_half_up():
    """(n + v) × mean weight against Fractions, empty and negative ones included."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, 200)
    weights = counts * rng.integers(50, 400, 200)
    v = rng.integers(-6, 7, 200).astype(np.int16)
    whole = (int(counts.sum()), int(weights.sum()))
    got = weighted_values(counts, v, weights, 100, whole)
    for n, w, z, value in zip(
        counts.tolist(), weights.tolist(), v.tolist(), got.tolist(), strict=True
    ):
        mean = Fraction(w, n) if n else Fraction(whole[1], whole[0])
        exact = (n + z) * mean / 100
        assert value == (exact + Fraction(1, 2)).__floor__()
    big = np.array([1 << 40])
    assert weighted_values(big, v[:1], big << 20, 1 << 20, (1 << 40, 1 << 60)) == big + int(v[0])


@pytest.mark.parametrize("scale", [1, 10])
def test_what_a_weighted_count_excludes_beside_the_count(scale):
    """Weights in units of 1/scale: only true counts below c/scale, and just those of the rule.

    Every weight sum is enumerated: which pairs (c, weighted) a true count n can have.
    """
    excluded = set()
    most = 12 * scale
    for n in range(1, 30):
        for c in range(1, 26):
            sums = np.arange(1, most * n + 1)
            full = np.full(sums.size, n)
            moved = np.full(sums.size, c - n, dtype=np.int16)
            got = set(weighted_values(full, moved, sums, scale, (1, 1)).tolist())
            by_rule = {
                (2 * c * total + n * scale) // (2 * n * scale) for total in range(1, most * n + 1)
            }
            assert got == by_rule
            if set(range(max(got) + 1)) - got - {0}:
                excluded.add((n, c))
    assert excluded
    assert all(n < Fraction(c, scale) for n, c in excluded)
    told = make(weight=Weight("w", scale), weights=np.ones(300, int)).plan(spec(weighted=True))
    assert any("Weights are whole" in words for words in told.warnings) == (scale == 1)


def test_weighted_tables():
    """Whole numbers, measure named, no interval unless the largest weight is public."""
    rng = np.random.default_rng(1)
    world = make(weight=Weight("w", 100), weights=rng.integers(100, 300, 300))
    (table,) = world.tables(spec("town", weighted=True))
    assert table.measure == "weighted count"
    assert table.noise is None
    world = make(weight=Weight("w", 100, Fraction(3)), weights=rng.integers(100, 300, 300))
    (table,) = world.tables(spec("town", weighted=True))
    assert (table.noise.lower <= table.values).all()
    with pytest.raises(RecipeError, match="has no weight"):
        make().plan(spec("town", weighted=True))


def test_no_weighted_counts_where_a_description_gives_another_count():
    """Several counts of the same people, each with its weighted one, can leave one true count."""
    weights = np.random.default_rng(2).integers(900, 1100, 300)
    parameters = {**LAW, "sameness": "participants and description"}
    world = make(weight=Weight("w", 1), weights=weights, parameters=parameters)
    with pytest.raises(Refusal, match="another count under each description") as refused:
        world.plan(spec("town", weighted=True))
    assert refused.value.rule == "weighted-sameness"
    world.plan(spec("town"))


# What is said ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_guarantee_is_of_kind_law():
    """One law for every count with zeros perturbed: ε as asked, δ exact; never dp."""
    plan = make(parameters={"epsilon": "0.5", "delta": "1e-4"}).plan(spec("town"))
    promise = plan.guarantee
    assert promise.kind is Kind.LAW
    assert promise.epsilon == Fraction(1, 2)
    assert float(promise.delta) == pytest.approx(9.91298e-5, rel=1e-5)
    assert "No differential privacy is claimed" in promise.sentence()
    assert plan.charge is None
    assert plan.needs_keys


@pytest.mark.parametrize("records", [2, 3, 5])
@pytest.mark.parametrize("keys", [256, 1000])
def test_the_audit_of_units_with_several_records(records, keys):
    """Every pair of counts up to so many apart, both ways, by plain enumeration of outcomes."""
    rows = tuple(
        Row.of([(-min(n, 2), 3 + n), (0, keys - 10 - n), (1, 4), (3, 3)]) for n in range(4)
    )
    table = PTable(keys, rows)
    for epsilon in ("0.5", "2", "9"):
        factor = exp(float(epsilon))
        worst = 0.0
        for n in range(12):
            for other in range(n + 1, n + records + 1):
                one = {n + v: p for v, p in table.row(n).pmf.items()}
                two = {other + v: p for v, p in table.row(other).pmf.items()}
                for p, q in ((one, two), (two, one)):
                    over = (float(p[y]) - factor * float(q.get(y, 0)) for y in p)
                    worst = max(worst, sum(x for x in over if x > 0))
        assert float(table.audit(epsilon, records=records).delta) == pytest.approx(worst, abs=1e-12)
    assert table.audit("1", records=1) == table.audit("1")


def test_the_promise_is_for_units_with_all_their_records():
    """Three records a household: no figure for one record is passed off as one for a household."""
    one = make(parameters=LAW)
    many = make(parameters=LAW)
    many.description = replace(many.description, unit="household", records_per_unit=3)
    first, second = one.plan(spec("town")).guarantee, many.plan(spec("town")).guarantee
    table = one.plan(spec("town")).detail.ready.settings.table
    assert first.epsilon == 1
    assert second.epsilon == table.audit(records=3).epsilon > 2
    assert second.delta == table.audit(records=3).delta > first.delta
    assert any("may have 3 records" in words for words in second.caveats)
    hired = many.plan(spec("town")).detail.ready.risk.hired_today
    law = table.large.pmf
    assert hired.success == 1 - sum(p * law.get(v + 3, 0) for v, p in law.items())
    assert np.array_equal(one.values(spec("town")), many.values(spec("town")))


def test_a_delta_that_is_not_tiny_is_warned_of():
    """A finite ε is said with the δ of its ends, and a warning before all else."""
    promise = make(parameters=LAW).plan(spec("town")).guarantee
    assert promise.delta > Fraction(1, 10**6)
    assert promise.caveats[0].startswith("delta is ")
    assert (
        "0.000001 or less is usual. A p-table with a larger max_perturbation" in promise.caveats[0]
    )


@pytest.mark.slow
def test_kept_zeros_have_no_finite_epsilon():
    """ABS mode says so plainly, and what holds between counts of 1 and more."""
    promise = make().plan(spec("town")).guarantee
    assert promise.epsilon is None
    assert "no finite ε" in promise.sentence()
    assert promise.caveats[0].startswith("Empty cells stay 0, so no finite ε")
    deterministic = {"ptable": write(ten_five(), "ons"), "keys": "ons-256"}
    assert make(parameters=deterministic).plan(spec("town")).guarantee.epsilon is None


def test_risk_and_odds_are_in_every_guarantee():
    """Three numbers and the real-3 sentence; a geometric prior changes the sentence."""
    promise = make(parameters=LAW).plan(spec("town")).guarantee
    text = " ".join(promise.risks)
    assert "with and without one person" in text
    assert "differently described" in text
    assert "queries of one cell" in text
    assert promise.odds[0].startswith("Of 100 published 3s, about ")
    assert "equally common" in promise.odds[0]
    other = make(parameters={**LAW, "prior": "geometric 0.5"}).plan(spec("town")).guarantee
    assert "0.5 times as common" in other.odds[0]


def test_a_plan_is_the_same_on_neighbouring_data():
    """Plans read no data: two data sets that differ in one record give one plan."""
    one, other = make(300), make(299)
    first, second = one.plan(spec("town", "age")), other.plan(spec("town", "age"))
    assert (first.guarantee, first.errors, first.warnings, first.question_hash) == (
        second.guarantee,
        second.errors,
        second.warnings,
        second.question_hash,
    )


def test_expected_error_names_every_margin():
    """Margins have the error of a cell, not of a sum of cells."""
    (error,) = make().plan(spec("town", "age")).errors
    assert set(error.totals_sd) == {"town", "age", ""}
    assert error.cells == 13 * 7
    assert error.half_width == 3
    assert error.totals_sd[""] == pytest.approx(2**0.5)


def test_classical_keys_and_few_keys_bring_warnings():
    """What is weak is said: sums as keys, and outcomes that 256 keys cannot reach."""
    warnings = make(parameters={"keys": "ons-256"}).plan(spec("town")).warnings
    assert any("can be predicted" in text for text in warnings)
    assert any("256 keys are too few" in text for text in warnings)
    assert make().plan(spec("town")).warnings == ()


def test_fractional_tables_under_strong_keys_are_cut_and_said():
    """A 10^8-key table is cut into 2^64 keys, within 2^-63 of itself, and the notes say so."""
    table = design(3, "1", keys=10**8)
    world = make(parameters={"ptable": write(table, "sdctools")})
    plan = world.plan(spec("town"))
    cut = plan.detail.ready.settings.table
    assert cut.keys == 1 << 64
    assert "2^64 keys" in plan.warnings[0]
    for row, other in zip(table.rows, cut.rows, strict=True):
        assert all(abs(row.pmf[v] - other.pmf[v]) <= Fraction(1, 1 << 63) for v in row.pmf)


BAD = [
    ({"max_perturbaton": "5"}, "Did you mean max_perturbation"),
    ({"max_perturbation": "5"}, "also needs variance"),
    ({"epsilon": "0.5"}, "also needs delta"),
    ({"dialect": "ons"}, "also needs ptable"),
    ({"epsilon": "0", "delta": "1e-4"}, "epsilon"),
    ({"epsilon": "1e400", "delta": "1e-4"}, "epsilon"),
    ({"epsilon": "1", "delta": "1"}, "delta must be > 0 and < 1"),
    ({"epsilon": "1", "delta": "1e-4", "variance": "2"}, "Keep one of them"),
    ({"keys": "weak"}, "keys must be strong"),
    ({"key_bits": "7"}, "key_bits must be a whole number from 8 to 64"),
    ({"keys": "ons-256", "key_bits": "8"}, "key_bits is not for keys ons-256"),
    ({"sameness": "people"}, "sameness must be participants or participants and description"),
    ({"zeros": "perturbed"}, "zeros: perturbed needs a law for empty cells"),
    ({"zeros": "gone"}, "zeros must be perturbed or kept"),
    ({"threshold": "0"}, "threshold must be ≥ 1"),
    ({"threshold": "2.5"}, "threshold must be a whole number"),
    ({"additive": "maybe"}, "additive must be yes or no"),
    ({"prior": "uniform"}, "prior must be flat or geometric"),
    ({"ptable": "nowhere.csv"}, "cannot be read"),
    ({"ptable": write(ten_five(), "ons"), "keys": "ons-4096"}, "256 keys .* 4096 of them"),
    ({"ptable": write(ten_five(), "ons"), "keys": "r-cellkey"}, "256 keys .* 100000000 of them"),
    ({"epsilon": "1", "delta": "1e-3", "keys": "r-cellkey"}, "power of two of keys"),
    ({"max_perturbation": "3", "variance": "1", "blocked_below": "1"}, "variance must exceed 1"),
]


@pytest.mark.parametrize(("parameters", "why"), BAD)
def test_bad_settings_get_one_sentence(parameters, why):
    """Each bad policy is refused with what is wrong and what is allowed."""
    with pytest.raises(LawError, match=why) as told:
        CellKeyMethod().settings(parameters)
    assert "\n" not in told.value.message


def test_settings_take_yaml_text():
    """Every value may come as text, as discreet.yaml hands it over."""
    written = {
        "max_perturbation": "5",
        "variance": "3",
        "blocked_below": "2",
        "exact_variance": "no",
        "monotone": "yes",
        "threshold": "10",
        "additive": "yes",
        "zeros": "kept",
    }
    settings = CellKeyMethod().settings(written)
    assert Treatment.of(written, {}) == Treatment(threshold=10, additive=True)
    assert settings.table.rows[1].pmf.keys() == {-1, 2, 3, 4, 5}


@pytest.mark.slow
def test_a_p_table_file_that_changes_is_another_policy(tmp_path):
    """The p-table is part of the question's hash, and an edited file is read again."""
    path = tmp_path / "p.csv"
    path.write_text(write(design(3, "1", keys=256), "ons"))
    world = make(parameters={"ptable": str(path), "keys": "ons-256"})
    first = world.plan(spec("town"))
    assert world.plan(spec("town")).question_hash == first.question_hash
    path.write_text(write(design(3, "0.9", keys=256), "ons"))
    assert world.plan(spec("town")).question_hash != first.question_hash


def test_zeros_can_be_kept_in_any_table():
    """zeros: kept overrides a table that would perturb them."""
    settings = CellKeyMethod().settings({**LAW, "zeros": "kept"})
    assert settings.table.zeros_kept
    text = write(PTable(256, (Row.of([(0, 255), (3, 1)]), Row.of([(0, 256)]))), "sdctools")
    assert not CellKeyMethod().settings({"ptable": text}).table.zeros_kept
    assert CellKeyMethod().settings({"ptable": text, "zeros": "kept"}).table.zeros_kept


def test_records_without_keys_and_foreign_parameters_are_refused():
    """No keys: one sentence. A question cannot bring its own ε. Other measurements are not fitted."""
    world = make()
    plan = world.plan(spec("town"))
    (counted,) = world.engine.count(plan.counts)
    with pytest.raises(DataError, match="no record keys"):
        world.method.measure(plan, [counted], FixedSecrets(), Control())
    with pytest.raises(RecipeError, match="epsilon is set by the policy"):
        world.plan(spec("town"), epsilon="1")
    foreign = Measurements({"0": np.zeros(13, np.int64)}, {"p_table": "another"})
    with pytest.raises(Bug, match="another p-table"):
        world.method.fit(plan, foreign, world.facts, Control())


def test_an_empty_data_set_has_a_table():
    """No record at all: zeros in ABS mode, noise otherwise, nothing breaks."""
    nothing = np.zeros(0, np.int64)
    world = make(parameters=LAW)
    plan = world.plan(spec("town"))
    domain = world.description.domain(spec("town").axes)
    sealed = seal(domain, Cells(nothing, nothing, nothing, nothing))
    measured = world.method.measure(plan, [sealed], FixedSecrets(), Control())
    (values,) = measured.arrays.values()
    assert values.shape == (13,)
    assert len(np.unique(values)) > 3


def test_the_registry_knows_its_methods():
    """Names, the method itself, and one sentence for a name there is not."""
    assert {"cell-key", "noise"} <= set(registry.names())
    assert registry.get("cell-key").declaration.name == "cell-key"
    with pytest.raises(InputError, match="Did you mean cell-key"):
        registry.get("cellkey")
