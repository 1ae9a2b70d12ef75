"""From measured margins to tables: sums, agreement, whole numbers, and the noise of every cell.

Sees measured values and public facts, never a true count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.domain import Flags
from ...core.margins import Margin, Projection, domain_of, projection
from ...core.noise_law import NoiseLaw
from ...core.product import Reals, Whole
from ...core.question import TableSpec
from ...core.table import Noise, Status
from ...core.true_values import add_totals
from ..shared.assembly import assembled
from ..shared.least_squares import estimate_variances, sparse_estimate
from ..shared.rounding import whole_numbers
from . import laws
from .candidates import interior, margins_of
from .planner import KNOWN, Planner, Scheme
from .settings import Treatment
from .table_law import table_law

LEAST_SQUARES_WIDTH = 2.12
"""95 % of a Laplace draw is within 2.118 standard deviations, of a normal one within 1.96."""


@dataclass(frozen=True)
class _Part:
    """One margin in measured units: values, variance, half-width, and how many cells were summed."""

    values: Whole | Reals
    variance: float | Reals
    half_width: int | Whole
    summed: int | Whole


@dataclass(frozen=True)
class _System:
    """Least squares over a joint table of `size` cells."""

    size: int
    readings: list[tuple[Whole, Whole, float]]
    total: int | None
    zeros: Flags | None
    wanted: list[tuple[Whole, int]]
    shapes: dict[Margin, tuple[int, ...]]

    def shaped(self, figures: Sequence[Reals]) -> dict[Margin, Reals]:
        """Figures of wanted cells, by margin; empty where there are none."""
        pairs = zip(self.shapes.items(), figures, strict=bool(figures))
        return {margin: found.reshape(shape) for (margin, shape), found in pairs}


class Fitting:
    """Fits the tables of one plan; what tables share is worked out once."""

    def __init__(
        self,
        planner: Planner,
        scheme: Scheme,
        values: Sequence[Whole],
        treatment: Treatment,
    ) -> None:
        self.planner, self.scheme, self.values = planner, scheme, values
        self.treatment, self.description = treatment, planner.description
        self._agreed: dict[object, dict[Margin, Reals]] = {}
        self._spread: dict[object, dict[Margin, Reals]] = {}
        self._readings = Counter(part.margin.group for part in scheme.measured)
        self._zeros = [self.description.zero_mask(p.margin.count) for p in scheme.measured]

    def table(self, spec: TableSpec) -> dict[str, Any]:
        """One wanted table with its totals: values, status, noise, law and notes."""
        whole = interior(spec)
        shape = domain_of(whole, self.description).shape
        parts: dict[tuple[int, ...], _Part] = {}
        for kept in margins_of(spec):
            parts[kept] = self._part(whole, kept, parts)
        agreed = self._is_agreed(whole)

        def everywhere(name: str, dtype: Any) -> Any:
            figures = {kept: getattr(part, name) for kept, part in parts.items()}
            return assembled(figures, shape, spec.totals, dtype)

        raw = everywhere("values", np.float64 if agreed else np.int64)
        variance, width = everywhere("variance", np.float64), everywhere("half_width", np.int64)
        unit = self.planner.unit(whole)
        sd = np.sqrt(variance) / unit
        if agreed:
            lower = np.floor((raw - width) / unit).astype(np.int64)
            upper = np.ceil((raw + width) / unit).astype(np.int64)
        else:
            lower, upper = (raw - width) // unit, -(-(raw + width) // unit)
        values = self._published(raw, whole, agreed, shape, spec.totals)
        if self.treatment.negatives != "keep":
            floor = self.treatment.threshold
            cut = values < floor
            values = np.where(cut, 0, values)
            # an interval around a number that is not displayed would display it after all
            widest = np.maximum(floor + -(-width // unit), 0)
            lower = np.where(cut, 0, np.maximum(lower, 0))
            upper = np.where(cut, widest, np.maximum(upper, 0))
        status = np.zeros(values.shape, dtype=np.uint8)
        zero = everywhere("summed", np.int64) == 0
        if zero.any():
            for array in (values, lower, upper):
                array[zero] = 0
            sd[zero] = 0.0
            status[zero] = Status.STRUCTURAL_ZERO
        summed = {kept: part.summed for kept, part in parts.items()}
        law = table_law(whole, summed, self.planner, self.scheme, self.treatment, agreed=agreed)
        return {
            "values": values,
            "status": status,
            "noise": Noise(sd, lower, upper, laws.COVERAGE),
            "law": law,
            "notes": self._notes(spec),
        }

    # -- one margin -------------------------------------------------------------------------

    def _part(
        self, whole: Margin, kept: tuple[int, ...], larger: Mapping[tuple[int, ...], _Part]
    ) -> _Part:
        margin = whole.keep(kept)
        target = self.scheme.targets[margin]
        if target.source == KNOWN:
            return _Part(np.array(self.description.records), 0.0, 0, 1)
        law = self.scheme.measured[target.source].law
        summed = self._summed(margin, target.source)
        if self._is_agreed(margin):
            values: Whole | Reals = self._agree(margin.group)[margin]
            spread: float | Reals | None = target.variance * self.planner.unit(margin) ** 2
            if self.scheme.closed[margin.group] is None:
                spread = self._spreads(margin.group).get(margin)
            if spread is None:
                spread = np.asarray(float(law.variance) * summed, dtype=np.float64)
            width = np.ceil(LEAST_SQUARES_WIDTH * np.sqrt(spread)).astype(np.int64)
            return _Part(values, spread, width, summed)
        values = self._sums(whole, kept, larger)
        variance = float(law.variance) * np.asarray(summed, dtype=np.float64)
        return _Part(values, variance, _half_widths(law, summed), summed)

    def _sums(
        self, whole: Margin, kept: tuple[int, ...], larger: Mapping[tuple[int, ...], _Part]
    ) -> Whole:
        """A margin from its source; along one axis only where a larger one has the same source."""
        margin = whole.keep(kept)
        number = self.scheme.targets[margin].source
        for axis in range(len(whole.axes)):
            above = tuple(sorted({*kept, axis}))
            if axis in kept or above not in larger:
                continue
            if self.scheme.targets[whole.keep(above)].source == number:
                total = larger[above].values.sum(axis=above.index(axis))
                return np.asarray(total, dtype=np.int64)
        found = self._projection(self.scheme.measured[number].margin, margin)
        return np.asarray(found.sums(self.values[number]), dtype=np.int64)

    def _summed(self, margin: Margin, source: int) -> int | Whole:
        """How many noised cells each cell is a sum of; a plain number where all are alike."""
        part, zeros = self.scheme.measured[source], self._zeros[source]
        found = self._projection(part.margin, margin)
        if zeros is None and found.plain:
            return part.cells // found.part.size
        drawn = np.ones(found.whole.shape, bool) if zeros is None else ~zeros
        return np.asarray(found.sums(drawn.astype(np.int64)), dtype=np.int64)

    def _projection(self, whole: Margin, part: Margin) -> Projection:
        found = projection(whole, part, self.description)
        assert found is not None
        return found

    # -- agreement --------------------------------------------------------------------------

    def _is_agreed(self, margin: Margin) -> bool:
        """Whether a margin is a least-squares estimate: several readings of one group."""
        if self.treatment.consistency == "none":
            return False
        return self._readings[margin.group] + self._total_known(margin) > 1

    def _total_known(self, margin: Margin) -> bool:
        return self.planner.is_known(Margin((), margin.where, margin.weighted))

    def _agree(self, group: Any) -> dict[Margin, Reals]:
        if group not in self._agreed:
            targets, closed = self._estimated(group), self.scheme.closed[group]
            self._agreed[group] = (
                self._closed(targets, *closed) if closed else self._solved(group, targets)
            )
        return self._agreed[group]

    def _estimated(self, group: Any) -> list[Margin]:
        return [
            margin
            for margin, target in self.scheme.targets.items()
            if margin.group == group and target.source != KNOWN
        ]

    def _closed(
        self, targets: Sequence[Margin], components: Any, axes: list[Any]
    ) -> dict[Margin, Reals]:
        group = targets[0].group
        values = []
        for part, value in zip(self.scheme.measured, self.values, strict=True):
            if part.margin.group == group:
                order = np.argsort([axes.index(ref) for ref in part.margin.axes])
                values.append(np.transpose(value, order))
        places = {m: tuple(axes.index(ref) for ref in m.axes) for m in targets}
        wanted = list(dict.fromkeys(tuple(sorted(place)) for place in places.values()))
        found = components.estimate(values, wanted, self.description.records)
        return {
            m: np.transpose(found[tuple(sorted(place))], np.argsort(np.argsort(place)))
            for m, place in places.items()
        }

    def _spreads(self, group: Any) -> dict[Margin, Reals]:
        """The variances of a group's estimates; empty where they are too many to work out."""
        if group not in self._spread:
            system = self._system(group, self._estimated(group))
            readings = [(address, values.size, var) for address, values, var in system.readings]
            found = estimate_variances(
                *(system.size, readings, system.zeros, system.wanted),
                total_known=system.total is not None,
            )
            self._spread[group] = system.shaped(found or [])
        return self._spread[group]

    def _solved(self, group: Any, targets: Sequence[Margin]) -> dict[Margin, Reals]:
        system = self._system(group, targets)
        readings = system.readings
        if system.total is not None:
            exact = min(variance for *_, variance in readings) * 1e-8
            nowhere = np.zeros(system.size, dtype=np.int64)
            readings = [*readings, (nowhere, np.array([system.total]), exact)]
        return system.shaped(sparse_estimate(system.size, readings, system.zeros, system.wanted))

    def _system(self, group: Any, targets: Sequence[Margin]) -> _System:
        """What was read of a group's joint table, and what is wanted of it."""
        whole = self.planner.joint_of(self.scheme, group)
        size = domain_of(whole, self.description).size
        readings = [
            (self._addresses(part.margin, whole), value, float(part.law.variance))
            for part, value in zip(self.scheme.measured, self.values, strict=True)
            if part.margin.group == group
        ]
        total = self.description.records if self._total_known(whole) else None
        zeros = self.description.zero_mask(whole.count)
        shapes = {margin: domain_of(margin, self.description).shape for margin in targets}
        wanted = [(self._addresses(m, whole), math.prod(shape)) for m, shape in shapes.items()]
        return _System(size, readings, total, zeros, wanted, shapes)

    def _addresses(self, margin: Margin, whole: Margin) -> Whole:
        """For each cell of the joint table, the address of its cell in a margin."""
        found = self._projection(whole, margin)
        return found.addresses(np.arange(found.whole.size))

    # -- whole numbers ----------------------------------------------------------------------

    def _published(
        self, raw: Any, whole: Margin, agreed: bool, shape: tuple[int, ...], totals: bool
    ) -> Whole:
        unit = self.planner.unit(whole)
        if self.treatment.consistency == "integers" and (agreed or unit != 1):
            interior = raw[tuple(slice(0, n) for n in shape)] / unit
            total = self.description.records if self._total_known(whole) else None
            rounded = whole_numbers(np.ascontiguousarray(interior, dtype=np.float64), total)
            return add_totals(rounded) if totals else rounded
        if agreed:
            return np.asarray(np.rint(raw / unit), dtype=np.int64)
        if unit != 1:
            return np.asarray((2 * raw + unit) // (2 * unit), dtype=np.int64)
        return np.asarray(raw, dtype=np.int64)

    # -- words ------------------------------------------------------------------------------

    def _notes(self, spec: TableSpec) -> tuple[str, ...]:
        whole, notes = interior(spec), []
        # the measured margins a table and its totals come from, before any agreement
        sources = {self.scheme.targets[whole.keep(kept)].source for kept in margins_of(spec)}
        if self._is_agreed(whole):
            notes.append(
                "Values are least-squares estimates from all measured tables; their noise "
                "intervals reach 2.12 standard deviations to either side."
            )
            if self.treatment.consistency == "least squares":
                notes.append("Each value is rounded by itself: sums may differ by rounding.")
        elif spec.totals and len(sources - {KNOWN}) > 1:
            notes.append("Totals have noise of their own and need not be sums of the cells shown.")
        elif spec.totals and spec.axes and self.treatment.negatives == "keep":
            notes.append("Totals are sums of noised cells; their noise is larger than a cell's.")
        if KNOWN in sources:
            notes.append(
                "The grand total is the number of records declared public, without noise."
                + (
                    ""
                    if self.treatment.consistency == "integers"
                    else " The cells need not add up to it."
                )
            )
        if spec.weighted and self.treatment.consistency != "integers":
            notes.append("Weighted values are rounded one by one to whole numbers.")
        notes += self._negatives_note(whole)
        return tuple(notes)

    def _negatives_note(self, whole: Margin) -> list[str]:
        name = self.treatment.negatives
        if name == "keep":
            return ["Values may be negative: that keeps them right on average."]
        target = self.scheme.targets[whole]
        if target.source == KNOWN:
            return []
        unit = self.planner.unit(whole)
        law = self.scheme.measured[target.source].law
        floor = self.treatment.threshold
        what = (
            "Negative values are shown as 0"
            if name == "clip"
            else f"Values below {floor} are shown as 0"
        )
        totals = "totals are cut by themselves, so cells need not add up to them"
        if target.summed != 1 or self._is_agreed(whole):
            return [f"{what}, which makes small true counts too large on average; {totals}."]
        bias = laws.bias_at(law, floor * unit, 0) / unit
        text = f"{what}: a true 0 comes out {bias:.3g} too large on average"
        if name == "threshold":
            low = laws.bias_at(law, floor * unit, floor * unit) / unit
            size = f"{abs(low):.3g} too {'small' if low < 0 else 'large'}"
            text += f", a true {floor} {size}"
            totals += ", and count what is not shown: a rule of display"
        return [f"{text}; {totals}."]


def _half_widths(law: NoiseLaw, summed: int | Whole) -> int | Whole:
    if isinstance(summed, int):
        return law.half_width(laws.COVERAGE, summed)
    sizes, where = np.unique(summed, return_inverse=True)
    widths = np.array([law.half_width(laws.COVERAGE, int(n)) for n in sizes], dtype=np.int64)
    return widths[where].reshape(summed.shape)
