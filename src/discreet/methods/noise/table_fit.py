"""From measured margins to tables: sums, agreement, whole numbers, and the noise of every cell.

Sees measured values and public facts, never a true count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.hellinger_law import HellingerLaw
from ...core.margins import Margin, domain_of
from ...core.noise_law import NoiseLaw
from ...core.product import Reals, Whole
from ...core.question import TableSpec
from ...core.table import Noise, Status
from ...core.true_values import add_totals
from ...languages import number, say, together
from ..shared.assembly import assembled, part_at
from ..shared.rounding import whole_numbers
from . import laws
from .agreement import Agreement, summed_from
from .balancing import Draw, Measured, draws_of, normal_draws, notes_of
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
    ends: tuple[Whole, Whole] | None = None
    """Where the intervals end; else they reach half-widths to either side."""

    @property
    def low(self) -> Whole | Reals:
        """The least that the truth may be."""
        return self.values - self.half_width if self.ends is None else self.ends[0]

    @property
    def high(self) -> Whole | Reals:
        """The most that the truth may be."""
        return self.values + self.half_width if self.ends is None else self.ends[1]


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
        self._agreement = Agreement(planner, scheme, values)
        self._zeros = [self.description.zero_mask(p.margin.count) for p in scheme.measured]

    def table(self, spec: TableSpec) -> dict[str, Any]:
        """One wanted table with its totals: values, status, noise, law and notes."""
        whole = interior(spec)
        shape = domain_of(whole, self.description).shape
        parts: dict[tuple[int, ...], _Part] = {}
        for kept in margins_of(spec):
            parts[kept] = self._part(whole, kept, parts)
        agreed = self._agreement.reaches(whole)

        def everywhere(name: str, dtype: Any) -> Any:
            figures = {kept: getattr(part, name) for kept, part in parts.items()}
            return assembled(figures, shape, spec.totals, dtype)

        kind = np.float64 if agreed else np.int64
        raw, low, high = (everywhere(name, kind) for name in ("values", "low", "high"))
        variance, width = everywhere("variance", np.float64), everywhere("half_width", np.int64)
        unit = self.planner.unit(whole)
        sd = np.sqrt(variance) / unit
        if agreed:
            lower = np.floor(low / unit).astype(np.int64)
            upper = np.ceil(high / unit).astype(np.int64)
        else:
            lower, upper = low // unit, -(-high // unit)
        values = self._published(raw, whole, agreed, shape, spec.totals)
        negatives: list[str] = []
        if self.treatment.negatives == "balance":
            values, negatives = self._balanced(spec, parts, raw / unit, values)
            lower, upper = np.minimum(np.maximum(lower, 0), values), np.maximum(upper, values)
        elif self.treatment.negatives != "keep":
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
            "notes": (*self._notes(spec), *(negatives or self._negatives_note(whole))),
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
        if self._agreement.reaches(margin):
            values: Whole | Reals = self._agreement.values(margin)
            spread = self._agreement.variance(margin)
            if spread is None:
                spread = np.asarray(float(law.variance) * summed, dtype=np.float64)
            width = np.ceil(LEAST_SQUARES_WIDTH * np.sqrt(spread)).astype(np.int64)
            return _Part(values, spread, width, summed)
        values = self._sums(whole, kept, larger)
        if isinstance(law, HellingerLaw):
            return _by_count(law, values, summed)
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
        found = summed_from(self.scheme.measured[number].margin, margin, self.description)
        return np.asarray(found.sums(self.values[number]), dtype=np.int64)

    def _summed(self, margin: Margin, source: int) -> int | Whole:
        """How many noised cells each cell is a sum of; a plain number where all are alike."""
        part, zeros = self.scheme.measured[source], self._zeros[source]
        found = summed_from(part.margin, margin, self.description)
        if zeros is None and found.plain:
            return part.cells // found.part.size
        drawn = np.ones(found.whole.shape, bool) if zeros is None else ~zeros
        return np.asarray(found.sums(drawn.astype(np.int64)), dtype=np.int64)

    # -- whole numbers ----------------------------------------------------------------------

    def _published(
        self, raw: Any, whole: Margin, agreed: bool, shape: tuple[int, ...], totals: bool
    ) -> Whole:
        unit = self.planner.unit(whole)
        if self.treatment.consistency == "integers" and (agreed or unit != 1):
            interior = raw[tuple(slice(0, n) for n in shape)] / unit
            total = self.description.records if self._agreement.total_known(whole) else None
            rounded = whole_numbers(np.ascontiguousarray(interior, dtype=np.float64), total)
            return add_totals(rounded) if totals else rounded
        if agreed:
            return np.asarray(np.rint(raw / unit), dtype=np.int64)
        if unit != 1:
            return np.asarray((2 * raw + unit) // (2 * unit), dtype=np.int64)
        return np.asarray(raw, dtype=np.int64)

    def _balanced(
        self,
        spec: TableSpec,
        parts: Mapping[tuple[int, ...], _Part],
        exact: Reals,
        rounded: Whole,
    ) -> tuple[Whole, list[str]]:
        """The values that are not negative and keep their totals, with what is said of them.

        Axes are put in one order first, so that a table turned about is the same table.
        """
        places = sorted(range(len(spec.axes)), key=lambda axis: str(spec.axes[axis]))
        measured = self._measured(spec, parts, exact, rounded, places)
        found = measured.balanced()
        cells = np.transpose(found.cells, np.argsort(places))
        notes = notes_of(measured, found, spec.totals)
        return (add_totals(cells) if spec.totals else cells), notes

    def _measured(
        self,
        spec: TableSpec,
        parts: Mapping[tuple[int, ...], _Part],
        exact: Reals,
        rounded: Whole,
        places: Sequence[int],
    ) -> Measured:
        """A table's numbers and the noise they have, axes in the order of `places`."""
        whole = interior(spec)
        unit, shape = self.planner.unit(whole), domain_of(whole, self.description).shape
        cells, agreed = tuple(range(len(shape))), self._agreement.reaches(whole)
        inside = exact[tuple(slice(0, n) for n in shape)]
        grand = (
            self.description.records if self._agreement.total_known(whole) else round(inside.sum())
        )
        numbers: dict[tuple[int, ...], Any] = {(): np.array(grand)}
        noise: dict[tuple[int, ...], Draw] = {}
        source = self.scheme.targets[whole].source
        for kept, part in parts.items():
            turned = tuple(sorted(places.index(axis) for axis in kept))
            order = np.argsort([places.index(axis) for axis in kept])
            figures = inside if kept == cells else rounded[part_at(kept, shape)]
            numbers[turned] = np.transpose(figures, order)
            own = self.scheme.targets[whole.keep(kept)].source
            if own == KNOWN or (kept != cells and (agreed or own == source)):
                continue
            if isinstance(part.summed, int) and part.summed == 1 and not agreed:
                drawn = self.scheme.measured[own].law
                assert isinstance(drawn, NoiseLaw)  # others are not balanced
                noise[turned] = draws_of(drawn, unit)
            else:
                sd = np.broadcast_to(np.sqrt(part.variance) / unit, np.shape(figures))
                noise[turned] = normal_draws(np.transpose(sd, order))
        zeros = self.description.zero_mask(whole.count)
        possible = None if zeros is None else np.transpose(~zeros, places)
        return Measured(numbers, possible, noise, exact=self._agreement.total_known(whole))

    # -- words ------------------------------------------------------------------------------

    @property
    def _adds_up(self) -> bool:
        return self.treatment.consistency == "integers" or self.treatment.negatives == "balance"

    def _notes(self, spec: TableSpec) -> tuple[str, ...]:
        whole, notes = interior(spec), []
        # the measured margins a table and its totals come from, before any agreement
        sources = {self.scheme.targets[whole.keep(kept)].source for kept in margins_of(spec)}
        if self._agreement.reaches(whole):
            notes.append(
                say(
                    "Values are least-squares estimates from all measured tables; their noise "
                    "intervals reach 2.12 standard deviations to either side."
                )
            )
            margins = [whole.keep(kept) for kept in margins_of(spec)]
            known = [m for m in margins if self.scheme.targets[m].source != KNOWN]
            if any(self._agreement.variance(margin) is None for margin in known):
                notes.append(
                    say(
                        "They are too many for the noise of every one to be worked out: where it is "
                        "not, it is said as that of the best single table, which is more."
                    )
                )
            if not self._adds_up:
                notes.append(say("Each value is rounded by itself: sums may differ by rounding."))
        elif self.treatment.negatives == "balance":
            pass
        elif spec.totals and len(sources - {KNOWN}) > 1:
            notes.append(
                say("Totals have noise of their own and need not be sums of the cells shown.")
            )
        elif spec.totals and spec.axes and self.treatment.negatives == "keep":
            notes.append(
                say("Totals are sums of noised cells; their noise is larger than a cell's.")
            )
        if KNOWN in sources:
            notes.append(
                say("The grand total is the number of records declared public, without noise.")
            )
            if not self._adds_up:
                notes[-1] = together(notes[-1], say("The cells need not add up to it."))
        if spec.weighted and not self._adds_up:
            notes.append(say("Weighted values are rounded one by one to whole numbers."))
        return tuple(notes)

    def _negatives_note(self, whole: Margin) -> list[str]:
        name = self.treatment.negatives
        drawn = self.scheme.measured[0].law
        if isinstance(drawn, HellingerLaw):
            return notes_by_count(drawn, self.treatment)
        if name == "keep":
            return [say("Values may be negative: that keeps them right on average.")]
        target = self.scheme.targets[whole]
        if target.source == KNOWN:
            return []
        unit = self.planner.unit(whole)
        law = self.scheme.measured[target.source].law
        assert isinstance(law, NoiseLaw)
        floor = self.treatment.threshold
        what = (
            say("Negative values are shown as 0")
            if name == "clip"
            else say("Values below {floor} are shown as 0", floor=floor)
        )
        totals = say("totals are cut by themselves, so cells need not add up to them")
        if target.summed != 1 or self._agreement.reaches(whole):
            return [
                say(
                    "{what}, which makes small true counts too large on average; {totals}.",
                    what=what,
                    totals=totals,
                )
            ]
        bias = laws.bias_at(law, floor * unit, 0) / unit
        if name != "threshold":
            return [
                say(
                    "{what}: a true 0 comes out {bias} too large on average; {totals}.",
                    what=what,
                    bias=number(f"{bias:.3g}"),
                    totals=totals,
                )
            ]
        low = laws.bias_at(law, floor * unit, floor * unit) / unit
        size = number(f"{abs(low):.3g}")
        off = say("{size} too small", size=size) if low < 0 else say("{size} too large", size=size)
        return [
            say(
                "{what}: a true 0 comes out {bias} too large on average, a true {floor} {off}; "
                "{totals}, and count what is not shown: a rule of display.",
                what=what,
                bias=number(f"{bias:.3g}"),
                floor=floor,
                off=off,
                totals=totals,
            )
        ]


def _by_count(law: HellingerLaw, values: Whole, summed: int | Whole) -> _Part:
    """Cells with a law for each count: their error is that of a count as large as they are."""
    lower, upper = law.intervals(laws.COVERAGE)
    errors = law.errors[np.minimum(values, law.max_count)]
    widest = law.half_width(laws.COVERAGE)
    return _Part(values, errors**2, widest, summed, (lower[values], upper[values]))


def notes_by_count(law: HellingerLaw, treatment: Treatment) -> list[str]:
    """What a reader of a table with a law for each count must know."""
    low, high = (number(f"{abs(bias):.3g}") for bias in law.biases)
    off = law.biases[1] > 0
    notes: list[str] = [
        say(
            "Values lie between 0 and {max_value} and are not right on average: a true 0 comes out "
            "{low} too large.",
            max_value=law.max_value,
            low=low,
        ),
        say("A true {count} comes out {high} too large.", count=law.max_count, high=high)
        if off
        else say("A true {count} comes out {high} too small.", count=law.max_count, high=high),
        say(
            "A count above {count} is published as if it were {count}; intervals hold for counts up "
            "to {count}.",
            count=law.max_count,
        ),
    ]
    if treatment.negatives == "threshold":
        notes.append(say("Values below {floor} are shown as 0.", floor=treatment.threshold))
    return notes


def _half_widths(law: NoiseLaw, summed: int | Whole) -> int | Whole:
    if isinstance(summed, int):
        return law.half_width(laws.COVERAGE, summed)
    sizes, where = np.unique(summed, return_inverse=True)
    widths = np.array([law.half_width(laws.COVERAGE, int(n)) for n in sizes], dtype=np.int64)
    return widths[where].reshape(summed.shape)
