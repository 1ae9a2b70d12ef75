"""`discreet store prepare|move`: a database that hosts share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from . import show
from .tables import DataSetPath

store_app = typer.Typer(help="A database that several hosts share.", no_args_is_help=True)

_Folder = Annotated[Path, Argument(metavar="DIR", help="The workspace, with its store.yaml.")]


@store_app.command("prepare")
def prepare(
    path: _Folder,
    serving: Annotated[
        str | None, Option(metavar="ROLE", help="The role that serves: it may only add.")
    ] = None,
) -> None:
    """Make the tables in the database that store.yaml names, as their owner.

    [bold]PGUSER=owner discreet store prepare /srv/discreet --serving discreet_serving[/bold]
    """
    from ..store.opening import prepare as make

    made = make(path, serving=serving)
    said = "The tables are made." if made else "The tables are there already."
    if serving:
        said += f" {serving} may read and add; it cannot change or delete what was charged."
    show.console().print(said)


@store_app.command("move")
def move(path: _Folder) -> None:
    """Carry ledgers, accounts, jobs and audit log of a workspace over into that database.

    Stop its server first. Entries, hashes and anchors stay; the files get another name.

    [bold]discreet store move /srv/discreet[/bold]
    """
    from ..store.moving import move as carry

    moved = carry(path)
    ledgers = ", ".join(moved) or "none"
    show.console().print(f"Moved. Ledgers: {ledgers}.")


@store_app.command("share")
def share(path: DataSetPath) -> None:
    """Let every host serve the version and the description that this one has.

    [bold]discreet store share /srv/discreet/deaths[/bold]
    """
    from ..workspace import hosts
    from ..workspace.dataset import resolve

    folder = resolve(path)
    shared = hosts.share(folder)
    said = "is served by all hosts from now on" if shared else "is what all hosts serve already"
    show.console().print(f"{folder.name}: {said}.")


@store_app.command("fetch")
def fetch(path: _Folder) -> None:
    """Take what other hosts serve, over changes that were made on this one and not shared.

    [bold]discreet store fetch /srv/discreet[/bold]
    """
    from ..workspace import hosts

    changed = hosts.follow(path, over_edits=True)
    show.console().print(f"Fetched: {', '.join(changed) or 'nothing new'}.")
