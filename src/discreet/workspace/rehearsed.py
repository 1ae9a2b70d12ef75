"""That a custodian tried methods on the true records: noted before the first look, said for ever.

Parameters chosen by looking are covered by no guarantee. A line in the data set's folder says when
and how; where there is a ledger an entry of it says the same and cannot be taken out. From then on
every table and every release report says it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..durable import OWN, make_folder, replace_text
from ..file_names import REHEARSALS, REHEARSED
from ..languages import known, language_of, say, says
from ..methods.declaration import Spends
from .noted import read_note, seen_note, write_note

if TYPE_CHECKING:
    from ..engines.base import Engine
    from .dataset import DataSet


@contextmanager
def engine(data: DataSet, about: str, who: str) -> Iterator[Engine]:
    """An engine to look with, once that is noted; the data set is not bound to a family by it."""
    from ..engines.opening import open_engine

    note(data, about, who)
    described, salt = data.described.description, data.secrets.record_salt()
    opened = open_engine(data.version, described, threads=data.threads, salt=salt)
    try:
        yield opened
    finally:
        opened.close()


def note(data: DataSet, about: str, who: str) -> None:
    """Note that somebody is about to look, in the ledger where there is one and in the folder."""
    if data.spends is not Spends.NOTHING:
        data.ledger().note_rehearsal(
            who=who or "custodian", about=about, policy_version=data.policy.version
        )
    moment = datetime.now(UTC).strftime("%Y-%m-%d")
    line = f"{moment} {about}"
    while True:
        text, before = seen_note(data.folder, REHEARSED)
        lines = (text or "").splitlines()
        if line in lines:
            return
        write_note(data.folder, REHEARSED, "\n".join([*lines, line]) + "\n", before=before)


def keep(data: DataSet, verb: str, sentences: Sequence[str]) -> None:
    """Keep what a comparison or the attacks said, for the internal edition of release reports only.

    Sentences in every language, no true count in any; a file that only its owner can read.
    """
    folder = data.folder / REHEARSALS
    make_folder(folder)
    moment = datetime.now(UTC).strftime("%Y-%m-%d")
    told = {language: [says(words, language) for words in sentences] for language in known()}
    said = {"when": moment, "policy": data.policy.version, "sentences": told}
    text = json.dumps(said, ensure_ascii=False, indent=2) + "\n"
    replace_text(folder / f"{verb}.json", text, mode=OWN)


def kept(data: DataSet, verb: str, language: str = "") -> tuple[str, ...]:
    """What was said last, with its date; nothing where it was never run or cannot be read."""
    try:
        said = json.loads((data.folder / REHEARSALS / f"{verb}.json").read_text("utf-8"))
        told = said["sentences"]
        if isinstance(told, dict):  # a list where an earlier version kept it, in English alone
            told = told.get(language_of(language)) or told["en"]
        sentences = tuple(str(words) for words in told)
        when, own = str(said["when"]), said["policy"] == data.policy.version
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()
    run = (
        say("Run on {day}.", day=when)
        if own
        else say("Run on {day}, under another policy.", day=when)
    )
    return (run, *sentences)


def noted(folder: Path) -> list[str]:
    """The lines of the folder's note; none where nobody looked."""
    return (read_note(folder, REHEARSED) or "").splitlines()


def ever(data: DataSet) -> bool:
    """Whether anybody ever looked, by the folder's note or by the ledger."""
    if noted(data.folder):
        return True
    return data.spends is not Spends.NOTHING and bool(data.ledger().rehearsals())


def sentence(folder: Path) -> tuple[str, ...]:
    """What stands under every table from then on; nothing before."""
    lines = noted(folder)
    if not lines:
        return ()
    return (
        say(
            "Before this release methods were tried on the true records (last on {day}): if parameters "
            "were chosen by that, no guarantee covers the choice.",
            day=lines[-1][:10],
        ),
    )
