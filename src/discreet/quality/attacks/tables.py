"""Attacks on whole tables: hidden cells, reconstruction from many counts, the norm of the noise."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np

from ...core.pure_laplace import PureLaplace
from ...languages import number, say
from ...methods.shared.suppression_attack import attack
from .findings import Finding, not_applied, percent
from .game import Whole, lower
from .twin import Twin

PEOPLE = 100
QUERIES = 400
RULE = 5


def hidden_cells(twin: Twin, rounds: int = 2_000) -> Finding:
    """Small counts hidden, totals published: what linear programs and the rule give away (A10, A11)."""
    about = say(
        "Hide every count from 1 to 5, publish totals; work out what is hidden from totals, and from "
        "knowing the rule."
    )
    share, by_rule = _hidden_share(), _nabar()
    # with noisy totals the same subtraction gives a number that is off by the noise of all cells
    grid = _grid()
    cells = np.append(grid.ravel(), [grid[0].sum()])
    released = twin.release(np.repeat(cells[None, :], rounds, axis=0))
    guess = released[:, -1] - released[:, 1 : grid.shape[1]].sum(axis=1)
    right = float((guess == grid[0, 0]).mean())
    return Finding(
        say("hidden cells"), about, share, 1.0, right, None, None, False,
        say(
            "Where small counts are hidden and totals published, {share} of the hidden counts of a table "
            "follow exactly; knowing the rule narrows nabar's table from {all} to {by_rule} tables. Under "
            "this policy the same subtraction hits the true count in {right} of trials.",
            share=percent(share, 0), all=3121, by_rule=by_rule, right=percent(right, 0),
        ), rounds,
    )  # fmt: skip


def _grid() -> Whole:
    return np.array([[1, 24, 31, 18], [40, 17, 22, 35], [28, 33, 19, 26]], dtype=np.int64)


def _hidden_share() -> float:
    """Of the hidden counts of a table with its totals, the share that follows exactly."""
    grid = _grid()
    shown = np.where((grid > 0) & (grid <= RULE), -1, grid)
    found = attack(shown, grid.sum(axis=1), grid.sum(axis=0))
    return found.exact / max(1, len(found.places))


def _nabar() -> int:
    """How many tables fit nabar's Figure 1 for a reader who knows the rule.

    All six cells are hidden: primary ones because they hold at most 5, the others because a row or
    column with one hidden cell would give it away.
    """
    rows, columns = (110, 105), (55, 105, 55)
    fitting = []
    for a, b in product(range(columns[0] + 1), range(columns[1] + 1)):
        c = rows[0] - a - b
        if 0 <= c <= columns[2]:
            top = (a, b, c)
            bottom = tuple(total - cell for total, cell in zip(columns, top, strict=True))
            if min(bottom) >= 0:
                fitting.append((*top, *bottom))
    if len(fitting) != 3121:
        raise AssertionError("nabar's figure has 3,121 tables")
    primary = [frozenset(i for i, cell in enumerate(t) if cell <= RULE) for t in fitting]
    needed = {frozenset({0, 2, 4}), frozenset({1, 3, 5})}
    return sum(one in needed for one in primary)


def reconstruction(twin: Twin) -> Finding:
    """A secret bit of each of 100 people, from 400 counts of random groups (A12, A13)."""
    about = say(
        "Count a secret attribute in {queries} random groups of {people} people and decode by a linear "
        "program.",
        queries=QUERIES,
        people=PEOPLE,
    )
    random = np.random.default_rng(5)
    bits = random.integers(0, 2, PEOPLE)
    groups = random.integers(0, 2, (QUERIES, PEOPLE))
    true = (groups @ bits).astype(np.int64)
    baseline = _decoded(groups, true + random.integers(-2, 3, QUERIES), bits)
    if twin.method == "cell-key":
        share = _decoded(groups, twin.release(true[None, :])[0], bits)
        return Finding(
            say("reconstruction"), about, baseline, 0.9, share, None, None, False,
            say(
                "{share} of the bits are decoded (half by guessing). Groups put together at will are what "
                "makes it work: `declared_groups` forbids them, and rules bound what may be asked.",
                share=percent(share, 0),
            ), PEOPLE,
        )  # fmt: skip
    # all counts together are one question: each costs its share of ε
    law = PureLaplace.of(_each(twin.epsilon))
    noise = law.draw(QUERIES * 5).reshape(5, QUERIES).astype(np.int64)
    shares = [_decoded(groups, true + one, bits) for one in noise]
    right = round(sum(shares) * PEOPLE)
    claim = twin.claim()
    over = lower(right, 5 * PEOPLE) > max(claim.ceiling, 0.5)
    return Finding(
        say("reconstruction"), about, baseline, 0.9, right / (5 * PEOPLE), None, claim.ceiling, over,
        say(
            "With ε = {epsilon} over all {queries} counts {share} of the bits are decoded, where half is "
            "guessing and {ceiling} the ceiling.",
            epsilon=number(twin.epsilon), queries=QUERIES, share=percent(right / 5 / PEOPLE, 0),
            ceiling=percent(claim.ceiling, 0),
        ), 5 * PEOPLE,
    )  # fmt: skip


def _each(epsilon: str) -> str:
    from fractions import Fraction

    return str(Fraction(epsilon) / QUERIES)


def _decoded(groups: Whole, answers: Whole, bits: Whole) -> float:
    """The share of bits that the nearest fractional table gives, rounded."""
    queries, people = groups.shape
    goal = np.concatenate([np.zeros(people), np.ones(queries)])
    slack = -np.eye(queries)
    above = np.vstack([np.hstack([groups, slack]), np.hstack([-groups, slack])])
    limits = np.concatenate([answers, -answers])
    bounds = [(0, 1)] * people + [(0, None)] * queries
    optimize: Any = import_module("scipy.optimize")  # when it is played: servers start without
    solved = optimize.linprog(goal, A_ub=above, b_ub=limits, bounds=bounds, method="highs")
    return float(((solved.x[:people] > 0.5) == bits).mean())


def fourier_norm(twin: Twin, rounds: int = 2_000) -> Finding:
    """Noisy coefficients with the norm of their noise beside: the norm gives the truth away (A14)."""
    about = say(
        "Publish noisy Fourier coefficients of four yes-no variables with the size of the noise that "
        "was added, as one reading of barak Theorem 9 would; test which of two data sets fits."
    )
    epsilon = float(twin.epsilon) if twin.method != "cell-key" else 0.5
    masks = [
        0,
        *(1 << i for i in range(4)),
        *((1 << i) | (1 << j) for i, j in combinations(range(4), 2)),
    ]
    signs = np.array([[(-1) ** (mask & cell).bit_count() for cell in range(16)] for mask in masks])
    random = np.random.default_rng(7)
    one = random.integers(0, 30, 16)
    two = one.copy()
    two[3] += 1
    first, second = signs @ one, signs @ two
    apart = int(np.abs(first - second).sum())
    law = PureLaplace.of(str(epsilon), apart)
    hidden = random.integers(0, 2, rounds)
    noise = law.draw(rounds * len(masks)).reshape(rounds, -1).astype(np.int64)
    shown = np.where(hidden[:, None] == 0, first, second) + noise
    norms = np.abs(noise).sum(axis=1)
    sizes = np.stack([np.abs(shown - v).sum(axis=1) for v in (first, second)])
    fits = sizes == norms
    guess = np.where(fits[0] == fits[1], random.integers(0, 2, rounds), fits[1])
    with_norm = float((guess == hidden).mean())
    best = np.where(sizes[0] == sizes[1], random.integers(0, 2, rounds), sizes[1] < sizes[0])
    right = int((best == hidden).sum())
    ceiling = exp(epsilon) / (1 + exp(epsilon))
    over = lower(right, rounds) > ceiling
    if twin.method == "cell-key":
        why = say("Cell keys publish no coefficients: this attack finds nothing to work on.")
        return not_applied(say("norm of the noise"), about, with_norm, 0.95, why)
    return Finding(
        say("norm of the noise"), about, with_norm, 0.95, right / rounds, None, ceiling, over,
        say(
            "With the norm published the guess is right in {with_norm} of rounds; discreet never publishes "
            "it, and without it in {without}, the ceiling being {ceiling}.",
            with_norm=percent(with_norm, 0), without=percent(right / rounds), ceiling=percent(ceiling),
        ), rounds,
    )  # fmt: skip
