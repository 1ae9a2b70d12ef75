"""Three numbers that say what a cell-key policy does not protect, computed from its laws.

*Hired today* (rinott §2.2): a reader asks for a set with and without one person, by two
descriptions; the answers differ unless the noise hides it. *Same-set matching*: two differently
described cells show the same number; do they hold the same people? *Split-averaging* (Asghar and
Kaafar): one cell is asked for again and again, split by other variables, and the sums are averaged.

Under *same participants* the first two work best and the third needs splits; under *same
participants and description* noise is fresh for every description, which blunts the first two and
makes averaging cheaper. No policy removes all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from ...core.count_law import Row
from ...core.exact import rounded_up
from ...core.guarantee import unit_words
from ...errors import LawError
from ...languages import Sentence, number, say
from .ptable import PTable, check_choice

SAMENESS = ("participants", "participants and description")
RECOVERY = Fraction(95, 100)
_MOST_QUERIES = 1_000_000


@dataclass(frozen=True)
class HiredToday:
    """Chance that the two answers differ when they should, and when they should not; exact."""

    success: Fraction
    false_alarm: Fraction


@dataclass(frozen=True)
class Matching:
    """Chance that two different sets show one number, and what equality then says at even odds."""

    equal_by_chance: Fraction
    posterior: Fraction


@dataclass(frozen=True)
class Splitting:
    """How many queries recover a count with probability 0.95, each a split into `parts`.

    None where no number of queries up to a million does. Computed by convolution in floats, whose
    error is below 1e-9: an answer that near to 0.95 may be one query off.
    """

    queries: int | None
    parts: int


@dataclass(frozen=True)
class Risk:
    """The three numbers of a policy, for counts that the last rows of its p-table serve."""

    sameness: str
    hired_today: HiredToday
    matching: Matching
    splitting: Splitting

    def sentences(self, unit: str = "person") -> tuple[str, ...]:
        """The numbers in words, nothing rounded down."""
        hired, match = self.hired_today, self.matching
        one = unit_words(unit)
        alarm = (
            say("it never errs the other way")
            if not hired.false_alarm
            else say(
                "it errs the other way with probability {chance}",
                chance=number(rounded_up(hired.false_alarm, 3)),
            )
        )
        queries = self.splitting.queries
        parts = self.splitting.parts
        how = (
            say("described in as many ways")
            if parts == 1
            else say("each split into {parts} parts", parts=parts)
        )
        return (
            say(
                "Comparing a count with and without one {one} shows that the {one} is in it "
                "with probability {success}; {alarm}.",
                one=one,
                success=number(rounded_up(hired.success, 3)),
                alarm=alarm,
            ),
            say(
                "Two differently described cells that show the same number are the same people "
                "with probability {posterior} where even odds were given before.",
                posterior=number(rounded_up(match.posterior, 3)),
            ),
            say("No number of queries up to a million recovers a count by averaging.")
            if queries is None
            else say(
                "About {queries} queries of one cell, {how}, give its true count away with "
                "probability 0.95.",
                queries=queries,
                how=how,
            ),
        )


def risk(table: PTable, sameness: str = "participants", records: int = 1) -> Risk:
    """The three numbers of a policy: worst over the rows that serve large counts.

    One unit has up to `records` records.
    """
    check_choice(sameness, "sameness", SAMENESS)
    first = table.max_count - table.cycle + 1
    served = range(first, table.max_count + 1)
    hired = max(
        (hired_today(table, n, sameness, s) for n in served for s in table.shifts(records)),
        key=lambda h: h.success,
    )
    matches = max((matching(table, n, sameness) for n in served), key=lambda m: m.posterior)
    parts = 2 if sameness == SAMENESS[0] else 1
    return Risk(sameness, hired, matches, Splitting(queries_to_recover(table.large, parts), parts))


def hired_today(
    table: PTable, count: int, sameness: str = "participants", records: int = 1
) -> HiredToday:
    """Chance that answers about `count` records with and without so many of one unit differ; exact.

    >>> from discreet.core.law_builders import max_entropy
    >>> round(float(hired_today(PTable.from_law(max_entropy(5, "2")), 0).success), 3)
    0.824
    """
    without, with_one = table.row(count).pmf, table.row(count + records).pmf
    hidden = sum(
        (p * without.get(v + records, Fraction(0)) for v, p in with_one.items()), Fraction(0)
    )
    if sameness == SAMENESS[0]:
        return HiredToday(1 - hidden, Fraction(0))
    same = sum((p * p for p in without.values()), Fraction(0))
    return HiredToday(1 - hidden, 1 - same)


def matching(table: PTable, count: int, sameness: str = "participants") -> Matching:
    """Two sets of `count` people each: chance that both show one number; exact.

    `posterior` is that of "the same set" after seeing equality, at even odds before, against
    another set of the same size: a set of another size is less often mistaken.
    """
    same = sum((p * p for p in table.row(count).pmf.values()), Fraction(0))
    likelihood = Fraction(1) if sameness == SAMENESS[0] else same
    return Matching(same, likelihood / (likelihood + same))


@dataclass(frozen=True)
class TwoLaws:
    """Chance that a reader to whom all large counts are equally likely names one rightly; exact.

    From one value (`alone`, the better of the two laws), and from its two values under two laws
    whose keys are `fresh` (strong keys) or `shared` (classical keys).
    """

    alone: Fraction
    fresh: Fraction
    shared: Fraction


def two_laws(first: PTable, second: PTable) -> TwoLaws:
    """What publishing the same cell under another p-table adds, for counts the last rows serve.

    Fresh keys make it a second answer, never more. Shared keys tell less than that where the laws
    are nearly the same, and may tell everything where they are not.

    >>> from discreet.methods.cellkey.design import design
    >>> found = two_laws(design(3, "1"), design(10, "10"))
    >>> [round(float(x), 2) for x in (found.alone, found.fresh, found.shared)]
    [0.4, 0.4, 0.71]
    """
    one, two = first.large, second.large
    fresh: dict[int, Fraction] = {}
    shared: dict[tuple[int, int], Fraction] = {}
    for a, p in one.pmf.items():
        for b, q in two.pmf.items():
            fresh[a - b] = max(fresh.get(a - b, Fraction(0)), p * q)
    for a, low, high in one.intervals:
        for b, other_low, other_high in two.intervals:
            start = max(Fraction(low, one.keys), Fraction(other_low, two.keys))
            end = min(Fraction(high, one.keys), Fraction(other_high, two.keys))
            if end > start:
                shared[a, b] = shared.get((a, b), Fraction(0)) + end - start
    best: dict[int, Fraction] = {}
    for (a, b), p in shared.items():
        best[a - b] = max(best.get(a - b, Fraction(0)), p)
    return TwoLaws(
        max(*one.pmf.values(), *two.pmf.values()),
        sum(fresh.values(), Fraction(0)),
        sum(best.values(), Fraction(0)),
    )


def recovery(row: Row, queries: int, parts: int = 2) -> float:
    """Chance that the rounded mean of so many split queries is the true count.

    The perturbations of all parts are independent: strong keys make them so. The law is public, so
    the reader takes its mean off; the rest of the sum must stay within half a query of 0. By
    convolution.
    """
    times = queries * parts
    total = _power(row, times)
    first = min(row.weights) * times
    centre, half = row.mean * times, Fraction(queries, 2)
    low, high = floor(centre - half) + 1, ceil(centre + half) - 1
    return float(total[max(0, low - first) : max(0, high - first + 1)].sum())


def queries_to_recover(row: Row, parts: int = 2, chance: Fraction = RECOVERY) -> int | None:
    """The fewest queries whose averaged sums give the count away with this chance, or None."""
    if parts < 1:
        raise LawError(f"parts must be a whole number ≥ 1, got {parts}.")
    wanted = float(chance)
    near = normal_estimate(row, parts)
    low, high = near * 9 // 10, max(1, near)
    if low and recovery(row, low, parts) >= wanted:
        low = 0
    while recovery(row, high, parts) < wanted:
        low, high = high, high + high // 10 + 1
        if high * parts * (max(row.weights) - min(row.weights)) > 50 * _MOST_QUERIES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if recovery(row, middle, parts) < wanted:
            low = middle
        else:
            high = middle
    # Odd and even numbers of queries round differently: look for an earlier one nearby.
    return next(
        (q for q in range(max(1, high - 6), high) if recovery(row, q, parts) >= wanted), high
    )


def normal_estimate(row: Row, parts: int = 2) -> int:
    """The same number by the normal approximation: 4·1.96²·parts·variance; an estimate only."""
    return ceil(4 * 1.959964**2 * parts * float(row.variance))


def _power(row: Row, times: int) -> npt.NDArray[np.float64]:
    """The law of a sum of so many independent perturbations, from times·min on."""
    least, most = min(row.weights), max(row.weights)
    pmf = np.zeros(most - least + 1)
    for v, p in row.pmf.items():
        pmf[v - least] = float(p)
    length = (most - least) * times + 1
    size = 1 << (length - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(pmf, size) ** times, size)[:length].clip(0.0)


@dataclass(frozen=True)
class Prior:
    """A public prior over true counts: how common each is held to be before any table is seen.

    `ratio` 1 is flat; below 1, each count is so many times as common as the one below it.
    """

    ratio: Fraction = Fraction(1)

    @property
    def words(self) -> Sentence:
        """What is supposed, in words."""
        if self.ratio == 1:
            return say("if all true counts are equally common")
        return say(
            "if each true count is {ratio} times as common as the one below",
            ratio=number(rounded_up(self.ratio, 3)),
        )

    def weight(self, count: int) -> Fraction:
        """The weight of one count, up to a common factor."""
        return self.ratio**count


def true_share(table: PTable, published: int, prior: Prior) -> Fraction | None:
    """Of those published as this number, the share whose true count it is; exact (D8).

    None where nothing is ever published as this number.
    """
    reach = table.max_perturbation
    total = own = Fraction(0)
    for count in range(max(0, published - reach), published + reach + 1):
        mass = prior.weight(count) * table.row(count).pmf.get(published - count, Fraction(0))
        total += mass
        own += mass if count == published else 0
    return own / total if total else None


def real_three(table: PTable, prior: Prior, published: int = 3) -> str:
    """ "Is this 3 a real 3?" in one sentence."""
    share = true_share(table, published, prior)
    if share is None:
        return say("No cell is ever published as {published}.", published=published)
    shown = floor(share * 100 + Fraction(1, 2))
    return say(
        "Of 100 published {published}s, about {shown} are true {published}s ({words}).",
        published=published,
        shown=shown,
        words=prior.words,
    )
