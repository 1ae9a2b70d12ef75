"""A language's file: gettext's PO format, as translators' tools read and write it.

Held are the header's fields and, for each English sentence, its translation: one text, or one for
each plural form. What a tool marked `fuzzy` is not a translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError

_WORD = re.compile(r'(msgid_plural|msgid|msgstr(?:\[(\d)\])?)\s+(".*")')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


@dataclass
class Entry:
    """One sentence: English, its English plural where it counts something, and its translation."""

    english: str
    plural: str = ""
    forms: list[str] = field(default_factory=list)
    line: int = 0
    fuzzy: bool = False

    @property
    def done(self) -> bool:
        """Whether there is a translation."""
        return bool(self.forms) and all(self.forms) and not self.fuzzy


@dataclass(frozen=True)
class PoFile:
    """What a file holds: its header's fields and its entries by their English."""

    name: str
    header: dict[str, str]
    entries: dict[str, Entry]


def read(path: Path) -> PoFile:
    """A language's file; what cannot be read is said with its line."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The language file {path.name} cannot be read: {error}.") from None
    entries: dict[str, Entry] = {}
    for entry in _entries(path.name, text):
        if entry.english in entries:
            first = entries[entry.english].line
            raise InputError(
                f"{path.name}, line {entry.line}: this sentence is there twice, first on line {first}."
            )
        entries[entry.english] = entry
    header = entries.pop("", Entry("", forms=[""]))
    fields = {
        name.strip(): value.strip(" ")
        for name, _, value in (line.partition(":") for line in header.forms[0].splitlines())
    }
    return PoFile(path.name, fields, entries)


def _entries(name: str, text: str) -> Iterator[Entry]:
    """The entries in order: each begins with its msgid, the texts that follow are its own."""
    entry, place, fuzzy = Entry(""), "", False
    started = False
    for line, raw in enumerate(text.splitlines(), start=1):
        written = raw.strip()
        if written.startswith("#"):
            fuzzy = fuzzy or (written.startswith("#,") and "fuzzy" in written)
            continue
        if not written:
            continue
        word = _WORD.fullmatch(written)
        if word is None and not (started and re.fullmatch(r'".*"', written)):
            raise InputError(
                f"{name}, line {line}: expected msgid, msgstr or a text in double quotes, got "
                f"{written[:40]!r}."
            )
        if word is not None and word[1] == "msgid":
            if started:
                yield entry
            entry, started, fuzzy = Entry("", line=line, fuzzy=fuzzy), True, False
        if word is not None:
            place = word[1]
        _add(
            entry, place, _unquoted(name, line, word[3] if word else written), new=word is not None
        )
    if started:
        yield entry


def _add(entry: Entry, place: str, text: str, *, new: bool) -> None:
    if place == "msgid":
        entry.english += text
    elif place == "msgid_plural":
        entry.plural += text
    elif new:
        entry.forms.append(text)
    else:
        entry.forms[-1] += text


def _unquoted(name: str, line: int, quoted: str) -> str:
    body = quoted[1:-1]
    if re.search(r'(?<!\\)(?:\\\\)*"', body):
        raise InputError(f'{name}, line {line}: a double quote within a text is written \\".')
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), body)


def quoted(text: str) -> str:
    """A text as the format writes it.

    >>> print(quoted('say "no"'))
    "say \\"no\\""
    """
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{text}"'
