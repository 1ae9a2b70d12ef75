"""A policy that was agreed, written into discreet.yaml: one file, replaced in one step.

Only what the policy part says of rules, methods, reliability and approval is changed here; a budget is
also an entry of the ledger and has a module of its own (`budget_change.py`). Done twice it is done
once, so what a process left undone another completes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..durable import edit_text
from ..errors import DiscreetError, InputError
from ..file_names import DESCRIPTION
from . import hosts
from .budget_change import changing
from .description_file import read
from .policy_draft import as_text
from .yaml_edit import with_value
from .yaml_reader import read_file

KEYS = ("rules", "reliable", "method", "methods", "approval")
"""What of a policy can be agreed; the family is kept, and a budget is proposed as one."""


def written(folder: Path) -> dict[str, Any]:
    """What discreet.yaml says under these keys, as it says it: files by their names."""
    plain = read_file(folder / DESCRIPTION).plain()
    return {key: plain[key] for key in KEYS if plain.get(key) is not None}


def change_policy(folder: Path, change: Mapping[str, Any]) -> None:
    """Write a policy into its place, line by line; where the file cannot be read then, it stays."""
    path = folder / DESCRIPTION
    with changing(folder):
        hosts.check_newest(folder)
        before = text = path.read_text(encoding="utf-8-sig")
        for key, value in change.items():
            if key not in KEYS:
                raise InputError(f"A policy's {key[:40]} cannot be agreed; {', '.join(KEYS)} can.")
            text = with_value(text, [key], as_text(value), str(path), after="family")
        if text == before:
            hosts.share_again(folder)
            return
        edit_text(path, text)
        try:
            read(folder)
            hosts.share_again(folder)
        except DiscreetError:  # where hosts cannot learn of it, this one does not serve it either
            edit_text(path, before)
            raise
