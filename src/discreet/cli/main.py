"""The app, its commands by room, and how errors leave it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import typer
from typer import Option

from ..errors import Bug, DiscreetError, Refusal
from ..version import __version__
from . import (
    inference,
    law_losses,
    law_studies,
    law_utilities,
    laws,
    ledger,
    policies,
    ptables,
    rehearsals,
    releases,
    serving,
    stores,
    synthetic,
    tables,
    workspaces,
)
from .once import Once

# Our systems of equations are small: more threads of the linear algebra library only wait for one
# another. Set before numpy is first imported, unless the user said otherwise.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="discreet",
    help="Publish the table, not the people: protected frequency tables with exact guarantees.\n\n"
    "Start with [bold]discreet demo --into demo[/bold], then "
    "[bold]discreet table demo/deaths --rows region --columns sex[/bold].",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = Option(
        False, "--version", help="Show the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    """Hold the options that come before a command."""


app.command()(workspaces.demo)
app.command()(workspaces.init)
app.command()(workspaces.load)
app.command()(workspaces.declare)
app.command()(workspaces.check)
app.command()(workspaces.upgrade)
app.command(cls=Once)(tables.table)
app.command(cls=Once)(tables.release)
app.command()(synthetic.synthetic)
app.command(cls=Once)(rehearsals.compare)
app.command(cls=Once)(rehearsals.attack)
app.command()(serving.serve)
law_utilities.add_to(laws.law_app)
law_losses.add_to(laws.law_app)
law_studies.add_to(laws.law_app)
app.add_typer(laws.law_app, name="law")
app.add_typer(ptables.ptable_app, name="ptable")
app.add_typer(inference.infer_app, name="infer")
app.add_typer(ledger.ledger_app, name="ledger")
app.add_typer(stores.store_app, name="store")
app.add_typer(policies.policy_app, name="policy")
app.add_typer(serving.user_app, name="user")
app.add_typer(releases.releases_app, name="releases")


def main() -> NoReturn:
    """Run the command line; every error leaves as one sentence and the right exit code."""
    code = 0
    try:
        code = app(standalone_mode=False) or 0  # typer gives back the code of an Exit
    except DiscreetError as error:
        code = _tell(error)
    except typer.Exit as stop:
        code = stop.exit_code
    except typer.Abort:
        code = 130
    except KeyboardInterrupt:
        print("Stopped; nothing was lost.", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except Exception as error:
        code = _unexpected(error)
    sys.exit(code)


def _tell(error: DiscreetError) -> int:
    message = _to_paste(error.message)
    offers = [_to_paste(o.words) for o in error.alternatives] if isinstance(error, Refusal) else []
    if "--json" in sys.argv:
        body: dict[str, object] = {"message": message, "kind": type(error).__name__}
        if isinstance(error, Refusal):
            body |= {"rule": error.rule, "alternatives": offers}
        print(json.dumps({"error": body, "exit_code": error.exit_code}, ensure_ascii=False))
    else:
        if not any(words in message for words in offers):
            more = [f"{words[:1].upper()}{words[1:]}".rstrip(".") for words in offers[:3]]
            message = " ".join([message, *(f"{words}." for words in more)])
        print(f"discreet: {message}", file=sys.stderr)
    return error.exit_code


def _to_paste(words: str) -> str:
    """Commands in backticks with the folder that this one was given in the place of DIR."""
    given = next((word for word in sys.argv[1:] if Path(word).is_dir()), "")
    if not given:
        return words
    folder = shlex.quote(given)
    return re.sub(
        r"`discreet [^`]*`", lambda found: re.sub(r"\bDIR\b", lambda _: folder, found[0]), words
    )


def _unexpected(error: Exception) -> int:
    """Usage errors of the parser, and our own bugs: their place is shown, their values are not."""
    format_message = getattr(error, "format_message", None)
    if callable(format_message):
        said = format_message()
        if not said:  # help was shown, because nothing was asked
            return 2
        usage = getattr(getattr(error, "ctx", None), "command_path", "discreet")
        stop = "" if said.endswith((".", "?", "!")) else "."
        print(f"discreet: {said}{stop} See {usage} --help.", file=sys.stderr)
        return 2
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "unknown"
    bug = Bug(f"Something failed that should not ({type(error).__name__} at {place}).")
    if os.environ.get("DISCREET_TRACE"):
        for frame in frames:
            print(f"  {frame.filename}:{frame.lineno} {frame.name}", file=sys.stderr)
    return _tell(bug)
