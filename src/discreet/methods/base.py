"""The protocol every method keeps: plan, measure, fit.

    plan(question, facts)            public facts only: what to count, which laws, cost, error
    measure(plan, true tables, …)    sees the truth, draws or looks up noise; integers only
    fit(plan, measurements)          sees only the measurements; free, repeatable, cancellable

A method is *drawn* (measurements are stored with their charge before anything is answered) or
*keyed* (recomputed from keys at will, no ledger row). It never holds an engine, a store or a
workspace, and never knows another method. `docs/decisions/0002-five-methods.md` has the
signatures of all five against this protocol.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..core.charge import Charge
from ..core.control import Control
from ..core.description import Description, Family, Policy
from ..core.domain import Count
from ..core.guarantee import Guarantee
from ..core.origin import Origin
from ..core.question import Question, TableSpec
from ..core.table import ProtectedTable, Provenance, TrueTable
from ..version import __version__


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
    share_unchanged: float | None = None
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
    warnings: tuple[str, ...] = ()
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
    def from_bytes(cls, data: bytes) -> Measurements:
        """Read back what `to_bytes` wrote."""
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])
        arrays, at = {}, 8 + size
        for name, shape in head["arrays"]:
            length = int(np.prod(shape, dtype=np.int64)) * 8
            array = np.frombuffer(data[at : at + length], dtype="<i8").astype(np.int64)
            arrays[name] = array.reshape(shape)
            at += length
        return cls(arrays, head["facts"])


class Secrets(Protocol):
    """What a keyed method may ask of the custodian's secrets; a repr never shows them."""

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for this purpose, the same for ever within a key epoch."""
        ...


class Method(Protocol):
    """One published way to protect a table."""

    name: str
    family: Family
    drawn: bool

    def settings(self, parameters: Mapping[str, Any]) -> object:
        """Read and check the parameters a policy gives; bad ones get one clear sentence."""
        ...

    def plan(self, question: Question, facts: Facts) -> Plan:
        """What to count, which laws, cost and error; reads no data."""
        ...

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """Protect the true tables, one for each of `plan.counts` in order."""
        ...

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The protected tables, one for each table of the question in its order."""
        ...


class Derives(Protocol):
    """A method whose released measurements answer further questions, at no cost."""

    def derive(self, plan: Plan, question: Question, facts: Facts) -> Plan | None:
        """A plan that fits `question` from what `plan` measured; None where it does not follow."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A method whose noise comes from keys: it says when the same cells are answered anew."""

    def law_version(self, parameters: Mapping[str, Any]) -> str:
        """Changes whenever the same keys would give a cell another number."""
        ...


class Fits(Protocol):
    """A method whose fit takes long and can be kept beside the measurements."""

    def fitted(self, plan: Plan, measurements: Measurements, control: Control) -> Measurements:
        """The measurements with the long work done; `fit` and `synthesise` start from it."""
        ...


def as_measured(method: Method, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
    """The plan stored measurements were made by, for methods that keep it with them.

    What is best to measure may be judged otherwise in a later version; an answer stays as it was.
    """
    own = getattr(method, "measured", None)
    return plan if own is None else cast("Plan", own(plan, measurements, facts))


def reliable_limit(policy: Policy) -> Fraction:
    """Above which noise sd ÷ released count a cell is marked unreliable (policy; default 1/4)."""
    value = policy.reliable.get("noise_sd_over_count", "1/4")
    return Fraction(str(value))


def provenance(plan: Plan, facts: Facts) -> Provenance:
    """Where the tables of a plan come from, as every format tells it."""
    description = facts.description
    return Provenance(
        dataset=description.name,
        dataset_title=str(description.title),
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


def title_of(spec: TableSpec, description: Description) -> str:
    """A title from the table's own variables: 'Deaths by region and sex, women only'."""
    axes = [_in_sentence(str(description.axis(ref).level.label)) for ref in spec.axes]
    by = (
        "" if not axes else " by " + (", ".join(axes[:-1]) + " and " if axes[1:] else "") + axes[-1]
    )
    only = []
    for condition in spec.where:
        level = description.variable(condition.variable).level(condition.level)
        labels = [str(level.categories[level.index[code]].label) for code in condition.codes]
        shown = ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")
        only.append(f"{_in_sentence(str(level.label))}: {shown}")
    return f"{description.title}{by}" + (f" ({'; '.join(only)})" if only else "")


def _in_sentence(label: str) -> str:
    """A label inside a sentence: its first letter small, unless its first word is an abbreviation."""
    first = label.split(" ", 1)[0]
    return label if first[1:].lower() != first[1:] else label[:1].lower() + label[1:]
