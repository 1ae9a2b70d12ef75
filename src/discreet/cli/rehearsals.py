"""`discreet compare`: methods side by side on true data, for the custodian alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from . import show
from .tables import DataSetPath, Json, User, _asker

if TYPE_CHECKING:
    from ..trials import Compared

ONLY = "Custodian only: made from true data, not for publication."


def compare(
    path: DataSetPath,
    table: Annotated[
        list[str] | None,
        Option(
            help="A table by its variables: region,cause (repeatable). Default: two small ones."
        ),
    ] = None,
    recipe: Annotated[Path | None, Option(help="A recipe file with the tables instead.")] = None,
    methods: Annotated[
        str,
        Option(
            help="Of cell-key, laplace, normal, gaussian, max-entropy, marginals, topdown, classic."
        ),
    ] = "cell-key,laplace,gaussian",
    epsilon: Annotated[str, Option(help="ε of whatever spends, by commas.")] = "0.1,0.5,1,1.5,2,3",
    p_tables: Annotated[
        str, Option(help="Cell keys: MAX:VARIANCE, by commas.")
    ] = "3:1,5:2,5:3,7:4,10:6,10:10",
    draws: Annotated[int, Option(help="How often each table is protected.")] = 100,
    fitted_draws: Annotated[int, Option(help="… by a method that has to fit it each time.")] = 5,
    minutes: Annotated[float, Option(help="Refuse a grid that would take longer.")] = 10.0,
    output: Annotated[
        Path, Option("--output", "-o", help="The report: an HTML page only you can read.")
    ] = Path("comparison.html"),
    user: User = None,
    json: Json = False,
) -> None:
    """Compare methods on your own data: errors, risks and what they do to tests. Custodian only.

    That somebody looked at true data to choose is noted in the ledger and said in every later table.

    [bold]discreet compare demo/deaths-dp --table region,cause --table age,sex -o comparison.html[/bold]
    """
    from .. import trials

    with show.progress(quiet=json) as control:
        found = trials.compare(
            path,
            table or (),
            _words(methods),
            epsilons=_words(epsilon),
            p_tables=_words(p_tables),
            draws=draws,
            fitted_draws=fitted_draws,
            minutes=minutes,
            recipe=recipe,
            who=_asker(user),
            control=control,
        )
        written = found.write(output)
    _tell(found, written, json)


def _tell(found: Compared, written: Path, json: bool) -> None:
    if json:
        show.as_json(
            {
                "rehearsal": True,
                "for": "the custodian alone",
                "report": str(written),
                "results": [one.summary() for one in found.results],
                "left_out": dict(found.left_out),
                "sentences": list(found.sentences()),
            }
        )
        return
    show.prose(ONLY, style="bold")
    _grids(found)
    for words in found.sentences():
        show.prose(f"· {words}")
    show.console().print()
    show.prose(f"Report, readable by you alone: {written}")


def _grids(found: Compared) -> None:
    for name in dict.fromkeys(one.table for one in found.results):
        rows = [
            (
                one.contestant.name,
                one.kind,
                f"{one.risk:.1%}",
                f"{one.mean_error:.3g}",
                f"{one.measures['on_diagonal'].mean():.0%}",
                f"{one.measures['changed'].mean():.0%}",
                one.draws,
            )
            for one in found.results
            if one.table == name
        ]
        columns = ("|setting", "|kind", "best guess", "mean error", "same band", "changed", "draws")
        show.grid(name, columns, rows, tight=True)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
