"""The method in the flow: consistent whole numbers, honest plans, clear refusals."""

from __future__ import annotations

import csv
import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import StructuralZero
from discreet.core.domain import Condition
from discreet.core.question import Question, TableSpec, Treatment
from discreet.core.table import Status
from discreet.errors import Cancelled, InputError, RecipeError, Refusal
from discreet.methods import registry
from discreet.methods.base import Measurements
from discreet.methods.marginals.design import design_of
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.shared import microdata
from discreet.methods.shared.microdata import write_microdata
from discreet.recipe import from_mapping
from tests.facts import people

from ...examples import examples
from .people import count, described, facts_of, latent, question, released, true_margin


@pytest.mark.slow
@given(st.data())
@examples(40)
def test_every_output_is_whole_nonnegative_and_consistent(data: st.DataObject) -> None:
    """Show 5: any domain, workload, ε, mode and neighbours."""
    shape = (2, *data.draw(st.lists(st.integers(1, 5), min_size=0, max_size=4)))
    axes = range(len(shape))
    margins = data.draw(
        st.lists(
            st.sampled_from([m for r in (1, 2, 3) for m in itertools.combinations(axes, r)]),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    if all(shape[a] == 1 for margin in margins for a in margin):
        margins.append((0,))
    records = data.draw(st.integers(0, 400))
    declared = data.draw(st.booleans())
    mode = data.draw(st.sampled_from(["modern", "modern", "classic"]))
    amount = data.draw(st.sampled_from(["0.05", "0.5", "1", "4"]))
    spent = "rho" if mode == "modern" and data.draw(st.booleans()) else "epsilon"
    rows = latent(shape, records, 1)
    made = described(shape, records=records if declared else None)
    names = [[f"v{a}" for a in margin] for margin in margins]
    _, _, tables = released(rows, made, question(made, names, mode=mode, **{spent: amount}))
    for table in tables:
        assert table.values.dtype == np.int64
        assert table.values.min() >= 0
        for axis in range(table.values.ndim):
            parts = np.split(table.values, [-1], axis=axis)
            assert (parts[0].sum(axis=axis, keepdims=True) == parts[1]).all()
        if table.noise is None:  # left out for its noise, and said so
            assert any("too thin" in note for note in table.notes)
        else:
            assert (table.noise.lower <= table.noise.upper).all()
    if declared and mode == "modern":
        assert {int(t.values.ravel()[-1]) for t in tables} == {records}
    for (one, first), (two, second) in itertools.combinations(zip(margins, tables, strict=True), 2):
        common = sorted(set(one) & set(two))
        assert (_part(first.values, one, common) == _part(second.values, two, common)).all()


def _part(values: np.ndarray, margin: tuple[int, ...], kept: list[int]) -> np.ndarray:
    """The common part, read off the totals."""
    return values[tuple(slice(None) if axis in kept else -1 for axis in margin)]


@pytest.mark.slow
def test_the_release_is_near_the_truth_and_says_how_near() -> None:
    """3 × 4 × 5 × 6, ε = 1: noise intervals hold the truth about as often as they say.

    20 releases × 119 cells of the six interiors = 2,380 intervals, dependent within a release. The
    share inside has mean ≥ 0.95; 0.90 is more than 7 standard deviations of 20 independent releases
    away even were a release all one draw of sd 0.03 (observed); the twin below must fail it.
    """
    shape, inside, narrow, cells = (3, 4, 5, 6), 0, 0, 0
    made = described(shape)
    pairs = list(itertools.combinations(range(4), 2))
    asked = question(made, [[f"v{a}", f"v{b}"] for a, b in pairs], epsilon="1")
    for seed in range(20):
        rows = latent(shape, 3000, seed)
        plan, _, tables = released(rows, made, asked)
        for table, margin in zip(tables, pairs, strict=True):
            true = true_margin(rows, shape, margin)
            cut = tuple(slice(0, n) for n in true.shape)
            noise = table.noise
            assert noise is not None
            assert noise.sd[cut] == pytest.approx(plan.errors[pairs.index(margin)].noise_sd)
            lower, upper = noise.lower[cut], noise.upper[cut]
            inside += int(((lower <= true) & (true <= upper)).sum())
            third = (upper - lower) // 3
            narrow += int(((lower + third <= true) & (true <= upper - third)).sum())
            cells += true.size
    assert inside / cells > 0.90
    assert narrow / cells < 0.90, "the twin: intervals a third as wide must fail"


@pytest.mark.slow
def test_the_unbiased_column_is_unbiased() -> None:
    """Mean over 200 releases of one table's unbiased cells: within 6 standard errors of the truth.

    12 cells, two-sided 6σ each: false alarms below 3e-8 by the normal tail (sums of 200 draws).
    The twin: the fitted values of an empty cell are biased upwards, and fail the same check.
    """
    shape = (3, 4)
    rows = latent(shape, 60, 4)
    rows = rows[~((rows[:, 0] == 0) & (rows[:, 1] == 0))]
    made = described(shape)
    asked = question(made, [["v0", "v1"]], epsilon="0.5")
    true = true_margin(rows, shape, (0, 1))
    unbiased, fitted, sd = [], [], 1.0
    for _ in range(200):
        _, _, (table,) = released(rows, made, asked)
        unbiased.append(table.extra["unbiased"][:3, :4])
        fitted.append(table.values[:3, :4])
        assert table.noise is not None
        sd = float(table.noise.sd[0, 0])
    error = 6 * np.hypot(sd, 0.3) / 200**0.5
    assert np.abs(np.mean(unbiased, axis=0) - true).max() < error
    assert np.mean(fitted, axis=0)[0, 0] - true[0, 0] > 0.3


def test_same_measurements_same_tables() -> None:
    """Stored measurements give the same numbers again, in a new process's method too (rule 4)."""
    shape = (3, 4, 2, 5)
    made = described(shape)
    asked = question(made, [["v0", "v1"], ["v2", "v3"], ["v1", "v3"]], epsilon="1")
    plan, stored, tables = released(latent(shape, 800, 2), made, asked)
    again = MarginalsMethod()
    facts = facts_of(made)
    twice = again.fit(again.plan(*asked, facts), stored, facts, Control())
    for one, two in zip(tables, twice, strict=True):
        assert (one.values == two.values).all()
    assert plan.charge is not None
    assert plan.charge.loss.epsilon == 1  # type: ignore[union-attr]


def test_plans_read_no_data_and_print_the_error_first() -> None:
    """A plan is made of public facts: charge, counts, expected error and time."""
    made = described((3, 4, 5), records=3000)
    method = registry.get("marginals")
    plan = method.plan(*question(made, [["v0", "v1"], ["v1", "v2"]], epsilon="2"), facts_of(made))
    assert [error.noise_sd > 0 for error in plan.errors] == [True, True]
    assert plan.errors[0].totals_sd[""] == 0, "a declared total has no noise"
    assert any("Fitting takes about" in words for words in plan.warnings)
    assert "3,000" in plan.guarantee.sentence()
    assert plan.charge is not None
    assert plan.charge.neighbours == "replace-one"
    assert plan.guarantee.exact
    json.dumps([dict(one) for one in plan.alternatives])


def test_classic_mode_says_at_most_where_it_spends_less() -> None:
    """Under add/remove the paper's noise is twice what ε needs; the guarantee says ε ≤."""
    made = described((2, 2))
    asked = question(made, [["v0", "v1"]], epsilon="1", mode="classic")
    plan = MarginalsMethod().plan(*asked, facts_of(made))
    assert "ε ≤ 1" in plan.guarantee.sentence()


def test_levels_filters_and_structural_zeros() -> None:
    """Tables at two levels and under a filter come from one table; the impossible stays empty."""
    made = people()
    rows = np.stack([np.random.default_rng(1).integers(0, n, 900) for n in (6, 3, 2, 3)], axis=1)
    rows[(rows[:, 1] == 0), 3] = 2  # children: work is 'other'
    recipe = from_mapping(
        {
            "tables": [
                {"rows": "region", "columns": "work"},
                {"rows": "area", "columns": "age"},
                {"rows": "age", "columns": "work"},
                {"rows": "age", "columns": "work", "where": {"sex": "F"}},
            ],
            "method": "marginals",
            "epsilon": "3",
        },
        made,
        facts_of(made).policy,
    )
    plan, _, tables = released(rows, made, (recipe.question, recipe.treatment))
    by_region, by_area, by_work, women = tables
    area_totals = (
        by_area.values[-1, :6] if by_area.domain.names[0] == "age" else by_area.values[:6, -1]
    )
    regions = dict(zip(by_region.codes(0), by_region.values[:, -1], strict=True))
    assert regions["north"] == area_totals[:2].sum()
    assert regions["south"] == area_totals[2:].sum()
    assert (by_work.status[0, :2] == Status.STRUCTURAL_ZERO).all()
    assert (by_work.values[0, :2] == 0).all()
    assert (women.values <= by_work.values).all()
    assert any("measured at the finest of them" in words for words in plan.warnings)
    true = true_margin(rows, (6, 3, 2, 3), (1, 3))
    assert np.abs(by_work.values[:3, :3] - true).mean() < 15


def test_records_per_unit_divide_epsilon() -> None:
    """A unit of up to three records: the noise is that of a third of ε."""
    one = MarginalsMethod()
    made, thrice = described((3, 4)), described((3, 4), records_per_unit=3)
    asked = question(made, [["v0", "v1"]], epsilon="1.5")
    first = design_of(one.plan(*asked, facts_of(made))).allocation.measured[0].rate
    second = design_of(one.plan(*asked, facts_of(thrice))).allocation.measured[0].rate
    assert first == 3 * second == Fraction(3, 2)


@pytest.mark.slow
def test_thin_tables_are_not_measured_but_said(tmp_path: Path) -> None:
    """The density rule: a wide table of few records is filled by independence, and says so."""
    shape = (20, 18, 2, 3)
    made = described(shape)
    names = [["v0", "v1"], ["v2", "v3"], ["v0", "v2"]]
    asked = question(made, names, epsilon="1", records_about="1000")
    plan, _, tables = released(latent(shape, 1000, 3), made, asked)
    assert any("not measured but filled as if independent: v0 × v1" in w for w in plan.warnings)
    thin = tables[0]
    assert thin.noise is None
    assert (thin.status[:20, :18] == Status.UNRELIABLE).all()
    assert any("independent" in note for note in thin.notes)
    assert tables[1].noise is not None
    assert (tables[0].values[:, -1] == tables[2].values[:, -1]).all()


def test_synthetic_microdata_tabulate_to_the_same_margins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CSV and Parquet, records and cells: whoever counts them finds the published tables."""
    shape = (3, 4, 2)
    made = described(shape)
    method = MarginalsMethod()
    facts = facts_of(made)
    plan = method.plan(*question(made, [["v0", "v1"], ["v1", "v2"]], epsilon="1"), facts)
    tables = count(latent(shape, 500, 9), made, plan.counts)
    measured = method.measure(plan, tables, None, Control())
    (first, _) = method.fit(plan, measured, facts, Control())
    synthetic = method.synthesise(plan, measured)
    domain = design_of(plan).workload.domain
    rows = write_microdata(synthetic, domain, tmp_path / "people.csv", Control())
    assert rows == synthetic.total == first.values[-1, -1]
    with (tmp_path / "people.csv").open(newline="") as file:
        found: dict[tuple[str, str], int] = {}
        for record in csv.DictReader(file):
            key = record["v0"], record["v1"]
            found[key] = found.get(key, 0) + 1
    for i, j in itertools.product(range(3), range(4)):
        assert found.get((f"c{i}", f"c{j}"), 0) == first.values[i, j]
    monkeypatch.setattr(microdata, "MOST_RECORDS", synthetic.total - 1)
    write_microdata(synthetic, domain, tmp_path / "cells.parquet", Control())
    cells = pq.read_table(tmp_path / "cells.parquet")
    assert sum(cells["count"].to_pylist()) == synthetic.total
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells.parquet", "people.csv"]
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        write_microdata(synthetic, domain, tmp_path / "people.xls", Control())


def test_workloads_in_one_line() -> None:
    """'all 2-way' and 'all 3-way with region' are lists of tables in the canonical question."""
    made = people()
    policy = facts_of(made).policy
    pairs = from_mapping({"workload": "all 2-way", "epsilon": "1"}, made, policy).question
    assert len(pairs.tables) == 6
    with_region = from_mapping(
        {"workload": "all 3-way with region", "epsilon": "1"}, made, policy
    ).question
    assert len(with_region.tables) == 3
    assert all(any(ref.level == "region" for ref in t.axes) for t in with_region.tables)
    few = from_mapping({"workload": "all 2-way of age, sex", "epsilon": "1"}, made, policy).question
    assert len(few.tables) == 1
    for line, words in (
        ("everything", "reads like"),
        ("all 9-way", "names no table"),
        ("all 2-way of age, age", "twice"),
    ):
        with pytest.raises(RecipeError, match=words):
            from_mapping({"workload": line, "epsilon": "1"}, made, policy)


@pytest.mark.parametrize(
    ("tables", "parameters", "words"),
    [
        ([], {"epsilon": "1"}, "workload is empty"),
        ([["v0", "v1"], ["v1", "v0"]], {"epsilon": "1"}, "asked for twice"),
        ([["v0"]], {}, "no epsilon"),
        ([["v0"]], {"epsilon": "-1"}, "epsilon must be"),
        ([["v0"]], {"epsilon": "1", "mode": "newest"}, "mode must be one of modern, classic"),
        ([["v0"]], {"epsilon": "1", "objective": "total"}, "for mode classic only"),
        ([["v0"]], {"epsilon": "1", "mode": "classic", "objective": "least"}, "objective must be"),
        ([["v0"]], {"delta": "1e-6"}, "delta has no place"),
        ([["v0"]], {"rho": "1", "epsilon": "1"}, "got both"),
        ([["v0"]], {"rho": "0"}, "rho must be"),
        ([["v0"]], {"rho": "1", "mode": "classic"}, "classic spends epsilon only"),
        ([["v0"]], {"epsilon": "1", "threshold": "3"}, "has no setting threshold"),
        ([["v2", "v3", "v4"]], {"epsilon": "1"}, "1,000,000,000 cells"),
        ([["v0"]], {"epsilon": "1", "records_about": "1.5"}, "whole number"),
    ],
)
def test_bad_questions_get_one_clear_sentence(
    tables: list[list[str]], parameters: dict[str, str], words: str
) -> None:
    """Refused before anything is counted, with what is wrong and what to do."""
    made = described((2, 3, 1000, 1000, 1000))
    with pytest.raises(InputError, match=words) as caught:
        MarginalsMethod().plan(*question(made, tables, **parameters), facts_of(made))
    assert "\n" not in str(caught.value)


def test_noise_above_the_counts_is_warned_with_the_epsilon_that_would_do() -> None:
    """A 20 × 20 table of 100 people at ε = 0.1: said before spending."""
    made = described((20, 20), records=100)
    plan = MarginalsMethod().plan(
        *question(made, [["v0", "v1"]], epsilon="0.1", one_way_share="0"), facts_of(made)
    )
    assert any("exceeds the mean cell" in w and "Epsilon" in w for w in plan.warnings)


def test_refusals_and_stops() -> None:
    """Undeclared variables and too large an ε are refused; a stop is obeyed."""
    made = described((2, 3))
    found = replace(made, variables=(replace(made.variables[0], declared=False), made.variables[1]))
    asked = question(made, [["v0", "v1"]], epsilon="1")
    with pytest.raises(Refusal, match="not declared"):
        MarginalsMethod().plan(*asked, facts_of(found))
    with pytest.raises(Refusal, match="epsilon up to"):
        MarginalsMethod().plan(*asked, facts_of(made, epsilon_most="0.5"))
    method, facts = MarginalsMethod(), facts_of(made)
    plan = method.plan(*asked, facts)
    measured = method.measure(
        plan, count(latent((2, 3), 50, 1), made, plan.counts), None, Control()
    )
    with pytest.raises(Cancelled):
        method.fit(plan, measured, facts, Control(cancelled=lambda: True))


def test_weighted_tables_and_shares_are_refused() -> None:
    """Counts of records only; shares are the plan's own affair."""
    made = described((2, 3))
    spec = question(made, [["v0"]])[0].tables[0]
    for changed, words in (
        (replace(spec, weighted=True), "not weighted"),
        (replace(spec, share=Fraction(1)), "finds the shares itself"),
    ):
        asked = Question("made", (changed,), "marginals", {"epsilon": "1"}), Treatment()
        with pytest.raises(RecipeError, match=words):
            MarginalsMethod().plan(*asked, facts_of(made))


def test_measurements_hold_whole_numbers_only() -> None:
    """What is stored is integers and text: no float, nothing true."""
    made = described((2, 2, 3))
    _, stored, _ = released(
        latent((2, 2, 3), 300, 5), made, question(made, [["v0", "v1", "v2"]], epsilon="1")
    )
    assert isinstance(stored, Measurements)
    assert all(array.dtype == np.int64 for array in stored.arrays.values())
    rates = [rate for _, rate in stored.facts["measured"]]
    assert all(isinstance(rate, str) and Fraction(rate) > 0 for rate in rates)


def test_structural_zeros_may_cover_a_whole_variable() -> None:
    """A rule on one variable alone empties its category everywhere."""
    zero = StructuralZero((Condition("v0", "v0", ("c1",)),), "cannot be")
    made = described((3, 4), structural_zeros=(zero,))
    rows = latent((3, 4), 400, 8)
    rows = rows[rows[:, 0] != 1]
    for mode in ("modern", "classic"):
        asked = question(made, [["v0", "v1"]], epsilon="0.5", mode=mode)
        _, _, (table,) = released(rows, made, asked)
        assert (table.values[1] == 0).all()


def test_empty_data_are_released_too() -> None:
    """No record at all: tables come out, small and whole."""
    made = described((2, 3))
    _, _, (table,) = released(
        np.zeros((0, 2), dtype=np.int64), made, question(made, [["v0", "v1"]], epsilon="5")
    )
    assert table.values.min() >= 0


def test_the_total_table() -> None:
    """A total alone has nothing to be consistent with: the sentence names the other method."""
    made = described((2, 3))
    asked = Question("made", (TableSpec(()),), "marginals", {"epsilon": "2"}), Treatment()
    with pytest.raises(RecipeError, match="method noise"):
        MarginalsMethod().plan(*asked, facts_of(made))
