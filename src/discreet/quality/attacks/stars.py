"""Suppression attacked: what stars give away, on made-up people under the policy's ε and δ.

A reader knows the rule, the public populations and the prior, and every number that came out. For
hiding small counts that is enough to recover them. For simulatable suppression the claim is that
anything published moves what he thinks of anybody by more than ε with a chance of at most δ, and that
a star tells nothing: it is decided before its count is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.description import Policy
from ...core.exact import exact
from ...languages import number, say
from ...methods.shared.suppression_attack import attack
from ...methods.suppression.beliefs import Model
from ...methods.suppression.board import Board
from ...methods.suppression.cell_weights import CellPeople
from ...methods.suppression.decisions import Decided, Progress, Rule, decide
from .findings import Finding, percent
from .game import Whole, lower

SIZE = 4
TABLES = 12
PRIORS = (0.5, 0.4)


@dataclass(frozen=True)
class StarTwin:
    """The policy's ε and δ, and made-up people: a square table with two types in each cell."""

    epsilon: float
    delta: float
    seed: int = 3
    looks: bool = False
    """A rule made wrong on purpose: it hides cells by their counts."""

    @classmethod
    def of(cls, policy: Policy) -> StarTwin:
        """The twin of a policy."""
        said = policy.parameters("suppression")
        epsilon, delta = (exact(str(said.get(name, "0.2")), name) for name in ("epsilon", "delta"))
        return cls(float(epsilon), float(delta))

    def cells(self) -> list[CellPeople]:
        """Everybody there is, by cell."""
        random = np.random.default_rng(self.seed)
        least = int(10 / self.epsilon)
        many = random.integers(least, 2 * least, SIZE * SIZE)
        laws = tuple((1 - share, share) for share in PRIORS)
        return [CellPeople(laws, (int(n // 2), int(n - n // 2))) for n in many]

    def drawn(self, cells: list[CellPeople], random: np.random.Generator) -> Whole:
        """How many have the secret, drawn from the prior."""
        drawn = [[random.binomial(c.counts[k], PRIORS[k]) for c in cells] for k in (0, 1)]
        return np.asarray(np.sum(drawn, axis=0), dtype=np.int64)

    def decided(self, model: Model, counts: Whole) -> Whole:
        """What became of each cell of a table of these counts."""
        grid = counts.reshape(SIZE, SIZE)
        board = Board.of_grid(model.most.reshape(SIZE, SIZE), grid.sum(axis=1), grid.sum(axis=0))
        progress = Progress(board, np.zeros(SIZE * SIZE, np.uint8), [0.0])
        decide(progress, [model], Rule(self.delta), lambda cell: int(counts[cell]))
        decided = progress.decided.astype(np.int64)
        if self.looks:
            shown = [not model.safe[cell][counts[cell]] for cell in range(SIZE * SIZE)]
            decided = np.where(shown, Decided.RELEASED, Decided.SUPPRESSED)
        return decided


def breaches(twin: StarTwin, tables: int = TABLES) -> Finding:
    """How often something published says more about somebody than ε allows."""
    about = say(
        "Know prior, populations and rule; wait for a number that moves a guess by more than ε."
    )
    cells, random = twin.cells(), np.random.default_rng(twin.seed + 1)
    model = Model.of(cells, twin.epsilon)
    broken = stars = 0
    every = [_unsafe(model, twin.drawn(cells, random)).any() for _ in range(400)]
    unprotected = sum(map(bool, every)) / len(every)
    for _ in range(tables):
        counts = twin.drawn(cells, random)
        out = twin.decided(model, counts) != Decided.SUPPRESSED
        stars += int((~out).sum())
        broken += bool((_unsafe(model, counts).astype(bool) & out).any())
    over = lower(broken, tables) > twin.delta
    return Finding(
        say("breaches"), about, unprotected, 0.05, broken / tables, None, twin.delta, over,
        say(
            "In {share} of {tables} tables a number says more than ε = {epsilon} allows about somebody; δ "
            "= {delta} is the ceiling. With every count published that happens in {unprotected}. {stars} "
            "of {cells} cells are stars.",
            share=percent(broken / tables, 0), tables=tables, epsilon=number(f"{twin.epsilon:g}"),
            delta=number(f"{twin.delta:g}"), unprotected=percent(unprotected, 0),
            stars=number(f"{stars / tables:.1f}"), cells=SIZE * SIZE,
        ), tables,
    )  # fmt: skip


def patterns(twin: StarTwin, pairs: int = TABLES) -> Finding:
    """Whether stars lie elsewhere when only what they hide is other."""
    about = say(
        "Compare which cells are stars in two tables that agree on every number that came out."
    )
    cells, random = twin.cells(), np.random.default_rng(twin.seed + 2)
    tight = StarTwin(twin.epsilon, twin.delta / 10, twin.seed, twin.looks)
    model = Model.of(cells, tight.epsilon)
    tried = differ = by_count = tables = 0
    while tried < pairs and tables < 3 * pairs:
        tables += 1
        counts = tight.drawn(cells, random)
        decided = tight.decided(model, counts)
        other = _moved(counts, decided == Decided.SUPPRESSED, model, random)
        if other is None:
            continue
        tried += 1
        differ += not np.array_equal(tight.decided(model, other), decided)
        by_count += not np.array_equal(_unsafe(model, counts), _unsafe(model, other))
    return Finding(
        say("patterns of stars"), about, float(by_count > 0) if tried else 1.0, 1.0,
        differ / tried if tried else 0.0, 0.0, 0.0, differ > 0,
        say(
            "In {tried} pairs of tables that differ under their stars only, the stars lie in other places "
            "in {differ}; had they been placed by the counts, in {by_count}.",
            tried=tried, differ=differ, by_count=by_count,
        ), tried,
    )  # fmt: skip


def _unsafe(model: Model, counts: Whole) -> Whole:
    return np.array([not model.safe[cell][counts[cell]] for cell in range(SIZE * SIZE)], np.int64)


def _moved(counts: Whole, hidden: Whole, model: Model, random: np.random.Generator) -> Whole | None:
    """The same table with other counts under its stars: moves around squares of stars."""
    grid, mask = counts.reshape(SIZE, SIZE).copy(), hidden.reshape(SIZE, SIZE)
    most = model.most.reshape(SIZE, SIZE)
    for _ in range(40):
        i, k = random.choice(SIZE, 2, replace=False)
        j, m = random.choice(SIZE, 2, replace=False)
        if not mask[[i, i, k, k], [j, m, j, m]].all():
            continue
        tried = grid.copy()
        step = int(random.integers(1, 9))
        tried[[i, k], [j, m]] += step
        tried[[i, k], [m, j]] -= step
        if (tried >= 0).all() and (tried <= most).all():
            return np.asarray(tried.ravel())
    return None


def recovered(twin: StarTwin, tables: int = TABLES) -> Finding:
    """How many stars follow exactly from totals and other numbers, by linear programs (A10)."""
    about = say("Work out every star from the totals and the numbers that came out.")
    cells, random = twin.cells(), np.random.default_rng(twin.seed + 5)
    model = Model.of(cells, twin.epsilon)
    stars = exact = hidden = by_rule = 0
    for _ in range(tables):
        counts = twin.drawn(cells, random)
        grid = counts.reshape(SIZE, SIZE)
        decided = twin.decided(model, counts).reshape(SIZE, SIZE)
        for shown, add in ((decided != Decided.SUPPRESSED, True), (~_lonely(grid), False)):
            found = attack(np.where(shown, grid, -1), grid.sum(axis=1), grid.sum(axis=0))
            if add:
                stars, exact = stars + len(found.places), exact + found.exact
            else:
                hidden, by_rule = hidden + len(found.places), by_rule + found.exact
    baseline = by_rule / max(hidden, 1)
    return Finding(
        say("stars by subtraction"), about, baseline, 0.9, exact / max(stars, 1), 0.0, 0.0, exact > 0,
        say(
            "Of {stars} stars {exact} follow exactly from totals; of the smallest cell of each table, "
            "hidden alone, {share} do.", stars=stars, exact=exact, share=percent(baseline, 0),
        ), tables,
    )  # fmt: skip


def _lonely(grid: Whole) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """The smallest cell alone, as a rule hides it that thinks of nothing else."""
    return np.asarray(grid == grid.min())


STARS: dict[str, Callable[[StarTwin], Finding]] = {
    "breaches": breaches,
    "star-patterns": patterns,
    "star-subtraction": recovered,
}
