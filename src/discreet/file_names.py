"""What lies where in a data set's folder, and in the workspace around it.

A file of a data set is written by one room only; several rooms look for it by the name here.
"""

from __future__ import annotations

# in a data set's folder, written by the custodian or for them
DESCRIPTION = "discreet.yaml"
CATEGORIES = "categories"
SOURCES = "source"  # files that were uploaded, where that is how the data came
SOURCE_FACTS = "source-facts.json"  # what the source told at the last look

# the records, whole or absent: `current` names a folder in `versions`
VERSIONS = "versions"
CURRENT = "current"
DATA = "data.duckdb"
REMOTE = (
    "remote.json"  # instead, where records are counted on a server: where, how, and what they were
)
SHARD = "shard-NNN.duckdb"  # further ones, by number, where records lie in several shards
CHANGED = "changed"  # they are no longer what they were: nothing is counted
ARRAYS = "records.arrays"  # the same records for counting in memory; may be missing
MANIFEST = "manifest.json"
SECRETS = "secret"

# what was spent and answered
STORE = "store.sqlite3"
MOVED_STORE = "store.sqlite3.moved"  # its ledger lies in a shared database now
ANCHOR = "ledger.anchor"
LEDGER_LOCK = "ledger.lock"
MEASUREMENTS = "measurements"
FITS = "fits"  # what was fitted to them; in the folder that hosts share where there is one
CACHE = "cache.sqlite3"

# what has been served, and a change of budget under way
SERVED_FAMILY = "served-family"  # once there was a table; for dp also whom it protects
SERVED_LAWS = "served-laws"
SHARED = "shared.json"  # what this host last shared or fetched
FETCHING = "fetching.json"  # what it is fetching: till then what is here may be half of it
REHEARSED = "rehearsed"  # when a custodian tried methods on the true records
REHEARSALS = "rehearsals"  # what comparisons and attacks said, for the internal report
BUDGET_NOTE = "agreed-budget.json"
BUDGET_LOCK = "budget.lock"

# in the workspace, beside its data sets
STORE_PLACE = "store.yaml"  # where hosts share a database
ACCOUNTS = "accounts.sqlite3"
ACCOUNTS_KEY = "accounts.key"
AUDIT = "audit.sqlite3"
DRAFTS = ".drafts"  # data sets in the making: uploads, what was seen of them, what was said
JOBS = "jobs.sqlite3"
JOB_RESULTS = "job-results"
REHEARSAL_REPORTS = "rehearsal-reports"  # made from true data, each for a day
PUBLISHED = "published"
