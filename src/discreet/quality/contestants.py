"""What is compared: a method with its parameters, under a policy that nobody set.

A contestant is named as people name it, `laplace ε 0.5` or `cell-key ±5 V 3`. A grid makes one for
each setting of each method; a word like `laplace` is a law of the method noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.description import Policy
from ..core.exact import exact, plain
from ..core.question import Question, TableSpec, Treatment
from ..errors import InputError, did_you_mean
from ..languages import number, say, together
from ..methods import registry
from ..methods.base import Facts, Method, Plan

if TYPE_CHECKING:
    from ..workspace import DataSet

LAWS = ("laplace", "normal", "gaussian", "max-entropy")
"""Laws of the method noise that are compared by their own names."""
FITTED = ("marginals", "topdown")
WORDS = ("cell-key", *LAWS, *FITTED, "classic")
EPSILONS = ("0.1", "0.5", "1", "1.5", "2", "3")
"""rinott §5.6.2."""
P_TABLES = ("3:1", "5:2", "5:3", "7:4", "10:6", "10:10")
"""Largest perturbation and variance of designed p-tables."""
THRESHOLDS = ("5", "10")
DELTA = "1e-6"


@dataclass(frozen=True)
class Contestant:
    """One method with one setting."""

    group: str
    """What it is called beside others: cell-key, laplace, …"""
    setting: str
    """Where it stands within its group: ε 0.5, ±5 V 3."""
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the policy says for its method."""
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the question says."""
    epsilon: str = ""

    @property
    def name(self) -> str:
        """Group and setting."""
        return together(self.group, self.setting)

    def plan(self, data: DataSet, specs: Sequence[TableSpec]) -> tuple[Method, Plan, Facts]:
        """All tables planned as one question, from public facts."""
        declared = registry.declaration(self.method)
        method = registry.get(self.method)
        policy = Policy(declared.family, self.method, {self.method: dict(self.parameters)})
        facts = Facts(
            data.described.description.public(declared.family),
            policy,
            data.data_version,
            policy.version,
        )
        if not policy.family.shows_found:
            names = {ref.variable for spec in specs for ref in spec.axes}
            data.described.description.require_declared(names)
        question = Question(data.name, tuple(specs), self.method, dict(self.asked))
        return method, method.plan(question, Treatment(), facts), facts


def grid(
    words: Sequence[str],
    epsilons: Sequence[str] = EPSILONS,
    p_tables: Sequence[str] = P_TABLES,
) -> list[Contestant]:
    """Every setting of every method named.

    >>> [one.name for one in grid(["laplace", "cell-key"], ["0.5"], ["5:3"])]
    ['laplace ε 0.5', 'cell-key ±5 V 3']
    """
    found: list[Contestant] = []
    for word in dict.fromkeys(words):
        if word not in WORDS:
            raise InputError(
                f"There is no {word[:40]!r} to compare; there are {', '.join(WORDS)}."
                f"{did_you_mean(word, WORDS)}"
            )
        if word == "cell-key":
            found += [_cell_key(text) for text in p_tables]
        elif word == "classic":
            found += [
                Contestant(
                    "classic", say("below {n}", n=n), "classic", {"threshold": n, "seconds": "5"}
                )
                for n in THRESHOLDS
            ]
        else:
            found += [_spending(word, text) for text in epsilons]
    if not found:
        raise InputError(f"Name at least one method to compare: {', '.join(WORDS)}.")
    return found


def _cell_key(text: str) -> Contestant:
    most, colon, variance = text.partition(":")
    if not colon:
        raise InputError(f"A p-table to compare is MAX:VARIANCE, such as 5:3, got {text[:40]!r}.")
    parameters = {"max_perturbation": most.strip(), "variance": variance.strip()}
    setting = together(f"±{most.strip()} V", number(variance.strip()))
    return Contestant("cell-key", setting, "cell-key", parameters)


def _spending(word: str, text: str) -> Contestant:
    epsilon = plain(exact(text, "epsilon", above=0, most=100))
    asked = {"epsilon": epsilon}
    method = "noise" if word in LAWS else word
    if word in LAWS and word != "laplace":
        asked |= {"law": word, "delta": DELTA}
    return Contestant(word, together("ε", number(epsilon)), method, {}, asked, epsilon)


def own_policy(data: DataSet) -> Contestant | None:
    """The policy as it is, where comparing it needs no ε."""
    policy = data.policy
    if policy.method != "cell-key":
        return None
    setting = say("as your policy says")
    return Contestant("cell-key", setting, "cell-key", policy.parameters("cell-key"))
