"""What several hosts share of a data set: its version, its description, the keys they must hold.

    blobs/datasets/NAME/versions/0004-ab12cd34/   the version, as it was loaded
    blobs/datasets/NAME/descriptions/DIGEST/      discreet.yaml and the categories

A note in the database says which of them is served: `share` moves it, after the files are in their
place, and only if nobody else moved it meanwhile. A host that serves looks at it every few seconds and
fetches what is new (`follow`): versions first, whole, then the description. Keys never travel: each
host is given `secret/` and `accounts.key` by whoever sets it up, and one that holds others is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ..durable import (
    OWN_FOLDER,
    make_folder,
    own_file,
    plain_errors,
    replace_bytes,
    replace_text,
    sync_folder,
)
from ..errors import DiscreetError, InputError, StoreError
from ..file_names import (
    CATEGORIES,
    CURRENT,
    DESCRIPTION,
    FETCHING,
    MANIFEST,
    REHEARSED,
    SERVED_FAMILY,
    SERVED_LAWS,
    SHARED,
    VERSIONS,
)
from ..store.blobs import FolderBlobs, blobs_of
from ..store.shared_notes import SharedNotes, notes_of
from . import secrets, versions

_CURRENT = "current"
_KEY = "master key"


def shared(folder: Path) -> SharedNotes | None:
    """The notes that hosts share about the data set in `folder`; None where there is one host."""
    return notes_of(folder.resolve().parent)


def share(folder: Path) -> bool:
    """Let all hosts serve what this one has; False where nothing is shared, or is so already."""
    notes = shared(folder)
    if notes is None:
        return False
    current = versions.current(folder)
    if current is None:
        raise InputError(f"{folder} is not loaded yet. Run `discreet load {folder}`.")
    name, blobs = folder.resolve().name, blobs_of(folder.resolve().parent)
    before = notes.get(name, _CURRENT)
    check_keys(folder, notes)
    version, digest = current[0], description_digest(folder)
    now = json.dumps({"version": version.name, "description": digest})
    if before == now:
        _remember(folder, now)
        return False
    seen = _remembered(folder)
    if before is not None and before != seen:
        raise InputError(
            f"Another host changed what is served of {name} since this one looked. Run `discreet store "
            f"fetch {folder}`, make your change again, then share it."
        )
    target = f"datasets/{name}/versions/{version.name}"
    if blobs.fetch(f"{target}/{MANIFEST}") is None:
        for path in sorted(version.iterdir(), key=lambda path: path.name == MANIFEST):
            blobs.keep(f"{target}/{path.name}", path)  # the manifest last: then it is whole
    described = f"datasets/{name}/descriptions/{digest}"
    for path in sorted(_described(folder), key=lambda path: path.name == DESCRIPTION):
        blobs.keep(f"{described}/{path.relative_to(folder).as_posix()}", path)
    _share_notes(folder, name, notes)
    if not notes.put(name, _CURRENT, now, before):
        raise InputError(
            f"Another host changed what is served of {name} at this moment. Look again."
        )
    _remember(folder, now)
    return True


def _share_notes(folder: Path, name: str, notes: SharedNotes) -> None:
    """What was noted in files before the data set was shared counts on every host."""
    for note in (SERVED_FAMILY, SERVED_LAWS, REHEARSED):
        with contextlib.suppress(FileNotFoundError):
            text = (folder / note).read_text(encoding="utf-8")
            if notes.get(name, note) is None:
                notes.put(name, note, text, None)


def share_again(folder: Path) -> None:
    """Share a changed description where this data set is shared; else do nothing."""
    if _remembered(folder) is not None:
        share(folder)


def follow(workspace: Path, *, over_edits: bool = False) -> list[str]:
    """Fetch what other hosts shared; the data sets that changed here. What fails is tried again.

    A description that was edited here and not shared is left alone unless `over_edits`.
    """
    notes = notes_of(workspace)
    if notes is None:
        return []
    changed = []
    for name, body in notes.every(_CURRENT).items():
        if not _is_name(name):
            continue
        folder = workspace / name
        with contextlib.suppress(OSError, DiscreetError):
            if _is_here(folder, body) or (_edited(folder) and not over_edits):
                continue  # opening what was edited says so
            _fetch(blobs_of(workspace), folder, name, body)
            changed.append(name)
    return changed


def _is_here(folder: Path, body: str) -> bool:
    """Whether this host has what is served; also where it was killed before it noted that."""
    if (folder / FETCHING).exists():
        return False
    if _remembered(folder) == body:
        return (folder / CURRENT).exists()
    if _own(folder) != _said(body):
        return False
    _remember(folder, body)
    return True


def check_newest(folder: Path) -> None:
    """Fetch what is served, and raise where this host could not: an older budget must not come back."""
    notes = shared(folder)
    if notes is None:
        return
    follow(folder.resolve().parent)
    said = notes.get(folder.resolve().name, _CURRENT)
    if said is not None and said != _remembered(folder):
        raise StoreError(
            f"{folder} is not what the other hosts serve, and it could not be fetched. Check the folder of "
            "blobs in store.yaml, then ask again."
        )


def check_edits(folder: Path) -> None:
    """Raise where the description was changed here and other hosts serve another one."""
    if shared(folder) is None or not (_edited(folder) or (folder / FETCHING).exists()):
        return
    follow(folder.resolve().parent)  # it may have been killed while it shared or fetched
    if (folder / FETCHING).exists():
        raise StoreError(
            f"{folder} is being fetched from where hosts share it. Ask again in a moment; if this stays, "
            "check the folder of blobs in store.yaml."
        )
    if _edited(folder):
        raise InputError(
            f"{folder / DESCRIPTION} or the version was changed on this host alone. Run `discreet store share {folder}` to "
            f"serve it everywhere, or `discreet store fetch {folder}` to take what the others serve."
        )


def _edited(folder: Path) -> bool:
    """Whether what is here is neither what was shared nor the half of what is being fetched."""
    seen, own = _remembered(folder), _own(folder)
    if seen is None or own is None or (folder / FETCHING).exists():
        return False
    return own != _said(seen)


def _own(folder: Path) -> dict[str, str] | None:
    """What this host has; None where it has no description, or nothing loaded."""
    try:
        current = (folder / CURRENT).read_text(encoding="ascii").strip()
        return {"version": current, "description": description_digest(folder)}
    except (OSError, UnicodeDecodeError):
        return None


def _said(body: str) -> dict[str, str]:
    """The version and the description that a note names."""
    try:
        said = {key: json.loads(body)[key] for key in ("version", "description")}
    except (ValueError, KeyError, TypeError):
        said = {}
    if not said or not all(map(_is_name, said.values())):
        raise StoreError("What hosts share is named by no plain name. Share it again.")
    return said


def _fetch(blobs: FolderBlobs, folder: Path, name: str, body: str) -> None:
    """The version and the description a note names, in that order; then what is served.

    Killed in between, it is known that what is here is no edit, and it is fetched again.
    """
    said = _said(body)
    with plain_errors(f"Fetching {name}"), versions.loading(folder):
        target = folder / VERSIONS / said["version"]
        if not (target / MANIFEST).exists():
            _fetch_version(blobs, target, f"datasets/{name}/versions/{said['version']}")
        new = _description(blobs, name, said["description"])
        replace_text(folder / FETCHING, body + "\n")
        for own, content in new.items():
            make_folder((folder / own).parent)
            replace_bytes(folder / own, content)
        kept = {folder / own for own in (*new, DESCRIPTION)}
        for dropped in set(_described(folder)) - kept:
            dropped.unlink()
        versions.point(folder, target)
        _remember(folder, body)
        (folder / FETCHING).unlink()


def _description(blobs: FolderBlobs, name: str, digest: str) -> dict[str, bytes]:
    """The files of a description that was shared, checked to be those."""
    folder = f"datasets/{name}/descriptions/{digest}/"
    found = {one: blobs.fetch(one) for one in blobs.names(folder)}
    files = {
        one.removeprefix(folder): path.read_bytes()
        for one, path in found.items()
        if path is not None
    }
    if _digest(files) != digest:
        raise StoreError(f"The description of {name} is not as it was shared. Share it again.")
    return files


def _fetch_version(blobs: FolderBlobs, target: Path, source: str) -> None:
    spare = target.with_name(f".loading-{os.getpid()}")
    shutil.rmtree(spare, ignore_errors=True)
    spare.mkdir(mode=OWN_FOLDER)
    for found in blobs.names(source):
        path = blobs.fetch(found)
        assert path is not None
        own = spare / Path(found).name
        own_file(own)
        shutil.copyfile(path, own)
    made = versions.manifest(spare)
    if not versions.as_loaded(spare, made):
        shutil.rmtree(spare, ignore_errors=True)
        raise StoreError(f"{target.name} is not as it was loaded where hosts share it.")
    os.rename(spare, target)
    sync_folder(target.parent)


def description_digest(folder: Path) -> str:
    """A digest of the description as written, labels and notes included."""
    paths = _described(folder)
    return _digest({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(files, key=PurePosixPath):
        digest.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    return digest.hexdigest()


def _described(folder: Path) -> list[Path]:
    inside = folder / CATEGORIES
    plain = (
        path
        for path in inside.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(inside).parts)
    )
    return [folder / DESCRIPTION, *plain]


def _is_name(name: object) -> bool:
    """Whether what a database says can name a file or folder here, and nothing elsewhere."""
    return isinstance(name, str) and name[:1] not in ("", ".") and not set(name) & set("/\\\0")


def check_keys(folder: Path, notes: SharedNotes) -> None:
    """Hosts that serve one data set hold one master key: another one would make other noise."""
    name = folder.resolve().name
    key = secrets.read(folder).derive("same on every host")
    own = hmac.new(key, name.encode(), "sha256").hexdigest()
    known = notes.get(name, _KEY)
    if known is None and notes.put(name, _KEY, own, None):
        return
    if (known or notes.get(name, _KEY)) != own:
        raise StoreError(
            f"{folder / 'secret'} holds another master key than the other hosts: the same question would "
            "get other noise here. Copy `secret` from the host that loaded the data."
        )


def _remembered(folder: Path) -> str | None:
    """What this host last shared or fetched."""
    try:
        return (folder / SHARED).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _remember(folder: Path, body: str) -> None:
    replace_text(folder / SHARED, body + "\n")
