"""What is published: sums, agreement, whole numbers, zeros, weights, levels, negatives, noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.guarantee import Kind
from discreet.core.product import subsets
from discreet.core.question import Treatment
from discreet.core.table import Status
from discreet.core.true_values import add_totals
from discreet.errors import Cancelled
from discreet.formats import footnote
from discreet.methods.base import Measurements
from discreet.methods.noise import laws
from discreet.methods.shared.residuals import Cells, Components
from discreet.methods.shared.rounding import whole_numbers
from discreet.protected_rules import mark
from discreet.recipe import Question

from ...examples import examples


def _fit(world, plan, arrays):
    return world.method.fit(plan, Measurements(arrays), world.facts, Control())


# -- sums ---------------------------------------------------------------------------------------


def test_totals_of_an_interior_plan_are_sums(people):
    """With only the interior measured every total is the sum of what is published."""
    w = people()
    (table,) = w.release(w.plan(w.spec("region", "sex", "ill"), epsilon="1"))
    interior = table.values[:-1, :-1, :-1]
    assert (table.values == add_totals(interior)).all()
    assert table.guarantee.kind is Kind.DP
    assert table.guarantee.epsilon == 1


def test_noise_is_true_value_plus_a_draw_within_its_interval(people):
    """At ε = 100 the draw is 0 but for e^-100: values are the truth, so the flow adds nothing else."""
    w = people()
    for spec in (w.spec("region", "sex"), w.spec("region:half", "ill"), w.spec("ill")):
        (table,) = w.release(w.plan(spec, epsilon="100"))
        assert (table.values == add_totals(w.dense(spec.count))).all()
        assert (table.noise.lower == table.values).all()


@pytest.mark.parametrize("plan_name", ["interior", "wanted", "once", "everything"])
@pytest.mark.parametrize("consistency", ["none", "least squares", "integers"])
def test_every_plan_gives_the_true_tables_from_true_margins(people, plan_name, consistency):
    """Levels, filters, shared sources and agreement: measured without noise, all give the truth."""
    w = people()
    specs = [
        w.spec("region", "sex"),
        w.spec("region:half", "ill"),
        w.spec("sex", where={"ill": ["yes"]}),
        w.spec("sex"),
    ]
    plan = w.plan(*specs, epsilon="100", plan=plan_name, consistency=consistency)
    arrays = {
        part.name: w.dense(part.margin.count).astype(np.int64)
        for part in plan.detail.scheme.measured
    }
    for spec, table in zip(specs, _fit(w, plan, arrays), strict=True):
        assert (table.values == add_totals(w.dense(spec.count))).all()


def test_measured_totals_have_their_own_noise(people):
    """Plan everything: each margin is measured by itself, all with one law."""
    w = people()
    plan = w.plan(w.spec("region", "sex"), epsilon="1", plan="everything")
    names = {str(part.margin): part.name for part in plan.detail.scheme.measured}
    assert set(names) == {"region × sex", "region", "sex", "total"}
    arrays = {
        part.name: np.full(w.description.domain(part.margin.axes).shape, i, dtype=np.int64)
        for i, part in enumerate(plan.detail.scheme.measured)
    }
    (table,) = _fit(w, plan, arrays)
    assert set(table.values[:-1, :-1].ravel().tolist()) == {0}
    assert set(table.values[:-1, -1].tolist()) == {1}
    assert set(table.values[-1, :-1].tolist()) == {2}
    assert table.values[-1, -1] == 3
    assert len({round(sd, 12) for sd in table.noise.sd.ravel().tolist()}) == 1
    assert any("noise of their own" in note for note in table.notes)


def test_sd_and_interval_of_every_cell_are_the_laws(people):
    """Cells, margins and total: variance times cells summed, interval of that many draws."""
    w = people()
    (table,) = w.release(w.plan(w.spec("region", "sex"), epsilon="0.5"))
    law_variance = 2 * math.exp(-0.5) / (1 - math.exp(-0.5)) ** 2
    summed = add_totals(np.ones((3, 2), dtype=np.int64))
    assert np.allclose(table.noise.sd, np.sqrt(summed * law_variance), rtol=1e-12)
    width = (table.noise.upper - table.noise.lower) // 2
    law = w.plan(w.spec("region", "sex"), epsilon="0.5").detail.scheme.measured[0].law
    assert set(zip(summed.ravel().tolist(), width.ravel().tolist(), strict=True)) == {
        (n, law.half_width(laws.COVERAGE, n)) for n in (1, 2, 3, 6)
    }


def test_unreliable_follows_the_policy(people):
    """A cell is marked where noise sd ÷ released count is above 1/4 (the default)."""
    w = people()
    plan = w.plan(w.spec("ill", totals=False), epsilon="1")
    sd = math.sqrt(float(plan.detail.scheme.measured[0].law.variance))
    (table,) = _fit(w, plan, {"m000": np.array([math.ceil(4 * sd), math.floor(4 * sd)])})
    assert mark(table, w.policy).status.tolist() == [Status.OK, Status.UNRELIABLE]


def test_fit_sees_only_what_was_stored(people):
    """Measurements go through bytes and back; a second fit gives the same tables."""
    w = people()
    plan = w.plan(w.spec("region", "sex"), w.spec("ill"), epsilon="1")
    measured = w.method.measure(plan, w.tables(plan), None, Control())
    again = Measurements.from_bytes(measured.to_bytes())
    first = w.method.fit(plan, measured, w.facts, Control())
    second = w.method.fit(plan, again, w.facts, Control())
    assert all((a.values == b.values).all() for a, b in zip(first, second, strict=True))


def test_fit_and_measure_can_be_cancelled(people):
    """Both stop where asked."""
    w = people()
    plan = w.plan(w.spec("ill"), epsilon="1")
    stop = Control(cancelled=lambda: True)
    with pytest.raises(Cancelled):
        w.method.measure(plan, w.tables(plan), None, stop)
    with pytest.raises(Cancelled):
        w.method.fit(plan, Measurements({"m000": np.zeros(2, np.int64)}), w.facts, stop)


def test_a_question_that_follows_is_fitted_from_the_same_measurements(people):
    """A coarser table is the sum of what was released; what does not follow is not answered."""
    w = people()
    plan = w.plan(w.spec("region", "sex", "ill"), epsilon="1")
    measured = w.method.measure(plan, w.tables(plan), None, Control())
    (whole,) = w.method.fit(plan, measured, w.facts, Control())
    later = Question("tiny", (w.spec("region:half", "sex"),), "noise", {})
    derived = w.method.derive(plan, later, Treatment(), w.facts)
    (table,) = w.method.fit(derived, measured, w.facts, Control())
    by_region = whole.values[:-1, :-1, -1]
    halves = np.stack([by_region[0] + by_region[1], by_region[2]])
    assert (table.values == add_totals(halves)).all()
    law = plan.detail.scheme.measured[0].law
    assert table.noise.sd[0, 0] == pytest.approx(math.sqrt(4 * float(law.variance)))
    filtered = Question("tiny", (w.spec("sex", where={"ill": ["yes"]}),), "noise", {})
    assert w.method.derive(plan, filtered, Treatment(), w.facts) is None


# -- zeros, weights, negatives ------------------------------------------------------------------


def _with_zero(people, **facts):
    rule = StructuralZero(
        (Condition("sex", "sex", ("m",)), Condition("ill", "ill", ("yes",))), "cannot be"
    )
    return people(structural_zeros=(rule,), **facts)


@pytest.mark.parametrize("consistency", ["none", "least squares", "integers"])
@pytest.mark.parametrize("plan_name", ["interior", "everything"])
def test_structural_zeros_are_0_and_all_other_cells_are_noised(people, plan_name, consistency):
    """A declared zero is 0 with its own status and no noise; every true zero has noise."""
    w = _with_zero(people, rows=[("n", "f", "no")] * 3)
    plan = w.plan(w.spec("sex", "ill"), epsilon="0.05", plan=plan_name, consistency=consistency)
    (table,) = w.release(plan)
    assert table.status[1, 1] == Status.STRUCTURAL_ZERO
    assert table.values[1, 1] == 0
    assert table.noise.sd[1, 1] == 0
    assert (table.status == Status.STRUCTURAL_ZERO).sum() == 1
    assert (table.noise.sd.ravel()[[0, 1, 3]] > 10).all()
    if plan_name == "interior":
        law = plan.detail.scheme.measured[0].law
        assert table.noise.sd[-1, -1] == pytest.approx(math.sqrt(3 * float(law.variance)))


def test_categories_outside_the_filter_are_not_noised(people):
    """A table of a variable filtered on itself has noise only where records can be."""
    w = people()
    (table,) = w.release(
        w.plan(w.spec("region", where={"region": ["n", "e"]}, totals=False), epsilon="0.1")
    )
    assert [s == Status.STRUCTURAL_ZERO for s in table.status.tolist()] == [False, True, False]


def test_weighted_values_are_whole_numbers_of_the_right_size(people):
    """Weights are counted in tenths, noised there, and published as whole numbers."""
    rows = [("n", "f", "no")] * 40 + [("s", "m", "yes")] * 20
    w = people(rows, weight=Weight("w", 10, Fraction(5, 2)), weights=[15] * 40 + [25] * 20)
    plan = w.plan(w.spec("sex", weighted=True), epsilon="60")
    assert plan.needs_weights
    (table,) = w.release(plan)
    assert np.abs(table.values - [60, 50, 110]).max() <= 4
    (part,) = plan.detail.scheme.measured
    assert table.noise.sd[0] == pytest.approx(math.sqrt(float(part.law.variance)) / 10)
    assert table.measure == "weighted count"
    exact = _fit(w, plan, {"m000": np.array([604, 496])})[0]
    assert exact.values.tolist() == [60, 50, 110]
    whole = w.plan(w.spec("sex", weighted=True), epsilon="60", consistency="integers")
    added = _fit(w, whole, {"m000": np.array([604, 504])})[0].values.tolist()
    assert added[2] == added[0] + added[1] == 111


def test_negatives_are_kept_unless_asked(people):
    """keep, clip and threshold c; the interval holds the truth whatever is shown."""
    w = people()
    raw = {"m000": np.array([-5, 2])}
    shown = {}
    for name, more in (("keep", {}), ("clip", {}), ("threshold", {"threshold": "3"})):
        plan = w.plan(w.spec("ill", totals=False), epsilon="1", negatives=name, **more)
        (table,) = _fit(w, plan, raw)
        shown[name] = table.values.tolist()
        assert (table.noise.upper >= 0).all() or name == "keep"
        assert (table.noise.lower <= table.noise.upper).all()
    assert shown == {"keep": [-5, 2], "clip": [0, 2], "threshold": [0, 0]}
    clipped = w.plan(w.spec("ill"), epsilon="1", negatives="clip")
    (table,) = _fit(w, clipped, raw)
    r = math.exp(-1)
    assert any(f"{r / (1 - r * r):.3g} too large" in note for note in table.notes)
    assert table.values.tolist() == [0, 2, 0]


@pytest.mark.parametrize("consistency", ["none", "least squares"])
def test_an_interval_does_not_give_away_what_a_threshold_leaves_out(people, consistency):
    """Whatever number below it was drawn, value and interval are the same, and still hold the truth."""
    w = people()
    told = {"epsilon": "1", "negatives": "threshold", "threshold": "30", "consistency": consistency}
    plan = w.plan(w.spec("ill", totals=False), **told)
    kept = w.plan(w.spec("ill", totals=False), **(told | {"negatives": "keep", "threshold": None}))
    seen = set()
    for drawn in (-9, 0, 4, 17, 29):
        (table,) = _fit(w, plan, {"m000": np.array([drawn, 100])})
        (whole,) = _fit(w, kept, {"m000": np.array([drawn, 100])})
        seen.add((*table.values.tolist(), table.noise.lower[0], table.noise.upper[0]))
        assert table.noise.lower[0] == 0
        assert table.noise.upper[0] >= whole.noise.upper[0]
        assert table.noise.lower[1] == whole.noise.lower[1]
        assert table.noise.upper[1] == whole.noise.upper[1]
    assert len(seen) == 1
    assert seen.pop()[:2] == (0, 100)


def test_a_declared_number_of_records_is_published_as_it_is(people):
    """The grand total is the declared number, without noise and without cost, and said so."""
    w = people(records=60)
    plan = w.plan(w.spec("region", "sex"), epsilon="1", consistency="integers")
    (table,) = w.release(plan)
    assert table.values[-1, -1] == 60
    assert table.noise.sd[-1, -1] == 0
    assert table.values[:-1, :-1].sum() == 60
    assert (table.values == add_totals(table.values[:-1, :-1])).all()
    assert plan.guarantee.invariants == ("the number of records, 60",)
    assert plan.guarantee.neighbours == "replace one"


# -- agreement ----------------------------------------------------------------------------------


def _design_matrix(lengths, axes):
    """Rows: cells of the margin over `axes`; columns: cells of the joint table."""
    out = np.ones((1, 1))
    for axis, n in enumerate(lengths):
        out = np.kron(out, np.eye(n) if axis in axes else np.ones((1, n)))
    return out


SETS = [
    (((0, 1), 1.0), ((0,), 2.0), ((1,), 0.5)),
    (((0, 1, 2), 3.0), ((0, 1), 1.0), ((2,), 1.0), ((), 4.0)),
    (((0, 1), 1.0), ((1, 2), 1.0), ((0, 2), 2.0)),
    (((0, 1, 2), 1.0),),
]


@pytest.mark.parametrize("measured", SETS)
@pytest.mark.parametrize("total_known", [False, True])
def test_closed_form_is_weighted_least_squares(measured, total_known):
    """Estimates and variances equal those of the dense weighted least-squares solution."""
    lengths = (2, 3, 4)
    rng = np.random.default_rng(7)
    values = [
        rng.integers(-20, 50, tuple(lengths[a] for a in axes)).astype(np.int64)
        for axes, _ in measured
    ]
    blocks = [_design_matrix(lengths, axes) / math.sqrt(v) for axes, v in measured]
    right = [value.ravel() / math.sqrt(v) for value, (_, v) in zip(values, measured, strict=True)]
    total = 200
    matrix, read = np.vstack(blocks), np.concatenate(right)
    cells = math.prod(lengths)
    start, free = np.zeros(cells), np.eye(cells)
    if total_known:  # only what does not change the total is free
        start = np.full(cells, total / cells)
        free = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    inverse = free @ np.linalg.pinv(free.T @ matrix.T @ matrix @ free) @ free.T
    solution = start + inverse @ matrix.T @ (read - matrix @ start)
    components = Components(lengths, tuple(Cells(*part) for part in measured), total_known)
    targets = [t for t in subsets((0, 1, 2)) if any(set(t) <= set(axes) for axes, _ in measured)]
    found = components.estimate(values, targets, total)
    for target in targets:
        row = _design_matrix(lengths, target)
        assert np.allclose(found[target].ravel(), row @ solution, atol=1e-8)
        spread = np.diag(row @ inverse @ row.T)
        assert np.allclose(components.variance(target), spread, atol=1e-8)


def test_agreement_across_levels_and_zeros_is_least_squares(people):
    """Mixed levels and a structural zero: the sparse fit equals the dense solution."""
    w = _with_zero(people)
    specs = [w.spec("sex", "ill", totals=False), w.spec("region", "sex", totals=False)]
    specs.append(w.spec("region:half", totals=False))
    plan = w.plan(*specs, epsilon="1", plan="wanted", consistency="least squares")
    rng = np.random.default_rng(3)
    names = {part.margin.axes: part.name for part in plan.detail.scheme.measured}
    sex_ill, region_sex, halves = (
        rng.integers(0, 40, w.description.domain(spec.axes).shape) for spec in specs
    )
    sex_ill[w.description.zero_mask(specs[0].count)] = 0
    given_values = zip(specs, (sex_ill, region_sex, halves), strict=True)
    tables = _fit(w, plan, {names[spec.axes]: values for spec, values in given_values})
    # joint cells: region × sex × ill without (·, m, yes)
    cells = [(r, s, i) for r in range(3) for s in range(2) for i in range(2) if not s & i]
    half = (0, 0, 1)
    rows, right = [], []
    for (s, i), value in np.ndenumerate(sex_ill):
        rows.append([float((c[1], c[2]) == (s, i)) for c in cells])
        right.append(value)
    for (r, s), value in np.ndenumerate(region_sex):
        rows.append([float((c[0], c[1]) == (r, s)) for c in cells])
        right.append(value)
    for (h,), value in np.ndenumerate(halves):
        rows.append([float(half[c[0]] == h) for c in cells])
        right.append(value)
    solution = np.linalg.lstsq(np.array(rows), np.array(right, float), rcond=None)[0]
    expected = np.zeros((3, 2))
    for c, x in zip(cells, solution, strict=True):
        expected[c[0], c[1]] += x
    assert np.abs(tables[1].values - expected).max() <= 0.5 + 1e-6
    (variance,) = {float(part.law.variance) for part in plan.detail.scheme.measured}
    covariance = np.linalg.pinv(np.array(rows).T @ np.array(rows)) * variance
    for (r, s), sd in np.ndenumerate(tables[1].noise.sd):
        sums = np.array([float((c[0], c[1]) == (r, s)) for c in cells])
        assert sd**2 == pytest.approx(sums @ covariance @ sums, rel=1e-6)


@pytest.mark.slow
def test_no_sentence_contradicts_another_under_least_squares(people):
    """Estimates have intervals that hold about so often, and no sentence says at least."""
    w = people()
    specs = w.spec("region", "sex"), w.spec("sex")
    for consistency, share in (
        ("none", "at least"),
        ("least squares", "about"),
        ("integers", "about"),
    ):
        plan = w.plan(*specs, epsilon="1", plan="wanted", consistency=consistency)
        said = " ".join(footnote(w.release(plan)[0]))
        assert f"in {share} 95 % of releases" in said
        assert "approximate" not in said


@pytest.mark.slow
def test_least_squares_predicts_its_own_variance(people):
    """n = 2,000 releases of noise alone: the mean square of a cell is the variance predicted.

    The mean of n squares of a sum of Laplace noises has a relative sd below √(5/n); 5.4 sd is a
    false-positive rate of 1e-7 for each of 2 cells. The twin, without agreement, is rejected.
    """
    w = people(rows=[])
    n = 2000
    results = {}
    for consistency in ("least squares", "none"):
        plan = w.plan(
            w.spec("region", "sex"), epsilon="0.2", plan="everything", consistency=consistency
        )
        cells, totals = [], []
        for _ in range(n):
            (table,) = w.release(plan)
            cells.append(table.values[0, 0])
            totals.append(table.values[-1, -1])
        results[consistency] = np.mean(np.square(cells)), np.mean(np.square(totals))
    planned = w.plan(
        w.spec("region", "sex"), epsilon="0.2", plan="everything", consistency="least squares"
    )
    predicted = planned.errors[0].noise_sd ** 2, planned.errors[0].totals_sd[""] ** 2
    allowed = 5.4 * math.sqrt(5 / n)
    for found, expected in zip(results["least squares"], predicted, strict=True):
        assert abs(found / (expected + 1 / 12) - 1) < allowed
    assert results["none"][1] / predicted[1] - 1 > allowed


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.tuples(*[st.integers(1, 5)] * d).flatmap(
            lambda shape: st.lists(
                st.floats(-1000, 1000), min_size=math.prod(shape), max_size=math.prod(shape)
            ).map(lambda v, shape=shape: np.array(v).reshape(shape))
        )
    )
)
@examples(150)
def test_whole_numbers_stay_near(values):
    """Every cell moves by at most 1, the total by at most 1, rows of a 2-way table by at most 1."""
    rounded = whole_numbers(values)
    assert np.abs(rounded - values).max() <= 1 + 1e-6
    assert abs(rounded.sum() - values.sum()) <= 1 + 1e-6
    if values.ndim == 2:
        assert np.abs(rounded.sum(axis=0) - values.sum(axis=0)).max() <= 1 + 1e-6
        assert np.abs(rounded.sum(axis=1) - values.sum(axis=1)).max() <= 1 + 1e-6


@given(st.data())
@examples(40)
def test_integers_always_add_up(data):
    """consistency integers: in every table totals are exactly the sums of its cells."""
    from .conftest import World

    lengths = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    names = "abc"[: len(lengths)]
    records = data.draw(st.sampled_from([None, 500]))
    w = World(
        [variable(n, [str(i) for i in range(k)]) for n, k in zip(names, lengths, strict=True)],
        records=records,
    )
    plan = w.plan(
        w.spec(*names), w.spec(names[0]), epsilon="1", plan="everything", consistency="integers"
    )
    arrays = {
        part.name: np.array(
            data.draw(st.lists(st.integers(-50, 200), min_size=part.cells, max_size=part.cells)),
            dtype=np.int64,
        ).reshape(w.description.domain(part.margin.axes).shape)
        for part in plan.detail.scheme.measured
    }
    for table in _fit(w, plan, arrays):
        interior = table.values[tuple(slice(0, -1) for _ in table.values.shape)]
        assert (table.values == add_totals(interior)).all()
        if records is not None:
            assert table.values[(-1,) * table.values.ndim] == records


# -- on average ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_values_are_right_on_average(people):
    """Unbiased: mean error of 1,200 × 200 draws at ε = 0.5 within 5.4 standard errors of 0.

    n = 240,000 cells, statistic mean/sd·√n, false-positive rate 1e-7. The twin, the same with
    negatives clipped, is rejected.
    """
    codes = [str(i) for i in range(1200)]
    from .conftest import World

    w = World([variable("a", codes)], rows=[("0",)])
    true = w.dense(w.spec("a").count)
    scores = {}
    for negatives in ("keep", "clip"):
        plan = w.plan(w.spec("a", totals=False), epsilon="0.5", negatives=negatives)
        errors = np.concatenate([w.release(plan)[0].values - true for _ in range(200)])
        sd = math.sqrt(float(plan.detail.scheme.measured[0].law.variance))
        scores[negatives] = errors.mean() / sd * math.sqrt(errors.size)
    assert abs(scores["keep"]) < 5.4
    assert scores["clip"] > 5.4


def test_intervals_hold_the_truth_as_often_as_said(world):
    """Cells and row totals: 95 % intervals hold the truth in 0.95 of cases, less 5.4 sd at most.

    n = 43,200 cells and 1,440 totals of 30 cells, each binomial, false-positive rate 1e-7; the
    twin, intervals one narrower on each side, is rejected for the cells.
    """
    codes = [str(i) for i in range(30)]
    w = world([variable("a", [str(i) for i in range(120)]), variable("b", codes)])
    plan = w.plan(w.spec("a", "b"), epsilon="1")
    inside, narrower = [], []
    for _ in range(12):
        (table,) = w.release(plan)
        inside.append((table.noise.lower <= 0) & (table.noise.upper >= 0))
        narrower.append((table.noise.lower < 0) & (table.noise.upper > 0))
    cells = np.stack(inside)[:, :-1, :-1]
    totals = np.stack(inside)[:, :-1, -1]
    for hits in (cells, totals):
        assert hits.mean() > 0.95 - 5.4 * math.sqrt(0.05 * 0.95 / hits.size)
    twin = np.stack(narrower)[:, :-1, :-1]
    assert twin.mean() < 0.95 - 5.4 * math.sqrt(0.05 * 0.95 / twin.size)


def test_noise_of_large_mixed_levels_is_the_estimators_own(world):
    """5,400 joint cells: a coarse cell is a mean, by precision, of its own draw and 90 summed ones."""
    codes = [f"{i:02}" for i in range(60)]
    a = variable("a", codes, levels={"ten": {code: code[0] for code in codes}})
    w = world([a, variable("b", codes[:10]), variable("c", codes[:9])])
    specs = [w.spec("a", "b", "c", totals=False), w.spec("a:ten", "b", totals=False)]
    plan = w.plan(*specs, epsilon="1", plan="wanted", consistency="least squares")
    fine, coarse = w.release(plan)
    assert not any("best single table" in note for note in (*fine.notes, *coarse.notes))
    each = {part.cells: float(part.law.variance) for part in plan.detail.scheme.measured}
    own, summed = each[60], 90 * each[5_400]
    assert coarse.noise.sd**2 == pytest.approx(np.full((6, 10), 1 / (1 / own + 1 / summed)))
    less = each[5_400] ** 2 / (own + summed)
    assert fine.noise.sd**2 == pytest.approx(np.full((60, 10, 9), each[5_400] - less))
