"""The guarantee by enumeration: every data set of a few people, everything published, stars included.

For each possible table the method is run as it is in production. Data sets that get the same published
table, stars and all, are one group: what a reader can know is that the truth is in it. If somebody's
posterior in a group is outside ε, its probability counts as broken.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.methods.suppression import decisions, laws
from discreet.methods.suppression.cell_weights import CellPeople
from discreet.methods.suppression.decisions import Decided, Rule
from discreet.methods.suppression.margins import margin_charges
from discreet.methods.suppression.past import Earlier, Past, Split
from discreet.methods.suppression.table_plan import Result, TablePlan

from .brute_force import DataSets

HALF, TWO, THREE = (0.5, 0.5), (0.6, 0.4), (0.4, 0.6)
WHOLE = (0.4, 0.3, 0.3)


def plan(
    people: list[list[CellPeople]],
    shape: tuple[int, ...],
    epsilon: float,
    delta: float,
    past: Past | None = None,
    order: str = "smallest risk",
    cells: bool = True,
    share: bool = False,
    bins: tuple[int, ...] = (),
) -> TablePlan:
    """A plan made as production makes it, from people instead of files."""
    before = past or Past((0.0,) * len(people))
    charges = (0.0,) * len(people)
    if before.earlier is None:
        first = () if bins else shape
        charges, _ = margin_charges(people, first, epsilon, delta, before.spent)
    most = delta / int(np.prod([n + 1 for n in bins or shape])) if share else 1.0
    return TablePlan(
        shape, people, epsilon, Rule(delta, order, most), before, cells, charges, "listed", bins
    )


def published(result: Result) -> bytes:
    return repr(result.bins).encode() + result.values.tobytes() + result.decided.tobytes()


def broken_and_spent(
    every: DataSets, epsilon: float, runs: dict[bytes, tuple[bytes, float]]
) -> tuple[float, float]:
    """The probability of a published group outside ε, and what is spent on average."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    spent = 0.0
    for place, table in enumerate(every.tables):
        out, charged = runs[table.tobytes()]
        groups[out].append(place)
        spent += every.chance[place] * charged
    broken = 0.0
    for members in groups.values():
        given = np.zeros(len(every.chance), dtype=bool)
        given[members] = True
        mass = every.chance[members].sum()
        if mass > 1e-14 and every.off(given) > epsilon + 1e-9:
            broken += mass
    return broken, spent


CASES = [
    ("one type", [HALF] * 3, (2, 2), 0.8, 0.6, "smallest risk", False),
    ("in row order", [HALF] * 3, (2, 2), 0.8, 0.6, "rows", False),
    ("the paper's rule", [HALF] * 3, (2, 2), 0.85, 0.5, "rows", True),
    ("two types", [TWO, TWO, THREE], (2, 2), 0.9, 0.8, "smallest risk", False),
    ("whole numbers", [WHOLE, WHOLE], (2, 2), 0.97, 0.99, "smallest risk", False),
    ("one way", [HALF] * 3, (4,), 0.8, 0.4, "smallest risk", False),
    ("two by three", [HALF] * 2, (2, 3), 0.9, 0.6, "smallest risk", False),
]


def cell_of(laws: list[tuple[float, ...]]) -> CellPeople:
    people: dict[tuple[float, ...], int] = {}
    for law in laws:
        people[law] = people.get(law, 0) + 1
    return CellPeople.of(people)


LONG = ("two by three", "the paper's rule", "whole numbers", "in row order")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, marks=pytest.mark.proof if one[0] in LONG else pytest.mark.slow)
        for one in CASES
    ],
    ids=lambda case: case[0],
)
def test_what_breaks_is_at_most_what_is_spent(case):
    """The chance that a published table breaks ε-semantic privacy is at most what is spent, so δ."""
    _, laws, shape, epsilon, delta, order, share = case
    cells = [cell_of(laws) for _ in range(int(np.prod(shape)))]
    every = DataSets(cells)
    try:
        made = plan([cells], shape, epsilon, delta, order=order, share=share)
    except Refusal:
        pytest.fail("the case decides nothing: choose a larger delta")
    runs: dict[bytes, tuple[bytes, float]] = {}
    stars = 0
    for table in np.unique(every.tables, axis=0):
        result = made.run(table)
        stars += int((result.decided == Decided.SUPPRESSED).sum())
        runs[table.tobytes()] = published(result), result.charged[0]
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert stars  # or stars would not be tried
    assert broken <= spent + 1e-9
    assert spent <= delta + 1e-9


@pytest.mark.proof
def test_successive_questions_break_at_most_what_is_spent():
    """Totals, then cells, then more cells under a larger δ together break ε with chance at most δ."""
    epsilon, shape = 0.8, (2, 2)
    cells = [cell_of([HALF] * 3) for _ in range(4)]
    every = DataSets(cells)
    runs: dict[bytes, tuple[bytes, float]] = {}
    for table in np.unique(every.tables, axis=0):
        out, spent, earlier = b"", 0.0, None
        for delta, with_cells in ((0.5, False), (0.5, True), (0.8, True)):
            before = Past((spent,), earlier)
            result = plan([cells], shape, epsilon, delta, before, cells=with_cells).run(table)
            spent += result.charged[0]
            assert spent <= delta + 1e-9
            out += published(result)
            earlier = Earlier(result.values, result.decided, with_cells)
        runs[table.tobytes()] = out, spent
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert broken <= spent + 1e-9


@pytest.mark.slow
def test_what_is_decided_by_draws_breaks_at_most_what_is_spent(monkeypatch: pytest.MonkeyPatch):
    """The same bound where no law is computed exactly and every cell is decided by drawn tables."""
    for module, name in (
        (laws, "EXACT_ALWAYS"),
        (laws, "EXACT_AT_MOST"),
        (decisions, "EXACT_AT_MOST"),
    ):
        monkeypatch.setattr(module, name, -1.0)
    epsilon, delta = 0.8, 0.6
    cells = [cell_of([HALF] * 3) for _ in range(4)]
    every = DataSets(cells)
    made = plan([cells], (2, 2), epsilon, delta)
    runs: dict[bytes, tuple[bytes, float]] = {}
    solvers: set[str] = set()
    for table in np.unique(every.tables, axis=0):
        result = made.run(table)
        solvers |= set(result.solvers)
        runs[table.tobytes()] = published(result), result.charged[0]
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert "draws" in solvers
    assert "exact" not in solvers
    assert broken <= spent + 1e-9
    assert spent <= delta + 1e-9


def test_tables_of_other_people_break_at_most_what_is_spent():
    """Two tables of disjoint people, one δ: the second is decided with what the first left."""
    epsilon, delta, shape = 0.8, 0.5, (1, 2)
    cells = [cell_of([HALF] * 3) for _ in range(4)]
    every = DataSets(cells)
    runs: dict[bytes, tuple[bytes, float]] = {}
    for table in np.unique(every.tables, axis=0):
        out, spent = b"", 0.0
        for part in (slice(0, 2), slice(2, 4)):
            try:
                made = plan([cells[part]], shape, epsilon, delta, Past((spent,)))
            except Refusal:
                out += b"refused"
                continue
            result = made.run(table[part])
            spent += result.charged[0]
            out += published(result)
        runs[table.tobytes()] = out, spent
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert broken <= spent + 1e-9
    assert spent <= delta + 1e-9


@pytest.mark.proof
@pytest.mark.parametrize("cells_first", [False, True])
def test_a_further_split_breaks_at_most_what_is_spent(cells_first: bool):
    """Totals of two rows, one of them split in two afterwards, then the cells: one bound."""
    epsilon, delta = 0.9, 0.85
    fine = [cell_of([HALF] * 2) for _ in range(6)]  # three rows by two columns
    coarse = [cell_of([HALF] * many) for many in (4, 4, 2, 2)]
    every = DataSets(fine)
    split, outs, stars = Split(0, (0, 0, 1)), 0, 0
    runs: dict[bytes, tuple[bytes, float]] = {}
    for table in np.unique(every.tables, axis=0):
        grid = table.reshape(3, 2)
        joined = np.array([grid[0] + grid[1], grid[2]]).ravel()
        first = plan([coarse], (2, 2), epsilon, delta, cells=cells_first).run(joined)
        out, spent = published(first), first.charged[0]
        shared = first.decided[0, :2]
        if not np.isin(shared, (Decided.RELEASED, Decided.DERIVED)).any():
            earlier = Earlier(first.values, first.decided, cells_first, split)
            past = Past((spent,), earlier)
            second = plan([fine], (3, 2), epsilon, delta, past).run(table)
            out, spent = out + published(second), spent + second.charged[0]
            outs += int((second.decided[:2, -1] == Decided.RELEASED).sum())
            stars += int((second.decided == Decided.SUPPRESSED).sum())
        runs[table.tobytes()] = out, spent
        assert spent <= delta + 1e-9
    broken, spent = broken_and_spent(every, epsilon, runs)
    assert stars
    assert outs
    assert broken <= spent + 1e-9


@pytest.mark.proof
def test_an_interval_prior_holds_at_every_point_of_it():
    """Under every point of an interval prior the chance to break ε is at most what is spent."""
    epsilon, delta, shape = 0.85, 0.6, (2, 2)
    priors = [(1 - p, p) for p in (0.45, 0.5, 0.55)]
    people = [[cell_of([law] * 3) for _ in range(4)] for law in priors]
    made = plan(people, shape, epsilon, delta)
    for point, cells in enumerate(people):
        every = DataSets(cells)
        runs = {}
        for table in np.unique(every.tables, axis=0):
            result = made.run(table)
            runs[table.tobytes()] = published(result), result.charged[point]
        broken, spent = broken_and_spent(every, epsilon, runs)
        assert broken <= spent + 1e-9
        assert spent <= delta + 1e-9


def test_a_rule_that_looks_is_caught():
    """The twin: stars for small counts, as offices set them, break ε far more than nothing spent."""
    cells = [cell_of([HALF] * 3) for _ in range(4)]
    every = DataSets(cells)
    runs = {}
    for table in np.unique(every.tables, axis=0):
        out = np.where(table == 0, -1, table)
        runs[table.tobytes()] = out.tobytes(), 0.0
    broken, spent = broken_and_spent(every, 0.8, runs)
    assert broken > spent + 0.1


@pytest.mark.slow
def test_decisions_follow_from_what_is_out():
    """Tables that agree on all that came out are decided alike, whatever their stars hide."""
    cells = [cell_of([HALF] * 5) for _ in range(6)]
    made = plan([cells], (2, 3), 0.7, 0.5)
    random = np.random.default_rng(4)
    pairs = 0
    for _ in range(60):
        table = random.binomial(5, 0.5, 6)
        result = made.run(table)
        hidden = np.flatnonzero(result.decided[:-1, :-1].ravel() == Decided.SUPPRESSED)
        other = table.copy().reshape(2, 3)
        for i, j in ((0, 1), (0, 2), (1, 2)):  # move one around a square of stars
            square = [(0, i), (1, j)], [(0, j), (1, i)]
            flat = [a * 3 + b for side in square for a, b in side]
            if np.isin(flat, hidden).all():
                for a, b in square[0]:
                    other[a, b] += 1
                for a, b in square[1]:
                    other[a, b] -= 1
                if other.min() >= 0 and other.max() <= 5:
                    pairs += 1
                    assert published(made.run(other.ravel())) == published(result)
                other = table.copy().reshape(2, 3)
    assert pairs > 5
