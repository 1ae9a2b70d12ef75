"""A custodian's own key column under strong cell keys: are its keys wide and different enough?

A strong cell key is made from the sum of its records' keys and their number. Keys made from ids
have 64 bits, so two cells of other people practically never agree in it. Keys of a column may be
few or close together, as those that published systems fold: then cells of other people with the
same count get the same noise, and who knows some of these counts can undo it in the others.
"""

from __future__ import annotations

from pathlib import Path

NARROW = 1 << 16
"""Keys within this of one another are narrow: pairs of records often have the same sum."""
DENSE = 4
"""More than one in so many of the numbers they span: a numbering, not keys."""
SHARED = 0.9
"""Fewer different keys than this for each unit: units share them."""


def unfit(version: Path, records_per_unit: int) -> str:
    """Why the keys of a loaded version give cells of other people the same noise, or nothing."""
    from ..engines.duckdb.keys import key_spread

    records, distinct, span = key_spread(version) or (0, 0, 0)
    if records < 2:
        return ""
    if distinct * records_per_unit < SHARED * records:
        return f"has {distinct:,} different keys for {records:,} records"
    if span < max(NARROW, DENSE * distinct):
        return f"has keys within {span:,} of one another"
    return ""
