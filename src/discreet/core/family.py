"""Families of methods; apart from `description`, so that naming one loads no arrays."""

from __future__ import annotations

from enum import StrEnum


class Family(StrEnum):
    """One data set serves one family of methods, because kinds of guarantee never convert."""

    CELL_KEY = "cell-key"
    DP = "dp"
    SUPPRESSION = "suppression"
    SYNTHETIC = "synthetic"
    """Records made from a release: counted as they are, under that release's guarantee."""
