"""`discreet policy simulate`: what a policy makes possible, before anybody looks at a record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ..errors import InputError
from ..languages import Voice, counted, say, speaker
from . import show
from .tables import DataSetPath, Json, Language, _asker

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
    draft: Annotated[
        Path | None,
        Option(help="A YAML file with the policy's part of discreet.yaml as it might be."),
    ] = None,
    most: Annotated[int, Option(help="How many tables are simulated, at most.")] = 5_000,
    rehearse: Annotated[
        bool,
        Option(
            "--rehearse",
            help="Also count what a small-number rule would blank: sees true data, noted for ever.",
        ),
    ] = False,
    language: Language = "",
    json: Json = False,
) -> None:
    """Which ε, which law, which tables? From public facts: no record is read.

    [bold]discreet policy simulate demo/deaths-dp --within 5 --risk 10:25 --tables 2[/bold]
    """
    from .. import trials, workspace
    from ..workspace.policy_draft import read_draft

    wanted = trials.wishes(
        within=within,
        of=of,
        risk=[_pair(words) for words in risk or ["10:25"]],
        tables=tables,
        records=records,
        most=most,
    )
    with ExitStack() as opened:
        data = opened.enter_context(workspace.DataSet.open(path))
        other = opened.enter_context(workspace.DataSet.open(against)) if against else None
        planned = None if draft is None else read_draft(draft)
        described = data.description
        voice = speaker(described.language_named(language) or described.own_language)
        found, changes = trials.simulated(data, wanted, draft=planned, against=other)
    looked = trials.small_numbers(path, found, who=_asker(None)).sentences() if rehearse else ()
    if json:
        more = {} if changes is None else {"difference": list(changes)}
        more |= {"custodian_only": list(looked)} if rehearse else {}
        show.as_json(found.to_json(), **more)
        return
    _tell(path, found, changes or (), looked, voice)


def _tell(
    path: str, found: Simulation, changes: Sequence[str], looked: Sequence[str], voice: Voice
) -> None:
    """Everything for people: the scale, the tables, what changes, what to run next."""
    show.prose(voice.of(say("From public facts only: no record was read.")), style="dim")
    for words in found.scale.sentences():
        show.prose(voice.of(words))
    show.console().print()
    for words in found.sentences():
        show.prose(voice.of(words))
    rows = [_row(one, voice) for one in found.outlooks[:_MOST_SHOWN]]
    error = (say("noise sd"), say("95 % within"), say("reliable from"), say("reliable"))
    columns = (
        *(voice.of(say("table")), ">" + voice.of(say("cells")), "|" + voice.of(say("allowed"))),
        *(">" + voice.of(words) for words in error),
    )
    show.grid(voice.of(say("Tables")), columns, rows, tight=True)
    if len(found.outlooks) > _MOST_SHOWN:
        others = len(found.outlooks) - _MOST_SHOWN
        more = counted("{n} more with --json.", "{n} more with --json.", others)
        show.prose(voice.of(more), style="dim")
    for words in changes:
        show.prose(voice.of(words))
    if looked:
        show.prose(voice.of(say("Custodian only: counted on true data.")), style="bold")
    for words in looked:
        show.prose(voice.of(words))
    ahead = say("Next, on your own data (the first sees true counts and is noted):")
    show.prose(voice.of(ahead), style="dim")
    show.command("discreet", "compare", path)
    show.command("discreet", "attack", path)
    first = found.allowed[0].axes[0] if found.allowed else ""
    if found.epsilon and first:
        asked = ("--rows", first, "--epsilon", found.epsilon, "--dry-run")
        show.command("discreet", "table", path, *asked)


def _row(one: Outlook, voice: Voice) -> tuple[object, ...]:
    cells = one.name, voice.number(one.cells)
    if not one.allowed or one.noise_sd is None:
        return (*cells, voice.of(say("yes") if one.allowed else say("no")), *4 * ("–",))
    reliable = "?" if one.share_reliable is None else f"{one.share_reliable:.0%}"
    return (
        *cells,
        voice.of(say("yes")),
        voice.number(f"{one.noise_sd:.3g}"),
        f"± {voice.number(one.within or 0)}",
        voice.number(one.reliable_from or 0),
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
