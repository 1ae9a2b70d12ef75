"""Attacks on single counts: differencing, averaging, same sets, small cells, membership."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np

from ...languages import Number, number, say, together
from ...methods.base import own_part
from ...methods.cellkey.method import Detail
from ...methods.cellkey.ptable import PTable
from ...methods.cellkey.risk import hired_today, matching, queries_to_recover, recovery
from ..trial import best_guess
from .findings import Finding, percent
from .game import Claim, Whole, lower, play, unprotected, upper
from .twin import Twin

ROUNDS = 20_000
SIZE = 40
"""People in the sets that are compared: large enough for the law of large counts."""


def differencing(twin: Twin, rounds: int = ROUNDS) -> Finding:
    """Bob was hired today: the same count with and without him, by two descriptions (A1, A18)."""
    about = say(
        "Ask for a count twice, by a description that holds one person and by one that does not; "
        "conclude that the person is in it where the answers differ. An update by one record is the "
        "same."
    )
    sets = np.full((rounds, 1), SIZE, dtype=np.int64)
    pair = _neighbours(twin, SIZE, SIZE)
    baseline = unprotected(*pair)
    if twin.method != "cell-key":
        claim = twin.claim(2)
        won = play(twin.release, *pair, claim, rounds)
        return Finding(
            say("differencing"), about, baseline, 1.0, won.right, None, claim.ceiling, won.over,
            together(say("Both answers are charged."), won.sentence()), won.rounds,
        )  # fmt: skip
    without, with_one = twin.with_one_more(sets)
    seen = int((without != with_one).sum())
    computed = float(hired_today(_table(twin), SIZE).success)
    return _number(
        say("differencing"), about, seen, rounds, computed,
        lambda share: say(
            "A count with and without one person differs in {measured} of pairs, which gives the person "
            "away; computed: {expected}.", measured=share, expected=percent(computed),
        ), baseline,
    )  # fmt: skip


def averaging(twin: Twin, rounds: int = 400) -> Finding:
    """One cell split by other variables again and again, sums averaged (A2, A3)."""
    about = say(
        "Split one cell by other variables again and again, add up and average the answers."
    )
    random = np.random.default_rng()
    noise = random.integers(-2, 3, (400, 200, 2)).sum(axis=2).mean(axis=1)
    baseline = float((np.abs(noise) < 0.5).mean())
    if twin.method != "cell-key":
        budget = twin.policy.budget
        most = getattr(budget, "epsilon", None)
        queries = max(1, int(most / float(twin.epsilon))) if most is not None else 1
        queries = min(queries, 200)
        parts = np.full((rounds, 2 * queries), SIZE // 2, dtype=np.int64)
        sums = twin.release(parts).reshape(rounds, queries, 2).sum(axis=2)
        right = int((np.abs(sums.mean(axis=1) - SIZE) < 0.5).sum())
        return Finding(
            say("averaging"), about, baseline, 0.95, right / rounds, None, None, False,
            say(
                "Every split is charged: after {queries} tables at ε = {epsilon} the budget is spent. The "
                "mean of all then rounds to the true count in {share} of trials; what that tells about "
                "one person is bounded by the whole budget.",
                queries=queries, epsilon=number(twin.epsilon), share=percent(right / rounds, 0),
            ), rounds,
        )  # fmt: skip
    row = _table(twin).large
    queries = queries_to_recover(row, 2) or 1_000
    computed = recovery(row, queries, 2)
    parts = np.full((rounds, 2 * queries), SIZE // 2, dtype=np.int64)
    sums = twin.release(parts).reshape(rounds, queries, 2).sum(axis=2).mean(axis=1)
    centre = 2 * float(row.mean)
    right = int((np.abs(sums - SIZE - centre) < 0.5).sum())
    return _number(
        say("averaging"), about, right, rounds, computed,
        lambda share: say(
            "{queries} queries of one cell, each in two parts, recover its true count in {measured} of "
            "trials; computed: {expected}. Rules on variables and cells are what stands against it.",
            queries=queries, measured=share, expected=percent(computed),
        ), baseline, 0.95,
    )  # fmt: skip


def same_set(twin: Twin, rounds: int = ROUNDS) -> Finding:
    """Two differently described cells that show one number: the same people? (A4)"""
    about = say("Compare two differently described cells: equal numbers hint at the same people.")
    sets = np.full((rounds, 1), SIZE, dtype=np.int64)
    equal = int((twin.release(sets) == twin.release(sets)).sum())
    if twin.method != "cell-key":
        same = int((twin.release(sets) == twin.release(sets)).sum())
        hits = same + rounds - equal
        return Finding(
            say("same set"), about, 1.0, 1.0, hits / (2 * rounds), None, 0.5, lower(hits, 2 * rounds) > 0.5,
            say(
                "Each answer has noise of its own: the same people, asked for in two ways, show one "
                "number in {same} of trials, other people of the same number in {equal}.",
                same=percent(same / rounds), equal=percent(equal / rounds),
            ), 2 * rounds,
        )  # fmt: skip
    computed = float(matching(_table(twin), SIZE).equal_by_chance)
    posterior = float(matching(_table(twin), SIZE).posterior)
    return _number(
        say("same set"), about, equal, rounds, computed,
        lambda share: say(
            "Different sets of one size show one number in {measured} of pairs (computed: {expected}), "
            "the same set always: equality makes an even guess {posterior} sure.",
            measured=share, expected=percent(computed), posterior=percent(posterior),
        ),
    )  # fmt: skip


def small_cells(twin: Twin, rounds: int = ROUNDS) -> Finding:
    """Is a cell empty, or is somebody in it? (A7, A8, A9)"""
    about = say("Tell a cell with one person from an empty one by the number published.")
    empty, one = _neighbours(twin, 0, 0)
    if twin.method != "cell-key":
        claim = twin.claim()
        won = play(twin.release, one, empty, claim, rounds)
        return Finding(
            say("small cells"), about, unprotected(one, empty), 1.0, won.right, None, claim.ceiling, won.over,
            together(
                won.sentence(), say("Impossible cells come from the description, never from data.")
            ), won.rounds,
        )  # fmt: skip
    shown = twin.release(np.repeat(np.array([[0, 1]]), rounds, axis=0))
    table = _table(twin)
    rows = [table.row(0).pmf, table.row(1).pmf]
    guess = [v for v in range(-30, 31) if rows[1].get(v - 1, 0) > rows[0].get(v, 0)]
    right = int(np.isin(shown[:, 1], guess).sum()) + int((~np.isin(shown[:, 0], guess)).sum())
    computed = sum(float(max(rows[0].get(v, 0), rows[1].get(v - 1, 0))) for v in range(-30, 31)) / 2
    kept = say(
        "Empty cells are shown as they are: whatever is published above 0 has somebody in it."
    )
    return _number(
        say("small cells"), about, right, 2 * rounds, computed,
        lambda share: together(
            kept if table.zeros_kept else "",
            say(
                "The best guess between 0 and 1 is right in {measured} of cells; computed: {expected}.",
                measured=share, expected=percent(computed),
            ),
        ),
    )  # fmt: skip


def membership(twin: Twin, rounds: int = 2 * ROUNDS) -> Finding:
    """Was the victim in the data? The best attack that half of the rounds can teach (A16)."""
    about = say(
        "Learn from half of the rounds which answers tell the victim's presence, and guess on the "
        "other half."
    )
    records = twin.description.records_per_unit
    row, more = _neighbours(twin, 3, 0, records)
    baseline = unprotected(more, row)
    if twin.method == "cell-key":
        expected = best_guess(_table(twin), records)
        won = play(twin.release, more, row, Claim(30.0), rounds)
        return Finding(
            say("membership"), about, baseline, 1.0, won.right, expected, None, False,
            say(
                "The best guess found is right in {right} of rounds. No ceiling is claimed for cell keys; "
                "one cell asked once gives at most {most}.",
                right=percent(won.right), most=percent(expected),
            ), won.rounds,
        )  # fmt: skip
    claim = twin.claim()
    won = play(twin.release, more, row, claim, rounds)
    return Finding(
        say("membership"), about, baseline, 1.0, won.right, None, claim.ceiling, won.over, won.sentence(),
        won.rounds,
    )  # fmt: skip


def category(twin: Twin, rounds: int = 2 * ROUNDS) -> Finding:
    """Which of two categories is the victim in? One record leaves one cell and enters another."""
    about = say(
        "Guess which of two categories the victim is in: one cell loses what the other gains."
    )
    records = twin.description.records_per_unit
    first, second = np.array([3 + records, 3]), np.array([3, 3 + records])
    baseline = unprotected(first, second)
    if twin.method == "cell-key":
        won = play(twin.release, first, second, Claim(30.0), rounds)
        return Finding(
            say("category"), about, baseline, 1.0, won.right, None, None, False,
            say(
                "The best guess found is right in {right} of rounds; no ceiling is claimed for cell keys.",
                right=percent(won.right),
            ), won.rounds,
        )  # fmt: skip
    once = twin.claim()
    claim = once
    if not twin.replaced:
        claim = Claim(2 * once.epsilon, once.delta * (1 + exp(once.epsilon)))
    won = play(twin.release, first, second, claim, rounds)
    return Finding(
        say("category"), about, 1.0, 1.0, won.right, None, claim.ceiling, won.over,
        together(say("Against ε for replacing one:"), won.sentence()), won.rounds,
    )  # fmt: skip


def _neighbours(twin: Twin, first: int, second: int, records: int = 1) -> tuple[Whole, Whole]:
    """Two rows of two cells that differ by one unit: one more in the first cell, or one elsewhere."""
    row = np.array([first, second])
    if twin.replaced:
        return row + np.array([0, records]), row + np.array([records, 0])
    return row, row + np.array([records, 0])


def _table(twin: Twin) -> PTable:
    """The p-table of the policy."""
    return own_part(twin.plan(2)[1], Detail).ready.settings.table


def _number(
    group: str,
    about: str,
    times: int,
    rounds: int,
    computed: float,
    words: Callable[[Number], str],
    baseline: float = 1.0,
    needed: float = 1.0,
) -> Finding:
    """A measured share beside the number computed for the policy; far apart is a fault of ours."""
    share = times / rounds
    apart = not lower(times, rounds, 0.99999) <= computed <= upper(times, rounds, 0.99999)
    said = words(percent(share))
    if apart:
        said = together(said, say("These do not agree: the computed number is WRONG."))
    return Finding(group, about, baseline, needed, share, computed, None, apart, said, rounds)
