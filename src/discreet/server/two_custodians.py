"""Changes that need two custodians: made so that no crash leaves half of one, and who is named.

A budget is agreed over HTTP: one proposes, another accepts. What stands in discreet.yaml (policy,
invariants, prior; a budget too) can be changed by whoever may write that file: then one sufficed,
and the history of policies and the audit log say so, with the system user that owns the file.
"""

from __future__ import annotations

import json
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import DiscreetError, InputError
from ..file_names import DESCRIPTION
from ..store.catalogue import Catalogue, Proposal
from ..workspace import DataSet, budget_change
from ..workspace.dataset import loss_written
from . import logs


def make(catalogue: Catalogue, data: DataSet, proposal: Proposal) -> Proposal:
    """Make a change that was agreed; begun again after a crash it is still made once."""
    reason = f"{proposal.reason}; {proposal.note}"
    try:
        budget_change.change_budget(
            data.folder, data.ledger(), proposal.change, who=who(proposal), reason=reason
        )
    except InputError:
        catalogue.settle(proposal.id, made=False)
        raise
    catalogue.settle(proposal.id, made=True)
    return catalogue.proposals(proposal.id)[0]


def finish(catalogue: Catalogue, data: DataSet, name: str) -> None:
    """Make what was agreed for a data set before a process died, oldest first."""
    for proposal in reversed(catalogue.proposals()):
        if proposal.state == "applying" and proposal.dataset == name:
            try:
                make(catalogue, data, proposal)
            except DiscreetError as error:
                logs.say(
                    "error",
                    event="agreed budget not made",
                    dataset=name,
                    error=type(error).__name__,
                )


def who(proposal: Proposal) -> str:
    """Whom a change is of."""
    if proposal.decided_by in (None, proposal.by):
        return proposal.by
    return f"{proposal.by} and {proposal.decided_by}"


def who_changed(
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    proposals: Sequence[Proposal],
    folder: Path,
) -> str:
    """Who made the policy what it is now, as far as can be known, and how many sufficed."""
    if not history:
        return f"the first policy served; {_owner(folder)}, one custodian sufficed"
    before = history[0]["policy"]
    now = json.loads(json.dumps(facts, default=str))
    changed = [name for name in sorted({*now, *before}) if now.get(name) != before.get(name)]
    if changed == ["budget"]:
        for proposal in proposals:
            if (
                proposal.dataset == folder.name
                and proposal.state in ("applying", "accepted")
                and loss_written(proposal.change) == loss_written(facts["budget"])
            ):
                return f"budget of {who(proposal)}; {proposal.note}"
    words = ", ".join(changed) or "nothing that is listed"
    return f"changed in {DESCRIPTION}: {words}; {_owner(folder)}, one custodian sufficed"


def _owner(folder: Path) -> str:
    try:
        number = (folder / DESCRIPTION).stat().st_uid
    except OSError:
        return "the file's owner is not known"
    try:
        return f"the file is of the system user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the file is of the system user number {number}"
