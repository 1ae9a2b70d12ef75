"""A budget that was agreed, in discreet.yaml and in the ledger: in both or, after a crash, soon.

What was agreed is first written down beside discreet.yaml, with whom it is of; then the file is
changed, then the ledger, then the note is removed. Whoever opens the data set finds either no note,
or one whose change it completes, in the names of those who agreed. All of it happens under a lock,
so that nobody takes a file half changed for a change of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..durable import edit_text, plain_errors, replace_text, sync_folder
from ..errors import InputError, StoreError
from ..file_names import BUDGET_LOCK, BUDGET_NOTE, DESCRIPTION
from .description_file import read
from .yaml_edit import with_value

if TYPE_CHECKING:
    from ..store import LedgerStore


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """The right to change a data set's budget, one process after another."""
    from ..store.lock import FairLock

    with plain_errors(f"Locking the budget of {folder.name}"):
        lock = FairLock(folder / BUDGET_LOCK)
    with closing(lock), lock:
        yield


def pending(folder: Path) -> bool:
    """Whether an agreed budget is not yet in file and ledger."""
    return (folder / BUDGET_NOTE).exists()


def change_budget(
    folder: Path, ledger: LedgerStore, change: Mapping[str, str], *, who: str, reason: str
) -> None:
    """Change the budget as agreed; where the file cannot be changed nothing is."""
    with changing(folder):
        finish(folder, ledger)
        _changed(folder, change)  # says what stands in the way before anything is noted
        note = {"budget": dict(change), "who": who, "reason": reason}
        replace_text(folder / BUDGET_NOTE, json.dumps(note, ensure_ascii=False) + "\n")
        finish(folder, ledger)


def finish(folder: Path, ledger: LedgerStore) -> None:
    """Complete what was agreed and noted; the caller holds the lock."""
    if not pending(folder):
        return
    note = _note(folder)
    before = (folder / DESCRIPTION).read_text(encoding="utf-8-sig")
    try:
        edit_text(folder / DESCRIPTION, _changed(folder, note["budget"]))
        budget = read(folder).policy.budget
        if budget is not None and ledger.cap() != budget:
            ledger.set_cap(budget, who=note["who"], reason=note["reason"])
    except InputError:  # it cannot be, now or later: all stays as it was
        edit_text(folder / DESCRIPTION, before)
        _forget(folder)
        raise
    _forget(folder)


def _note(folder: Path) -> dict[str, Any]:
    try:
        note = json.loads((folder / BUDGET_NOTE).read_text("utf-8"))
        assert {"budget", "who", "reason"} <= note.keys()
    except (OSError, ValueError, AssertionError, AttributeError):
        raise StoreError(
            f"{folder / BUDGET_NOTE} cannot be read. Compare budget and ledger by hand, then remove it."
        ) from None
    return dict(note)


def _forget(folder: Path) -> None:
    with plain_errors(f"Removing {folder / BUDGET_NOTE}"):
        (folder / BUDGET_NOTE).unlink(missing_ok=True)
        sync_folder(folder)


def _changed(folder: Path, change: Mapping[str, str]) -> str:
    """The text of discreet.yaml with this budget in its place."""
    before = (folder / DESCRIPTION).read_text(encoding="utf-8-sig")
    return with_value(before, ["budget"], change, str(folder / DESCRIPTION))
