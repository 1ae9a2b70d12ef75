"""Versions of a data set: each immutable, the current one replaced in one step.

    versions/<seq>-<digest8>/   data.duckdb, manifest.json: there whole or not at all
    versions/.loading-…         a load under way, or one that was killed; removed when the data set
                                is opened, or by the next load
    current                     the name of the version served

A version is filled under a spare name, synced, renamed, and only then named in `current`. Killed
at any moment, the data set is the old version or the new one. One process loads at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from ..durable import (
    OWN,
    OWN_FOLDER,
    make_folder,
    plain_errors,
    replace_text,
    sync_file,
    sync_folder,
)
from ..errors import InputError, StoreError
from ..file_names import ARRAYS, CURRENT, DATA, MANIFEST, REMOTE, SECRETS, SHARD, VERSIONS

FORM = "discreet version 1"
_MAY_BE_UNSAID = ("origin", "seal", "arrays_bytes", "arrays_digest", "shards")
_NAME = re.compile(r"(\d{4,})-[0-9a-f]{8}")
_SPARE = ".loading-"


@dataclass(frozen=True)
class Manifest:
    """What a version was made from. For the custodian: it holds the true number of records."""

    data_version: str
    content: str
    """Digest of source and coding: the same data coded the same way."""
    coding: str
    """Digest of the coding alone: what discreet.yaml must still say."""
    source: str
    """Digest of the source alone."""
    epoch: str
    id_column: str | None
    loaded: str
    """When, in UTC."""
    records: int = field(repr=False)
    dropped: int = field(default=0, repr=False)
    data_bytes: int = 0
    data_digest: str = ""
    arrays_bytes: int = 0
    """The same records as arrays; 0 where there are none, as in versions loaded before them."""
    arrays_digest: str = ""
    shards: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Bytes and digest of each further file, where records lie in several shards."""
    origin: dict[str, Any] | None = None
    """The release synthetic records were made from; none for records of real units."""
    seal: str = ""
    """What only a holder of the data set's secrets can make of the rest, where there is an origin."""
    form: str = FORM

    def facts(self) -> dict[str, Any]:
        """As plain values; what says nothing is left out."""
        body = asdict(self)
        return {name: body[name] for name in body if name not in _MAY_BE_UNSAID or body[name]}

    def to_text(self) -> str:
        """As JSON, with a digest of itself."""
        body = self.facts()
        return json.dumps({**body, "digest": _digest(body)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str, path: Path) -> Manifest:
        """Read back, checking the digest."""
        try:
            body: dict[str, Any] = json.loads(text)
            digest = body.pop("digest")
            if digest != _digest(body) or body.get("form") != FORM:
                raise ValueError
            return cls(**body)
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"{path} is damaged. Load the data again with `discreet load`."
            ) from None


def _digest(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def current(folder: Path) -> tuple[Path, Manifest] | None:
    """The version served: its folder and manifest; None where nothing was ever loaded."""
    try:
        name = (folder / CURRENT).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        name = ""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"{folder / CURRENT} does not name a version. Load again with `discreet load {quote(str(folder))}`."
        )
    return folder / VERSIONS / name, manifest(folder / VERSIONS / name)


def manifest(version: Path) -> Manifest:
    """The manifest of a version; its data file must be there with the size it was loaded with."""
    path = version / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        size = data_file(version).stat().st_size
        arrays = (version / ARRAYS).stat().st_size if (version / ARRAYS).exists() else 0
        shards = {path.name: path.stat().st_size for path in further_shards(version)}
    except (OSError, UnicodeDecodeError):
        raise StoreError(
            f"Version {version.name} is incomplete: {MANIFEST} or {DATA} cannot be read. Restore "
            "it from a backup, or load again with `discreet load`."
        ) from None
    written = Manifest.from_text(text, path)
    if written.data_bytes != size:
        raise StoreError(
            f"{data_file(version)} is not as it was loaded (its size differs). "
            "Restore it from a backup, or load again with `discreet load`."
        )
    if shards != {name: one["bytes"] for name, one in written.shards.items()}:
        raise StoreError(
            f"A shard of version {version.name} is missing or not as it was loaded (its size differs). "
            "Restore it from a backup, or load again with `discreet load`."
        )
    if written.arrays_bytes != arrays:
        raise StoreError(
            f"{version / ARRAYS} is not as it was loaded (its size differs). "
            "Restore it from a backup, or load again with `discreet load`."
        )
    return written


def as_loaded(version: Path, made: Manifest) -> bool:
    """Whether the records of a version are byte for byte those that were loaded."""
    files = [(data_file(version).name, made.data_digest), (ARRAYS, made.arrays_digest)]
    files += [(name, one["digest"]) for name, one in made.shards.items()]
    return all(
        file_digest(version / name) == digest if digest else not (version / name).exists()
        for name, digest in files
    )


def data_file(version: Path) -> Path:
    """The file of a version's records, or the one that says on which server they are."""
    return version / (REMOTE if (version / REMOTE).exists() else DATA)


def further_shards(version: Path) -> list[Path]:
    """The files of a version beside its first, where its records lie in shards."""
    return sorted(version.glob(SHARD.replace("NNN", "*")))


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def intact(folder: Path) -> list[tuple[Path, Manifest]]:
    """The versions that can be read with their manifests, oldest first."""
    readable = []
    for version in every(folder):
        with contextlib.suppress(StoreError):
            readable.append((version, manifest(version)))
    return readable


def every(folder: Path) -> list[Path]:
    """The folders of all versions, oldest first."""
    inside = folder / VERSIONS
    if not inside.is_dir():
        return []
    names = [path for path in inside.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(names, key=lambda path: int(path.name.split("-")[0]))


@contextlib.contextmanager
def loading(folder: Path) -> Iterator[None]:
    """Hold the right to load; another process that holds it already gets one sentence.

    What a killed load left behind is removed.
    """
    make_folder(folder / VERSIONS)
    with plain_errors(f"Loading into {folder}"):
        handle = os.open(folder / VERSIONS / ".lock", os.O_RDWR | os.O_CREAT, OWN)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"Another process is loading {folder} now. Wait until it is done and try again."
            ) from None
        sweep(folder)
        yield
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed loads left; only while holding `loading`."""
    for path in (folder / VERSIONS).glob(f"{_SPARE}*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in (*folder.glob(f".{CURRENT}.*.part"), *folder.glob(f"{SECRETS}/.*.part")):
        with contextlib.suppress(OSError):
            path.unlink()


def sweep_left_overs(folder: Path) -> None:
    """Remove what killed loads left, unless one is under way; whoever may not, leaves it."""
    if any((folder / VERSIONS).glob(f"{_SPARE}*")):
        with contextlib.suppress(InputError, StoreError), loading(folder):
            pass  # the right to load is all that sweeping needs


def close_to_others(version: Path) -> None:
    """Close the folder of a version that an earlier release of discreet left open.

    Its data file always was its owner's; what DuckDB puts beside it in a large count was not.
    """
    with contextlib.suppress(OSError):
        if stat.S_IMODE(version.stat().st_mode) != OWN_FOLDER:
            version.chmod(OWN_FOLDER)


@contextlib.contextmanager
def spare(folder: Path) -> Iterator[Path]:
    """A folder to fill; gone again where filling fails."""
    path = folder / VERSIONS / f"{_SPARE}{os.getpid()}"
    with plain_errors(f"Loading into {folder}"):
        path.mkdir(mode=OWN_FOLDER)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def publish(folder: Path, filled: Path, made: Manifest) -> Path:
    """Turn a filled spare folder into the current version."""
    for extra in filled.iterdir():
        if extra.name not in (DATA, ARRAYS, REMOTE) and extra not in further_shards(filled):
            shutil.rmtree(extra, ignore_errors=True) if extra.is_dir() else extra.unlink()
    replace_text(filled / MANIFEST, made.to_text())
    sync_file(data_file(filled))
    sync_folder(filled)
    numbers = [int(path.name.split("-")[0]) for path in every(folder)]
    name = f"{max(numbers, default=0) + 1:04d}-{made.data_version[:8]}"
    target = folder / VERSIONS / name
    os.rename(filled, target)
    sync_folder(folder / VERSIONS)
    point(folder, target)
    return target


def point(folder: Path, version: Path) -> None:
    """Serve this version from now on."""
    replace_text(folder / CURRENT, version.name + "\n")
