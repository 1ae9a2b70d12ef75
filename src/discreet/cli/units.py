"""Who one unit is: told after `init`, asked where a file does not say and somebody is there."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from . import show

if TYPE_CHECKING:
    from ..workspace import UnitChoice
    from ..workspace.draft import Draft


def interactive() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(draft: Draft) -> UnitChoice | None:
    """Ask who one unit is; None where it shall stay undecided."""
    from ..workspace import UnitChoice

    candidates = draft.units.candidates
    show.grid(
        "Who is one unit of protection? These columns may name it",
        (">", "column", ">values", ">most records of one value"),
        [(n, c.column, f"{c.values:,}", f"{c.most:,}") for n, c in enumerate(candidates, 1)],
    )
    names = {str(n): one for n, one in enumerate(candidates, 1)}
    names |= {one.column: one for one in candidates}
    said = ""
    while said not in names:
        said = typer.prompt("Which one, by number or name (later: decide later)").strip()
        if said == "later":
            return None
    chosen = names[said]
    unit = typer.prompt("What is one unit", default="person" if not chosen.event else None).strip()
    if chosen.most == 1:
        return UnitChoice(unit, chosen.column)
    number = typer.prompt(
        f"How many records of one {unit} count, by a rule you can publish (nothing: the "
        f"{chosen.most:,} found, and every guarantee says that somebody looked)",
        default=0,
        show_default=False,
        type=int,
    )
    if not number:
        return UnitChoice(unit, chosen.column)
    return UnitChoice(unit, chosen.column, number, drop=number < chosen.most)


def told(draft: Draft, folder: Path) -> list[str]:
    """What was taken to be one unit, in sentences for the custodian."""
    from ..core.description import RECORD, UNDECIDED

    if draft.unit == UNDECIDED:
        return [
            *_doubts(draft, folder),
            *(f"  {one.column}: {one.repeats}" for one in draft.units.candidates),
        ]
    if draft.unit == RECORD:
        named = f", named by the column {draft.id}" if draft.id else ""
        return [
            f"Unit: one record{named}; nobody said whom a record is about, so every guarantee speaks "
            f"of one record. If one record is one person: `discreet declare {quote(str(folder))} --unit person` "
            "If a person may have several, say which column names people: "
            f"`discreet declare {quote(str(folder))} --unit person --id COLUMN`",
        ]
    each = draft.records_per_unit
    if draft.id is None:
        return [
            f"Unit: one {draft.unit} is one record; no column names it. If one {draft.unit} may "
            f"have several records, say which column names it: `discreet declare {quote(str(folder))} --id COLUMN`."
        ]
    records = "one record" if each == 1 else f"up to {each:,} records"
    beyond = "more stop the load" if draft.bound == "stop" else "more are left out"
    words = [
        f"Unit: one {draft.unit} is one value of the column {draft.id}, with {records} ({beyond})."
    ]
    if draft.records_from_data:
        words.append(found_in_data(folder))
    others = [one for one in draft.units.candidates if one.most > 1 and one.column != draft.id]
    words += [f"Also repeats: {one.column} ({one.repeats})." for one in others]
    return words


def found_in_data(folder: Path) -> str:
    """What to do where the number of records of a unit is the largest that was found."""
    return (
        "That number was found in the data, and every guarantee says so. Better: a rule, as in "
        f"`discreet declare {quote(str(folder))} --records-per-unit 4 --drop`."
    )


def _doubts(draft: Draft, folder: Path) -> list[str]:
    return [
        "Who one unit is, is undecided, and nothing was loaded.",
        *draft.doubts,
        f"Say it, then load: `discreet declare {quote(str(folder))} --unit WORD --id COLUMN` "
        f"`discreet load {quote(str(folder))}` These columns may name the unit:",
    ]


def facts(draft: Draft) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "unit": draft.unit,
        "id": draft.id,
        "records_per_unit": draft.records_per_unit,
        "records_per_unit_from": "data" if draft.records_from_data else "rule",
        "candidates": [
            {"column": one.column, "values": one.values, "most_records": one.most}
            for one in draft.units.candidates
        ],
    }
