"""`discreet infer`: what may be concluded from a protected table, from its file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ..errors import InputError
from . import show
from .tables import Json

if TYPE_CHECKING:
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


@infer_app.command()
def independence(
    file: TableFile,
    given: Annotated[str, Option(help="Within each category of these variables, by commas.")] = "",
    law: LawFile = None,
    table: Number = 1,
    json: Json = False,
) -> None:
    """Are the variables of a table independent of each other?

    [bold]discreet infer independence deaths.csv[/bold]

    [bold]discreet infer independence deaths.xlsx --given sex --json[/bold]
    """
    from ..inference.independence import independence_test

    _tell(independence_test(read_table(file, law, table), _names(given)), json)


def read_table(file: Path, law: Path | None, number: int) -> ProtectedTable:
    """One table of a file, with the law it carries or the one given."""
    from ..formats.table_files import read_tables, with_law

    tables = read_tables(file)
    if not 1 <= number <= len(tables):
        raise InputError(f"--table must be from 1 to {len(tables)}, got {number}.")
    chosen = tables[number - 1]
    if law is None:
        return chosen
    from ..formats.given_law import for_cells, read_given_law

    if law.suffix.lower() in (".csv", ".txt") and not _has_companion(law):
        from .ptables import open_ptable

        return with_law(chosen, for_cells(open_ptable(law).law, chosen))
    return with_law(chosen, read_given_law(law, chosen))


def _has_companion(law: Path) -> bool:
    return law.with_name(f"{law.name}-metadata.json").exists()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _tell(answer: Answer, json: bool) -> None:
    """Sentence first, numbers second, caveats third; or one JSON object."""
    if json:
        show.as_json(answer.to_json())
        return
    out = show.console()
    out.print(f"[bold]{_plain(answer.sentence)}[/bold]")
    show.pairs(*((name.replace("_", " "), text) for name, text in answer.shown()))
    for words in answer.caveats:
        out.print(f"[dim]· {_plain(words)}[/dim]")


def _plain(text: str) -> str:
    """Text that holds no markup of the console's own."""
    from rich.markup import escape

    return escape(text)
