"""Made-up records, counted without an engine, for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import Count, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.question import Question, TableSpec, Treatment
from discreet.core.table import ProtectedTable, TrueTable
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.methods.base import Facts, Measurements, Plan
from discreet.methods.marginals.method import MarginalsMethod
from discreet.protected_rules import mark
from discreet.recipe import find_axis

from .. import asking

Asked = tuple[Question, Treatment]


def described(shape: tuple[int, ...], **changes: Any) -> Description:
    """A data set of variables v0, v1, … with so many categories."""
    variables = tuple(
        variable(f"v{i}", [f"c{j}" for j in range(n)], label=f"V{i}") for i, n in enumerate(shape)
    )
    facts: dict[str, Any] = {"name": "made", "title": Text.of("Made"), "variables": variables}
    return Description(**(facts | changes))


def facts_of(description: Description, **parameters: Any) -> Facts:
    policy = Policy(
        family=Family.DP,
        method="marginals",
        methods={"marginals": parameters},
        budget=PureLoss(10),
    )
    return Facts(description, policy, "d1", policy.version)


def question(description: Description, tables: list[list[str]], **parameters: str) -> Asked:
    specs = tuple(
        TableSpec(tuple(sorted(find_axis(description, name) for name in names))) for names in tables
    )
    return asking.read("marginals", description.name, specs, **parameters)


def count(rows: np.ndarray, description: Description, counts: tuple[Count, ...]) -> list[TrueTable]:
    """What an engine would bring; rows hold finest codes, one column for each variable."""
    out = []
    names = [v.name for v in description.variables]
    for asked in counts:
        domain = description.domain(asked.axes)
        columns = [
            np.array(description.axis(ref).level.of_finest)[rows[:, names.index(ref.variable)]]
            for ref in asked.axes
        ]
        coordinates = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), int)
        passing = np.ones(len(rows), dtype=bool)
        for part in asked.where:
            level = description.variable(part.variable).level(part.level)
            codes = [level.index[code] for code in part.codes]
            held = np.array(level.of_finest)[rows[:, names.index(part.variable)]]
            passing &= np.isin(held, codes)
        addresses, found = np.unique(domain.address(coordinates[passing]), return_counts=True)
        out.append(seal(domain, Cells(addresses.astype(np.int64), found.astype(np.int64))))
    return out


def released(
    rows: np.ndarray, description: Description, asked: Asked, **policy: Any
) -> tuple[Plan, Measurements, tuple[ProtectedTable, ...]]:
    """The whole way: plan, count, measure, store, read back, fit."""
    method = MarginalsMethod()
    facts = facts_of(description, **policy)
    plan = method.plan(*asked, facts)
    measured = method.measure(plan, count(rows, description, plan.counts), None, Control())
    stored = Measurements.from_bytes(measured.to_bytes())
    tables = method.fit(plan, stored, facts, Control())
    return plan, stored, tuple(mark(table, facts.policy) for table in tables)


def latent(shape: tuple[int, ...], records: int, seed: int, classes: int = 6) -> np.ndarray:
    """Skewed, correlated records from a few hidden classes."""
    rng = np.random.default_rng(seed)
    which = rng.choice(classes, records, p=rng.dirichlet(np.ones(classes) * 0.7))
    rows = np.zeros((records, len(shape)), dtype=np.int64)
    for axis, n in enumerate(shape):
        shares = np.cumsum(rng.dirichlet(np.ones(n) * 0.6, classes)[which], axis=1)
        rows[:, axis] = (rng.random(records)[:, None] > shares).sum(axis=1).clip(0, n - 1)
    return rows


def true_margin(rows: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    if not axes:
        return np.array(len(rows), dtype=np.int64)
    table = np.zeros([shape[a] for a in axes], dtype=np.int64)
    np.add.at(table, tuple(rows[:, a] for a in axes), 1)
    return table
