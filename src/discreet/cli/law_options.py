"""How a command line says which laws are meant: a name, and lists of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..errors import LawError, did_you_mean

if TYPE_CHECKING:
    from ..core.noise_law import AnyLaw

LAWS = ("laplace", "normal", "max-entropy", "gaussian", "hellinger")
_MOST_NUMBERS = 2000
_HELLINGER = (60, 600)
"""The largest true count and the largest published value of a Hellinger law here."""
_LIST = "One, several (0.5,1,2) or FROM:TO:STEP."
Epsilons = Annotated[str, Option("--epsilon", help=f"ε. {_LIST}")]


@dataclass(frozen=True)
class LawOptions:
    """Which laws: each list is combined with every other."""

    law: Annotated[str, Option(help=f"{', '.join(LAWS[:-1])} or {LAWS[-1]}.")] = "laplace"
    epsilon: Annotated[
        str | None, Option(help=f"ε of laplace, normal, max-entropy, hellinger. {_LIST}")
    ] = None
    max_perturbation: Annotated[
        str | None, Option("--max-perturbation", "-m", help="Largest perturbation, m or D.")
    ] = None
    variance: Annotated[str | None, Option(help=f"V of max-entropy, σ² of gaussian. {_LIST}")] = (
        None
    )
    key_bits: Annotated[int, Option(help="Weights are integers over 2^this: 8 … 64.")] = 64

    def laws(self) -> list[AnyLaw]:
        """Every law that the lists together mean."""
        from ..core import law_builders as build
        from ..core.gaussian import DiscreteGaussian

        self._refuse_others()
        if self.law == "gaussian":
            return [DiscreteGaussian.of(v) for v in self._numbers("variance")]
        if self.law == "max-entropy" and self.variance is not None:
            both = product(self._reaches(), self._numbers("variance"))
            return [build.max_entropy(m, v, key_bits=self.key_bits) for m, v in both]
        epsilons = self._numbers("epsilon")
        if self.law == "hellinger":
            return [build.hellinger(e, *_HELLINGER, key_bits=self.key_bits) for e in epsilons]
        if self.law == "laplace" and self.max_perturbation is None:
            return [build.laplace(e) for e in epsilons]
        cut: dict[str, Callable[..., AnyLaw]] = {
            "laplace": build.laplace,
            "normal": build.normal,
            "max-entropy": build.max_entropy_for,
        }
        both = product(self._reaches(), epsilons)
        return [cut[self.law](e, m, key_bits=self.key_bits) for m, e in both]

    def one(self) -> AnyLaw:
        """The one law that is meant."""
        laws = self.laws()
        if len(laws) > 1:
            raise LawError(f"This is about one law, {len(laws)} were given. Give one number each.")
        return laws[0]

    def _given(self, name: str) -> str:
        value: str | None = getattr(self, name)
        if value is None:
            raise LawError(f"The {self.law} law needs --{name.replace('_', '-')}.")
        return value

    def _numbers(self, name: str) -> list[Fraction]:
        return numbers(self._given(name), name)

    def _reaches(self) -> list[int]:
        return whole_numbers(self._given("max_perturbation"), "max_perturbation")

    def _refuse_others(self) -> None:
        if self.law not in LAWS:
            raise LawError(
                f"law must be one of {', '.join(LAWS)}, got {self.law}.{did_you_mean(self.law, LAWS)}"
            )
        taken = {
            "laplace": ("epsilon", "max_perturbation"),
            "normal": ("epsilon", "max_perturbation"),
            "max-entropy": ("max_perturbation", "variance" if self.variance else "epsilon"),
            "gaussian": ("variance",),
            "hellinger": ("epsilon",),
        }[self.law]
        for name in ("epsilon", "max_perturbation", "variance"):
            if name not in taken and getattr(self, name) is not None:
                raise LawError(
                    f"The {self.law} law takes {' and '.join(f'--{t}' for t in taken)}, "
                    f"not --{name} as well.".replace("_", "-")
                )


def law_name(law: AnyLaw) -> str:
    """A law in a few words: its name and what was asked for."""
    words = {"max_perturbation": "±", "epsilon": "ε = ", "variance": "V = ", "sigma2": "σ² = "}
    said = (words[name] + value for name, value in law.parameters.items() if name in words)
    return f"{law.name} {', '.join(sorted(said, reverse=True))}"


def short_up(value: Fraction) -> str:
    """A δ in three digits, never rounded down.

    >>> short_up(Fraction(1, 3)), short_up(Fraction(1, 30000))
    ('0.334', '3.34e-5')
    """
    from decimal import Decimal

    from ..core.exact import rounded_up

    text = rounded_up(value, 3)
    return text if value == 0 or value >= Fraction(1, 1000) else f"{Decimal(text):.2e}"


def numbers(text: str, name: str) -> list[Fraction]:
    """Exact numbers from an option: 0.5 · 0.5,1,2 · 0.1:2.5:0.1 (from, to, step).

    >>> numbers("0.1:0.3:0.1,1/2", "epsilon")
    [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
    """
    found: list[Fraction] = []
    for part in text.split(","):
        found.extend(_part(part.strip(), name))
        if len(found) > _MOST_NUMBERS:
            raise LawError(f"{name} may be a list of at most {_MOST_NUMBERS} numbers, got more.")
    return list(dict.fromkeys(found))


def whole_numbers(text: str, name: str) -> list[int]:
    """Whole numbers from an option, in the same three forms."""
    found = numbers(text, name)
    for number in found:
        if number.denominator != 1:
            raise LawError(f"{name} must be a whole number, got {text}.")
    return [int(number) for number in found]


def _part(text: str, name: str) -> Iterator[Fraction]:
    from ..core.exact import exact

    ends = [exact(one, name, error=LawError) for one in text.split(":")]
    if len(ends) == 1:
        yield ends[0]
        return
    first, last, step = (
        (*ends, Fraction(1)) if len(ends) == 2 else ends if len(ends) == 3 else (0, 0, 0)
    )
    if step <= 0 or last < first:
        raise LawError(f"A range of {name} is FROM:TO or FROM:TO:STEP, upwards, got {text}.")
    if (last - first) / step >= _MOST_NUMBERS:
        raise LawError(f"{name} may be a list of at most {_MOST_NUMBERS} numbers, got {text}.")
    number = Fraction(first)
    while number <= last:
        yield number
        number += step
