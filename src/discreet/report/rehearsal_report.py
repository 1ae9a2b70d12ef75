"""A custodian's own report of a rehearsal: one HTML page, for the owner's eyes, never published.

It is written readable by its owner alone, marked on every page, and refused wherever it would lie
among files that are published.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..durable import OWN, replace_text
from ..errors import InputError
from ..file_names import DESCRIPTION, PUBLISHED
from ..formats.html import template
from ..languages import say, speaker
from ..version import __version__
from .publication import MANIFEST
from .sections import TAGS, Section, in_language

TRUE_DATA = say("CUSTODIAN ONLY: this page was made from true data. Not for publication.")
TWIN = say("CUSTODIAN ONLY: this page tells how protection fails and holds. Not for publication.")


def rehearsal_page(
    title: str,
    kind: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    *,
    banner: str = TRUE_DATA,
    footer: str = say("That somebody looked is noted, and said in every later release."),
    language: str = "",
) -> str:
    """The page, in a language."""
    return template("discreet.report", "rehearsal.html").render(
        say=speaker(language),
        tags=TAGS,
        title=title,
        kind=kind,
        lead=list(lead),
        sections=in_language(sections, language),
        banner=banner,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        software=f"discreet {__version__}",
        footer=footer,
    )


def write_own(page: str, path: Path) -> Path:
    """Write a page for its owner alone; refused among files that are published."""
    target = path / "report.html" if path.is_dir() else path
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"A custodian's report is an HTML page; name a file like {target}.html.")
    folder = target.resolve().parent
    released = any((place / MANIFEST).is_file() for place in (folder, *folder.parents[:2]))
    if PUBLISHED in folder.parts or (released and not (folder / DESCRIPTION).exists()):
        raise _published(target)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; make it first, or write somewhere else.")
    replace_text(target, page, mode=OWN)
    return target


def _published(target: Path) -> InputError:
    return InputError(
        f"{target} lies among published files, and this report is the custodian's alone. Write it "
        "somewhere else."
    )
