"""Planning help: what is said before any data are read."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

import discreet as dc
from discreet.errors import Refusal
from discreet.methods.suppression.cell_weights import CellPeople, pooled
from discreet.methods.suppression.decisions import Decided
from discreet.methods.suppression.groups import axis_mass, joined
from discreet.methods.suppression.margins import draw
from discreet.methods.suppression.planning import expected, people_needed, prior_room, unsafe_chance
from discreet.methods.suppression.public_people import _points
from discreet.workspace import load

from . import world


@pytest.mark.parametrize(
    ("p", "epsilon", "about"), [(0.5, 0.5, 40), (0.3, 0.5, 100), (0.1, 0.5, 400), (0.5, 0.2, 300)]
)
def test_how_many_people_a_cell_needs(p: float, epsilon: float, about: int):
    """The known figures, and the chance is kept there."""
    needed = people_needed((1 - p, p), epsilon)
    assert needed is not None
    assert 0.8 * about <= needed <= 1.2 * about
    assert unsafe_chance(CellPeople(((1 - p, p),), (needed,)), epsilon) <= 1e-3


@pytest.mark.slow
def test_a_prior_that_is_wrong_by_eight_points_is_fatal_and_an_interval_covers_it():
    """10,000 people, ε = 0.2: a truth of 0.48 for a prior of 0.4 is outside the room it has.

    Of 2,000 populations drawn from 0.48 about half have a total that is unsafe for readers who hold
    0.4, where δ allows a fifth; for those who hold the end of an interval up to 0.48 none has.
    """

    def cells(p: float) -> list[CellPeople]:
        return [CellPeople.of({(1 - p, p): 100}) for _ in range(100)]

    room = prior_room(cells(0.4), 0.2, 0.2)
    assert 0.32 < room.low < 0.4 < room.high < 0.48
    rooms = [
        prior_room(cells(law[1]), 0.2, 0.2) for law in _points(Fraction(8, 25), Fraction(12, 25))
    ]
    assert len(rooms) >= 9
    assert min(one.low for one in rooms) < 0.32
    assert max(one.high for one in rooms) > 0.48
    totals = np.random.default_rng(0).binomial(10_000, 0.48, 2_000)
    safe = {p: pooled(cells(p)).safe(0.2)[totals] for p in (0.4, 0.48)}
    assert safe[0.4].mean() < 0.6
    assert safe[0.48].all()


def test_a_plan_says_stars_and_room(tmp_path: Path):
    """Expected stars, δ to be spent and how far off the prior may be, in words."""
    folder = world.make(tmp_path)
    with dc.open(folder) as data:
        asked = data.table(rows="eyes", columns="hair").preview()
        assert "0 of 9 cells will be stars" in asked.plan.errors[0].note
        assert any("prior may be off" in words for words in asked.warnings)
        released = data.table(rows="eyes", columns="hair").release()
        assert released.protected.shown.all()


def test_a_plan_says_how_many_people_a_cell_needs(tmp_path: Path):
    """Of the type that needs most; one fewer, and a count alone is unsafe too often."""
    folder = world.make(tmp_path)
    with dc.open(folder) as data:
        asked = data.table(rows="eyes", columns="hair").preview()
        table = asked.plan.detail[0]
        laws = [law for cell in table.people[0] for law in cell.laws]
        hardest = min(laws, key=min)
        many = people_needed(hardest, table.epsilon)
        assert any(f"needs about {many} of them" in words for words in asked.warnings)
    alone = [unsafe_chance(CellPeople((hardest,), (n,)), table.epsilon) for n in (many // 2, many)]
    assert alone[0] > 1e-3 >= alone[1]


@pytest.mark.slow
def test_a_forecast_tries_the_very_decisions(tmp_path: Path):
    """Stars of tables drawn from the prior, read off no record, and the same each time."""
    folder = world.make(tmp_path, epsilon="0.35", delta="0.02")
    with dc.open(folder) as data:
        draft = data.table(rows="eyes", columns="hair")
        said = draft.forecast()
        table = draft.preview().plan.detail[0]
        drawn = draw(np.random.default_rng(0), table.people[0], 8) + table.models()[0].shifts
        stars = [
            int((table.run(counts).decided[:-1, :-1] == Decided.SUPPRESSED).sum())
            for counts in drawn
        ]
        assert said == draft.forecast()
        assert f"{min(stars)} to {max(stars)} of 9 cells were stars" in said
        assert f"{np.mean(stars):.3g} on average" in said
    assert max(stars) > 0


@pytest.mark.slow
def test_a_refusal_proposes_coarser_tables_that_are_safe(tmp_path: Path):
    """Each proposal is checked: asked for, it is not refused."""
    folder = world.make(tmp_path, epsilon="0.3", delta="0.02")
    with dc.open(folder) as data:
        with pytest.raises(Refusal) as caught:
            _ = data.table(rows="eyes", columns="hair").standing
        words = [str(one) for one in caught.value.alternatives]
        if "use tone instead of hair" in words:
            assert data.table(rows="eyes", columns="tone").standing == "affordable"
        if "leave out hair" in words:
            assert data.table(rows="eyes").standing == "affordable"
        assert len(words) > 1


def test_large_cells_are_expected_to_come_out():
    """300 people a cell at p = 0.4: no star; three people: all stars."""
    large = [CellPeople.of({(0.6, 0.4): 300}) for _ in range(9)]
    small = [CellPeople.of({(0.6, 0.4): 6}) for _ in range(9)]
    assert expected(large, (3, 3), 0.5, 0.2).stars == 0
    assert expected(small, (3, 3), 0.2, 0.01).stars == 9


def test_no_star_is_expected_alone():
    """One that stands alone follows from the totals: two a row, four a table are the fewest."""
    sizes = [300] * 14 + [24, 28]
    cells = [CellPeople.of({(0.7, 0.3): many}) for many in sizes]
    found = expected(cells, (4, 4), 0.5, 0.15)
    assert found.stars == 4
    assert found.spent <= 0.15
    assert expected(cells[:-1], (15,), 0.5, 0.02).stars == 2


@pytest.mark.slow
def test_a_refusal_proposes_groups_at_the_median_where_no_level_serves(tmp_path: Path):
    """Declared as proposed, the coarser table is not refused."""
    folder = world.make(tmp_path, epsilon="0.25", delta="0.02")
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        _ = data.table(rows="eyes", columns="half").standing
    groups = "blue | black, brown"
    assert any(str(one).endswith(f"these groups: {groups}") for one in caught.value.alternatives)
    described = world.described(epsilon="0.25", delta="0.02")
    categories = {
        eyes: {"label": eyes, "parent": "blue" if eyes == "blue" else "dark"} for eyes in world.EYES
    }
    described["variables"]["eyes"] = {
        "status": "declared",
        "levels": {
            "eyes": {"column": "eyes", "categories": categories},
            "shade": {"categories": {"blue": "blue", "dark": "dark"}},
        },
    }
    (folder / "discreet.yaml").write_text(yaml.safe_dump(described, sort_keys=False))
    load(folder)
    with dc.open(folder) as data:
        assert data.table(rows="shade", columns="half").standing == "affordable"


def test_joined_categories_hold_the_same_people():
    """Groups of columns, and of rows: nobody is lost, and each is where his group is."""
    cells = [CellPeople.of({(0.6, 0.4): k + 1, (0.5, 0.5): 2}) for k in range(6)]
    columns = joined(cells, ((0, 1), (0, 0, 1)))
    assert [cell.size for cell in columns] == [7, 5, 13, 8]
    rows = joined(cells, ((0, 0), (0, 1, 2)))
    assert [cell.size for cell in rows] == [9, 11, 13]
    assert axis_mass(cells, (2, 3), 0) == pytest.approx([5.4, 9.0])
