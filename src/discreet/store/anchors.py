"""A ledger's anchors: its newest row, noted outside of the database, in two places.

The *inner* anchor lies beside the ledger and is replaced after every commit. A database that was
rewritten, cut or put back alone is behind it. Who puts the whole folder back puts the inner anchor
back too, so the *outer* anchor lies outside of the workspace, one file for each ledger: by default
in the user's state folder, else where `DISCREET_ANCHORS` says. It gets a line after every commit
and is never shortened to an earlier entry: a ledger that does not know one of its lines was
restored from a backup, or is one of two copies that both went on.

Each line holds what was spent up to there, so that accepting a restored ledger can count what it
forgot. The order is: the commit is on disk, then both anchors, then the answer. Killed in between,
an anchor lags behind the ledger, which is no offence; none is ever ahead of what is on disk.

The outer anchor belongs to one user on one machine. Where it cannot be written the ledger works
without it, and says so. A line that cannot be read is passed over.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..durable import OWN, OWN_FOLDER, replacing, sync_folder
from ..errors import LedgerDamaged
from .chain import canonical

PLACE = "DISCREET_ANCHORS"
"""The environment variable that says where outer anchors lie."""
_LONG = 1 << 20
"""A file of lines longer than this is thinned when a ledger is opened."""
RECENT = 1000
"""So many of the last lines are never thinned."""
_TAIL = 1 << 13
_told: set[str] = set()


@dataclass(frozen=True)
class Anchor:
    """A row of a ledger that was the newest one when it was noted."""

    dataset: str
    ledger: str
    seq: int
    hash: str
    spent: str | None = None
    """The loss of the data set up to here, as it is stored; empty before a budget was set. None:
    the version that noted it did not say."""
    since: str | None = None
    """On a line, the loss that the line before had noted when this one was decided."""

    @classmethod
    def read(cls, path: Path) -> Anchor | None:
        """The anchor, or None where there is no such file."""
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return cls.from_line(text)
        except ValueError:
            raise LedgerDamaged(
                f"The ledger's anchor {path.name} cannot be read. Nothing is answered; restore "
                "the anchor and the ledger from a copy that verifies."
            ) from None

    @classmethod
    def from_line(cls, line: bytes) -> Anchor:
        """Read what `line` made; raises ValueError."""
        try:
            stored = json.loads(line)
            named = (stored[name] for name in ("dataset", "ledger", "entry", "hash"))
            losses = (stored.get(name) for name in ("spent", "since"))
            anchor = cls(*named, *(canonical(loss) if loss else loss for loss in losses))
            whole = type(anchor.seq) is int and anchor.seq >= 1
            if not whole or len(bytes.fromhex(anchor.hash)) != 32:
                raise ValueError
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError from error
        return anchor

    @property
    def line(self) -> bytes:
        """As it is written, with the end of the line."""
        whose = {"dataset": self.dataset, "ledger": self.ledger}
        losses = {"spent": self.spent, "since": self.since}
        said = {
            name: text and json.loads(text) for name, text in losses.items() if text is not None
        }
        text = canonical({**whose, "entry": self.seq, "hash": self.hash, **said})
        return text.encode() + b"\n"

    def write(self, path: Path) -> None:
        """Replace the file in one step; content is synced before it takes the name."""
        with replacing(path, only_writer=True) as stream:
            stream.write(self.line)


def anchors_folder() -> Path:
    """Where outer anchors lie: `DISCREET_ANCHORS`, else in the user's state folder."""
    place = os.environ.get(PLACE)
    if place:
        return Path(place)
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "discreet" / "anchors"


def lines_in(content: bytes, ledger: str) -> list[Anchor]:
    """The anchors of a ledger among lines; others, and torn ones, are passed over."""
    anchors = []
    for line in content.splitlines():
        try:
            anchor = Anchor.from_line(line)
        except ValueError:
            continue
        if anchor.ledger == ledger:
            anchors.append(anchor)
    return anchors


class OuterAnchor:
    """The lines noted outside of the workspace about one ledger."""

    def __init__(self, ledger: str, name: str) -> None:
        self.ledger, self._name = ledger, name
        self.problem = ""
        """Why nothing can be noted there, in a sentence; empty where all is well."""
        self._seen = (0, 0)  # the file, and how much of it was compared with the ledger
        self.last: int | None = None
        """The entry of the newest line that was read or added."""
        self._since: str | None = None
        self._pool: ThreadPoolExecutor | None = None
        try:
            self.path: Path | None = anchors_folder() / f"{ledger}.anchor"
        except RuntimeError:  # nobody knows where home is
            self.path = None
            self._cannot("this user has no home folder")

    def lines(self) -> list[Anchor]:
        """Every line, oldest first."""
        content = b""
        with self._trying():
            content = b"" if self.path is None else self.path.read_bytes()
        return lines_in(content, self.ledger)

    def unseen(self) -> list[Anchor]:
        """The lines since they were last compared; when first asked, the last few."""
        lines: list[Anchor] = []
        with self._trying():
            if self.path is None:
                return lines
            status = os.stat(self.path)
            file, end = status.st_ino, status.st_size
            if (file, end) == self._seen:
                return lines
            begin = self._seen[1] if file == self._seen[0] and end > self._seen[1] else 0
            with self.path.open("rb") as stream:
                stream.seek(begin or max(0, end - _TAIL))
                lines = lines_in(stream.read(end - stream.tell()), self.ledger)
            self._seen = (file, end)
            if lines:
                self.last, self._since = lines[-1].seq, lines[-1].spent
        return lines

    def forget(self) -> None:
        """Compare again what was just found not to belong."""
        self._seen = (0, 0)

    @contextmanager
    def adding(self, anchor: Anchor) -> Iterator[None]:
        """Add a line while the block runs; both are done, and on disk, when it ends."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="anchor")
        addition = self._pool.submit(self.add, anchor)
        try:
            yield
        finally:
            addition.result()

    def add(self, anchor: Anchor) -> None:
        """Add a line and sync it."""
        self._add(replace(anchor, since=self._since).line, anchor)

    def begin(self, past: Sequence[Anchor]) -> None:
        """Note rows that a ledger had before it was first opened here."""
        self._add(b"".join(anchor.line for anchor in past), past[-1])

    def _add(self, lines: bytes, newest: Anchor) -> None:
        with self._trying():
            if self.path is None:
                return
            new = not self.path.exists()
            if new:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=OWN_FOLDER)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            handle = os.open(self.path, flags, OWN)
            try:
                self._append(handle, lines)
                self.last, self._since = newest.seq, newest.spent
            finally:
                os.close(handle)
            if new:
                sync_folder(self.path.parent)
            self.problem = ""

    def _append(self, handle: int, line: bytes) -> None:
        status = os.fstat(handle)
        file, end = status.st_ino, status.st_size
        if end and os.pread(handle, 1, end - 1) != b"\n":
            line = b"\n" + line  # after a torn one
        if os.write(handle, line) != len(line):
            raise OSError(None, "no space left on device")
        os.fdatasync(handle)
        if (file, end) == self._seen or not end:
            self._seen = (file, end + len(line))

    def thin(self) -> None:
        """Leave out every other line of a long past; which lines are left is never wrong."""
        with self._trying():
            if self.path is None or self.path.stat().st_size <= _LONG:
                return
            lines = self.path.read_bytes().splitlines(keepends=True)
            with replacing(self.path) as stream:
                stream.writelines(lines[:-RECENT:2] + lines[-RECENT:])

    def close(self) -> None:
        """Let go of the helping thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """What the system refuses is no reason to answer nothing, but is said once."""
        try:
            yield
        except FileNotFoundError:
            pass  # none yet, or taken away: the next line begins a new one
        except OSError as error:
            self._cannot((error.strerror or "the system refused").lower())

    def _cannot(self, reason: str) -> None:
        where = self.path.parent if self.path else "the user's state folder"
        self.problem = (
            f"{self._name} has no anchor outside of the workspace ({where}: {reason}), so a folder "
            f"restored from a backup goes unnoticed. Set {PLACE} to a folder that may be written."
        )
        if self.problem not in _told:
            _told.add(self.problem)
            logging.getLogger("discreet.store").warning("%s", self.problem)
