"""Which margins to measure, and with which share of the budget: rinott §7, before anything is spent.

The alternatives are those of `wanted`. *best* is the one with the smallest mean variance over the
interior cells of the wanted tables, every table counting alike, each cell measured in units of what
one unit of protection can change. Totals that come with a table do not count; a margin that matters
is asked for as a table of its own. The choice depends on public facts only.

Costs are exact. ε of the question is the whole charge: a margin that gets the share s is drawn
with s·ε divided by how far one unit can move it, by 2 where records are replaced, and scaled up
where filters exclude each other (`Regions.cost`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ...core.domain import AxisRef
from ...core.hellinger_law import HellingerLaw
from ...core.loss import Loss
from ...core.margins import Margin, Sources, domain_of, joint
from ...errors import Alternative, InputError, RecipeError, Refusal
from ...languages import say
from ..shared.regions import Regions
from ..shared.residuals import Cells, Components
from . import laws
from .accuracy import least_budget
from .candidates import MOST_MEASURED, Candidates, interior
from .refusals import needs_a_sum, no_protection, too_many_cells, too_much_delta
from .settings import safe_rho
from .shares import given_shares

MOST_SOLVED = 2_000_000
"""Cells of a joint table that a sparse least-squares fit may have."""
KNOWN = -1
"""The source of a total that is declared public."""


@dataclass(frozen=True)
class Measured:
    """One margin that is measured: how far a unit moves it, what that costs, the law it gets."""

    name: str
    margin: Margin
    share: Fraction
    reach: int
    one_sided: Fraction
    law: laws.TableLaw
    delta: Fraction
    cells: int


@dataclass(frozen=True)
class Target:
    """A wanted margin: where it comes from and the variance to expect in whole published units."""

    source: int
    summed: Fraction
    """Cells of the source in one cell, on average."""
    variance: float
    continuous_variance: float


@dataclass(frozen=True)
class Scheme:
    """One alternative, fully worked out."""

    name: str
    measured: tuple[Measured, ...]
    targets: Mapping[Margin, Target] = field(repr=False)
    loss: Loss
    touched: int
    """d: cells that one unit touches, records and neighbours counted."""
    score: float
    closed: Mapping[object, tuple[Components, list[AxisRef]] | None] = field(repr=False)
    """For each group, the closed form of least squares and its axes, where it has one."""
    exact: bool = True
    """Whether some pair of neighbours attains the loss; else it is a bound."""

    @property
    def cells(self) -> int:
        """How many cells are measured."""
        return sum(part.cells for part in self.measured)


class Planner(Candidates):
    """Works out the alternatives for a budget and chooses among them."""

    def schemes(self, budget: Fraction) -> tuple[Scheme, ...]:
        """The alternatives, each worked out for a budget; equal ones once, under the first name."""
        if not any(not self.is_known(margin) for margin in self.wanted):
            raise RecipeError(
                say(
                    "This question asks only for the number of records, which is declared public "
                    "({records}). Ask for at least one variable.",
                    records=self.description.records,
                )
            )
        seen: set[frozenset[Margin]] = set()
        out: list[Scheme] = []
        failed: InputError | None = None
        for name, margins in self.candidates():
            key = frozenset(margins)
            if key in seen:
                continue
            seen.add(key)
            if sum(self.size(margin) for margin in margins) > MOST_MEASURED:
                continue
            try:
                out.append(self.scheme(name, margins, budget))
            except InputError as problem:  # no such law at this size: an alternative less
                failed = failed or problem
        if not out and failed is not None:
            raise failed
        if not out:
            cells = sum(self.size(margin) for margin in self.wanted)
            raise too_many_cells(cells, MOST_MEASURED)
        return tuple(out)

    def scheme(self, name: str, margins: Sequence[Margin], budget: Fraction) -> Scheme:
        """One alternative for a budget: laws, exact cost, and the variance of every target.

        Margins are put in one order, whatever the order of the tables: stored measurements are
        known by their place in it, and one question has one answer.
        """
        margins = sorted(margins, key=Margin.order)
        regions = Regions.of(margins, self.description, self.replace_one)
        shares = self.shares(name, margins)
        unit = regions.cost(shares)
        if unit == 0:
            raise RecipeError(say("This question asks only for figures that are declared public."))
        settings = self.settings
        measured = []
        for i, (margin, share) in enumerate(zip(margins, shares, strict=True)):
            one_sided, reach = budget * share / unit, self.reach(margin)
            allowed = None if settings.delta is None else settings.delta * share / unit
            law, delta = self._law(one_sided, reach, allowed)
            if settings.audited:
                one_sided = laws.step_loss(law) * reach
            cells = self.size(margin)
            measured.append(
                Measured(f"m{i:03}", margin, share, reach, one_sided, law, delta, cells)
            )
        return self.worked_out(name, measured, budget, regions)

    def worked_out(
        self,
        name: str,
        measured: Sequence[Measured],
        budget: Fraction,
        regions: Regions | None = None,
    ) -> Scheme:
        """What measured margins cost, and the variance of every target they give."""
        margins = [part.margin for part in measured]
        regions = regions or Regions.of(margins, self.description, self.replace_one)
        delta = regions.cost([part.delta for part in measured])
        if self.settings.audited:
            budget = regions.cost([part.one_sided for part in measured])
        loss = self._loss(budget, delta)
        touched = regions.cost([Fraction(self.description.records_per_unit)] * len(margins))
        closed = self.agreements(measured)
        sources = Sources(margins, self.description)
        targets = {
            margin: self.target(margin, measured, sources.of(margin), closed)
            for margin in self.all_targets
        }
        score = self._score(targets, budget)
        exact = regions.exact and not self.settings.audited
        return Scheme(name, tuple(measured), targets, loss, int(touched), score, closed, exact)

    def _score(self, targets: Mapping[Margin, Target], budget: Fraction) -> float:
        """What the best alternative has least of: noise, or with a given variance the loss.

        With a given variance all measured cells have it, so alternatives that sum them are out.
        """
        score, given = 0.0, self.settings.variance
        for table in self.tables:
            margin = interior(table)
            if self.is_known(margin):
                continue
            if given is not None:
                score = max(score, float(budget), math.inf if targets[margin].summed != 1 else 0.0)
            else:
                size = self.unit(margin) / self.reach(margin)
                score += targets[margin].variance * size**2
        return score

    def derived(self, scheme: Scheme) -> Scheme | None:
        """The scheme that fits these tables from what another measured; None if it cannot."""
        measured, closed = scheme.measured, self.agreements(scheme.measured)
        sources = Sources([part.margin for part in measured], self.description)
        serving = {
            margin: [i for i in sources.of(margin) if self.gives(measured[i].margin, margin)]
            for margin in self.all_targets
        }
        if not all(serving[margin] or self.is_known(margin) for margin in serving):
            return None
        targets = {m: self.target(m, measured, found, closed) for m, found in serving.items()}
        derived = replace(scheme, targets=targets, closed=closed)
        self.check_agreement(derived)
        return derived

    def _law(
        self, one_sided: Fraction, reach: int, allowed: Fraction | None
    ) -> tuple[laws.TableLaw, Fraction]:
        settings = self.settings
        if settings.law == "gaussian":
            return laws.gaussian(one_sided, reach), Fraction(0)
        if settings.law == "hellinger":
            return HellingerLaw.of(one_sided / reach, *settings.counts), Fraction(0)
        if settings.pure:
            return laws.pure(one_sided, reach), Fraction(0)
        if settings.variance is not None:
            assert settings.max_perturbation is not None
            law = laws.by_variance(settings.variance, settings.max_perturbation)
        elif settings.utility is not None:
            law = laws.by_utility(settings.utility, one_sided, reach)
        elif settings.max_perturbation is not None:
            law = laws.truncated(settings.law, one_sided, reach, settings.max_perturbation)
        else:
            assert allowed is not None
            law = laws.shortest(settings.law, one_sided, reach, allowed)
        return law, laws.end_mass(law, reach)

    def _loss(self, budget: Fraction, delta: Fraction) -> Loss:
        settings = self.settings
        if settings.law == "gaussian" or settings.pure:
            return settings.loss(budget, delta)
        if delta >= 1:
            raise no_protection(settings.cut)
        if settings.delta is not None and delta > settings.delta:
            raise too_much_delta(settings.cut, delta, settings.delta)
        return settings.loss(budget, delta)

    def target(
        self,
        margin: Margin,
        measured: Sequence[Measured],
        sources: Sequence[int],
        closed: Mapping[object, tuple[Components, list[AxisRef]] | None],
    ) -> Target:
        """Where a wanted margin comes from: the source that leaves it the least noise."""
        if self.is_known(margin):
            return Target(KNOWN, Fraction(0), 0.0, 0.0)
        found: Target | None = None
        unit = self.unit(margin)
        held = self.held(margin)
        for i in sources:
            part = measured[i]
            if not self.gives(part.margin, margin):
                continue
            summed = Fraction(self.held(part.margin), held)
            variance = float(summed) * float(part.law.variance) / unit**2
            if found is None or variance < found.variance * (1 - 1e-12):
                continuous = float(summed) * part.law.continuous_variance / unit**2
                found = Target(i, summed, variance, continuous)
        if found is None and self.settings.law == "hellinger":
            raise needs_a_sum(margin)
        if found is None:
            raise RecipeError(f"No measured table gives {margin}. Choose plan: best.")
        agreement = closed.get(margin.group)
        if agreement is not None:
            components, axes = agreement
            positions = tuple(sorted(axes.index(ref) for ref in margin.axes))
            better = components.variance(positions) / unit**2
            found = Target(found.source, found.summed, better, better)
        return found

    def agreements(
        self, measured: Sequence[Measured]
    ) -> dict[object, tuple[Components, list[AxisRef]] | None]:
        """For each group whether least squares has its closed form; empty if not asked for."""
        if self.consistency == "none":
            return {}
        groups = dict.fromkeys(part.margin.group for part in measured)
        return {group: self._components(group, measured) for group in groups}

    def _components(
        self, group: object, measured: Sequence[Measured]
    ) -> tuple[Components, list[AxisRef]] | None:
        parts = [part for part in measured if part.margin.group == group]
        axes = list(dict.fromkeys(ref for part in parts for ref in part.margin.axes))
        if len({ref.variable for ref in axes}) != len(axes):
            return None
        wanted = [margin for margin in self.all_targets if margin.group == group]
        if any(ref not in axes for margin in wanted for ref in margin.axes):
            return None
        if any(self.description.zero_mask(part.margin.count) is not None for part in parts):
            return None
        whole = Margin(tuple(axes), parts[0].margin.where, parts[0].margin.weighted)
        readings = tuple(
            Cells(
                tuple(sorted(axes.index(ref) for ref in part.margin.axes)), float(part.law.variance)
            )
            for part in parts
        )
        known = self.is_known(Margin((), whole.where, whole.weighted))
        return Components(domain_of(whole, self.description).shape, readings, known), axes

    def joint_of(self, scheme: Scheme, group: object) -> Margin:
        """The table that all measured and wanted margins of a group are sums of."""
        parts = [part.margin for part in scheme.measured if part.margin.group == group]
        parts += [margin for margin in scheme.targets if margin.group == group]
        return joint(parts, self.description)

    def check_agreement(self, scheme: Scheme) -> None:
        """Refuse, before anything is spent, an agreement that could not be worked out."""
        if self.consistency == "none":
            return
        for group in {part.margin.group for part in scheme.measured}:
            cells = self.size(self.joint_of(scheme, group))
            if scheme.closed[group] is None and cells > MOST_SOLVED:
                raise RecipeError(
                    say(
                        "Least squares over {cells} cells with mixed levels or structural zeros is too "
                        "much, most is {most_solved}. Set consistency: none, or ask for fewer "
                        "variables at once.",
                        cells=cells,
                        most_solved=MOST_SOLVED,
                    )
                )

    # -- the choice -------------------------------------------------------------------------

    def choose(self, schemes: Sequence[Scheme], budget: Fraction) -> tuple[Scheme, Scheme]:
        """The scheme asked for and the one recommended."""
        asked = self.settings.plan
        recommended = min(schemes, key=lambda scheme: scheme.score * (1 + 1e-12))
        by_name = {scheme.name: scheme for scheme in schemes}
        names = dict(self.candidates())
        if given_shares(self.tables) is not None:
            alike = frozenset(names.get(asked, ())) == frozenset(names["wanted"])
            if asked != "best" and not alike:
                raise RecipeError(
                    say(
                        "Shares are for plan wanted, got plan {asked}. Leave out the shares or the "
                        "plan.",
                        asked=asked,
                    )
                )
            asked = "wanted"
        if asked == "best":
            return recommended, recommended
        if asked in by_name:
            return by_name[asked], recommended
        if asked not in names:
            raise Refusal(
                say(
                    "Plan {asked} would measure more than {most_measured} cells.",
                    asked=asked,
                    most_measured=MOST_MEASURED,
                ),
                rule="table-size",
                alternatives=(
                    Alternative(
                        say("Use plan {name}.", name=recommended.name), {"plan": recommended.name}
                    ),
                ),
            )
        same = frozenset(names[asked])
        for scheme in schemes:
            if frozenset(part.margin for part in scheme.measured) == same:
                return scheme, recommended
        return self.scheme(asked, names[asked], budget), recommended  # says why it cannot be had

    def budget(self) -> Fraction:
        """ε (or ρ) to spend: as asked, or the least in thousandths that gives the accuracy asked.

        With a given variance it is 0 here: what each scheme costs follows from its laws.
        For law gaussian with ε and δ it is a ρ, in millionths, that keeps them for any Gaussian noise;
        `calibration` finds what the noise of a scheme allows beyond.
        """
        settings = self.settings
        if settings.within is not None:
            return least_budget(self, settings.within, settings.of)
        if settings.variance is not None:
            return Fraction(0)
        if settings.law != "gaussian":
            assert settings.epsilon is not None
            return settings.epsilon
        if settings.rho is not None:
            return settings.rho
        assert settings.epsilon is not None
        assert settings.delta is not None
        return safe_rho(settings.epsilon, settings.delta)

    def half_width(self, scheme: Scheme, margin: Margin, level: Fraction = laws.COVERAGE) -> int:
        """± how much holds the truth for `level` of a margin's cells, in published units."""
        target = scheme.targets[margin]
        if target.source == KNOWN:
            return 0
        law = scheme.measured[target.source].law
        return math.ceil(
            Fraction(law.half_width(level, math.ceil(target.summed)), self.unit(margin))
        )
