"""`discreet compare` and `discreet attack`: what a policy costs and what it withstands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from . import show
from .tables import DataSetPath, Json, User, _asker

if TYPE_CHECKING:
    from ..quality.attacks.findings import Finding
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


def attack(
    path: DataSetPath,
    only: Annotated[
        str, Option(help="Which attacks, by commas. Default: all. --json names them.")
    ] = "",
    epsilon: Annotated[str, Option(help="ε of one question, for policies that spend.")] = "",
    output: Annotated[
        Path, Option("--output", "-o", help="The report: an HTML page only you can read.")
    ] = Path("attacks.html"),
    json: Json = False,
) -> None:
    """Attack your policy, on made-up people: differencing, averaging, reconstruction, and nine more.

    No record is read. Each attack first succeeds where nothing protects. A claim that is exceeded
    by more than chance ends the command with exit code 70.

    [bold]discreet attack demo/deaths-dp -o attacks.html[/bold]
    """
    from .. import trials
    from ..errors import Bug
    from ..report import attack_report

    with show.progress(quiet=json) as control:
        found = trials.attack(path, _words(only), epsilon=epsilon, control=control)
        written = attack_report.write(found, output)
    if json:
        show.as_json(found.to_json(), report=str(written))
    else:
        for words in found.story.sentences():
            show.prose(words)
        rows = [_attack_row(one) for one in found.found]
        columns = ("|attack", "unprotected", "this policy", "computed", "ceiling", "|verdict")
        show.grid("Attacks", columns, rows, tight=True)
        for words in found.sentences():
            show.prose(f"· {words}")
        show.prose(f"Report, readable by you alone: {written}")
    if found.refuted:
        names = ", ".join(one.group for one in found.refuted)
        raise Bug(
            f"A claim of this policy does not hold against: {names}. Publish nothing under it, and "
            "report this."
        )


def _attack_row(one: Finding) -> tuple[str, ...]:
    def share(number: float | None) -> str:
        return "–" if number is None else f"{number:.1%}"

    verdict = "REFUTED" if one.over else "holds" if one.ceiling is not None else "published"
    if not one.applies:
        verdict = "does not apply"
    return (
        one.group,
        share(one.baseline),
        share(one.measured),
        share(one.expected),
        share(one.ceiling),
        verdict,
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
