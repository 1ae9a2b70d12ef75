"""What a comparison's numbers say, in plain words, and only where the draws leave no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.noise_law import Floats

if TYPE_CHECKING:
    from .results import Comparison, Result

special: Any = import_module("scipy.special")

DOUBT = 1e-3
"""The chance, over all sentences of a comparison, that one of them is wrong by bad luck."""
LEVEL = 0.05
"""Of the ordinary test."""


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """A few sentences for each table, numbers included."""
    said: list[str] = []
    for table, group in groupby(
        sorted(comparison.results, key=lambda one: one.table), key=lambda one: one.table
    ):
        results = list(group)
        said += _by_epsilon(table, results)
        said += _tests(table, results, comparison.truth[table].get("p_value"))
        said += _biased(table, results)
        said += _kept(table, results)
    for name, why in comparison.left_out.items():
        said.append(f"{name} was left out: {why}")
    return tuple(said)


def certain(first: Floats, second: Floats, many: int) -> bool:
    """Whether the mean of the first is surely smaller, with so many comparisons at once (Welch)."""
    spread = first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
    gap = second.mean() - first.mean()
    if spread == 0:
        return bool(gap > 0)
    limit = float(special.ndtri(1 - DOUBT / max(1, many) / 2))
    return bool(gap / sqrt(spread) > limit * _few(min(len(first), len(second))))


def _few(draws: int) -> float:
    """Few draws make a normal limit too small: a generous factor for Student's law."""
    return 1 + 12 / draws


def _by_epsilon(table: str, results: Sequence[Result]) -> list[str]:
    """Which method errs least at the same ε."""
    found: dict[str, list[str]] = {}
    spending = [one for one in results if one.contestant.epsilon]
    pairs = max(1, len(spending) ** 2)
    for epsilon in dict.fromkeys(one.contestant.epsilon for one in spending):
        same = [one for one in spending if one.contestant.epsilon == epsilon]
        same.sort(key=lambda one: one.mean_error)
        best, others = same[0], same[1:]
        beaten = [o for o in others if certain(best.measures["l1"], o.measures["l1"], pairs)]
        if beaten:
            listed = ", ".join(f"{o.contestant.group} {o.mean_error:.3g}" for o in beaten)
            found.setdefault(best.contestant.group, []).append(
                f"ε = {epsilon}: {best.mean_error:.3g} a cell ({listed})"
            )
    return [
        f"{table}: {group} is off by less than others on average; {'; '.join(cases)}."
        for group, cases in found.items()
    ]


def _tests(table: str, results: Sequence[Result], truth: float | None) -> list[str]:
    """Where the ordinary test of independence would mislead a reader."""
    if truth is None or not np.isfinite(truth):
        return []
    found: dict[str, list[str]] = {}
    for one in results:
        values = one.measures.get("p_value")
        if values is None or not np.isfinite(values).all():
            continue
        wrong = int(((values <= LEVEL) != (truth <= LEVEL)).sum())
        if _at_least(wrong, one.draws, DOUBT / max(1, len(results))) > 0.5:
            share = f"{one.contestant.setting} ({wrong} of {one.draws})"
            found.setdefault(one.contestant.group, []).append(share)
    words = "dependent" if truth > LEVEL else "independent"
    return [
        f"{table}: the ordinary test of independence would call the variables {words}, which they are "
        f"not in the true table, in most draws of {group} {', '.join(shares)}."
        for group, shares in found.items()
    ]


def _biased(table: str, results: Sequence[Result]) -> list[str]:
    """Where numbers lean one way once negatives are shown as 0, by more than half a count a cell."""
    said = []
    for one in results:
        values = one.measures["bias"] / one.cells
        error = values.std(ddof=1) / sqrt(len(values)) if len(values) > 1 else 0.0
        limit = 4 * error * _few(len(values))
        mean = float(values.mean())
        if abs(mean) > 0.5 and abs(mean) > limit:
            said.append(
                f"{table}: with {one.contestant.name} a cell is {'too large' if mean > 0 else 'too small'} "
                f"by {abs(mean):.2g} on average where negatives are shown as 0."
            )
    return said


def _kept(table: str, results: Sequence[Result]) -> list[str]:
    """Of how many cells the band is kept, best and worst."""
    best = max(results, key=lambda one: one.measures["on_diagonal"].mean())
    worst = min(results, key=lambda one: one.measures["on_diagonal"].mean())
    high, low = best.measures["on_diagonal"], worst.measures["on_diagonal"]
    if not certain(low, high, len(results) ** 2):
        return []
    return [
        f"{table}: {high.mean():.0%} of cells stay in their band with {best.contestant.name}, "
        f"{low.mean():.0%} with {worst.contestant.name}."
    ]


def _at_least(times: int, of: int, doubt: float) -> float:
    """Clopper and Pearson's lower bound of a share."""
    return float(special.betaincinv(times, of - times + 1, doubt)) if times else 0.0


def frontier(results: Sequence[Result]) -> list[Result]:
    """Those of one kind that no other beats on risk and error both, by rising risk."""
    best: list[Result] = []
    for one in sorted(results, key=lambda r: (r.risk, r.mean_error)):
        if not best or one.mean_error < best[-1].mean_error:
            best.append(one)
    return best
