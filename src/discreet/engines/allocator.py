"""How the C library keeps memory that counts free, so that the next one need not ask for it anew."""

from __future__ import annotations

import numpy as np

_KEPT_BYTES = 24 << 20


def keep_freed_memory() -> None:
    """Have memory up to some megabytes used again instead of given back and asked for page by page.

    From what size on glibc turns to the system for each block is the largest it has freed so far:
    it sees a large one come and go, which is never touched. Other allocators do not mind.
    """
    np.empty(_KEPT_BYTES, dtype=np.uint8)
