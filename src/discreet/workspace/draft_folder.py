"""Data sets in the making: a folder for each, its owner's alone, gone without a trace when cancelled.

    .drafts/<id>/draft.json     who began it, what was said so far, how far it is
    .drafts/<id>/lock           held while draft.json is changed
    .drafts/<id>/upload.part    the file as far as it has come
    .drafts/<id>/profile.json   what was seen of it
    .drafts/<id>/made           the data set itself; takes its place in the workspace in one step

Every change of what was said counts `edition` up, so that of two custodians who edit one draft the
second learns of the first.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..durable import OWN, make_folder, plain_errors, replace_text
from ..errors import InputError, StoreError
from ..file_names import DRAFTS
from ..languages import say

FORM = "discreet draft 1"
MADE, PROFILE, PART = "made", "profile.json", "upload.part"
MOST_DRAFTS = 100
State = Literal["uploading", "looking", "open", "loading", "done"]
_ID = re.compile(r"[0-9a-f]{16}")
_GONE = "gone-"
_YOUNG_SECONDS = 60.0
"""A folder so young may be about to be filled by who made it."""


class DraftMoved(InputError):
    """Somebody else changed the draft since it was read; nothing was saved."""


@dataclass(frozen=True)
class DraftState:
    """How far a draft is; everything but what is in the file itself."""

    id: str
    by: str
    created: float
    file: str = ""
    """The name of the uploaded file."""
    bytes: int | None = None
    """How long the file will be; None where that is not known before its end."""
    resumable: bool = True
    """Whether an upload that broke off can go on; what a form sends cannot."""
    source: str = ""
    """A database table instead of a file."""
    dataset: str = ""
    """The data set of which this is a new version; empty: a new one."""
    state: State = "uploading"
    edition: int = 1
    changed: float = 0.0
    changed_by: str = ""
    job: str = ""
    error: str = ""
    """Why the last look or load ended, in one sentence."""
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    made: str = ""
    """The data set that it became, or is about to become."""
    told: tuple[str, ...] = ()
    """What a load said."""

    @classmethod
    def from_text(cls, text: str) -> DraftState:
        """Read back."""
        body: dict[str, Any] = json.loads(text)
        if body.pop("form") != FORM:
            raise ValueError("another form")
        return cls(**{**body, "told": tuple(body["told"])})

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps({"form": FORM, **asdict(self)}, ensure_ascii=False)


class DraftFolder:
    """One draft."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self.folder, self._clock = folder, clock
        self.made, self.part = folder / MADE, folder / PART

    @property
    def state(self) -> DraftState:
        """What is written of it now."""
        try:
            return DraftState.from_text((self.folder / "draft.json").read_text("utf-8"))
        except FileNotFoundError:
            raise no_draft() from None
        except (OSError, ValueError, KeyError, TypeError):
            raise StoreError("A draft's own file cannot be read. Cancel it, begin again.") from None

    @property
    def received(self) -> int:
        """How many bytes of the file are there."""
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    def exists(self) -> bool:
        """Whether it was cancelled meanwhile."""
        return (self.folder / "draft.json").exists()

    @contextlib.contextmanager
    def locked(self) -> Iterator[DraftState]:
        """Its state, which nobody else changes during the block."""
        try:
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWN)
        except FileNotFoundError:
            raise no_draft() from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self.state
        finally:
            os.close(handle)

    def write(self, state: DraftState) -> DraftState:
        """Put down a state; only while it is locked."""
        replace_text(self.folder / "draft.json", state.to_text())
        return state

    def set(self, **parts: Any) -> DraftState:
        """Change how far it is; what was said stays, and so does its edition."""
        with self.locked() as state:
            return self.write(replace(state, **parts))

    def answer(self, answers: Mapping[str, Any], *, edition: int, by: str) -> DraftState:
        """Put down what was said, if nobody said something else since `edition`."""
        with self.answering(edition) as state:
            return self.write_answers(state, answers, by)

    @contextlib.contextmanager
    def answering(self, edition: int) -> Iterator[DraftState]:
        """Its state, open and as it was read; nobody else changes it during the block."""
        with self.locked() as state:
            self.unmoved(state, edition)
            if state.state != "open":
                raise InputError("This draft cannot be changed while it is worked on.")
            yield state

    def write_answers(self, state: DraftState, answers: Mapping[str, Any], by: str) -> DraftState:
        """Put down what was said; only while it is locked."""
        said = replace(state, answers=dict(answers), edition=state.edition + 1)
        return self.write(replace(said, changed=self._clock(), changed_by=by))

    def unmoved(self, state: DraftState, edition: int) -> None:
        """Raise where somebody changed the draft after the edition that was read."""
        if edition != state.edition:
            raise DraftMoved(
                say(
                    "{who} changed this draft after you had opened it. Open it again; nothing of yours "
                    "was saved.",
                    who=state.changed_by or state.by,
                )
            )

    def delete(self) -> None:
        """Remove every byte of it; what a kill leaves is removed at the next start."""
        gone = self.folder.with_name(_GONE + self.folder.name)
        with plain_errors("Removing a draft"), contextlib.suppress(FileNotFoundError):
            os.rename(self.folder, gone)
        shutil.rmtree(gone, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()  # the last one takes the folder of all with it


class Drafts:
    """The drafts of a workspace; may be used by several processes."""

    def __init__(self, workspace: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder, self._clock = workspace / DRAFTS, clock

    def begin(self, by: str, **facts: Any) -> DraftFolder:
        """A new draft."""
        if len(self.all()) >= MOST_DRAFTS:
            raise InputError(
                f"There are {MOST_DRAFTS} drafts, which is the most. Finish or cancel one first."
            )
        identity, now = secrets.token_hex(8), self._clock()
        draft = DraftFolder(self.folder / identity, self._clock)
        make_folder(draft.folder)
        draft.write(DraftState(identity, by, now, changed=now, **facts))
        return draft

    def get(self, identity: str) -> DraftFolder:
        """One draft by its id."""
        draft = DraftFolder(self.folder / identity, self._clock)
        if not _ID.fullmatch(identity) or not draft.exists():
            raise no_draft()
        return draft

    def here(self) -> list[str]:
        """The ids of the drafts that lie in this workspace, whatever state they are in."""
        try:
            names = sorted(path.name for path in self.folder.iterdir())
        except FileNotFoundError:
            return []
        return [name for name in names if _ID.fullmatch(name)]

    def all(self) -> list[DraftFolder]:
        """Every draft, newest first; one that is cancelled at this moment is none."""
        found = []
        for name in self.here():
            draft = DraftFolder(self.folder / name, self._clock)
            with contextlib.suppress(NoDraft):
                found.append((-draft.state.created, name, draft))
        return [draft for *_, draft in sorted(found, key=lambda one: one[:2])]

    def sweep(self, *, before: float) -> None:
        """Remove what can no longer go on.

        Cancelled drafts that a kill left, uploads by a form that nobody is sending any more, and
        uploads and finished drafts that nothing happened to since `before`.
        """
        if not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            draft = DraftFolder(path, self._clock)
            young = _touched(path) > self._clock() - _YOUNG_SECONDS
            if path.name.startswith(_GONE) or not (draft.exists() or young):
                shutil.rmtree(path, ignore_errors=True)
                continue
            with contextlib.suppress(StoreError, InputError):
                state = draft.state
                last = max(state.changed, _touched(draft.part))
                begun = draft.part.exists() or not young
                still = state.state == "uploading" and not state.resumable and begun
                old = state.state in ("uploading", "done") and last < before
                if (still or old) and not being_sent(draft):
                    draft.delete()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def being_sent(draft: DraftFolder) -> bool:
    """Whether somebody is writing into the file at this moment."""
    try:
        handle = os.open(draft.part, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(handle)


def no_draft() -> InputError:
    """It is not there, or not there any more."""
    return NoDraft("There is no such draft; it may have been cancelled or finished.")


class NoDraft(InputError):
    """There is no such draft."""


def _touched(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0
