"""`discreet ledger show|verify|export`: what was spent, by whom, and whether the book holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import show
from .tables import DataSetPath, Json

ledger_app = typer.Typer(help="What was spent on a data set, for ever.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.add_typer(ledger_app, name="ledger")


@ledger_app.command("show")
def show_ledger(path: DataSetPath, json: Json = False) -> None:
    """Who spent what, what is left, and the largest ε that still fits.

    [bold]discreet ledger show demo/deaths-dp[/bold]
    """
    from .. import api

    with api.open(path) as data:
        facts = data.ledger_facts()
    if json:
        show.as_json(facts)
        return
    out = show.console()
    out.print(
        show.pairs(
            [
                ("allowed", facts["cap"]),
                ("spent", _short(facts["spent"])),
                ("left", _short(facts["left"], left=True)),
                ("largest ε that fits", facts["largest_epsilon"]),
                ("entries", facts["entry_count"]),
            ]
        )
    )
    rows = [
        (
            e["number"],
            e["time"][:16].replace("T", " "),
            e["kind"],
            e["who"] or "–",
            _short(e["loss"]).replace("epsilon", "ε").replace("delta", "δ").replace("rho", "ρ"),
            e["question"][:10],
        )
        for e in facts["entries"]
    ]
    if rows:
        columns = (">", "|when", "|what", "|who", "loss", "|question")
        out.print(show.grid("Entries", columns, rows, tight=True))


def _short(loss: str, *, left: bool = False) -> str:
    """A loss with long numbers in five digits, never too little spent or too much left."""
    import re
    from fractions import Fraction

    from ..core.exact import rounded_down, rounded_up

    rounded = rounded_down if left else rounded_up
    return re.sub(r"[\d.e/-]{15,}", lambda found: rounded(Fraction(found[0]), 5), loss)


@ledger_app.command("verify")
def verify(path: DataSetPath, json: Json = False) -> None:
    """Recompute the chain and the sums, and compare with the anchor; exit 5 if they disagree.

    [bold]discreet ledger verify demo/deaths-dp[/bold]
    """
    from .. import api

    report = api.verify_ledger(path)
    if json:
        show.as_json(report)
        return
    out = show.console()
    out.print("The ledger holds: chain, sums and anchor agree.")
    out.print(show.pairs(report.items()))


@ledger_app.command("export")
def export(
    path: DataSetPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .json file.")],
    form: Annotated[
        str, typer.Option("--as", help="register (public) or dp-accounting.")
    ] = "register",
) -> None:
    """Write the public loss register, or the charges as dp-accounting events.

    [bold]discreet ledger export demo/deaths-dp -o register.json[/bold]
    """
    from .. import api

    with api.open(path) as data:
        data.export_ledger(output, form)
    show.console().print(f"Written to {output}.")
