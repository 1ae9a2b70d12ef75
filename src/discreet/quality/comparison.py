"""Methods side by side on true tables: a rehearsal, for the custodian's own report only.

    compare(data, specs, contestants)  →  Comparison

Every contestant answers all tables as one question. Each table is then protected many times, every
loss is measured on every draw, and what the numbers say is said in sentences where it is significant
over the draws.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.control import Control
from ..core.domain import Count
from ..core.evidence import evidence
from ..core.guarantee import Guarantee, Kind
from ..core.loss import ZcdpLoss
from ..core.noise_law import Floats
from ..core.odds import RARELY, odds_of
from ..core.question import TableSpec
from ..core.table import ProtectedTable, TrueTable
from ..errors import Cancelled, DiscreetError, InputError
from ..languages import number, say, together
from ..workspace import rehearsed
from .contestants import Contestant
from .losses import (
    Bias,
    associations,
    bias_by_band,
    bias_by_category,
    distances,
    losses,
    transitions,
)
from .results import Comparison, Result, Sums
from .trial import Trial, Whole, best_guess, count_all, drawn, interior, law_of_cells, true_counts

if TYPE_CHECKING:
    from ..workspace import DataSet

LEAST_CELLS = 2
MOST_DRAWN = 60_000_000
"""Cells times draws of one table: each is held as a whole number while it is measured."""
MOST_CELLS = 2_000_000
"""Draws are measured in blocks of so many cells."""
FITTED_DRAWS = 5
"""How often a table is protected that has to be fitted anew for each draw, unless more is asked."""
LEAST_LEANING, MOST_LEANING = 0.25, 5
"""A category leans where its cells are off by this much on average; so many are told."""
_SLOW = 0.5
"""A first draw that takes longer, in seconds, has to be fitted anew for each."""
DRAWLESS = ("classic",)
"""Methods that give one table and no other."""
MOST_SECONDS = 120.0
"""A contestant whose first draw takes longer is left out."""


@dataclass(frozen=True)
class Limits:
    """How much is tried."""

    draws: int = 100
    fitted_draws: int = FITTED_DRAWS
    minutes: float = 10.0
    """A grid that would take longer is refused."""
    threads: int = 2


def compare(
    data: DataSet,
    specs: Sequence[TableSpec],
    contestants: Sequence[Contestant],
    limits: Limits | None = None,
    *,
    who: str = "",
    control: Control | None = None,
) -> Comparison:
    """Compare contestants on tables; notes in the ledger that somebody looked."""
    control, wanted = control or Control(), limits or Limits()
    if wanted.draws < 2 or wanted.fitted_draws < 2:
        raise InputError(f"A comparison needs at least 2 draws, got {wanted.draws}.")
    if not specs:
        raise InputError("A comparison needs at least one table, got none. Name its variables.")
    _check_sizes(data, specs, wanted)
    control.step(0.0, "planning")
    plans, left_out = _plans(data, specs, contestants)
    counts = count_all([plan for _, (_, plan, _) in plans], [spec.count for spec in specs])
    with rehearsed.engine(data, "compare", who) as engine:
        control.step(0.02, "counting")
        tables: dict[Count, TrueTable] = dict(
            zip(counts, engine.count(counts, control=control.part(0.02, 0.1)), strict=True)
        )
    before = [true_counts(tables, spec.count) for spec in specs]
    work = _Work(data, list(specs), before, wanted)
    trials = [
        (one, Trial(method, plan, facts, tuple(tables[count] for count in plan.counts)))
        for one, (method, plan, facts) in plans
    ]
    first = _tried(trials, work, control.part(0.1, 0.3), left_out)
    work.check_time([(one, seconds) for one, _, _, seconds in first])
    seconds = work.seconds([(one, took) for one, _, _, took in first])
    control.step(0.3, f"measuring, about {max(1, round(seconds)):,} s")
    results = _all(first, work, control.part(0.3, 1.0))
    found = {"results": results, "truth": work.truth(), "left_out": left_out, "data": data.name}
    found["language"] = data.description.own_language
    return Comparison(f"comparison of {len(plans)} settings on {data.name}", found)


def _check_sizes(data: DataSet, specs: Sequence[TableSpec], wanted: Limits) -> None:
    """Refuse tables too small to measure anything on, and draws that no memory holds."""
    for spec in specs:
        domain = data.described.description.domain(spec.axes)
        cells, name = math.prod(domain.shape), " × ".join(ref.level for ref in spec.axes)
        if cells < LEAST_CELLS:
            raise InputError(
                f"{name} has {cells} cell{'s' if cells != 1 else ''}, too few to measure a method on. Name "
                f"a table with at least {LEAST_CELLS}."
            )
        if cells * wanted.draws > MOST_DRAWN:
            fewer = MOST_DRAWN // cells
            gigabytes = 8 * cells * wanted.draws * max(1, wanted.threads) / 1e9
            less = f"Ask for at most {fewer:,} draws, or" if fewer > 1 else "Ask"
            raise InputError(
                f"{wanted.draws:,} draws of {name} with its {cells:,} cells would take {gigabytes:,.1f} GB of "
                f"memory. {less} for a smaller table."
            )


Planned = tuple[Contestant, tuple[Any, Any, Any]]
Tried = tuple[Contestant, Trial, tuple[ProtectedTable, ...], float]


def _plans(
    data: DataSet, specs: Sequence[TableSpec], contestants: Sequence[Contestant]
) -> tuple[list[Planned], dict[str, str]]:
    plans, left_out = [], {}
    for one in contestants:
        try:
            plans.append((one, one.plan(data, specs)))
        except DiscreetError as error:
            left_out[one.name] = error.message
    if not plans:
        first = next(iter(left_out.values()), "none was named")
        raise InputError(f"No method named can answer these tables: {first}")
    return plans, left_out


def _tried(
    trials: Sequence[tuple[Contestant, Trial]],
    work: _Work,
    control: Control,
    left_out: dict[str, str],
) -> list[Tried]:
    """Each once: its laws, and how long it takes."""
    found: list[Tried] = []
    for place, (one, trial) in enumerate(trials):
        control.step(place / len(trials), f"trying {one.name}")
        start = time.perf_counter()
        late = start + min(60 * work.limits.minutes / 2, MOST_SECONDS)

        def stopped(late: float = late) -> bool:
            return control.cancelled() or time.perf_counter() > late

        try:
            tables = trial.once(Control(cancelled=stopped))
        except Cancelled:
            control.step(place / len(trials), f"trying {one.name}")  # where the user stopped it
            left_out[one.name] = say(
                "One draw takes longer than {seconds} seconds.", seconds=round(late - start)
            )
            continue
        except DiscreetError as error:
            left_out[one.name] = error.message
            continue
        found.append((one, trial, tables, time.perf_counter() - start))
    if not found:
        raise InputError(f"No method could answer: {next(iter(left_out.values()))}")
    return found


def _all(first: Sequence[Tried], work: _Work, control: Control) -> list[Result]:
    """Every contestant, some at a time; a stop takes effect between two."""
    found: dict[int, list[Result]] = {}
    with ThreadPoolExecutor(max(1, work.limits.threads)) as pool:
        try:
            jobs = {pool.submit(work.measured, tried, control): i for i, tried in enumerate(first)}
            for job, place in jobs.items():
                found[place] = job.result()
                control.step(len(found) / len(first), f"measured {first[place][0].name}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [result for place in sorted(found) for result in found[place]]


@dataclass(frozen=True)
class _Work:
    """What every contestant is measured against."""

    data: DataSet = field(repr=False)
    specs: list[TableSpec]
    before: list[Whole] = field(repr=False)
    limits: Limits

    def name(self, place: int) -> str:
        """A table as people say it."""
        return " × ".join(ref.level for ref in self.specs[place].axes)

    def shape(self, place: int) -> tuple[int, ...]:
        """How many categories each axis has."""
        return self.data.described.description.domain(self.specs[place].axes).shape

    def truth(self) -> dict[str, dict[str, float]]:
        """V, p-value and moments of the true tables."""
        found = {}
        for place, before in enumerate(self.before):
            own = losses(before, before[None], self.shape(place))
            names = ("cramers_v", "p_value", "row_mean", "column_mean", "covariance", "slope")
            found[self.name(place)] = {n: float(own[n][0]) for n in names if n in own}
        return found

    def seconds(self, timed: Sequence[tuple[Contestant, float]]) -> float:
        """How long the draws will take, from the first of each; those from a law take next to nothing."""
        slow = sum(took for _, took in timed if took > _SLOW)
        return slow * self.limits.fitted_draws / max(1, min(self.limits.threads, 2))

    def check_time(self, timed: Sequence[tuple[Contestant, float]]) -> None:
        """Refuse a grid that takes too long, with its time and a smaller one."""
        draws, seconds = self.limits.fitted_draws, self.seconds(timed)
        slow = [(one, s) for one, s in timed if s > _SLOW]
        most = self.limits.minutes * 60
        if seconds > most:
            worst = max(slow, key=lambda pair: pair[1])
            fewer = max(2, int(draws * most / seconds))
            raise InputError(
                f"This comparison would take about {seconds / 60:.0f} minutes, more than "
                f"{self.limits.minutes:g}; {worst[0].name} takes {worst[1]:.1f} seconds a draw. Leave it "
                f"out, ask for {fewer} draws of fitted methods, or allow more minutes."
            )

    def measured(self, tried: Tried, control: Control) -> list[Result]:
        """One contestant on every table."""
        contestant, trial, tables, once = tried
        start = time.perf_counter()
        laws = [law_of_cells(table) for table in tables]
        if all(law is not None for law in laws):
            after = [self._from_law(law, place) for place, law in enumerate(laws)]
            hidden = [0.0] * len(tables)
            draws = self.limits.draws
        else:
            draws = self.limits.fitted_draws
            after, hidden = self._again(trial, tables, draws, control)
        seconds = time.perf_counter() - start + once
        return [
            self._result(
                contestant, trial, tables[place], place, after[place], hidden[place], seconds
            )
            for place in range(len(tables))
        ]

    def _from_law(self, law: Any, place: int) -> Whole:
        return drawn(law, self.before[place], self.limits.draws)

    def _again(
        self, trial: Trial, tables: Sequence[ProtectedTable], draws: int, control: Control
    ) -> tuple[list[Whole], list[float]]:
        """So many releases that nobody sees, the first of which is there already."""
        after = [np.empty((draws, len(before)), dtype=np.int64) for before in self.before]
        hidden = [0.0] * len(tables)
        for draw in range(draws):
            quiet = Control(cancelled=control.cancelled)
            quiet.step(0.0, "drawing")
            same = draw == 0 or trial.plan.method in DRAWLESS
            made = tables if same else trial.once(quiet)
            for place, table in enumerate(made):
                values, possible, stars = interior(table)
                after[place][draw] = values
                hidden[place] += float(stars[possible].mean()) / draws
        return after, hidden

    def _result(
        self,
        contestant: Contestant,
        trial: Trial,
        table: ProtectedTable,
        place: int,
        after: Whole,
        hidden: float,
        seconds: float,
    ) -> Result:
        _, possible, _ = interior(table)
        before, shape = self.before[place], self.shape(place)
        after[:, ~possible] = 0
        measures = _in_blocks(
            lambda part: losses(before[possible], part[:, possible]) | associations(part, shape),
            after,
        )
        leaning = self._leaning(place, after)
        sums = () if hidden else self._sums(place, after)
        before, after = before[possible], after[:, possible]
        guarantee = trial.plan.guarantee
        law = law_of_cells(table)
        records = self.data.description.records_per_unit
        own = guarantee.kind is not Kind.DP and law is not None
        risk = best_guess(law, records) if own and law is not None else _ceiling(guarantee)
        shown = (after == 1) | (after == 2)
        right = int((shown & (after == before)).sum())
        return Result(
            contestant,
            self.name(place),
            int(possible.sum()),
            len(after),
            risk,
            str(guarantee.kind),
            guarantee.sentence(),
            measures,
            transitions(before, after),
            bias_by_band(before, after),
            distances(before, after),
            leaning,
            guarantee.odds,
            _evidence(guarantee),
            hidden,
            right / int(shown.sum()) if shown.any() else None,
            seconds,
            sums,
        )

    def _sums(self, place: int, after: Whole) -> tuple[Sums, ...]:
        """What the cells of a table sum to, by each of its variables."""
        domain = self.data.described.description.domain(self.specs[place].axes)
        true = self.before[place].reshape(domain.shape)
        mean = after.mean(axis=0).reshape(domain.shape)
        found = []
        for axis, names in enumerate(domain.axes):
            gone = tuple(i for i in range(true.ndim) if i != axis)
            labels = tuple(together(category.label) for category in names.level.categories)
            places = names.variable.kind == "geography"
            sums = true.sum(axis=gone).astype(np.float64), mean.sum(axis=gone)
            found.append(Sums(names.level.name, labels, *sums, places))
        return tuple(found)

    def _leaning(self, place: int, after: Whole) -> tuple[Bias, ...]:
        """The categories whose cells lean one way, largest first; a few."""
        domain = self.data.described.description.domain(self.specs[place].axes)
        found = [
            one
            for axis, names in enumerate(domain.axes)
            for one in bias_by_category(
                self.before[place],
                after,
                domain.shape,
                axis,
                [f"{names.level.name} {category.code}" for category in names.level.categories],
            )
            if abs(one.mean) > max(LEAST_LEANING, 5 * one.error)
        ]
        return tuple(sorted(found, key=lambda one: -abs(one.mean))[:MOST_LEANING])


def _evidence(guarantee: Guarantee) -> str:
    """What the largest likelihood ratio is called; nothing where no ε says it."""
    if guarantee.epsilon is None or guarantee.kind is not Kind.DP or guarantee.epsilon > 1000:
        return ""
    known = evidence(guarantee.epsilon)
    ratio = number(f"{float(known.ratio):.3g}")
    return say("{words} (ratio {ratio})", words=known.words, ratio=ratio)


def _in_blocks(measure: Callable[[Whole], dict[str, Floats]], after: Whole) -> dict[str, Floats]:
    size = max(1, MOST_CELLS // max(1, after.shape[1]))
    parts = [measure(after[at : at + size]) for at in range(0, len(after), size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _ceiling(guarantee: Guarantee) -> float:
    """How often the best guesser is right at most, by the guarantee alone; 1 where it has none."""
    if guarantee.rho is not None:
        loss = ZcdpLoss(guarantee.rho).to_approximate(RARELY)
        return float(odds_of(loss.epsilon, loss.delta).rightly)
    if guarantee.kind is not Kind.DP or guarantee.epsilon is None or guarantee.epsilon <= 0:
        return 1.0
    return float(odds_of(guarantee.epsilon, guarantee.delta or 0).rightly)
