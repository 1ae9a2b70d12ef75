"""The ledger stores that the contract suite runs over, and how to open and crash each.

Another store adds a class here: `open` gives one more opening of the same ledger, and `crash`
ends all openings as a killed process would, nothing finished or tidied.
"""

from __future__ import annotations

import shutil

from discreet.store import Ledger


class SqliteLedgers:
    """Openings of one ledger in a folder of files."""

    name = "sqlite"

    def __init__(self, root, clock):
        self.root, self.clock = root, clock
        self.folder, self.crashes, self.opened = root / "0", 0, []

    def open(self):
        ledger = Ledger(self.folder, dataset="people", clock=self.clock)
        self.opened.append(ledger)
        return ledger

    def crash(self):
        """The files as they are; what processes shared is gone with them."""
        self.crashes += 1
        after = self.root / str(self.crashes)
        shutil.copytree(self.folder, after, ignore=shutil.ignore_patterns("*-shm"))
        self.close()
        shutil.rmtree(self.folder)
        self.folder = after

    def close(self):
        for ledger in self.opened:
            ledger.close()
        self.opened = []


STORES = [SqliteLedgers]
