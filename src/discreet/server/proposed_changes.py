"""What a proposal changes, value by value: as it is now and as it would be.

Whoever decides sees the values wherever the decision is made. While a proposal waits they are
compared with the policy in force at that moment, so that what another proposal has changed meanwhile
shows; once it is decided, with the policy of the day it was proposed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .. import rule_words, rules
from ..core.exact import plain
from ..errors import DiscreetError
from ..languages import Sentence, number, say
from ..store.catalogue import Proposal
from ..workspace import DataSet, policy_change
from ..workspace.dataset import loss_written
from ..workspace.policy_draft import as_text, drafted
from .policy_effects import effects
from .problems import Problem
from .responses import Change
from .service import Service

BEFORE = "before"
"""Where a proposal keeps the policy of the day it was made."""
_GONE = (DiscreetError, Problem, OSError)
"""What a proposal was about is not there, or cannot be read, any more."""
_UNDECIDED = ("waiting", "applying")
_DEFAULTS = {"rules.max_cells": str(rules.DEFAULT_MOST_CELLS)}
"""What holds where nothing is written."""
_NAMES: Mapping[str, Sentence | str] = {
    "epsilon_most": say("ε of one table, at most"),
    "max_perturbation": say("no count moves by more than"),
    "variance": say("variance of the change"),
    "threshold": say("smallest count that is shown"),
    "epsilon": "ε",
    "rho": "ρ",
    "delta": "δ",
    "reliable": say("a number is reliable up to a relative error of"),
    "method": say("method"),
    "approval": say("custodians who must agree to a release"),
}


def changes(service: Service, one: Proposal) -> tuple[Change, ...]:
    """The values a proposal changes; none where it is about an account, or changes nothing any more."""
    if not one.dataset:
        return ()
    try:
        with service.datasets.use(one.dataset) as data:
            found = list(_of_policy(data, one) if "policy" in one.change else _of_budget(data, one))
    except _GONE:
        return ()
    return tuple(found)


def edition(found: Sequence[Change]) -> str:
    """A name of what was shown: another one where a value has changed since."""
    text = json.dumps([asdict(one) | {"words": ""} for one in found], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept(data: DataSet, policy: Mapping[str, Any]) -> dict[str, Any]:
    """What a proposal of a policy keeps: what it says, and what stands in its place today."""
    written = as_text(policy_change.written(data.folder))
    return {"policy": as_text(policy), BEFORE: {key: written.get(key) for key in policy}}


def lost(service: Service, one: Proposal) -> list[Sentence]:
    """What a policy that waits would do to what was answered; nothing where it takes nothing away."""
    if "policy" not in one.change or one.state not in _UNDECIDED:
        return []
    try:
        with service.datasets.use(one.dataset) as data:
            return effects(data, drafted(data, one.change["policy"])).sentences()
    except _GONE:
        return []


def _of_policy(data: DataSet, one: Proposal) -> Iterator[Change]:
    wished = as_text(one.change["policy"])
    decided = one.state not in _UNDECIDED
    if decided and BEFORE not in one.change:
        return
    written = one.change[BEFORE] if decided else as_text(policy_change.written(data.folder))
    if not decided:
        drafted(data, wished)  # what can no longer be read changes nothing
    for key, value in wished.items():
        now, then = dict(_flat(key, written.get(key))), dict(_flat(key, value))
        for part in dict.fromkeys((*now, *then)):
            before, wish = now.get(part, _DEFAULTS.get(part)), then.get(part, _DEFAULTS.get(part))
            if before != wish:
                yield Change(part, before, wish, _words(part, before, wish))


def _of_budget(data: DataSet, one: Proposal) -> Iterator[Change]:
    wished = loss_written({key: str(value) for key, value in one.change.items()})
    if one.state not in _UNDECIDED or wished is None:
        return
    parts = {} if data.policy.budget is None else data.policy.budget.parts
    now = {f"budget.{name}": plain(value) for name, value in parts.items()}
    then = {f"budget.{name}": plain(value) for name, value in wished.parts.items()}
    for part in dict.fromkeys((*now, *then)):
        if now.get(part) != then.get(part):
            words = _words(part, now.get(part), then.get(part))
            yield Change(part, now.get(part), then.get(part), words)


def _flat(part: str, value: Any) -> Iterator[tuple[str, str]]:
    """Values by where they stand; a rule is one value, however it is written."""
    is_rule = part.startswith("rules.")
    if isinstance(value, Mapping) and not is_rule:
        for key, inner in value.items():
            yield from _flat(f"{part}.{key}", inner)
    elif value not in (None, ""):
        yield part, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def in_words(part: str, value: str | None) -> Sentence:
    """A value with its name, as a table of changes has it."""
    return say("not set") if value is None else _one(part, value)


def _words(part: str, now: str | None, then: str | None) -> Sentence:
    if now is None and then is not None:
        return say("{then} (not set now)", then=_one(part, then))
    if then is None and now is not None:
        return say("no longer: {now}", now=_one(part, now))
    return say("{then} (now {now})", then=_one(part, then or ""), now=_number(now or ""))


def _one(part: str, value: str) -> Sentence:
    """A value with its name."""
    head, _, name = part.rpartition(".")
    if head == "rules" and name in rule_words.NAMES:
        return rule_words.in_words(name, value)
    return say("{name}: {value}", name=_NAMES.get(name, part), value=_number(value))


def _number(value: str) -> Sentence | str:
    return number(int(value)) if value.isdecimal() else value
