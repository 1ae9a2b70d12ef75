"""A law: the exact distribution of a perturbation, as whole weights over 2^key_bits.

The weights are the law. They are what is drawn, what is looked up by a cell key, and what is
audited; no figure about a law is computed from anything else. `CountLaw` holds one law for each
true count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from ..errors import LawError

KEY_BITS_LEAST, KEY_BITS_MOST = 8, 64


@dataclass(frozen=True)
class Law:
    """Whole weights of the perturbations start, start + 1, …, over 2^key_bits.

    `parameters` are what was asked for, as exact text. `blocked` are perturbations whose weight
    is 0 by design; any other weight of 0 is reported in `unreachable`.

    >>> law = Law("coin", {}, -1, (64, 128, 64), 8)
    >>> law.pmf[0], law.mean, law.variance, law.thresholds
    (Fraction(1, 2), Fraction(0, 1), Fraction(1, 2), (64, 192, 256))
    """

    name: str
    parameters: Mapping[str, str] = field(hash=False)
    start: int
    weights: tuple[int, ...]
    key_bits: int
    blocked: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse weights that are not a law."""
        check_key_bits(self.key_bits)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "weights", tuple(int(w) for w in self.weights))
        object.__setattr__(self, "blocked", tuple(sorted(self.blocked)))
        if not self.weights or min(self.weights) < 0:
            raise LawError(
                f"The weights of law {self.name} must be whole numbers ≥ 0, got "
                f"{min(self.weights, default='none')}. Check the parameters it was built from."
            )
        total = sum(self.weights)
        if total != 1 << self.key_bits:
            raise LawError(
                f"The weights of law {self.name} must add up to 2^{self.key_bits} = "
                f"{1 << self.key_bits}, got {total}. Quantise the probabilities again."
            )
        wrong = [z for z in self.blocked if not self.start <= z <= self.end or self.weight(z)]
        if wrong:
            raise LawError(
                f"A blocked perturbation must lie in the support and have weight 0, got {wrong[0]}."
            )

    def __reduce__(self) -> tuple[Callable[..., Law], tuple[Any, ...]]:
        """Pickle as the constructor's own arguments."""
        values = (self.name, dict(self.parameters), self.start, self.weights, self.key_bits)
        return Law, (*values, self.blocked)

    @property
    def end(self) -> int:
        """The largest perturbation."""
        return self.start + len(self.weights) - 1

    @property
    def total(self) -> int:
        """2^key_bits."""
        return 1 << self.key_bits

    @property
    def support(self) -> tuple[int, ...]:
        """The perturbations that can happen."""
        return tuple(z for z, w in enumerate(self.weights, self.start) if w)

    @property
    def unreachable(self) -> tuple[int, ...]:
        """Perturbations of the designed support that can never happen: too few key bits."""
        blocked = set(self.blocked)
        return tuple(
            z for z, w in enumerate(self.weights, self.start) if not w and z not in blocked
        )

    @property
    def max_perturbation(self) -> int:
        """The largest size of a designed perturbation (D, m)."""
        return max(abs(self.start), abs(self.end))

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Cumulative weights c(z): the key k gives the z with c(z − 1) ≤ k < c(z)."""
        return tuple(accumulate(self.weights))

    def weight(self, perturbation: int) -> int:
        """The weight of one perturbation; 0 outside the support."""
        index = perturbation - self.start
        return self.weights[index] if 0 <= index < len(self.weights) else 0

    @property
    def pmf(self) -> dict[int, Fraction]:
        """The exact probability of each designed perturbation."""
        return {z: Fraction(w, self.total) for z, w in enumerate(self.weights, self.start)}

    @cached_property
    def mean(self) -> Fraction:
        """The exact mean."""
        return Fraction(sum(z * w for z, w in enumerate(self.weights, self.start)), self.total)

    @cached_property
    def variance(self) -> Fraction:
        """The exact variance."""
        square = sum(z * z * w for z, w in enumerate(self.weights, self.start))
        return Fraction(square, self.total) - self.mean**2

    @property
    def symmetric(self) -> bool:
        """Whether z and −z have the same weight for every z."""
        return self.start == -self.end and self.weights == self.weights[::-1]

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data; weights as text, because JSON readers lose 64-bit integers."""
        out: dict[str, Any] = {
            "key_bits": self.key_bits,
            "name": self.name,
            "parameters": dict(sorted(self.parameters.items())),
            "start": self.start,
            "weights": [str(w) for w in self.weights],
        }
        if self.blocked:
            out["blocked"] = list(self.blocked)
        return out

    def to_json(self) -> str:
        """The one canonical text of this law."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Law:
        """Read a law back; whatever is not one is refused.

        >>> law = Law("coin", {"p": "1/2"}, 0, (128, 128), 8)
        >>> Law.from_json(law.to_json()) == law
        True
        """
        try:
            data = json.loads(text)
            weights = tuple(int(w) for w in data["weights"])
            parameters = {str(k): str(v) for k, v in data["parameters"].items()}
            blocked = tuple(int(z) for z in data.get("blocked", ()))
            values = (str(data["name"]), parameters, int(data["start"]), weights)
            return cls(*values, int(data["key_bits"]), blocked)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise LawError(
                f"This text is not a law ({type(problem).__name__}). "
                "Allowed is the JSON that `to_json` writes."
            ) from None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two laws with one digest are the same law."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


@dataclass(frozen=True)
class CountLaw:
    """One law for each true count 0, 1, …

    With `open_ended` the last row serves every larger count, as in a p-table; without it a larger
    count has no law and is refused.
    """

    name: str
    parameters: Mapping[str, str] = field(hash=False)
    rows: tuple[Law, ...]
    open_ended: bool = True

    def __post_init__(self) -> None:
        """Refuse an empty set of rows and rows over different keys."""
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        bits = {row.key_bits for row in self.rows}
        if len(bits) != 1:
            raise LawError(
                f"All rows of {self.name} must share one key_bits, got "
                f"{', '.join(map(str, sorted(bits))) or 'no rows'}."
            )

    def __reduce__(self) -> tuple[Callable[..., CountLaw], tuple[Any, ...]]:
        """Pickle as the constructor's own arguments."""
        return CountLaw, (self.name, dict(self.parameters), self.rows, self.open_ended)

    @property
    def key_bits(self) -> int:
        """The key bits all rows share."""
        return self.rows[0].key_bits

    @property
    def max_count(self) -> int:
        """The count of the last row."""
        return len(self.rows) - 1

    def row(self, count: int) -> Law:
        """The law of one true count."""
        if count > self.max_count and not self.open_ended:
            raise LawError(
                f"{self.name} has laws for counts up to {self.max_count}, got {count}. "
                "Build it with a larger max_count."
            )
        return self.rows[min(max(count, 0), self.max_count)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the rows and whether the last one is open."""
        text = json.dumps([self.open_ended, *(row.digest for row in self.rows)])
        return hashlib.sha256(text.encode()).hexdigest()


def check_key_bits(key_bits: object) -> int:
    """A number of key bits that a law may have, or `LawError`."""
    good = isinstance(key_bits, int) and not isinstance(key_bits, bool)
    if not good or not KEY_BITS_LEAST <= key_bits <= KEY_BITS_MOST:  # type: ignore[operator]
        raise LawError(
            f"key_bits must be a whole number from {KEY_BITS_LEAST} to {KEY_BITS_MOST}, "
            f"got {key_bits}. Use 64 for drawn noise, 32 or more for cell keys."
        )
    return key_bits  # type: ignore[return-value]
