"""What to measure and how much of the budget each table gets: from public facts only.

*Binary variables*: the Fourier coefficients of the downward closure, at the tight sensitivity
(barak's Theorem 6 spends up to twice that). *Otherwise*: whole tables of cells. Orthonormal
contrasts of three or more categories cost more than they tell under pure ε (and gain at most a few
per cent under ρ), so none are used; but fewer, wider tables can beat many narrow ones, because
cost grows with their number: tables are merged while the predicted error falls. Axes of two
categories may be measured as one difference, which is twice as precise.

Where the number of records is public at least roughly, tables whose mean cell is small beside their
own noise may be left out (`_dense`): then one-way margins, from which they are filled in, are measured
on their own. Else they are not: the tables asked for tell of them nearly as much, and a share of their
own takes more accuracy from those tables than it brings. What is public already is not measured
either. Predicted errors are those of the unbiased combination; the fit, which adds that no count is
negative, is usually closer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....core.neighbours import Neighbours
from ....core.product import Margin, Shape, maximal, size
from ....errors import RecipeError
from ....languages import counted, say, together
from ...shared.drawn_noise import Noise
from ...shared.residuals import mean_variance
from .allocation import Allocation, Key, Spending, finished, public_residuals
from .coefficients import coefficients
from .share_search import MOST_MERGED_CELLS, merge, tuned, with_differences

TOTAL_SHARE = 0.02
ONE_WAY_SHARE = Fraction(1, 4)
"""For one-way margins of their own, where thin tables are left out."""
DENSITY = 3.0
_MOST_TUNED = 6
_MOST_SEARCHED = 60
"""With more tables than this, equal shares and no search over contrasts."""


def plan_budget(
    shape: Shape,
    workload: Sequence[Margin],
    amount: Fraction,
    neighbours: Neighbours,
    *,
    noise: Noise = "laplace",
    published: Iterable[Margin] = (),
    records: int | None = None,
    one_way: Fraction | None = None,
) -> tuple[Allocation, list[Allocation]]:
    """The plan of least predicted error, and the others it was compared with.

    `amount` is ε (Laplace noise) or ρ (Gaussian) for one record; `published` are margins that are
    public already; `records` is the public number of records, exact or rough; `one_way` the share of
    the amount for one-way margins of their own (None: a quarter where leaving out thin tables promises
    less error, else nothing).
    """
    spending = Spending(amount, neighbours, noise, public_residuals(neighbours, published))
    if all(margin in spending.public for margin in workload):
        raise RecipeError(
            "Everything this question asks for is published already, and nothing is left to "
            "measure. Ask for at least one margin more."
        )
    choices = []
    binary = all(n == 2 for n in shape)
    if binary:
        choices.append(coefficients(shape, workload, spending))
    # under ρ no table tells more of binary variables than the coefficients do at the same cost
    if not binary or (len(workload) <= _MOST_SEARCHED and noise == "laplace"):
        choices += table_budgets(shape, workload, spending, records, one_way or Fraction(0))
    if one_way is None and records is not None and not binary:
        thinned = table_budgets(shape, workload, spending, records, ONE_WAY_SHARE)
        choices += [choice for choice in thinned if choice.dropped]
    best = min(choices, key=lambda choice: _promised(shape, workload, choice, records))
    whole = None if one_way else _one_table(shape, workload, spending)
    if whole is not None and _promised(shape, workload, whole, records) < _promised(
        shape, workload, best, records
    ):
        best = whole
    return best, [choice for choice in choices if choice is not best]


def _one_table(shape: Shape, workload: Sequence[Margin], spending: Spending) -> Allocation | None:
    """All of the budget for one table of all variables, where that is not too many cells.

    With a large share hardly any cell is noisy, and then no sum of cells is.
    """
    axes = tuple(range(len(shape)))
    if size(shape, axes) > MOST_MERGED_CELLS:
        return None
    return finished("one table", shape, workload, {(axes, ()): 1.0}, spending)


def _promised(
    shape: Shape, workload: Sequence[Margin], budget: Allocation, records: int | None
) -> float:
    """The mean squared error of a cell to compare plans by, over all tables.

    A table left out, or noisier than it is full, counts as off by its mean cell: with no count
    negative and the total known it is seldom farther off.
    """
    errors = []
    for margin in workload:
        full = math.inf if records is None else (records / size(shape, margin)) ** 2
        errors.append(min(mean_variance(shape, budget.known, margin), full))
    return sum(errors) / len(errors)


@dataclass(frozen=True)
class _Division:
    """How the budget is divided: narrow tables at a fixed share, and whole ones for the rest."""

    shape: Shape
    workload: Sequence[Margin]
    spending: Spending
    fixed: dict[Key, float]
    rest: float
    singles: list[Margin]
    """One-way margins measured on their own."""
    kept: list[Margin]
    """The tables worth their noise; none of them within another."""
    lost: list[Margin]
    """The margins of the workload that are not measured."""

    @property
    def wanted(self) -> list[Margin]:
        """The tables whose error counts: those kept, and the one-way margins of them."""
        inside = {axis for margin in self.kept for axis in margin}
        return [*self.kept, *(one for one in self.singles if one[0] in inside)]

    def allocation(self, name: str, shares: dict[Key, float]) -> Allocation:
        """The budget in which these tables, besides the fixed ones, get these shares."""
        every = self.fixed | shares
        return finished(name, self.shape, self.workload, every, self.spending, self.lost)

    def alike(self, name: str, tables: Sequence[Margin]) -> Allocation:
        """The budget in which these tables share the rest alike."""
        return self.allocation(name, {(margin, ()): self.rest / len(tables) for margin in tables})

    def tuned(self, tables: Sequence[Margin]) -> Iterator[Allocation]:
        """Budgets with the best shares found for these tables, some of their axes as differences."""
        plain: list[Key] = [(margin, ()) for margin in tables]
        flipped = with_differences(
            self.shape, self.wanted, plain, self.fixed, self.rest, self.spending
        )
        name = counted("{n} table, shares tuned", "{n} tables, shares tuned", len(tables))
        differs = "" if flipped == plain else say("some differences")
        told = together(name, differs, between=", ")
        yield self.allocation(told, self._shares(flipped))
        if flipped != plain and self.spending.power == 1:
            # differences may cost twice as much where records are replaced: compare
            yield self.allocation(name, self._shares(plain))

    def _shares(self, keys: Sequence[Key]) -> dict[Key, float]:
        return tuned(self.shape, self.wanted, keys, self.fixed, self.rest, self.spending)


def table_budgets(
    shape: Shape,
    workload: Sequence[Margin],
    spending: Spending,
    records: int | None,
    one_way: Fraction,
) -> list[Allocation]:
    """Whole tables: as asked for, merged, and merged with differences on binary axes."""
    division = _divided(shape, workload, spending, records, one_way)
    kept = division.kept
    if not kept:
        return [division.allocation("one-way margins only", {})]
    out = [division.alike(say("each table"), kept)]
    stages = _different(sorted(merge(shape, kept, division.wanted, spending)))
    merged = stages[0][1]
    if merged != sorted(kept):
        out.append(division.alike(say("merged tables"), merged))
    for _, tables in stages[:_MOST_TUNED]:
        if len(tables) <= _MOST_SEARCHED:
            out += division.tuned(tables)
    return out


def _divided(
    shape: Shape,
    workload: Sequence[Margin],
    spending: Spending,
    records: int | None,
    one_way: Fraction,
) -> _Division:
    """Which tables to measure, and what is left for them beside the total and one-way margins."""
    public = spending.public
    top = [margin for margin in maximal([m for m in workload if m not in public]) if margin]
    apart = one_way > 0 and any(len(margin) > 1 for margin in top)
    used = sorted({axis for margin in top for axis in margin}) if apart else []
    singles: list[Margin] = [(axis,) for axis in used if (axis,) not in public]
    fixed: dict[Key, float] = {}
    if () not in public and (apart or not top):
        fixed[((), ())] = TOTAL_SHARE if top else 1.0
    share = float(one_way) if singles else 0.0
    rest = 1 - share - sum(fixed.values())
    fixed |= {(single, ()): share / len(singles) for single in singles}
    kept, dropped = _dense(shape, top, spending.times(rest), records, fillable=apart)
    if not kept and not fixed:
        kept, dropped = dropped[:1], dropped[1:]
    lost = [m for m in workload if len(m) > 1 and m not in public]
    lost = [m for m in lost if _in_one_of(m, dropped) and not _in_one_of(m, kept)]
    return _Division(shape, workload, spending, fixed, rest, singles, kept, lost)


def _in_one_of(margin: Margin, tables: Iterable[Margin]) -> bool:
    return any(set(margin) <= set(table) for table in tables)


def _different(stages: Sequence[tuple[float, list[Margin]]]) -> list[tuple[float, list[Margin]]]:
    """Stages without those met before."""
    first: dict[tuple[Margin, ...], tuple[float, list[Margin]]] = {}
    for error, tables in stages:
        first.setdefault(tuple(tables), (error, tables))
    return list(first.values())


def _dense(
    shape: Shape,
    tables: Sequence[Margin],
    spending: Spending,
    records: int | None,
    *,
    fillable: bool,
) -> tuple[list[Margin], list[Margin]]:
    """The density rule: the longest run of tables, small ones first, that are worth their noise.

    The last table of a run of m must have a mean cell of at least `DENSITY` times its own noise
    when m tables share. A fixed-point iteration would oscillate; a run does not. Only where one-way
    margins are measured or public can the rest be filled in.
    """
    ordered = sorted(tables, key=lambda margin: (size(shape, margin), margin))
    if records is None or not fillable:
        return ordered, []
    most = 0
    for count, margin in enumerate(ordered, 1):
        if len(margin) == 1 or records / size(shape, margin) >= DENSITY * spending.noise_of_one(
            count
        ):
            most = count
    return ordered[:most], ordered[most:]
