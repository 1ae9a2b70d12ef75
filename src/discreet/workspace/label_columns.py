"""Which columns of a file are the labels of another's codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .vocabulary import LABEL_ENDS

if TYPE_CHECKING:
    from ..engines.coding import Profile

Words = dict[str, str]


def label_columns(profile: Profile) -> dict[tuple[str, str], Words]:
    """(code column, label column) → the label of each code.

    By name (ccg and ccg_name), where each code has one label; and any two columns that say the
    same in other words, the shorter one being the code.
    """
    names = {column.name.casefold(): column.name for column in profile.columns}
    pairs = [(_code_of(folded, names), label) for folded, label in names.items()]
    length = {c.name: sum(len(value) for value, _ in c.values) for c in profile.columns}
    for twins in profile.twins:
        shorter, longer = sorted(twins, key=length.__getitem__)
        if profile.column(longer).type == "text":
            pairs.append((shorter, longer))
    labels: dict[tuple[str, str], Words] = {}
    taken: set[str] = set()
    for code, label in pairs:
        if code is None or code in taken or label in taken:
            continue
        words = _words(profile, code, label)
        if words is not None:
            labels[code, label] = words
            taken.update((code, label))
    return labels


def _code_of(label: str, names: Mapping[str, str]) -> str | None:
    for end in LABEL_ENDS:
        if label.endswith(end) and label != end:
            stem = label.removesuffix(end)
            for name in (stem, f"{stem}_code", f"{stem}code", f"{stem}_id"):
                if name in names:
                    return names[name]
    return None


def _words(profile: Profile, code: str, label: str) -> Words | None:
    if (code, label) in profile.parent_maps:
        return dict(profile.parent_maps[code, label])
    if (label, code) in profile.twins:
        return {c: words for words, c in profile.parent_maps[label, code].items()}
    return None
