"""What a question wants: margins to publish, and the margins that could be measured for them.

For a list of wanted tables the alternatives are

    interior     the one table all wanted tables of a group are sums of; everything else is a sum
    wanted       each wanted table by itself, with equal or given shares
    once         only the wanted tables that are not sums of another wanted table
    everything   all margins of the joint table, the total too unless it is declared public
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from ...core.description import Description
from ...core.domain import margins as subsets_of
from ...core.margins import Margin, Sources, domain_of, joint
from ...core.neighbours import Neighbours
from ...core.question import TableSpec
from ...errors import RecipeError, Refusal
from ...languages import say
from .settings import Settings
from .shares import best_shares, given_shares

MOST_MEASURED = 20_000_000
"""Cells that one plan may measure in all."""
MOST_TABLES = 1_000
_MOST_AXES = 12


def interior(table: TableSpec) -> Margin:
    """A table without its totals."""
    return Margin(table.axes, table.where, table.weighted)


def margins_of(table: TableSpec) -> Iterator[tuple[int, ...]]:
    """The positions kept by each margin that is published with a table, itself first."""
    return subsets_of(len(table.axes), least=0 if table.totals else len(table.axes))


@dataclass(frozen=True)
class Candidates:
    """What a question wants, and how far one unit can move each margin of it.

    `total_known` leaves the grand total out of what is measured. It is whether the number
    of records is declared; rinott's 2^t − 1 takes it as known while neighbours are add or remove.
    """

    tables: tuple[TableSpec, ...]
    description: Description
    settings: Settings
    total_known: bool
    consistency: str = "none"
    """Which agreement follows the measurement; what is measured is chosen without any."""

    @classmethod
    def of(cls, tables: Sequence[TableSpec], description: Description, settings: Settings) -> Self:
        """The question's tables; refuses what no plan can be made for."""
        if len(tables) > MOST_TABLES:
            raise RecipeError(
                say(
                    "A question has at most {most_tables} tables, got {many}. Ask in parts.",
                    most_tables=MOST_TABLES,
                    many=len(tables),
                )
            )
        candidates = cls(tuple(tables), description, settings, description.records is not None)
        if any(table.weighted for table in tables):
            candidates.weight_reach()
        return candidates

    @property
    def replace_one(self) -> bool:
        """Whether neighbours replace a unit instead of adding or removing one."""
        return self.description.neighbours is Neighbours.REPLACE_ONE

    def weight_reach(self) -> int:
        """The largest weight in whole units of the weight's scale; refused where none is declared."""
        weight = self.description.weight
        if weight is None:
            raise RecipeError(
                f"{self.description.name} has no weight with a public bound, so its tables cannot "
                "be weighted. Write `weight: {…, bound: 20}` in discreet.yaml, or leave weighted out."
            )
        if weight.bound is None:
            raise Refusal(
                say(
                    "A weighted table needs a public bound on the weight {name}: the noise is in "
                    "proportion to it.",
                    name=weight.name,
                ),
                rule="weight-bound",
                alternatives=(
                    say(
                        "Declare the largest possible value of {name} in discreet.yaml.",
                        name=weight.name,
                    ),
                    say("Ask for the unweighted table."),
                ),
            )
        return math.ceil(weight.bound * weight.scale)

    def reach(self, margin: Margin) -> int:
        """How far one unit can move one cell of a margin."""
        return self.description.records_per_unit * (self.weight_reach() if margin.weighted else 1)

    def unit(self, margin: Margin) -> int:
        """How many measured units are one published unit."""
        weight = self.description.weight
        return weight.scale if margin.weighted and weight is not None else 1

    def is_known(self, margin: Margin) -> bool:
        """Whether a margin is the number of records, declared public."""
        return self.total_known and margin == Margin(())

    # -- what is wanted ---------------------------------------------------------------------

    @cached_property
    def wanted(self) -> tuple[Margin, ...]:
        """The interiors of the wanted tables, each once."""
        return tuple(dict.fromkeys(interior(table) for table in self.tables))

    @cached_property
    def all_targets(self) -> tuple[Margin, ...]:
        """Every margin that will be published: interiors, and totals where asked."""
        return tuple(
            dict.fromkeys(
                interior(table).keep(kept) for table in self.tables for kept in margins_of(table)
            )
        )

    def size(self, margin: Margin) -> int:
        """How many cells a margin has."""
        return domain_of(margin, self.description).size

    def held(self, margin: Margin) -> int:
        """How many of them are not empty by the hierarchy, and are drawn."""
        return domain_of(margin, self.description).held

    def gives(self, source: Margin, margin: Margin) -> bool:
        """Whether a margin may be summed from a source: with a law for each count, nothing may."""
        return self.settings.law != "hellinger" or self.held(source) == self.held(margin)

    # -- alternatives -----------------------------------------------------------------------

    def candidates(self) -> Iterator[tuple[str, tuple[Margin, ...]]]:
        """Names of alternatives and the margins each measures; those too large are left out."""
        wanted = [margin for margin in self.wanted if not self.is_known(margin)]
        groups: dict[object, list[Margin]] = {}
        for margin in wanted:
            groups.setdefault(margin.group, []).append(margin)
        joints = [
            group[0] if len(group) == 1 else joint(group, self.description)
            for group in groups.values()
        ]
        if sum(self.size(whole) for whole in joints) <= MOST_MEASURED:
            yield "interior", tuple(joints)
        yield "wanted", tuple(wanted)
        yield "once", self._not_sums(wanted)
        every = sum(
            math.prod(n + 1 for n in domain_of(whole, self.description).shape) for whole in joints
        )
        if every <= MOST_MEASURED and all(len(whole.axes) <= _MOST_AXES for whole in joints):
            measured = dict.fromkeys(
                whole.keep(kept) for whole in joints for kept in subsets_of(len(whole.axes))
            )
            extra = [m for m in wanted if m not in measured]
            yield "everything", tuple(m for m in (*measured, *extra) if not self.is_known(m))

    def _not_sums(self, wanted: Sequence[Margin]) -> tuple[Margin, ...]:
        found = Sources(wanted, self.description)
        serving = [set(found.of(margin)) for margin in wanted]
        # Of tables that are sums of each other (one table written twice) the first is kept.
        return tuple(
            margin
            for i, margin in enumerate(wanted)
            if all(i in serving[j] and j > i for j in serving[i] - {i})
        )

    def shares(self, name: str, margins: Sequence[Margin]) -> tuple[Fraction, ...]:
        """The part of the budget each measured margin gets: given, equal, or by what it serves."""
        given = given_shares(self.tables)
        drawn = {margin for margin in self.wanted if not self.is_known(margin)}
        if given is not None and set(margins) == drawn:
            total: dict[Margin, Fraction] = {}
            for table, share in zip(self.tables, given, strict=True):
                margin = interior(table)
                total[margin] = total.get(margin, Fraction(0)) + share
            return tuple(total[margin] for margin in margins)
        if name == "everything":
            return (Fraction(1, len(margins)),) * len(margins)
        burdens = [Fraction(0)] * len(margins)
        found, sizes = Sources(margins, self.description), [self.held(m) for m in margins]
        for wanted in self.wanted:
            if serving := found.of(wanted):
                least = min(serving, key=lambda i: (sizes[i], i))
                burdens[least] += Fraction(sizes[least], self.held(wanted))
        return best_shares(burdens, root=2 if self.settings.law == "gaussian" else 3)
