"""A profile as text, so that what was seen of a source once need not be looked for again.

It holds values and true counts: it lies in a draft's own folder, which nobody else may enter, and
goes with it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from ..engines.coding import ColumnProfile, Dialect, Profile, Source
from ..errors import StoreError

FORM = "discreet profile 1"


def to_text(profile: Profile) -> str:
    """A profile as JSON; where its source lies is not in it."""
    source = profile.source
    body = {
        "form": FORM,
        "source": {"kind": source.kind, "table": source.table, "options": dict(source.options)},
        "records": profile.records,
        "columns": [asdict(column) for column in profile.columns],
        "dialect": None if profile.dialect is None else asdict(profile.dialect),
        "parents": profile.parents,
        "parent_maps": [[*pair, dict(known)] for pair, known in profile.parent_maps.items()],
        "twins": profile.twins,
        "nearly": profile.nearly,
    }
    return json.dumps(body, ensure_ascii=False)


def from_text(text: str, source: Source) -> Profile:
    """Read back, for the source it was made of."""
    try:
        body: dict[str, Any] = json.loads(text)
        if body["form"] != FORM:
            raise ValueError
        said = body["source"]
        return Profile(
            source=replace(source, kind=said["kind"], table=said["table"], options=said["options"]),
            records=body["records"],
            columns=tuple(_column(one) for one in body["columns"]),
            dialect=None if body["dialect"] is None else Dialect(**body["dialect"]),
            parents=tuple((child, parent) for child, parent in body["parents"]),
            parent_maps={(child, parent): known for child, parent, known in body["parent_maps"]},
            twins=tuple((one, other) for one, other in body["twins"]),
            nearly=tuple((child, up, n, code) for child, up, n, code in body["nearly"]),
        )
    except (ValueError, KeyError, TypeError):
        raise StoreError("What was seen of the file is damaged. Cancel and begin again.") from None


def _column(body: dict[str, Any]) -> ColumnProfile:
    years = body["years"]
    return ColumnProfile(
        **{
            **body,
            "values": tuple((code, n) for code, n in body["values"]),
            "years": None if years is None else (years[0], years[1]),
        }
    )
