"""Declaring variables: the custodian vouches that categories and hierarchy are public knowledge.

The file is changed in place, line by line, so that comments and order stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..durable import edit_text
from ..errors import InputError, did_you_mean
from ..file_names import DESCRIPTION
from .description_file import read
from .yaml_edit import with_value


def declare(folder: str | Path, variables: Iterable[str] | None = None) -> list[str]:
    """Set `status: declared` for these variables, or for all; the names that changed.

    folder      the folder of the data set
    variables   their names; None for all

        dc.declare("work/people", ["sex"])
    """
    folder = Path(folder)
    described = read(folder)
    known = [variable.name for variable in described.description.variables]
    names = list(known if variables is None else variables)
    for name in names:
        if name not in known:
            raise InputError(
                f"{folder / DESCRIPTION} has no variable {name!r}.{did_you_mean(name, known)} "
                f"It has {', '.join(known)}."
            )
    change = [name for name in described.description.undeclared if name in names]
    if not change:
        return []
    path = folder / DESCRIPTION
    text = path.read_text(encoding="utf-8-sig")
    for name in change:
        text = with_value(text, ["variables", name, "status"], "declared", str(path))
    edit_text(path, text)
    return change
