"""What a small-number rule would blank and a policy shows: a rehearsal, because it sees true counts.

The 10/5 rule of many offices hides counts from 1 to 9 and rounds the rest to 5. Under noise nothing
is hidden; a cell is reliable from a count on that the policy says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..core.domain import AxisRef, Count
from ..core.table import Rehearsal
from ..errors import InputError
from ..languages import number, say, together
from ..workspace import rehearsed
from .simulator import Simulation
from .trial import true_counts

if TYPE_CHECKING:
    from ..workspace import DataSet

HIDDEN_BELOW = 10
MOST_CELLS = 100_000
"""Larger tables are left out."""


@dataclass(frozen=True)
class Blanked:
    """One table: cells with somebody, those the rule hides, those reliable under the policy."""

    table: str
    cells: int
    filled: int
    hidden: int
    reliable: int
    regained: int
    """Hidden by the rule, and reliable under the policy."""


@dataclass(frozen=True)
class SmallNumbers(Rehearsal):
    """What the rule costs over every table that a policy allows; the custodian's alone."""

    @property
    def tables(self) -> Sequence[Blanked]:
        """One for each table."""
        return tuple(self.findings["tables"])

    def sentences(self) -> tuple[str, ...]:
        """The sums, and the tables that gain most."""
        filled = sum(one.filled for one in self.tables)
        hidden = sum(one.hidden for one in self.tables)
        reliable = sum(one.reliable for one in self.tables)
        said: list[str] = [
            say(
                "Over {tables} tables a rule that hides counts from 1 to {most} blanks {hidden} of {filled} "
                "cells with somebody in them ({share}), further cells to protect them not counted.",
                tables=len(self.tables),
                most=HIDDEN_BELOW - 1,
                hidden=hidden,
                filled=filled,
                share=_share(hidden, filled),
            ),
            say(
                "This policy shows all of them with noise; {reliable} ({share}) are reliable.",
                reliable=reliable,
                share=_share(reliable, filled),
            ),
        ]
        most = sorted(self.tables, key=lambda one: -one.regained)[:3]
        gained = [
            say("{cells} in {table}", cells=one.regained, table=one.table)
            for one in most
            if one.regained
        ]
        if gained:
            told = together(*gained, between=", ")
            said.append(say("Hidden by the rule and reliable here: {tables}.", tables=told))
        return tuple(said)


def small_numbers(data: DataSet, simulation: Simulation, who: str = "") -> SmallNumbers:
    """Count every table the policy allows; notes in the ledger that somebody looked."""
    chosen = [
        one
        for one in simulation.allowed
        if one.cells <= MOST_CELLS and one.reliable_from is not None
    ]
    if not chosen:
        raise InputError(
            f"No table of {data.name} can be rehearsed: none that its rules allow has an error that "
            "is known beforehand."
        )
    described = data.described.description
    counts = []
    for one in chosen:
        refs = tuple(sorted(_ref(name) for name in one.axes))
        counts.append(Count(refs))
        _ = described.domain(refs)
    with rehearsed.engine(data, "policy simulate", who) as engine:
        tables = dict(zip(counts, engine.count(counts), strict=True))
    found = []
    for one, count in zip(chosen, counts, strict=True):
        true = true_counts(tables, count)
        small, good = (true > 0) & (true < HIDDEN_BELOW), true >= (one.reliable_from or 0)
        found.append(
            Blanked(
                one.name,
                true.size,
                int(np.count_nonzero(true)),
                int(small.sum()),
                int((good & (true > 0)).sum()),
                int((small & good).sum()),
            )
        )
    about = f"what a small-number rule blanks in {data.name}"
    return SmallNumbers(about, {"tables": tuple(found)})


def _ref(name: str) -> AxisRef:
    variable, _, level = name.partition(":")
    return AxisRef(variable, level or variable)


def _share(part: int, whole: int) -> str:
    return number(f"{part / whole:.0%}") if whole else say("none")
