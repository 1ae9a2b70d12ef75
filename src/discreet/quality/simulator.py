"""What a policy makes possible, table by table, from public facts alone: no record is read.

Every table of one to three variables is asked as an analyst would ask it, and planned: does it pass
the rules, what error would it have, from which count on would a cell be reliable. Because nothing
here depends on data, nothing here is a rehearsal: it may be shown to anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, islice
from math import ceil, comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import recipe as recipes
from .. import release
from ..core.control import Control
from ..core.description import Description
from ..core.exact import Exact, plain
from ..core.family import Family
from ..errors import InputError, Refusal
from ..languages import counted, number, say
from ..protected_rules import reliable_limit
from .epsilon_scale import Scale, Suspicion, Unit, scale

if TYPE_CHECKING:
    from ..workspace import DataSet

MOST_VARIABLES = 3
MOST_TABLES = 5_000
"""More tables than this are not simulated one by one."""
_MOST_SPREAD = 4_000_000
"""Of larger tables the share of reliable cells is not told."""


@dataclass(frozen=True)
class Outlook:
    """One table: whether the policy allows it, and how good it would be."""

    axes: tuple[str, ...]
    cells: int
    allowed: bool
    why: str = ""
    """The rule that says no, as a sentence."""
    instead: tuple[str, ...] = ()
    """What would pass."""
    noise_sd: float | None = None
    within: int | None = None
    """95 % of cells are within ± this."""
    reliable_from: int | None = None
    """The least count that is not marked unreliable."""
    mean_count: float | None = None
    """Records for each cell, where the number of records is public."""
    share_reliable: float | None = None
    """The share of cells expected to be reliable, from public facts."""

    @property
    def name(self) -> str:
        """Its axes, as people say them."""
        return " × ".join(self.axes)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "axes": list(self.axes), "instead": list(self.instead)}


@dataclass(frozen=True)
class Simulation:
    """A policy, its scale of ε, and every table it would be asked for."""

    dataset: str
    family: str
    method: str
    policy: str
    epsilon: str | None
    """What one table is planned at; None where nothing is spent."""
    scale: Scale
    outlooks: tuple[Outlook, ...] = field(repr=False)
    of_all: int = 0
    """How many tables there are; more than were simulated where there are very many."""
    risks: tuple[str, ...] = ()
    """What the policy does not protect, in sentences."""
    records: int | None = None

    @property
    def allowed(self) -> tuple[Outlook, ...]:
        """The tables that pass the rules."""
        return tuple(one for one in self.outlooks if one.allowed)

    def sentences(self) -> tuple[str, ...]:
        """What the simulation says, numbers included."""
        passed, many = self.allowed, len(self.outlooks)
        said: list[str] = []
        if self.family != Family.DP:
            said.append(
                say(
                    "{dataset} is of family {family}, which claims no ε over many tables: the scale says "
                    "what family dp would need.",
                    dataset=self.dataset,
                    family=self.family,
                )
            )
        said += [
            say(
                "{passed} of {many} tables of one to {most} variables pass the rules of {dataset}.",
                passed=len(passed),
                many=many,
                most=MOST_VARIABLES,
                dataset=self.dataset,
            )
        ]
        if self.of_all > many:
            said.append(
                say(
                    "There are {all} in all; the first {many} were simulated.",
                    all=self.of_all,
                    many=many,
                )
            )
        if passed and passed[0].noise_sd is not None:
            worst = max(passed, key=lambda one: one.noise_sd or 0)
            each = (
                say("Each at ε = {epsilon}", epsilon=number(self.epsilon))
                if self.epsilon
                else say("Each")
            )
            said.append(
                say(
                    "{each} has noise of standard deviation {sd} at most; 95 % of cells are within ± "
                    "{within}, and a count of {least} or more is reliable.",
                    each=each,
                    sd=number(f"{worst.noise_sd:.3g}"),
                    within=worst.within,
                    least=worst.reliable_from,
                )
            )
        said += self._reliably()
        rules = Counter(one.why for one in self.outlooks if one.why)
        said += [
            counted(
                "{n} table breaks this rule: {why}",
                "{n} tables break this rule: {why}",
                times,
                why=why,
            )
            for why, times in rules.most_common(3)
        ]
        return (*said, *self.risks)

    def _reliably(self) -> Iterator[str]:
        """How many cells would be reliable."""
        passed = self.allowed
        shares = [one for one in passed if one.share_reliable is not None]
        if shares:
            good = [one for one in shares if (one.share_reliable or 0) >= 0.5]
            yield (
                say(
                    "With about {records} records, spread as public populations are and else evenly, at "
                    "least half of the cells would be reliable in {good} of {tables} tables.",
                    records=self.records,
                    good=len(good),
                    tables=len(shares),
                )
            )
        elif passed:
            yield (
                say(
                    "How many cells would be reliable depends on the number of records: write about how "
                    "many there are as `about:` in discreet.yaml, or give --records."
                )
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same on the command line and for the page."""
        return {
            "dataset": self.dataset,
            "family": self.family,
            "method": self.method,
            "policy_version": self.policy,
            "epsilon": self.epsilon,
            "records": self.records,
            "rehearsal": False,
            "from": say("public facts only: no record was read"),
            "scale": self.scale.to_json(),
            "tables_in_all": self.of_all,
            "tables_allowed": len(self.allowed),
            "sentences": list(self.sentences()),
            "risks": list(self.risks),
            "tables": [one.to_json() for one in self.outlooks],
        }


@dataclass(frozen=True)
class Wishes:
    """The custodian's answers: accuracy wanted, risk tolerated, how many tables."""

    within: int = 5
    of: Exact = "0.95"
    suspicions: tuple[Suspicion, ...] = ()
    tables: int = 1
    records: int | None = None
    """Roughly how many records there are, where that may be said."""
    most: int = MOST_TABLES
    """How many tables are simulated one by one."""


def simulate(
    data: DataSet, wishes: Wishes | None = None, control: Control | None = None
) -> Simulation:
    """Simulate a data set's policy; reads discreet.yaml and nothing else."""
    wanted, control = wishes or Wishes(), control or Control()
    description, policy = data.description, data.policy
    if not description.variables:
        raise InputError(
            f"{data.name} has no variable that may be shown yet. Declare some: "
            "`discreet declare DIR --all`."
        )
    unit = Unit(description.protects, description.records_per_unit, description.neighbours)
    found = scale(unit, wanted.within, wanted.of, wanted.suspicions, wanted.tables)
    records = wanted.records or description.records or description.about
    method = policy.method if policy.family is not Family.DP else "noise"
    epsilon = _epsilon(found) if policy.family is Family.DP else None
    asker = _Asker(data, method, epsilon, records)
    specs = list(islice(tables_of(description), wanted.most))
    outlooks = []
    for place, axes in enumerate(specs):
        control.step(place / len(specs), "simulating")
        outlooks.append(asker.outlook(axes))
    return Simulation(
        data.name,
        str(policy.family),
        method,
        policy.version,
        epsilon,
        found,
        tuple(outlooks),
        how_many(description),
        asker.risks,
        records,
    )


def _epsilon(found: Scale) -> str:
    """What one table is planned at: what is recommended, else what the ceiling leaves for it."""
    if found.recommendation is None:
        return plain(max(found.ceiling / found.tables, Fraction(1, 1000)))
    return plain(found.floor)


def tables_of(
    description: Description, most: int = MOST_VARIABLES
) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every table of one to three variables, each variable at each of its levels."""
    levels = [[(v.name, level.name) for level in v.levels] for v in description.variables]
    for many in range(1, most + 1):
        for chosen in combinations(levels, many):
            yield from _each(chosen)


def _each(levels: Sequence[list[tuple[str, str]]]) -> Iterator[tuple[tuple[str, str], ...]]:
    if not levels:
        yield ()
        return
    for first in levels[0]:
        for rest in _each(levels[1:]):
            yield (first, *rest)


def how_many(description: Description, most: int = MOST_VARIABLES) -> int:
    """How many such tables there are, without listing them."""
    sizes = [len(variable.levels) for variable in description.variables]
    if comb(len(sizes), most) <= MOST_TABLES * 20:
        return sum(
            prod(chosen) for many in range(1, most + 1) for chosen in combinations(sizes, many)
        )
    sums = [1] + [0] * most  # elementary symmetric sums
    for size in sizes:
        for many in range(most, 0, -1):
            sums[many] += sums[many - 1] * size
    return sum(sums[1:])


class _Asker:
    """Asks one table after another, as an analyst would."""

    def __init__(
        self, data: DataSet, method: str, epsilon: str | None, records: int | None
    ) -> None:
        self.data, self.method, self.epsilon, self.records = data, method, epsilon, records
        self.limit = reliable_limit(data.policy)
        self.risks: tuple[str, ...] = ()
        self._shares: dict[tuple[str, str], Any] = {}

    def outlook(self, axes: tuple[tuple[str, str], ...]) -> Outlook:
        """One table."""
        names = tuple(
            variable if variable == level else f"{variable}:{level}" for variable, level in axes
        )
        mapping: dict[str, Any] = {"rows": list(names), "method": self.method}
        if self.epsilon:
            mapping["epsilon"] = self.epsilon
        read = recipes.from_mapping(mapping, self.data.description, self.data.policy)
        asked = release.ask(self.data, read)
        cells = prod(len(self.data.description.variable(v).level(level)) for v, level in axes)
        verdict = asked.verdict
        if not verdict.allowed:
            why = verdict.breaches[0].sentence
            return Outlook(names, cells, False, why, verdict.alternatives[:3])
        if self.method not in ("noise", "cell-key"):
            return Outlook(names, cells, True)
        try:
            plan = asked.plan
        except Refusal as refused:
            return Outlook(names, cells, False, refused.message)
        if not self.risks:
            self.risks = tuple(plan.guarantee.risks)
        error = plan.errors[0]
        least = ceil(error.noise_sd / float(self.limit))
        mean = None if self.records is None else self.records / cells
        share = None if mean is None or cells > _MOST_SPREAD else self._reliable(axes, least)
        return Outlook(
            names, cells, True, "", (), error.noise_sd, error.half_width, least, mean, share
        )

    def _reliable(self, axes: tuple[tuple[str, str], ...], least: int) -> float:
        """The share of cells whose expected count is large enough."""
        spread = np.ones(1)
        for axis in axes:
            spread = np.outer(spread, self._spread(axis)).ravel()
        return float((spread * (self.records or 0) >= least).mean())

    def _spread(self, axis: tuple[str, str]) -> Any:
        """The share of records in each category: as public populations are, else evenly."""
        if axis not in self._shares:
            level = self.data.description.variable(axis[0]).level(axis[1])
            people = [category.population for category in level.categories]
            known = all(one is not None for one in people) and sum(filter(None, people)) > 0
            sizes = np.array([one or 0 for one in people] if known else [1] * len(people), float)
            self._shares[axis] = sizes / sizes.sum()
        return self._shares[axis]
