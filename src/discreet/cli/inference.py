"""`discreet infer`: what may be concluded from a protected table, from its file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..errors import DiscreetError, InputError
from ..languages import known, language_of, says
from . import show
from .tables import Json

if TYPE_CHECKING:
    from ..core.cell_law import CellLaw
    from ..core.table import ProtectedTable
    from ..inference.answer import Answer

infer_app = typer.Typer(
    help="What may be concluded from a protected table: tests and intervals that know its noise.",
    no_args_is_help=True,
)

TableFile = Annotated[Path, Argument(metavar="FILE", help="JSON-stat, CSV, Parquet or XLSX.")]
LawFile = Annotated[
    Path | None,
    Option(
        "--law", help="The law, for a table that carries none: a table file, a law or a p-table."
    ),
]
Number = Annotated[int, Option("--table", help="Which table of the file, from 1.")]
Language = Annotated[str, Option(help="Language of the answer, such as de.")]


Level = Annotated[str, Option(help="Share of cases in which an interval holds.")]
Kind = Annotated[
    str, Option(help="noise (about what was counted) or sampling (about the rates behind it).")
]
CellText = Annotated[
    str, Argument(metavar="CELL", help="region=London,sex=F; others at the total.")
]
AtCell = Annotated[str, Option("--cell", help="At these categories of other variables: sex=F.")]


@infer_app.command()
def independence(
    file: TableFile,
    given: Annotated[
        str, Option(help="Within each category of these variables, separated by commas.")
    ] = "",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Are the variables of a table independent of each other?

    [bold]discreet infer independence deaths.csv[/bold]

    [bold]discreet infer independence deaths.xlsx --given sex --json[/bold]
    """
    _ask("independence", file, law, table, language, json, given=_names(given))


@infer_app.command("goodness-of-fit")
def goodness_of_fit(
    file: TableFile,
    proportions: Annotated[str, Argument(help="F=0.51,M=0.49: for each category, adding up to 1.")],
    axis: Annotated[str, Option(help="Of which variable.")] = "",
    cell: AtCell = "",
    records: Annotated[
        int | None, Option(help="The public number of records, to test one proportion exactly.")
    ] = None,
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Do the categories of a variable follow given proportions?"""
    shares = _pairs(proportions, "proportions", "F=0.51,M=0.49")
    more = {"proportions": shares, "axis": axis, "cell": _cell(cell), "records": records}
    _ask("goodness-of-fit", file, law, table, language, json, **more)


@infer_app.command()
def loglinear(
    file: TableFile,
    terms: Annotated[
        list[str], Argument(help="Terms: each is one or more variables, separated by commas.")
    ],
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Does a log-linear model fit?

    [bold]discreet infer loglinear t.csv sex,cause region[/bold]: region apart from both
    """
    _ask("loglinear", file, law, table, language, json, terms=[_names(term) for term in terms])


@infer_app.command()
def regression(
    file: TableFile,
    data: Annotated[
        Path, Argument(metavar="DATA.csv", help="A column of codes, columns of numbers.")
    ],
    terms: Annotated[str, Option(help="Columns to regress on, separated by commas.")],
    axis: Annotated[str, Option(help="The variable whose categories are the observations.")] = "",
    offset: Annotated[str, Option(help="The column of sizes that rates are of.")] = "",
    event: Annotated[str, Option(help="For odds: the category that is the event, sex=F.")] = "",
    cell: AtCell = "",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    level: Level = "0.95",
    json: Json = False,
) -> None:
    """Poisson regression of published counts on covariates, or of the odds of an event."""
    more: dict[str, Any] = {"terms": _names(terms), "axis": axis, "offset": offset, "level": level}
    more |= {"event": _cell(event)} if event else {}
    more |= {"cell": _cell(cell)}
    _ask("regression", file, law, table, language, json, data=_covariates(data), **more)


@infer_app.command()
def interval(
    file: TableFile,
    cell: CellText = "",
    kind: Kind = "noise",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Between which numbers does a cell or total lie?

    [bold]discreet infer interval deaths.csv region=London,sex=F --kind sampling[/bold]
    """
    _ask("interval", file, law, table, language, json, cell=_cell(cell), kind=kind, level=level)


@infer_app.command()
def difference(
    file: TableFile,
    a: CellText,
    b: CellText,
    exposures: Annotated[str, Option(help="What rates are of, for each: 52000,41000.")] = "",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Is the difference of two cells, rows or areas real: same count? same rate?"""
    sizes = _names(exposures)
    if sizes and len(sizes) != 2:
        raise InputError(f"--exposures must be two numbers by a comma, got {exposures!r}.")
    more = {"exposures": tuple(sizes)} if sizes else {}
    _ask(
        "difference", file, law, table, language, json, a=_cell(a), b=_cell(b), level=level, **more
    )


@infer_app.command()
def ranking(
    file: TableFile,
    axis: Annotated[str, Argument(help="The variable whose categories are ranked.")],
    cell: AtCell = "",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Which categories are surely in the right order, and which may swap?"""
    _ask("ranking", file, law, table, language, json, axis=axis, cell=_cell(cell), level=level)


@infer_app.command()
def ratio(
    file: TableFile,
    a: CellText,
    b: CellText,
    kind: Kind = "sampling",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Between which numbers does a / b lie?"""
    _ask("ratio", file, law, table, language, json, a=_cell(a), b=_cell(b), kind=kind, level=level)


@infer_app.command()
def share(
    file: TableFile,
    a: CellText,
    of: Annotated[str, Option(help="The total it is a share of. Default: the whole table.")] = "",
    kind: Kind = "noise",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Between which numbers does a cell's share in a total lie?"""
    _ask(
        "share", file, law, table, language, json, a=_cell(a), of=_cell(of), kind=kind, level=level
    )


@infer_app.command("odds-ratio")
def odds_ratio(
    file: TableFile,
    a: CellText,
    b: CellText,
    c: CellText,
    d: CellText,
    kind: Kind = "sampling",
    level: Level = "0.95",
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """Between which numbers does (a / b) / (c / d) lie?"""
    cells = {"a": _cell(a), "b": _cell(b), "c": _cell(c), "d": _cell(d)}
    _ask("odds-ratio", file, law, table, language, json, **cells, kind=kind, level=level)


@infer_app.command()
def posterior(
    file: TableFile,
    cell: CellText = "",
    mean: Annotated[str | None, Option(help="Prior: a Poisson law of this mean.")] = None,
    law: LawFile = None,
    table: Number = 1,
    language: Language = "",
    json: Json = False,
) -> None:
    """How likely is each true count of a cell, given what was released?"""
    _ask("posterior", file, law, table, language, json, cell=_cell(cell), mean=mean)


def _ask(
    question: str,
    file: Path,
    law: Path | None,
    table: int,
    language: str,
    json: bool,
    **arguments: Any,
) -> None:
    from ..inference.questions import answer

    if language and language_of(language) != language.casefold().partition("-")[0]:
        raise InputError(f"--language must be one of {', '.join(known())}, got {language[:20]!r}.")
    try:
        chosen = read_table(file, law, table)
        language = language or chosen.layout.language
        found = answer(chosen, question, arguments)
    except DiscreetError as error:
        error.message = says(error.message, language)
        raise
    _tell(found, language, json)


def read_table(file: Path, law: Path | None, number: int) -> ProtectedTable:
    """One table of a file, with the law it carries or the one given."""
    from ..formats.lawless_files import is_lawless, read_lawless
    from ..formats.table_files import read_tables, with_law

    if is_lawless(file):
        found = read_lawless(file)
        given = None if law is None else _given_law(law, found.table)
        return found.with_law(given, of_table=law is not None and _is_table(law))
    tables = read_tables(file)
    if not 1 <= number <= len(tables):
        raise InputError(f"--table must be from 1 to {len(tables)}, got {number}.")
    chosen = tables[number - 1]
    return chosen if law is None else with_law(chosen, _given_law(law, chosen))


def _given_law(law: Path, table: ProtectedTable) -> CellLaw:
    from ..formats.given_law import for_cells, read_given_law

    if law.suffix.lower() in (".csv", ".txt") and not _is_table(law):
        from .ptables import open_ptable

        return for_cells(open_ptable(law).law, table)
    return read_given_law(law, table)


def _is_table(law: Path) -> bool:
    """Whether a file is one of a table that carries its law, not a law alone."""
    if law.suffix.lower() == ".csv":
        return law.with_name(f"{law.name}-metadata.json").exists()
    if law.suffix.lower() == ".json":
        return law.is_file() and b'"extension"' in law.read_bytes()
    return law.suffix.lower() in (".parquet", ".xlsx")


def _cell(text: str) -> dict[str, str]:
    return _pairs(text, "A cell", "region=London,sex=F")


def _pairs(text: str, what: str, example: str) -> dict[str, str]:
    """NAME=VALUE pairs, separated by commas."""
    pairs = {}
    for part in _names(text):
        name, mark, value = part.partition("=")
        if not mark or not name.strip() or not value.strip() or name.strip() in pairs:
            raise InputError(f"{what} must look like {example}, got {text[:60]!r}.")
        pairs[name.strip()] = value.strip()
    return pairs


def _covariates(file: Path) -> dict[str, dict[str, str]]:
    """Numbers by name for each code, from a CSV file whose first column is the code."""
    import csv

    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            header, *rows = csv.reader(stream)
    except (OSError, ValueError, csv.Error):
        raise InputError(
            f"{file} cannot be read. Give a CSV file in UTF-8: a line of names, then lines of a code "
            "and its numbers."
        ) from None
    return {row[0]: dict(zip(header[1:], row[1:], strict=False)) for row in rows if row}


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _tell(answer: Answer, language: str, json: bool) -> None:
    """Sentence first, numbers second, caveats third; or one JSON object."""
    if json:
        show.as_json(answer.to_json(language))
        return
    out = show.console()
    out.print(f"[bold]{_plain(says(answer.sentence, language))}[/bold]")
    show.pairs(*((name.replace("_", " "), text) for name, text in answer.shown()))
    for words in answer.caveats:
        out.print(f"[dim]· {_plain(says(words, language))}[/dim]")


def _plain(text: str) -> str:
    """Text that holds no markup of the console's own."""
    from rich.markup import escape

    return escape(text)
