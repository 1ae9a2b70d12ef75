"""Methods that fit their tables, attacked as themselves: the game on what is published.

Marginals and top-down change noisy counts until they are consistent, not negative and whole. That
reads nothing but the noisy counts, so what holds for those holds for what is published; here it is
held against the claim as an attacker would: whole releases on made-up people, with and without one
victim, and a guess from the fitted counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...core import true_values
from ...core.control import Control
from ...core.description import Description, Policy
from ...core.domain import AxisRef, Variable, variable
from ...core.family import Family
from ...core.question import Question, TableSpec, Treatment
from ...core.table import TrueTable
from ...core.text import Text
from ...languages import say
from ...methods import registry
from ...methods.base import Facts, Measurements, Plan
from ..trial import MadeUpKeys, interior
from .findings import Finding, not_applied
from .game import Claim, Whole, play, unprotected
from .twin import Twin

ROUNDS = 160
"""Releases with the victim, and as many without: each is measured and fitted anew."""
FITTED = ("marginals", "topdown")


@dataclass(frozen=True)
class FittedTwin:
    """Made-up people by place, work and sex under a method that fits; nobody's records."""

    method: str
    epsilon: str
    records: int = 1
    replaced: bool = False
    said: str = ""
    """What is claimed, where that is not what is spent: a mechanism made wrong on purpose."""

    @property
    def description(self) -> Description:
        """Four areas in two regions, two kinds of work, two sexes."""
        area = variable(
            "area",
            [f"a{n}" for n in range(4)],
            levels={"region": {f"a{n}": "north" if n < 2 else "south" for n in range(4)}},
        )
        work, sex = variable("work", ["yes", "no"]), variable("sex", ["f", "m"])
        return Description(
            "twin",
            Text.of("Twin"),
            (area, work, sex),
            records_per_unit=self.records,
            records=45 if self.replaced else None,
        )

    @property
    def facts(self) -> Facts:
        """What a plan may look at."""
        policy = Policy(Family.DP, self.method, {})
        return Facts(self.description, policy, "twin", policy.version)

    def plan(self, epsilon: str = "") -> Plan:
        """Both tables as one question."""
        specs = (
            TableSpec((AxisRef("area", "area"), AxisRef("work", "work"))),
            TableSpec((AxisRef("sex", "sex"), AxisRef("work", "work"))),
        )
        asked = {"epsilon": epsilon or self.epsilon}
        method = registry.get(self.method)
        return method.plan(Question("twin", specs, self.method, asked), Treatment(), self.facts)

    def claim(self) -> Claim:
        """What a release promises about one unit more or less, or replaced."""
        promise = self.plan(self.said).guarantee
        return Claim(float(promise.epsilon or 0), float(promise.delta or 0))

    def measured(self, plan: Plan, counts: Whole) -> Measurements:
        """One release's noisy counts; `counts` are those of every combination."""
        tables = [_counted(self.description, axes.axes, counts) for axes in plan.counts]
        return registry.get(self.method).measure(plan, tables, MadeUpKeys(), Control())

    def fitted(self, plan: Plan, measured: Measurements) -> Whole:
        """What is published of one release, the victim's cells first."""
        tables = registry.get(self.method).fit(plan, measured, self.facts, Control())
        cells = [interior(table)[0] for table in tables]
        firsts = [part[:1] for part in cells]
        return np.concatenate([*firsts, *(part[1:] for part in cells)])

    def release(self, rows: Whole) -> Whole:
        """A whole release for each row."""
        plan = self.plan()
        return np.stack([self.fitted(plan, self.measured(plan, row)) for row in rows])

    def neighbours(self) -> tuple[Whole, Whole]:
        """Counts of every combination, without the victim and with (or the victim elsewhere)."""
        without = np.full(16, 3, dtype=np.int64)
        without[:4] = (0, 1, 2, 0)
        inside = without.copy()
        inside[0] += self.records
        if self.replaced:
            without[15] += self.records
        return without, inside


def fitted_membership(twin: Twin, method: str, rounds: int = ROUNDS) -> Finding:
    """Was the victim in the data? Guessed from what a method that fits publishes (A15, A16)."""
    about = say(
        "Learn from half of the releases of the method {method} which fitted counts tell the victim's "
        "presence, and guess on the other half.",
        method=method,
    )
    group = say("membership, {method}", method=method)
    if twin.method == "cell-key":
        why = say("A data set with cell keys is never published by {method}.", method=method)
        return not_applied(group, about, 1.0, 1.0, why)
    own = FittedTwin(method, twin.epsilon, twin.description.records_per_unit, twin.replaced)
    first, second = own.neighbours()
    baseline = unprotected(first[:2], second[:2])
    claim = own.claim()
    won = play(own.release, first, second, claim, rounds)
    return Finding(
        group, about, baseline, 1.0, won.right, None, claim.ceiling, won.over, won.sentence(),
        won.rounds,
    )  # fmt: skip


def marginals(twin: Twin) -> Finding:
    """The game on fitted margins."""
    return fitted_membership(twin, "marginals")


def topdown(twin: Twin) -> Finding:
    """The game on a fitted hierarchy."""
    return fitted_membership(twin, "topdown")


def _counted(description: Description, axes: tuple[AxisRef, ...], counts: Whole) -> TrueTable:
    """The true counts of one table of made-up people, sealed as an engine would."""
    domain = description.domain(axes)
    places: dict[tuple[int, ...], int] = {}
    for combination, count in zip(_people(description), counts.tolist(), strict=True):
        if count:
            at = tuple(
                _code(description.variable(ref.variable), ref, combination[ref.variable])
                for ref in axes
            )
            places[at] = places.get(at, 0) + count
    shape = tuple(len(axis) for axis in domain.axes)
    addresses = np.array(
        [int(np.ravel_multi_index(place, shape)) for place in places]
        if axes
        else [0][: len(places)],
        dtype=np.int64,
    )
    order = np.argsort(addresses)
    values = np.array(list(places.values()), dtype=np.int64)
    return true_values.seal(domain, true_values.Cells(addresses[order], values[order]))


def _people(description: Description) -> Iterator[dict[str, int]]:
    """Every combination of finest categories, in one order."""
    names = [one.name for one in description.variables]
    sizes = [len(one.levels[0]) for one in description.variables]
    for codes in product(*(range(size) for size in sizes)):
        yield dict(zip(names, codes, strict=True))


def _code(of: Variable, ref: AxisRef, finest: int) -> int:
    """The place of a finest category at a level."""
    level = of.level(ref.level)
    if len(level) == len(of.levels[0]):
        return finest
    region = "north" if finest < 2 else "south"
    return [category.code for category in level.categories].index(region)
