"""One contestant tried on true tables: protected again and again by the method itself.

Where a table's own law says that every cell is its true count plus one draw of its own, draws are
taken from that law, all at once: the same distribution, a thousand times as fast. Every other table
is measured and fitted anew for each draw. Keys are made up for each draw, so that no perturbation
tried here is one that is published.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..core import true_values
from ..core.cell_law import CellLaw
from ..core.control import Control
from ..core.count_law import CountLaw
from ..core.domain import Count
from ..core.noise_law import AnyLaw, NoiseLaw
from ..core.random_source import RandomSource, system_source, uniform_words
from ..core.table import ProtectedTable, Status, TrueTable
from ..errors import Bug
from ..methods.base import Facts, Method, Plan

Whole = npt.NDArray[np.int64]


class MadeUpKeys:
    """Secrets of one draw, forgotten with it."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(32)

    def derive(self, purpose: str) -> bytes:
        """32 bytes that no data set has."""
        import hashlib

        return hashlib.sha256(self._salt + purpose.encode()).digest()


@dataclass(frozen=True)
class Trial:
    """A plan, the true tables it is measured on, and the interior of every table asked for."""

    method: Method
    plan: Plan
    facts: Facts
    counted: tuple[TrueTable, ...] = field(repr=False)

    def once(self, control: Control) -> tuple[ProtectedTable, ...]:
        """Measured and fitted as a release would be, and not released."""
        tables = [_keyed(table) for table in self.counted] if self.plan.needs_keys else self.counted
        measured = self.method.measure(self.plan, tables, MadeUpKeys(), control)
        return self.method.fit(self.plan, measured, self.facts, control)


def _keyed(table: TrueTable) -> TrueTable:
    """The same table with sums of record keys that are nobody's."""
    cells = true_values.reveal(table)
    words = uniform_words(system_source(), 2 * len(cells.counts)) >> np.uint64(32)
    low, high = words.astype(np.int64).reshape(2, -1)
    return true_values.seal(
        table.domain,
        true_values.Cells(cells.addresses, cells.counts, low, high, cells.weights),
    )


def true_counts(tables: Mapping[Count, TrueTable], count: Count) -> Whole:
    """The interior of one table, every cell, flat."""
    cells = true_values.reveal(tables[count])
    domain = tables[count].domain
    return true_values.dense(domain, cells.addresses, cells.counts).ravel()


def interior(table: ProtectedTable) -> tuple[Whole, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The published interior, flat: values (0 where hidden), possible cells, hidden cells."""
    inside = tuple(slice(0, len(axis)) for axis in table.domain.axes)
    values, status = table.values[inside].ravel(), table.status[inside].ravel()
    hidden = ~table.shown[inside].ravel()
    return np.where(hidden, 0, values), status != Status.STRUCTURAL_ZERO, hidden


def law_of_cells(table: ProtectedTable) -> AnyLaw | None:
    """The law of every interior cell by itself, where the table's own law says there is one."""
    law = table.law
    plain = CellLaw()
    special = ("unit", "mean_weight", "consistency", "negatives", "hidden_below", "display_floor")
    if not law.cells or any(getattr(law, name) != getattr(plain, name) for name in special):
        return None
    inside = law.cells[0]
    axes = len(table.domain.axes)
    if inside.source is None or (inside.axes is not None and len(inside.axes) != axes):
        return None
    if inside.summed != 1:
        return None
    return law.sources[inside.source].law


def drawn(law: AnyLaw, counts: Whole, draws: int, source: RandomSource | None = None) -> Whole:
    """True counts plus one exact draw of their law each, a row for each draw."""
    if isinstance(law, NoiseLaw):
        noise = law.draw(draws * counts.size, source)
        return np.asarray(counts + noise.astype(np.int64).reshape(draws, -1))
    if not isinstance(law, CountLaw):
        raise Bug(f"A law of kind {law.kind} cannot be drawn from here.")
    rows = np.array([law.row_of(count) for count in counts.tolist()])
    after = np.repeat(counts[None, :], draws, axis=0)
    for row in np.unique(rows).tolist():
        places = np.flatnonzero(rows == row)
        noise = law.rows[row].draw(draws * places.size, source)
        after[:, places] += noise.astype(np.int64).reshape(draws, -1)
    return after


def best_guess(law: AnyLaw, records: int = 1, most: int = 64) -> float:
    """How often the best guesser tells two neighbouring counts apart, at even odds; the worst pair.

    ½ (1 + half the distance between both laws), over counts from 0 and up to so many records more.

    >>> from discreet.core.pure_laplace import PureLaplace
    >>> round(best_guess(PureLaplace.of("1")), 3)
    0.731
    """
    last = 0 if isinstance(law, NoiseLaw) else min(most, getattr(law, "max_count", 0) + 1)
    worst = 0.0
    for count in range(last + 1):
        for more in range(1, min(records, 50) + 1):
            worst = max(worst, _apart(law.for_count(count), law.for_count(count + more), more))
    return worst


def _apart(first: NoiseLaw, second: NoiseLaw, shift: int) -> float:
    (a, p), (b, q) = first.masses(), second.masses()
    b += shift
    start, end = min(a, b), max(a + len(p), b + len(q))
    one, two = np.zeros(end - start), np.zeros(end - start)
    one[a - start : a - start + len(p)] = p
    two[b - start : b - start + len(q)] = q
    return float(np.maximum(one, two).sum() / 2)


def count_all(plans: Sequence[Plan], more: Sequence[Count]) -> list[Count]:
    """Every count that the plans and tables need, each once."""
    return list(dict.fromkeys([*(count for plan in plans for count in plan.counts), *more]))
