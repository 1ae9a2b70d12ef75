"""A workspace of version 0.1, carried over to the forms of today.

    1  a copy of everything but caches, whole or absent
    2  each ledger in one transaction: budgets stay spent, answers get the names they are asked by now
    3  jobs and saved tables, in one transaction each; caches are dropped

Killed at any moment, each part is of the old form or of the new one, and the next run goes on. What
was published is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from ..errors import DiscreetError
from ..file_names import (
    ACCOUNTS,
    ACCOUNTS_KEY,
    AUDIT,
    CACHE,
    DESCRIPTION,
    JOB_RESULTS,
    JOBS,
    PUBLISHED,
)
from ..store.sqlite.ledger_upgrade import OldLedger, old_ledger
from ..store.sqlite.workspace_upgrade import OldAccounts, old_accounts, rewrite_jobs
from .dataset import DataSet, Workspace
from .old_questions import OldQuestions, hash_of, todays_recipe, zeros_in
from .safety_copy import copy_to

_BESIDE = (ACCOUNTS, ACCOUNTS_KEY, AUDIT, JOBS, JOB_RESULTS, PUBLISHED)


@dataclass(frozen=True)
class UpgradedLedger:
    """What became of the answers of one ledger."""

    dataset: str
    answers: int
    """How many got a name of today."""
    questions: int
    """How many questions that are: where two answers meet in one, the earlier one answers."""
    left: tuple[str, ...] = ()
    """Which answers have no name of today, and why."""
    unknown: int = 0
    """Answers under policies whose text is not kept: their structural zeros are taken for today's."""

    def in_words(self) -> str:
        """For the command line."""
        met = self.answers - self.questions
        told = [f"{self.answers:,} answers to {self.questions:,} questions carried over"]
        if met:
            told.append(f"{met:,} were charged for a question that had an answer, and stay charged")
        if self.unknown:
            told.append(
                f"{self.unknown:,} are of policies that are not kept, taken to have had today's "
                "structural zeros"
            )
        if self.left:
            told.append(f"{len(self.left):,} stay under their old names only")
        return "; ".join(told)


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade did; without a copy there was nothing to do."""

    copy: Path | None
    ledgers: tuple[UpgradedLedger, ...] = ()
    saved: int = 0
    jobs: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        copy = None if self.copy is None else str(self.copy)
        return {**asdict(self), "copy": copy}


def upgrade(path: str | Path) -> Upgraded:
    """Carry a workspace, or one data set, of version 0.1 over; what is of today's form stays.

    Stop the server first. A copy is left beside the workspace; to run it again is harmless.

    path    the folder of the workspace or data set

        done = dc.upgrade("demo")
        print(done.copy, done.ledgers)
    """
    given = Path(path).resolve()
    workspace = Workspace.open(given)
    whole = not (given / DESCRIPTION).is_file()
    folders = [workspace.folder / name for name in workspace.names]
    beside = [workspace.folder / name for name in _BESIDE] if whole else []
    with ExitStack() as stack:
        accounts = stack.enter_context(old_accounts(workspace.folder)) if whole else None
        works = []
        for folder in folders:
            ledger = stack.enter_context(old_ledger(folder))
            if ledger is not None:
                works.append(_Work(folder, ledger, accounts))
        needed = [work for work in works if work.needed]
        if accounts is None and not needed:
            return Upgraded(None)
        copy = _copy_of(given, whole)
        copy_to(copy, [part for part in (*folders, *beside) if part.exists()], workspace.folder)
        for work in needed:
            work.ledger.carry(work.carried)
        saved = jobs = 0
        if accounts is not None:
            names = {work.folder.name: work.ledger.names for work in works}
            jobs = rewrite_jobs(workspace.folder, partial(_todays_job, workspace, names))
            saved = accounts.rewrite(todays_recipe)
    for cache in (folder / f"{CACHE}{end}" for folder in folders for end in ("", "-wal", "-shm")):
        cache.unlink(missing_ok=True)
    return Upgraded(copy, tuple(work.report() for work in needed), saved, jobs)


class _Work:
    """What one ledger needs, worked out before anything is written."""

    def __init__(self, folder: Path, ledger: OldLedger, accounts: OldAccounts | None) -> None:
        self.folder, self.ledger = folder, ledger
        with DataSet.open(folder) as data:
            bodies = {} if accounts is None else accounts.policies(folder.name)
            self._questions = OldQuestions(data, {v: zeros_in(b) for v, b in bodies.items()})
            named = map(self._questions.carried, ledger.answers())
            self.carried = [one for one in named if one is not None]
        self.needed = ledger.old or bool(self.carried)

    def report(self) -> UpgradedLedger:
        """What was done."""
        return UpgradedLedger(
            self.folder.name,
            len(self.carried),
            len({one.question for one in self.carried}),
            tuple(self._questions.left),
            self._questions.unknown,
        )


def _todays_job(
    workspace: Workspace,
    names: Mapping[str, Mapping[str, str]],
    request: dict[str, Any],
    state: str,
) -> dict[str, Any]:
    """A job as it is asked today; one that ended keeps the name of an answer that no longer answers."""
    recipe, dataset = todays_recipe(request["recipe"]), request["dataset"]
    name = names.get(dataset, {}).get(request["question"])
    if name is None and (dataset not in names or state in ("waiting", "running")):
        with suppress(DiscreetError), workspace.dataset(dataset) as data:
            name = hash_of(data, recipe)
    return {**request, "recipe": recipe, "question": name or request["question"]}


def _copy_of(given: Path, whole: bool) -> Path:
    """Where the copy goes; that of a data set is hidden, or it would be served beside it."""
    name = f"{'' if whole else '.'}{given.name}-before-upgrade-{datetime.now(UTC):%Y-%m-%d}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(target for target in map(given.with_name, names) if not target.exists())
