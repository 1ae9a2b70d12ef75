"""The protocol every method keeps: plan, measure, fit; and what a method may offer beside.

    plan(question, treatment, facts)   public facts only: what to count, which laws, cost, error
    measure(plan, true tables, …)      sees the truth, draws or looks up noise; integers only
    fit(plan, measurements, facts)     sees only the measurements; free, repeatable, cancellable

What is measured never depends on the treatment: it can be had later, at no cost, from the same
measurements. A plan's question is resolved, its treatment complete. A method declares what it is
(`declaration.py`) and what it offers beside by keeping one of the protocols `Derives`, `KeepsFit`,
`Synthesises`, `Keyed`, `KeepsPlan` and `Remembers`. It never holds an engine, a store or a workspace
and never knows another method. `docs/decisions/0002-five-methods.md` has all five against this
protocol.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..core.charge import Charge
from ..core.control import Control
from ..core.description import Description, Policy
from ..core.domain import AxisRef, Condition, Count, Domain
from ..core.guarantee import Guarantee
from ..core.names import canonical_conditions
from ..core.origin import Origin
from ..core.public_margins import under
from ..core.question import Question, TableSpec, Treatment
from ..core.table import ProtectedTable, Provenance, TrueTable
from ..errors import Bug
from ..version import __version__
from .declaration import Declaration
from .shared.synthetic_table import SyntheticTable

D = TypeVar("D")


@dataclass(frozen=True)
class Answered:
    """One earlier answer: its question and what was measured for it."""

    question: Question
    question_hash: str
    measurements: Measurements = field(repr=False)


@dataclass(frozen=True)
class History:
    """Everything released so far on these data, oldest first, and the entry it ends with."""

    head: str
    answers: tuple[Answered, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a plan may look at: public facts about data set and policy, never data."""

    description: Description
    policy: Policy
    data_version: str
    policy_version: str
    origin: Origin | None = None
    """The release the records were made from; None for all records of real units."""
    earlier_laws: int = 0
    """How many other laws a keyed method served these data under before."""
    history: History | None = None
    """What was released so far, for a method that remembers; None for all others."""
    sealed: Callable[[str], str] = str
    """A mark of a text that only the custodian's keys make: names what must stay private."""

    def __post_init__(self) -> None:
        # whatever method asks, and whoever made the facts: what fixes the number of records counts
        object.__setattr__(self, "description", under(self.policy, self.description))

    @cached_property
    def zeros(self) -> tuple[tuple[Condition, ...], ...]:
        """The structural zeros in canonical form, however many rules they were written as.

        A condition that all categories of a variable meet says nothing and is not there.
        """
        return tuple(
            canonical_conditions(
                self.description, [(AxisRef(c.variable, c.level), c.codes) for c in rule]
            )
            for rule in self.description.zero_rules
        )


@dataclass(frozen=True)
class ExpectedError:
    """What a reader of one wanted table may expect, before anything is spent."""

    table: TableSpec
    cells: int
    noise_sd: float
    half_width: int
    """95 % of cells of the interior are within ± this of the truth."""
    totals_sd: Mapping[str, float] = field(default_factory=dict)
    """Standard deviation of each margin, by the names of the axes kept, '' being the total."""
    totals_half_width: Mapping[str, int] = field(default_factory=dict)
    """95 % of the numbers of each margin are within ± this, by the same names."""
    share_unchanged: float | None = None
    """The share of cells that the noise leaves as they are, where one law says it."""
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """What a method means to do, from public facts only; the same on neighbouring data sets."""

    method: str
    question: Question
    question_hash: str
    counts: tuple[Count, ...]
    guarantee: Guarantee
    errors: tuple[ExpectedError, ...]
    charge: Charge | None = None
    needs_keys: bool = False
    needs_weights: bool = False
    treatment: Mapping[str, str] = field(default_factory=dict)
    """What `fit` does to the measurements, complete; `measure` never looks at it."""
    warnings: tuple[str, ...] = ()
    counted: str = ""
    """What a number is where it does not count records: the end of a table's title."""
    alternatives: tuple[Mapping[str, Any], ...] = ()
    """Other plans compared: name, cost, predicted error; for people who choose."""
    detail: Any = field(default=None, repr=False)
    """The method's own part."""

    @property
    def cells(self) -> int:
        """How many cells will be published."""
        return sum(error.cells for error in self.errors)


@dataclass(frozen=True)
class Measurements:
    """What measuring brought: whole numbers by name, safe to store and to publish.

    For a drawn method these are the noisy integers; for a keyed method the perturbed values.
    """

    arrays: Mapping[str, npt.NDArray[np.int64]] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> Question | None:
        """The question they answer, where the flow noted it with them."""
        form = self.facts.get("question", {})
        # version 0.1 noted the words of a question: what they are today its upgrade says
        return Question.from_canonical(form) if "settings" in form else None

    def to_bytes(self) -> bytes:
        """A canonical byte form: a JSON head with shapes, then 64-bit little-endian integers."""
        names = sorted(self.arrays)
        head = {
            "form": "discreet measurements 1",
            "arrays": [[name, list(self.arrays[name].shape)] for name in names],
            "facts": dict(self.facts),
        }
        out = io.BytesIO()
        text = json.dumps(head, sort_keys=True, ensure_ascii=False).encode()
        out.write(len(text).to_bytes(8, "little"))
        out.write(text)
        for name in names:
            out.write(np.ascontiguousarray(self.arrays[name], dtype="<i8").tobytes())
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, question: Mapping[str, Any] | None = None) -> Measurements:
        """Read back what `to_bytes` wrote; `question` is its form where that was given later."""
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])
        arrays, at = {}, 8 + size
        for name, shape in head["arrays"]:
            length = int(np.prod(shape, dtype=np.int64)) * 8
            array = np.frombuffer(data[at : at + length], dtype="<i8").astype(np.int64)
            arrays[name] = array.reshape(shape)
            at += length
        return cls(
            arrays, {**head["facts"], **({} if question is None else {"question": question})}
        )


class Secrets(Protocol):
    """What a keyed method may ask of the custodian's secrets; a repr never shows them."""

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for this purpose, the same for ever within a key epoch."""


class Method(Protocol):
    """One published way to protect a table."""

    declaration: ClassVar[Declaration]

    def settings(self, parameters: Mapping[str, Any]) -> object:
        """Read and check the parameters a policy gives; bad ones get one clear sentence."""

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """What to count, which laws, cost and error; reads no data."""

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """Protect the true tables, one for each of `plan.counts` in order."""

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The protected tables, one for each table of the question in its order."""


@runtime_checkable
class Derives(Protocol):
    """A method whose released measurements answer further questions, at no cost."""

    def derive(
        self, plan: Plan, question: Question, treatment: Treatment, facts: Facts
    ) -> Plan | None:
        """A plan that fits `question` from what `plan` measured; None where it does not follow."""


@runtime_checkable
class Keyed(Protocol):
    """A method whose noise comes from keys: it says when the same cells are answered anew."""

    def law_version(self, parameters: Mapping[str, Any]) -> str:
        """Changes whenever the same keys would give a cell another number."""


@runtime_checkable
class KeepsFit(Protocol):
    """A method whose fit takes long and can be kept beside the measurements."""

    def fitted(self, plan: Plan, measurements: Measurements, control: Control) -> Measurements:
        """The measurements with the long work done; `fit` and `synthesise` start from it."""


@runtime_checkable
class Forecasts(Protocol):
    """A method that can try a plan on people made up from public facts."""

    def forecast(self, plan: Plan, control: Control) -> str:
        """What came out of them, in a sentence; empty where trying would take too long."""


@runtime_checkable
class Synthesises(Protocol):
    """A method that can make synthetic records of what it measured."""

    def synthesise(
        self, plan: Plan, measurements: Measurements, control: Control
    ) -> SyntheticTable:
        """The synthetic table behind the tables of a plan."""

    def synthetic_domain(self, plan: Plan) -> Domain:
        """What the synthetic records are records of."""

    def standard_errors(self, plan: Plan) -> Sequence[tuple[tuple[str, ...], float]]:
        """For all variables measured and fitted together: their names, the error of a cell."""

    def write_records(
        self, plan: Plan, measurements: Measurements, path: Path, control: Control
    ) -> int:
        """Write one row for each synthetic record; returns how many."""

    def synthetic_files(
        self,
        plan: Plan,
        measurements: Measurements,
        folder: Path,
        kinds: Sequence[str],
        control: Control,
    ) -> Sequence[Path]:
        """Write the records and what they were fitted to, as files of these kinds."""


@runtime_checkable
class KeepsPlan(Protocol):
    """A method that keeps its plan with the measurements.

    What is best to measure may be judged otherwise in a later version; an answer stays as it was.
    """

    def measured(self, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
        """The plan these measurements were made by, where today another would be chosen."""


@runtime_checkable
class Remembers(Protocol):
    """A method whose answers depend on what was released before.

    It is given `facts.history`, and its commit holds only while that history has not moved: two
    questions at once are never decided on the same history.
    """

    remembers: ClassVar[bool]


def remembers(method: Method) -> bool:
    """Whether a method keeps `Remembers`: what `isinstance` would say, at once."""
    return hasattr(method, "remembers")


def keeps_fit(method: Method) -> TypeGuard[KeepsFit]:
    """Whether a method keeps `KeepsFit`, likewise."""
    return hasattr(method, "fitted")


def as_measured(method: Method, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
    """The plan stored measurements were made by, for methods that keep it with them."""
    return method.measured(plan, measurements, facts) if isinstance(method, KeepsPlan) else plan


def own_part(plan: Plan, kind: type[D]) -> D:
    """A method's own part of one of its plans."""
    if not isinstance(plan.detail, kind):
        raise Bug("A plan of another method was given.")
    return plan.detail


def stored_name(spec: TableSpec) -> str:
    """What a table's values are stored under: one question may name its tables in any order."""
    return _written(spec.unnamed.canonical())


_written = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def question_hash(question: Question, facts: Facts) -> str:
    """What ledger and cache know an answer by: the resolved question and what it is measured on.

    Besides the data version these are the facts of the description that measurements depend on:
    whom they protect, what is public already, which cells cannot exist, how far a weight reaches.
    Rules, limits and treatments are no part of it.
    """
    if not question.resolved:
        raise Bug("Only a resolved question has a hash.")
    description, used = facts.description, question.variables
    zeros = (zero for zero in facts.zeros if all(part.variable in used for part in zero))
    measuring: dict[str, Any] = {
        "unit": description.unit,
        "records_per_unit": description.records_per_unit,
        "records": description.records,
        "structural_zeros": sorted(
            [[part.variable, part.level, *part.codes] for part in zero] for zero in zeros
        ),
    }
    weight = description.weight
    if weight is not None and any(table.weighted for table in question.tables):
        bound = None if weight.bound is None else str(weight.bound)
        measuring["weight"] = [weight.name, weight.scale, bound]
    return question.hash(data=facts.data_version, measuring=measuring)


def provenance(plan: Plan, facts: Facts) -> Provenance:
    """Where the tables of a plan come from, as every format tells it."""
    description = facts.description
    return Provenance(
        dataset=description.name,
        dataset_title=description.title.sentence(),
        question=plan.question.canonical(),
        question_hash=plan.question_hash,
        data_version=facts.data_version,
        policy_version=facts.policy_version,
        method=plan.method,
        software=f"discreet {__version__}",
        synthetic=description.synthetic,
        source=description.source,
        licence=description.licence,
        contact=description.contact,
        population=description.population,
        period=description.period,
        unit=description.unit,
    )
