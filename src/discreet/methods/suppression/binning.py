"""Categories joined to bins by safe splitting (nabar §5.1 and Algorithm 2, SafeToSplit).

At first everybody is in one row and one column, whose total is out. Then the bin with the most prior
mass is split at the median of that mass, and the sum of its one half comes out (the other half's
follows), rows first, then columns, until an axis has as many bins as it may. A split is decided from what
is out: its chance to be unsafe is charged to δ like a cell's, and its sum is read only after that. A
bin whose split δ does not bear stays as it is; the others go on.

Given their sums, rows are independent of one another, so that their splits are exact in one dimension:
with half A of v in a row of s, P(v) ∝ weight of A(v) · weight of B(s − v), and everybody's belief is that
of a cell with their half's people. A split of columns is decided on the board of `splitting`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .beliefs import Model
from .board import Whole
from .cell_weights import CellLaw, CellPeople, Flags, pooled
from .decisions import Progress, Rule, attempt
from .groups import Groups, Part, axis_mass, heaviest, joined, median, numbered
from .past import Split
from .splitting import split_board

Reader = Callable[[int, int, int], int]
"""An axis, a first category and the one after the last → the true sum of these."""


@dataclass(frozen=True)
class BinnedPeople:
    """The people of a table, by point of the prior, and how many bins each axis may have."""

    people: Sequence[Sequence[CellPeople]] = field(repr=False)
    shape: tuple[int, ...]
    limits: tuple[int, ...]
    epsilon: float

    def pooled(self, point: int, part: Part) -> CellLaw:
        """The law of the sum of some categories of the first axis."""
        row = len(self.people[point]) // self.shape[0]
        return pooled(self.people[point][part[0] * row : part[1] * row])


@dataclass
class Bins:
    """Bins as they are made; everything in it is public."""

    ends: list[list[Part]]
    """By axis."""
    sums: list[dict[Part, int]]
    """By axis the sum of each bin, beyond the smallest there can be."""
    spent: list[float]
    """What was spent of δ, by point of the prior."""
    broken: bool = False
    """A sum that came out is outside ε: nothing more is released."""
    solvers: Counter[str] = field(default_factory=Counter)

    def groups(self, shape: tuple[int, ...]) -> Groups:
        """By axis for each category its bin."""
        return tuple(numbered(ends, size) for ends, size in zip(self.ends, shape, strict=True))

    def divide(self, axis: int, part: Part, middle: int, first_sum: int) -> None:
        """A bin is split, and the sum of its first half is out."""
        halves = (part[0], middle), (middle, part[1])
        self.ends[axis].remove(part)
        self.ends[axis] += halves
        total = self.sums[axis].pop(part)
        self.sums[axis] |= {halves[0]: first_sum, halves[1]: total - first_sum}


def make_bins(made: BinnedPeople, rule: Rule, spent: Sequence[float], read: Reader) -> Bins:
    """Split while δ bears it. `read` is asked for a sum only after it was decided to release it.

    The grand total is decided already, and `spent` includes its charge.
    """
    whole: Part = (0, made.shape[0])
    laws = [made.pooled(point, whole) for point in range(len(made.people))]
    total = read(0, *whole) - laws[0].shift
    ends: list[list[Part]] = [[(0, size)] for size in made.shape]
    bins = Bins(ends, [{some[0]: total} for some in ends], list(spent))
    bins.broken = not all(bool(law.safe(made.epsilon)[total]) for law in laws)
    for axis, split in zip(range(len(made.shape)), (_split_row, _split_column), strict=False):
        mass = axis_mass(made.people[0], made.shape, axis)
        refused: set[Part] = set()
        while len(bins.ends[axis]) < made.limits[axis] and not bins.broken:
            wide = [one for one in bins.ends[axis] if one[1] - one[0] > 1 and one not in refused]
            if not wide:
                break
            part = heaviest(mass, wide)
            if not split(bins, made, rule, part, median(mass, part), read):
                refused.add(part)
    return bins


def split_chance(
    first: CellLaw, second: CellLaw, total: int, epsilon: float
) -> tuple[float, Flags]:
    """The chance that a row's split is unsafe given its sum, and by the first half's sum whether it is."""
    counts = np.arange(total + 1)
    fits = (counts <= first.most) & (total - counts <= second.most)
    unsafe = np.ones(total + 1, dtype=bool)
    logged = np.full(total + 1, -np.inf)
    one, two = counts[fits], total - counts[fits]
    logged[fits] = first.log_weight[one] + second.log_weight[two]
    unsafe[fits] = ~(first.safe(epsilon)[one] & second.safe(epsilon)[two])
    most = float(logged.max())
    if not np.isfinite(most):
        return 1.0, unsafe
    weight = np.exp(logged - most)
    return min(1.0, float(weight[unsafe].sum() / weight.sum())), unsafe


def _split_row(
    bins: Bins, made: BinnedPeople, rule: Rule, part: Part, middle: int, read: Reader
) -> bool:
    """Decide the split of a row, exactly; whether it was made."""
    halves = (part[0], middle), (middle, part[1])
    total = bins.sums[0][part]
    charges, unsafe, shift = [], [], 0
    for point, spent in enumerate(bins.spent):
        first, second = (made.pooled(point, half) for half in halves)
        chance, outside = split_chance(first, second, total, made.epsilon)
        if chance > min(rule.delta - spent, rule.most):
            return False
        charges.append(chance)
        unsafe.append(outside)
        shift = first.shift
    count = read(0, *halves[0]) - shift
    bins.spent = [spent + charge for spent, charge in zip(bins.spent, charges, strict=True)]
    bins.broken = any(bool(one[count]) for one in unsafe)
    bins.solvers["split, exact"] += 1
    bins.divide(0, part, middle, count)
    return True


def _split_column(
    bins: Bins, made: BinnedPeople, rule: Rule, part: Part, middle: int, read: Reader
) -> bool:
    """Decide the split of a column on the sums of all rows and columns; whether it was made."""
    before = sorted(bins.ends[1])
    after = sorted([*(one for one in before if one != part), (part[0], middle), (middle, part[1])])
    split = Split(1, tuple(_holder(one, before) for one in after))
    groups = numbered(bins.ends[0], made.shape[0]), numbered(after, made.shape[1])
    people = [joined(cells, groups) for cells in made.people]
    plain = Model.of(people[0], made.epsilon)
    sums = [
        np.array([bins.sums[a][one] for one in sorted(bins.ends[a])], dtype=np.int64)
        for a in (0, 1)
    ]
    shape = len(sums[0]), len(after)
    board = split_board(shape, split, plain.most, sums[1], sums[0])
    place, total = after.index((part[0], middle)), bins.sums[1][part]
    if not board.groups:  # nobody uncertain in one half: its sum is known
        alone = int(plain.most.reshape(shape)[:, place].sum()) > 0
        bins.divide(1, part, middle, total if alone else 0)
        return True
    rest = board.rest_of[place]
    models = [Model.of(cells, made.epsilon, board.most) for cells in people]
    progress = Progress(board.board, np.zeros(len(board.board.left), np.uint8), list(bins.spent))
    shift = int(plain.shifts.reshape(shape)[:, place].sum())

    def read_rest() -> int:
        return total - (read(1, part[0], middle) - shift)

    if not attempt(progress, models, rule, rest, read_rest):
        return False
    bins.spent, bins.broken = progress.spent, progress.broken
    bins.solvers.update(f"split, {step.solver}" for step in progress.steps)
    bins.divide(1, part, middle, total - int(progress.board.known[rest]))
    return True


def _holder(one: Part, parts: Sequence[Part]) -> int:
    return next(k for k, other in enumerate(parts) if other[0] <= one[0] < other[1])


def true_sums(counts: Whole, shape: tuple[int, ...]) -> Reader:
    """Reads sums of a table's true counts."""

    def read(axis: int, first: int, last: int) -> int:
        return int(counts.reshape(shape).take(range(first, last), axis=axis).sum())

    return read
