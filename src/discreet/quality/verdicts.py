"""What a comparison's numbers say, in plain words, and only where the draws leave no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.noise_law import Floats
from ..languages import Number, number, say, together

if TYPE_CHECKING:
    from .results import Comparison, Result


DOUBT = 1e-3
"""The chance, over all sentences of a comparison, that one of them is wrong by bad luck."""
LEVEL = 0.05
"""Of the ordinary test."""


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """A few sentences for each table, numbers included, then what was left out and why."""
    said = [
        together(table, words, between=": ")
        for table, about in by_table(comparison).items()
        for words in about
    ]
    return (*said, *left_out(comparison))


def by_table(comparison: Comparison) -> dict[str, list[str]]:
    """What is said of each table."""
    ordered = sorted(comparison.results, key=lambda one: one.table)
    said = {}
    for table, group in groupby(ordered, key=lambda one: one.table):
        results = list(group)
        said[table] = [
            *_by_epsilon(results),
            *_tests(results, comparison.truth[table].get("p_value")),
            *_biased(results),
            *_kept(results),
        ]
    return said


def left_out(comparison: Comparison) -> list[str]:
    """Which contestants could not answer."""
    return [
        say("{name} was left out: {why}", name=name, why=why)
        for name, why in comparison.left_out.items()
    ]


def _digits(value: float) -> Number:
    return number(f"{value:.3g}")


def certain(first: Floats, second: Floats, many: int) -> bool:
    """Whether the mean of the first is surely smaller, with so many comparisons at once (Welch)."""
    spread = first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
    gap = second.mean() - first.mean()
    if spread == 0:
        return bool(gap > 0)
    special: Any = import_module("scipy.special")
    limit = float(special.ndtri(1 - DOUBT / max(1, many) / 2))
    return bool(gap / sqrt(spread) > limit * _few(min(len(first), len(second))))


def _few(draws: int) -> float:
    """Few draws make a normal limit too small: a generous factor for Student's law."""
    return 1 + 12 / draws


def _by_epsilon(results: Sequence[Result]) -> list[str]:
    """Which method errs least at the same ε."""
    found: dict[str, list[str]] = {}
    spending = [one for one in results if one.contestant.epsilon]
    pairs = max(1, len(spending) ** 2)
    for epsilon in dict.fromkeys(one.contestant.epsilon for one in spending):
        same = [one for one in spending if one.contestant.epsilon == epsilon]
        same.sort(key=lambda one: one.mean_error)
        best = same[0]
        beaten = [o for o in same[1:] if certain(best.measures["l1"], o.measures["l1"], pairs)]
        if beaten:
            others = [together(o.contestant.group, _digits(o.mean_error)) for o in beaten]
            found.setdefault(best.contestant.group, []).append(
                say(
                    "ε = {epsilon}: {error} a cell ({others})",
                    epsilon=number(epsilon),
                    error=_digits(best.mean_error),
                    others=together(*others, between=", "),
                )
            )
    return [
        say(
            "{method} is off by less than others on average; {cases}.",
            method=group,
            cases=together(*cases, between="; "),
        )
        for group, cases in found.items()
    ]


def _tests(results: Sequence[Result], truth: float | None) -> list[str]:
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
            share = say(
                "{setting} ({wrong} of {draws})",
                setting=one.contestant.setting,
                wrong=wrong,
                draws=one.draws,
            )
            found.setdefault(one.contestant.group, []).append(share)
    words = say("dependent") if truth > LEVEL else say("independent")
    return [
        say(
            "the ordinary test of independence would call the variables {words}, which they are not in "
            "the true table, in most draws of {method} {shares}.",
            words=words,
            method=group,
            shares=together(*shares, between=", "),
        )
        for group, shares in found.items()
    ]


def _biased(results: Sequence[Result]) -> list[str]:
    """Where numbers lean one way once negatives are shown as 0, by more than half a count a cell."""
    said: list[str] = []
    for one in results:
        values = one.measures["bias"] / one.cells
        error = values.std(ddof=1) / sqrt(len(values)) if len(values) > 1 else 0.0
        limit = 4 * error * _few(len(values))
        mean = float(values.mean())
        if abs(mean) > 0.5 and abs(mean) > limit:
            facts = {"name": one.contestant.name, "mean": number(f"{abs(mean):.2g}")}
            said.append(
                say(
                    "with {name} a cell is too large by {mean} on average where negatives are shown as 0.",
                    **facts,
                )
                if mean > 0
                else say(
                    "with {name} a cell is too small by {mean} on average where negatives are shown as 0.",
                    **facts,
                )
            )
    return said


def _kept(results: Sequence[Result]) -> list[str]:
    """Of how many cells the band is kept, best and worst."""
    best = max(results, key=lambda one: one.measures["on_diagonal"].mean())
    worst = min(results, key=lambda one: one.measures["on_diagonal"].mean())
    high, low = best.measures["on_diagonal"], worst.measures["on_diagonal"]
    if not certain(low, high, len(results) ** 2):
        return []
    return [
        say(
            "{high} of cells stay in their band with {best}, {low} with {worst}.",
            high=number(f"{high.mean():.0%}"),
            best=best.contestant.name,
            low=number(f"{low.mean():.0%}"),
            worst=worst.contestant.name,
        )
    ]


def _at_least(times: int, of: int, doubt: float) -> float:
    """Clopper and Pearson's lower bound of a share."""
    special: Any = import_module("scipy.special")
    return float(special.betaincinv(times, of - times + 1, doubt)) if times else 0.0


def frontier(results: Sequence[Result]) -> list[Result]:
    """Those of one kind that no other beats on risk and error both, by rising risk."""
    best: list[Result] = []
    for one in sorted(results, key=lambda r: (r.risk, r.mean_error)):
        if not best or one.mean_error < best[-1].mean_error:
            best.append(one)
    return best
