"""What outlives a process: the ledger of charges and answers, a cache of results, jobs.

Each data set has a folder. The ledger lies in `store.sqlite3` with its anchor and lock; the cache
and the jobs in files of their own, so that deleting the one and the heartbeats of the other never
touch what must last.
"""

from .base import Entry, Hold, Job, LedgerHistory, Standing, StoredAnswer, Verified
from .jobs import Jobs
from .ledger import Ledger
from .ledger_restore import Restored, accept_restore
from .ledger_store import LedgerStore
from .results import Results
from .verification import verify

__all__ = [
    "Entry",
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
    "verify",
]  # fmt: skip
