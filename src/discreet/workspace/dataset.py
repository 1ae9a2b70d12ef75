"""Data sets and workspaces, opened: what the flow, the commands and the server work with."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Self

from ..core.description import UNDECIDED, Description, Policy
from ..core.exact import exact
from ..core.family import Family
from ..core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ..core.origin import Origin
from ..errors import InputError, LedgerDamaged, did_you_mean
from ..file_names import ANCHOR, DESCRIPTION, SERVED_FAMILY, STORE
from ..methods import registry
from ..methods.declaration import Spends
from . import budget_change, hosts, origins, rehearsed, secrets, served_laws, versions
from .description_file import DescribedData, read
from .loading import coding_digest
from .noted import lines_of, seen_note, write_note

if TYPE_CHECKING:
    from ..engines.base import Engine
    from ..methods.base import Facts
    from ..store import Fits, LedgerStore, Results


@dataclass
class DataSet:
    """One data set of a workspace, at its current version. Use as a context manager, or `close`.

    Opening reads discreet.yaml and the version's manifest; no record is touched before `engine`.
    """

    folder: Path
    described: DescribedData = field(repr=False)
    version: Path
    manifest: versions.Manifest = field(repr=False)
    origin: Origin | None = field(default=None, repr=False)
    """The release synthetic records were made from, verified; None for records of real units."""
    threads: int | None = None
    """How many threads one count may use; None: all there are."""
    interior_bytes: int = 0
    """How much of recent keyed interiors this process keeps in memory, so that margins need no count."""
    _engine: Engine | None = field(default=None, repr=False)
    _ledger: LedgerStore | None = field(default=None, repr=False)
    _results: Results | None = field(default=None, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def open(cls, path: str | Path) -> DataSet:
        """Open the data set `DIR[/DATASET]`; what stands in the way gets one sentence."""
        folder = resolve(path)
        versions.sweep_left_overs(folder)
        hosts.check_edits(folder)
        described = read(folder)
        current = versions.current(folder)
        if current is None:
            first = ""
            if described.description.unit == UNDECIDED:
                first = f"Say who one unit is: `discreet declare {quote(str(folder))} --unit WORD --id COLUMN`. "
            raise InputError(
                f"{folder} is described but not loaded yet. {first}Run `discreet load {quote(str(folder))}`."
            )
        version, manifest = current
        origin = origins.verified(folder, version, manifest, described.policy.family)
        _agree(folder, described, manifest)
        return cls(folder, described, version, manifest, origin=origin)

    @property
    def name(self) -> str:
        """Its name in a workspace and in every question."""
        return self.description.name

    @cached_property
    def description(self) -> Description:
        """The public facts: what anybody may be told.

        `described.description` is all that is written, what was found in the data too: for the
        custodian, and for counting.
        """
        return self.described.description.public(self.policy.family)

    @property
    def policy(self) -> Policy:
        """Family, methods, rules, budget."""
        return self.described.policy

    @property
    def spends(self) -> Spends:
        """What an answer of its own method uses up: what spends nothing has no ledger."""
        return registry.declaration(self.policy.method).spends

    @property
    def data_version(self) -> str:
        """Digest of source, coding and key epoch: part of every question's hash."""
        return self.manifest.data_version

    @cached_property
    def facts(self) -> Facts:
        """What a plan may look at."""
        from ..methods.base import Facts

        return Facts(
            self.description,
            self.policy,
            self.data_version,
            self.policy.version,
            origin=self.origin,
            sealed=self._sealed,
            earlier_laws=served_laws.others(self.folder, self.policy),
        )

    def _sealed(self, text: str) -> str:
        return hmac.new(self.secrets.derive("private law"), text.encode(), "sha256").hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said under every table: the description's notes, and that keys began anew."""
        epoch = self.manifest.epoch
        said = (*self.description.notes, *rehearsed.sentence(self.folder))
        if self.policy.family is not Family.CELL_KEY or epoch == secrets.FIRST_EPOCH:
            return said
        return (
            *said,
            f"Record keys began anew ({epoch}): a cell published under earlier keys has other noise "
            "here even if nobody in it changed, and its values together tell more than one alone.",
        )

    @cached_property
    def secrets(self) -> secrets.DataSetSecrets:
        """Keys for keyed methods, of this version's key epoch."""
        if (notes := hosts.shared(self.folder)) is not None:
            hosts.check_keys(self.folder, notes)
        return secrets.read(self.folder, self.manifest.epoch)

    def engine(self) -> Engine:
        """The engine that counts this version; opened once.

        From the first time on the data set belongs to its family (rule 7): what one family
        published is not counted in the guarantees of another.
        """
        with self._opening:
            if self._engine is None:
                from ..engines.opening import open_engine

                if self.spends is not Spends.NOTHING:
                    self.ledger()  # made before anything is noted as served
                _keep_served(self.folder, self.description, self.policy.family)
                served_laws.keep(self.folder, self.policy)
                if self.origin is not None:  # a server may open it long before the first count
                    origins.verified(self.folder, self.version, self.manifest, self.policy.family)
                versions.close_to_others(self.version)
                described = self.described.description
                salt, kept = self.secrets.record_salt(), self.interior_bytes
                self._engine = open_engine(
                    self.version, described, threads=self.threads, salt=salt, interior_bytes=kept
                )
            return self._engine

    def ledger(self) -> LedgerStore:
        """The ledger of what was spent on this data set, or recorded; opened, and verified, once.

        The cap is what discreet.yaml says; a change of it is an entry of its own. A family that
        only records what it releases has a ledger without a cap.
        """
        if self._ledger is None:
            from ..store import has_ledger, open_ledger

            budget = self.policy.budget
            if self.spends is Spends.NOTHING:
                raise InputError(unbudgeted(self.name, self.policy))
            ever_served = served(self.folder, self.description, self.policy.family) is not None
            if ever_served and not has_ledger(self.folder, self.name):
                raise LedgerDamaged(  # without any trace of the old one a new one would begin
                    f"Tables were made from {self.folder}, but its ledger and the ledger's anchor are "
                    f"gone. Nothing is answered; restore {STORE} and {ANCHOR} from the newest copy."
                )
            ledger = open_ledger(self.folder, dataset=self.name)
            try:
                if budget is not None:
                    _follow(self.folder, ledger, budget)
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

    def fits(self) -> Fits:
        """What was fitted to measurements, kept for ever."""
        from ..store import Fits

        return Fits(self.folder)

    def close(self) -> None:
        """Let go of engine, ledger and cache."""
        for part in (self._engine, self._ledger, self._results):
            if part is not None:
                part.close()
        self._engine = self._ledger = self._results = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def _follow(folder: Path, ledger: LedgerStore, budget: Loss) -> None:
    """Bring the ledger's cap in line with the budget of discreet.yaml, as an entry."""
    if ledger.cap() == budget and not budget_change.pending(folder):
        return
    with budget_change.changing(folder):
        hosts.check_newest(folder)
        budget_change.finish(folder, ledger)
        described = read(folder)  # may have been agreed while we waited for the lock
        now, looked = described.policy.budget, described.description.bound_from_data
        if now is not None and ledger.cap() != now:
            first = ledger.cap() is None
            changed = f"budget in {DESCRIPTION} changed; one custodian sufficed"
            reason = "first budget" if first else changed
            if looked:
                reason += "; records_per_unit was chosen after looking at the data"
            ledger.set_cap(now, who=DESCRIPTION, reason=reason)


def unbudgeted(name: str, policy: Policy) -> str:
    """Why a data set whose method neither spends nor records has no ledger."""
    elsewhere = ""
    if policy.family is Family.SYNTHETIC:
        elsewhere = " What was spent is in the ledger of the data set its records were made from."
    return f"{name} has the method {policy.method}, which spends no budget: no ledger.{elsewhere}"


def _keep_served(folder: Path, description: Description, family: Family) -> None:
    """Note what tables are made under; refuse what does not go with what was noted."""
    promise = _promise(description)
    lines = [str(family), promise] if family is Family.DP else [str(family)]
    while True:
        before = seen_note(folder, SERVED_FAMILY)[
            1
        ]  # first: what comes after it is not overwritten
        noted = served(folder, description, family)
        if noted is not None and (family is not Family.DP or promise in noted):
            return
        write_note(folder, SERVED_FAMILY, "\n".join(lines) + "\n", before=before)  # and look again


def served(folder: Path, description: Description, family: Family) -> list[str] | None:
    """What was noted, None where no table was ever made; refuses where it is something else.

    Losses add up only for one unit of protection and one kind of neighbours: ε for one record a
    unit is 3ε for three, ε for adding or removing one is 2ε for replacing one, and no ε for
    replacing one says anything about adding or removing one.
    """
    path = folder / SERVED_FAMILY
    noted = lines_of(folder, SERVED_FAMILY)
    if noted is None:
        return None
    noted = noted or ["unreadable"]
    if noted[0] != str(family):
        raise InputError(
            f"{folder} has served tables of family {noted[0]}, and {DESCRIPTION} now says {family}: what "
            "was published is not counted in the new family's guarantees. Set the old family "
            f"again; if nothing was ever published, remove {path}."
        )
    promise = _promise(description)
    if family is Family.DP and noted[1:] and noted[1] != promise:
        raise InputError(
            f"What was spent on {description.name} protects {noted[1]}; {DESCRIPTION} now says {promise}: "
            "the two do not add up. Set unit, records_per_unit, records and the margins under "
            "`published`, which make the number of records public, as they were; if nothing was "
            f"ever published, remove {path}."
        )
    return noted


def _promise(description: Description) -> str:
    """Whom every charge of a ledger protects, in words."""
    many = description.records_per_unit
    records = "1 record" if many == 1 else f"{many} records"
    return f"a {description.unit} with up to {records}, neighbours: {description.neighbours.words}"


def _agree(folder: Path, described: DescribedData, manifest: versions.Manifest) -> None:
    """discreet.yaml must still describe the version that is served."""
    if coding_digest(described.coding) != manifest.coding:
        raise InputError(
            f"{folder / DESCRIPTION} was changed after the data were loaded: columns, levels, "
            f"categories, id, unit's records or weight differ. Run `discreet load {quote(str(folder))}`."
        )
    declared = described.description.records
    if declared is not None and declared != manifest.records:
        raise InputError(
            f"{folder / DESCRIPTION} declares {declared:,} records, but the loaded data hold another "
            "number. Write `records: private` and no margin under `published`, or the right numbers."
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
                f"`discreet init DATA --into {quote(str(folder))}/NAME` or `discreet demo --into {quote(str(folder))}`."
            )
        if (folder / DESCRIPTION).is_file():
            return cls(folder.parent, (folder.resolve().name,))
        names = sorted(
            one.name
            for one in folder.iterdir()
            if not one.name.startswith(".") and (one / DESCRIPTION).is_file()
        )
        return cls(folder, tuple(names))

    def dataset(self, name: str) -> DataSet:
        """Open one of its data sets."""
        if name not in self.names:
            raise self.has_no(name)
        return DataSet.open(self.folder / name)

    def has_no(self, name: str) -> InputError:
        """That no data set here has this name, and what there is."""
        return InputError(
            f"{self.folder} has no data set {name!r}.{did_you_mean(name, self.names)} "
            f"It has {', '.join(self.names) or 'none'}."
        )


def resolve(path: str | Path) -> Path:
    """The folder of the one data set that `DIR[/DATASET]` means."""
    folder = Path(path)
    if (folder / DESCRIPTION).is_file():
        return folder
    if not folder.is_dir():
        inside = folder.parent
        if inside.is_dir() and not (inside / DESCRIPTION).is_file():
            workspace = Workspace.open(inside)
            if workspace.names:
                raise workspace.has_no(folder.name)
        what = "is a file" if folder.exists() else "does not exist"
        raise InputError(
            f"{folder} {what}. Name a workspace or a data set in it: DIR or DIR/DATASET."
        )
    names = Workspace.open(folder).names
    if len(names) == 1:
        return folder / names[0]
    if not names:
        raise InputError(
            f"{folder} holds no data set. Make one with `discreet init DATA --into {quote(str(folder))}/NAME`."
        )
    raise InputError(
        f"{folder} holds {len(names)} data sets: {', '.join(names)}. "
        f"Name one, for example {folder / names[0]}."
    )


def loss_written(change: Mapping[str, Any] | None) -> Loss | None:
    """A budget as written, exactly; None where nothing is written."""
    if not change:
        return None
    numbers = {name: exact(value, name, above=0, most=10**6) for name, value in change.items()}
    if "rho" in numbers:
        if len(numbers) > 1:
            raise InputError("A budget is ε, (ε, δ) or ρ, got ρ with another. Give one kind.")
        return ZcdpLoss(numbers["rho"])
    if "epsilon" not in numbers:
        raise InputError("A budget with delta needs epsilon.")
    if "delta" in numbers:
        exact(change["delta"], "delta", above=0, below=1)
        return ApproxLoss(numbers["epsilon"], numbers["delta"])
    return PureLoss(numbers["epsilon"])
