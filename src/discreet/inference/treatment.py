"""What was done to a value after its noise was added, and what it is then released as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import cell_law
from ..core.cell_law import CellLaw

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

HIDDEN, LOW = -(1 << 62), -(1 << 62) + 1
"""Symbols of cells without a number, below every number that a table can hold."""
_LETTERS = {HIDDEN: cell_law.HIDDEN, LOW: cell_law.LOW}


@dataclass(frozen=True)
class Treatment:
    """What was done to a value after its noise was added; the words are those of `CellLaw`."""

    least: int | None = None
    """Values below it are shown as 0; None: none are."""
    hidden_below: int | None = None
    display_floor: int | None = None

    @classmethod
    def of(cls, law: CellLaw) -> Treatment:
        """As a table's law says."""
        least = None if law.negatives == "keep" else max(law.threshold or 0, 0)
        return cls(least, law.hidden_below, law.display_floor)

    @property
    def plain(self) -> bool:
        """Whether every value is shown as it is."""
        return self == AS_DRAWN

    @property
    def cut(self) -> int:
        """Values from here on are shown as they are."""
        return max([0, *(c for c in (self.least, self.hidden_below, self.display_floor) if c)])

    def symbols(self, values: Whole) -> Whole:
        """What these values are released as."""
        shown = values
        if self.least is not None:
            shown = np.where(shown < self.least, 0, shown)
        after = shown
        if self.display_floor is not None:
            after = np.where((shown < self.display_floor) & (shown != 0), LOW, after)
        if self.hidden_below is not None:
            after = np.where(shown < self.hidden_below, HIDDEN, after)
        return after

    def behind(self, symbol: int) -> list[tuple[int | None, int]]:
        """The values that are released as this symbol, as ranges; None: without end below."""
        plain = CellLaw(
            negatives="keep" if self.least is None else "threshold",
            threshold=self.least,
            hidden_below=self.hidden_below,
            display_floor=self.display_floor,
        )
        return plain.values_behind(_LETTERS.get(symbol, symbol))


AS_DRAWN = Treatment()
