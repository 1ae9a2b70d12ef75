"""A question that follows from released tables is answered at no cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.errors import InputError, Refusal

from .attacks.people import make


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Made-up records under a budget of 2."""
    lines = ["id,area,sex,job"]
    lines += [f"{i},a{i % 5},{'fm'[i % 2]},{'xyz'[i % 3]}" for i in range(240)]
    return make(tmp_path, "dp", lines, budget={"epsilon": "2"})


def test_a_margin_follows_from_a_released_table(people: Path):
    """Its numbers are the sums of what was released, its noise is said, nothing is charged."""
    with dc.open(people) as data:
        whole = data.table(rows="area", columns="sex,job", totals=False, epsilon="1").release()
        draft = data.table(rows="area", columns="job", totals=False, epsilon="1")
        assert draft.preview().follows_from == whole.detail.plan.question_hash
        part = draft.release(free=True)
        assert data.ledger_facts()["spent"] == "epsilon = 1"
        order = [axis.name for axis in whole.protected.domain.axes]
        summed = whole.protected.values.sum(axis=order.index("sex"))
        assert np.array_equal(part.protected.values, summed)
        assert np.allclose(part.protected.noise.sd, whole.protected.noise.sd.flat[0] * 2**0.5)
        assert part.cost == "nothing"


def test_a_filter_that_is_no_mapping_is_bad_input(people: Path):
    """The short form belongs to the command line; Python says what it takes."""
    with dc.open(people) as data, pytest.raises(InputError, match="categories by variable"):
        data.table(rows="area", where="sex=f")  # type: ignore[arg-type]


def test_what_does_not_follow_is_refused(people: Path):
    """A table over another variable, or a filter, does not follow; the refusal names its rule."""
    with dc.open(people) as data:
        data.table(rows="area", columns="sex", epsilon="1").release()
        for asked in ({"rows": "job"}, {"rows": "area", "where": {"job": "x"}}):
            with pytest.raises(Refusal) as caught:
                data.table(**asked, epsilon="1").release(free=True)
            assert caught.value.rule == "nothing-released"
        assert data.ledger_facts()["spent"] == "epsilon = 1"


def test_no_budget_left_still_answers_what_follows(people: Path):
    """When nothing is left, what was released goes on answering."""
    with dc.open(people) as data:
        data.table(rows="area", columns="sex", epsilon="2").release()
        with pytest.raises(dc.BudgetExceeded):
            data.table(rows="sex", epsilon="1").release()
        assert data.table(rows="sex", epsilon="1").release(free=True).cost == "nothing"


def test_a_new_version_does_not_answer_from_the_old(people: Path):
    """Answers follow from releases on the same data and policy only; the budget stays spent."""
    with dc.open(people) as data:
        data.table(rows="area", columns="sex", epsilon="1").release()
    source = people.parent / "people.csv"
    source.write_text(source.read_text() + "999,a1,f,x\n")
    dc.load(people, Control())
    with dc.open(people) as data:
        assert data.ledger_facts()["spent"] == "epsilon = 1"
        with pytest.raises(Refusal):
            data.table(rows="sex", epsilon="1").release(free=True)
        with pytest.raises(dc.BudgetExceeded):
            data.table(rows="area", columns="sex", epsilon="1.5").release()
