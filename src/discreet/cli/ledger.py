"""`discreet ledger show|verify|accept-restore|share|export`: what was spent, and does the book hold?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from . import show
from .tables import DataSetPath, Json

ledger_app = typer.Typer(help="What was spent on a data set, for ever.", no_args_is_help=True)


@ledger_app.command("show")
def show_ledger(path: DataSetPath, json: Json = False) -> None:
    """Who spent what, what is left, and the largest ε that still fits.

    [bold]discreet ledger show demo/deaths-dp[/bold]
    """
    from .. import api

    with api.open(path) as data:
        facts = data.ledger_facts(short=not json)
    if json:
        show.as_json(facts)
        return
    sums = [("budget", "none: what is released is recorded")]
    if facts["cap"] is not None:
        sums = [
            ("allowed", facts["cap"]),
            ("spent", facts["spent"]),
            ("left", facts["left"]),
            ("largest ε that fits", facts["largest_epsilon"]),
        ]
    show.pairs(*sums, ("entries", facts["entry_count"]))
    if facts["worst_case"]:
        show.console().print(facts["worst_case"])
    if facts["shares"]:
        held = [
            (s["scope"], _signs(s["cap"]), _signs(s["spent"]), _signs(s["left"]))
            for s in facts["shares"]
        ]
        show.grid("Shares", ("|of", "allowed", "spent", "left"), held, tight=True)
    rows = [
        (
            e["number"],
            e["time"][:16].replace("T", " "),
            f"share of {e['scope']}" if e["kind"] == "cap" and e["scope"] else e["kind"],
            _who(e),
            _signs(e["loss"]) or ("taken away" if e["kind"] == "cap" else ""),
            e["question"][:10],
        )
        for e in facts["entries"]
    ]
    if rows:
        columns = (">", "|when", "|what", "|who", "loss", "|question")
        show.grid("Entries", columns, rows, tight=True)


def _who(entry: dict[str, Any]) -> str:
    """Who was charged or changed something, and for which project."""
    who = entry["who"] or "–"
    project = (
        entry["scope"].removeprefix("project:") if entry["kind"] in ("charge", "record") else ""
    )
    return f"{who} ({project})" if project else who


def _signs(loss: str) -> str:
    """A loss in signs, for a table."""
    return loss.replace("epsilon", "ε").replace("delta", "δ").replace("rho", "ρ")


AnchorCopy = Annotated[
    Path | None, Option(help="A copy of the anchor kept elsewhere, or many one below the other.")
]


@ledger_app.command("verify")
def verify(path: DataSetPath, anchor: AnchorCopy = None, json: Json = False) -> None:
    """Recompute chain and sums, compare with the anchors; exit 5 if they disagree.

    [bold]discreet ledger verify demo/deaths-dp[/bold]
    """
    from .. import api

    report = api.verify_ledger(path, anchor=anchor)
    if json:
        show.as_json(report)
        return
    show.console().print("The ledger holds: chain, sums, indexes and anchors agree.")
    outside = report.pop("anchored_outside")
    show.pairs(
        *report.items(),
        (
            "anchored outside",
            outside or "no: a folder restored from a backup would go unnoticed",
        ),
    )


@ledger_app.command("accept-restore")
def accept_restore(
    path: DataSetPath,
    reason: Annotated[str, Option(help="Why; it stays in the ledger.")],
    anchor: AnchorCopy = None,
    json: Json = False,
) -> None:
    """Go on with a ledger restored from a backup; what it forgot counts as spent.

    [bold]discreet ledger accept-restore demo/deaths-dp --reason "disk failed on Monday"[/bold]
    """
    from .. import api
    from .tables import _asker

    report = api.accept_restore(path, who=_asker(None) or "custodian", reason=reason, anchor=anchor)
    if json:
        show.as_json(report)
        return
    sure = (
        "as the anchors say"
        if report["exact"]
        else "all that was left, since the anchors do not say what was spent"
    )
    show.console().print(
        f"Entry {report['entry']} says that at least {report['lost']} entries are lost, and counts "
        f"{report['counted']} as spent for them: {sure}. Their answers are gone: a question that is "
        "asked again gets new noise and is charged again."
    )


@ledger_app.command("share")
def share(
    path: DataSetPath,
    scope: Annotated[str, Argument(metavar="user:NAME|project:NAME", help="Whose share.")],
    reason: Annotated[str, Option(help="Why; it stays in the ledger.")],
    epsilon: Annotated[str | None, Option(help="ε that may be spent.")] = None,
    delta: Annotated[str | None, Option(help="δ, where the budget has one.")] = None,
    rho: Annotated[str | None, Option(help="ρ, where the budget is one.")] = None,
    none: Annotated[bool, Option("--none", help="Take the share away.")] = False,
    json: Json = False,
) -> None:
    """Give a user or a project a share of the budget: a limit of its own beside the whole.

    [bold]discreet ledger share demo/deaths-dp user:ana --epsilon 0.5 --reason "her thesis"[/bold]

    [bold]discreet ledger share demo/deaths-dp user:ana --none --reason "she has left"[/bold]
    """
    from .. import api
    from ..errors import InputError
    from .tables import _asker

    given = [text for text in (epsilon, delta, rho) if text is not None]
    if none == bool(given):
        raise InputError("Say how large the share is (--epsilon 0.5), or --none to take it away.")
    with api.open(path) as data:
        data.share(scope, epsilon=epsilon, delta=delta, rho=rho, who=_asker(None), reason=reason)
        held = [one for one in data.ledger_facts()["shares"] if one["scope"] == scope]
    if json:
        show.as_json(shares=held)
        return
    for one in held:
        show.console().print(
            f"{scope} may spend {one['cap']}; spent {one['spent']}, left {one['left']}."
        )
    if none:
        show.console().print(f"{scope} has no share any more: the whole budget is its only limit.")


@ledger_app.command("export")
def export(
    path: DataSetPath,
    output: Annotated[Path, Option("--output", "-o", help="A .json file.")],
    form: Annotated[str, Option("--as", help="register (public) or dp-accounting.")] = "register",
) -> None:
    """Write the public loss register, or the charges as dp-accounting events.

    [bold]discreet ledger export demo/deaths-dp -o register.json[/bold]
    """
    from .. import api

    with api.open(path) as data:
        data.export_ledger(output, form)
    show.console().print(f"Written to {output}.")
