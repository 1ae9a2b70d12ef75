"""A ledger in SQLite that is behind its anchors, accepted in one transaction."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from ...file_names import ANCHOR, LEDGER_LOCK, STORE
from ..anchors import Anchor, OuterAnchor
from ..ledger_restore import Restored, accept
from ..ledger_state import Needs
from ..lock import FairLock
from ..measurement_files import MeasurementFiles
from ..verification import last_row
from .database import connect, in_words, transaction
from .ledger import checked_file
from .ledger_rows import SqliteRows


def accept_restore(
    folder: str | Path,
    *,
    neighbours: str,
    who: str,
    reason: str,
    copy: str | Path | None = None,
) -> Restored:
    """Let a ledger that is behind its anchors go on; durable when this returns.

    `neighbours` are those of the data set; `copy` is an anchor, or many one below the other, that
    was kept elsewhere.
    """
    folder = Path(folder)
    name = f"The ledger of {folder.resolve().name}"
    said = {"who": who, "reason": reason, "neighbours": neighbours}
    with in_words(name):
        lock = closing(FairLock(folder / LEDGER_LOCK))
        with lock as taken, taken, closing(connect(folder / STORE)) as connection:
            noted, files = Anchor.read(folder / ANCHOR), MeasurementFiles(folder)
            rows = SqliteRows(connection, folder.resolve().name, files, time.time, name)
            with transaction(connection):
                _, account = checked_file(rows, noted, None, behind=True)
                outer = OuterAnchor(account.ledger, name)
                state = rows.state(Needs(account=True))
                restored = accept(rows, state, noted, outer, said, copy)
                rows.write(state)
                anchor = last_row(rows, account)
            anchor.write(folder / ANCHOR)
            outer.unseen()
            outer.add(anchor)
    return restored
