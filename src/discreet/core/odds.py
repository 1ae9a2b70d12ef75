"""A guarantee in words and odds, every figure rounded against the custodian.

Two devices: *out of 100* says how often a suspicious reader concludes rightly and wrongly; the
*guess meter* says how sure a guess can become. Neighbours: add or remove one record, unless a
sentence is about a person's category (replace one).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..errors import LawError
from .audit import audit
from .brackets import ceiling_to, exp_bracket, floor_to
from .composition import pairs_of
from .exact import Exact, exact, plain, rounded_up
from .law import Law
from .pure_laplace import PureLaplace


@dataclass(frozen=True)
class Odds:
    """What a law lets a reader conclude about one person.

    `wrongly` and `rightly`: the chances that the best guesser says "in the data" of someone who is
    not, and of someone who is. `ratio`: how far a release can move odds; `failure`: the share of
    releases where that ratio does not hold. `rightly`, `ratio` and `failure` are never rounded
    down, `wrongly` never up.
    """

    wrongly: Fraction
    rightly: Fraction
    ratio: Fraction
    failure: Fraction = Fraction(0)

    @property
    def success(self) -> Fraction:
        """The best guesser's success when both answers are equally likely."""
        return (1 - self.wrongly + self.rightly) / 2

    def becomes(self, prior: Exact, *, category: bool = False) -> Fraction:
        """How sure a guess can become; about a category two cells move, so the ratio is squared."""
        p = exact(prior, "prior", above=0, below=1, error=LawError)
        ratio = self.ratio**2 if category else self.ratio
        return p * ratio / (1 - p + p * ratio)

    def out_of_100(self) -> str:
        """The first device, as one sentence.

        >>> odds(PureLaplace.of("1")).out_of_100()
        'If you are not in the data, a suspicious reader would wrongly conclude you are after 26 of \
100 possible releases; if you are, after 74.'
        """
        return (
            "If you are not in the data, a suspicious reader would wrongly conclude you are after "
            f"{percent_down(self.wrongly)} of 100 possible releases; if you are, after "
            f"{percent_up(self.rightly)}."
        )

    def guess_meter(self, prior: Exact = "0.1", *, category: bool = False) -> str:
        """The second device, as one sentence.

        >>> odds(PureLaplace.of("1")).guess_meter("0.1")
        'A guess that you are in the data that was 10 % sure becomes at most 24 % sure.'
        """
        start = exact(prior, "prior", above=0, below=1, error=LawError)
        about = "which category you are in" if category else "whether you are in the data"
        head = f"A guess about {about}" if category else "A guess that you are in the data"
        text = (
            f"{head} that was {plain(start * 100)} % sure becomes at most "
            f"{percent_up(self.becomes(start, category=category))} % sure"
        )
        failure = min(Fraction(1), self.failure * (2 if category else 1))
        if failure == 0:
            return text + "."
        if failure * 2 > 1:
            return text + ", except in most releases, where no bound holds."
        return text + f", except in 1 of every {int(1 / failure):,} releases, where no bound holds."


def odds(law: Law | PureLaplace) -> Odds:
    """The exact odds of a law, both devices.

    >>> [round(float(x), 3) for x in (odds(PureLaplace.of("1")).wrongly, odds(PureLaplace.of("1")).rightly)]
    [0.269, 0.731]
    """
    if isinstance(law, PureLaplace):
        s, half = law.sensitivity, law.sensitivity // 2
        return Odds(1 - law.cumulative(half), 1 - law.cumulative(half - s), (1 / law.ratio) ** s)
    pairs, total = pairs_of(law)
    suspicious = [(p, q) for p, q in pairs if q > p]
    ratio = max((max(Fraction(p, q), Fraction(q, p)) for p, q in pairs if p and q), default=None)
    if ratio is None:
        raise LawError(f"The {law.name} law gives every count away: it moves no count by one.")
    return Odds(
        Fraction(sum(p for p, _ in suspicious), total),
        Fraction(sum(q for _, q in suspicious), total),
        ratio,
        audit(law).boundary_mass,
    )


def odds_of(epsilon: Exact, delta: Exact = 0) -> Odds:
    """The odds that any (ε, δ) guarantee allows, whatever the law: a bound.

    With δ > 0 the guarantee bounds events, not single releases: a ratio above t happens in at most
    δ / (1 − e^(ε − t)) of releases. Stated here at t = 1.1 ε.

    >>> percent_up(odds_of("1").rightly), percent_up(odds_of("1", "1e-6").becomes("0.1"))
    ('74', '26')
    """
    e = exact(epsilon, "epsilon", above=0, most=10**4, error=LawError)
    d = exact(delta, "delta", least=0, below=1, error=LawError)
    low, high = exp_bracket(e)
    wrongly, rightly = (1 - d) / (1 + high), (high + d) / (1 + low)
    if d == 0:
        return Odds(wrongly, rightly, high)
    margin = e / 10
    failure = min(Fraction(1), d / (1 - exp_bracket(-margin)[1]))
    return Odds(wrongly, rightly, exp_bracket(e + margin)[1], failure)


def promise_in_words(
    epsilon: Fraction, delta: Fraction, unit: str, *, add_remove: bool
) -> tuple[str, ...]:
    """What an (ε, δ) guarantee lets a reader conclude, as sentences, rounded against the custodian.

    Where a record is replaced, or the unit is not a person, nobody is asked whether *you* are in
    the data: the guess is about the unit.
    """
    chances = odds_of(epsilon, delta)
    if unit == "person" and add_remove:
        return chances.out_of_100(), chances.guess_meter("0.1")
    text = (
        f"A guess about one {unit} that was 10 % sure becomes at most "
        f"{percent_up(chances.becomes('0.1'))} % sure"
    )
    if chances.failure:
        text += f", except in a part of {rounded_up(chances.failure, 2)} of releases"
    return (f"{text}.",)


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
