"""YAML as discreet reads it: every scalar is text, every value knows its line.

`NO` stays a country, `0.1` is one tenth and `007` a code, because what a scalar means is decided
by its key, not by YAML. Aliases, tags, several documents, keys written twice, deep nesting and
huge files are refused, so a hostile file costs no more than its size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from ..errors import DescriptionError, did_you_mean

MOST_BYTES = 8_000_000
MOST_NODES = 400_000
MOST_DEPTH = 12

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One word or text; `empty` where nothing was written (or `~`)."""

    text: str
    line: int
    empty: bool = False


@dataclass(slots=True)
class Items:
    """A list of values."""

    values: list[Value]
    line: int


@dataclass(slots=True)
class Block:
    """A mapping: key → value, with the line of each key and the file all of it is in."""

    line: int
    file: str
    name: str = ""
    values: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def error(self, message: str, key: str | None = None) -> DescriptionError:
        """A sentence about this block, or about one of its keys, with file and line."""
        line = self.line if key is None else self.lines.get(key, self.line)
        return DescriptionError(message, file=self.file, line=line)

    def only(self, allowed: Collection[str]) -> None:
        """Refuse any key not in `allowed`, naming the nearest one that is."""
        for key in self.values:
            if key not in allowed:
                near = did_you_mean(key, allowed)
                inside = f" in {self.name}" if self.name else ""
                known = "" if near else f" Allowed{inside}: {', '.join(sorted(allowed))}."
                raise self.error(f"unknown key {key!r}{inside}.{near}{known}", key)

    def path(self, key: str) -> str:
        """How a key is called in a sentence."""
        return f"{self.name}.{key}" if self.name else key

    def get(self, key: str) -> Value | None:
        """The value of a key; None where it is not written or left empty."""
        value = self.values.get(key)
        return None if isinstance(value, Scalar) and value.empty else value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, Scalar):
            raise self.error(f"{self.path(key)} must be a text, got {_kind(value)}.", key)
        return value.text

    def choice(self, key: str, allowed: Collection[str], default: str) -> str:
        """One of some words."""
        word = self.text(key, default)
        if word not in allowed:
            near = did_you_mean(word, allowed)
            raise self.error(
                f"{self.path(key)} must be {' or '.join(allowed)}, got {word!r}.{near}", key
            )
        return word

    def flag(self, key: str) -> bool:
        """Yes or no; no where it is not written."""
        word = self.text(key, "no").lower()
        if word in ("yes", "true", "on"):
            return True
        if word in ("no", "false", "off"):
            return False
        raise self.error(f"{self.path(key)} must be yes or no, got {word!r}.", key)

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int | None:
        """A whole number."""
        word = self.text(key, "")
        if not word:
            return default
        digits = word.replace("_", "").replace(",", "").strip()
        if not digits.isascii() or not digits.isdigit() or len(digits) > 18 or int(digits) < least:
            raise self.error(
                f"{self.path(key)} must be a whole number ≥ {least}, got {_cut(word)!r}.", key
            )
        return int(digits)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.get(key)
        if value is None:
            return ()
        items = value.values if isinstance(value, Items) else [value]
        texts = tuple(item.text for item in items if isinstance(item, Scalar))
        if len(texts) == len(items):
            return texts
        raise self.error(f"{self.path(key)} must be a list of texts, got {_kind(value)}.", key)

    def block(self, key: str) -> Block | None:
        """A mapping under a key."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, Block):
            raise self.error(
                f"{self.path(key)} must be a mapping (key: value), got {_kind(value)}.", key
            )
        return value

    def blocks(self, key: str) -> Iterator[Block]:
        """A list of mappings under a key."""
        value = self.get(key)
        if value is None:
            return
        if not isinstance(value, Items):
            raise self.error(f"{self.path(key)} must be a list (- …), got {_kind(value)}.", key)
        for number, part in enumerate(value.values, 1):
            if not isinstance(part, Block):
                raise self.error(
                    f"entry {number} of {self.path(key)} must be a mapping, got {_kind(part)}.", key
                )
            yield part

    def plain(self) -> dict[str, Any]:
        """The whole block as plain dicts, lists and texts; empty values are None."""
        return {key: _plain(value) for key, value in self.values.items()}


Value: TypeAlias = Scalar | Items | Block


def _plain(value: Value) -> Any:
    if isinstance(value, Block):
        return value.plain()
    if isinstance(value, Items):
        return [_plain(part) for part in value.values]
    return None if value.empty else value.text


def _kind(value: Value) -> str:
    if isinstance(value, Block):
        return "a mapping"
    if isinstance(value, Items):
        return "a list"
    return f"the text {_cut(value.text)!r}" if not value.empty else "nothing"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"


def read_file(path: Path) -> Block:
    """The mapping a YAML file holds; whatever else it is gets one sentence."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DescriptionError(
                f"the file is larger than {MOST_BYTES:,} bytes. "
                "Put long code lists in categories/<level>.csv.",
                file=str(path),
            )
        data = path.read_bytes()
    except OSError as problem:
        raise DescriptionError(
            f"the file cannot be read ({problem.strerror}).", file=str(path)
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise DescriptionError(
            "the file is not UTF-8. Save it as UTF-8.", file=str(path), line=line
        ) from None
    return read_text(text, str(path))


def read_text(text: str, file: str = "discreet.yaml") -> Block:
    """The mapping a YAML text holds.

    >>> read_text("country: NO\\nepsilon: 0.10").plain()
    {'country': 'NO', 'epsilon': '0.10'}
    """
    if len(text) > MOST_BYTES:
        raise DescriptionError(f"the text is longer than {MOST_BYTES:,} characters.", file=file)
    try:
        root = _build(text, file)
    except yaml.YAMLError as problem:
        raise _syntax(problem, file) from None
    if isinstance(root, Block):
        return root
    raise DescriptionError(
        f"a mapping (key: value) is expected, got {_kind(root) if root else 'an empty file'}.",
        file=file,
        line=1,
    )


def _syntax(problem: yaml.YAMLError, file: str) -> DescriptionError:
    mark = getattr(problem, "problem_mark", None)
    what = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "unreadable"
    hint = (
        " Indent with spaces, not tabs."
        if "\\t" in str(what)
        else " Put texts that hold ': ' or '#' in quotes."
    )
    return DescriptionError(
        f"not valid YAML: {_cut(str(what))}.{hint}", file=file, line=mark.line + 1 if mark else None
    )


def _build(text: str, file: str) -> Value | None:
    """The tree of one document, built from parser events without recursion."""
    root: Value | None = None
    open_parts: list[tuple[Block | Items, Scalar | None]] = []
    documents = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1

        def refuse(message: str, at: int = line) -> DescriptionError:
            return DescriptionError(message, file=file, line=at)

        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise refuse("only one YAML document is allowed in the file.")
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            open_parts.pop()
        elif isinstance(event, yaml.NodeEvent):
            value = _made(event, line, file, refuse)
            nodes += 1
            if nodes > MOST_NODES:
                raise refuse(f"the file holds more than {MOST_NODES:,} values.")
            if open_parts:
                _place(open_parts, value, refuse)
            else:
                root = value
            if not isinstance(value, Scalar):
                if len(open_parts) >= MOST_DEPTH:
                    raise refuse(f"values are nested more than {MOST_DEPTH} deep.")
                open_parts.append((value, None))
    return root


def _made(event: yaml.NodeEvent, line: int, file: str, refuse: Any) -> Value:
    """The value an event begins; aliases, anchors and tags are refused."""
    if isinstance(event, yaml.AliasEvent):
        raise refuse("YAML aliases (*name) are not allowed; write the value out.")
    tag = getattr(event, "tag", None)
    if tag is not None and tag != "!":
        raise refuse(f"YAML tags ({_cut(tag)}) are not allowed.")
    if event.anchor is not None:
        raise refuse(f"YAML anchors (&{_cut(event.anchor)}) are not allowed.")
    if isinstance(event, yaml.ScalarEvent):
        # `NULL` and `no` are codes here; only nothing at all, or ~, is nothing
        return Scalar(event.value, line, not event.style and event.value in ("", "~"))
    return Block(line, file) if isinstance(event, yaml.MappingStartEvent) else Items([], line)


def _place(open_parts: list[tuple[Block | Items, Scalar | None]], made: Value, refuse: Any) -> None:
    part, key = open_parts[-1]
    if isinstance(part, Items):
        part.values.append(made)
        return
    if key is None:
        if not isinstance(made, Scalar):
            raise refuse("a key must be a text.", made.line)
        if made.text in part.values:
            raise refuse(
                f"the key {_cut(made.text)!r} is written twice (first on line "
                f"{part.lines[made.text]}). Keep one.",
                made.line,
            )
        part.lines[made.text] = made.line
        part.values[made.text] = made  # holds the place until its value comes
        open_parts[-1] = (part, made)
        return
    if isinstance(made, Block):
        made.name, made.line = part.path(key.text), key.line
    part.values[key.text] = made
    open_parts[-1] = (part, None)
