"""Notes about a data set that must not be lost: files in its folder, or rows that hosts share.

A shared note is replaced only by who has seen the last one, so that of two hosts that note two
families at once one is refused. A file from before the data set was shared counts until there is a row.
"""

from __future__ import annotations

from pathlib import Path

from ..durable import plain_errors, replace_text, sync_folder
from .hosts import shared


def read_note(folder: Path, name: str) -> str | None:
    """The text of a note, None where there is none; one that cannot be read is one nobody knows."""
    return seen_note(folder, name)[0]


def seen_note(folder: Path, name: str) -> tuple[str | None, str | None]:
    """The same, and the shared row it was read from, which `write_note` replaces and no other."""
    notes, row = shared(folder), None
    if notes is not None:
        row = notes.get(folder.resolve().name, name)
        if row is not None:
            return row or None, row
    try:
        return (folder / name).read_text(encoding="utf-8"), row
    except FileNotFoundError:
        return None, row
    except (OSError, UnicodeDecodeError):
        return "unreadable", row


def lines_of(folder: Path, name: str) -> list[str] | None:
    """The lines of a note, None where there is none."""
    return as_lines(read_note(folder, name))


def as_lines(text: str | None) -> list[str] | None:
    """The lines of a note's text."""
    return None if text is None else [line.strip() for line in text.split("\n") if line.strip()]


def write_note(folder: Path, name: str, text: str, *, before: str | None) -> bool:
    """Write a note, durably, over the row that was seen; False where another host wrote: look again."""
    notes = shared(folder)
    if notes is None:
        replace_text(folder / name, text)
        return True
    return notes.put(folder.resolve().name, name, text, before)


def forget_note(folder: Path, name: str) -> None:
    """Take a note away."""
    notes = shared(folder)
    if notes is not None:
        dataset = folder.resolve().name
        notes.put(dataset, name, "", notes.get(dataset, name))
    with plain_errors(f"Removing {folder / name}"):
        (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
