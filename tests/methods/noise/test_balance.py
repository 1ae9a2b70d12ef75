"""`negatives: balance`: values ≥ 0 that keep the totals measured, with the bias this brings."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.true_values import add_totals
from discreet.errors import LawError, RecipeError, Refusal
from discreet.formats import footnote
from discreet.methods.base import Measurements


def fitted(world, plan, arrays):
    (table,) = world.method.fit(plan, Measurements(arrays), world.facts, Control())
    return table


def sparse(world, **facts):
    """Two variables, most cells empty."""
    codes = [str(i) for i in range(9)]
    rows = [("0", "0")] * 40 + [(str(i), str(i)) for i in range(9)]
    return world([variable("a", codes), variable("b", codes[:6])], rows[:46], **facts)


@pytest.mark.parametrize("consistency", ["none", "least squares", "integers"])
@pytest.mark.parametrize("plan_name", ["interior", "everything"])
def test_no_value_is_negative_and_the_totals_measured_stay(world, plan_name, consistency):
    """The grand total always; one-way totals where those measured can be kept together."""
    w = sparse(world)
    said = {"epsilon": "2", "plan": plan_name, "consistency": consistency}
    plan = w.plan(w.spec("a", "b"), **said)
    measured = w.method.measure(plan, w.tables(plan), None, Control())
    kept = fitted(w, plan, measured.arrays)
    table = fitted(w, w.plan(w.spec("a", "b"), **said, negatives="balance"), measured.arrays)
    assert (kept.values < 0).any()
    assert (table.values >= 0).all()
    assert (table.values == add_totals(table.values[:-1, :-1])).all()
    assert table.values[-1, -1] == kept.values[-1, -1]
    for line in ((slice(None, -1), -1), (-1, slice(None, -1))):
        before, after = kept.values[line], table.values[line]
        if (before >= 0).all() and before.sum() == kept.values[-1, -1]:
            assert (before == after).all()
    noise = table.noise
    assert (noise.lower <= table.values).all()
    assert (table.values <= noise.upper).all()
    assert (noise.lower >= 0).all()
    assert table.law.negatives == "balance"
    assert plan.question_hash == w.plan(w.spec("a", "b"), **said, negatives="balance").question_hash
    with pytest.raises(LawError, match="no law of their own"):
        table.law.probability(1, 1, {"a": 0, "b": 0})
    text = " ".join(footnote(table))
    assert "is their sum" in text
    assert "need not" not in text


def test_a_table_turned_about_is_the_same_table(world):
    """Whatever the order of axes and of tables, and each time it is fitted."""
    w = sparse(world)
    one = w.plan(w.spec("a", "b"), w.spec("a"), epsilon="1", plan="interior", negatives="balance")
    two = w.plan(w.spec("a"), w.spec("b", "a"), epsilon="1", plan="interior", negatives="balance")
    measured = w.method.measure(one, w.tables(one), None, Control())
    first = w.method.fit(one, measured, w.facts, Control())
    other = w.method.fit(two, Measurements({"m000": measured.arrays["m000"]}), w.facts, Control())
    assert (first[0].values == other[1].values.T).all()
    assert (first[1].values == other[0].values).all()
    assert first[0].notes == other[1].notes
    assert (first[0].values[:, -1] == first[1].values).all()


def test_without_totals_the_sum_stays(world):
    """It is what the cells added up to."""
    w = sparse(world)
    plan = w.plan(w.spec("a", "b", totals=False), epsilon="1", negatives="balance")
    raw = np.random.default_rng(2).integers(-3, 4, (9, 6))
    raw[0, 0] = 60
    table = fitted(w, plan, {"m000": raw})
    assert table.values.sum() == raw.sum()
    assert (table.values >= 0).all()


def test_a_negative_total_and_totals_at_odds_are_defined_and_said(people):
    """All 0 under a total below 0; a moved total is counted in a note."""
    w = people()
    plan = w.plan(w.spec("ill"), epsilon="1", negatives="balance")
    table = fitted(w, plan, {"m000": np.array([2, -5])})
    assert table.values.tolist() == [0, 0, 0]
    assert any("came out below 0" in note for note in table.notes)
    plan = w.plan(w.spec("region", "sex"), epsilon="1", plan="everything", negatives="balance")
    order = {str(part.margin): part.name for part in plan.detail.scheme.measured}
    arrays = {
        order["region × sex"]: np.array([[4, 4], [4, 4], [-3, 1]]),
        order["region"]: np.array([10, 9, -2]),
        order["sex"]: np.array([9, 9]),
        order["total"]: np.array(18),
    }
    table = fitted(w, plan, arrays)
    assert table.values[-1, -1] == 18
    assert table.values[:-1, -1].tolist() in ([10, 8, 0], [9, 9, 0], [9, 8, 1])
    assert table.values[-1, :-1].tolist() == [9, 9]
    assert any("moved by up to 2" in note for note in table.notes)


def test_a_public_number_of_records_is_what_cells_add_up_to(people):
    """Without noise, and nothing says that they need not."""
    w = people(records=60)
    plan = w.plan(w.spec("region", "sex"), epsilon="1", negatives="balance")
    for _ in range(3):
        (table,) = w.release(plan)
        assert table.values[-1, -1] == 60
        assert (table.values == add_totals(table.values[:-1, :-1])).all()
        assert not any("need not" in note for note in table.notes)


def test_weights_and_impossible_cells(people, world):
    """Weighted values are whole and add up; a structural zero stays one."""
    weighted = people(weights=[7] * 60, weight=Weight("w", 10, 5))
    spec = weighted.spec("region", "sex", weighted=True)
    (table,) = weighted.release(weighted.plan(spec, epsilon="1", negatives="balance"))
    assert (table.values == add_totals(table.values[:-1, :-1])).all()
    assert (table.values >= 0).all()
    zero = StructuralZero((Condition("a", "a", ("3",)), Condition("b", "b", ("1", "2"))))
    w = sparse(world, structural_zeros=(zero,))
    (table,) = w.release(w.plan(w.spec("a", "b"), epsilon="1", negatives="balance"))
    assert table.values[3, 1] == table.values[3, 2] == 0
    assert table.status[3, 1] == 5
    assert (table.values == add_totals(table.values[:-1, :-1])).all()


def test_policies_put_it_between_clip_and_threshold(world):
    """What a policy asks can be strengthened only."""
    w = sparse(world, parameters={"negatives": "clip"})
    w.plan(w.spec("a"), epsilon="1", negatives="balance")
    w = sparse(world, parameters={"negatives": "balance"})
    assert w.plan(w.spec("a"), epsilon="1").treatment["negatives"] == "balance"
    for weaker in ("keep", "clip"):
        with pytest.raises(Refusal, match="strengthened"):
            w.plan(w.spec("a"), epsilon="1", negatives=weaker)
    w.plan(w.spec("a"), epsilon="1", negatives="threshold 3")
    w = sparse(world, parameters={"negatives": "threshold 3"})
    with pytest.raises(Refusal, match="strengthened"):
        w.plan(w.spec("a"), epsilon="1", negatives="balance")
    with pytest.raises(RecipeError, match="goes with negatives: threshold"):
        w.plan(w.spec("a"), epsilon="1", negatives="balance", threshold="3")


@pytest.mark.slow
def test_the_bias_said_is_near_the_bias_there_is(world):
    """Over 60 releases of a sparse table, 48 empty cells each: the note, which knows published
    values only, is within a half of it on average (no bias, or twice as much, would be rejected).
    """
    w = sparse(world)
    plan = w.plan(w.spec("a", "b"), epsilon="1", plan="interior", negatives="balance")
    true = w.dense(w.spec("a", "b").count)
    tables = [w.release(plan)[0] for _ in range(60)]
    off = np.mean([table.values[:-1, :-1] - true for table in tables], axis=0)
    empty = off[true == 0].mean()
    said = []
    for table in tables:
        (note,) = [note for note in table.notes if note.startswith("Simulated")]
        found = re.search(r"cells shown as 0 come out (\S+) too large", note)
        assert found, note
        said.append(float(found[1]))
    assert 0.5 * empty < np.mean(said) < 1.5 * empty
    assert off.sum() == pytest.approx(np.mean([t.values[-1, -1] for t in tables]) - true.sum())
