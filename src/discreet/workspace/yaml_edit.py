"""One value of a YAML file changed in its place: comments, order and all other lines stay.

The text is changed line by line and read again. Where anything but the wished value would differ,
the change is refused and somebody has to make it by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DescriptionError, InputError
from .yaml_reader import Block, Scalar, read_text


def with_value(
    text: str,
    path: Sequence[str],
    value: str | Mapping[str, str],
    file: str,
    *,
    after: str = "",
) -> str:
    """The text with `value` under the keys of `path`, of which all but the last are there.

    A last key that is not there comes first in its block, or `after` another one's line.

    >>> print(with_value("a: # one\\n  b: 1 # two\\nc: 3\\n", ["a", "b"], "2", "x.yaml"), end="")
    a: # one
      b: "2" # two
    c: 3
    """
    before = read_text(text, file)
    wished = before.plain()
    at: Any = wished
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value if isinstance(value, str) else dict(value)
    after = "".join(_edited(text, before, path, _flow(value), after))
    try:
        same = read_text(after, file).plain() == wished
    except DescriptionError:
        same = False
    if not same:
        raise InputError(
            f"{file} is written in a way that cannot be changed line by line. Set "
            f"`{'.'.join(path)}: {_flow(value)}` by hand."
        )
    return after


def _flow(value: str | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value if value.isalpha() else json.dumps(value, ensure_ascii=False)
    return f"{{{', '.join(f'{key}: {json.dumps(part)}' for key, part in value.items())}}}"


def _edited(text: str, top: Block, path: Sequence[str], value: str, after: str) -> list[str]:
    lines = (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)
    *above, key = path
    parent = top
    for name in above:
        parent = parent.block(name) or parent
    if key in parent.values:
        old = parent.values[key]
        if isinstance(old, Scalar) and not old.empty:
            _swap(lines, old, key, value)
        else:
            _swap_block(lines, parent.lines[key], key, value)
        return lines
    first = min(parent.lines.values(), default=parent.line)
    if above and first == parent.line:  # written on one line: {column: …}
        opening = re.compile(rf"({re.escape(above[-1])}[\"']?\s*:\s*\{{)")
        lines[first - 1] = opening.sub(rf"\g<1>{key}: {value}, ", lines[first - 1], count=1)
        return lines
    head = lines[first - 1]
    indent = head[: len(head) - len(head.lstrip())]
    place = parent.lines[after] if after in parent.lines else first - 1
    lines.insert(place, f"{indent}{key}: {value}\n")
    return lines


def _swap(lines: list[str], old: Scalar, key: str, value: str) -> None:
    """Another word in the place of one word."""
    written = re.compile(rf"(\b{re.escape(key)}[\"']?\s*:\s*)([\"']?){re.escape(old.text)}\2")
    lines[old.line - 1] = written.sub(lambda m: m.group(1) + value, lines[old.line - 1], count=1)


def _swap_block(lines: list[str], line: int, key: str, value: str) -> None:
    """One line in the place of a key's line and of those that are indented more."""
    head = lines[line - 1]
    indent = len(head) - len(head.lstrip())
    end = line
    for number, later in enumerate(lines[line:], line + 1):
        if later.strip():
            if len(later) - len(later.lstrip()) <= indent:
                break
            end = number
    lines[line - 1 : end] = [f"{head[:indent]}{key}: {value}\n"]
