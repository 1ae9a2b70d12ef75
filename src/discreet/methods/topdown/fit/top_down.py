"""The whole tree fitted from the top: the whole first, then the children of one node after another.

Totals come first, by least squares over the tree, made whole and not negative level by level. Then
the table of the whole, then each parent's children given the parent: in memory are the sparse tables
of one level and the block of one parent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....core.control import Control
from ....core.domain import Flags
from ....core.product import Margin, Reals, Shape, Whole, maximal, size
from ...shared.invariants.keep_margins import kept_exactly
from ...shared.invariants.public_margins import Published
from ...shared.rounding import largest_remainder, swap_repair, systematic
from ...shared.synthetic_table import SyntheticTable
from ..tree import Tree
from .block import Pull, Tick, fit_block, projected
from .kept_parts import Cells, Done, Parts
from .rounded import Moved, moved_by
from .targets import Target, Targets
from .whole import whole_children, with_margin

_WORK, _LEAST_SWEEPS = 3e7, 30
"""Cells times children times sweeps at most, but for the least: small blocks are fitted to the end."""
MOST_OF_WHOLE, _MOST = 1000, 100
"""Sweeps at most; an error of the whole is shared out among all below it."""
_CLOSE_OF_WHOLE, _CLOSE = 1e-5, 3e-4
"""A fit ends when a sweep moves no more than this share of a child's records."""
_MOST_STRENGTH, _LEAST_STRENGTH = 1.0, 1e-4
_REPAIRS = 200
TOP, _OF_TOP = "the whole", 0.4
"""The table of the whole takes about this share of the time."""
_TIMES_OF_WHOLE = 50
"""It is gone over more often than a block of children by so much."""


@dataclass(frozen=True)
class Problem:
    """What is fitted: a tree, the other variables, what is known of them, the totals of all nodes."""

    tree: Tree
    shape: Shape
    targets: Sequence[Targets]
    totals: Sequence[Whole]
    """Whole totals of every level's nodes, each the sum of its children's."""
    kept: Sequence[Sequence[Margin]]
    """For each level the margins that whole numbers stay near."""
    fixed: Mapping[int, tuple[Margin, Whole]] = field(default_factory=dict)
    """Below the whole, a margin of a level that is public: nodes by places."""
    published: Published | None = None
    """What is public of the whole."""
    impossible: Callable[[int, int, Whole], Flags] | None = None
    """Which of some cells cannot hold a record of a node of a level; None: all can."""
    printed: Collection[tuple[int, Margin]] = ()
    """The tables for which it is told how far rounding moved them."""
    refined: bool = True
    """Whether what is known best has the last word in every sweep, so that it is kept where a fit ends
    early, and a sweep starts from the one before. Answers from before this was so are fitted as then."""

    def printed_at(self, level: int) -> list[Margin]:
        """Those of a level, in order."""
        return sorted(margin for at, margin in self.printed if at == level)

    def moved(
        self, level: int, at: Whole, counts: Whole, fitted: Reals | Whole
    ) -> tuple[Whole, ...]:
        """How far rounding moved these tables: cells by children."""
        return tuple(
            moved_by(counts, fitted, self.places(margin, at), size(self.shape, margin))
            for margin in self.printed_at(level)
        )

    def pulls(self, level: int, nodes: Sequence[int] | Whole, at: Whole) -> list[Pull]:
        """What is known of every margin of some cells at some nodes of a level, in order."""
        known = [(m, target) for m, target in self.targets[level].items() if m]
        if self.refined:
            known.sort(
                key=lambda one: (float(one[1].precision[nodes].mean()), -size(self.shape, one[0]))
            )
        return [
            _pull(t, nodes, self.places(m, at), size(self.shape, m), self.refined) for m, t in known
        ]

    def barred(self, level: int, node: int, at: Whole) -> Flags:
        """Which of some cells cannot hold a record of a node."""
        if self.impossible is None:
            return np.zeros(len(at), dtype=bool)
        return self.impossible(level, node, at)

    def margin(self, margin: Margin, at: Whole, counts: Reals | Whole) -> Reals:
        """A margin of a sparse table."""
        cells = size(self.shape, margin)
        found = np.bincount(self.places(margin, at), weights=counts, minlength=cells)
        return np.asarray(found, dtype=np.float64)

    def places(self, margin: Margin, at: Whole) -> Whole:
        """Where cells lie in a margin."""
        address = np.zeros(len(at), dtype=np.int64)
        after = size(self.shape, range(len(self.shape)))
        rest = at
        for axis, length in enumerate(self.shape):
            after //= length
            here, rest = rest // after, rest % after
            if axis in margin:
                address = address * length + here
        return address


def whole_totals(
    tree: Tree,
    estimates: Sequence[Reals],
    variances: Sequence[Reals],
    fixed: Mapping[int, tuple[Margin, Whole]],
) -> list[Whole]:
    """Totals of all nodes, whole, not negative, each the sum of its children's; public ones kept."""
    found = [np.array([max(0, round(float(estimates[0][0])))], dtype=np.int64)]
    for level in range(1, tree.depth + 1):
        if level in fixed:
            counts = fixed[level][1]
            found.append(counts.reshape(len(counts), -1).sum(axis=1))
            continue
        here = np.zeros(tree.sizes[level], dtype=np.int64)
        for node in range(tree.sizes[level - 1]):
            children = tree.children(level - 1, node)
            total = int(found[-1][node])
            fitted = projected(estimates[level][children], variances[level][children], float(total))
            here[children] = largest_remainder(fitted, total)
        found.append(here)
    return found


def fit_top_down(problem: Problem, control: Control) -> tuple[list[Cells], Moved]:
    """The cells of every node of the finest level, and how far rounding moved what is printed.

    What an earlier run left is taken over, node by node in the same order.
    """
    tree, parts = problem.tree, Parts(control)
    control.step(0.0, f"fitting {TOP}")
    top = parts.earlier()
    if top is None:
        top = _whole(problem, _told(control, 0.0, _OF_TOP, f"fitting {TOP}"))
        parts.add(top, size(problem.shape, range(len(problem.shape))) * _TIMES_OF_WHOLE)
    nodes, moved = list(top.children), dict(_named(problem, 0, [top]))
    done, work = 0, max(1, sum(_shared_out(tree, level) for level in range(1, tree.depth + 1)))
    for level in range(1, tree.depth + 1):
        strength = None
        found: list[Done] = []
        below: list[Cells] = [nodes[0]] * tree.sizes[level]
        for node, cells in enumerate(nodes):
            children = tree.children(level - 1, node)
            share = _OF_TOP + (1 - _OF_TOP) * done / work
            control.step(share, f"fitting {tree.names[level]}")
            one = parts.earlier()
            if one is None:
                if strength is None:
                    strength = _strength(problem, level, nodes)
                tick = _told(control, share, share, f"fitting {tree.names[level]}")
                one = _split(problem, level, cells, children, strength, tick)
                parts.add(one, len(cells.at) * len(children))
            found.append(one)
            for child, made in zip(children.tolist(), one.children, strict=True):
                below[child] = made
            done += len(children) if len(children) > 1 else 0
        order = np.concatenate([tree.children(level - 1, node) for node in range(len(nodes))])
        for key, table in _named(problem, level, found):
            moved[key] = np.empty_like(table)
            moved[key][order] = table
        nodes = below
    return nodes, moved


def _named(
    problem: Problem, level: int, found: Sequence[Done]
) -> Iterator[tuple[tuple[int, Margin], Whole]]:
    """The differences of a level's printed tables, nodes in the order they were fitted."""
    for i, margin in enumerate(problem.printed_at(level)):
        yield (level, margin), np.concatenate([one.moved[i] for one in found])


def _shared_out(tree: Tree, level: int) -> int:
    """How many nodes of a level are fitted; an only child is its parent."""
    many = np.bincount(tree.parents[level])
    return int(many[many > 1].sum())


def _told(control: Control, start: float, end: float, doing: str) -> Tick:
    """Progress from one share to another while a block is fitted."""
    return lambda share: control.step(start + share * (end - start), doing)


def _whole(problem: Problem, tick: Tick) -> Done:
    """The table of the whole: near its margins, from that of independent variables."""
    total, shape = float(problem.totals[0][0]), problem.shape
    cells = size(shape, range(len(shape)))
    every = np.arange(cells)
    every = every[~problem.barred(0, 0, every)]
    if total <= 0 or len(every) == 0:
        nobody, nothing = Cells(every[:0], np.zeros(0, dtype=np.int64)), np.zeros((0, 1))
        return Done((nobody,), problem.moved(0, nobody.at, nothing.astype(np.int64), nothing))
    known = problem.targets[0]
    prior = np.ones(shape)
    for axis in range(len(shape)):
        side = _one_way(known, axis, shape, total)
        prior = prior * side.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    start = prior.ravel()[every]
    start *= total / start.sum()
    margins = [margin for margin in known if margin]
    strength = _strength_of([(known[m], 0, problem.margin(m, every, start)) for m in margins])
    fitted = fit_block(
        start[:, None],
        np.array([total]),
        problem.pulls(0, [0], every),
        strength,
        parent=None,
        sweeps=most_sweeps(len(every), MOST_OF_WHOLE),
        fixed=_public(problem, every),
        close=_CLOSE_OF_WHOLE,
        tick=tick,
    )[:, 0]
    dense = np.zeros(cells)
    dense[every] = fitted
    counts = _rounded(dense.reshape(shape), int(total), problem).ravel()
    if problem.published is not None:
        counts = _kept(problem, counts, dense)
    at = np.flatnonzero(counts)
    moved = problem.moved(0, np.arange(cells), counts[:, None], dense[:, None])
    return Done((Cells(at, counts[at]),), moved)


def most_sweeps(numbers: int, most: int) -> int:
    """How often a block of so many numbers is gone over at most."""
    return int(np.clip(_WORK / max(1, numbers), _LEAST_SWEEPS, most))


def _public(problem: Problem, every: Whole) -> list[Pull]:
    """What is public of the whole, for cells of it."""
    tables = {} if problem.published is None else problem.published.tables
    return [
        Pull(problem.places(m, every), t.reshape(-1, 1).astype(np.float64), np.ones(1))
        for m, t in tables.items()
    ]


def _kept(problem: Problem, counts: Whole, near: Reals) -> Whole:
    """The table of the whole with records moved until every public margin is as published."""
    assert problem.published is not None
    shape, at = problem.shape, np.flatnonzero(counts)
    rows = np.stack(np.unravel_index(at, shape), axis=1).astype(np.int64)
    axes = range(len(shape))

    def margin(kept: Margin) -> Reals:
        gone = tuple(axis for axis in axes if axis not in kept)
        return np.asarray(near.reshape(shape).sum(axis=gone))

    table = SyntheticTable(shape, rows, counts[at])
    public = problem.published
    made = kept_exactly(table, public.steps, public.tables, margin)
    out = np.zeros(shape, dtype=np.int64)
    np.add.at(out, tuple(made.rows.T), made.counts)
    return out.ravel()


def _rounded(table: Reals, total: int, problem: Problem) -> Whole:
    """The table of the whole in whole numbers, its margins as near as single moves bring them."""
    counts = systematic(table * (total / max(float(table.sum()), 1e-300)))
    short = total - int(counts.sum())
    if short:  # a float's width off
        counts.ravel()[int(np.argmax(counts.ravel()))] += short
    margins = maximal(m for m in problem.kept[0] if m)
    if not margins or table.ndim < 2:
        return counts
    axes = range(table.ndim)
    targets = {m: table.sum(axis=tuple(a for a in axes if a not in m)) for m in margins}
    every = np.arange(table.size)
    allowed = None if problem.impossible is None else ~problem.barred(0, 0, every)
    allowed = None if allowed is None else allowed.reshape(table.shape)
    return swap_repair(counts, targets, allowed=allowed, sweeps=_REPAIRS)


def _one_way(known: Targets, axis: int, shape: Shape, total: float) -> Reals:
    """One variable's margin from the best that was measured of it, ≥ 0, every category a little."""
    found: tuple[float, Reals] | None = None
    for margin, target in known.items():
        if axis not in margin:
            continue
        table = target.values[0].reshape([shape[a] for a in margin])
        gone = tuple(i for i, a in enumerate(margin) if a != axis)
        precision = float(target.precision[0]) / size(shape, (a for a in margin if a != axis))
        if found is None or precision > found[0]:
            found = precision, np.asarray(table.sum(axis=gone))
    if found is None:
        return np.full(shape[axis], 1 / shape[axis])
    side = projected(found[1], np.ones(shape[axis]), total) + 0.5
    return np.asarray(side / side.sum())


def _pull(
    target: Target, nodes: Sequence[int] | Whole, places: Whole, cells: int, refined: bool
) -> Pull:
    """What is known of a margin at some nodes, for the cells that lie at these places of it."""
    held, inverse = np.unique(places, return_inverse=True)
    if len(held) == cells:
        held, inverse = np.arange(cells), places
    return Pull(inverse, target.values[nodes].T[held], target.precision[nodes], refined)


def _split(
    problem: Problem, level: int, cells: Cells, children: Whole, strength: float, tick: Tick
) -> Done:
    """A parent's cells shared out among its children."""
    totals = problem.totals[level][children].astype(np.float64)
    if len(children) == 1 or len(cells.at) == 0:
        same = np.repeat(cells.counts[:, None], len(children), axis=1)
        return Done((cells,) * len(children), problem.moved(level, cells.at, same, same))
    parent = cells.counts.astype(np.float64)
    prior = parent[:, None] * (totals / max(float(totals.sum()), 1.0))[None, :]
    allowed = None
    if problem.impossible is not None:
        barred = [problem.barred(level, child, cells.at) for child in children.tolist()]
        allowed = ~np.stack(barred, axis=1)
        prior *= allowed
    known = problem.fixed.get(level)
    fixed = []
    if known is not None:
        places = problem.places(known[0], cells.at)
        wanted = known[1][children].reshape(len(children), -1).T
        fixed.append(Pull(places, wanted.astype(np.float64), np.ones(len(children))))
    fitted = fit_block(
        prior,
        totals,
        problem.pulls(level, children, cells.at),
        strength,
        parent=parent,
        sweeps=most_sweeps(prior.size, _MOST),
        fixed=fixed,
        close=_CLOSE,
        tick=tick,
    )
    margins = [problem.places(m, cells.at) for m in problem.kept[level]]
    counts = whole_children(fitted, cells.counts, margins, allowed)
    if known is not None:
        counts = with_margin(counts, places, wanted)
    out = []
    for column in counts.T:
        held = np.flatnonzero(column)
        out.append(Cells(cells.at[held], column[held]))
    return Done(tuple(out), problem.moved(level, cells.at, counts, fitted))


def _strength(problem: Problem, level: int, above: Sequence[Cells]) -> float:
    """How strongly children resemble their parents, judged by what was measured of them."""
    tree, found = problem.tree, []
    for node, cells in enumerate(above):
        children = tree.children(level - 1, node)
        whole = float(cells.counts.sum())
        if len(children) < 2 or whole <= 0:
            continue
        for margin, target in problem.targets[level].items():
            if not margin:
                continue
            held = problem.margin(margin, cells.at, cells.counts)
            for child in children.tolist():
                share = float(problem.totals[level][child]) / whole
                found.append((target, child, held * share))
    return _strength_of(found)


def _strength_of(found: Sequence[tuple[Target, int, Reals]]) -> float:
    """1 over how many times its expected value q a count varies about q, as far as can be seen.

    Of variance φq + v, v being the noise, φ is estimated by least squares with weights 1/(q + v)².
    """
    above = below = 0.0
    for target, node, expected in found:
        noise = 1 / float(target.precision[node])
        off = (target.values[node][: len(expected)] - expected) ** 2 - noise
        weight = expected / (expected + noise) ** 2
        above += float((weight * off).sum())
        below += float((weight * expected).sum())
    varies = above / below if below > 0 else 1.0
    return float(np.clip(1 / max(varies, 1e-9), _LEAST_STRENGTH, _MOST_STRENGTH))
