"""Declared categories that hold no finer one, from plan to table."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.domain import variable
from discreet.core.table import Status
from discreet.errors import InputError
from discreet.methods.marginals.method import MarginalsMethod

from ... import trees
from .people import described, latent, question, released


@pytest.mark.parametrize("records", [None, 300])
def test_nobody_is_put_into_a_category_that_holds_nothing(records: int | None) -> None:
    """Its level is measured itself, its cells are structural zeros, and totals do not count them."""
    area, sex = trees.hollow(), variable("sex", ["f", "m"])
    made = described((), variables=(area, sex), records=records)
    tables = [["area:region", "sex"], ["area:country"]]
    rows = latent((5, 2), 300, 3)
    plan, stored, found = released(rows, made, question(made, tables, epsilon="0.5"))
    design = plan.detail
    assert [ref.level for ref in design.workload.refs] == ["region", "sex"]
    table, measured = MarginalsMethod().synthesise(plan, stored), design.workload.domain
    assert measured.axes[0].level.codes == ("n", "s")
    assert table.shape == measured.shape == (2, 2)
    regions, countries = found
    empty = regions.status == Status.STRUCTURAL_ZERO
    assert np.argwhere(empty).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert (countries.status == Status.STRUCTURAL_ZERO).tolist() == [False, True, False]
    for one in found:
        zero = one.status == Status.STRUCTURAL_ZERO
        assert one.noise is not None
        assert not one.values[zero].any()
        assert not one.noise.sd[zero].any()
    assert countries.values[0] == countries.values[-1] == regions.values[-1, -1]
    assert countries.noise is not None
    assert countries.noise.sd[0] == countries.noise.sd[-1]
    assert (records is None) == (countries.noise.sd[0] > 0)


def test_a_published_count_where_nobody_can_be_is_refused() -> None:
    """Whether the question is at its level or at a coarser one."""
    made = described((), variables=(trees.hollow(), variable("sex", ["f", "m"])))
    published = {"area:region": {"e": 5, "n": 100, "s": 100}}
    for tables in ([["area:region", "sex"]], [["area:country", "sex"]]):
        with pytest.raises(InputError, match=r"holds no finer category"):
            released(
                latent((5, 2), 200, 3),
                made,
                question(made, tables, epsilon="1"),
                published=published,
            )


def test_classic_mode_leaves_them_out_too() -> None:
    """Bits are of the categories there are, and the table has its declared shape."""
    made = described((), variables=(trees.hollow(), variable("sex", ["f", "m"])))
    asked = question(made, [["area:region", "sex"]], epsilon="2", mode="classic")
    plan, _, (table,) = released(latent((5, 2), 400, 3), made, asked)
    assert plan.detail.coding.shape == (2, 2)
    assert table.shape == (4, 3)
    assert (table.status[0] == Status.STRUCTURAL_ZERO).all()
    assert table.noise is not None
    assert not table.noise.sd[0].any()
    assert (table.noise.sd[1:] > 0).all()
    assert plan.errors[0].noise_sd == pytest.approx(table.noise.sd[1, 0])
