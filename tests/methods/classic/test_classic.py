"""Classic suppression: what it hides, that it is the fewest, and what an intruder recovers."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import yaml

import discreet as dc
from discreet.core.guarantee import Kind
from discreet.core.table import Status
from discreet.errors import DescriptionError, Refusal
from discreet.methods.classic.linked import Part, sparse, whole
from discreet.methods.classic.method import _attacked, _hidden
from discreet.methods.classic.secondary import hide
from discreet.methods.shared.suppression_attack import attack, intervals
from discreet.workspace import load

from ...attacks.people import change, make
from ..suppression import world as suppressed

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


def test_small_counts_of_a_whole_country_are_protected():
    """Beside tens of millions a solver's rounding of 1e-6 must not stand for further hidden cells."""
    table = np.random.default_rng(2).integers(1_000_000, 10_000_000, (4, 4))
    table[1, 2] = 2
    mask = hide(table, table <= 3, protection=3, seconds=30).cells
    assert mask.sum() == 4
    assert mask[1].sum() == mask[:, 2].sum() == 2


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
    assert any(note.startswith("Attack by linked tables and totals") for note in table.notes)
    assert stars[-1].any()  # a total that is small itself
    assert any("no guarantee" in word for word in table.guarantee.caveats)


def test_it_never_stands_beside_simulatable_suppression(tmp_path: Path):
    """One data set serves one family."""
    folder = make(tmp_path, "cell-key")
    change(folder, family="classic", method=None, methods={"suppression": {}})
    with pytest.raises(DescriptionError, match="one data set serves one family"):
        dc.open(folder)


def cube_of(part: Part, counts: np.ndarray) -> np.ndarray:
    """A table of a group with its totals."""
    return (part.sums() @ counts.ravel()).astype(np.int64).reshape([n + 1 for n in part.shape])


def worked_out(parts: list[Part], cubes: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    """Which numbers, hidden or not, everything published tells to the count."""
    sums = sparse.vstack([part.sums() for part in parts]).toarray()
    numbers = np.concatenate([cube.ravel() for cube in cubes])
    shown = ~np.concatenate([mask.ravel() for mask in masks])
    bounds = [(0, int(numbers.max()))] * sums.shape[1]
    low, high = intervals(sums[shown], numbers[shown], sums, bounds)
    return low == high


ROWS = Part((2, 3), (np.array([0, 0, 1, 1]), np.arange(3)))
"""Four rows joined to two, by three columns."""


@pytest.mark.parametrize("seed", range(4))
def test_linked_tables_are_protected_together(seed: int):
    """No small number of either level follows from all that is published of both."""
    counts = np.random.default_rng(seed).integers(0, 25, (4, 3))
    counts[seed % 4, 1] = 2
    parts = [whole((4, 3)), ROWS]
    cubes = [cube_of(part, counts) for part in parts]
    masks, gap = _hidden(parts, cubes, CHOSEN)
    small = np.concatenate([cube.ravel() <= 5 for cube in cubes])
    known = worked_out(parts, cubes, masks)
    assert gap <= 1e-4
    assert masks[0].any()
    assert not (small & known).any()


@pytest.mark.slow
def test_tables_protected_apart_give_one_another_away():
    """The twin: each level by itself, and the other tells what it hides."""
    leaks = 0
    for seed in range(2):
        counts = np.random.default_rng(seed).integers(0, 25, (4, 3))
        counts[seed % 4, 1] = 2
        parts = [whole((4, 3)), ROWS]
        cubes = [cube_of(part, counts) for part in parts]
        apart = [
            _hidden([whole(part.shape)], [cube], CHOSEN)[0][0]
            for part, cube in zip(parts, cubes, strict=True)
        ]
        small = np.concatenate([cube.ravel() <= 5 for cube in cubes])
        leaks += int((small & worked_out(parts, cubes, apart)).any())
    assert leaks


def test_a_small_total_is_hidden_with_another():
    """A total that is small itself is no number to publish, and is not left to be worked out."""
    counts = np.array([[40, 50, 60], [1, 0, 2], [30, 35, 45]])
    part = whole((3, 3))
    cube = cube_of(part, counts)
    (mask,), _ = _hidden([part], [cube], CHOSEN)
    assert mask[1].all()
    assert mask[:, -1].sum() == 2
    assert not mask[-1, -1]
    assert not worked_out([part], [cube], [mask])[cube.ravel() <= 5].any()


@pytest.mark.parametrize("counts", [[0, 0, 2], [3, 0, 2], [0, 0, 0]])
def test_a_table_of_too_few_records_is_refused(counts: list[int]):
    """Its grand total is a small count too: a filter must not show what a cell hides."""
    part = whole((3,))
    with pytest.raises(Refusal, match="too few") as refused:
        _hidden([part], [cube_of(part, np.array(counts))], CHOSEN)
    assert refused.value.rule == "small-table"
    assert not any(str(sum(counts)) in text for text in map(str, refused.value.args))


def looks(parts: list[Part], cubes: list[np.ndarray], masks: list[np.ndarray], chosen) -> bool:
    """Whether these tables would be hidden in just this way; one that is refused is not."""
    try:
        found, _ = _hidden(parts, cubes, chosen)
    except Refusal:
        return False
    return all(np.array_equal(a, b) for a, b in zip(found, masks, strict=True))


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_rule_is_tried_on_linked_tables(seed: int):
    """What is found is every table, of all there are, that looks the same when it is hidden."""
    random = np.random.default_rng(seed)
    chosen = CHOSEN | {"threshold": "1"}
    parts = [whole((2, 2)), Part((1, 2), (np.array([0, 0]), np.arange(2)))]
    counts = random.integers(1, 4, (2, 2))
    counts[0, 0] = 1
    cubes = [cube_of(part, counts) for part in parts]
    masks, _ = _hidden(parts, cubes, chosen)
    shown = [np.where(mask, -1, cube) for mask, cube in zip(masks, cubes, strict=True)]
    found = []
    for other in itertools.product(range(int(counts.sum()) + 1), repeat=4):
        made = [cube_of(part, np.array(other).reshape(2, 2)) for part in parts]
        if all((o[~m] == c[~m]).all() for o, c, m in zip(made, cubes, masks, strict=True)):
            found.append((other, looks(parts, made, masks, chosen)))
    assert masks[0].any()
    (said, *_) = _attacked(parts, shown, chosen)
    kept = [other for other, alike in found if alike]
    cells = [k for k, mask in enumerate(masks[0][:-1, :-1].ravel()) if mask]
    sure = sum(len({other[k] for other in kept}) == 1 for k in cells)
    totals = int(masks[0].sum()) - len(cells)
    assert said[1].startswith(
        f"Attack by the rule: of {len(found)} tables that fit, {len(kept)} would"
    )
    if not totals:
        assert f"knows {sure} of {len(cells)} hidden counts exactly" in said[1]


@pytest.mark.slow
def test_levels_of_a_hierarchy_in_one_question(tmp_path: Path):
    """Asked for together, two levels are one release: each says what both together give away."""
    folder = suppressed.make(tmp_path)
    described = suppressed.described()
    described["family"], described["methods"] = "classic", {"classic": {"threshold": "40"}}
    del described["variables"]["gene"]["role"]
    (folder / "discreet.yaml").write_text(yaml.safe_dump(described, sort_keys=False))
    load(folder)
    north = {"half": ["n"]}
    wanted = [{"rows": "eyes", "columns": level, "where": north} for level in ("hair", "tone")]
    with dc.open(folder) as data:
        fine, coarse = data.recipe({"tables": wanted}).release().tables
    hidden = [int((table.status == Status.SUPPRESSED).sum()) for table in (fine, coarse)]
    assert hidden[0] > 0
    assert any("linked tables" in note for note in fine.notes)
    assert not (fine.status == Status.SUPPRESSED)[-1, -1]
    assert any("linked tables" in note for note in coarse.notes) == bool(hidden[1])
