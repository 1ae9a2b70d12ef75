"""One two-way table released by consistent margins, from noise that repeats.

The tables are drawn by the papers' sections or printed in a paper: a written seed gives nobody away.
"""

from __future__ import annotations

import numpy as np

from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import AxisRef, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.question import Question, TableSpec, Treatment
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.methods.base import Facts
from discreet.methods.declaration import Part
from discreet.methods.marginals.declaration import DECLARATION
from discreet.methods.marginals.method import MarginalsMethod, drawn

from .topdown import Repeated


def by_margins(table: np.ndarray, epsilon: str, seed: int, **settings: str) -> np.ndarray:
    """The table after `method: marginals` at ε, with its own total private."""
    variables = tuple(
        variable(name, [str(k) for k in range(n)])
        for name, n in zip("ab", table.shape, strict=True)
    )
    policy = Policy(Family.DP, "marginals", budget=PureLoss(10))
    facts = Facts(Description("study", Text.of("Study"), variables), policy, "d", "p")
    spec = TableSpec((AxisRef("a", "a"), AxisRef("b", "b")), totals=False)
    said = DECLARATION.read({"epsilon": epsilon, **settings})
    question = Question("study", (spec,), "marginals", said[Part.MEASURED])
    method = MarginalsMethod()
    plan = method.plan(question, Treatment(said[Part.TREATED]), facts)
    (count,) = plan.counts
    domain = facts.description.domain(count.axes)
    cells = np.arange(table.size, dtype=np.int64)
    true = seal(domain, Cells(cells, table.ravel().astype(np.int64)))
    (out,) = method.fit(plan, drawn(plan, [true], Repeated(seed)), facts, Control())
    return np.asarray(out.values)
