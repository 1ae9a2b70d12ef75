"""What the routes share in one process: accounts, data sets, jobs, limits, a cache of answers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from ..core.description import Description
from ..errors import DiscreetError, InputError
from ..store import Jobs
from ..store.accounts import Accounts
from ..store.audit_log import AuditLog
from ..store.blobs import blobs_of
from ..store.catalogue import Catalogue
from ..store.inbox import Inbox
from ..store.place import place_of
from ..store.published import Releases
from ..store.workspace_database import WorkspaceDatabase
from ..workspace import DataSet
from ..workspace.draft_folder import Drafts
from . import two_custodians
from .answer_cache import AnswerCache, RecentTables
from .auth import Asker, unknown
from .limits import Buckets, SharedBuckets, Slots
from .metrics import Requests
from .open_datasets import OpenDatasets
from .packing import Packed
from .problems import Problem, not_found
from .settings import Settings


class Service:
    """Opened once a process; closed with the app."""

    def __init__(self, workspace: Path, settings: Settings) -> None:
        self.folder = workspace
        self.settings = settings
        cores = os.cpu_count() or 1
        self.datasets = OpenDatasets(
            workspace,
            self._note_policy,
            max(1, cores // settings.workers),
            settings.interior_bytes,
        )
        names = self.datasets.names()
        for name in settings.public:
            if name != "*" and name not in names:
                raise InputError(
                    f"--public names {name!r}, which is no data set of {workspace}. "
                    f"It has {', '.join(names) or 'none'}."
                )
        self.shared = place_of(workspace) is not None
        """Whether hosts share a database, so that asking it takes a while and may fail."""
        self.database = WorkspaceDatabase(workspace)
        self.accounts = Accounts(self.database)
        self.catalogue = Catalogue(self.database)
        self.releases = Releases(self.database)
        self.inbox = Inbox(self.database)
        two_custodians.finish_accounts(self.catalogue, self.accounts)
        self.blobs = blobs_of(workspace)
        self.audit = AuditLog(workspace)
        self.jobs = Jobs(workspace)
        self.drafts = Drafts(workspace)
        self.buckets = Buckets(settings.calls_per_minute, settings.workers)
        per_minute = settings.logins_per_minute
        self.logins = self._login_limit("from", per_minute)
        self.logins_by_name = self._login_limit("name", 10 * per_minute)
        self.slots = Slots(settings.slots, settings.waiting)
        self.answers = AnswerCache(settings.cache_bytes)
        self.recent_tables = RecentTables()
        self.packed = Packed(settings.cache_bytes // 4)
        self.job_waits = threading.Event()
        self.requests = Requests()

    def _login_limit(self, name: str, per_minute: int) -> Buckets | SharedBuckets:
        """Guesses of passwords are counted over all processes and hosts that share accounts."""
        if not self.shared:
            return Buckets(per_minute, self.settings.workers)
        return SharedBuckets(self.database, name, per_minute)

    def close(self) -> None:
        """Let go of everything."""
        self.datasets.close()
        self.jobs.close()
        self.audit.close()
        self.database.close()

    def ready(self) -> list[str]:
        """What keeps this process from answering, in words; empty where nothing does."""
        parts: dict[str, Callable[[], object]] = {
            "accounts": lambda: self.database.rows("SELECT 1"),
            "jobs": self.jobs.unended,
        }
        failing = []
        for name, look in parts.items():
            try:
                look()
            except DiscreetError:
                failing.append(name)
        return failing

    def visible(self, asker: Asker) -> list[str]:
        """The data sets this asker may know of."""
        names = self.datasets.names()
        if asker.role == "public":
            return [name for name in names if self.settings.is_public(name)]
        return list(names)

    def withheld(self, asker: Asker, name: str) -> frozenset[str]:
        """Questions and versions of a data set that wait for publication, for all but custodians.

        Read anew each time, and again once numbers are at hand: an embargo is written down before
        the first of its numbers exists, so whoever sees the numbers sees the embargo.
        """
        return frozenset() if asker.role == "custodian" else self.releases.held(name)

    @contextmanager
    def dataset(self, asker: Asker, name: str) -> Iterator[DataSet]:
        """A data set this asker may see, open; 404 for what is not there.

        Without login it is the same 401 for all that is not public.
        """
        if name not in self.visible(asker):
            if asker.role == "public":
                raise unknown("This data set is not public, or there is none of that name. Log in.")
            raise not_found("data set")
        with self.datasets.use(name) as data:
            yield data

    def readable(self, asker: Asker) -> Iterator[tuple[str, DataSet]]:
        """The data sets this asker may see and that can be opened, one after another."""
        for name in self.visible(asker):
            try:
                with self.datasets.use(name) as data:
                    yield name, data
            except Problem as problem:
                if problem.kind != "dataset":
                    raise

    def _note_policy(self, name: str, data: DataSet) -> None:
        """Keep every policy that is served; a new one is said in the audit log, with who is known."""
        # a process may have died while it made a budget or a policy that was agreed
        two_custodians.finish(self.catalogue, data, name)
        facts, history = policy_facts(data), self.catalogue.policies(name)
        note = two_custodians.who_changed(facts, history, self.catalogue.proposals(), data.folder)
        if self.catalogue.note_policy(name, data.policy.version, facts, note):
            event = f"policy {data.policy.version} is served from now on"
            self.audit.add({"event": event, "dataset": name, "reason": note})


def told(asker: Asker, data: DataSet) -> Description:
    """What an asker is told of a data set: everything to its custodians, else what is public.

    The one place of the server that reads what was found in the data; all that names a variable,
    a level or a category takes it from here or from `data.description`, which is public.
    """
    return data.described.description if asker.role == "custodian" else data.description


def policy_facts(data: DataSet) -> dict[str, object]:
    """A policy and the invariants it promises under, as plain values."""
    policy, description = data.policy, data.description
    allowed = policy.budget.parts if policy.budget else {}
    return {
        "family": str(policy.family),
        "method": policy.method,
        "methods": {name: dict(values) for name, values in policy.methods.items()},
        "rules": dict(policy.rules),
        "reliable": dict(policy.reliable),
        "structural_zeros": [
            [[part.variable, part.level, list(part.codes)] for part in zero.conditions]
            for zero in description.structural_zeros
        ],
        "records": "private" if description.records is None else description.records,
        "unit": description.unit,
        "records_per_unit": description.records_per_unit,
        "neighbours": description.neighbours.words,
        "budget": {name: str(number) for name, number in allowed.items()} or None,
        **({} if policy.approval == "one" else {"approval": policy.approval}),
    }


async def service(request: Request) -> Service:
    """The service of this app."""
    found: Service = request.app.state.service
    return found


Serving: TypeAlias = Annotated[Service, Depends(service)]
