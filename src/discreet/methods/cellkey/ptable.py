"""A p-table as this method works with it: the law of core with its design, its audit, other keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ...core.audit import Audit, audit_pairs
from ...core.composition import pairs_of
from ...core.count_law import CountLaw, Row, check_keys
from ...core.exact import Exact, exact
from ...core.law import Law
from ...errors import LawError
from .quantisers import QUANTISERS, quantised

FRACTIONAL = 10**8
"""The keys of R cellKey and tau-Argus: eight decimals."""


@dataclass(frozen=True)
class Loss:
    """What fewer keys cost: the worst row's bias, relative error of variance, outcomes lost."""

    keys: int
    bias: Fraction
    variance_error: Fraction
    outcomes_lost: int
    outcomes: int


@dataclass(frozen=True, repr=False)
class PTable(CountLaw):
    """A law for each count, every one with a row.

    `support` is what each row was designed to reach; what `keys` are too few for is in
    `unreachable`.
    """

    support: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    _least_cycle: ClassVar[int] = 1

    @property
    def law(self) -> CountLaw:
        """The law alone, as files carry it."""
        return CountLaw(self.keys, self.rows, self.cycle, self.name, self.parameters)

    @classmethod
    def from_law(cls, law: Law, *, zeros: str = "perturbed", negatives: str = "allowed") -> PTable:
        """The p-table of one law for every count (sadeghi's ABS method).

        `zeros="kept"` leaves empty cells at 0 (ABS mode): no finite ε then covers an empty cell.
        `negatives="clipped"` publishes 0 for whatever falls below it: a post-process, so (ε, δ)
        hold, but small counts are biased upwards.

        >>> from discreet.core.law_builders import max_entropy
        >>> table = PTable.from_law(max_entropy(3, "1"), negatives="clipped")
        >>> [min(row.weights) for row in table.rows]
        [0, -1, -2, -3]
        """
        check_choice(zeros, "zeros", ("perturbed", "kept"))
        check_choice(negatives, "negatives", ("allowed", "clipped"))
        deepest = -law.start if negatives == "clipped" else int(zeros == "kept")
        rows: list[Row] = []
        support: list[tuple[int, ...]] = []
        for count in range(max(deepest, 0) + 1):
            if count == 0 and zeros == "kept":
                rows.append(Row((0,), (law.total,)))
                support.append((0,))
                continue
            floor = -count if negatives == "clipped" else law.start
            cut = [(max(z, floor), w) for z, w in enumerate(law.weights, law.start)]
            rows.append(Row.of(cut))
            support.append(tuple(sorted({z for z, _ in cut})))
        parameters = {**law.parameters, "zeros": zeros, "negatives": negatives}
        return cls(law.total, tuple(rows), 1, law.name, parameters, tuple(support))

    @cached_property
    def large(self) -> Row:
        """The law of a large count: the last row, or the mixture of the rows that take turns.

        >>> table = PTable(256, (Row((0,), (256,)), Row((1,), (256,)), Row((-1,), (256,))), cycle=2)
        >>> table.large.pmf
        {-1: Fraction(1, 2), 1: Fraction(1, 2)}
        """
        served = self.rows[-self.cycle :]
        if len(served) == 1:
            return served[0]
        values = sorted({v for row in served for v in row.weights})
        return Row.of([(v, sum(row.weights.get(v, 0) for row in served)) for v in values])

    @property
    def zeros_kept(self) -> bool:
        """Whether empty cells are left at 0."""
        return self.rows[0].fixed

    @property
    def allows_negatives(self) -> bool:
        """Whether some published value may be below 0."""
        return any(min(row.perturbations) < -count for count, row in enumerate(self.rows))

    @property
    def unreachable(self) -> tuple[tuple[int, int], ...]:
        """(count, perturbation) designed, yet of no key: too few keys."""
        return tuple(
            (count, v)
            for count, (row, wanted) in enumerate(zip(self.rows, self.support, strict=False))
            for v in wanted
            if v not in row.weights
        )

    @property
    def achieved_variance(self) -> tuple[Fraction, ...]:
        """The exact variance of each row."""
        return tuple(row.variance for row in self.rows)

    @property
    def bias(self) -> Fraction:
        """The largest size of a row's mean: 0 where the table is exactly unbiased."""
        return max(abs(row.mean) for row in self.rows)

    @property
    def key_bits(self) -> int | None:
        """The number of key bits, or None where keys are no power of two."""
        bits = self.keys.bit_length() - 1
        return bits if 1 << bits == self.keys else None

    def audit(
        self, epsilon: Exact | None = None, *, least_count: int = 0, records: int = 1
    ) -> Audit:
        """The exact (ε, δ) of one cell over every pair (n, n + 1) from `least_count` on.

        Both directions; neighbours: add or remove one. A kept zero has no finite ε beside a count
        of 1: its δ is then the chance that a count of 1 is published as something else. One unit
        of up to `records` records moves a count by as many: every pair (n, n + s), s ≤ records.
        """
        first = min(least_count, self.max_count)
        pairs = [
            pairs_of(self.row(n), self.row(n + s), s)
            for n in range(first, self.max_count + 1)
            for s in self.shifts(records)
        ]
        asked = None if epsilon is None else exact(epsilon, "epsilon", least=0, error=LawError)
        found = audit_pairs(pairs, asked)
        return replace(found, unreachable=tuple(sorted({v for _, v in self.unreachable})))

    def shifts(self, records: int) -> range:
        """How far so many records of one unit move a count; past all perturbations it is plain."""
        return range(1, min(records, 2 * self.max_perturbation + 1) + 1)

    def requantised(self, keys: int, quantiser: str | None = None) -> PTable:
        """The same table cut into another number of keys.

        Exact wherever every bound is whole in the new keys. Otherwise *unbiased* (default for a
        rising row) rounds each share and then mends the mean to exactly 0 if it was 0 and whole
        weights allow it; *cumulative* rounds each bound to the nearest key, as R ptable does;
        *ceil* rounds it up (sadeghi eq. 39).
        """
        check_keys(keys)
        if quantiser is not None:
            check_choice(quantiser, "quantiser", QUANTISERS)
        if keys == self.keys:
            return self
        rows = []
        for row in self.rows:
            if all(upper * keys % self.keys == 0 for upper in row.uppers):
                scaled = tuple(upper * keys // self.keys for upper in row.uppers)
                rows.append(Row(row.perturbations, scaled))
                continue
            how = quantiser or ("unbiased" if row.rising else "cumulative")
            shares = [Fraction(high - low, self.keys) for _, low, high in row.intervals]
            weights = quantised(row.perturbations, shares, keys, how)
            rows.append(Row.of(list(zip(row.perturbations, weights, strict=True))))
        support = self.support or tuple(tuple(row.weights) for row in self.rows)
        return replace(self, keys=keys, rows=tuple(rows), support=support)

    def keeping_zeros(self) -> PTable:
        """The same table with empty cells left at 0 (ABS mode)."""
        rows, support = self.rows, self.support
        if len(rows) == 1:  # one law for every count: row 1 must hold it from now on
            rows, support = rows * 2, support * 2
        zero = Row((0,), (self.keys,))
        return replace(
            self, rows=(zero, *rows[1:]), support=((0,), *support[1:]) if support else ()
        )

    def simplest(self) -> PTable:
        """The same table without last rows that only repeat the one before them."""
        last = len(self.rows)
        while self.cycle == 1 and last > 1 and self.rows[last - 2] == self.rows[last - 1]:
            last -= 1
        return replace(self, rows=self.rows[:last], support=self.support[:last])

    def exact_in(self, keys: int) -> bool:
        """Whether every bound is whole in so many keys."""
        return all(u * keys % self.keys == 0 for row in self.rows for u in row.uppers)

    def loss(self, keys: int, quantiser: str | None = None) -> Loss:
        """What cutting this table into fewer keys would cost."""
        pairs = list(zip(self.rows, self.requantised(keys, quantiser).rows, strict=True))
        errors = [abs(b.variance - a.variance) / a.variance for a, b in pairs if a.variance]
        moved = [abs(b.mean - a.mean) for a, b in pairs]
        lost = sum(len(set(a.weights) - set(b.weights)) for a, b in pairs)
        all_outcomes = sum(len(row.weights) for row in self.rows if not row.fixed)
        return Loss(keys, max(moved), max(errors, default=Fraction(0)), lost, all_outcomes)


def check_choice(value: str, name: str, allowed: Sequence[str]) -> str:
    """One of the allowed words, or `LawError`."""
    if value not in allowed:
        raise LawError(f"{name} must be {' or '.join(allowed)}, got {str(value)[:40]}.")
    return value
