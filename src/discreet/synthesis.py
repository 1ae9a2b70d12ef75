"""From a release of consistent margins to its synthetic records: files, or a data set to serve.

Everything here is computed from stored measurements alone. It reads no data, draws nothing and
charges nothing; the guarantee is the release's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import earlier, workspace
from .core.control import Control
from .core.domain import Domain
from .core.question import Treatment
from .errors import InputError, Refusal
from .fit import fitted
from .methods import registry
from .methods.base import Measurements, Plan, Synthesises, SyntheticTable, as_measured
from .methods.shared.microdata import MOST_RECORDS
from .workspace.synthetic import make_synthetic

METHOD = "marginals"
"""What to release by where synthetic records are wanted."""


@dataclass(frozen=True)
class Synthesis:
    """A release's synthetic table with the plan and the measurements behind it."""

    method: Synthesises
    plan: Plan
    measurements: Measurements
    table: SyntheticTable
    domain: Domain


def synthetic(
    path: str | Path, into: str | Path, control: Control | None = None, *, release: str = ""
) -> Path:
    """Make the data set `into` of the synthetic records of a release; returns its folder.

    `release` is the beginning of the release's question hash; the newest release where not said.
    Any table can be asked of the new data set, at no cost and with the release's guarantee.
    """
    control = control or Control()
    if Path(into).exists():
        raise InputError(f"{into} is there already. Name a new data set: DIR/NAME.")
    with workspace.DataSet.open(path) as data:
        synthesis = _named(data, release, control.part(0.0, 0.6))
        if synthesis.table.total == 0:
            raise InputError(
                f"Release {synthesis.plan.question_hash[:12]} has no synthetic record: its counts are all "
                "0 after the noise. Release with a larger epsilon."
            )
        if synthesis.table.total > MOST_RECORDS:
            raise InputError(
                f"Release {synthesis.plan.question_hash[:12]} has {synthesis.table.total:,} synthetic records; "
                f"a data set can be made of at most {MOST_RECORDS:,}. Use its tables instead."
            )
        return make_synthetic(
            data,
            into,
            axes=[axis.ref for axis in synthesis.domain.axes],
            write_records=lambda target: synthesis.method.write_records(
                synthesis.plan, synthesis.measurements, target, control.part(0.6, 0.8)
            ),
            release=synthesis.plan.question_hash,
            guarantee=synthesis.plan.guarantee,
            measured=synthesis.method.standard_errors(synthesis.plan),
            control=control.part(0.8, 1.0),
        )


def synthesis_of(
    data: workspace.DataSet, plan: Plan, control: Control | None = None
) -> Synthesis | None:
    """The synthetic table behind a release; None where its method makes none."""
    if not isinstance(registry.get(plan.method), Synthesises):
        return None
    stored = data.ledger().find(plan.question_hash)
    if stored is None:
        return None
    return _made(data, plan, Measurements.from_bytes(stored.measurements), control)


def _named(data: workspace.DataSet, name: str, control: Control) -> Synthesis:
    """The release of that name, or the newest there is."""
    if data.policy.budget is None:
        raise Refusal(
            f"{data.name} serves family {data.policy.family}: only releases of method {METHOD}, under "
            "a budget, have synthetic records.",
            rule="no-synthetic-records",
        )
    releases = [
        (asked, stored)
        for asked, stored in earlier.released(data, data.ledger())
        if asked.method == METHOD
    ]
    hashes = [stored.question for _, stored in releases]
    chosen = [place for place, digest in enumerate(hashes) if digest.startswith(name)]
    if not chosen or (name and len(chosen) > 1):
        which = (
            f"release {name[:64]!r} of method {METHOD}" if name else f"release of method {METHOD}"
        )
        there = ", ".join(digest[:12] for digest in hashes[:5])
        raise Refusal(
            f"{data.name} has {'more than one' if chosen else 'no'} {which} on its current data and "
            f"policy. {f'There are {there}.' if there else 'Release consistent margins first.'}",
            rule="no-synthetic-records",
        )
    asked, stored = releases[chosen[0]]
    numbers, method = Measurements.from_bytes(stored.measurements), registry.get(METHOD)
    plan = as_measured(method, method.plan(asked, Treatment(), data.facts), numbers, data.facts)
    return _made(data, plan, numbers, control)


def _made(
    data: workspace.DataSet, plan: Plan, measurements: Measurements, control: Control | None
) -> Synthesis:
    method, control = registry.get(plan.method), control or Control()
    if not isinstance(method, Synthesises):
        raise Refusal(
            f"Method {plan.method} makes no synthetic records; {METHOD} does.",
            rule="no-synthetic-records",
        )
    measurements = fitted(data, plan, measurements, control)
    table = method.synthesise(plan, measurements, control)
    return Synthesis(method, plan, measurements, table, method.synthetic_domain(plan))
