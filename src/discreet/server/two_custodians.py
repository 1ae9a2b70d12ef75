"""Changes that need two custodians: made so that no crash leaves half of one, and who is named.

A budget, a new custodian and the end of one are agreed over HTTP: one proposes, another accepts whose
account is older than the proposal and of another origin (`Accounts.origins`), because whoever handed
an account over may still hold it. What stands in discreet.yaml (policy,
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
from ..languages import say
from ..store.accounts import Accounts
from ..store.catalogue import Catalogue, Proposal
from ..store.published import Published
from ..workspace import DataSet, budget_change, policy_change
from ..workspace.dataset import loss_written
from . import logs
from .problems import Problem

AGREED = "two custodian accounts of different origin agreed"
ALONE = "one custodian sufficed, because there is only one as far as accounts tell"


def by_two(doing: str, field: str, name: str) -> Problem:
    """What one custodian alone cannot do to a custodian's account."""
    return Problem(
        403,
        "two-custodians",
        f"{doing.capitalize()} a custodian is settled by two. Propose it: POST /api/v1/proposals with "
        f'{{"{field}": "{name}", "reason": "…"}}; or use `discreet user` on the server itself.',
    )


def nobody_else(accounts: Accounts, name: str) -> bool:
    """Whether all custodians may be the one person who asks."""
    origins = accounts.origins()
    return {origins[one] for one in accounts.custodians()} == {origins[name]}


def may_accept(accounts: Accounts, proposal: Proposal, name: str) -> None:
    """Raise where a custodian's acceptance would tell nothing beyond the proposer's own word."""
    reason = _same_word(accounts, proposal.by, proposal.created, name)
    if reason:
        raise Problem(
            403,
            "two-custodians",
            say("Another custodian must accept this; {reason}.", reason=reason),
        )


def may_approve(accounts: Accounts, release: Published, name: str) -> None:
    """Raise where a release needs two custodians and this one is no second."""
    reason = _same_word(accounts, release.by, release.created, name)
    if reason:
        raise Problem(
            403,
            "two-custodians",
            say("Another custodian must approve this release; {reason}.", reason=reason),
        )


def _same_word(accounts: Accounts, by: str, created: float, name: str) -> str:
    """Why a custodian's word adds nothing to that of `by`; empty where it does."""
    origins = accounts.origins()
    if by == name:
        return say("you made or proposed it yourself")
    if accounts.user(name).created >= created:
        return say("your account is younger than what you would accept")
    if origins[name] == origins.get(by, by):
        return say("your account and the other one were handed on by one another")
    return ""


def can_be_settled(accounts: Accounts, change: Mapping[str, Any]) -> None:
    """Raise where an account cannot be made or ended."""
    names = {user.name for user in accounts.users()}
    if (name := change.get("add_custodian")) in names:
        raise InputError(f"There is an account {name} already. Choose another name.")
    if (name := change.get("end_custodian")) and name not in accounts.custodians():
        raise InputError(f"There is no custodian {name!r} to end.")


def settle(catalogue: Catalogue, accounts: Accounts, proposal: Proposal, by: str) -> str | None:
    """Make or end a custodian's account as agreed; the first token of a new one."""
    try:
        can_be_settled(accounts, proposal.change)
        token = None
        if name := proposal.change.get("add_custodian"):
            accounts.add_user(name, "custodian", made_by=by)
            token, _ = accounts.add_token(name, label="first")
        else:
            accounts.revoke_user(proposal.change["end_custodian"])
    except InputError:
        catalogue.settle(proposal.id, made=False)
        raise
    catalogue.settle(proposal.id, made=True)
    return token


def finish_accounts(catalogue: Catalogue, accounts: Accounts) -> None:
    """What was agreed about accounts before a process died: done, or it waits again."""
    long_ago = catalogue.clock() - 60  # another process may be at it
    for proposal in catalogue.proposals():
        stopped = proposal.state == "applying" and (proposal.decided_at or 0) < long_ago
        if stopped and not proposal.dataset:
            ended = proposal.change.get("end_custodian")
            names = {user.name for user in accounts.users()}
            done = (
                ended not in accounts.custodians()
                if ended
                else proposal.change.get("add_custodian") in names
            )
            catalogue.settle(proposal.id, made=done)


def make(catalogue: Catalogue, data: DataSet, proposal: Proposal) -> Proposal:
    """Make a change that was agreed; begun again after a crash it is still made once."""
    reason = f"{proposal.reason}; {proposal.note}"
    try:
        if "policy" in proposal.change:
            policy_change.change_policy(data.folder, proposal.change["policy"])
        else:
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
                and "policy" not in proposal.change
                and proposal.state in ("applying", "accepted")
                and loss_written(proposal.change) == loss_written(facts["budget"])
            ):
                return f"budget of {who(proposal)}; {proposal.note}"
    for proposal in proposals:
        agreed = proposal.change.get("policy", {})
        if (
            proposal.dataset == folder.name
            and proposal.state in ("applying", "accepted")
            and set(changed) <= set(agreed)
            and all(_same(now.get(key), agreed[key]) for key in changed)
        ):
            return f"policy of {who(proposal)}; {proposal.note}"
    words = ", ".join(changed) or "nothing that is listed"
    return f"changed in {DESCRIPTION}: {words}; {_owner(folder)}, one custodian sufficed"


def _same(served: Any, agreed: Any) -> bool:
    """Whether what is served is what was agreed, files by their text or by their name."""
    if isinstance(served, dict) and isinstance(agreed, dict):
        return all(_same(served.get(key), value) for key, value in agreed.items() if key != "file")
    return served == agreed or (isinstance(served, str) and "\n" in served)


def _owner(folder: Path) -> str:
    try:
        number = (folder / DESCRIPTION).stat().st_uid
    except OSError:
        return "the file's owner is not known"
    try:
        return f"the file is of the system user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the file is of the system user number {number}"
