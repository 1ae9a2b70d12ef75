"""Under which laws a keyed method has served a data set: a line for each in `served-laws`.

A cell answered under two laws was answered twice; guarantees and `discreet check` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.description import Policy
from ..durable import replace_text
from ..file_names import SERVED_LAWS


def keep(folder: Path, policy: Policy) -> None:
    """Note the law of a keyed policy before the first table is made under it."""
    law, noted = _law(policy), _noted(folder)
    if law is not None and law not in noted:
        replace_text(folder / SERVED_LAWS, "".join(f"{line}\n" for line in (*noted, law)))


def others(folder: Path, policy: Policy) -> int:
    """How many other laws tables were made under; 0 for methods that draw their noise."""
    law = _law(policy)
    return 0 if law is None else len(set(_noted(folder)) - {law})


def _law(policy: Policy) -> str | None:
    from ..methods import registry
    from ..methods.base import Keyed

    if policy.method not in registry.names():
        return None
    method = registry.get(policy.method)
    if not isinstance(method, Keyed):
        return None
    return method.law_version(policy.parameters(policy.method))


def _noted(folder: Path) -> Sequence[str]:
    return tuple(dict.fromkeys(noted_lines(folder / SERVED_LAWS) or ()))


def noted_lines(path: Path) -> list[str] | None:
    """The lines of a note, None where there is none; what cannot be read is one nobody knows."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        text = "unreadable"
    return [line.strip() for line in text.split("\n") if line.strip()]
