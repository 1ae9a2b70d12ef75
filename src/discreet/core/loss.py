"""Losses and budgets: what a release about people costs, in exact numbers.

A *loss* has a kind, and kinds do not add by accident:

    PureLoss(epsilon)            pure differential privacy
    ApproxLoss(epsilon, delta)   approximate differential privacy
    ZcdpLoss(rho)                zero-concentrated differential privacy

Conversions are named and round up, against the spender: `as_approximate` and `as_zcdp` of a pure
loss, `to_approximate(delta)` of a zCDP loss. There is no way back. A budget is a loss that is
allowed; what is spent is a loss too.

Sums are exact while their denominators are below 1e60 (three times 1/3 fits a budget of 1), and
rounded up beyond that. The stored form (`loss_to_json`) follows the law in `charge.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from ..errors import InputError, did_you_mean
from ..languages import Sentence, number, say, together
from .brackets import ceiling_to, ln_bracket
from .exact import Exact, exact, plain, rounded_down, rounded_up

_LONGEST_DENOMINATOR = 10**60
_COARSE_DIGITS = 40
_LONGEST_SHOWN = 14
Kind: TypeAlias = Literal["pure", "approximate", "zcdp"]
KINDS: tuple[Kind, ...] = ("pure", "approximate", "zcdp")


def _settled(total: Fraction) -> Fraction:
    """The sum, exact while its denominator is below 1e60, else rounded up to a multiple of 1e-40.

    Without a limit somebody who asks with ever new denominators makes every later sum slower.
    """
    if total.denominator <= _LONGEST_DENOMINATOR:
        return total
    return ceiling_to(total, _COARSE_DIGITS)


class _Kind:
    """What the three kinds of loss share: parts that add one by one. Not for use on its own."""

    kind: ClassVar[Kind]
    names: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def __init__(self, *parts: Exact) -> None: ...

    @property
    def parts(self) -> dict[str, Fraction]:
        """Its numbers by name."""
        return {name: getattr(self, name) for name in self.names}

    def _beside(self, other: _Kind, verb: str) -> Iterator[tuple[Fraction, Fraction]]:
        if type(other) is not type(self):
            got = other.kind if isinstance(other, _Kind) else type(other).__name__
            raise InputError(
                f"A loss of kind {self.kind} and one of kind {got} cannot be {verb}. "
                "Convert one of them by name first (as_approximate, as_zcdp, to_approximate)."
            )
        return zip(self.parts.values(), other.parts.values(), strict=True)

    def __add__(self, other: _Kind) -> Self:
        return type(self)(*(_settled(mine + more) for mine, more in self._beside(other, "added")))

    def __sub__(self, other: _Kind) -> Self:
        """What is left of this after `other`; no part goes below zero."""
        pairs = self._beside(other, "subtracted")
        return type(self)(*(max(Fraction(0), mine - less) for mine, less in pairs))

    def fits(self, cap: _Kind) -> bool:
        """Is every part within `cap`?"""
        return all(mine <= most for mine, most in self._beside(cap, "compared"))

    def __str__(self) -> str:
        return ", ".join(f"{name} = {plain(part)}" for name, part in self.parts.items())


@dataclass(frozen=True)
class PureLoss(_Kind):
    """Pure differential privacy: the odds of any answer change by at most e^epsilon.

    >>> PureLoss("0.1") + PureLoss("1/5")
    PureLoss(epsilon=Fraction(3, 10))
    """

    epsilon: Fraction
    kind = "pure"
    names = ("epsilon",)

    def __init__(self, epsilon: Exact) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon", least=0))

    def as_approximate(self) -> ApproxLoss:
        """The same promise with delta = 0. Exact."""
        return ApproxLoss(self.epsilon, 0)

    def as_zcdp(self) -> ZcdpLoss:
        """rho = epsilon²/2 (Bun and Steinke 2016, Proposition 1.4). A bound.

        >>> PureLoss("0.5").as_zcdp()
        ZcdpLoss(rho=Fraction(1, 8))
        """
        return ZcdpLoss(_settled(self.epsilon**2 / 2))


@dataclass(frozen=True)
class ApproxLoss(_Kind):
    """Approximate differential privacy: e^epsilon, save for an event of probability delta.

    >>> ApproxLoss("0.5", "1e-6") + ApproxLoss("0.5", "1e-6")
    ApproxLoss(epsilon=Fraction(1, 1), delta=Fraction(1, 500000))
    """

    epsilon: Fraction
    delta: Fraction
    kind = "approximate"
    names = ("epsilon", "delta")

    def __init__(self, epsilon: Exact, delta: Exact) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon", least=0))
        object.__setattr__(self, "delta", exact(delta, "delta", least=0))


@dataclass(frozen=True)
class ZcdpLoss(_Kind):
    """Zero-concentrated differential privacy: Rényi loss of order α at most rho·α, for all α > 1.

    >>> ZcdpLoss("1/8") + ZcdpLoss("1/8")
    ZcdpLoss(rho=Fraction(1, 4))
    """

    rho: Fraction
    kind = "zcdp"
    names = ("rho",)

    def __init__(self, rho: Exact) -> None:
        object.__setattr__(self, "rho", exact(rho, "rho", least=0))

    def to_approximate(self, delta: Exact) -> ApproxLoss:
        """An (epsilon, delta) that a rho-zCDP release keeps. A bound, rounded up.

        epsilon = αρ + (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α) holds for every α > 1 (Canonne,
        Kamath and Steinke 2020, Proposition 12); α is looked for with floats, which cannot harm
        the bound, and the bound is then evaluated in 80 decimal digits.

        >>> ZcdpLoss("0.5").to_approximate("1e-6").epsilon < Fraction("5.222")
        True
        """
        small = exact(delta, "delta", above=0, below=1)
        if self.rho == 0:
            return ApproxLoss(0, 0)
        rho, wanted = float(self.rho), -math.log(float(small)) if small > 1e-300 else 690.0

        def epsilon_at(order: float) -> float:
            above = order - 1
            return (
                order * rho + (wanted - math.log(order)) / above + math.log1p(-1 / order)
                if above > 1e-9
                else math.inf
            )

        low, high = -14.0, 40.0  # the order is 1 + e^x for x in this range, by golden section
        ratio = (math.sqrt(5) - 1) / 2
        for _ in range(120):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if epsilon_at(1 + math.exp(left)) <= epsilon_at(1 + math.exp(right)):
                high = right
            else:
                low = left
        order = Fraction(1 + math.exp((low + high) / 2))
        bound = (
            order * self.rho
            - (ln_bracket(small)[0] + ln_bracket(order)[0]) / (order - 1)
            + ln_bracket(1 - 1 / order)[1]
        )
        return ApproxLoss(ceiling_to(max(bound, Fraction(0)), 12), small)


Loss: TypeAlias = PureLoss | ApproxLoss | ZcdpLoss
_BY_KIND: dict[str, type[PureLoss] | type[ApproxLoss] | type[ZcdpLoss]] = {
    one.kind: one for one in (PureLoss, ApproxLoss, ZcdpLoss)
}


def zero(kind: str) -> Loss:
    """Nothing spent, of the given kind.

    >>> zero("zcdp")
    ZcdpLoss(rho=Fraction(0, 1))
    """
    if kind not in _BY_KIND:
        raise InputError(
            f"A budget's kind must be one of {', '.join(KINDS)}, got {kind}."
            f"{did_you_mean(kind, KINDS)}"
        )
    return _BY_KIND[kind](**dict.fromkeys(_BY_KIND[kind].names, 0))


def read_as(loss: Loss, kind: str) -> Loss:
    """One charge's loss as a sum of `kind` counts it; refused where no valid reading exists.

    >>> read_as(PureLoss("1"), "zcdp")
    ZcdpLoss(rho=Fraction(1, 2))
    """
    zero(kind)
    if loss.kind == kind:
        return loss
    if isinstance(loss, PureLoss):
        return loss.as_approximate() if kind == "approximate" else loss.as_zcdp()
    told = say(
        "A release with {loss} cannot be charged to a budget of kind {kind}. Use a "
        "method whose loss is {kind}, or ask the custodian for a budget of kind "
        "{kind_2}.",
        loss=in_words(loss),
        kind=kind,
        kind_2=loss.kind,
    )
    if isinstance(loss, ZcdpLoss) and kind == "approximate":
        told = together(told, say("Or ask with epsilon and delta instead of rho."))
    raise InputError(told)


def in_words(loss: Loss, *, left: bool = False) -> Sentence:
    """A loss for people: numbers longer than 14 signs in five digits, rounded up; down if `left`.

    >>> in_words(ApproxLoss("0.5", Fraction(1, 3**30)))
    'epsilon = 0.5, delta = 4.857e-15'
    """
    rounded = rounded_down if left else rounded_up

    def short(number: Fraction) -> str:
        text = plain(number)
        return text if len(text) <= _LONGEST_SHOWN else rounded(number, 5)

    shown = [together(f"{name} =", number(short(part))) for name, part in loss.parts.items()]
    return together(*shown, between=", ")


def largest_epsilon(left: Loss) -> Fraction:
    """The largest pure epsilon that fits in what is left; rounded down for zCDP.

    >>> largest_epsilon(ZcdpLoss("1/8"))
    Fraction(1, 2)
    """
    if not isinstance(left, ZcdpLoss):
        return left.epsilon
    unit = 10**12
    square = 2 * left.rho * unit**2
    return Fraction(math.isqrt(square.numerator // square.denominator), unit)


def loss_to_json(loss: Loss) -> dict[str, str]:
    """The stored form of a loss: exact text, never a float.

    >>> loss_to_json(ApproxLoss("0.5", "1/3"))
    {'kind': 'approximate', 'epsilon': '0.5', 'delta': '1/3'}
    """
    return {"kind": loss.kind, **{name: plain(part) for name, part in loss.parts.items()}}


def loss_from_json(stored: Mapping[str, Any]) -> Loss:
    """Read what `loss_to_json` wrote."""
    try:
        kind = stored["kind"]
        if kind in _BY_KIND:
            names = _BY_KIND[kind].names
            return _BY_KIND[kind](**{name: Fraction(stored[name]) for name in names})
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"A stored loss cannot be read: {error!r}.") from None
    raise InputError(f"A stored loss has the unknown kind {kind!r}; known are {', '.join(KINDS)}.")
