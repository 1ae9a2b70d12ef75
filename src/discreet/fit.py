"""Protected tables from measurements and public facts alone: free, kept where it takes long, judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .core.control import Control
from .core.question import Treatment
from .core.table import ProtectedTable
from .errors import Bug
from .methods import registry
from .methods.base import Derives, Measurements, Plan, as_measured, keeps_fit, remembers
from .protected_rules import dense_enough, mark, sparse_limit

if TYPE_CHECKING:
    from .workspace import DataSet

Tables = tuple[ProtectedTable, ...]


def fit(data: DataSet, plan: Plan, measurements: Measurements, control: Control) -> Tables:
    """The protected tables of a plan: from measurements and public facts alone."""
    control.step(0.9, "fitting")
    measurements = fitted(data, plan, measurements, control)
    tables = registry.get(plan.method).fit(plan, measurements, data.facts, control)
    control.step(1.0, "done")
    return tables


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
    """The measurements with a method's long work done on them, kept for the next time."""
    method = registry.get(plan.method)
    if not keeps_fit(method):
        return measurements
    treatment = json.dumps(dict(plan.treatment), sort_keys=True).encode()
    key = f"fit {hashlib.sha256(treatment + measurements.to_bytes()).hexdigest()}"
    stored = data.results().get(key)
    if stored is not None:
        return Measurements.from_bytes(stored)
    done = method.fitted(plan, measurements, control)
    data.results().put(key, done.to_bytes())
    return done
