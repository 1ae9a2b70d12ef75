"""`discreet table` and `discreet release`: one table, or many under one guarantee."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..errors import InputError
from ..languages import counted, say, together
from . import show
from .previews import show_preview
from .setting_options import with_settings

if TYPE_CHECKING:
    from ..api import Table
    from ..release import Release

DataSetPath = Annotated[
    str, Argument(metavar="DIR[/DATASET]", help="A data set, or a workspace holding one.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object instead.")]
Language = Annotated[
    str,
    Option("--language", help="Language of words and labels, such as de. Default: the data set's."),
]
User = Annotated[
    str | None,
    Option(help="Who asks, for ledger and shares. Default: who is logged in."),
]
Project = Annotated[str, Option(help="For which project.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show cost and expected error; read no data.")]
Free = Annotated[bool, Option("--free", help="Answer from earlier releases only, at no cost.")]


@with_settings
def table(
    path: DataSetPath,
    rows: Annotated[
        list[str] | None, Option(help="Variables or levels down the side, separated by commas.")
    ] = None,
    columns: Annotated[list[str] | None, Option(help="Variables or levels across the top.")] = None,
    layers: Annotated[list[str] | None, Option(help="Variables that make one block each.")] = None,
    where: Annotated[
        list[str] | None, Option(help="Only these categories: sex=F,M (repeatable).")
    ] = None,
    totals: Annotated[str, Option(help="all or none.")] = "all",
    weighted: Annotated[bool, Option(help="Weighted counts, as whole numbers.")] = False,
    percent: Annotated[
        str | None,
        Option(help="Also percentages, of rows, columns, layers or all."),
    ] = None,
    sort: Annotated[
        str | None, Option(help="Order of rows by a column: age:85+,down, or total,up.")
    ] = None,
    decimals: Annotated[int | None, Option(help="Decimals of percentages: 0, 1 or 2.")] = None,
    empty: Annotated[
        str | None, Option(help="hide: leave out rows and columns that hold nothing but 0.")
    ] = None,
    method: Annotated[str | None, Option(help="Default: what the policy says.")] = None,
    format: Annotated[
        str | None,
        Option("--format", "-f", help="csv, parquet, json-stat, xlsx, px, sdmx-csv, html, svg."),
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to a file.")] = None,
    language: Language = "",
    user: User = None,
    project: Project = "",
    dry_run: DryRun = False,
    free: Free = False,
    notes: Annotated[bool, Option("--notes", help="Show every note under the table.")] = False,
    json: Json = False,
    settings: dict[str, str] | None = None,
) -> None:
    """Make one protected table.

    Names, labels, codes and unambiguous prefixes are all understood. Examples:

    [bold]discreet table demo/deaths --rows region --columns sex[/bold]

    [bold]discreet table demo/deaths --rows ccg --columns cause --where region=London -o london.xlsx[/bold]

    [bold]discreet table demo/deaths-dp --rows region --columns cause --epsilon 0.5 --dry-run[/bold]
    """
    from .. import api

    _check_target(output, format)
    with api.open(path) as data:
        draft = data.table(
            rows=",".join(rows or ()),
            columns=",".join(columns or ()),
            layers=",".join(layers or ()),
            where=_where(where or []),
            totals=totals,
            weighted=weighted,
            percent=percent,
            sort=sort,
            decimals=decimals,
            empty=empty,
            method=method,
            language=language,
            user=_asker(user),
            project=project,
            **(settings or {}),
        )
        if dry_run:
            show_preview(draft.preview(), draft.language, json)
            return
        with show.progress(quiet=json) as control:
            released = draft.release(free=free, control=control)
        _deliver(released.detail, output, format, json, notes=notes)


def release(
    path: DataSetPath,
    recipes: Annotated[Path, Argument(metavar="RECIPES.yaml", help="The tables wanted.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="A folder for tables and report.")
    ] = None,
    format: Annotated[
        str, Option("--format", "-f", help="Formats of the tables, separated by commas.")
    ] = "csv,xlsx",
    microdata: Annotated[
        str,
        Option(help="Synthetic records and measurements (marginals, topdown): parquet, csv, none."),
    ] = "parquet",
    language: Language = "",
    user: User = None,
    project: Project = "",
    dry_run: DryRun = False,
    free: Free = False,
    json: Json = False,
) -> None:
    """Make many tables at once: one guarantee, one charge, one report.

    [bold]discreet release demo/deaths-dp recipes.yaml -o out/[/bold] writes the tables, a manifest
    and a report in two editions: report.html may be published, report-internal.html may not.

    [bold]… --microdata csv,parquet[/bold] writes the synthetic records of consistent margins, and
    the noisy measurements behind them, as both.
    """
    from .. import api
    from ..report.publication import microdata_kinds

    with api.open(path) as data:
        draft = data.recipe(recipes, user=_asker(user), project=project, language=language)
        if dry_run:
            show_preview(draft.preview(), draft.language, json)
            return
        if output is None:
            raise InputError("Say where the release goes: -o FOLDER, or --dry-run to look first.")
        _check_folder(output, format)
        kinds = microdata_kinds(microdata.split(","))
        with show.progress(quiet=json) as control:
            released = draft.release(free=free, control=control)
            folder = released.write(
                output, formats=format.split(","), microdata=kinds, control=control
            )
        _tell_release(released, folder, json)


def _tell_release(released: Table, folder: Path, json: bool) -> None:
    facts = _release_facts(released.detail)
    if json:
        show.as_json(facts, folder=str(folder), files=released.files)
        return
    beside = [f for f in released.files if f.startswith(("microdata.", "measurements."))]
    told = released.tables[0].tells
    many = counted(
        "{n} table in {folder}",
        "{n} tables in {folder}",
        len(released.tables),
        folder=str(folder),
    )
    show.prose(told(many), style="bold")
    cost = say("nothing: released before") if released.detail.reused else released.cost
    show.pairs(
        (told(say("guarantee")), told(released.guarantee.sentence())),
        (told(say("cost")), told(cost)),
        (told(say("left")), told(released.detail.left or "–")),
        (told(say("publish")), ", ".join(["report.html", "tables/", *beside])),
        (told(say("keep inside")), "report-internal.html"),
    )


def _asker(user: str | None) -> str:
    """Who is charged: as said, else the login name; empty where the system knows none."""
    if user is not None:
        return user
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _check_target(output: Path | None, format: str | None) -> None:
    """Refuse what could not be written before anything is charged."""
    from .. import formats

    if format:
        formats.by_name(format)
    if output is None:
        return
    if not format:
        formats.by_extension(output)
    if output.is_dir():
        raise InputError(f"{output} is a folder; name a file such as {output / 'table.csv'}.")
    check_writable(output.parent)


def _check_folder(output: Path, format: str) -> None:
    from .. import formats

    for name in format.split(","):
        formats.by_name(name.strip())
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; a release needs a folder.")
    there = output
    while not there.exists() and there != there.parent:
        there = there.parent
    check_writable(there)


def check_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be written into."""
    import tempfile

    if not folder.is_dir():
        raise InputError(f"{folder} is no folder, so nothing can be written there. Make it first.")
    try:
        Path(tempfile.mkdtemp(prefix=".discreet-", dir=folder)).rmdir()
    except OSError:
        raise InputError(f"{folder} cannot be written to. Choose another place with -o.") from None


def _where(texts: list[str]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for text in texts:
        name, mark, codes = text.partition("=")
        if not mark or not name.strip() or not codes.strip():
            raise InputError(f"--where must look like sex=F,M, got {text!r}.")
        if name.strip() in conditions:
            raise InputError(f"--where names {name.strip()} twice. Join the categories by commas.")
        conditions[name.strip()] = codes
    return conditions


def _deliver(
    released: Release, output: Path | None, format: str | None, json: bool, *, notes: bool = False
) -> None:
    from .. import formats

    table = released.tables[0]
    if output is not None:
        formats.write(table, output, format or "")
        if json:
            show.as_json(_release_facts(released), file=str(output))
        else:
            words = say("{file}: {cells} cells.", file=str(output), cells=table.cells)
            told = table.tells(together(words, table.guarantee.sentence()))
            show.console().print(told)
    elif json:
        from ..formats import jsonstat

        show.as_json(_release_facts(released), table=jsonstat.dataset(table))
    elif format:
        formats.write(table, sys.stdout.buffer, format)
    else:
        from ..formats import terminal

        out = show.console()
        cost: str = ""
        if released.plan.charge is not None:
            charge = released.plan.charge
            cost = say("nothing (released before)") if released.reused else charge.in_words()
            if released.left is not None:
                cost = say("{cost}; left: {left}", cost=cost, left=released.left)
        limits = terminal.Limits(width=out.width)
        more = "" if notes else say("add --notes to see them.")
        out.print(terminal.render(table, limits=limits, cost=cost, more=more))


def _release_facts(released: Release) -> dict[str, Any]:
    return {
        "question_hash": released.plan.question_hash,
        "treatment": dict(released.plan.treatment),
        "guarantee": released.plan.guarantee.to_json(),
        "cost": None if released.plan.charge is None else str(released.plan.charge),
        "charged": released.charged,
        "left": released.left,
        "receipt": dict(released.receipt),
        "cells": sum(table.cells for table in released.tables),
    }
