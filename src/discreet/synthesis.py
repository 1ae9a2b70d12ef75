"""From a release of one synthetic table to its records: files, or a data set to serve.

Everything here is computed from stored measurements alone. It reads no data, draws nothing and
charges nothing; the guarantee is the release's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import earlier, workspace
from .core.control import Control
from .core.question import Treatment
from .errors import InputError, Refusal
from .fit import fitted
from .methods import registry
from .methods.base import Measurements, Plan, Synthesises, as_measured
from .methods.shared.microdata import MOST_RECORDS
from .workspace.synthetic import make_synthetic

METHODS = "marginals or topdown"
"""What to release by where synthetic records are wanted."""


@dataclass(frozen=True)
class Synthesis:
    """What the synthetic records of a release are made from; the measurements are fitted."""

    method: Synthesises
    plan: Plan
    measurements: Measurements


def synthetic(
    path: str | Path, into: str | Path, control: Control | None = None, *, release: str = ""
) -> Path:
    """Make the data set `into` of the synthetic records of a release; returns its folder.

    Any table can be asked of the new data set, at no cost and with the release's guarantee.

    path      the data set that has the release
    into      the folder of the new data set
    control   progress and cancelling
    release   the beginning of the release's question hash; the newest release where not said

        with dc.open("demo/deaths-dp") as deaths:
            deaths.recipe("demo/recipes/margins.yaml").release()
        dc.synthetic("demo/deaths-dp", "demo/deaths-open")
    """
    control = control or Control()
    if Path(into).exists():
        raise InputError(f"{into} is there already. Name a new data set: DIR/NAME.")
    with workspace.DataSet.open(path) as data:
        synthesis = _named(data, release, control.part(0.0, 0.6))
        method, plan, measurements = synthesis.method, synthesis.plan, synthesis.measurements
        total = method.synthesise(plan, measurements, control.part(0.0, 0.6)).total
        if total == 0:
            raise InputError(
                f"Release {plan.question_hash[:12]} has no synthetic record: its counts are all 0 "
                "after the noise. Release with a larger epsilon."
            )
        if total > MOST_RECORDS:
            raise InputError(
                f"Release {plan.question_hash[:12]} has {total:,} synthetic records; a data set "
                f"can be made of at most {MOST_RECORDS:,}. Use its tables instead."
            )
        return make_synthetic(
            data,
            into,
            axes=[axis.ref for axis in method.synthetic_domain(plan).axes],
            write_records=lambda target: method.write_records(
                plan, measurements, target, control.part(0.6, 0.8)
            ),
            release=plan.question_hash,
            guarantee=plan.guarantee,
            measured=method.standard_errors(plan),
            control=control.part(0.8, 1.0),
        )


def synthesis_of(data: workspace.DataSet, plan: Plan, control: Control) -> Synthesis | None:
    """What the records behind a release are made from; None where its method makes none."""
    method = registry.get(plan.method)
    if not isinstance(method, Synthesises):
        return None
    stored = data.ledger().find(plan.question_hash)
    if stored is None:
        return None
    measurements = Measurements.from_bytes(stored.measurements)
    return Synthesis(method, plan, fitted(data, plan, measurements, control))


def _named(data: workspace.DataSet, name: str, control: Control) -> Synthesis:
    """The release of that name, or the newest there is."""
    if data.policy.budget is None:
        raise Refusal(
            f"{data.name} serves family {data.policy.family}: only releases of method {METHODS}, "
            "under a budget, have synthetic records.",
            rule="no-synthetic-records",
        )
    releases = [
        (asked, stored)
        for asked, stored in earlier.released(data, data.ledger())
        if isinstance(registry.get(asked.method), Synthesises)
    ]
    hashes = [stored.question for _, stored in releases]
    chosen = [place for place, digest in enumerate(hashes) if digest.startswith(name)]
    if not chosen or (name and len(chosen) > 1):
        which = (
            f"release {name[:64]!r} of method {METHODS}" if name else f"release of method {METHODS}"
        )
        there = ", ".join(digest[:12] for digest in hashes[:5])
        raise Refusal(
            f"{data.name} has {'more than one' if chosen else 'no'} {which} on its current data and "
            f"policy. {f'There are {there}.' if there else 'Release consistent margins first.'}",
            rule="no-synthetic-records",
        )
    asked, stored = releases[chosen[0]]
    numbers, method = Measurements.from_bytes(stored.measurements), registry.get(asked.method)
    plan = as_measured(method, method.plan(asked, Treatment(), data.facts), numbers, data.facts)
    synthesis = synthesis_of(data, plan, control)
    assert synthesis is not None
    return synthesis
