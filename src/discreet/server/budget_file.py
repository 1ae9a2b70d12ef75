"""Writing an agreed budget into discreet.yaml, so that file and ledger say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError
from ..workspace.description_file import FILE, read
from ..workspace.files import replace_text

_BUDGET = re.compile(r"^budget:[^\n]*\n(?:[ \t]+[^\n]*\n|[ \t]*\n(?=[ \t]))*", re.MULTILINE)


def write(folder: Path, change: Mapping[str, str]) -> None:
    """Put the budget in its place; the file is left as it was where that cannot be done."""
    path = folder / FILE
    before = path.read_text(encoding="utf-8-sig")
    line = ", ".join(f"{name}: {json.dumps(value)}" for name, value in change.items())
    text = before if before.endswith("\n") else before + "\n"
    after, count = _BUDGET.subn(f"budget: {{{line}}}\n", text)
    if count != 1:
        raise InputError(
            f"{FILE} has no top-level budget that can be changed line by line. Set it by hand to "
            f"{{{line}}}; the ledger has the new one."
        )
    replace_text(path, after)
    try:
        read(folder)
    except BaseException:
        replace_text(path, before)
        raise
