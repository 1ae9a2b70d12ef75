"""Every kind of law there is, by name, and any law read back from plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from ..errors import LawError
from .count_law import CountLaw, Row
from .gaussian import DiscreteGaussian
from .hellinger_law import HellingerLaw
from .law import Law
from .noise_law import AnyLaw
from .pure_laplace import PureLaplace


@dataclass(frozen=True)
class PrivateLaw(AnyLaw):
    """A law that the custodian keeps: known to be there, not what it is."""

    name: str = "private"
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    kind: ClassVar[str] = "private"

    def for_count(self, count: int) -> NoReturn:
        """Refused: nobody was told."""
        raise LawError(f"The {self.name} law of this table is not published. Ask the custodian.")

    def to_dict(self) -> dict[str, Any]:
        """Its name only: not even a digest, which would confirm a guess."""
        return {"name": self.name, "parameters": {}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PrivateLaw:
        """Read back what `to_dict` gives."""
        return cls(str(data["name"]))


KINDS: dict[str, Callable[[Mapping[str, Any]], AnyLaw]] = {
    kind.kind: kind.from_dict
    for kind in (Law, PureLaplace, DiscreteGaussian, Row, CountLaw, HellingerLaw, PrivateLaw)
}


def written(law: AnyLaw) -> dict[str, Any]:
    """A law as plain data that `read` knows."""
    return {"kind": law.kind, **law.to_dict()}


def read(data: Mapping[str, Any]) -> AnyLaw:
    """The law that was written, the same whole numbers; whatever is none is refused.

    >>> law = PureLaplace.of("0.3")
    >>> read(written(law)) == law
    True
    """
    try:
        return KINDS[data["kind"]](data)
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as problem:
        raise LawError(
            f"This is no law that discreet wrote ({type(problem).__name__} while reading it)."
        ) from None
