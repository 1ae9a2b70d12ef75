"""A budget that was agreed, in discreet.yaml and in the ledger: in both or, after a crash, soon.

What was agreed is first written down beside discreet.yaml, with whom it is of; then the file is
changed, then the ledger, then the note is removed. Whoever opens the data set finds either no note,
or one whose change it completes, in the names of those who agreed. All of it happens under a lock,
so that nobody takes a file half changed for a change of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..durable import edit_text, plain_errors
from ..errors import InputError, StoreError
from ..file_names import BUDGET_LOCK, BUDGET_NOTE, DESCRIPTION
from . import hosts
from .description_file import read
from .noted import forget_note, read_note, seen_note, write_note
from .yaml_edit import with_value

if TYPE_CHECKING:
    from ..store import LedgerStore


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """The right to change a data set's budget, one process after another."""
    from ..store.lock import FairLock

    with plain_errors(f"Locking the budget of {folder.name}"):
        lock = FairLock(folder / BUDGET_LOCK)
    notes = hosts.shared(folder)
    everywhere = nullcontext() if notes is None else notes.alone(f"budget of {folder.name}")
    with closing(lock), lock, everywhere:
        yield


def pending(folder: Path) -> bool:
    """Whether an agreed budget is not yet in file and ledger."""
    return read_note(folder, BUDGET_NOTE) is not None


def change_budget(
    folder: Path, ledger: LedgerStore, change: Mapping[str, str], *, who: str, reason: str
) -> None:
    """Change the budget as agreed; where the file cannot be changed nothing is."""
    with changing(folder):
        hosts.check_newest(folder)
        finish(folder, ledger)
        _changed(folder, change)  # says what stands in the way before anything is noted
        note = {"budget": dict(change), "who": who, "reason": reason}
        before = seen_note(folder, BUDGET_NOTE)[1]
        text = json.dumps(note, ensure_ascii=False) + "\n"
        if not write_note(folder, BUDGET_NOTE, text, before=before):
            raise StoreError(f"Another host changes the budget of {folder.name}. Ask again.")
        finish(folder, ledger)


def finish(folder: Path, ledger: LedgerStore) -> None:
    """Complete what was agreed and noted; the caller holds the lock."""
    if not pending(folder):
        return
    note = _note(folder)
    before = (folder / DESCRIPTION).read_text(encoding="utf-8-sig")
    try:
        edit_text(folder / DESCRIPTION, _changed(folder, note["budget"]))
        _share(folder, before)
        budget = read(folder).policy.budget
        if budget is not None and ledger.cap() != budget:
            ledger.set_cap(budget, who=note["who"], reason=note["reason"])
    except InputError:  # it cannot be, now or later: all stays as it was
        edit_text(folder / DESCRIPTION, before)
        hosts.share_again(folder)
        forget_note(folder, BUDGET_NOTE)
        raise
    forget_note(folder, BUDGET_NOTE)


def _share(folder: Path, before: str) -> None:
    """Let all hosts serve it; where they cannot learn of it, this one waits as well."""
    try:
        hosts.share_again(folder)
    except StoreError:
        edit_text(folder / DESCRIPTION, before)
        raise


def _note(folder: Path) -> dict[str, Any]:
    try:
        note = json.loads(read_note(folder, BUDGET_NOTE) or "")
        assert {"budget", "who", "reason"} <= note.keys()
    except (OSError, ValueError, AssertionError, AttributeError):
        raise StoreError(
            f"{folder / BUDGET_NOTE} cannot be read. Compare budget and ledger by hand, then remove it."
        ) from None
    return dict(note)


def _changed(folder: Path, change: Mapping[str, str]) -> str:
    """The text of discreet.yaml with this budget in its place."""
    before = (folder / DESCRIPTION).read_text(encoding="utf-8-sig")
    return with_value(before, ["budget"], change, str(folder / DESCRIPTION))
