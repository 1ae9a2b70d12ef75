"""Data sets and workspaces, opened: what the flow, the commands and the server work with."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..core.description import Budget, Description, Family, Policy
from ..core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ..errors import InputError, did_you_mean
from . import secrets, versions
from .description_file import FILE, DescribedData, read
from .files import replace_text
from .loading import coding_digest

SERVED = "served-family"
"""Holds the family tables were made under, once there were any."""

if TYPE_CHECKING:
    from ..engines.base import Engine
    from ..methods.base import Facts
    from ..store import Ledger, Results


@dataclass
class DataSet:
    """One data set of a workspace, at its current version. Use as a context manager, or `close`.

    Opening reads discreet.yaml and the version's manifest; no record is touched before `engine`.
    """

    folder: Path
    described: DescribedData = field(repr=False)
    version: Path
    manifest: versions.Manifest = field(repr=False)
    _engine: Engine | None = field(default=None, repr=False)
    _ledger: Ledger | None = field(default=None, repr=False)
    _results: Results | None = field(default=None, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def open(cls, path: str | Path) -> DataSet:
        """Open the data set `DIR[/DATASET]`; what stands in the way gets one sentence."""
        folder = resolve(path)
        described = read(folder)
        found = versions.current(folder)
        if found is None:
            raise InputError(
                f"{folder} is described but not loaded yet. Run `discreet load {folder}`."
            )
        version, manifest = found
        _agree(folder, described, manifest)
        return cls(folder, described, version, manifest)

    @property
    def name(self) -> str:
        """Its name in a workspace and in every question."""
        return self.description.name

    @property
    def description(self) -> Description:
        """The public facts."""
        return self.described.description

    @property
    def policy(self) -> Policy:
        """Family, methods, rules, budget."""
        return self.described.policy

    @property
    def data_version(self) -> str:
        """Digest of source, coding and key epoch: part of every question's hash."""
        return self.manifest.data_version

    @cached_property
    def facts(self) -> Facts:
        """What a plan may look at."""
        from ..methods.base import Facts

        return Facts(self.description, self.policy, self.data_version, self.policy.version)

    @cached_property
    def secrets(self) -> secrets.DataSetSecrets:
        """Keys for keyed methods, of this version's key epoch."""
        return secrets.read(self.folder, self.manifest.epoch)

    def engine(self) -> Engine:
        """The engine that counts this version; opened once.

        From the first time on the data set belongs to its family (rule 7): what one family
        published is not counted in the guarantees of another.
        """
        with self._opening:
            if self._engine is None:
                from ..engines.duckdb import open_engine

                _keep_family(self.folder, self.policy.family)
                self._engine = open_engine(self.version, self.description)
            return self._engine

    def ledger(self) -> Ledger:
        """The ledger of this data set's budget; opened, and verified, once.

        The cap is what discreet.yaml says; a change of it is an entry of its own.
        """
        if self._ledger is None:
            from ..store import Ledger

            budget = self.policy.budget
            if budget is None:
                raise InputError(
                    f"{self.name} has no budget. Set `budget: {{epsilon: …}}` in {self.folder / FILE}."
                )
            ledger = Ledger.open(self.folder, dataset=self.name)
            try:
                _follow(ledger, budget)
            except BaseException:
                ledger.close()
                raise
            self._ledger = ledger
        return self._ledger

    def results(self) -> Results:
        """The cache of what keyed methods can compute again."""
        if self._results is None:
            from ..store import Results

            self._results = Results(self.folder)
        return self._results

    def close(self) -> None:
        """Let go of engine, ledger and cache."""
        for part in (self._engine, self._ledger, self._results):
            if part is not None:
                part.close()
        self._engine = self._ledger = self._results = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _follow(ledger: Ledger, budget: Budget) -> None:
    """Bring the ledger's cap in line with the budget of discreet.yaml, as an entry."""
    cap = loss_of(budget)
    if ledger.cap() != cap:
        first = ledger.cap() is None
        reason = (
            "first budget" if first else "budget in discreet.yaml changed; one custodian sufficed"
        )
        ledger.set_cap(cap, who="discreet.yaml", reason=reason)


def loss_of(budget: Budget) -> Loss:
    """A budget as the loss it allows."""
    if budget.rho is not None:
        return ZcdpLoss(budget.rho)
    if budget.epsilon is None:
        raise InputError("A budget needs epsilon or rho.")
    return ApproxLoss(budget.epsilon, budget.delta) if budget.delta else PureLoss(budget.epsilon)


def _keep_family(folder: Path, family: Family) -> None:
    """Note the family tables are made under; refuse another one than was noted."""
    path = folder / SERVED
    try:
        noted = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        replace_text(path, f"{family}\n")
        return
    except (OSError, UnicodeDecodeError):
        noted = "unreadable"
    if noted != str(family):
        raise InputError(
            f"{folder} has served tables of family {noted}, and {FILE} now says {family}: what was "
            "published is not counted in the new family's guarantees. Set the old family again; if "
            f"nothing was ever published, remove {path}."
        )


def _agree(folder: Path, described: DescribedData, manifest: versions.Manifest) -> None:
    """discreet.yaml must still describe the version that is served."""
    if coding_digest(described.coding()) != manifest.coding:
        raise InputError(
            f"{folder / FILE} was changed after the data were loaded: columns, levels or "
            f"categories differ. Run `discreet load {folder}`."
        )
    declared = described.description.records
    if declared is not None and declared != manifest.records:
        raise InputError(
            f"{folder / FILE} declares {declared:,} records, but the loaded data hold another "
            "number. Write `records: private`, or the right number."
        )


@dataclass(frozen=True)
class Workspace:
    """A folder of data sets."""

    folder: Path
    names: tuple[str, ...]
    """Folders of the data sets in it, sorted; loaded or not."""

    @classmethod
    def open(cls, path: str | Path) -> Workspace:
        """Open a workspace; a folder that is itself a data set is a workspace of one."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(
                f"{folder} is not a folder. Make a workspace with "
                f"`discreet init DATA --into {folder}/NAME` or `discreet demo --into {folder}`."
            )
        if (folder / FILE).is_file():
            return cls(folder.parent, (folder.resolve().name,))
        found = sorted(
            one.name
            for one in folder.iterdir()
            if not one.name.startswith(".") and (one / FILE).is_file()
        )
        return cls(folder, tuple(found))

    def dataset(self, name: str) -> DataSet:
        """Open one of its data sets."""
        if name not in self.names:
            raise InputError(
                f"{self.folder} has no data set {name!r}.{did_you_mean(name, self.names)} "
                f"It has {', '.join(self.names) or 'none'}."
            )
        return DataSet.open(self.folder / name)


def resolve(path: str | Path) -> Path:
    """The folder of the one data set that `DIR[/DATASET]` means."""
    folder = Path(path)
    if (folder / FILE).is_file():
        return folder
    if not folder.is_dir():
        inside = folder.parent
        if inside.is_dir():
            names = Workspace.open(inside).names if not (inside / FILE).is_file() else ()
            if names:
                raise InputError(
                    f"{inside} has no data set {folder.name!r}."
                    f"{did_you_mean(folder.name, names)} It has {', '.join(names)}."
                )
        raise InputError(
            f"{folder} does not exist. Name a workspace or a data set in it: DIR or DIR/DATASET."
        )
    names = Workspace.open(folder).names
    if len(names) == 1:
        return folder / names[0]
    if not names:
        raise InputError(
            f"{folder} holds no data set. Make one with `discreet init DATA --into {folder}/NAME`."
        )
    raise InputError(
        f"{folder} holds {len(names)} data sets: {', '.join(names)}. "
        f"Name one, for example {folder / names[0]}."
    )
