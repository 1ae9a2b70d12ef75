"""What a reader may think of one cell before and after its count is known.

A cell holds people of a few *types*; one of a type has the value a with the public probability
f(a), independently of all others (nabar §5.2; for a Boolean attribute f is (1 − p, p)). The count of
a cell, or the sum of its people's values, is a sum of independent values:

    weight(m)      = P(the cell's sum is m)                      Poisson-binomial for Boolean values
    ratio_k,a(m)   = P(X_k = a | sum m) / P(X_k = a)             = weight without k (m − a) / weight(m)

m is *safe* at ε if |1 − ratio| ≤ ε for everybody and every possible value (nabar, Definition 1).
People whose value is certain shift the sum and are never checked: their prior cannot change. Those whose
smallest possible value is above 0 shift it by that.
Everything here is public and computed from sums of non-negative numbers, so small ones are accurate too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Law = tuple[float, ...]
"""P(value = a) for a = 0, 1, …"""

TIE = 1e-12
"""A ratio this little beyond ε counts as ε: 45 of 100 at p = 0.3 is 1.5 exactly, not in floats."""
FEW = 6
"""So many types stand for all in a very large Boolean cell: the smallest and the largest p and some
between. The ratio is monotone in p for sums that are not next to the mode. Next to it the extremes need
not be the worst, but there all ratios of so large a cell are close to 1."""
WIDE = 20_000
"""A cell is that large if so many sums have a chance that floats can hold: a variance above 70,000."""
KEPT = 100_000
"""Of a Boolean cell with more ratios those of FEW types are kept, for beliefs while its sum is not known."""


EVEN = 8.0
"""Waves beyond FAST ÷ sd must be below exp(−EVEN) in a cell's law, as in a Boolean one of variance 4."""
FAST = 6.0


@dataclass(frozen=True)
class CellPeople:
    """The people of a cell: how many there are of each type, by the law of one's value."""

    laws: tuple[Law, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, people: dict[Law, int]) -> CellPeople:
        """Types in a fixed order, those of nobody left out."""
        kept = sorted((law, many) for law, many in people.items() if many > 0)
        return cls(tuple(law for law, _ in kept), tuple(many for _, many in kept))

    @property
    def size(self) -> int:
        """How many people."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class CellLaw:
    """The law of one cell's sum and what each sum would tell about its people."""

    shift: int
    """The smallest sum there can be; the arrays are of what goes beyond it."""
    log_weight: Floats
    """By sum, from 0 to the largest possible; −inf where it is impossible or below 1e-300."""
    ratios: Floats
    """Posterior over prior by (type, value) and sum; 0 where the sum is impossible."""
    off: Floats
    """The largest |1 − ratio| of anybody, by sum."""
    laws: Floats
    """By type and value."""
    counts: Floats
    checked: tuple[tuple[int, int], ...]
    """The type and the value of each row of `ratios`."""

    @property
    def most(self) -> int:
        """The largest sum beyond the smallest one."""
        return len(self.log_weight) - 1

    def safe(self, epsilon: float) -> Flags:
        """Which sums leave everybody's ratio within 1 ± ε."""
        return self.spread() <= epsilon + TIE

    def spread(self) -> Floats:
        """The largest |1 − ratio| of anybody, by sum; infinite where it cannot be said."""
        if not len(self.ratios):
            return np.zeros(len(self.log_weight))
        return np.where(np.isfinite(self.log_weight), self.off, np.inf)

    @cached_property
    def is_even(self) -> bool:
        """Whether likely sums next to each other are about as likely, so that a smooth law serves.

        Not so for whole numbers most of which are multiples of one: of values 0 and 2, with a rare 1, an
        odd sum tells that somebody has it. What a law of multiples of d lets through is the wave of
        frequency 2πj/d, so these are looked at for every d.
        """
        if self.laws.shape[1] == 2 or not self.checked:
            return True
        values = np.arange(self.laws.shape[1])
        waves = _waves(len(values) - 1)
        mean = self.laws @ values
        variance = float(self.counts @ (self.laws @ values**2 - mean**2))
        fast = waves[waves >= min(FAST / np.sqrt(variance), np.pi)]
        left = np.abs(self.laws @ np.exp(1j * np.outer(values, fast)))
        logged = self.counts @ np.log(np.maximum(left, 1e-300))
        return bool(logged.max() <= -EVEN)


@lru_cache(maxsize=64)
def _waves(largest: int) -> Floats:
    """The frequencies up to π of numbers that are multiples of 2, 3, … `largest`.

    >>> (_waves(3) / np.pi).round(3).tolist()
    [0.667, 1.0]
    """
    parts = {j / d for d in range(2, largest + 1) for j in range(1, d // 2 + 1)}
    return 2 * np.pi * np.array(sorted(parts))


def possible_values(law: Law) -> tuple[int, Law]:
    """The smallest value that is possible, and the law from there to the largest; one is certain.

    >>> possible_values((0.0, 0.6, 0.4, 0.0)), possible_values((0.0, 1.0))
    ((1, (0.6, 0.4)), (1, (1.0,)))
    """
    values = [a for a, chance in enumerate(law) if chance > 0]
    return values[0], law[values[0] : values[-1] + 1]


@lru_cache(maxsize=20000)
def cell_law(people: CellPeople) -> CellLaw:
    """The law of a cell with these people."""
    shift, laws, counts = 0, [], []
    for law, many in zip(people.laws, people.counts, strict=True):
        least, possible = possible_values(law)
        shift += least * many
        if len(possible) > 1:
            laws.append(possible)
            counts.append(many)
    values = max((len(law) for law in laws), default=2)
    table = np.array([[*law, *[0.0] * (values - len(law))] for law in laws]).reshape(-1, values)
    powers = [_power(law, many) for law, many in zip(laws, counts, strict=True)]
    fewer = [_power(law, many - 1) for law, many in zip(laws, counts, strict=True)]
    whole = _joined(powers)
    size = len(whole[0])
    checked, ratios, off = [], [], np.zeros(size)
    alone = len(laws) == 1 and len(laws[0]) == 2
    few = _few_types(laws)
    wide = np.count_nonzero(whole[0]) > WIDE
    looked_at = few if wide else list(range(len(laws)))
    kept = set(few if 2 * len(looked_at) * size > KEPT else looked_at)
    some = ((k, _without(powers, fewer, k)) for k in few)
    for k, rest in some if wide else _without_each(powers, fewer):
        for a, chance in enumerate(laws[k]):
            if chance > 0:
                ratio = _one_type(laws[0], counts[0], a) if alone else _ratio(rest, whole, a)
                np.maximum(off, np.abs(1 - ratio), out=off)
                if k in kept:
                    checked.append((k, a))
                    ratios.append(ratio)
    return CellLaw(
        shift,
        _logged(whole),
        np.array(ratios).reshape(-1, size),
        off,
        table,
        np.array(counts, dtype=np.float64),
        tuple(checked),
    )


def rest_law(most: int) -> CellLaw:
    """The law of a number of which nothing is known but its bounds; about nobody, so always safe."""
    even = np.full(most + 1, 1 / (most + 1))
    return CellLaw(
        0, np.log(even), np.zeros((0, most + 1)), np.zeros(most + 1), even[None], np.ones(1), ()
    )


def pooled(cells: Sequence[CellPeople]) -> CellLaw:
    """The law of the grand total."""
    joined: dict[Law, int] = {}
    for cell in cells:
        for law, many in zip(cell.laws, cell.counts, strict=True):
            joined[law] = joined.get(law, 0) + many
    return cell_law(CellPeople.of(joined))


Scaled = tuple[Floats, float]
"""Numbers whose largest is 1, and the logarithm of what they are to be multiplied with."""


def _scaled(numbers: Floats, logarithm: float = 0.0) -> Scaled:
    most = float(numbers.max())
    return numbers / most, logarithm + float(np.log(most))


def _logged(numbers: Scaled) -> Floats:
    with np.errstate(divide="ignore"):
        logged: Floats = np.log(numbers[0]) + numbers[1]
    return logged


def _power(law: Law, many: int) -> Scaled:
    """The law of the sum of so many people of one type."""
    if many == 0:
        return np.ones(1), 0.0
    if len(law) == 2:
        m = np.arange(many + 1)
        logged = (
            gammaln(many + 1) - gammaln(m + 1) - gammaln(many - m + 1)
            + m * np.log(law[1]) + (many - m) * np.log(law[0])
        )  # fmt: skip
        most = float(logged.max())
        return np.exp(logged - most), most
    result: Scaled | None = None
    square, left = _scaled(np.array(law)), many
    while left:
        if left & 1:
            result = square if result is None else _product(result, square)
        left >>= 1
        if left:
            square = _product(square, square)
    assert result is not None
    return result


def _product(one: Scaled, two: Scaled) -> Scaled:
    """The law of a sum of two; numbers below 1e-308 of the largest are 0 and cost nothing."""
    full = np.zeros(len(one[0]) + len(two[0]) - 1)
    (first, some), (second, more) = _there(one[0]), _there(two[0])
    full[first + second : first + second + len(some) + len(more) - 1] = np.convolve(some, more)
    return _scaled(full, one[1] + two[1])


def _there(numbers: Floats) -> tuple[int, Floats]:
    """Where numbers above 0 begin, and all up to the last of them."""
    places = np.flatnonzero(numbers)
    return int(places[0]), numbers[places[0] : places[-1] + 1]


def _joined(parts: list[Scaled]) -> Scaled:
    joint: Scaled = np.ones(1), 0.0
    for part in parts:
        joint = _product(joint, part)
    return joint


def _without(powers: list[Scaled], fewer: list[Scaled], k: int) -> Scaled:
    """The law of everybody but one of type k."""
    return _joined([*powers[:k], fewer[k], *powers[k + 1 :]])


def _without_each(powers: list[Scaled], fewer: list[Scaled]) -> Iterator[tuple[int, Scaled]]:
    """For each type the law of everybody but one of it, halves of the types before quarters."""
    waiting: list[tuple[int, int, Scaled]] = [(0, len(powers), (np.ones(1), 0.0))]
    while waiting and powers:
        first, last, others = waiting.pop()
        if last - first == 1:
            yield first, _product(others, fewer[first])
            continue
        middle = (first + last) // 2
        for part, rest in ((first, middle), (middle, last)), ((middle, last), (first, middle)):
            waiting.append((*part, _product(others, _joined(powers[slice(*rest)]))))


def _one_type(law: Law, many: int, a: int) -> Floats:
    """The ratios where all people are of one Boolean type: m/b over p, without any rounding."""
    share = np.arange(many + 1) / many
    return (share if a else 1 - share) / law[a]


def _ratio(rest: Scaled, whole: Scaled, a: int) -> Floats:
    """weight without one (m − a) ÷ weight(m), by m."""
    shifted = np.zeros(len(whole[0]))
    shifted[a : a + len(rest[0])] = rest[0][: len(shifted) - a]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = shifted / whole[0] * np.exp(rest[1] - whole[1])
    return np.where(whole[0] > 0, ratio, 0.0)


def _few_types(laws: list[Law]) -> list[int]:
    """Which types may stand for all: of many Boolean ones FEW, of others none may be left out."""
    order = sorted(range(len(laws)), key=lambda k: laws[k][1])
    if len(laws) <= FEW or any(len(law) > 2 for law in laws):
        return order
    return [order[place] for place in np.linspace(0, len(order) - 1, FEW).round().astype(int)]
