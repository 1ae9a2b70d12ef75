"""Every table that was measured is kept in the synthetic table, asked for or not.

Noise is drawn from seeds (see test_accuracy), so nothing depends on chance. The error of the best
unbiased estimate of the same noise is what a table paid for can have at least.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import StructuralZero
from discreet.core.domain import Condition
from discreet.methods.marginals.derivation import standard_errors
from discreet.methods.marginals.design import Design, design_of
from discreet.methods.marginals.fit.estimate_to_table import fit_modern
from discreet.methods.marginals.method import MarginalsMethod, _estimated
from discreet.methods.marginals.publish.protected_tables import _moved
from discreet.methods.shared.residuals import rebuild

from .margins import all_ways
from .people import described, facts_of, latent, question, released, true_margin
from .test_accuracy import noisy
from .test_published import written

ZEROS = (
    StructuralZero(
        (Condition("v0", "v0", ("c1",)), Condition("v2", "v2", ("c0", "c3"))), "cannot be"
    ),
)


def planned(shape: tuple[int, ...], facts: dict[str, Any], policy: Any, **amount: str) -> Design:
    """All pairs of variables, under a description and a policy."""
    made = described(shape, **facts)
    names = [[f"v{axis}" for axis in margin] for margin in all_ways(len(shape), 2)]
    plan = MarginalsMethod().plan(*question(made, names, **amount), facts_of(made, **policy))
    return design_of(plan)


def errors(design: Design, rows: np.ndarray, seed: int) -> dict[Any, tuple[float, float]]:
    """For each table measured or asked for: the mean error of its counts, and of its estimate."""
    tables = noisy(design, rows, seed)
    margins = dict.fromkeys([*(m.margin for m in design.allocation.measured), *design.margins])
    made = fit_modern(design, tables, _estimated(design, tables, design.fitted), Control())
    unbiased = _estimated(design, tables, list(margins))
    found = {}
    for margin in margins:
        true = true_margin(rows, design.shape, margin)
        estimate = rebuild(design.shape, unbiased, margin)
        found[margin] = (
            float(np.abs(made.margin(margin) - true).mean()),
            float(np.abs(estimate - true).mean()),
        )
    return found


CASES = [
    ((2, 3, 7, 9), 8000, {"epsilon": "1"}, (), ()),
    ((2, 3, 7, 9), 2500, {"epsilon": "1"}, (), ()),
    ((3, 4, 5, 6), 6000, {"epsilon": "1"}, (), ()),
    ((3, 4, 5, 6), 6000, {"epsilon": "0.1"}, (), ()),
    ((3, 4, 5, 6), 6000, {"rho": "0.1"}, (), ()),
    ((2, 3, 7, 9), 8000, {"epsilon": "1"}, (), ZEROS),
    ((2, 3, 7, 9), 8000, {"epsilon": "2"}, ((0, 1),), ()),
    ((3, 4, 5, 6), 6000, {"epsilon": "2"}, ((0, 1), (2,)), ZEROS),
    ((3, 4, 5, 6), 6000, {"rho": "3"}, ((0, 1), (2,)), ZEROS),
    ((3, 4, 5, 6), 6000, {"rho": "5"}, ((0, 1), (2,)), ()),
    ((3, 4, 5, 6), 6000, {"epsilon": "4"}, ((0, 1), (1, 2), (0, 2)), ()),
    ((6, 5, 4, 3, 2), 3000, {"rho": "2"}, ((0,),), ()),
]


def check(
    shape: tuple[int, ...],
    records: int,
    amount: dict[str, str],
    published: tuple[tuple[int, ...], ...],
    zeros: tuple[StructuralZero, ...],
    draws: int,
) -> None:
    """No table, measured or asked for, is off by more than 1.2 times its unbiased estimate, draws
    together."""
    rows = latent(shape, records, 1)
    if zeros:
        rows = rows[(rows[:, 0] != 1) | ~np.isin(rows[:, 2], (0, 3))]
    policy = {"published": written(rows, shape, *published)} if published else {}
    design = planned(shape, {"structural_zeros": zeros}, policy, **amount)
    seen = [errors(design, rows, seed) for seed in range(draws)]
    for margin in seen[0]:
        count, unbiased = np.mean([one[margin] for one in seen], axis=0)
        assert count <= 1.2 * unbiased + 0.01, (margin, count, unbiased)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "records", "amount", "published", "zeros"), CASES)
def test_every_measured_table_is_as_near_as_its_measurement(
    shape, records, amount, published, zeros
):
    """Under ε and ρ, with published margins and structural zeros: three draws each."""
    check(shape, records, amount, published, zeros, draws=3)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("shape", "records", "amount", "published", "zeros"),
    [
        *CASES,
        ((13, 6, 2, 12), 529_655, {"epsilon": "1"}, (), ()),
        ((13, 6, 2, 12), 529_655, {"epsilon": "1"}, ((0,),), ()),
        ((10, 12, 15, 4, 2, 2, 6), 50_000, {"epsilon": "1"}, (), ()),
        ((8, 6, 10, 4, 2, 2, 6, 3, 10, 5), 100_000, {"epsilon": "1"}, (), ()),
    ],
)
def test_so_it_is_over_many_draws_and_in_wide_domains(shape, records, amount, published, zeros):
    """Every measured table is as near to the truth as its measurement, in domains of any size.

    20 draws of small domains; one where a fit takes long, up to more cells than can be listed.
    """
    check(shape, records, amount, published, zeros, draws=20 if np.prod(shape) < 5000 else 1)


@pytest.mark.slow
def test_wide_tables_measured_for_pairs_have_the_noise_that_was_bought() -> None:
    """2 × 3 × 7 × 9, ε = 1: two 3-way tables are measured, and no cell of them is off by more than
    3 on average (6 to 13 was seen where only the pairs asked for were kept)."""
    rows = latent((2, 3, 7, 9), 8000, 1)
    found = errors(planned((2, 3, 7, 9), {}, {}, epsilon="1"), rows, 1)
    wide = [count for margin, (count, _) in found.items() if len(margin) == 3]
    assert len(wide) == 2
    assert max(wide) <= 3


def test_synthetic_records_know_the_error_of_every_measured_table() -> None:
    """What `discreet synthetic` says of a table rests on this list: wide tables are on it."""
    design = planned((2, 3, 7, 9), {}, {}, epsilon="1")
    named = {names for names, _ in standard_errors(design)}
    for m in design.allocation.measured:
        assert tuple(f"v{axis}" for axis in m.margin) in named


@pytest.mark.parametrize(
    ("shape", "epsilon"),
    [((2,) * 9, "60"), ((4, 5, 6, 7, 8), "60"), ((4, 5, 6, 7, 8), "99"), ((3, 4, 5, 6), "20")],
)
@pytest.mark.slow
def test_where_hardly_any_noise_is_left_the_truth_is_published(shape, epsilon: str) -> None:
    """One table of all variables is measured then, and taken as it is: whatever is asked is right."""
    made = described(shape)
    rows = latent(shape, 1000, 2)
    margins = all_ways(len(shape), 2)
    asked = question(made, [[f"v{a}" for a in margin] for margin in margins], epsilon=epsilon)
    _, _, tables = released(rows, made, asked)
    for margin, table in zip(margins, tables, strict=True):
        inside = table.values[tuple(slice(0, shape[axis]) for axis in margin)]
        assert np.abs(inside - true_margin(rows, shape, margin)).mean() <= 0.1


@pytest.mark.slow
def test_what_whole_counts_cost_is_said(monkeypatch) -> None:
    """With little noise and no table of all variables, each table says how far its counts are from
    the estimates; with more noise than a record that says nothing of rounding, and is left out."""
    for module in ("share_search", "table_allocations"):
        monkeypatch.setattr(f"discreet.methods.marginals.plan.{module}.MOST_MERGED_CELLS", 40)
    shape = (3, 4, 5, 6)
    rows, made = latent(shape, 700, 4), described(shape)
    names = [[f"v{a}" for a in margin] for margin in all_ways(4, 2)]
    for epsilon in ("25", "1"):
        _, _, tables = released(rows, made, question(made, names, epsilon=epsilon))
        for table in tables:
            off = float(np.abs(table.values - table.extra["unbiased"]).mean())
            notes = [note for note in table.notes if note.startswith("Whole counts")]
            if epsilon == "1":
                assert not notes
            elif off >= 0.1:  # the column is rounded itself, by up to a half
                assert abs(float(notes[0].split(" are ")[1].split()[0]) - off) < 0.51


def test_the_figure_is_the_mean_distance() -> None:
    """Said below one record of noise and from a hundredth on; else nothing."""
    off, quiet = np.array([0.5, -0.25, 0.0, 0.25]), np.full(4, 0.03)
    assert "are 0.25 a cell from" in _moved(off, quiet)
    assert "deviation of 0.03." in _moved(off, quiet)
    assert _moved(off, np.full(4, 1.5)) == ""
    assert _moved(0 * off, quiet) == ""


def test_an_answer_of_the_first_form_is_fitted_as_it_was() -> None:
    """Stored without a form: the margins asked for are kept, and no table is taken as it is."""
    shape = (3, 4, 5, 6)
    rows, made, method = latent(shape, 700, 4), described(shape), MarginalsMethod()
    names = [[f"v{a}" for a in margin] for margin in all_ways(4, 2)]
    plan, stored, _ = released(rows, made, question(made, names, epsilon="50"))
    assert stored.facts["fit"] == 2
    assert method.measured(plan, stored, facts_of(made)) is plan
    old = replace(stored, facts={k: v for k, v in stored.facts.items() if k != "fit"})
    before = method.measured(plan, old, facts_of(made))
    assert design_of(before).kept == design_of(before).margins
    assert not design_of(before).exact
    whole = method.synthesise(plan, stored).margin((0, 1, 2, 3))
    assert np.abs(whole - true_margin(rows, shape, (0, 1, 2, 3))).sum() == 0
