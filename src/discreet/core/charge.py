"""Charges: one spend as frozen data, and the sums that accountants make of them.

A charge says which mechanism, its parameters as exact text, how many cells one unit touches, which
neighbours, which question, and the loss. It has no behaviour, so that accounting can be tightened
later from the same charges. Accountants *read* charges: `sum_of(kind, charges)` adds ε, or ε and δ
each (rinott, Theorem 7.1), or ρ. Each of the three sums stays valid when later questions are
chosen by looking at earlier answers; a cap is always one of them.

A *record* is a charge without a loss: it says what was released by a method whose promise is not
differential privacy. It names no neighbours and no cells, adds nothing to any sum and needs no
budget; as a dp-accounting event it is `NonPrivateDpEvent`, because no ε covers it.

**Compatibility law of the stored form** (`Charge.to_json`, `loss_to_json`): a field never changes
its meaning. New fields may be added, old readers ignore them; anything else takes a new value of
`form`, and a reader refuses a `form` it does not know. Form 1 has a loss, form 2 is a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import InputError, did_you_mean
from ..languages import say
from .exact import Exact, exact, float_up, plain, whole
from .loss import (
    ApproxLoss,
    Loss,
    PureLoss,
    ZcdpLoss,
    in_words,
    loss_from_json,
    loss_to_json,
    read_as,
    zero,
)
from .neighbours import Neighbours

FORM = 1
RECORD_FORM = 2
"""The stored forms of charges with a loss and of records."""

_RECORDED = say("recorded, from no budget")
_LOSSES: Mapping[str, Callable[[Mapping[str, str], int], Loss]] = {
    "discrete-laplace": lambda given, cells: PureLoss(Fraction(given["epsilon"]) * cells),
    "discrete-gaussian": lambda given, cells: ZcdpLoss(cells / (2 * Fraction(given["variance"]))),
    "integer-law": lambda given, cells: ApproxLoss(
        Fraction(given["epsilon"]) * cells, Fraction(given["delta"]) * cells
    ),
}
"""Mechanisms whose loss follows from their parameters and cells, and is never left out."""


@dataclass(frozen=True)
class Charge:
    """One spend: frozen data, from which every accountant computes its own sum.

    `parameters` are exact text by name. `cells` is how many cells one unit touches (under
    replace-one neighbours a cell left and a cell entered are two). `loss` is for the whole charge,
    all cells together. A record (`Charge.record`) has no cells, neighbours or loss: all are None.

    >>> Charge.laplace("0.1", cells=3, neighbours="add-remove", question="q1").loss
    PureLoss(epsilon=Fraction(3, 10))
    """

    mechanism: str
    parameters: tuple[tuple[str, str], ...]
    cells: int | None
    neighbours: Neighbours | None
    question: str
    loss: Loss | None

    def __init__(
        self,
        mechanism: str,
        parameters: Mapping[str, str] | Iterable[tuple[str, str]],
        *,
        cells: int | None,
        neighbours: str | None,
        question: str,
        loss: Loss | None,
    ) -> None:
        pairs = tuple(sorted(dict(parameters).items()))
        for name, value in (("mechanism", mechanism), ("question", question)):
            if not isinstance(value, str) or not value or len(value) > 200:
                raise InputError(f"A charge's {name} must be text of 1 to 200 characters.")
        if any(not isinstance(part, str) for pair in pairs for part in pair):
            raise InputError(f"The parameters of a charge ({mechanism}) must be exact text.")
        if loss is None:
            _check_record(mechanism, cells, neighbours)
        else:
            _check_spend(cells, neighbours, loss)
        for name, given in (
            ("mechanism", mechanism),
            ("parameters", pairs),
            ("cells", cells),
            ("neighbours", neighbours and Neighbours(neighbours)),
            ("question", question),
            ("loss", loss),
        ):
            object.__setattr__(self, name, given)
        least = recomputed(self)
        if least is not None and loss is not None and not least.fits(loss):
            raise InputError(
                f"A charge for {mechanism} says {loss}, below the {least} its own parameters give."
            )

    @classmethod
    def laplace(cls, epsilon: Exact, *, cells: int, neighbours: str, question: str) -> Charge:
        """Untruncated discrete Laplace noise with `epsilon` a cell: cells × epsilon, pure."""
        given = {"epsilon": plain(exact(epsilon, "epsilon", above=0))}
        return cls._measured("discrete-laplace", given, cells, neighbours, question)

    @classmethod
    def law(
        cls,
        epsilon: Exact,
        delta: Exact,
        *,
        cells: int,
        neighbours: str,
        question: str,
        parameters: Mapping[str, str] | None = None,
    ) -> Charge:
        """An integer law audited at (epsilon, delta) a cell: both add (rinott, Theorem 7.1)."""
        given = {
            "epsilon": plain(exact(epsilon, "epsilon", least=0)),
            "delta": plain(exact(delta, "delta", least=0, most=1)),
        }
        both = {**(parameters or {}), **given}
        return cls._measured("integer-law", both, cells, neighbours, question)

    @classmethod
    def gaussian(cls, variance: Exact, *, cells: int, neighbours: str, question: str) -> Charge:
        """Discrete Gaussian noise with parameter sigma² = `variance`: rho = cells/(2·variance)."""
        given = {"variance": plain(exact(variance, "variance", above=0))}
        return cls._measured("discrete-gaussian", given, cells, neighbours, question)

    @classmethod
    def _measured(
        cls, mechanism: str, given: Mapping[str, str], cells: int, neighbours: str, question: str
    ) -> Charge:
        loss = _LOSSES[mechanism](given, cells)
        return cls(
            mechanism, given, cells=cells, neighbours=neighbours, question=question, loss=loss
        )

    @classmethod
    def record(
        cls,
        mechanism: str,
        parameters: Mapping[str, str] | Iterable[tuple[str, str]],
        *,
        question: str,
    ) -> Charge:
        """What was released, without a loss: it adds nothing to a sum and needs no budget.

        >>> print(Charge.record("suppression", {"released": "12"}, question="q1").loss)
        None
        """
        return cls(mechanism, parameters, cells=None, neighbours=None, question=question, loss=None)

    def __str__(self) -> str:
        return _RECORDED if self.loss is None else str(self.loss)

    def in_words(self) -> str:
        """What it costs, for people: long numbers in five digits, rounded up."""
        return _RECORDED if self.loss is None else in_words(self.loss)

    def to_json(self) -> dict[str, Any]:
        """The public stored form; see the compatibility law at the top of the module."""
        if self.loss is None:
            return {
                "form": RECORD_FORM,
                "mechanism": self.mechanism,
                "parameters": dict(self.parameters),
                "question": self.question,
            }
        return {
            "form": FORM,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "cells": self.cells,
            "neighbours": str(self.neighbours),
            "question": self.question,
            "loss": loss_to_json(self.loss),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Charge:
        """Read what `to_json` wrote; an unknown form is refused, never guessed.

        >>> one = Charge.laplace("1/3", cells=1, neighbours="add-remove", question="q1")
        >>> Charge.from_json(one.to_json()) == one
        True
        """
        form = stored.get("form")
        if form not in (FORM, RECORD_FORM):
            raise InputError(
                f"A charge is stored in form {form!r}, this version reads forms {FORM} and "
                f"{RECORD_FORM}. Use the version of discreet that wrote it, or a newer one."
            )
        try:
            if form == RECORD_FORM:
                if "loss" in stored:
                    raise InputError("A stored record names a loss, which no record has.")
                return cls.record(
                    stored["mechanism"], stored["parameters"], question=stored["question"]
                )
            return cls(
                stored["mechanism"],
                stored["parameters"],
                cells=stored["cells"],
                neighbours=stored["neighbours"],
                question=stored["question"],
                loss=loss_from_json(stored["loss"]),
            )
        except KeyError as error:
            raise InputError(f"A stored charge lacks the field {error}.") from None


def _check_record(mechanism: str, cells: int | None, neighbours: str | None) -> None:
    if cells is not None or neighbours is not None:
        raise InputError("A record has no loss, so it can name neither cells nor neighbours.")
    if mechanism in _LOSSES:
        raise InputError(
            f"{mechanism} has a loss, which its parameters give. Charge it; a record is for "
            "methods without one."
        )


def _check_spend(cells: int | None, neighbours: str | None, loss: Loss) -> None:
    known = [str(one) for one in Neighbours]
    if neighbours not in known:
        raise InputError(
            f"neighbours must be one of {', '.join(known)}, got {neighbours}."
            f"{did_you_mean(str(neighbours), known)}"
        )
    hint = " It is the number of cells one unit touches."
    whole(cells, "cells", 1, hint=hint, error=InputError)
    if not isinstance(loss, PureLoss | ApproxLoss | ZcdpLoss):
        raise InputError(
            "A charge's loss must be a PureLoss, an ApproxLoss or a ZcdpLoss, got "
            f"{type(loss).__name__}."
        )


def recomputed(charge: Charge) -> Loss | None:
    """The loss that mechanism and parameters give on their own, or None where they do not say.

    A charge below this is refused when made and found when a ledger is verified.
    """
    if charge.loss is None or charge.cells is None or charge.mechanism not in _LOSSES:
        return None
    try:
        least = _LOSSES[charge.mechanism](dict(charge.parameters), charge.cells)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise InputError(
            f"A charge for {charge.mechanism} needs its own parameters as exact text ({error})."
        ) from None
    return least if least.kind == charge.loss.kind else None


def sum_of(kind: str, charges: Iterable[Charge]) -> Loss:
    """What the charges cost together, as the sum of `kind` counts them.

    The order does not matter, and it holds for charges chosen one after another by looking at
    earlier answers.

    >>> twice = [Charge.laplace("0.1", cells=2, neighbours="add-remove", question="q1")] * 2
    >>> print(sum_of("pure", twice))
    epsilon = 0.4
    """
    total = zero(kind)
    for charge in charges:
        if charge.loss is not None:
            total += read_as(charge.loss, kind)
    return total


def has_loss(charges: Iterable[Charge]) -> bool:
    """Does any of the charges spend a budget? False where all are records."""
    return any(charge.loss is not None for charge in charges)


def as_register(charges: Iterable[Charge]) -> list[dict[str, Any]]:
    """The charges as a public loss register: plain data, one row each, no user and no date.

    The row of a record has the loss kind `none`, and neither cells nor neighbours.
    """
    rows: list[dict[str, Any]] = []
    for charge in charges:
        row: dict[str, Any] = {
            "mechanism": charge.mechanism,
            **{f"parameter_{name}": value for name, value in charge.parameters},
            "question": charge.question,
        }
        if charge.loss is None or charge.neighbours is None:
            rows.append({**row, "loss_kind": "none"})
            continue
        losses = {f"loss_{name}": value for name, value in loss_to_json(charge.loss).items()}
        neighbours = charge.neighbours.words
        rows.append({**row, "cells_per_unit": charge.cells, "neighbours": neighbours, **losses})
    return rows


def as_dp_accounting_event(charges: Iterable[Charge]) -> Any:
    """The charges as one dp-accounting `DpEvent` tree (needs the extra `accounting`).

    Discrete Laplace noise becomes its own event with L1 sensitivity 1, once for each cell. Any
    other pure loss becomes one such event with the whole epsilon: no mechanism with that epsilon
    is worse. Every zCDP loss is a `ZCDpEvent`. An (ε, δ) loss has no event there and becomes
    `UnsupportedDpEvent`, which an accountant refuses rather than miscounts; a record becomes
    `NonPrivateDpEvent`, so that no finite ε is claimed over it. Parameters are floats on their
    side, rounded against the spender.
    """
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise InputError(
            "Exporting to dp-accounting needs that package. Install discreet[accounting]."
        ) from None
    events: list[Any] = []
    for charge in charges:
        given = dict(charge.parameters)
        if charge.loss is None or charge.cells is None:
            events.append(dp_event.NonPrivateDpEvent())
        elif charge.mechanism == "discrete-laplace":
            each = float_up(Fraction(given["epsilon"]))
            event = dp_event.DiscreteLaplaceDpEvent(noise_parameter=each, sensitivity=1)
            events.append(dp_event.SelfComposedDpEvent(event, charge.cells))
        elif isinstance(charge.loss, PureLoss):
            every = float_up(charge.loss.epsilon)
            events.append(dp_event.DiscreteLaplaceDpEvent(noise_parameter=every, sensitivity=1))
        elif isinstance(charge.loss, ZcdpLoss):
            events.append(dp_event.ZCDpEvent(rho=float_up(charge.loss.rho)))
        else:
            events.append(dp_event.UnsupportedDpEvent())
    return dp_event.ComposedDpEvent(events)
