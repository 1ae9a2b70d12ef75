"""Protected tables from measurements and public facts alone: free, kept where it takes long, judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .core.control import Control
from .core.question import Treatment
from .core.table import ProtectedTable
from .errors import Bug
from .methods import registry
from .methods.base import Derives, Measurements, Plan, as_measured, keeps_fit, remembers
from .protected_rules import dense_enough, mark, sparse_limit

if TYPE_CHECKING:
    from .store.results import Results
    from .workspace import DataSet

Tables = tuple[ProtectedTable, ...]


def fit(data: DataSet, plan: Plan, measurements: Measurements, control: Control) -> Tables:
    """The protected tables of a plan: from measurements and public facts alone."""
    fitting = control.part(fitting_begins(plan), 1.0)
    fitting.step(0.0, "fitting")
    measurements = fitted(data, plan, measurements, fitting)
    tables = registry.get(plan.method).fit(plan, measurements, data.facts, fitting)
    control.step(1.0, "done")
    return tables


def fitting_begins(plan: Plan) -> float:
    """The share of the work that is done when fitting begins: little where a fit takes long."""
    return 0.3 if keeps_fit(registry.get(plan.method)) else 0.9


@dataclass(frozen=True)
class FittedFrom:
    """What tables are fitted from; `released_by` is the plan they are read off, if they are."""

    plan: Plan
    measurements: Measurements
    control: Control
    released_by: Plan | None = None


def judged(data: DataSet, source: FittedFrom, *, treated: bool) -> Tables:
    """The fitted tables by the rules on protected values: marked, warned of, or refused.

    Whether a table is too sparse is judged as the policy itself would show it, so it does not
    depend on the treatment that was asked for.
    """
    policy = data.policy
    tables = fit(data, source.plan, source.measurements, source.control)
    if sparse_limit(policy) is not None:
        charged = source.plan.charge is not None
        again = treated and not remembers(registry.get(source.plan.method))
        plain = _as_policy_shows(data, source) if again else tables
        tables = dense_enough(tables, policy, plain, charged=charged)
    return tuple(mark(table, policy) for table in tables)


def _as_policy_shows(data: DataSet, source: FittedFrom) -> Tables:
    """The same tables under no treatment but the policy's own."""
    method, question = registry.get(source.plan.method), source.plan.question
    untreated = None
    if source.released_by is None:
        untreated = method.plan(question, Treatment(), data.facts)
        untreated = as_measured(method, untreated, source.measurements, data.facts)
    elif isinstance(method, Derives):
        untreated = method.derive(source.released_by, question, Treatment(), data.facts)
    if untreated is None:
        raise Bug("What follows from a release under one treatment follows under another.")
    return fit(data, untreated, source.measurements, source.control)


def fitted(data: DataSet, plan: Plan, measurements: Measurements, control: Control) -> Measurements:
    """The measurements with a method's long work done on them, once and for all."""
    method = registry.get(plan.method)
    if not keeps_fit(method):
        return measurements
    treatment = json.dumps(dict(plan.treatment), sort_keys=True).encode()
    key = hashlib.sha256(treatment + measurements.to_bytes()).hexdigest()
    stored = data.fits().get(key)
    if stored is None:
        parts = _Parts(data.results(), f"fit {key}")
        done = method.fitted(plan, measurements, replace(control, keep=parts))
        stored = data.fits().keep(key, done.to_bytes())  # another host may have been first
        parts.forget()
    return Measurements.from_bytes(stored)


@dataclass
class _Parts:
    """Finished parts of one fit, in the cache of results: a fit that was stopped goes on from them."""

    results: Results
    fit: str
    names: set[str] = field(default_factory=set)

    def get(self, name: str) -> bytes | None:
        """What was kept under a name."""
        self.names.add(name)
        return self.results.get(f"{self.fit} {name}")

    def put(self, name: str, part: bytes) -> None:
        """Keep a part."""
        self.names.add(name)
        self.results.put(f"{self.fit} {name}", part)

    def forget(self) -> None:
        """The fit is done: its parts are needed no more."""
        self.results.drop([f"{self.fit} {name}" for name in sorted(self.names)])
