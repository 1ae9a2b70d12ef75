"""A new version of a data set from an upload: what changed, and the load.

The description stays as it is. The file is loaded from its draft; only when the new version is served
does it take the place of the file before, so that a load that stops leaves everything as it was.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..core.control import Control
from ..durable import edit_text, make_folder, plain_errors, sync_folder
from ..errors import StoreError
from ..file_names import DESCRIPTION, SOURCES
from ..languages import counted, say
from . import versions
from .budget_change import changing
from .description_file import DescribedData, read
from .draft_folder import PROFILE, DraftFolder
from .draft_steps import seen
from .initialising import source_keys
from .loading import load
from .source_facts import SourceFacts, keep
from .yaml_edit import with_value

if TYPE_CHECKING:
    from ..engines.coding import Profile

_SHOWN = 5


class Changes(NamedTuple):
    """What a new file changes; for the custodian alone."""

    told: list[str]
    barred: list[str]
    """Why it cannot be loaded as it is."""


def changes(profile: Profile, folder: Path) -> Changes:
    """What is other in a new file than in what is described and served."""
    described = read(folder)
    told: list[str] = [_records(profile, folder)]
    barred: list[str] = []
    names = {column.name for column in profile.columns}
    needed = described.coding.source_columns
    barred += [
        say("The file has no column {column}, which the description names.", column=column)
        for column in needed
        if column not in names
    ]
    fresh = [column.name for column in profile.columns if column.name not in needed]
    if fresh:
        told.append(say("Columns that are not read: {names}.", names=", ".join(fresh[:20])))
    for variable in described.description.variables:
        _codes(profile, described, variable.name, told, barred)
    _units(profile, described, told, barred)
    return Changes(told, barred)


def _records(profile: Profile, folder: Path) -> str:
    try:
        current = versions.current(folder)
    except StoreError:
        current = None
    if current is None:
        return counted("The file has {n} record.", "The file has {n} records.", profile.records)
    before = current[1].records + current[1].dropped
    return say(
        "The file has {now} records; the one before had {before}.",
        now=profile.records,
        before=before,
    )


def _codes(
    profile: Profile, described: DescribedData, name: str, told: list[str], barred: list[str]
) -> None:
    columns = described.coding.columns[name]
    column = next((one for one in profile.columns if one.name == columns.finest), None)
    if column is None or columns.rule is not None or not column.complete:
        return
    variable = next(v for v in described.description.variables if v.name == name)
    known = {*variable.finest.codes, *columns.missing_values}
    strange = [code for code, _ in column.values if code not in known]
    found = {code for code, _ in column.values}
    empty = sum(code not in found and code != columns.missing for code in variable.finest.codes)
    if strange and columns.other is None:
        barred.append(
            say(
                "{name} has codes that the description does not list: {codes}. Mend the file, add them "
                "to discreet.yaml, or name a category for them there as `other`.",
                name=name,
                codes=", ".join(strange[:_SHOWN]) + (" …" if len(strange) > _SHOWN else ""),
            )
        )
    elif strange:
        told.append(
            say(
                "{name}: {n} codes that are not listed go to {other}.",
                name=name,
                n=len(strange),
                other=columns.other,
            )
        )
    if empty:
        told.append(say("{name}: {n} of the categories have no record now.", name=name, n=empty))


def _units(profile: Profile, described: DescribedData, told: list[str], barred: list[str]) -> None:
    coding, description = described.coding, described.description
    facts = SourceFacts.of(profile)
    if coding.id_column is None or coding.id_column not in facts.names:
        return
    most, allowed = facts.column(coding.id_column).most, description.records_per_unit
    if most <= allowed:
        return
    words = say(
        "One {unit} has up to {most} records; {allowed} count.",
        unit=description.unit,
        most=most,
        allowed=allowed,
    )
    (told if coding.bound == "drop" else barred).append(words)


def load_version(draft: DraftFolder, folder: Path, control: Control) -> list[str]:
    """Load a draft's file as the next version of a data set; what the load says."""
    state = draft.state
    path, target = draft.made / SOURCES / state.file, folder / SOURCES / state.file
    told = list(state.told)
    if path.exists():
        profile = seen(draft)
        keys = source_keys(profile.source, profile, draft.folder)
        loaded = load(folder, control, source_keys={**keys, "file": str(path.resolve())})
        told = loaded.sentences(read(folder).description)
        draft.set(told=tuple(told))
        make_folder(target.parent)
        with plain_errors(f"Keeping {state.file}"):
            os.replace(path, target)
            sync_folder(target.parent)
    if (draft.folder / PROFILE).exists():
        profile = seen(draft)
        _name_source(folder, {**source_keys(profile.source, profile, draft.folder), "file": f"{SOURCES}/{state.file}"})  # fmt: skip
        keep(read(folder), SourceFacts.of(profile))
        (draft.folder / PROFILE).unlink()
    return told


def _name_source(folder: Path, keys: Mapping[str, str]) -> None:
    """Name the new file in discreet.yaml; an earlier upload that it replaces is removed."""
    path = folder / DESCRIPTION
    with changing(folder):  # a policy or a budget that is agreed meanwhile is not lost
        described = read(folder)
        before = described.source_keys.get("file", "")
        if dict(described.source_keys) != dict(keys):
            text = path.read_text(encoding="utf-8-sig")
            edit_text(path, with_value(text, ["source"], keys, str(path)))
    if before != keys["file"] and Path(before).parts[:-1] == (SOURCES,):
        with contextlib.suppress(OSError):
            (folder / before).unlink()
