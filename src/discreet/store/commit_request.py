"""What a commit asks a ledger for, and how a retry is known to be the same request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.charge import Charge
from ..errors import InputError
from .chain import canonical, digest


class CommitRequest:
    """What was asked, apart from what was drawn: a retry draws anew and is the same request."""

    def __init__(
        self,
        charges: tuple[Charge, ...],
        measurements: bytes,
        key: str,
        user: str,
        project: str,
        data_version: str,
        policy_version: str,
    ) -> None:
        if not key or len(key) > 200:
            raise InputError("An idempotency key must be text of 1 to 200 characters.")
        for what, text in (("idempotency key", key), ("user", user), ("project", project)):
            if "\0" in text or not _is_whole(text):
                raise InputError(
                    f"The {what} holds a zero byte or half a sign, which no database keeps. Leave that "
                    "out; nothing was charged."
                )
        self.question = question_of(charges)
        self.charges, self.measurements = charges, measurements
        self.key, self.user, self.project = key, user, project
        self.data_version, self.policy_version = data_version, policy_version
        self.measurements_digest = digest(measurements)
        request = {
            "charges": [[_as_asked(charge) for charge in charges]],  # the form of older ledgers
            "project": project,
            "data_version": data_version,
            "policy_version": policy_version,
        }
        self.digest = digest(canonical(request).encode())


def _is_whole(text: str) -> bool:
    """Whether every sign of a text is one."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _as_asked(charge: Charge) -> dict[str, Any]:
    """A charge, without what a record says of the decision: a retry may decide anew."""
    stored = charge.to_json()
    return stored if charge.loss is not None else {**stored, "parameters": {}}


def question_of(charges: Sequence[Charge]) -> str:
    """The one question that charges are for."""
    if len({charge.question for charge in charges}) != 1:
        raise InputError("A question needs at least one charge, and all must name that question.")
    return charges[0].question
