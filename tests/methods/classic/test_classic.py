"""Classic suppression: what it hides, that it is the fewest, and what an intruder recovers."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.guarantee import Kind
from discreet.core.table import Status
from discreet.errors import DescriptionError
from discreet.methods.classic.secondary import hide
from discreet.methods.shared.suppression_attack import attack

from ...attacks.people import change, make

CHOSEN = {"threshold": "5", "zeros": "yes", "protection": "1", "seconds": "10"}


def hidden(table: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask, -1, table)


def given_away(table: np.ndarray, mask: np.ndarray, sensitive: np.ndarray) -> bool:
    """Whether totals tell a sensitive cell to the count, by the intervals of an intruder."""
    found = attack(hidden(table, mask), table.sum(axis=1), table.sum(axis=0))
    known = {
        place for place, low, high in zip(found.places, found.low, found.high, strict=True)
        if low == high
    }  # fmt: skip
    return any(tuple(place) in known for place in np.argwhere(sensitive))


@pytest.mark.parametrize("seed", range(3))
def test_as_few_cells_as_can_be_are_hidden(seed: int):
    """No pattern with fewer cells protects the small counts, by trying all of them."""
    random = np.random.default_rng(seed)
    table = random.integers(0, 30, (2, 3))
    table[0, seed] = 3
    sensitive = table <= 5
    made = hide(table, sensitive, 1, 10)
    assert (made.cells | ~sensitive).all()
    assert not given_away(table, made.cells, sensitive)
    assert made.gap <= 1e-4
    others = np.flatnonzero(~sensitive.ravel())
    for more in range(int(made.cells.sum() - sensitive.sum())):
        for chosen in itertools.combinations(others.tolist(), more):
            mask = sensitive.copy()
            mask.flat[list(chosen)] = True
            assert given_away(table, mask, sensitive)


def test_the_rule_gives_a_hundred_people_away():
    """nabar Figure 1: six stars; who knows the rule knows that all hundred have the gene."""
    most = np.array([[62, 8, 62], [8, 100, 8]])
    stars = np.full((2, 3), -1)
    rows, columns = np.array([110, 105]), np.array([55, 105, 55])

    def rule(table: np.ndarray) -> np.ndarray:
        return hide(table, table <= 5, 1, 10).cells

    found = attack(stars, rows, columns, rule, most)
    assert found.fitting == 30
    assert found.exact == 0
    ends = found.by_rule()
    assert ends is not None
    middle = found.places.index((1, 1))
    assert (ends[0][middle], ends[1][middle]) == (100, 100)


def test_a_table_says_what_an_intruder_recovers(tmp_path: Path):
    """Kind none; the attack's figures stand where a guarantee would; hidden counts are nowhere."""
    folder = make(tmp_path, "cell-key")
    change(folder, family="classic", method=None, methods={"classic": {"threshold": "7"}})
    with dc.open(folder) as data:
        table = data.table(rows="area", columns="job").release().protected
    stars = table.status == Status.SUPPRESSED
    assert table.guarantee.kind is Kind.NONE
    assert stars.any()
    assert not table.values[stars].any()
    assert any(note.startswith("Attack by totals") for note in table.notes)
    assert any("no guarantee" in word for word in table.guarantee.caveats)


def test_it_never_stands_beside_simulatable_suppression(tmp_path: Path):
    """One data set serves one family."""
    folder = make(tmp_path, "cell-key")
    change(folder, family="classic", method=None, methods={"suppression": {}})
    with pytest.raises(DescriptionError, match="one data set serves one family"):
        dc.open(folder)
