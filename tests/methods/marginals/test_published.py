"""Published margins are kept exactly, named in the guarantee, and must not contradict each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.core.description import StructuralZero
from discreet.core.domain import Condition
from discreet.errors import InputError, RecipeError
from discreet.methods.marginals.design import design_of
from discreet.methods.marginals.fit import estimate_to_table
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.shared.invariants.keep_margins import chain
from discreet.recipe import from_mapping
from tests.facts import people

from ...examples import examples
from .people import described, facts_of, latent, question, released, true_margin

SHAPE = (3, 4, 5)


def counts_of(rows: np.ndarray, axis: int) -> dict[str, str]:
    return {f"c{i}": str(n) for i, n in enumerate(true_margin(rows, SHAPE, (axis,)))}


@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_a_published_margin_is_kept_exactly(epsilon: str) -> None:
    """Whatever the noise: the margin, its total, no noise claimed, and named as not protected."""
    rows = latent(SHAPE, 700, 5)
    made = described(SHAPE)
    asked = question(made, [["v0", "v1"], ["v1", "v2"], ["v0", "v2"]], epsilon=epsilon)
    plan, _, tables = released(rows, made, asked, published={"v1": counts_of(rows, 1)})
    exactly = true_margin(rows, SHAPE, (1,))
    assert (tables[0].values[-1, :4] == exactly).all()
    assert (tables[1].values[:4, -1] == exactly).all()
    assert {int(table.values[-1, -1]) for table in tables} == {700}
    assert (tables[2].values[:3, -1] == tables[0].values[:3, -1]).all()
    assert tables[0].noise is not None
    assert (tables[0].noise.sd[-1] == 0).all()
    assert "the margin v1" in plan.guarantee.sentence()
    assert all(table.values.min() >= 0 for table in tables)


def test_it_also_holds_where_the_fit_leaves_a_category_empty() -> None:
    """One person in a category that noise hides: still there."""
    rows = latent(SHAPE, 300, 6)
    rows[0, 1] = 3
    rows = rows[(rows[:, 1] != 3) | (np.arange(len(rows)) == 0)]
    made = described(SHAPE)
    asked = question(made, [["v0", "v1"]], epsilon="0.01")
    for _ in range(5):
        _, _, (table,) = released(rows, made, asked, published={"v1": counts_of(rows, 1)})
        assert table.values[-1, 3] == 1


@pytest.mark.parametrize(
    ("published", "records", "words"),
    [
        ({"v0": {"c0": "1", "c1": "2", "c2": "3"}}, 7, "contradict"),
        (
            {
                "v0": {"c0": "1", "c1": "2", "c2": "3"},
                "v1": {"c0": "1", "c1": "1", "c2": "1", "c3": "1"},
            },
            None,
            "contradict",
        ),
        ({"v0": {"c0": "1", "c1": "2"}}, None, "each of the 3 categories"),
        ({"v0": {"c0": "1", "c1": "2", "c2": "1.5"}}, None, "whole number"),
        ({"v0": {"c0": "1", "c1": "2", "c2": "-1"}}, None, "published.v0.c2"),
        ({"v0": "7"}, None, "must map variables"),
        ({"v0 × v0": {"c0": "7"}}, None, "twice"),
        ({"v0 × v9": {"c0": "7"}}, None, "v9"),
        ({"v0": {"c0": "1", "c1": "2", "c2": {"c0": "1"}}}, None, "published.v0.c2"),
        ({"v0 × v1": {"c0": "1", "c1": "2", "c2": "3"}}, None, "each of the 4 categories"),
    ],
)
def test_contradictions_get_one_clear_sentence(
    published: Any, records: int | None, words: str
) -> None:
    made = described(SHAPE, records=records)
    asked = question(made, [["v0", "v1"]], epsilon="1")
    with pytest.raises(InputError, match=words):
        MarginalsMethod().plan(*asked, facts_of(made, published=published))


def test_a_published_count_where_nobody_can_be() -> None:
    """Structural zeros and a published margin can contradict too."""
    zero = StructuralZero((Condition("v0", "v0", ("c1",)),), "cannot be")
    made = described(SHAPE, structural_zeros=(zero,))
    asked = question(made, [["v0", "v1"]], epsilon="1")
    published = {"v0": {"c0": "20", "c1": "10", "c2": "20"}}
    with pytest.raises(InputError, match="contradict"):
        MarginalsMethod().plan(*asked, facts_of(made, published=published))


def written(rows: np.ndarray, shape: tuple[int, ...], *margins: tuple[int, ...]) -> dict[str, Any]:
    """What a policy would write for these margins of these records."""

    def nested(table: np.ndarray) -> Any:
        if table.ndim == 0:
            return str(int(table))
        return {f"c{i}": nested(part) for i, part in enumerate(table)}

    return {
        " × ".join(f"v{axis}" for axis in margin): nested(true_margin(rows, shape, margin))
        for margin in margins
    }


def check_kept(
    rows: np.ndarray,
    shape: tuple[int, ...],
    margins: list[tuple[int, ...]],
    **changes: Any,
) -> Any:
    """Release all pairs with these margins published; find each of them in the synthetic table."""
    amount = changes.pop("amount", {"epsilon": "0.5"})
    made = described(shape, **changes)
    pairs = [list(pair) for pair in itertools.combinations(range(len(shape)), 2)]
    asked = question(made, [[f"v{a}" for a in pair] for pair in pairs], **amount)
    published = written(rows, shape, *margins)
    plan, stored, tables = released(rows, made, asked, published=published)
    method = MarginalsMethod()
    synthetic = method.synthesise(method.plan(*asked, facts_of(made, published=published)), stored)
    for margin in margins:
        assert (synthetic.margin(margin) == true_margin(rows, shape, margin)).all(), margin
        named = " × ".join(f"v{axis}" for axis in margin)
        assert f"the margin {named}" in plan.guarantee.sentence() or any(
            set(margin) < set(other) for other in margins
        )
    for table, pair in zip(tables, pairs, strict=True):
        true = true_margin(rows, shape, tuple(pair))
        cut = tuple(slice(0, n) for n in true.shape)
        assert table.values.min() >= 0
        if any(set(pair) <= set(margin) for margin in margins):
            assert (table.values[cut] == true).all()
            assert table.noise is not None
            assert (table.noise.sd == 0).all()
            assert (table.noise.lower[cut] == true).all()
    return plan, synthetic


@pytest.mark.parametrize(
    "margins",
    [
        [(0,), (1,), (2,), (3,)],
        [(0, 1), (1, 2)],
        [(0, 1), (2, 3)],
        [(0, 1, 2), (2, 3), (1, 2)],
        [(0, 1), (0, 2), (0, 3)],
        [(0, 1), (1, 2), (0, 2)],
        [(0, 1), (1, 2), (2, 3), (0, 3)],
        [(0, 1), (1, 2), (0, 2), (3,)],
    ],
)
@pytest.mark.parametrize("amount", [{"epsilon": "0.1"}, {"rho": "0.5"}])
@pytest.mark.slow
def test_any_set_of_margins_is_kept(margins: list[tuple[int, ...]], amount: dict[str, str]) -> None:
    """One-way and wider ones, apart, in chains and in circles, for ε and for ρ."""
    shape = (2, 3, 4, 3)
    plan, synthetic = check_kept(latent(shape, 300, 4), shape, margins, amount=amount)
    assert synthetic.total == 300
    for m in design_of(plan).allocation.measured:
        assert not any(set(m.margin) <= set(margin) for margin in margins), "public, yet measured"


def test_noise_that_leaves_no_cell_still_keeps_what_is_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few people and much noise may end a fit without a cell: the table then starts in one there can be."""
    none = np.zeros((0, 4), dtype=np.int64), np.zeros(0)
    monkeypatch.setattr(estimate_to_table, "within_bounds", lambda *given: none)
    check_kept(latent((4, 3, 2, 2), 7, 15), (4, 3, 2, 2), [(2, 3), (0, 2, 3)])


def random_release(data: st.DataObject) -> None:
    """Whatever is published of real records, with structural zeros they keep: kept exactly."""
    shape = tuple(data.draw(st.lists(st.integers(2, 4), min_size=3, max_size=5)))
    axes = range(len(shape))
    every = [m for r in (1, 2, 3) for m in itertools.combinations(axes, r)]
    margins = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True))
    if all(any(set(p) <= set(m) for m in margins) for p in itertools.combinations(axes, 2)):
        return  # everything public
    rows = latent(shape, data.draw(st.integers(0, 250)), data.draw(st.integers(0, 50)))
    zeros = []
    if data.draw(st.booleans()):
        one, two = data.draw(st.sampled_from(list(itertools.combinations(axes, 2))))
        zeros.append(
            StructuralZero(
                (
                    Condition(f"v{one}", f"v{one}", ("c0",)),
                    Condition(f"v{two}", f"v{two}", ("c1",)),
                ),
                "not",
            )
        )
        rows = rows[~((rows[:, one] == 0) & (rows[:, two] == 1))]
    amount = data.draw(st.sampled_from([{"epsilon": "0.05"}, {"epsilon": "2"}, {"rho": "0.1"}]))
    records = len(rows) if data.draw(st.booleans()) and len(rows) else None
    _, synthetic = check_kept(
        rows, shape, margins, amount=amount, records=records, structural_zeros=tuple(zeros)
    )
    if zeros:
        assert not ((synthetic.rows[:, one] == 0) & (synthetic.rows[:, two] == 1)).any()


@pytest.mark.slow
@given(st.data())
@examples(12)
def test_random_margins_zeros_and_data(data: st.DataObject) -> None:
    """A dozen of the releases that the proof makes hundreds of."""
    random_release(data)


@pytest.mark.proof
@given(st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_hundreds_of_random_margins_zeros_and_data(data: st.DataObject) -> None:
    """400 random releases keep every published margin and every structural zero exactly."""
    random_release(data)


@pytest.mark.slow
def test_many_variables_with_all_one_way_margins_published() -> None:
    """Six million cells, too many to list: kept by moving records, one variable at a time."""
    shape = (6, 5, 4, 7, 5, 6, 3, 5, 4, 4)
    rows = latent(shape, 2000, 2)
    margins = [(axis,) for axis in range(len(shape))]
    made = described(shape)
    pairs = [(axis, axis + 1) for axis in range(0, 10, 2)]
    asked = question(made, [[f"v{a}", f"v{b}"] for a, b in pairs], epsilon="1")
    _, _, tables = released(rows, made, asked, published=written(rows, shape, *margins))
    for table, (a, b) in zip(tables, pairs, strict=True):
        assert (table.values[-1, :-1] == true_margin(rows, shape, (b,))).all()
        assert (table.values[:-1, -1] == true_margin(rows, shape, (a,))).all()


def test_contradictions_name_the_margins_and_the_cell() -> None:
    """Two margins that differ where they overlap; pairs that agree but that no table can have."""
    shape = (2, 2, 2)
    made = described(shape)
    asked = question(made, [["v0", "v1", "v2"]], epsilon="1")
    rows = latent(shape, 90, 1)
    good = written(rows, shape, (0, 1), (1, 2))
    good["v1 × v2"]["c1"] = {"c0": "5", "c1": "6"}
    with pytest.raises(
        InputError, match=r"published\.v0 × v1 and published\.v1 × v2 differ at v1 c1"
    ):
        MarginalsMethod().plan(*asked, facts_of(made, published=good))
    apart = {"c0": {"c0": "0", "c1": "1"}, "c1": {"c0": "1", "c1": "0"}}
    odd = {"v0 × v1": apart, "v1 × v2": apart, "v0 × v2": apart}
    with pytest.raises(InputError, match="no table of whole counts is found") as caught:
        MarginalsMethod().plan(*asked, facts_of(made, published=odd))
    assert "v0 × v1; v0 × v2; v1 × v2" in str(caught.value)
    even = {name: odd[name] for name in ("v0 × v1", "v1 × v2")}
    assert MarginalsMethod().plan(*asked, facts_of(made, published=even)).charge is not None


def test_structural_zeros_and_margins_together_can_be_impossible() -> None:
    """One-way margins fine on their own, no table once a combination is ruled out: refused early."""
    zero = StructuralZero((Condition("v0", "v0", ("c0",)), Condition("v1", "v1", ("c0",))), "not")
    made = described((2, 2, 3), structural_zeros=(zero,))
    asked = question(made, [["v0", "v1"], ["v1", "v2"]], epsilon="1")
    bad = {"v0": {"c0": "8", "c1": "2"}, "v1": {"c0": "7", "c1": "3"}}
    with pytest.raises(InputError, match="with structural zeros all at once"):
        MarginalsMethod().plan(*asked, facts_of(made, published=bad))
    fine = {"v0": {"c0": "8", "c1": "2"}, "v1": {"c0": "1", "c1": "9"}}
    rows = np.array([[0, 1, 0]] * 8 + [[1, 0, 1]] + [[1, 1, 2]])
    _, _, (table, _) = released(rows, made, asked, published=fine)
    assert table.values.tolist() == [[0, 8, 8], [1, 1, 2], [1, 9, 10]]


def test_too_many_cells_to_decide_are_refused() -> None:
    """A circle of wide margins: whether a table exists is not decided, and that is said."""
    shape = (40, 40, 40)
    rows = latent(shape, 500, 3)
    made = described(shape)
    asked = question(made, [["v0", "v1", "v2"]], epsilon="1")
    published = written(rows, shape, (0, 1), (1, 2), (0, 2))
    with pytest.raises(InputError, match="64,000 cells together; most is 5,000"):
        MarginalsMethod().plan(*asked, facts_of(made, published=published))


def test_everything_public_leaves_nothing_to_measure() -> None:
    """Asked only for what is published: no budget is spent on it."""
    rows = latent(SHAPE, 200, 3)
    made = described(SHAPE)
    asked = question(made, [["v0", "v1"], ["v1"]], epsilon="1")
    with pytest.raises(RecipeError, match="published already"):
        MarginalsMethod().plan(*asked, facts_of(made, published=written(rows, SHAPE, (0, 1))))


def test_other_variables_are_summed_away_and_finer_levels_summed_up() -> None:
    """What is published of area and sex holds for region, though sex is not asked for."""
    made = people()
    rows = np.stack([np.random.default_rng(1).integers(0, n, 500) for n in (6, 3, 2, 3)], axis=1)
    rows[(rows[:, 1] == 0), 3] = 2
    recipe = from_mapping(
        {"tables": [{"rows": "region", "columns": "age"}], "method": "marginals", "epsilon": "1"},
        made,
        facts_of(made).policy,
    )
    names = [v.name for v in made.variables]
    areas, sexes = made.variable("area").finest, made.variable("sex").finest
    table = np.zeros((len(areas), len(sexes)), dtype=int)
    np.add.at(table, (rows[:, names.index("area")], rows[:, names.index("sex")]), 1)
    numbers = {
        area: {sex: int(table[i, j]) for j, sex in enumerate(sexes.codes)}
        for i, area in enumerate(areas.codes)
    }
    _, _, (found,) = released(
        rows, made, (recipe.question, recipe.treatment), published={"area × sex": numbers}
    )
    position = found.domain.names.index("region")
    totals = found.values.take(-1, axis=1 - position)[:-1]
    region = np.array(made.variable("area").level("region").of_finest)
    assert totals.tolist() == np.bincount(region, weights=table.sum(axis=1)).astype(int).tolist()
    coarse = from_mapping(
        {"tables": [{"rows": "area", "columns": "age"}], "method": "marginals", "epsilon": "1"},
        made,
        facts_of(made).policy,
    )
    by_region = {"north": int(totals[0]), "south": int(totals[1])}
    with pytest.raises(InputError, match="needs area at area"):
        MarginalsMethod().plan(
            coarse.question, coarse.treatment, facts_of(made, published={"region": by_region})
        )


def test_chains() -> None:
    """Each margin of a chain meets those before it within one of them."""
    for margins in ([(0, 1, 2), (2, 3), (1, 2)], [(0,), (1,)], [(0, 1), (0, 2), (0, 3), (3, 4)]):
        order = chain(margins)
        assert order is not None
        for i, margin in enumerate(order[1:], 1):
            before = set().union(*order[:i])
            assert any(set(margin) & before <= set(other) for other in order[:i])
    assert chain([(0, 1), (1, 2), (2, 3), (0, 3)]) is None
