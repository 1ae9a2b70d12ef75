"""A block of people reconstructed from all its tables of up to three variables (A13).

As the U.S. Census Bureau did with its own tables of 2010: whoever has every small table of a small
place looks for the records that fit all of them. Where the tables are exact there is often just one
way. Each person's secret is then guessed from the reconstruction; that guess is what a claim of
differential privacy bounds, because it tells two values of one person apart.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np

from ...core.pure_laplace import PureLaplace
from ...languages import number, say
from .findings import Finding, percent
from .game import Claim, Whole, lower
from .twin import Twin

SHAPE = (2, 18, 6, 2)
"""Sex, age, origin and the secret."""
PEOPLE = 50
BLOCKS = 60


def block(twin: Twin, blocks: int = BLOCKS) -> Finding:
    """Every table of one to three of four variables of a block of fifty people, put together."""
    about = say(
        "From every table of up to three of four variables of a block of {people} people find the "
        "records that fit best, and read the secret of each person off.",
        people=PEOPLE,
    )
    random = np.random.default_rng(11)
    people = [_people(random) for _ in range(blocks)]
    exact = [
        _read_off(_reconstructed(_tables() @ _counts(one)), one, random) for one in people[:10]
    ]
    baseline = float(np.mean(np.concatenate(exact)))
    right, all_right = 0, []
    for one in people:
        answers = _answers(twin, _tables() @ _counts(one))
        hits = _read_off(_reconstructed(answers), one, random)
        all_right.append(hits.mean())
        right += int(hits[0])  # one victim a block: what happens to others is not independent
    share = float(np.mean(all_right))
    if twin.method == "cell-key":
        return Finding(
            say("block"), about, baseline, 0.9, share, None, None, False,
            say(
                "With exact tables {exact} of the secrets are read off; under this policy {share}, where "
                "half is guessing. Rules on how many variables and cells a table may have are what lowers "
                "it.", exact=percent(baseline, 0), share=percent(share, 0),
            ), blocks * PEOPLE,
        )  # fmt: skip
    claim = twin.claim()
    if not twin.replaced:
        claim = Claim(2 * claim.epsilon, claim.delta * (1 + exp(claim.epsilon)))
    over = lower(right, blocks) > claim.ceiling
    return Finding(
        say("block"), about, baseline, 0.9, right / blocks, None, claim.ceiling, over,
        say(
            "With exact tables {exact} of the secrets are read off. With ε = {epsilon} over all {tables} "
            "tables the victim's is right in {right} of {blocks} blocks ({share} over everybody), where "
            "half is guessing and {ceiling} the ceiling.",
            exact=percent(baseline, 0), epsilon=number(twin.epsilon), tables=len(_names()),
            right=percent(right / blocks, 0), blocks=blocks, share=percent(share, 0),
            ceiling=percent(claim.ceiling, 0),
        ), blocks,
    )  # fmt: skip


def _people(random: np.random.Generator) -> Whole:
    """Fifty people, a row each: sex, age, origin, secret."""
    return np.stack([random.integers(0, size, PEOPLE) for size in SHAPE], axis=1)


def _counts(people: Whole) -> Whole:
    flat = np.ravel_multi_index(tuple(people.T), SHAPE)
    return np.bincount(flat, minlength=int(np.prod(SHAPE))).astype(np.int64)


def _names() -> list[tuple[int, ...]]:
    axes = range(len(SHAPE))
    return [some for many in (1, 2, 3) for some in combinations(axes, many)]


@cache
def _tables() -> Any:
    """Which combinations each published cell sums."""
    cells = list(product(*(range(size) for size in SHAPE)))
    rows = []
    for names in _names():
        for codes in product(*(range(SHAPE[axis]) for axis in names)):
            rows.append(
                [all(cell[a] == c for a, c in zip(names, codes, strict=True)) for cell in cells]
            )
    return np.array(rows, dtype=np.int64)


def _answers(twin: Twin, true: Whole) -> Whole:
    """What is published of the tables: all together are one question."""
    if twin.method == "cell-key":
        return np.asarray(twin.release(true[None, :])[0])
    from fractions import Fraction

    many = len(_names()) * twin.description.neighbours.moved * twin.description.records_per_unit
    law = PureLaplace.of(str(Fraction(twin.epsilon) / many))
    return np.asarray(true + law.draw(true.size).astype(np.int64))


def _reconstructed(answers: Whole) -> np.ndarray[Any, Any]:
    """The nearest counts of all combinations, by the sum of absolute differences."""
    tables = _tables()
    rows, cells = tables.shape
    goal = np.concatenate([np.zeros(cells), np.ones(rows)])
    # imported when it is played: servers start without
    optimize: Any = import_module("scipy.optimize")
    sparse: Any = import_module("scipy.sparse")
    slack = -sparse.identity(rows, format="csr")
    summed = sparse.csr_matrix(tables)
    above = sparse.vstack([sparse.hstack([summed, slack]), sparse.hstack([-summed, slack])])
    limits = np.concatenate([answers, -answers]).astype(float)
    solved = optimize.linprog(goal, A_ub=above, b_ub=limits, bounds=(0, None), method="highs")
    return np.asarray(solved.x[:cells]).reshape(SHAPE)


def _read_off(
    found: np.ndarray[Any, Any], people: Whole, random: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whose secret the reconstruction gives rightly; where it does not say, a coin is thrown."""
    no, yes = (found[people[:, 0], people[:, 1], people[:, 2], value] for value in (0, 1))
    coin = random.integers(0, 2, len(people))
    guess = np.where(np.abs(yes - no) < 1e-6, coin, yes > no)
    return np.asarray(guess == people[:, 3])
