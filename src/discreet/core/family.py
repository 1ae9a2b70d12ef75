"""Families of methods; apart from `description`, so that naming one loads no arrays."""

from __future__ import annotations

from enum import StrEnum


class Family(StrEnum):
    """One data set serves one family of methods, because kinds of guarantee never convert."""

    CELL_KEY = "cell-key"
    DP = "dp"
    SUPPRESSION = "suppression"
    CLASSIC = "classic"
    """Classic suppression: no guarantee, and never beside the other kind of suppression."""
    SYNTHETIC = "synthetic"
    """Records made from a release: counted as they are, under that release's guarantee."""

    @property
    def shows_found(self) -> bool:
        """Whether anybody may see variables whose categories were found in the data.

        Elsewhere the list itself would tell of people what no budget or prior covers.
        """
        return self in (Family.CELL_KEY, Family.SYNTHETIC)

    @property
    def has_neighbours(self) -> bool:
        """Whether its promises compare neighbouring data sets; suppression compares beliefs.

        >>> Family.DP.has_neighbours, Family.SUPPRESSION.has_neighbours
        (True, False)
        """
        return self not in (Family.SUPPRESSION, Family.CLASSIC)
