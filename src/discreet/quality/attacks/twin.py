"""Made-up people under a custodian's own policy: mechanisms to attack, no record to see.

A round of a game is a few cells of a table with one variable, whose categories are nobody's; the
method plans and measures it as it would any other, with the policy's parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import true_values
from ...core.control import Control
from ...core.description import Description, Policy
from ...core.domain import AxisRef, variable
from ...core.guarantee import Guarantee
from ...core.loss import ZcdpLoss
from ...core.neighbours import Neighbours
from ...core.question import Question, TableSpec, Treatment
from ...methods import registry
from ...methods.base import Facts, Method, Plan, stored_name
from ..trial import MadeUpKeys
from .game import Claim, Whole

if TYPE_CHECKING:
    from ...workspace import DataSet

CELL = "cell"
SAID_DELTA = "1e-6"


@dataclass(frozen=True)
class Twin:
    """A policy and the public facts that shape its noise, without anybody."""

    description: Description
    policy: Policy
    epsilon: str

    @classmethod
    def of(cls, data: DataSet, epsilon: str = "") -> Twin:
        """The twin of a data set; `epsilon` is what one question spends, where it spends."""
        described, policy = data.description, data.policy
        bare = Description(
            "twin",
            described.title,
            (variable(CELL, ["a", "b"]),),
            unit=described.unit,
            records_per_unit=described.records_per_unit,
            records=described.records,
        )
        usual = str(policy.parameters("noise").get("epsilon", "1"))
        return cls(bare, policy, epsilon or usual)

    @property
    def replaced(self) -> bool:
        """Whether the number of people is public, so that one is replaced, never added."""
        return self.description.neighbours is Neighbours.REPLACE_ONE

    @property
    def method(self) -> str:
        """cell-key, or noise for every policy that spends."""
        return "cell-key" if self.policy.family == "cell-key" else "noise"

    def plan(self, cells: int) -> tuple[Method, Plan]:
        """A table of so many cells, planned by the method under the policy's parameters."""
        codes = [str(n) for n in range(cells)]
        described = replace(self.description, variables=(variable(CELL, codes),))
        own = {
            name: value
            for name, value in self.policy.parameters(self.method).items()
            if name != "published"
        }
        policy = Policy(self.policy.family, self.method, {self.method: own})
        facts = Facts(described, policy, "twin", policy.version)
        asked = {} if self.method == "cell-key" else {"epsilon": self.epsilon}
        spec = TableSpec((AxisRef(CELL, CELL),), totals=False)
        question = Question("twin", (spec,), self.method, asked)
        method = registry.get(self.method)
        return method, method.plan(question, Treatment(), facts)

    def release(self, counts: Whole) -> Whole:
        """Protect rows of cells, each with people of its own."""
        return self.released(counts, _keys(counts.size), MadeUpKeys())

    def with_one_more(self, sets: Whole) -> tuple[Whole, Whole]:
        """Sets of people protected as they are, and again with one person more in each."""
        keys, more, secrets = _keys(sets.size), _keys(sets.size), MadeUpKeys()
        without = self.released(sets, keys, secrets)
        both = ((keys[0] + more[0]) % (1 << 32), (keys[1] + more[1]) % (1 << 32))
        return without, self.released(sets + 1, both, secrets)

    def released(self, counts: Whole, keys: tuple[Whole, Whole], secrets: MadeUpKeys) -> Whole:
        """The same with these sums of record keys."""
        method, plan = self.plan(counts.size)
        flat = counts.ravel().astype(np.int64)
        places = np.flatnonzero(flat)
        cells = true_values.Cells(places, flat[places], keys[0][places], keys[1][places])
        axes = plan.counts[0].axes
        described = replace(
            self.description, variables=(variable(CELL, [str(n) for n in range(counts.size)]),)
        )
        table = true_values.seal(described.domain(axes), cells)
        measured = method.measure(plan, [table], secrets, Control())
        name = stored_name(plan.question.tables[0])
        arrays: Any = measured.arrays
        values = arrays[name] if name in arrays else next(iter(arrays.values()))
        return np.asarray(values.reshape(counts.shape))

    def guarantee(self) -> Guarantee:
        """What one question promises."""
        return self.plan(2)[1].guarantee

    def claim(self, questions: int = 1) -> Claim:
        """What is promised about one unit more or less, over so many questions."""
        promise = self.guarantee()
        if promise.rho is not None:
            loss = ZcdpLoss(promise.rho * questions).to_approximate(SAID_DELTA)
            return Claim(float(loss.epsilon), float(loss.delta))
        epsilon, delta = promise.epsilon or 0, promise.delta or 0
        return Claim(float(epsilon * questions), float(delta * questions))


def _keys(cells: int) -> tuple[Whole, Whole]:
    """Sums of record keys that are nobody's, in two halves."""
    random = np.random.default_rng()
    low, high = random.integers(0, 1 << 32, (2, cells), dtype=np.int64)
    return low, high
