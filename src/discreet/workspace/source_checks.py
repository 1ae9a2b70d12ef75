"""What the source says of variables that wait to be declared and of the unit; for the custodian."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING

from ..core.control import Control
from ..core.description import UNDECIDED
from ..core.family import Family
from ..errors import DiscreetError
from ..file_names import DESCRIPTION
from . import source_facts
from .description_file import DescribedData
from .finding import Finding
from .source_facts import RARE, ColumnFacts, SourceFacts
from .unit_checks import columns_to_look_at, unit_findings

if TYPE_CHECKING:
    from .dataset import DataSet


def source_findings(described: DescribedData, control: Control) -> Iterator[Finding]:
    """What the source says of found variables and of the unit; it is read where it is new."""
    description = described.description
    whole = description.unit == UNDECIDED or bool(description.undeclared)
    if described.policy.family is Family.SYNTHETIC:
        return
    try:
        facts = _facts(described, control, whole=whole)
    except DiscreetError as problem:
        if whole:
            yield Finding(
                "note",
                "the source cannot be read now, so neither rare categories nor ids that repeat could "
                "be looked for: " + problem.message,
                DESCRIPTION,
            )
        return
    yield from unit_findings(described, facts)
    yield from _declaring(described, facts)


def source_changed(data: DataSet) -> bool:
    """Whether the source's file is newer than what was loaded; False where it cannot be seen."""
    try:
        written = data.described.source().path.stat().st_mtime
        loaded = datetime.fromisoformat(data.manifest.loaded).timestamp()
    except (DiscreetError, OSError, ValueError):
        return False
    return written > loaded + 1


def _facts(described: DescribedData, control: Control, *, whole: bool) -> SourceFacts:
    """What is known of the source, or what a look at it tells now."""
    facts, named = source_facts.kept(described), described.coding.id_column
    if facts is None or not (facts.whole or (not whole and named in [None, *facts.names])):
        only = None if whole else lambda names: columns_to_look_at(described, names)
        facts = source_facts.look(described.source(), control, only)
        source_facts.keep(described, facts)
    return facts if whole else facts.only(columns_to_look_at(described, facts.names))


def _declaring(described: DescribedData, facts: SourceFacts) -> Iterator[Finding]:
    """What makes declaring the found variables unsafe, from the source they were found in."""
    waiting = [v for v in described.description.variables if not v.declared]
    columns = {column.name: column for column in facts.columns}
    fine, ruled = [], []
    for variable in waiting:
        rule = described.coding.columns[variable.name].rule
        if rule is not None:
            ruled.append(variable.name)
            continue
        column = columns.get(described.coding.columns[variable.name].finest)
        if column is None:
            continue
        found = unsafe(column)
        if found:
            yield Finding("warning", found, variable.name, advice(len(variable.levels)))
        else:
            fine.append(variable.name)
    if fine:
        lists = "its list is" if len(fine) == 1 else "their lists are"
        yield Finding(
            "note",
            f"found, not declared; no category has fewer than {RARE} records.",
            ", ".join(fine),
            f"If {lists} public knowledge: `discreet declare {quote(str(described.folder))} {' '.join(fine)}`.",
        )

    if ruled:
        yield Finding(
            "note",
            "found, not declared; the categories follow from a rule, and are about people only as far "
            "as its ends and lists were chosen by looking at the data.",
            ", ".join(ruled),
            "Write ends and lists that are public, then: "
            f"`discreet declare {quote(str(described.folder))} {' '.join(ruled)}`.",
        )


def unsafe(column: ColumnFacts) -> str:
    """Why declaring a variable with this column's codes tells something about people, or nothing."""
    if column.nearly_an_id:
        return (
            f"{column.distinct:,} values for {column.records:,} records: nearly an identifier; "
            "a list of its values tells who is in the data."
        )
    if not column.rare:
        return ""
    codes, others = ", ".join(column.rare_codes), column.rare - len(column.rare_codes)
    more = f" and {others} more" if codes and others else ""
    return (
        f"{column.rare} of {column.distinct} categories have fewer than {RARE} records "
        f"({codes}{more}): that they occur at all may be about single people."
    )


def advice(levels: int) -> str:
    """What to do about it."""
    coarser = "a coarser level" if levels > 1 else "broader categories"
    return (
        f"Declare it only if the list is public apart from these data; else merge into {coarser}, "
        "or put the full published list in its place."
    )
