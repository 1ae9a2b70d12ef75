"""A law for each true count: a p-table, as whole keys.

A row cuts the keys 0 … keys − 1 into intervals, one perturbation each; its law is the exact share
of keys of every perturbation. `keys` is any number: 256 and 4096 (ONS, Cantabular), 10^8 (the
fractions of R and tau-Argus), 2^32 or 2^64. Counts beyond the last row are served by the last
`cycle` rows in turn: 1 in R and tau-Argus, 250 of 750 at ONS; with 0 they have no law.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from math import sqrt
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import Bug, LawError
from .law import Law, WholeWeights
from .noise_law import AnyLaw, Draws
from .portrait import Portrait, asked
from .random_source import system_source, uniform_words

if TYPE_CHECKING:
    from .random_source import RandomSource

MOST_KEYS = 1 << 64
_MOST_ROWS = 12
_JSON_WHOLE = 1 << 53
"""JSON readers round whole numbers from here on; larger ones are written as text."""


@dataclass(frozen=True)
class Row(WholeWeights):
    """One row: interval k holds the keys from `uppers[k − 1]` up to, not including, `uppers[k]`."""

    perturbations: tuple[int, ...]
    uppers: tuple[int, ...]
    kind: ClassVar[str] = "row"
    name: ClassVar[str] = "row"
    parameters: ClassVar[Mapping[str, str]] = MappingProxyType({})
    unreachable: ClassVar[tuple[int, ...]] = ()

    @classmethod
    def of(cls, weights: Sequence[tuple[int, int]]) -> Row:
        """A row of (perturbation, number of keys) in key order; empty intervals vanish.

        >>> Row.of([(-1, 64), (0, 128), (1, 64)])
        Row(perturbations=(-1, 0, 1), uppers=(64, 192, 256))
        """
        if any(width < 0 for _, width in weights):
            raise Bug(f"A p-table interval has {min(width for _, width in weights)} keys.")
        joined = groupby((one for one in weights if one[1]), itemgetter(0))
        widths = [(value, sum(width for _, width in part)) for value, part in joined]
        return cls(tuple(v for v, _ in widths), tuple(accumulate(w for _, w in widths)))

    @property
    def total(self) -> int:
        """How many keys the row cuts up: what all weights add up to."""
        return self.uppers[-1]

    keys = total

    @property
    def start(self) -> int:
        """The least perturbation."""
        return next(iter(self.weights))

    @cached_property
    def dense(self) -> tuple[int, ...]:
        """The keys of start, start + 1, …"""
        return tuple(self.weights.get(z, 0) for z in range(self.start, max(self.weights) + 1))

    @cached_property
    def intervals(self) -> tuple[tuple[int, int, int], ...]:
        """(perturbation, first key, first key beyond) in key order."""
        return tuple(zip(self.perturbations, (0, *self.uppers), self.uppers, strict=False))

    @cached_property
    def weights(self) -> dict[int, int]:
        """Keys of each perturbation that can happen, in rising order."""
        widths: dict[int, int] = {}
        for perturbation, low, high in self.intervals:
            widths[perturbation] = widths.get(perturbation, 0) + high - low
        return dict(sorted(widths.items()))

    @cached_property
    def pmf(self) -> dict[int, Fraction]:
        """The exact probability of each perturbation that can happen."""
        return {v: Fraction(w, self.keys) for v, w in self.weights.items()}

    @cached_property
    def error(self) -> float:
        """Root mean square of the perturbation: the sd of an unbiased row, and no less for others."""
        return sqrt(float(self.variance + self.mean**2))

    @property
    def rising(self) -> bool:
        """Whether larger keys mean larger perturbations, as in a designed table."""
        return all(a < b for a, b in pairwise(self.perturbations))

    @property
    def fixed(self) -> bool:
        """Whether the count is left as it is."""
        return self.perturbations == (0,)

    def at(self, key: int) -> int:
        """The perturbation of one key; the plain definition, for tests and single cells."""
        for perturbation, low, high in self.intervals:
            if low <= key < high:
                return perturbation
        raise Bug("A cell key lies beyond the keys of its p-table.")

    def draw(self, count: int, source: RandomSource | None = None) -> Draws:
        """So many independent draws: uniform keys, looked up; words beyond a multiple are drawn again."""
        chosen = system_source() if source is None else source
        bounds = np.array(self.uppers[:-1], dtype=np.uint64)
        values = np.array(self.perturbations, dtype=np.int64)
        parts: list[Draws] = []
        left = count
        while left > 0:
            words = uniform_words(chosen, left)
            if self.keys < MOST_KEYS:
                last = np.uint64(MOST_KEYS // self.keys * self.keys - 1)
                words = words[words <= last] % np.uint64(self.keys)
            parts.append(values[np.searchsorted(bounds, words, side="right")])
            left -= len(words)
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data: for each interval its perturbation and how many keys it has."""
        widths = [high - low for _, low, high in self.intervals]
        short = self.keys < _JSON_WHOLE
        return {
            "perturbations": list(self.perturbations),
            "keys": [width if short else str(width) for width in widths],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Row:
        """Read back what `to_dict` gives."""
        values, widths = map(int, data["perturbations"]), map(int, data["keys"])
        return cls.of(list(zip(values, widths, strict=True)))


@dataclass(frozen=True, repr=False)
class CountLaw(AnyLaw):
    """A row for each true count 0, 1, …; the last `cycle` rows serve all larger counts in turn."""

    keys: int
    rows: tuple[Row, ...] = field(repr=False)
    cycle: int = 1
    name: str = "p-table"
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    kind: ClassVar[str] = "by count"

    def __post_init__(self) -> None:
        """Refuse rows that do not cut the same keys."""
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        check_keys(self.keys)
        if not self.rows:
            raise LawError("A p-table needs at least the row of count 0, got none.")
        for count, row in enumerate(self.rows):
            if not row.uppers or row.keys != self.keys:
                got = row.keys if row.uppers else 0
                raise LawError(
                    f"Row {count} of the p-table must add up to {self.keys} keys, got {got}."
                )
        if not self._least_cycle <= self.cycle <= len(self.rows):
            raise LawError(
                f"cycle must be a whole number from {self._least_cycle} to {len(self.rows)}, "
                f"got {self.cycle}."
            )

    _least_cycle: ClassVar[int] = 0

    def __reduce__(self) -> tuple[Callable[..., CountLaw], tuple[Any, ...]]:
        """Pickle as the constructor's own arguments."""
        return type(self), (self.keys, self.rows, self.cycle, self.name, dict(self.parameters))

    @classmethod
    def of_laws(
        cls, name: str, parameters: Mapping[str, str], laws: Sequence[Law], cycle: int = 1
    ) -> CountLaw:
        """One law for each count, over the same keys."""
        rows = tuple(Row.of(list(enumerate(law.weights, law.start))) for law in laws)
        return cls(laws[0].total if laws else 2, rows, cycle, name, parameters)

    def portrait(self) -> Portrait:
        """A line for each true count; of many, the first and the last."""
        counts = list(range(len(self.rows)))
        counts = counts if len(counts) <= _MOST_ROWS else [*counts[: _MOST_ROWS - 1], counts[-1]]
        rows = [
            (
                f"{count:,}",
                "0" if not row.mean else f"{float(row.mean):.2g}",
                f"{float(row.variance) ** 0.5:.3f}",
                f"{100 * float(row.pmf.get(0, 0)):.1f} %",
                "0" if row.fixed else f"{min(row.weights):+d} … {max(row.weights):+d}",
            )
            for count, row in ((count, self.rows[count]) for count in counts)
        ]
        last = f"{self.max_count:,}" + ("" if self.cycle == 1 else f" ({self.cycle} rows in turn)")
        power = self.keys.bit_length() - 1
        keys = f"2^{power}" if self.keys == 1 << power and power > 20 else f"{self.keys:,}"
        facts = [("keys", keys), ("last row", f"serves every count from {last} on")]
        head = ("true count", "mean", "sd", "unchanged", "perturbations")
        return Portrait(asked(f"{self.name} p-table", self.parameters), facts, None, head, rows)

    @property
    def max_count(self) -> int:
        """The count of the last row."""
        return len(self.rows) - 1

    @cached_property
    def max_perturbation(self) -> int:
        """The largest size of any perturbation."""
        return max(abs(v) for row in self.rows for v in row.perturbations)

    def row_of(self, count: int) -> int:
        """Which row serves a count: ONS's ((n − 1) mod 250) + 501 beyond 750, or the last row.

        >>> table = CountLaw(256, tuple(Row((0,), (256,)) for _ in range(751)), cycle=250)
        >>> [table.row_of(n) for n in (0, 750, 751, 1000, 1001, 1251)]
        [0, 750, 501, 750, 501, 501]
        """
        last = self.max_count
        if count > last and not self.cycle:
            raise LawError(
                f"{self.name} has laws for counts up to {last}, got {count}. "
                "Build it with a larger max_count."
            )
        return count if count <= last else last - self.cycle + 1 + (count - last - 1) % self.cycle

    def row(self, count: int) -> Row:
        """The row that serves a count."""
        return self.rows[self.row_of(max(count, 0))]

    for_count = row

    @cached_property
    def digest(self) -> str:
        """SHA-256 over keys, cycle and every interval: two tables with one digest act alike."""
        form = [self.keys, self.cycle, [[row.perturbations, row.uppers] for row in self.rows]]
        return hashlib.sha256(json.dumps(form, separators=(",", ":")).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The whole map as plain data, with its digest."""
        return {
            "name": self.name,
            "parameters": dict(sorted(self.parameters.items())),
            "keys": self.keys if self.keys < _JSON_WHOLE else str(self.keys),
            "cycle": self.cycle,
            "rows": [row.to_dict() for row in self.rows],
            "digest": self.digest,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CountLaw:
        """Read back what `to_dict` gives; another digest than the one written is refused."""
        rows = tuple(Row.from_dict(row) for row in data["rows"])
        parameters = {str(k): str(v) for k, v in data["parameters"].items()}
        law = cls(int(data["keys"]), rows, int(data["cycle"]), str(data["name"]), parameters)
        if law.digest != data.get("digest", law.digest):
            raise LawError("The rows of this p-table are not those of its digest.")
        return law


def check_keys(keys: object) -> int:
    """A number of keys a p-table may have, or `LawError`."""
    good = isinstance(keys, int) and not isinstance(keys, bool)
    if not good or not 2 <= keys <= MOST_KEYS:  # type: ignore[operator]
        raise LawError(
            f"The keys of a p-table must be a whole number from 2 to 2^64, got {keys}. "
            "Use 256 or 4096 for ONS and Cantabular, 100000000 for sdcTools, else 2^64."
        )
    return keys  # type: ignore[return-value]
