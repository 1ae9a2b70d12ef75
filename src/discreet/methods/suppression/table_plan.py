"""One table to be decided: its cells, its people under each prior, and what is out of it already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.control import Control
from ...core.description import Description
from ...core.question import TableSpec
from ...errors import Refusal
from ...languages import number, say
from .beliefs import Model
from .board import Board, Whole
from .cell_weights import CellPeople, Floats
from .decisions import Decided, Progress, Rule, decide, is_safe
from .margins import margins_risk, total_risk
from .past import Earlier, Past, Split
from .planning import expected, prior_room
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
        charges, how = (0.0,) * people.points, "out before"
        if before.earlier is None:
            charges, how = margin_charges(inside, shape, epsilon, delta, before.spent)
        cells = int(np.prod([n + 1 for n in shape], dtype=np.int64))
        most = delta / cells if settings.rule == "share" else 1.0
        rule = Rule(delta, settings.order, most, _ranks(spec, settings, description))
        return cls(shape, inside, epsilon, rule, before, noted["cells"] == "yes", charges, how)

    def outlook(self) -> str:
        """What to expect, in a sentence."""
        totals = max(self.margin_charges)
        left = self.rule.delta - max(self.past.spent) - totals
        guess = expected(self.people[0], self.shape, self.epsilon, left)
        return say(
            "exact or a star; about {stars} of {cells} cells will be stars, and about "
            "{totals} of δ = {delta} will be spent",
            stars=guess.stars,
            cells=guess.cells,
            totals=number(f"{totals + guess.spent:.2g}"),
            delta=number(f"{self.rule.delta:.3g}"),
        )

    def warnings(self) -> tuple[str, ...]:
        """What the asker should know before anything comes out."""
        spent = max(self.past.spent)
        said = [
            say(
                "Earlier releases have spent {spent} of δ = {delta}.",
                spent=number(f"{spent:.3g}"),
                delta=number(f"{self.rule.delta:.3g}"),
            )
        ]
        rooms = [prior_room(cells, self.epsilon, self.rule.delta) for cells in self.people]
        low, high = min(room.low for room in rooms), max(room.high for room in rooms)
        said = said if spent else []
        mean: str = number(f"{rooms[0].mean:.3g}")
        if len(rooms) > 1:
            last = number(f"{rooms[-1].mean:.3g}")
            mean = say("{low} to {high}", low=mean, high=last)
        said.append(
            say(
                "The prior may be off: on average {mean} is assumed; were it below {low} or "
                "above {high} in truth, the grand total alone would move beliefs by more than "
                "ε with a chance above δ = {delta}.",
                mean=mean,
                low=number(f"{low:.3g}"),
                high=number(f"{high:.3g}"),
                delta=number(f"{self.rule.delta:.3g}"),
            )
        )
        return tuple(said)

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
        if earlier is not None and earlier.split is not None:
            return self._run_split(counts, earlier, earlier.split, control)
        models = self.models()
        shifts = models[0].shifts
        rest = counts - shifts
        progress = self._begun(self._board(models[0].most, rest))
        self._resume(progress, shifts)
        self._decide(progress, models, rest, control)
        return self._result(progress, counts, shifts)

    def _run_split(
        self, counts: Whole, earlier: Earlier, split: Split, control: Control | None
    ) -> Result:
        """First the totals of what is split, then the cells."""
        people = Model.of(self.people[0], self.epsilon)
        shifts, most = people.shifts, people.most
        rest = counts - shifts
        made = split_board((self.shape[0], self.shape[1]), split, most, rest)
        models = [Model.of(cells, self.epsilon, made.most) for cells in self.people]
        progress = self._begun(made.board)
        side = np.indices(self.shape)[split.axis].ravel()
        for cell, count in self._out_before(earlier, split, shifts).items():
            progress.board.fix(cell, count)
            progress.decided[cell] = Decided.RELEASED
        for cell in progress.board.implied():
            progress.decided[cell] = Decided.DERIVED
        progress.broken = not all(is_safe(progress.board, model) for model in models)
        totals = np.bincount(side, rest, self.shape[split.axis]).astype(np.int64)
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


def _margins(axes: int) -> list[tuple[int, ...]]:
    """The margins of a table by the axes they keep: one axis each, and none."""
    return [*[(a,) for a in range(axes) if axes > 1], ()]


def margin_charges(
    people: Sequence[Sequence[CellPeople]],
    shape: tuple[int, ...],
    epsilon: float,
    delta: float,
    spent: Sequence[float],
) -> tuple[tuple[float, ...], str]:
    """What all totals together are charged under each prior; refused where δ does not bear it."""
    found = []
    for cells, before in zip(people, spent, strict=True):
        if len(shape) < 2:
            found.append((total_risk(cells, epsilon), "exact"))
        else:
            sides = shape[0], shape[1]
            found.append(margins_risk(tuple(cells), sides, epsilon, delta - before))
    charges = tuple(one for one, _ in found)
    _refuse_unsafe(charges, spent, delta)
    return charges, found[0][1]


def _refuse_unsafe(charges: Sequence[float], spent: Sequence[float], delta: float) -> None:
    for charge, before in zip(charges, spent, strict=True):
        if charge + before > delta:
            told = say(
                "The totals of this table cannot be released: the chance that they tell too "
                "much about somebody is more than δ = {delta} allows.",
                delta=number(f"{delta:.3g}"),
            )
            if before:
                told = say(
                    "The totals of this table cannot be released: the chance that they tell too "
                    "much about somebody is more than δ = {delta}, of which {delta_2} is left, "
                    "allows.",
                    delta=number(f"{delta:.3g}"),
                    delta_2=number(f"{delta - before:.3g}"),
                )
            raise Refusal(
                told,
                rule="unsafe-totals",
                alternatives=(
                    say("use fewer or broader categories, so that more people share each"),
                ),
            )


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
