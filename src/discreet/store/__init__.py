"""What outlives a process: the ledger of charges and answers, a cache of results, jobs.

What a ledger decides is pure (`ledger_rules.py`); `sqlite/` and `postgres/` keep rows. Each data
set has a folder. The ledger lies in `store.sqlite3` with its anchor and lock, what was fitted to its
answers in `fits`; the cache and the jobs in files of their own, so that deleting the one and the
heartbeats of the other never touch what must last.
"""

from .base import Entry, Hold, Job, LedgerHistory, Standing, StoredAnswer, Verified
from .fits import Fits
from .jobs import Jobs
from .ledger_restore import Restored
from .ledger_store import LedgerStore
from .opening import accept_restore, has_ledger, open_ledger, verify
from .results import Results
from .sqlite.ledger import Ledger

__all__ = [
    "Entry",
    "Fits",
    "Hold",
    "Job",
    "Jobs",
    "Ledger",
    "LedgerHistory",
    "LedgerStore",
    "Restored",
    "Results",
    "Standing",
    "StoredAnswer",
    "Verified",
    "accept_restore",
    "has_ledger",
    "open_ledger",
    "verify",
]  # fmt: skip
