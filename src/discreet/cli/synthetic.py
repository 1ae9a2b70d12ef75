"""`discreet synthetic`: a data set that anybody may tabulate, made from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from . import show
from .tables import DataSetPath, Json


def synthetic(
    path: DataSetPath,
    into: Annotated[Path, Option(help="The new data set: DIR/NAME.")],
    release: Annotated[
        str, Option(help="The beginning of the release's hash. Default: the newest.")
    ] = "",
    json: Json = False,
) -> None:
    """Make a data set of the synthetic records of a release (marginals, topdown).

    Any table can be asked of it, at no cost and without rules: every table keeps the guarantee of
    the release. Nothing is read from the confidential records and nothing is charged.

    [bold]discreet synthetic demo/deaths-dp --into demo/deaths-open[/bold]
    """
    from .. import workspace
    from ..synthesis import synthetic as make

    with show.progress(quiet=json) as control:
        folder = make(path, into, control, release=release)
    with workspace.DataSet.open(folder) as data:
        origin = data.origin
        assert origin is not None
        guarantee = origin.guarantee.for_scope("everything made from this release")
        if json:
            show.as_json(
                {
                    "folder": str(folder),
                    "release": origin.release,
                    "from": origin.dataset,
                    "records": data.manifest.records,
                    "guarantee": guarantee.to_json(),
                    "variables": [variable.name for variable in data.description.variables],
                }
            )
            return
        levels = [
            " > ".join(level.name for level in reversed(variable.levels))
            for variable in data.description.variables
        ]
        show.pairs(
            ("made", f"{folder}: {data.manifest.records:,} synthetic records"),
            ("from", f"release {origin.release[:12]} of {origin.dataset}"),
            ("variables", ", ".join(levels)),
            ("guarantee", guarantee.sentence()),
            ("cost", "nothing"),
        )
        first = data.description.variables[0].levels[-1].name
        show.console().print()
        show.command("discreet", "table", folder, "--rows", first)
