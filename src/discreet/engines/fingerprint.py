"""A digest of coded records, the same in whatever order and by whatever engine they are held.

For every record the first 64 bits of SHA-256 of its codes as text, `v0,v0_1,v1,…,w,k_lo,k_hi`, are
added up as two 32-bit halves, and so are the halves of its key. Keys that were drawn are no part
of it: they are other ones in every load.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Fingerprint:
    """Number of records, sums of their keys, sums of their hashes; for the custodian only."""

    records: int = field(repr=False)
    key_low: int = field(repr=False)
    key_high: int = field(repr=False)
    hash_low: int = field(default=0, repr=False)
    hash_high: int = field(default=0, repr=False)

    def digest(self) -> str:
        """One text for all of it."""
        numbers = ",".join(str(number) for number in asdict(self).values())
        return hashlib.sha256(f"discreet fingerprint 1:{numbers}".encode()).hexdigest()

    def same_records(self, other: Fingerprint) -> bool:
        """Whether number and key sums agree, which every count looks at."""
        mine, theirs = ((one.records, one.key_low, one.key_high) for one in (self, other))
        return mine == theirs
