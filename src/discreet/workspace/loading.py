"""Loading a data set: a new version from the source that discreet.yaml names, or none at all.

The version is named by what it was made from: the digest of the source and of the coding. The
same data coded the same way is the same version, and is not loaded twice.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from shlex import quote
from typing import Any

from ..core.control import Control
from ..core.description import UNDECIDED, Description
from ..core.domain import Variable
from ..core.exact import plain
from ..core.family import Family
from ..core.origin import Origin
from ..durable import plain_errors
from ..engines.coding import Coding, Columns, LoadReport, Source
from ..errors import Bug, Cancelled, DataError, DiscreetError, InputError, StoreError
from ..file_names import ARRAYS, CHANGED, REMOTE
from . import origins, secrets, versions
from .description_file import DescribedData, read
from .unit_checks import needs_a_unit

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Loaded:
    """What a load did; for the custodian."""

    version: Path
    manifest: versions.Manifest
    unchanged: bool
    """The same data and coding were loaded before; that version is served."""
    new_epoch: bool
    """Records could not be matched with those loaded before, so a new key epoch began."""
    report: LoadReport | None = None
    before: versions.Manifest | None = None
    """What was served until then."""

    def facts(self) -> dict[str, Any]:
        """How much was loaded and what is new, as plain values."""
        return {
            "records": self.manifest.records,
            "records_before": None if self.before is None else self.before.records,
            "left_out": self.manifest.dropped,
            "unchanged": self.unchanged,
            "new_epoch": self.new_epoch,
        }

    def sentences(self, description: Description) -> list[str]:
        """How much was loaded and what is new, in words."""
        now, before, name = self.manifest, self.before, self.version.name
        if self.unchanged:
            again = "is served still" if now == before else "is served again"
            return [
                "Nothing new: this source was loaded with this description before. Version "
                f"{name} of {now.records:,} records {again}."
            ]
        words = [f"Loaded {now.records:,} records as version {name}."]
        if before is not None:
            more = now.records - before.records
            than = f"{abs(more):,} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
            what = [("the source", now.source != before.source)]
            what.append(("the description", now.coding != before.coding))
            changed = " and ".join(word for word, differs in what if differs)
            words.append(f"That is {than} before; {changed or 'nothing'} changed.")
        if now.dropped:
            words.append(
                f"{now.dropped:,} records were left out: at most {description.records_per_unit:,} of "
                f"one {description.unit} count."
            )
        for variable, records in (self.report.other if self.report else {}).items():
            if records:
                words.append(
                    f"{variable}: {records:,} records had codes not listed and are `other`."
                )
        if self.new_epoch:
            words.append("Records could not be matched with earlier ones: a new key epoch began.")
        return words


def coding_digest(coding: Coding) -> str:
    """A digest of everything that decides which integers a record becomes; salt and names apart."""
    facts: dict[str, Any] = {
        "variables": [
            _variable_facts(variable, coding.columns[variable.name])
            for variable in coding.variables
        ],
        "id": coding.id_column,
        "key": coding.key_column,
        "records_per_unit": coding.description.records_per_unit,
        "bound": coding.bound,
    }
    if coding.checked_against:
        facts["checked_against"] = coding.checked_against
    weight = coding.description.weight
    if weight is not None:
        facts["weight"] = [
            weight.name,
            weight.scale,
            None if weight.bound is None else plain(weight.bound),
            *([coding.weight_mark] if coding.weight_mark != "." else []),
        ]
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _variable_facts(variable: Variable, columns: Columns) -> dict[str, Any]:
    finest, *coarser = variable.levels
    return {
        **({} if columns.rule is None else {"derived": columns.rule.facts()}),
        "name": variable.name,
        "column": columns.finest,
        "codes": finest.codes,
        "levels": [
            [level.name, columns.levels.get(level.name), level.codes, level.of_finest]
            for level in coarser
        ],
        "missing": [columns.missing and finest.index[columns.missing], columns.missing_values],
        "other": columns.other and finest.index[columns.other],
    }


def source_digest(source: Source, control: Control) -> str:
    """SHA-256 of the source's file, with table and options where they decide what is read."""
    hasher = hashlib.sha256()
    facts = {"kind": source.kind, "table": source.table, "options": dict(source.options)}
    hasher.update(json.dumps(facts, sort_keys=True).encode())
    try:
        size = max(source.path.stat().st_size, 1)
        with source.path.open("rb") as stream:
            done = 0
            while block := stream.read(_BLOCK):
                hasher.update(block)
                done += len(block)
                if done % (64 * _BLOCK) == 0:
                    control.step(0.05 * min(done / size, 1), "reading the source")
    except OSError as problem:
        raise DataError(
            f"{source.path} cannot be read ({problem.strerror}). Check `source` in discreet.yaml."
        ) from None
    return hasher.hexdigest()


def load(
    folder: str | Path,
    control: Control | None = None,
    *,
    secret: str = "",
    source_keys: Mapping[str, str] | None = None,
) -> Loaded:
    """Load the source named in discreet.yaml as a new version and serve it.

    Killed, cancelled or out of disk at any moment, the version served before is served still.

    folder        the folder of the data set
    control       progress and cancelling
    source_keys   another source than discreet.yaml names, in the same words
    secret        the password of a database server, where neither PGPASSWORD nor ~/.pgpass has it

        loaded = dc.load("work/people")
        print(loaded.unchanged, loaded.manifest.data_version)
    """
    folder = Path(folder)
    described = read(folder)
    if source_keys is not None:
        described = replace(described, source_keys=dict(source_keys))
    made_from_releases = any(manifest.origin for _, manifest in versions.intact(folder))
    if described.policy.family is Family.SYNTHETIC or made_from_releases:
        raise InputError(
            f"{folder} is for synthetic records made from a release: nothing else can be loaded into "
            "it. Make a new data set, with `discreet synthetic` or with `discreet init`."
        )
    if described.description.unit == UNDECIDED and needs_a_unit(described):
        raise InputError(
            f"Who one unit of {folder} is, is undecided, and record keys are made from its id. Run "
            f"`discreet declare {quote(str(folder))} --unit WORD --id COLUMN` first."
        )
    return _in_turn(folder, described, None, control, secret)


def load_synthetic(folder: Path, origin: Origin, control: Control | None = None) -> Loaded:
    """Load the records just made from a release, with where they came from sealed in."""
    described = read(folder)
    if described.policy.family is not Family.SYNTHETIC or versions.every(folder):
        raise Bug("Synthetic records are loaded into a new data set of their own family.")
    if versions.file_digest(described.source().path) != origin.records:
        raise Bug("The synthetic records are not those that were written.")
    return _in_turn(folder, described, origin, control)


def _in_turn(
    folder: Path,
    described: DescribedData,
    made_from: Origin | None,
    control: Control | None,
    secret: str = "",
) -> Loaded:
    try:
        with versions.loading(folder), plain_errors(f"Loading into {folder}"):
            source = described.source().opened_with(secret)
            return _load(folder, described, source, made_from, control or Control())
    except KeyboardInterrupt:
        raise Cancelled("Stopped while loading; nothing was lost.") from None


def _load(
    folder: Path,
    described: DescribedData,
    source: Source,
    made_from: Origin | None,
    control: Control,
) -> Loaded:
    if versions.every(folder):
        secrets.read(folder)  # lost secrets are restored, never drawn anew under old versions
    else:
        secrets.create(folder)
    coding, served, before = described.coding, _served(folder), versions.intact(folder)
    shape = coding_digest(coding)
    # what a server sends is known only when it is read
    origin = "" if source.address else source_digest(source, control)
    if origin and (again := _loaded_before(folder, described, _short(origin, shape), served)):
        return again
    epoch, new_epoch = _epoch([manifest for _, manifest in before], coding)
    own = secrets.read(folder)
    salted = replace(coding, salt=own.record_salt())
    with versions.spare(folder) as filled, _unless_kept(filled, source):
        report = _by_engine(folder, source, salted, filled, control)
        if source.address:
            origin = _short("records of a server", report.fingerprint)  # wherever they are counted

            def counted_alike(version: Path) -> bool:
                return _counted_alike(version, filled, salted, source)

            content = _short(origin, shape)
            if again := _loaded_before(folder, described, content, served, counted_alike):
                return again
        content = _short(origin, shape)
        _records_agree(described, report.records)
        _records_fit(described, filled, salted.salt)
        manifest = versions.Manifest(
            # published with every table: keyed, or it would confirm a guess of the last record
            data_version=_short(content, epoch, own.derive("data version").hex()),
            content=content,
            coding=shape,
            source=origin,
            epoch=epoch,
            id_column=coding.id_column or coding.key_column,
            loaded=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            records=report.records,
            dropped=report.dropped,
            data_bytes=versions.data_file(filled).stat().st_size,
            data_digest=versions.file_digest(versions.data_file(filled)),
            **_arrays_of(filled),
            shards={
                path.name: {"bytes": path.stat().st_size, "digest": versions.file_digest(path)}
                for path in versions.further_shards(filled)
            },
        )
        if made_from is not None:
            manifest = origins.sealed(manifest, made_from, secrets.read(folder, epoch))
        control.step(0.99, "making the version durable")
        version = versions.publish(folder, filled, manifest)
    return Loaded(version, manifest, False, new_epoch, report, served)


def _by_engine(
    folder: Path, source: Source, coding: Coding, filled: Path, control: Control
) -> LoadReport:
    """Load into a version's folder, or on the server that has the records."""
    if source.counting == "loaded":
        from ..engines.duckdb import loading as engine_loading

        return engine_loading.load(source, coding, filled, control)
    from ..engines import remote_loading

    number = len(versions.every(folder)) + 1
    # names of tables end after 63 signs on Postgres: what makes this one its own must stay
    name = f"{coding.description.name[:36]}_{number:04d}_{token_hex(4)}"
    return remote_loading.load(source, coding, filled, control, name=name)


@contextmanager
def _unless_kept(filled: Path, source: Source) -> Iterator[None]:
    """Remove what was made on a server for a version that did not come to be."""
    try:
        yield
    finally:
        if (filled / REMOTE).exists():  # else it was published, or never made
            from ..engines.remote_loading import discard

            with suppress(DiscreetError):
                discard(filled, source.address.secret if source.address else "")


def _loaded_before(
    folder: Path,
    described: DescribedData,
    content: str,
    served: versions.Manifest | None,
    stands_for: Callable[[Path], bool] = lambda version: True,
) -> Loaded | None:
    """The version of the same records coded the same way, served from now on; None where it is new."""
    for version, known in reversed(versions.intact(folder)):
        if known.content == content:
            _records_agree(described, known.records)
            if not versions.as_loaded(version, known) or (version / CHANGED).exists():
                continue  # damaged, here or on its server: load it again
            if len(known.shards) + 1 != described.source().shards:
                continue  # the same records, to be divided otherwise
            if not stands_for(version):
                continue  # the same records, to be counted elsewhere, or no longer there
            versions.point(folder, version)
            return Loaded(version, known, unchanged=True, new_epoch=False, before=served)
    return None


def _counted_alike(version: Path, filled: Path, coding: Coding, source: Source) -> bool:
    """Whether a version is counted in the same place as the one just loaded, and can be."""
    places = {(one / REMOTE).exists() for one in (version, filled)}
    if places == {True}:
        from ..engines.remote_loading import counted_alike

        secret = source.address.secret if source.address else ""
        return counted_alike(version, filled, coding, secret)
    return places == {False}


def _arrays_of(version: Path) -> dict[str, Any]:
    path = version / ARRAYS
    if not path.exists():
        return {}
    return {"arrays_bytes": path.stat().st_size, "arrays_digest": versions.file_digest(path)}


def _served(folder: Path) -> versions.Manifest | None:
    """The manifest of the version that is served, where it can be read."""
    try:
        current = versions.current(folder)
    except StoreError:
        return None
    return None if current is None else current[1]


def _short(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def _epoch(before: list[versions.Manifest], coding: Coding) -> tuple[str, bool]:
    """The key epoch of a new version: the last one where ids (or key columns) still match.

    Epochs never go back, whichever version is served.
    """
    if not before:
        return secrets.FIRST_EPOCH, False
    keyed_by = coding.id_column or coding.key_column
    if keyed_by is not None and keyed_by == before[-1].id_column:
        return before[-1].epoch, False
    numbers = [int(manifest.epoch.rpartition("-")[2]) for manifest in before]
    return f"epoch-{max(numbers) + 1}", True


def _records_agree(described: DescribedData, records: int) -> None:
    """A number of records declared public must be the number there is."""
    declared = described.description.records
    if declared is not None and declared != records:
        raise DataError(
            f"discreet.yaml declares {declared:,} records, but the data hold another number. "
            "Write `records: private` and no margin under `published`, or the right numbers."
        )


def _records_fit(described: DescribedData, version: Path, salt: bytes) -> None:
    """Let the method compare the records with the public facts it stands on."""
    from ..engines.opening import open_engine
    from ..methods import registry
    from ..methods.base import Facts
    from ..methods.records_check import ChecksRecords

    method = registry.get(described.policy.method)
    if not isinstance(method, ChecksRecords):
        return
    facts = Facts(described.description, described.policy, "", described.policy.version)
    engine = open_engine(version, described.description, salt=salt)
    try:
        method.check_records(facts, engine.count(method.record_counts(facts)))
    finally:
        engine.close()
