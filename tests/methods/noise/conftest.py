"""A tiny world for the noise method: described variables, records as rows, counting by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import Description, Policy, Weight
from discreet.core.domain import AxisRef, Condition, Count, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.methods.base import Facts, Plan
from discreet.methods.noise.method import NoiseMethod
from discreet.protected_rules import mark
from discreet.recipe import TableSpec

from .. import asking


class World:
    """A data set of a few categorical variables, and what a flow would do with it."""

    def __init__(self, variables, rows=(), weights=(), parameters=None, **facts) -> None:
        self.description = Description(
            name="tiny", title=Text.of("Tiny"), variables=tuple(variables), **facts
        )
        self.policy = Policy(
            family=Family.DP,
            method="noise",
            methods={"noise": parameters or {}},
            budget=PureLoss(10),
        )
        self.facts = Facts(self.description, self.policy, "v1", "p1")
        self.rows = [tuple(record) for record in rows]
        self.weights = list(weights)
        self.method = NoiseMethod()

    def spec(self, *axes: str, where=None, totals=True, weighted=False, share=None, name=""):
        refs = []
        for axis in axes:
            name_, _, level = axis.partition(":")
            refs.append(AxisRef(name_, level or name_))
        conditions = []
        for key, codes in (where or {}).items():
            name_, _, level = key.partition(":")
            conditions.append(Condition(name_, level or name_, tuple(sorted(codes))))
        return TableSpec(
            tuple(refs),
            tuple(conditions),
            totals,
            weighted,
            None if share is None else Fraction(share),
            name,
        )

    def plan(self, *specs: TableSpec, **parameters: str) -> Plan:
        return asking.plan("noise", specs, self.facts, **parameters)

    def index(self, ref, record) -> int:
        position = [v.name for v in self.description.variables].index(ref.variable)
        found = self.description.variables[position]
        finest = found.finest.index[record[position]]
        return found.level(ref.level).of_finest[finest]

    def passes(self, where, record) -> bool:
        for part in where:
            level = self.description.variable(part.variable).level(part.level)
            if level.codes[self.index(part, record)] not in part.codes:
                return False
        return True

    def dense(self, count: Count, weighted=False) -> np.ndarray:
        rows = self.rows
        out = np.zeros(self.description.domain(count.axes).shape, dtype=np.int64)
        for number, record in enumerate(rows):
            if self.passes(count.where, record):
                place = tuple(self.index(ref, record) for ref in count.axes)
                out[place] += self.weights[number] if weighted else 1
        return out

    def tables(self, plan: Plan):
        out = []
        for count in plan.counts:
            values = self.dense(count)
            flat = values.ravel()
            at = np.flatnonzero(flat)
            weights = None
            if plan.needs_weights:
                weights = self.dense(count, weighted=True).ravel()[at]
            domain = self.description.domain(count.axes)
            out.append(seal(domain, Cells(at.astype(np.int64), flat[at], weights=weights)))
        return out

    def release(self, plan: Plan):
        measured = self.method.measure(plan, self.tables(plan), None, Control())
        return tuple(
            mark(table, self.policy)
            for table in self.method.fit(plan, measured, self.facts, Control())
        )


@pytest.fixture
def world():
    return World


@pytest.fixture
def four_way():
    """rinott §7: four variables of ten categories each, nothing declared about their number."""

    def make(**facts) -> World:
        codes = [str(i) for i in range(10)]
        return World([variable(name, codes) for name in "abcd"], **facts)

    return make


@pytest.fixture
def people():
    """Two small variables, one with a coarser level, and a yes/no; a handful of records."""
    region = variable("region", ["n", "s", "e"], levels={"half": {"n": "1", "s": "1", "e": "2"}})
    sex = variable("sex", ["f", "m"])
    ill = variable("ill", ["no", "yes"])
    rng = np.random.default_rng(4)
    records = [
        (rng.choice(["n", "s", "e"]), rng.choice(["f", "m"]), rng.choice(["no", "yes"]))
        for _ in range(60)
    ]

    def make(rows=records, weights=(), **facts) -> World:
        return World([region, sex, ill], rows, weights, **facts)

    return make


@pytest.fixture
def weight():
    return Weight("w", 10, Fraction(5, 2))
