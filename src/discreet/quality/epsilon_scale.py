"""Floor and ceiling of ε on one scale, from three answers and no data.

*Who is protected* is what the description says: unit, records a unit may have, neighbours. *How
accurate* gives a floor: the least ε with which so many per cent of cells lie within ± so much.
*How much risk* gives a ceiling: the largest ε with which a reader who suspects something cannot
become surer than is tolerated (adoption of Kazan and Reiter's risk profiles).

Both are exact to the last digit: of all numbers with `DIGITS` digits the floor is the least that is
enough, the ceiling the largest that is tolerated.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..core.brackets import exp_bracket, floor_to
from ..core.design import epsilon_for_accuracy, epsilon_for_risk
from ..core.exact import Exact, exact, plain, whole
from ..core.gaussian import DiscreteGaussian
from ..core.guarantee import unit_words
from ..core.loss import ZcdpLoss
from ..core.neighbours import Neighbours
from ..core.odds import Odds, odds_of
from ..core.pure_laplace import PureLaplace
from ..errors import InputError
from ..languages import Number, counted, number, say, together

DIGITS = 3
STEP = Fraction(1, 10**DIGITS)
DELTA = Fraction(1, 10**6)
"""The δ at which Gaussian noise is weighed against Laplace noise."""
_WIDEST = 2_000
"""For a wider ± Laplace noise is not weighed against Gaussian noise."""


@dataclass(frozen=True)
class Unit:
    """Who is protected: the word for it, how many records it may have, and against which change."""

    name: str = "person"
    records: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def in_words(self) -> str:
        """One sentence."""
        return counted(
            "One {unit} with one record is protected ({neighbours}).",
            "One {unit} with up to {n} records is protected ({neighbours}).",
            self.records,
            unit=unit_words(self.name),
            neighbours=say("one is added or removed")
            if self.neighbours.moved == 1
            else say("one is replaced by another"),
        )


@dataclass(frozen=True)
class Suspicion:
    """A guess that was `prior` sure may become `most` sure and no surer."""

    prior: Fraction
    most: Fraction

    @classmethod
    def of(cls, prior: Exact, most: Exact) -> Suspicion:
        """Read and checked: 0 < prior < most < 1."""
        epsilon_for_risk([(prior, most)])
        return cls(exact(prior, "prior"), exact(most, "most"))

    def in_words(self) -> str:
        """One clause."""
        return say(
            "somebody who is {prior} % sure becomes at most {most} % sure",
            prior=_number(self.prior * 100),
            most=_number(self.most * 100),
        )


def accuracy_floor(within: int, of: Exact = "0.95", unit: Unit | None = None) -> Fraction:
    """The least ε of `DIGITS` digits with which Laplace noise on one table is within ± `within`.

    >>> str(accuracy_floor(5)), str(accuracy_floor(5, unit=Unit(records=2)))
    ('539/1000', '1077/1000')
    """
    who = unit or Unit()
    return epsilon_for_accuracy(
        within, of, digits=DIGITS, sensitivity=who.records, moved=who.neighbours.moved
    )


def risk_ceiling(suspicions: Sequence[Suspicion]) -> Fraction:
    """The largest ε of `DIGITS` digits that keeps every guess below its limit.

    >>> str(risk_ceiling([Suspicion.of("0.1", "0.25")]))
    '549/500'
    """
    if not suspicions:
        raise InputError("Say how much risk is tolerated: a guess, and how sure it may become.")
    return floor_to(epsilon_for_risk([(one.prior, one.most) for one in suspicions]), DIGITS)


def reach(epsilon: Fraction, of: Exact = "0.95", unit: Unit | None = None) -> int:
    """Within ± what a table at this ε is, in so many per cent of its cells."""
    who = unit or Unit()
    return PureLaplace.of(epsilon / who.neighbours.moved, who.records).half_width(of)


def gaussian_total(within: int, of: Exact, unit: Unit, tables: int) -> Fraction | None:
    """The ε, at δ = 10⁻⁶, of so many tables with Gaussian noise that is as accurate; None: none is.

    The largest σ² on a grid of 1/10 that is accurate enough; an upper bound of ε.
    """

    def bad(tenths: int) -> bool:
        return DiscreteGaussian.of(Fraction(tenths, 10)).half_width(of) > within

    if within > _WIDEST or bad(1):
        return None
    tenths = bisect_left(range(_most_tenths(within)), True, 1, key=bad) - 1
    rho = Fraction(unit.neighbours.moved * unit.records**2 * 10 * tables, 2 * tenths)
    epsilon = ZcdpLoss(rho).to_approximate(DELTA).epsilon
    return -(-epsilon // STEP) * STEP


def _most_tenths(within: int) -> int:
    """A σ² in tenths that is too large to be within ± so much at any level that is asked."""
    return 10 * (40 * (within + 1)) ** 2


@dataclass(frozen=True)
class Recommendation:
    """A law, what one table and all of them cost, and why."""

    law: str
    table_epsilon: Fraction
    total_epsilon: Fraction
    delta: Fraction
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Scale:
    """Floor, ceiling and what follows from both."""

    unit: Unit
    within: int
    of: Fraction
    tables: int
    suspicions: tuple[Suspicion, ...]
    floor: Fraction
    """For one table."""
    ceiling: Fraction
    """For everything together."""
    gaussian: Fraction | None
    """What all tables would cost with Gaussian noise instead."""

    @property
    def fits(self) -> int:
        """How many tables of the wanted accuracy fit under the ceiling, with Laplace noise."""
        return int(self.ceiling / self.floor)

    @property
    def crossed(self) -> bool:
        """Whether the wanted accuracy costs more than the tolerated risk, whatever the law."""
        return self.recommendation is None

    @property
    def recommendation(self) -> Recommendation | None:
        """The law that is accurate enough at the smaller ε; None where both exceed the ceiling."""
        total = self.floor * self.tables
        normal = self.gaussian
        better = normal is not None and normal < total
        if min(total, normal if normal is not None else total) > self.ceiling:
            return None
        many = counted("one table", "{n} tables", self.tables)
        enough = say(
            "{share} % of cells are within ± {within}",
            share=_number(self.of * 100),
            within=self.within,
        )
        if better and normal is not None:
            return Recommendation(
                "gaussian",
                normal / self.tables,
                normal,
                DELTA,
                (
                    say(
                        "{tables} with Gaussian noise cost ε = {gaussian} at δ = 10⁻⁶ together, with "
                        "Laplace noise {laplace}: the losses of many Gaussian tables add up more "
                        "slowly.",
                        tables=many,
                        gaussian=_number(normal),
                        laplace=_number(total),
                    ),
                    say("{enough} of the truth.", enough=enough),
                    say("That is below the ceiling of {ceiling}.", ceiling=_number(self.ceiling)),
                ),
            )
        return Recommendation(
            "laplace",
            self.floor,
            total,
            Fraction(0),
            (
                say(
                    "Laplace noise at ε = {floor} is the least with which {enough}: a smaller ε would "
                    "not do.",
                    floor=_number(self.floor),
                    enough=enough,
                ),
                counted(
                    "One table then costs ε = {total}, below the ceiling of {ceiling}; {fits} would fit.",
                    "{n} tables then cost ε = {total}, below the ceiling of {ceiling}; {fits} would fit.",
                    self.tables,
                    total=_number(total),
                    ceiling=_number(self.ceiling),
                    fits=self.fits,
                ),
                say("δ is 0: the bound holds in every release, however rare."),
            ),
        )

    @property
    def odds(self) -> Odds:
        """What everything together lets a reader conclude, at most."""
        found = self.recommendation
        if found is None:
            return odds_of(self.ceiling)
        return odds_of(found.total_epsilon, found.delta)

    @property
    def category_odds(self) -> Odds:
        """The same of the category somebody is in: as if they left and another came."""
        found = self.recommendation
        if found is None or self.unit.neighbours.moved > 1:
            return self.odds
        epsilon = found.total_epsilon
        delta = found.delta * (1 + exp_bracket(epsilon)[1])
        return odds_of(2 * epsilon, min(delta, 1 - STEP))

    def advice(self) -> tuple[str, ...]:
        """What to do where floor and ceiling cross; nothing where they do not."""
        if not self.crossed:
            return ()
        each = self.ceiling / self.tables
        allowed = reach(each, self.of, self.unit) if each >= STEP else None
        said: list[str] = []
        if self.tables > 1 and self.fits:
            said.append(
                counted(
                    "Publish fewer: {n} table of this accuracy fits under the ceiling.",
                    "Publish fewer: {n} tables of this accuracy fit under the ceiling.",
                    self.fits,
                )
            )
        if allowed is not None:
            said.append(
                say(
                    "Or accept ± {allowed} instead of ± {within}: that is what ε = {each} a table gives.",
                    allowed=allowed,
                    within=self.within,
                    each=number(_down(each)),
                )
            )
        if self.unit.records > 1:
            said.append(
                say(
                    "Or count fewer than {records} records of each {unit} (`bound: drop`): the noise "
                    "shrinks with that number.",
                    records=self.unit.records,
                    unit=unit_words(self.unit.name),
                )
            )
        if self.unit.neighbours.moved > 1:
            said.append(
                say("Or keep the number of records private: a table then costs half as much noise.")
            )
        said.append(
            say(
                "Or publish coarser categories: the error stays and every count grows, so that it "
                "matters less."
            )
        )
        return tuple(said)

    def sentences(self) -> tuple[str, ...]:
        """The scale in words, every number in it."""
        risk = together(*(one.in_words() for one in self.suspicions), between="; ")
        said: list[str] = [
            self.unit.in_words(),
            say(
                "Floor: ε = {floor} for one table, so that {share} % of cells are within ± {within}.",
                floor=_number(self.floor),
                share=_number(self.of * 100),
                within=self.within,
            ),
            say(
                "Ceiling: ε = {ceiling} for everything together, so that {risk}.",
                ceiling=_number(self.ceiling),
                risk=risk,
            ),
        ]
        found = self.recommendation
        if found is None:
            total = _number(self.floor * self.tables)
            said.append(say("They cross: the accuracy wanted costs {total}.", total=total))
            return (*said, *self.advice())
        said.append(
            say(
                "Recommended: {law} noise, ε = {epsilon} a table.",
                law=found.law.capitalize(),
                epsilon=number(_up(found.table_epsilon)),
            )
        )
        said += found.reasons
        said.append(
            say(
                "A guess about one {unit} that was 10 % sure becomes {surer}; which category the {unit} "
                "is in, {category}.",
                unit=unit_words(self.unit.name),
                surer=self.odds.surer("0.1"),
                category=self.category_odds.surer("0.1"),
            )
        )
        return tuple(said)

    def to_json(self) -> dict[str, object]:
        """Plain values; every ε as exact text."""
        found = self.recommendation
        return {
            "unit": self.unit.name,
            "records_per_unit": self.unit.records,
            "neighbours": self.unit.neighbours.words,
            "within": self.within,
            "of": plain(self.of),
            "tables": self.tables,
            "risk": [[plain(one.prior), plain(one.most)] for one in self.suspicions],
            "floor": plain(self.floor),
            "ceiling": plain(self.ceiling),
            "tables_that_fit": self.fits,
            "crossed": self.crossed,
            "recommended": None
            if found is None
            else {
                "law": found.law,
                "epsilon_a_table": plain(found.table_epsilon),
                "epsilon_in_all": plain(found.total_epsilon),
                "delta": plain(found.delta),
                "reasons": list(found.reasons),
            },
            "sentences": list(self.sentences()),
        }


def scale(
    unit: Unit,
    within: int = 5,
    of: Exact = "0.95",
    suspicions: Sequence[Suspicion] = (),
    tables: int = 1,
) -> Scale:
    """Floor and ceiling for the answers to the three questions.

    >>> found = scale(Unit(), 5)
    >>> found.fits, found.crossed, found.recommendation.law
    (2, False, 'laplace')
    """
    whole(tables, "tables", 1)
    asked = tuple(suspicions) or (Suspicion.of("0.1", "0.25"),)
    share = exact(of, "of", above=0, below=1)
    return Scale(
        unit,
        within,
        share,
        tables,
        asked,
        accuracy_floor(within, share, unit),
        risk_ceiling(asked),
        gaussian_total(within, share, unit, tables),
    )


def _up(value: Fraction) -> str:
    return plain(-(-value // STEP) * STEP)


def _down(value: Fraction) -> str:
    return plain(value // STEP * STEP)


def _number(value: Fraction) -> Number:
    """As people write it in their language."""
    return number(plain(value))
