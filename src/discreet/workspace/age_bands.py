"""Bands of ages: levels without a column above single years, which a custodian may remove."""

from __future__ import annotations

import re
from collections.abc import Collection

from .draft import CategoryDraft, LevelDraft, VariableDraft
from .unit_columns import FEW
from .vocabulary import is_age


def add_bands(variable: VariableDraft, taken: Collection[str]) -> None:
    """Give ages in single years bands of five and ten years, unless `taken` has their names."""
    level = variable.levels[0]
    whole = [
        c
        for c in level.categories
        if re.fullmatch(r"\d{1,3}", c.code) and c.code not in variable.missing
    ]
    rest = [c.code for c in level.categories if c not in whole]
    if (
        not is_age(level.column or "")
        or len(whole) <= FEW
        or set(rest) - set(variable.missing)
        or {f"{variable.name}_5", f"{variable.name}_10"} & set(taken)
    ):
        return
    below = level
    for width in (5, 10):
        bands: dict[str, CategoryDraft] = {}
        for category in below.categories:
            if not category.code[0].isdigit() or category.code in variable.missing:
                category.parent = category.code
                bands[category.code] = CategoryDraft(category.code, str(category.label))
                continue
            start = int(re.match(r"\d+", category.code)[0]) // width * width  # type: ignore[index]
            code = f"{start}-{start + width - 1}"
            bands.setdefault(code, CategoryDraft(code, f"{start} to {start + width - 1}"))
            category.parent = code
        below = LevelDraft(
            f"{variable.name}_{width}",
            None,
            list(bands.values()),
            f"{variable.label} in bands of {width}",
        )
        variable.levels.append(below)
    level.label = variable.label
    variable.comments.append(
        "The bands assume that the codes are ages in whole years; remove these levels if not."
    )
