"""Protected tables from measurements and public facts alone: free, and kept where it takes long."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from .core.control import Control
from .core.table import ProtectedTable
from .methods import registry
from .methods.base import Measurements, Plan, keeps_fit

if TYPE_CHECKING:
    from .workspace import DataSet


def fit(
    data: DataSet, plan: Plan, measurements: Measurements, control: Control
) -> tuple[ProtectedTable, ...]:
    """The protected tables of a plan: from measurements and public facts alone."""
    control.step(0.9, "fitting")
    measurements = fitted(data, plan, measurements, control)
    tables = registry.get(plan.method).fit(plan, measurements, data.facts, control)
    control.step(1.0, "done")
    return tables


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
