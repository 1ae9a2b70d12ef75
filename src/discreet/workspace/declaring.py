"""Declaring variables: the custodian vouches that categories and hierarchy are public knowledge.

The file is changed in place, line by line, so that comments and order stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..durable import replace_text
from ..errors import InputError, did_you_mean
from ..file_names import DESCRIPTION
from .description_file import read
from .yaml_reader import Block, read_file

_STATUS = re.compile(r"""(\bstatus["']?\s*:\s*)["']?found["']?""")


def declare(folder: str | Path, variables: Iterable[str] | None = None) -> list[str]:
    """Set `status: declared` for these variables, or for all; the names that changed."""
    folder = Path(folder)
    described = read(folder)
    known = [variable.name for variable in described.description.variables]
    wanted = list(known if variables is None else variables)
    for name in wanted:
        if name not in known:
            raise InputError(
                f"{folder / DESCRIPTION} has no variable {name!r}.{did_you_mean(name, known)} "
                f"It has {', '.join(known)}."
            )
    change = [name for name in described.description.undeclared if name in wanted]
    if not change:
        return []
    path = folder / DESCRIPTION
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    block = read_file(path).block("variables")
    assert block is not None
    # from the end, so that inserted lines leave the numbers above them alone
    for name in sorted(change, key=lambda one: -block.lines[one]):
        part = block.block(name)
        assert part is not None
        _declare(lines, block, part, name)
    before = path.read_text(encoding="utf-8-sig")
    replace_text(path, "".join(lines))
    left = [name for name in read(folder).description.undeclared if name in change]
    if left:
        replace_text(path, before)
        raise InputError(
            f"{path} is written in a way that cannot be changed line by line ({left[0]}). "
            "Set `status: declared` by hand."
        )
    return change


def _declare(lines: list[str], block: Block, part: Block, name: str) -> None:
    at = part.lines.get("status")
    if at is not None:
        lines[at - 1] = _STATUS.sub(r"\1declared", lines[at - 1], count=1)
        return
    first = min(part.lines.values())
    if first == block.lines[name]:  # written on one line: {column: …}
        lines[first - 1] = lines[first - 1].replace("{", "{status: declared, ", 1)
        return
    head = lines[first - 1]
    indent = head[: len(head) - len(head.lstrip())]
    lines.insert(first - 1, f"{indent}status: declared\n")
