"""A published margin is kept exactly, named in the guarantee, and must not contradict itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.description import StructuralZero
from discreet.core.domain import Condition
from discreet.errors import InputError
from discreet.methods.marginals.method import MarginalsMethod

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
        ({"v0": {"c0": "1", "c1": "2", "c2": "1.5"}}, None, "whole numbers"),
        ({"v0": {"c0": "1", "c1": "2", "c2": "-1"}}, None, "published.v0.c2"),
        ({"v0": "7"}, None, "must map a variable"),
        (
            {
                "v0": {"c0": "1", "c1": "2", "c2": "3"},
                "v1": {"c0": "1", "c1": "1", "c2": "1", "c3": "3"},
            },
            None,
            "only one can be kept",
        ),
    ],
)
def test_contradictions_get_one_clear_sentence(
    published: Any, records: int | None, words: str
) -> None:
    made = described(SHAPE, records=records)
    asked = question(made, [["v0", "v1"]], epsilon="1")
    with pytest.raises(InputError, match=words):
        MarginalsMethod().plan(asked, facts_of(made, published=published))


def test_a_published_count_where_nobody_can_be() -> None:
    """Structural zeros and a published margin can contradict too."""
    zero = StructuralZero((Condition("v0", "v0", ("c1",)),), "cannot be")
    made = described(SHAPE, structural_zeros=(zero,))
    asked = question(made, [["v0", "v1"]], epsilon="1")
    published = {"v0": {"c0": "20", "c1": "10", "c2": "20"}}
    with pytest.raises(InputError, match="contradict"):
        MarginalsMethod().plan(asked, facts_of(made, published=published))
