"""A small world for the cell-key tests: records in memory, a policy, and the method's flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core.control import Control
from discreet.core.count_law import Row
from discreet.core.description import Description, Policy
from discreet.core.domain import AxisRef, Condition
from discreet.core.family import Family
from discreet.core.table import ProtectedTable
from discreet.core.true_values import add_totals, dense, reveal
from discreet.methods.base import Facts, Measurements, Plan
from discreet.methods.cellkey.dialects import ONS_CYCLE, ONS_ROWS
from discreet.methods.cellkey.method import CellKeyMethod
from discreet.methods.cellkey.ptable import PTable
from discreet.protected_rules import mark
from discreet.recipe import TableSpec

from ...engines.numpy_engine import NumpyEngine
from .. import asking


class FixedSecrets:
    """Secrets for tests: a different key for every purpose and seed."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def derive(self, purpose: str) -> bytes:
        import hashlib

        return hashlib.sha256(f"{self.seed} {purpose}".encode()).digest()


@dataclass
class World:
    """Records as finest indices, their 64-bit record keys as halves, and a policy."""

    description: Description
    codes: Mapping[str, np.ndarray]
    parameters: dict[str, Any] = field(default_factory=dict)
    weights: np.ndarray | None = None
    keys: tuple[np.ndarray, np.ndarray] | None = None
    seed: int = 1
    reliable: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(next(iter(self.codes.values())))
        rng = np.random.default_rng(self.seed)
        if self.keys is None:
            self.keys = (rng.integers(0, 1 << 32, size), rng.integers(0, 1 << 32, size))
        self.method = CellKeyMethod()

    @property
    def engine(self) -> NumpyEngine:
        assert self.keys is not None
        return NumpyEngine(self.description, self.codes, *self.keys, self.weights)

    @property
    def facts(self) -> Facts:
        policy = Policy(
            Family.CELL_KEY,
            "cell-key",
            {"cell-key": self.parameters},
            reliable=self.reliable,
        )
        return Facts(self.description, policy, "data 1", policy.version)

    def plan(self, *specs: TableSpec, **said: Any) -> Plan:
        return asking.plan("cell-key", specs, self.facts, **said)

    def measure(self, *specs: TableSpec) -> Measurements:
        plan = self.plan(*specs)
        counted = self.engine.count(plan.counts, keys=True, weights=plan.needs_weights)
        return self.method.measure(plan, counted, FixedSecrets(self.seed), Control())

    def tables(self, *specs: TableSpec) -> tuple[ProtectedTable, ...]:
        plan = self.plan(*specs)
        kept = Measurements.from_bytes(self.measure(*specs).to_bytes())
        made = self.method.fit(plan, kept, self.facts, Control())
        return tuple(mark(table, self.facts.policy) for table in made)

    def values(self, spec: TableSpec) -> np.ndarray:
        """The perturbed values of one table, as measured."""
        return next(iter(self.measure(spec).arrays.values()))

    def true(self, spec: TableSpec) -> np.ndarray:
        """The true counts, for tests only."""
        (table,) = self.engine.count([spec.count])
        cells = reveal(table)
        full = dense(table.domain, cells.addresses, cells.counts)
        return add_totals(full) if spec.totals else full


def spec(
    *axes: str, where: Sequence[tuple[str, ...]] = (), totals: bool = True, weighted: bool = False
) -> TableSpec:
    """A table over 'variable' or 'variable:level', with filters (variable:level, code, …)."""

    def ref(name: str) -> AxisRef:
        variable, _, level = name.partition(":")
        return AxisRef(variable, level or variable)

    conditions = tuple(
        Condition(ref(name).variable, ref(name).level, tuple(sorted(codes)))
        for name, *codes in where
    )
    return TableSpec(tuple(ref(axis) for axis in axes), conditions, totals, weighted)


def ten_five(keys: int = 256) -> PTable:
    """ONS's 10-5 rule: below 10 to 0, from 10 on to the nearest multiple of 5; no key matters."""
    steps = [-n if n < 10 else (0, -1, -2, 2, 1)[n % 5] for n in range(ONS_ROWS + 1)]
    rows = tuple(Row((v,), (keys,)) for v in steps)
    return PTable(keys, rows, ONS_CYCLE, "10-5 rule")
