"""The game behind every claim of differential privacy, played on a mechanism as it is.

A referee hides one of two neighbouring data sets; the mechanism answers; the attacker guesses. Half
of the rounds are for learning which answers tell the two apart, the other half for the count. Two
things are then held against the claim (ε, δ): how often the best guess at even odds is right, which
may not exceed (e^ε + δ) / (1 + e^ε), and the likelihoods of the most telling answers, which may not
differ by more than e^ε and δ. Both with a confidence bound, so that chance accuses nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from math import exp
from typing import Any

import numpy as np
import numpy.typing as npt

from ...languages import number, say
from .findings import percent

Whole = npt.NDArray[np.int64]
Release = Callable[[Whole], Whole]
"""Protects cells, one row a round: the answers to so many rounds at once."""

CONFIDENCE = 0.999
"""Of each bound."""
ROUNDS = 40_000


@dataclass(frozen=True)
class Claim:
    """What a mechanism promises about the two data sets of a game."""

    epsilon: float
    delta: float = 0.0

    @property
    def ceiling(self) -> float:
        """How often any guess at even odds is right, at most."""
        return (exp(self.epsilon) + self.delta) / (1 + exp(self.epsilon))


@dataclass(frozen=True)
class Played:
    """What a game showed."""

    rounds: int
    right: float
    """The share of right guesses of the best attack that was learnt."""
    at_least: float
    """Its lower confidence bound."""
    claim: Claim
    excess: float
    """How far the likelihood of the most telling answers surely exceeds e^ε times the other plus δ."""

    @property
    def over(self) -> bool:
        """Whether the claim is refuted."""
        return self.at_least > self.claim.ceiling or self.excess > 0

    def sentence(self) -> str:
        """The result in words."""
        facts = {"right": percent(self.right), "rounds": self.rounds}
        if self.over:
            return say(
                "The best guess found is right in {right} of {rounds} rounds, and telling answers come "
                "up {excess} more often than ε and δ allow: this REFUTES the claim.",
                excess=number(f"{self.excess:.3f}"),
                **facts,
            )
        return say(
            "The best guess found is right in {right} of {rounds} rounds (surely at least {least}): "
            "does not exceed the ceiling of {ceiling}.",
            least=percent(self.at_least),
            ceiling=percent(self.claim.ceiling),
            **facts,
        )


def lower(times: int, of: int, confidence: float = CONFIDENCE) -> float:
    """Clopper and Pearson's lower bound of a share.

    >>> round(lower(10, 10, 0.999), 3), lower(0, 10)
    (0.501, 0.0)
    """
    special: Any = import_module("scipy.special")  # when it is played: servers start without
    return float(special.betaincinv(times, of - times + 1, 1 - confidence)) if times else 0.0


def upper(times: int, of: int, confidence: float = CONFIDENCE) -> float:
    """And the upper one."""
    return 1 - lower(of - times, of, confidence)


def play(
    release: Release, first: Whole, second: Whole, claim: Claim, rounds: int = ROUNDS
) -> Played:
    """Play on two neighbouring rows of counts; `release` is asked for all rounds at once."""
    one, two = (release(np.repeat(row[None, :], rounds, axis=0)) for row in (first, second))
    half = rounds // 2
    best = max(
        _views(one[:half], two[:half]),
        key=lambda view: _telling(view, claim, half),
    )
    counted = rounds - half
    chosen = _Event(best.view, best.least, best.low)
    a, b = int(chosen(one[half:]).sum()), int(chosen(two[half:]).sum())
    if a < b:
        a, b = b, a
    excess = lower(a, counted) - exp(claim.epsilon) * upper(b, counted) - claim.delta
    guess = max(_views(one[:half], two[:half]), key=lambda view: abs(view.a - view.b))
    event = _Event(guess.view, guess.least, guess.low)
    hits = int(event(one[half:]).sum()) + counted - int(event(two[half:]).sum())
    if guess.a < guess.b:
        hits = 2 * counted - hits
    return Played(
        2 * counted, hits / (2 * counted), lower(hits, 2 * counted), claim, max(excess, 0.0)
    )


def unprotected(first: Whole, second: Whole, rounds: int = 200) -> float:
    """How often the same attacker is right where true counts are published: its baseline."""
    return play(lambda counts: counts, first, second, Claim(0.0), rounds).right


@dataclass(frozen=True)
class _View:
    """An event learnt: a way to look at a row, and from which value on; how often it came up."""

    view: int
    least: int
    low: bool
    a: int
    b: int


@dataclass(frozen=True)
class _Event:
    view: int
    least: int
    low: bool

    def __call__(self, rows: Whole) -> npt.NDArray[np.bool_]:
        seen = _seen(rows)[self.view]
        return np.asarray(seen < self.least if self.low else seen >= self.least)


def _seen(rows: Whole) -> list[Whole]:
    """Ways to look at a row: each cell, differences of two, the sum of all, the largest gap."""
    many = min(rows.shape[1], 3)
    ways = [rows[:, i] for i in range(many)]
    ways += [rows[:, i] - rows[:, j] for i in range(many) for j in range(i)]
    if many > 1:
        ways += [rows.sum(axis=1), np.minimum(rows[:, 0], -rows[:, 1])]
    return ways


def _views(one: Whole, two: Whole) -> Iterator[_View]:
    for place, (a, b) in enumerate(zip(_seen(one), _seen(two), strict=True)):
        values = np.unique(np.concatenate([a, b]))
        if len(values) > 400:
            values = np.unique(np.quantile(values, np.linspace(0, 1, 400)).astype(np.int64))
        below = np.searchsorted(np.sort(a), values), np.searchsorted(np.sort(b), values)
        for rank, value in enumerate(values.tolist()):
            low_a, low_b = int(below[0][rank]), int(below[1][rank])
            yield _View(place, value, True, low_a, low_b)
            yield _View(place, value, False, len(a) - low_a, len(b) - low_b)


def _telling(view: _View, claim: Claim, of: int) -> float:
    """By how many standard errors an event speaks against the claim, on the rounds to learn from."""
    a, b = max(view.a, view.b) / of, min(view.a, view.b) / of
    ratio = exp(claim.epsilon)
    spread = (a * (1 - a) + ratio**2 * (b * (1 - b) + 3 / of)) / of + 1e-12
    return float((a - ratio * b - claim.delta) / spread**0.5)
