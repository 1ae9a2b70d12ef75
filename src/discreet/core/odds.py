"""A guarantee in words and odds, every figure rounded against the custodian.

Two devices: *out of 100* says how often the best guesser is right, erring equally both ways; the
*guess meter* says how sure a guess can become. Both come in two kinds: whether somebody is in the
data (one unit more or less), and in which category somebody is (one unit elsewhere: each table is
left in one cell and entered in another).

What the best guesser can do is told of laws fixed before anything was drawn (`odds` of a law,
`odds_of_plan`). Of a bare (ε, δ), and so of everything published together, only the worst case is
known (`odds_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..errors import LawError
from ..languages import Number, Sentence, number, say, together
from .brackets import ceiling_to, exp_bracket, floor_to
from .composition import Pairs, delta_of_cells, pairs_of
from .exact import Exact, exact, plain
from .guarantee import unit_words
from .law import Law
from .loss import ApproxLoss, Loss, ZcdpLoss
from .neighbours import Neighbours
from .plan_loss import FixedPlan, Moves
from .portrait import Portrait, Portrayed
from .pure_laplace import PureLaplace

RARELY = Fraction(1, 10**6)
"""The share of releases left out where no ratio bounds them all (ρ)."""


@dataclass(frozen=True, repr=False)
class Odds(Portrayed):
    """What a release lets a reader conclude about one unit.

    `rightly`: how often the best guesser is right, erring equally both ways. `ratio`: how far a
    release can move odds; `failure`: the share of releases where that ratio does not hold, where
    nothing is sure if `lost` and else a larger ratio. None is rounded down.
    """

    rightly: Fraction
    ratio: Fraction
    failure: Fraction = Fraction(0)
    lost: bool = True

    def portrait(self) -> Portrait:
        """Both devices in words: how often the best guesser is right, how sure a guess becomes."""
        right = (
            f"after {percent_up(self.rightly)} of 100 possible releases, erring equally both ways"
        )
        facts: list[tuple[str, str]] = [("the best guesser is right", right)]
        for prior in ("0.01", "0.1", "0.5"):
            start = plain(Fraction(prior) * 100)
            facts.append((f"a guess that was {start} % sure", f"becomes {self.surer(prior)}"))
        return Portrait("What a release lets a reader conclude about one unit", facts)

    @property
    def wrongly(self) -> Fraction:
        """How often the best guesser is wrong; never rounded up."""
        return 1 - self.rightly

    def becomes(self, prior: Exact) -> Fraction:
        """How sure a guess can become that was `prior` sure."""
        p = exact(prior, "prior", above=0, below=1, error=LawError)
        return p * self.ratio / (1 - p + p * self.ratio)

    def out_of_100(self, unit: str = "person") -> Sentence:
        """The first device, whether somebody is in the data, as one sentence.

        >>> odds(PureLaplace.of("1")).out_of_100()
        'At best, erring equally both ways, a suspicious reader concludes that you are in the data \
after 26 of 100 possible releases if you are not, and after 74 if you are.'
        """
        figures = {
            "wrongly": number(percent_down(self.wrongly)),
            "rightly": number(percent_up(self.rightly)),
        }
        if unit == "person":
            return say(
                "At best, erring equally both ways, a suspicious reader concludes that you are in "
                "the data after {wrongly} of 100 possible releases if you are not, and after "
                "{rightly} if you are.",
                **figures,
            )
        return say(
            "At best, erring equally both ways, a suspicious reader concludes that one {unit} is in "
            "the data after {wrongly} of 100 possible releases if it is not, and after {rightly} if "
            "it is.",
            unit=unit_words(unit),
            **figures,
        )

    def guess_meter(self, prior: Exact = "0.1", unit: str = "person") -> Sentence:
        """The second device, whether somebody is in the data, as one sentence.

        >>> odds(PureLaplace.of("1")).guess_meter("0.1")
        'A guess that you are in the data that was 10 % sure becomes at most 24 % sure.'
        """
        start, surer = self._start(prior), self.surer(prior)
        if unit == "person":
            return say(
                "A guess that you are in the data that was {start} % sure becomes {surer}.",
                start=start,
                surer=surer,
            )
        return say(
            "A guess that one {unit} is in the data that was {start} % sure becomes {surer}.",
            unit=unit_words(unit),
            start=start,
            surer=surer,
        )

    def of_category(
        self,
        prior: Exact = "0.1",
        unit: str = "person",
        records: int = 1,
        apart_from: Sequence[str] = (),
    ) -> Sentence:
        """Both devices, in which category somebody is, as one sentence.

        >>> odds(PureLaplace.of("1"), category=True).of_category("0.1")
        'Which category you are in: at best, erring equally both ways, a suspicious reader tells \
two of them apart after 74 of 100 possible releases; a guess that was 10 % sure becomes at most \
46 % sure.'
        """
        which = _which_category(unit_words(unit), you=unit == "person", records=records)
        if apart_from:
            but = say("(of a variable other than {names})", names=", ".join(apart_from))
            which = together(which, but)
        return say(
            "{which}: at best, erring equally both ways, a suspicious reader tells two of them apart "
            "after {rightly} of 100 possible releases; a guess that was {start} % sure becomes "
            "{surer}.",
            which=which,
            rightly=number(percent_up(self.rightly)),
            start=self._start(prior),
            surer=self.surer(prior),
        )

    def _start(self, prior: Exact) -> Number:
        return number(plain(exact(prior, "prior", above=0, below=1, error=LawError) * 100))

    def surer(self, prior: Exact) -> Sentence:
        """How sure a guess can become, and in how many releases that does not hold."""
        text = say("at most {share} % sure", share=number(percent_up(self.becomes(prior))))
        if self.failure == 0:
            return text
        beyond = say("no bound holds") if self.lost else say("it may become surer")
        if self.failure * 2 > 1:
            return say("{text}, except in most releases, where {beyond}", text=text, beyond=beyond)
        return say(
            "{text}, except in 1 of every {many} releases, where {beyond}",
            text=text,
            many=int(1 / self.failure),
            beyond=beyond,
        )


def _which_category(unit: str, *, you: bool, records: int) -> Sentence:
    if you and records > 1:
        return say("Which category all records of yours are in")
    if you:
        return say("Which category you are in")
    if records > 1:
        return say("Which category all records of one {unit} are in", unit=unit)
    return say("Which category one {unit} is in", unit=unit)


def odds(law: Law | PureLaplace, *, category: bool = False) -> Odds:
    """The exact odds of a law asked once: whether somebody is in the data, or in which category.

    >>> [round(float(x), 3) for x in (odds(PureLaplace.of("1")).wrongly, odds(PureLaplace.of("1")).rightly)]
    [0.269, 0.731]
    """
    if isinstance(law, PureLaplace):
        s, half = law.sensitivity, law.sensitivity // 2
        apart = law.cumulative(half) - law.cumulative(half - s)
        ratio, failure = (1 / law.ratio) ** s, Fraction(0)
        rightly, back = (1 + apart) / 2, ratio
    else:
        pairs, total = pairs_of(law)
        turned = [(q, p) for p, q in pairs]
        up, down = _largest(pairs), _largest(turned)
        if up is None or down is None:
            raise LawError(f"The {law.name} law gives every count away: it moves no count by one.")
        ratio, back = max(up, down), min(up, down)
        ends = [Fraction(sum(p for p, q in side if not q), total) for side in (pairs, turned)]
        failure = 1 - (1 - ends[0]) * (1 - ends[1]) if category else max(ends)
        rightly = _even_handed(pairs, total)
    if not category:
        return Odds(rightly, ratio, failure)
    both = delta_of_cells(law, 0, 1, neighbours=Neighbours.REPLACE_ONE)
    return Odds((1 + both.high) / 2, ratio * back, failure)


def _largest(pairs: Pairs) -> Fraction | None:
    return max((Fraction(p, q) for p, q in pairs if p and q), default=None)


def _even_handed(pairs: Pairs, total: int) -> Fraction:
    """The best chance of being right that is the same under both counts (a coin may decide).

    >>> _even_handed([(1, 0), (2, 2), (1, 2)], 4)
    Fraction(5, 8)
    """
    wrong = right = Fraction(0)
    ordered = sorted((p, q) for p, q in pairs if p or q)
    for p, q in sorted(ordered, key=lambda pair: Fraction(pair[0], pair[0] + pair[1])):
        share = (1 - wrong - right) / Fraction(p + q, total)
        if share <= 1:
            return right + share * Fraction(q, total)
        wrong, right = wrong + Fraction(p, total), right + Fraction(q, total)
    return right


def odds_of_plan(plans: Sequence[Moves]) -> Odds:
    """The odds of a plan fixed before its first draw; `plans` are the units that may be worst.

    Where no ratio bounds every release (ρ), one that all but 1 in 1,000,000 keep.

    >>> from discreet.core.plan_loss import Move
    >>> sixth = Move(PureLaplace.of("1/6"))
    >>> percent_up(odds_of_plan([((sixth, 6),)]).rightly)
    '58'
    """
    found = [FixedPlan(moves) for moves in plans]
    rightly = max(plan.rightly for plan in found)
    most = [plan.most for plan in found]
    largest = max((one for one in most if one is not None), default=Fraction(0))
    if None not in most:
        return Odds(rightly, exp_bracket(largest)[1], max(plan.failing for plan in found))
    beyond = max(plan.exceeded(RARELY) for plan in found)
    return Odds(rightly, exp_bracket(beyond)[1], RARELY, lost=False)


def odds_of(epsilon: Exact, delta: Exact = 0) -> Odds:
    """The odds that any (ε, δ) guarantee allows, whatever the law: a bound.

    With δ > 0 the guarantee bounds events, not single releases: a ratio above t happens in at most
    δ / (1 − e^(ε − t)) of releases. Stated here at t = 1.1 ε.

    >>> percent_up(odds_of("1").rightly), percent_up(odds_of("1", "1e-6").becomes("0.1"))
    ('74', '26')
    """
    e = exact(epsilon, "epsilon", above=0, most=10**4, error=LawError)
    d = exact(delta, "delta", least=0, below=1, error=LawError)
    high = exp_bracket(e)[1]
    rightly = (high + d) / (1 + high)
    if d == 0:
        return Odds(rightly, high)
    margin = e / 10
    failure = min(Fraction(1), d / (1 - exp_bracket(-margin)[1]))
    return Odds(rightly, exp_bracket(e + margin)[1], failure)


def worst_case(loss: Loss, unit: str, *, add_remove: bool) -> Sentence | None:
    """What everything published together allows at worst, however it was asked; None for nothing.

    A bound on the sum of charges: later questions may have been chosen by what earlier ones told.

    >>> from discreet.core.loss import PureLoss
    >>> worst_case(PureLoss(2), "person", add_remove=True)
    'In the worst case, all of it together makes somebody who was 10 % sure that one person is in the \
data at most 46 % sure.'
    """
    kept = loss.to_approximate(RARELY) if isinstance(loss, ZcdpLoss) else loss
    delta = kept.delta if isinstance(kept, ApproxLoss) else Fraction(0)
    if not any(loss.parts.values()):
        return None
    if delta >= 1 or kept.epsilon > 10**4:
        surer = say("as sure as can be")
    else:
        surer = odds_of(kept.epsilon or Fraction(1, 10**9), delta).surer("0.1")
    if add_remove:
        return say(
            "In the worst case, all of it together makes somebody who was 10 % sure that one {unit} "
            "is in the data {surer}.",
            unit=unit_words(unit),
            surer=surer,
        )
    return say(
        "In the worst case, all of it together makes somebody who was 10 % sure of something about "
        "one {unit} {surer}.",
        unit=unit_words(unit),
        surer=surer,
    )


def percent_up(share: Fraction) -> str:
    """A share in whole percent, never rounded down; more digits only where 100 would hide it.

    >>> percent_up(Fraction(7311, 10000)), percent_up(Fraction(99941, 100000))
    ('74', '99.95')
    """
    for digits in range(9):
        rounded = ceiling_to(share * 100, digits)
        if rounded < 100:
            return plain(rounded)
    return "100"


def percent_down(share: Fraction) -> str:
    """A share in whole percent, never rounded up; more digits only where 0 would hide it.

    >>> percent_down(Fraction(2689, 10000)), percent_down(Fraction(6, 10000))
    ('26', '0.06')
    """
    for digits in range(9):
        rounded = floor_to(share * 100, digits)
        if rounded > 0:
            return plain(rounded)
    return "0"
