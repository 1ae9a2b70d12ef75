"""The long steps of a draft: a look at its file, and the load that makes it a data set.

Both may be killed at any moment and begun again. A new data set is loaded inside its draft and takes
its place in the workspace in one step, so that a workspace never holds half of one.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.control import Control
from ..durable import plain_errors, replace_text, sync_folder
from ..engines.coding import Source
from ..errors import InputError
from ..file_names import CATEGORIES, JOB_RESULTS, PUBLISHED, REHEARSAL_REPORTS, SOURCES
from . import profile_file
from .description_file import read
from .draft_answers import Answers, described
from .draft_folder import PROFILE, DraftFolder
from .initialising import begin, is_data_set_name, look
from .source_facts import SourceFacts, keep

if TYPE_CHECKING:
    from ..engines.coding import Profile


RESERVED = (
    *(JOB_RESULTS, REHEARSAL_REPORTS, PUBLISHED),
    *("new", "people", "proposals", "releases", "log"),
)
"""Folders of a workspace and pages of its server: no data set is called so."""


def source_of(draft: DraftFolder) -> Source:
    """The file or the database table that a draft is made of."""
    state = draft.state
    if state.source:
        return Source.guess(state.source)
    return Source.guess(draft.made / SOURCES / state.file)


def looked_at(draft: DraftFolder, control: Control) -> None:
    """Look at the file and keep what was seen."""
    state = draft.state
    data = state.source or draft.made / SOURCES / state.file
    seen = look(data, control)
    if draft.exists():  # else it was cancelled meanwhile
        replace_text(draft.folder / PROFILE, profile_file.to_text(seen))


def seen(draft: DraftFolder) -> Profile:
    """What was seen of the file."""
    try:
        text = (draft.folder / PROFILE).read_text("utf-8")
    except FileNotFoundError:
        raise InputError("The file of this draft was not looked at yet. Wait for it.") from None
    return profile_file.from_text(text, source_of(draft))


def free_name(name: str, workspace: Path) -> None:
    """Raise where a new data set cannot have this name."""
    if not is_data_set_name(name):
        raise InputError(
            "A data set's name begins with a letter and has up to 50 letters a–z, digits, - and _, "
            f"got {name[:60]!r}."
        )
    if name.lower() in RESERVED:
        raise InputError(f"{name} is a name that the server itself uses. Choose another name.")
    if (workspace / name).exists():
        raise InputError(f"There is a {name} in this workspace already. Choose another name.")


def finished(
    draft: DraftFolder, workspace: Path, budget: Mapping[str, str] | None, control: Control
) -> tuple[str, list[str]]:
    """Load a new data set and put it into the workspace: its name, and what the load says."""
    state, told = draft.state, []
    answers = Answers.of(state.answers)
    target = workspace / answers.name
    if not (state.made == answers.name and target.exists() and not draft.made.exists()):
        free_name(answers.name, workspace)
        proposal = described(seen(draft), draft.made, answers, budget)
        shutil.rmtree(draft.made / CATEGORIES, ignore_errors=True)  # of earlier answers
        started = begin(proposal, draft.made, control)
        if started.loaded is None:
            raise InputError("Who one unit is, is undecided. Say it first.")
        told = started.loaded.sentences(read(draft.made).description)
        draft.set(made=answers.name, told=tuple(told))
        _place(draft.made, target)
    told = told or list(draft.state.told)
    if (draft.folder / PROFILE).exists():
        keep(read(target), SourceFacts.of(seen(draft)))  # the source lies elsewhere now
    (draft.folder / PROFILE).unlink(missing_ok=True)
    return answers.name, told


def _place(made: Path, target: Path) -> None:
    with plain_errors(f"Making the data set {target.name}"):
        try:
            os.rename(made, target)
        except OSError as problem:
            if problem.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise InputError(
                    f"There is a {target.name} in this workspace already. Choose another name."
                ) from None
            raise
        sync_folder(target.parent)
