"""`discreet policy simulate`: what a policy makes possible, before anybody looks at a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ..errors import InputError
from . import show
from .tables import DataSetPath, Json, _asker

if TYPE_CHECKING:
    from ..quality.simulator import Outlook, Simulation

policy_app = typer.Typer(help="Choose a policy on evidence.", no_args_is_help=True)
_MOST_SHOWN = 15


@policy_app.command("simulate")
def simulate(
    path: DataSetPath,
    within: Annotated[int, Option(help="Accuracy wanted: cells within ± this …")] = 5,
    of: Annotated[str, Option(help="… in so many per cent of cells.")] = "95%",
    risk: Annotated[
        list[str] | None,
        Option(help="Risk tolerated: a guess 10 % sure may become 25 % sure. Repeatable."),
    ] = None,
    tables: Annotated[int, Option(help="How many such tables are to be published.")] = 1,
    records: Annotated[
        int | None, Option(help="Roughly how many records, where that may be said.")
    ] = None,
    against: Annotated[
        str | None, Option(help="Another data set: what does its policy change?")
    ] = None,
    rehearse: Annotated[
        bool,
        Option(
            "--rehearse",
            help="Also count what a small-number rule would blank: sees true data, noted for ever.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Which ε, which law, which tables? From public facts: no record is read.

    [bold]discreet policy simulate demo/deaths-dp --within 5 --risk 10:25 --tables 2[/bold]
    """
    from .. import trials
    from ..quality.simulator import difference

    wanted = [_pair(words) for words in risk or ["10:25"]]

    def simulated(place: str) -> Simulation:
        return trials.simulate(
            place, within=within, of=of, risk=wanted, tables=tables, records=records
        )

    found = simulated(path)
    changes = difference(found, simulated(against)) if against else ()
    looked = trials.small_numbers(path, found, who=_asker(None)).sentences() if rehearse else ()
    if json:
        more = {"difference": list(changes)} if against else {}
        more |= {"custodian_only": list(looked)} if rehearse else {}
        show.as_json(found.to_json(), **more)
        return
    _tell(path, found, changes, looked)


def _tell(path: str, found: Simulation, changes: Sequence[str], looked: Sequence[str]) -> None:
    """Everything for people: the scale, the tables, what changes, what to run next."""
    show.prose("From public facts only: no record was read.", style="dim")
    for words in found.scale.sentences():
        show.prose(words)
    show.console().print()
    for words in found.sentences():
        show.prose(words)
    rows = [_row(one) for one in found.outlooks[:_MOST_SHOWN]]
    columns = (
        "|table",
        "cells",
        "|allowed",
        "noise sd",
        "95 % within",
        "reliable from",
        "reliable",
    )
    show.grid("Tables", columns, rows, tight=True)
    if len(found.outlooks) > _MOST_SHOWN:
        others = len(found.outlooks) - _MOST_SHOWN
        show.prose(f"{others:,} more with --json.", style="dim")
    for words in changes:
        show.prose(words)
    if looked:
        show.prose("Custodian only: counted on true data.", style="bold")
    for words in looked:
        show.prose(words)
    show.prose("Next, on your own data (the first sees true counts and is noted):", style="dim")
    show.command("discreet", "compare", path)
    show.command("discreet", "attack", path)
    first = found.allowed[0].axes[0] if found.allowed else ""
    if found.epsilon and first:
        asked = ("--rows", first, "--epsilon", found.epsilon, "--dry-run")
        show.command("discreet", "table", path, *asked)


def _row(one: Outlook) -> tuple[object, ...]:
    if not one.allowed:
        return one.name, f"{one.cells:,}", "no", "–", "–", "–", "–"
    if one.noise_sd is None:
        return one.name, f"{one.cells:,}", "yes", "–", "–", "–", "–"
    reliable = "?" if one.share_reliable is None else f"{one.share_reliable:.0%}"
    return (
        one.name,
        f"{one.cells:,}",
        "yes",
        f"{one.noise_sd:.3g}",
        f"± {one.within:,}",
        f"{one.reliable_from:,}",
        reliable,
    )


def _pair(words: str) -> tuple[str, str]:
    """A guess and how sure it may become: 10:25, in per cent."""
    prior, colon, most = words.partition(":")
    if not colon or not prior.strip() or not most.strip():
        raise InputError(
            f"--risk needs two numbers in per cent, such as 10:25 (a guess 10 % sure may become 25 % "
            f"sure), got {words[:40]!r}."
        )
    return f"{prior.strip().rstrip('%')}%", f"{most.strip().rstrip('%')}%"
