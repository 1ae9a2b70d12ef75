"""The ledger stores that the contract suite runs over, and how to open and crash each.

Another store adds a class here: `open` gives one more opening of the same ledger, and `crash`
ends all openings as a killed process would, nothing finished or tidied. `server` is the Postgres of
the tests, which only the store that needs it looks at.
"""

from __future__ import annotations

import itertools
import shutil

from discreet.core.loss import PureLoss
from discreet.store import Ledger, open_ledger
from discreet.store.opening import prepare

_NUMBERS = itertools.count(1)


def opened(root):
    """The ledger of people in a workspace, with a budget."""
    ledger = open_ledger(root / "people", dataset="people")
    if ledger.cap() is None:
        ledger.set_cap(PureLoss(1), who="ana", reason="agreed")
    return ledger


class SqliteLedgers:
    """Openings of one ledger in a folder of files."""

    name = "sqlite"
    needs_server = False

    def __init__(self, root, clock, server=None):
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


def shared_workspace(root, server, database=None):
    """A workspace whose stores lie in a schema of their own of the tests' server; its `store.yaml`."""
    root.mkdir(parents=True, exist_ok=True)
    database = database or _database(server)
    schema = f"s{next(_NUMBERS)}"
    (root / "store.yaml").write_text(
        f"database: {server.url(database)}\nschema: {schema}\nblobs: {root / 'blobs'}\n"
    )
    prepare(root)
    return database, schema


def _database(server):
    """One database for all schemas of a process."""
    if not hasattr(server, "shared_database"):
        server.shared_database = server.database()
    return server.shared_database


class PostgresLedgers:
    """Openings of one ledger in a schema of its own; a folder holds this host's anchor."""

    name = "postgres"
    needs_server = True

    def __init__(self, root, clock, server):
        self.clock, self.server, self.folder, self.opened = clock, server, root / "people", []
        self.database, self.schema = shared_workspace(root, server)

    def open(self):
        ledger = open_ledger(self.folder, dataset="people", clock=self.clock)
        self.opened.append(ledger)
        return ledger

    def crash(self):
        """The server ends every connection, and nothing is said to it."""
        self.server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{self.database}' AND application_name = 'discreet'"
        )
        self.close()

    def close(self):
        for ledger in self.opened:
            ledger.close()
        self.opened = []


STORES = [SqliteLedgers, PostgresLedgers]
