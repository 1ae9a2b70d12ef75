"""What a custodian says of a source's columns before they are described.

A column left out is as if the source did not have it: nothing is guessed from it, and no code list
holds its values. A weight that is named is taken; `NONE` says that there is none, whatever a column
is called.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import DataError, did_you_mean

if TYPE_CHECKING:
    from ..engines.coding import Profile

NONE = "none"
"""Said in the place of a column: there is no weight."""

LEFT_OUT = "was left out by choice."


@dataclass(frozen=True)
class ColumnChoice:
    """Columns to leave out, and which one is the weight.

    >>> ColumnChoice(("note",), weight="none").leave_out
    ('note',)
    """

    leave_out: tuple[str, ...] = ()
    weight: str = ""
    """A column, `NONE`, or nothing: as its name and numbers suggest."""

    def check(self, names: Collection[str]) -> None:
        """Raise where a column that is named is not there."""
        for name in (*self.leave_out, *([self.weight] if self.weight not in ("", NONE) else [])):
            if name not in names:
                raise DataError(f"The source has no column {name!r}.{did_you_mean(name, names)}")
        if self.weight in self.leave_out:
            raise DataError(f"The column {self.weight!r} cannot be left out and be the weight.")

    def applied(self, profile: Profile) -> Profile:
        """The profile of a source without the columns that are left out."""
        if not self.leave_out:
            return profile
        gone = set(self.leave_out)
        return replace(
            profile,
            columns=tuple(column for column in profile.columns if column.name not in gone),
            parents=tuple(pair for pair in profile.parents if not gone & set(pair)),
            parent_maps={
                pair: known for pair, known in profile.parent_maps.items() if not gone & set(pair)
            },
            twins=tuple(pair for pair in profile.twins if not gone & set(pair)),
            nearly=tuple(one for one in profile.nearly if not gone & set(one[:2])),
        )
