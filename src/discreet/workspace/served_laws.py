"""Under which laws a keyed method has served a data set: a line for each in `served-laws`.

A cell answered under two laws was answered twice; guarantees and `discreet check` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.description import Policy
from ..file_names import SERVED_LAWS
from .noted import as_lines, seen_note, write_note


def keep(folder: Path, policy: Policy) -> None:
    """Note the law of a keyed policy before the first table is made under it."""
    law = _law(policy)
    while law is not None:
        noted, before = _seen(folder)
        if law in noted:
            return
        text = "".join(f"{line}\n" for line in (*noted, law))
        if write_note(folder, SERVED_LAWS, text, before=before):
            return  # else another host noted one at this moment


def others(folder: Path, policy: Policy) -> int:
    """How many other laws tables were made under; 0 for methods that draw their noise."""
    law = _law(policy)
    return 0 if law is None else len(set(_seen(folder)[0]) - {law})


def _law(policy: Policy) -> str | None:
    from ..methods import registry
    from ..methods.base import Keyed

    if policy.method not in registry.names():
        return None
    method = registry.get(policy.method)
    if not isinstance(method, Keyed):
        return None
    return method.law_version(policy.parameters(policy.method))


def _seen(folder: Path) -> tuple[Sequence[str], str | None]:
    """The laws noted, and the shared row that says so."""
    text, row = seen_note(folder, SERVED_LAWS)
    return tuple(dict.fromkeys(as_lines(text) or ())), row
