"""One table to be decided: its cells, its people under each prior, and what is out of it already."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.control import Control
from ...core.description import Description
from ...core.question import TableSpec
from ...errors import Refusal
from ...languages import say
from .beliefs import Model
from .binning import BinnedPeople, make_bins, true_sums
from .board import Board, Whole
from .cell_weights import CellPeople, Floats
from .decisions import Decided, Progress, Rule, decide, is_safe
from .groups import Groups, axis_mass, joined, joined_shape, places
from .margins import margin_charges
from .past import Earlier, Past, Split
from .public_people import PublicPeople
from .settings import Settings
from .splitting import split_board, split_rows


@dataclass(frozen=True)
class Result:
    """What came out: safe to store and to publish."""

    values: Whole = field(repr=False)
    decided: Whole = field(repr=False)
    charges: Floats = field(repr=False)
    """By cell, totals included, the largest of all priors."""
    charged: tuple[float, ...]
    """By point of the prior, margins included."""
    solvers: dict[str, int]
    order: list[int]
    """The cells that were decided, in that order, by place."""
    bins: Groups = ()
    """By axis for each category the bin it was joined to; empty: each stands alone."""


@dataclass(frozen=True)
class TablePlan:
    """A table whose totals may come out."""

    shape: tuple[int, ...]
    people: list[list[CellPeople]] = field(repr=False)
    epsilon: float
    rule: Rule
    past: Past
    with_cells: bool
    margin_charges: tuple[float, ...]
    margin_method: str
    bins: tuple[int, ...] = ()
    """How many bins each axis may have; empty: categories stay as they are."""

    @classmethod
    def made(
        cls,
        spec: TableSpec,
        people: PublicPeople,
        settings: Settings,
        before: Past,
        noted: dict[str, str],
        description: Description,
    ) -> TablePlan:
        """The plan of a table; refused where nobody is in it or its totals are unsafe."""
        shape = tuple(len(description.axis(ref)) for ref in spec.axes)
        inside = people.in_cells(spec, description)
        if not len(people.inside(spec, description)):
            raise Refusal(
                say("Nobody of the public populations is in this table."), rule="empty-table"
            )
        epsilon, delta = float(settings.epsilon), float(settings.delta)
        bins = bin_limits(noted.get("bins", ""))
        charges, how = (0.0,) * people.points, "out before"
        if before.earlier is None:
            first = () if bins else shape  # bins begin with the grand total alone
            charges, how = margin_charges(inside, first, epsilon, delta, before.spent)
        cells = int(np.prod([n + 1 for n in bins or shape], dtype=np.int64))
        most = delta / cells if settings.rule == "share" else 1.0
        rule = Rule(delta, settings.order, most, _ranks(spec, settings, description))
        with_cells = noted["cells"] == "yes"
        return cls(shape, inside, epsilon, rule, before, with_cells, charges, how, bins)

    def expected_rows(self) -> int:
        """How many bins the first axis has if every sum is what the prior expects."""
        mass = np.cumsum([0.0, *axis_mass(self.people[0], self.shape, 0)])
        limits = (self.bins[0], *(1 for _ in self.bins[1:]))
        made = BinnedPeople(self.people, self.shape, limits, self.epsilon)
        spent = [a + b for a, b in zip(self.past.spent, self.margin_charges, strict=True)]
        bins = make_bins(
            made, self.rule, spent, lambda _, first, last: round(mass[last]) - round(mass[first])
        )
        return len(bins.ends[0])

    def grouped(self, groups: Groups) -> TablePlan:
        """The plan of the table whose categories are joined to these bins."""
        place, shape = places(groups), joined_shape(groups)
        rule = self.rule
        if rule.priority:  # a bin comes as early as the first of its cells
            ranks = np.full(int(np.prod(shape)), len(place) * max(rule.priority, default=0))
            np.minimum.at(ranks, place, np.array(rule.priority))
            rule = replace(rule, priority=tuple(ranks.tolist()))
        people = [joined(cells, groups) for cells in self.people]
        return replace(self, shape=shape, people=people, rule=rule, bins=())

    def models(self) -> list[Model]:
        """The model under each prior."""
        return [Model.of(cells, self.epsilon) for cells in self.people]

    def fits(self, counts: Whole) -> bool:
        """Whether these counts are possible for these people."""
        model = Model.of(self.people[0], self.epsilon)
        rest = counts - model.shifts
        return bool(((rest >= 0) & (rest <= model.most)).all())

    def run(self, counts: Whole, control: Control | None = None) -> Result:
        """Decide all cells; `counts` are read one by one, after each decision."""
        earlier = self.past.earlier
        if self.bins:
            return self._run_binned(counts, earlier, control)
        if earlier is not None and earlier.split is not None:
            return self._run_split(counts, earlier, earlier.split, control)
        models = self.models()
        shifts = models[0].shifts
        rest = counts - shifts
        progress = self._begun(self._board(models[0].most, rest))
        self._resume(progress, shifts)
        self._decide(progress, models, rest, control)
        return self._result(progress, counts, shifts)

    def _run_binned(
        self, counts: Whole, earlier: Earlier | None, control: Control | None
    ) -> Result:
        """First the bins, or those that were made before, then the cells."""
        if earlier is not None:
            binned = self.grouped(earlier.bins)
            sums = _sums(counts, earlier.bins)
            return replace(binned.run(sums, control), bins=earlier.bins)
        made = BinnedPeople(self.people, self.shape, self.bins, self.epsilon)
        spent = [a + b for a, b in zip(self.past.spent, self.margin_charges, strict=True)]
        bins = make_bins(made, self.rule, spent, true_sums(counts, self.shape))
        groups = bins.groups(self.shape)
        binned, sums = self.grouped(groups), _sums(counts, groups)
        models = binned.models()
        rest = sums - models[0].shifts
        board = binned._board(models[0].most, rest)
        progress = Progress(board, np.zeros(len(rest), np.uint8), bins.spent, bins.broken)
        if len(self.shape) == 1:  # the sums of its bins are its cells
            for cell, count in enumerate(rest.tolist()):
                board.fix(cell, count)
            progress.decided[:] = Decided.RELEASED
        else:
            binned._decide(progress, models, rest, control, judged=True)
        result = binned._result(progress, sums, models[0].shifts)
        solvers = dict(bins.solvers + Counter(result.solvers))
        return replace(result, bins=groups, solvers=solvers)

    def _run_split(
        self, counts: Whole, earlier: Earlier, split: Split, control: Control | None
    ) -> Result:
        """First the totals of what is split, then the cells."""
        people = Model.of(self.people[0], self.epsilon)
        shifts, most = people.shifts, people.most
        rest = counts - shifts
        side, other = (np.indices(self.shape)[a].ravel() for a in (split.axis, 1 - split.axis))
        totals = np.bincount(side, rest, self.shape[split.axis]).astype(np.int64)
        held = np.array(split.of) >= 0
        out = np.bincount(np.array(split.of)[held], totals[held]).astype(np.int64)
        across = np.bincount(other, rest, self.shape[1 - split.axis]).astype(np.int64)
        made = split_board((self.shape[0], self.shape[1]), split, most, out, across)
        models = [Model.of(cells, self.epsilon, made.most) for cells in self.people]
        progress = self._begun(made.board)
        for cell, count in self._out_before(earlier, split, shifts).items():
            progress.board.fix(cell, count)
            progress.decided[cell] = Decided.RELEASED
        for cell in progress.board.implied():
            progress.decided[cell] = Decided.DERIVED
        progress.broken = not all(is_safe(progress.board, model) for model in models)
        unsplit = split_rows(progress, made, models, self.rule, lambda row: int(totals[row]))
        inside = np.isin(side, unsplit) & (progress.decided[: len(counts)] == Decided.OPEN)
        progress.decided[: len(counts)][inside] = Decided.SUPPRESSED
        self._decide(progress, models, rest, control, judged=True)
        return self._result(progress, counts, shifts, (split.axis, unsplit))

    def _out_before(self, earlier: Earlier, split: Split, shifts: Whole) -> dict[int, int]:
        """Cells of rows that are not split, as far as they are out."""
        inner = tuple(slice(0, n - 1) for n in earlier.values.shape)
        values, decided = earlier.values[inner], earlier.decided[inner]
        found = {}
        for cell, place in enumerate(np.ndindex(*self.shape)):
            at = tuple(split.of[k] if axis == split.axis else k for axis, k in enumerate(place))
            alone = split.of.count(split.of[place[split.axis]]) == 1
            if alone and decided[at] == Decided.RELEASED:
                found[cell] = int(values[at] - shifts[cell])
        return found

    def _begun(self, board: Board) -> Progress:
        spent = [a + b for a, b in zip(self.past.spent, self.margin_charges, strict=True)]
        return Progress(board, np.zeros(len(board.left), np.uint8), spent)

    def _decide(
        self,
        progress: Progress,
        models: list[Model],
        rest: Whole,
        control: Control | None,
        judged: bool = False,
    ) -> None:
        """Decide the cells on the sums that are out."""
        for cell in progress.board.implied():
            progress.decided[cell] = Decided.DERIVED
        if self.with_cells:
            if not judged:
                progress.broken = not all(is_safe(progress.board, model) for model in models)
            decide(progress, models, self.rule, lambda cell: int(rest[cell]), control)

    def _board(self, most: Whole, rest: Whole) -> Board:
        """The board with the sums that come out first."""
        if len(self.shape) == 2:
            grid = rest.reshape(self.shape)
            return Board.of_grid(most.reshape(self.shape), grid.sum(axis=1), grid.sum(axis=0))
        one = np.array([rest.sum()], dtype=np.int64)
        none = np.zeros(len(rest), np.int64)
        return Board(none, none, most, one, one.copy())

    def _resume(self, progress: Progress, shifts: Whole) -> None:
        """What is out already is known from the start."""
        earlier = self.past.earlier
        if earlier is None or not self.shape:
            return
        inner = tuple(slice(0, n) for n in self.shape)
        values, decided = earlier.values[inner].ravel(), earlier.decided[inner].ravel()
        for cell in np.flatnonzero(decided == Decided.RELEASED).tolist():
            progress.board.fix(cell, int(values[cell] - shifts[cell]))
            progress.decided[cell] = Decided.RELEASED

    def _result(
        self,
        progress: Progress,
        counts: Whole,
        shifts: Whole,
        unsplit: tuple[int, list[int]] = (0, []),
    ) -> Result:
        """What came out; `unsplit`: the axis and the places whose totals did not."""
        size = len(counts)
        known = progress.board.known[:size]
        values = np.where(known >= 0, known + shifts, 0).reshape(self.shape)
        decided = progress.decided[:size].astype(np.int64).reshape(self.shape)
        charges = np.zeros(len(progress.decided))
        for step in progress.steps:
            charges[step.cell] = max(step.charges, default=0.0)
        charges = charges[:size].reshape(self.shape)
        if self.shape:
            grid = counts.reshape(self.shape)
            values, decided, charges = (
                np.pad(one, [(0, 1)] * len(self.shape)) for one in (values, decided, charges)
            )
            for kept in _margins(len(self.shape)):
                axes = tuple(a for a in range(len(self.shape)) if a not in kept)
                at = tuple(slice(0, n) if a in kept else n for a, n in enumerate(self.shape))
                total, state = grid.sum(axis=axes), np.full(values[at].shape, Decided.RELEASED)
                if kept == (unsplit[0],) and unsplit[1]:
                    total[unsplit[1]], state[unsplit[1]] = 0, Decided.SUPPRESSED
                values[at], decided[at] = total, state
        return Result(
            values.astype(np.int64),
            decided,
            charges,
            tuple(a - b for a, b in zip(progress.spent, self.past.spent, strict=True)),
            dict(Counter(step.solver for step in progress.steps)),
            [step.cell for step in progress.steps],
        )


def _sums(counts: Whole, groups: Groups) -> Whole:
    """The counts of a table whose categories are joined."""
    size = int(np.prod(joined_shape(groups)))
    return np.bincount(places(groups), counts, size).astype(np.int64)


def bin_limits(said: str) -> tuple[int, ...]:
    """How many bins each axis may have, as a question says it.

    >>> bin_limits("eyes=2,hair=3"), bin_limits("")
    ((2, 3), ())
    """
    return tuple(int(part.partition("=")[2]) for part in said.split(",") if part)


def _margins(axes: int) -> list[tuple[int, ...]]:
    """The margins of a table by the axes they keep: one axis each, and none."""
    return [*[(a,) for a in range(axes) if axes > 1], ()]


def _ranks(spec: TableSpec, settings: Settings, description: Description) -> tuple[int, ...]:
    """The public rank of every cell by the categories that come first; empty where none are named."""
    if not settings.priorities:
        return ()
    rank = np.zeros([len(description.axis(ref)) for ref in spec.axes], dtype=np.int64)
    for axis, ref in enumerate(spec.axes):
        codes = description.axis(ref).level.codes
        last = len(settings.priorities)
        ranks = [settings.priorities.index(c) if c in settings.priorities else last for c in codes]
        shape = [1] * len(spec.axes)
        shape[axis] = len(codes)
        rank = rank + np.array(ranks).reshape(shape)
    return tuple(rank.ravel().tolist())
