"""From estimates to one synthetic table: the modern fit and the classic one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....core.control import Control
from ....core.product import (
    Margin,
    Reals,
    Rows,
    Shape,
    Whole,
    closure,
    margin_of_rows,
    maximal,
)
from ...shared.invariants.keep_margins import kept_exactly, raked, whole_with
from ...shared.invariants.public_margins import Published, forbidden_with
from ...shared.residuals import Residual, Residuals, centre, rebuild
from ...shared.synthetic_table import SyntheticTable, whole_table
from ..measured_tables import Measured
from ..plan.bound import farthest_out, tables_beyond, within_bounds
from .classic import Features, Objective, solve_program
from .column_generation import Limits, fit_sparse
from .dense import MOST_RANK, DenseFit
from .model import FourierModel, ResidualModel, Targets, fit_weights, model_of
from .spread import spread_out

if TYPE_CHECKING:
    from ..design import Design

_STARTS = 400
_LOUD = 10.0
"""With more noise than this in a cell, what rounding adds is not worth repairing."""
_TIMES_HEAVIER, _HEAVIER = 5, 4.0


def simplex(values: Reals, total: float) -> Reals:
    """The nearest list of numbers ≥ 0 with this sum.

    >>> simplex(np.array([3.0, -1.0, 2.0]), 4.0).tolist()
    [2.5, 0.0, 1.5]
    """
    if total <= 0:
        return np.zeros_like(values)
    ordered = np.sort(values)[::-1]
    level = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered > level)[-1]
    return np.asarray(np.maximum(values - level[last], 0.0), dtype=np.float64)


def one_way_margins(
    shape: Shape, residuals: Mapping[Margin, Residual], total: float
) -> list[Reals]:
    """Every one-way margin, ≥ 0 and with the total; even where nothing is known of an axis."""
    out = []
    for axis, n in enumerate(shape):
        known = residuals.get((axis,))
        if known is None or known.precision <= 0:
            out.append(np.full(n, total / n))
        else:
            out.append(simplex(rebuild(shape, residuals, (axis,)), total))
    return out


def filled(
    residuals: Mapping[Margin, Residual], one_way: Sequence[Reals], total: float
) -> Residuals:
    """Residuals that were not measured, filled as if their variables were independent."""
    weight = max((r.precision for m, r in residuals.items() if len(m) > 1), default=0.0)
    weight = weight or max((r.precision for m, r in residuals.items() if len(m) == 1), default=1.0)
    out: Residuals = {}
    for margin, residual in residuals.items():
        if residual.precision > 0 or len(margin) < 2:
            out[margin] = residual
            continue
        product: Reals = np.array(total if total > 0 else 0.0)
        for axis in margin:
            product = np.multiply.outer(product, one_way[axis] / max(total, 1e-9))
        out[margin] = Residual(centre(product), weight)
    return out


def fit_modern(
    design: Design, tables: Sequence[Whole], residuals: Residuals, control: Control
) -> SyntheticTable:
    """Non-negative least squares, the box checked, then whole numbers with the total kept."""
    shape = design.shape
    total = design.total
    if total is None:
        total = max(0, round(float(residuals[()].table)))
    if total == 0:
        return SyntheticTable(shape, np.zeros((0, len(shape)), np.int64), np.zeros(0, np.int64))
    asked = set(closure(design.margins))
    known = {m: r for m, r in residuals.items() if r.precision > 0 or m in asked}
    one_way = one_way_margins(shape, known, float(total))
    complete = filled(known, one_way, float(total))
    weights = fit_weights(complete)
    forbidden = forbidden_with(design.workload.forbidden, design.published)
    targets = Targets(shape, weights, forbidden)
    if design.exact and (taken := _taken(design.published, tables[0], total, targets)) is not None:
        return taken
    model = model_of(targets)
    if isinstance(model, ResidualModel) and model.exact_pricing and model.rank > MOST_RANK:
        made = _fit_dense(model, one_way, total, control)
        if design.published is None:
            return made
        return _keep(design.published, made.rows, made.counts.astype(np.float64), targets)
    start = _start(shape, one_way, targets)
    fitted = fit_sparse(model, start, limits_for(model.rank, model.exact_pricing), control)
    rows, mass = _with_some(start, fitted.rows, fitted.weights)
    if not design.allocation.dropped and model.exact_pricing:
        rows, mass = _heavier(design, tables, targets, rows, mass, control)
        bounded = within_bounds(design, tables, rows, mass, control)
        rows, mass = _with_some(start, *bounded)
    allowed = targets.allowed if targets.forbidden else None
    if design.published is not None:
        made = _keep(design.published, rows, mass, targets)
    else:
        repaired = design.kept if design.allocation.rms < _LOUD else ()
        made = whole_table(shape, rows, mass, total, margins=repaired, allowed=allowed)
    return _spread(design, tables, made, rows, mass, allowed, control)


def _with_some(start: Rows, rows: Rows, mass: Reals) -> tuple[Rows, Reals]:
    """The cells of a fit; one of the first where noise has left none, since there are records."""
    return (rows, mass) if len(rows) else (start[:1], np.ones(1))


def _taken(
    published: Published | None, noisy: Whole, total: int, targets: Targets
) -> SyntheticTable | None:
    """A measured table as it is, but for cells below 0, empty cells and the total."""
    rows = np.argwhere(noisy > 0)
    rows = rows[targets.allowed(rows) > 0]
    mass = noisy[tuple(rows.T)].astype(np.float64)
    if len(rows) == 0:
        return None
    if published is not None:
        return _keep(published, rows, mass, targets)
    return whole_table(targets.shape, rows, mass, total)


def _heavier(
    design: Design,
    tables: Sequence[Whole],
    targets: Targets,
    rows: Rows,
    mass: Reals,
    control: Control,
) -> tuple[Rows, Reals]:
    """The fit again with more weight on tables that have a number beyond its bound.

    That brings such a number back at little cost to the others; a table within all bounds need not
    be near anything.
    """
    residuals = dict(targets.residuals)
    for _ in range(_TIMES_HEAVIER):
        beyond = set(closure(tables_beyond(design, tables, rows, mass))) - {()}
        if not beyond:
            break
        for margin in beyond & residuals.keys():
            r = residuals[margin]
            residuals[margin] = Residual(r.table, _HEAVIER * r.precision)
        model = model_of(Targets(targets.shape, residuals, targets.forbidden))
        fitted = fit_sparse(model, rows, limits_for(model.rank, model.exact_pricing), control)
        if len(fitted.rows) == 0:
            break
        rows, mass = fitted.rows, fitted.weights
    return rows, mass


def _spread(
    design: Design,
    tables: Sequence[Whole],
    made: SyntheticTable,
    rows: Rows,
    mass: Reals,
    allowed: Callable[[Rows], Reals] | None,
    control: Control,
) -> SyntheticTable:
    """The whole table spread over more cells, unless a bound or a published margin speaks against."""
    shape, published = design.shape, design.published
    wide = list(dict.fromkeys([*maximal(design.margins), *maximal(design.kept)]))
    if published is not None and design.form == 1:
        aims = {m: made.margin(m).astype(np.float64) for m in wide}
    else:
        if published is not None:
            rows, mass = raked(shape, rows, mass, published.tables, allowed or _anywhere)
        scaled = mass * (made.total / mass.sum())
        aims = {m: margin_of_rows(rows, shape, m, scaled) for m in wide}
        if published is not None:
            aims |= {m: t.astype(np.float64) for m, t in published.tables.items()}
    noise = design.allocation.rms**2 if math.isfinite(design.allocation.rms) else 0.0
    out = spread_out(made, aims, noise=noise, allowed=allowed, control=control)
    if published is not None:
        out = kept_exactly(out, published.steps, published.tables)
    beyond = 0 if out is made else farthest_out(design, tables, out)[1]
    return made if beyond and beyond > farthest_out(design, tables, made)[1] else out


def _anywhere(rows: Rows) -> Reals:
    return np.ones(len(rows))


def _keep(published: Published, rows: Rows, mass: Reals, targets: Targets) -> SyntheticTable:
    """Whole counts near the fit whose margins are exactly those published."""
    shape = targets.shape
    rows, mass = raked(shape, rows, mass, published.tables, targets.allowed)
    return kept_exactly(
        whole_with(shape, rows, mass, published.total),
        published.steps,
        published.tables,
        lambda margin: margin_of_rows(rows, shape, margin, mass),
    )


def _fit_dense(
    model: ResidualModel, one_way: Sequence[Reals], total: int, control: Control
) -> SyntheticTable:
    """All cells at once, from the table of independent variables."""
    fit = DenseFit(model, total, control)
    first: Reals = np.array(float(total))
    for side in one_way:
        first = np.multiply.outer(first, (side + 0.5) / (side + 0.5).sum())
    return fit.whole(fit.run(first))


def limits_for(rank: int, exact: bool) -> Limits:
    """How hard to try: batches grow with the rank; local search stops on small gains."""
    batch = min(150 if exact else 400, max(40, rank // 2))
    if exact:
        return Limits(batch=batch, tolerance=0.01, steps=300, most_cells=6000)
    return Limits(batch=batch, tolerance=0.001, steps=60, most_cells=2600)


def _start(shape: Shape, one_way: Sequence[Reals], targets: Targets) -> Rows:
    """Cells to begin with: drawn by independence from the one-way margins, a fixed seed."""
    random = np.random.default_rng(20070611)
    sides = []
    for side in one_way:
        share = side + side.sum() * 0.02 / len(side) + 1e-9
        sides.append(random.choice(len(side), _STARTS, p=share / share.sum()))
    rows = np.unique(np.stack(sides, axis=1), axis=0).astype(np.int64)
    allowed = rows[targets.allowed(rows) > 0]
    if len(allowed):
        return allowed[:: max(1, len(allowed) // 200)]
    grid = np.stack([random.integers(0, n, 200_000) for n in shape], axis=1)
    allowed = grid[targets.allowed(grid) > 0]
    return np.unique(allowed[:50], axis=0) if len(allowed) else rows[:1]


def fit_classic(
    design: Design, tables: Sequence[Whole], residuals: Residuals, control: Control
) -> SyntheticTable:
    """barak §3.3: the linear program, then every weight to its nearest integer."""
    coding = design.coding
    assert coding is not None
    forbidden = coding.forbidden(design.workload.forbidden)
    target = np.concatenate([table.ravel() for table in tables]).astype(np.float64)
    features = Features(coding.shape, design.allocation.measured, forbidden)
    if design.treatment.in_margins and design.settings.fourier:
        # §4.1, errors in reported margins: the noisy margins that the noisy coefficients mean
        rate = design.allocation.measured[0].rate
        features = Features(
            coding.shape, [Measured(m, (), rate) for m in design.margins], forbidden
        )
        target = np.concatenate(
            [rebuild(coding.shape, residuals, m).ravel() for m in design.margins]
        )
    start = _warm(features, target, control)
    asked = design.treatment.objective  # shift has no table: records are those of the first program
    objective: Objective = "largest" if asked == "shift" else asked
    program = solve_program(features, target, objective, start=start, settled=True, control=control)
    counts = np.rint(program.weights).astype(np.int64)
    return SyntheticTable.of(coding.axes, coding.decode(program.rows), counts)


def _warm(features: Features, target: Reals, control: Control) -> Rows | None:
    """Cells for the program to begin with: a few steps of least squares over coefficients."""
    if features.few or not features.parities or features.banned is not None:
        return None
    residuals = {
        m.margin: Residual(np.full((1,) * len(m.margin), value / 2 ** len(m.margin)), weight)
        for m, value, weight in zip(
            features.measured,
            target,
            (2.0 ** len(m.margin) * float(m.rate) ** 2 / 2 for m in features.measured),
            strict=True,
        )
    }
    model = FourierModel(Targets(features.shape, residuals))
    first, _ = features.best(target, features.count)
    limits = Limits(batch=max(40, features.count // 2), tolerance=0.001, steps=30)
    return fit_sparse(model, first, limits, control).rows
