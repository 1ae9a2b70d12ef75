"""`discreet compare` and `discreet attack`: what a policy costs and what it withstands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..errors import InputError
from ..languages import Voice, say, speaker
from . import show
from .tables import DataSetPath, Json, Language, User, _asker, check_writable

if TYPE_CHECKING:
    from ..core.control import Control
    from ..quality.attacks.findings import Finding
    from ..quality.attacks.run import Attacked
    from ..trials import Compared

ONLY = say("Custodian only: made from true data, not for publication.")

OverHttp = Annotated[
    bool,
    Option("--over-http", help="Serve the made-up people on this machine, and ask over HTTP."),
]
KeepTwin = Annotated[
    Path | None,
    Option(help="Write the made-up people as a workspace to serve, and stop.", metavar="FOLDER"),
]
ServerUrl = Annotated[
    str, Option(help="Ask this server, which serves what --keep-twin wrote.", metavar="URL")
]
Token = Annotated[str, Option(help="An analyst's token of that server.", envvar="DISCREET_TOKEN")]


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
    epsilon: Annotated[
        str, Option(help="ε of methods that spend, separated by commas.")
    ] = "0.1,0.5,1,1.5,2,3",
    p_tables: Annotated[
        str, Option(help="Cell keys: MAX:VARIANCE, separated by commas.")
    ] = "3:1,5:2,5:3,7:4,10:6,10:10",
    draws: Annotated[int, Option(help="How often each table is protected.")] = 100,
    fitted_draws: Annotated[int, Option(help="… by a method that has to fit it each time.")] = 5,
    minutes: Annotated[float, Option(help="Refuse a grid that would take longer.")] = 10.0,
    output: Annotated[
        Path, Option("--output", "-o", help="The report: an HTML page only you can read.")
    ] = Path("comparison.html"),
    language: Language = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Compare methods on your own data: errors, risks and what they do to tests. Custodian only.

    That somebody looked at true data to choose is noted in the ledger and said in every later table.

    [bold]discreet compare demo/deaths-dp --table region,cause --table age,sex -o comparison.html[/bold]
    """
    from .. import trials

    language = _ready(path, output, language)
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
        written = found.write(output, language)
    _tell(found, written, json, speaker(language or found.language))


def _ready(path: str, output: Path, language: str) -> str:
    """The language that is meant; refuse what could not be written before any work is done."""
    from .. import workspace
    from ..workspace.description_file import read

    if output.is_dir():
        raise InputError(f"{output} is a folder; name a file such as {output / 'report.html'}.")
    check_writable(output.parent)
    return read(workspace.resolve(path)).description.language_named(language)


def _tell(found: Compared, written: Path, json: bool, voice: Voice) -> None:
    if json:
        show.as_json(found.to_json(), report=str(written))
        return
    show.prose(voice.of(ONLY), style="bold")
    _grids(found, voice)
    for words in found.sentences():
        show.prose(f"· {voice.of(words)}")
    show.console().print()
    show.prose(voice.of(say("Report, readable by you alone: {file}", file=str(written))))


def _grids(found: Compared, voice: Voice) -> None:
    from ..report.comparison_report import KINDS

    for name in dict.fromkeys(one.table for one in found.results):
        rows = [
            (
                voice.of(one.contestant.name),
                voice.of(KINDS.get(one.kind, one.kind)),
                voice.number(f"{one.risk:.1%}"),
                voice.number(f"{one.mean_error:.3g}"),
                voice.number(f"{one.measures['on_diagonal'].mean():.0%}"),
                voice.number(f"{one.measures['changed'].mean():.0%}"),
                voice.number(one.draws),
            )
            for one in found.results
            if one.table == name
        ]
        columns = (
            *("|" + voice.of(say("setting")), "|" + voice.of(say("kind"))),
            *map(voice.of, (say("best guess"), say("mean error"), say("same band"))),
            *map(voice.of, (say("changed"), say("draws"))),
        )
        show.grid(name, columns, rows, tight=True)


def attack(
    path: DataSetPath,
    only: Annotated[
        str, Option(help="Which attacks, separated by commas. Default: all. --json names them.")
    ] = "",
    epsilon: Annotated[str, Option(help="ε of one question, for policies that spend.")] = "",
    output: Annotated[
        Path, Option("--output", "-o", help="The report: an HTML page only you can read.")
    ] = Path("attacks.html"),
    over_http: OverHttp = False,
    keep_twin: KeepTwin = None,
    server: ServerUrl = "",
    token: Token = "",
    language: Language = "",
    json: Json = False,
) -> None:
    """Attack your policy, on made-up people: differencing, averaging, reconstruction, and many more.

    No record is read. Each attack first succeeds where nothing protects. A claim that is exceeded
    by more than chance ends the command with exit code 70.

    [bold]discreet attack demo/deaths-dp -o attacks.html[/bold]

    [bold]discreet attack demo/deaths-dp --over-http[/bold] asks a live server, as an analyst would.
    """
    from .. import trials
    from ..report import attack_report

    if sum((over_http, keep_twin is not None, bool(server))) > 1:
        raise InputError("--over-http, --keep-twin and --server exclude one another; use one.")
    wanted = _words(only)
    language = _ready(path, output, language)
    if keep_twin is not None:
        _write_twin(path, keep_twin, wanted, epsilon, json)
        return
    with show.progress(quiet=json) as control:
        if over_http:
            found = _over_http(path, wanted, epsilon, control)
        elif server:
            found = _asked_of(server, token, path, wanted, epsilon, control)
        else:
            found = trials.attack(path, wanted, epsilon=epsilon, control=control)
        written = attack_report.write(found, output, language)
    if json:
        show.as_json(found.to_json(), report=str(written))
    else:
        _show_attacks(found, written, speaker(language or found.language))
    _fail_where_refuted(found)


def _fail_where_refuted(found: Attacked) -> None:
    from ..errors import Bug

    if found.refuted:
        names = ", ".join(one.group for one in found.refuted)
        raise Bug(
            f"A claim of this policy does not hold against: {names}. Publish nothing under it, and "
            "report this."
        )


def _asked_of(
    url: str, token: str, path: str, wanted: list[str], epsilon: str, control: Control
) -> Attacked:
    """The attacks, asked of a server that serves the twin."""
    from .. import client, trials
    from .twin_server import asking

    with client.connect(url, token or None, timeout=600) as server:
        ask = asking(server, url)
        return trials.attack(path, wanted, epsilon=epsilon, ask=ask, control=control)


def _over_http(path: str, wanted: list[str], epsilon: str, control: Control) -> Attacked:
    """The twin written, served on this machine, attacked and thrown away."""
    from tempfile import TemporaryDirectory

    from .. import trials
    from .twin_server import own_anchors, served

    with TemporaryDirectory() as name, own_anchors(Path(name) / "anchors"):
        twin = Path(name) / "twin"
        written = control.part(0, 0.6)
        token = trials.write_twin(path, twin, wanted, epsilon=epsilon, control=written)
        control.step(0.6, "starting the server")
        with served(twin) as url:
            return _asked_of(url, token, path, wanted, epsilon, control.part(0.65, 1))


def _write_twin(path: str, folder: Path, wanted: list[str], epsilon: str, json: bool) -> None:
    """Write the twin, and say how to serve and attack it."""
    from .. import trials

    with show.progress(quiet=json) as control:
        token = trials.write_twin(path, folder, wanted, epsilon=epsilon, control=control)
    if json:
        show.as_json(twin=str(folder), token=token)
        return
    show.prose(f"Made-up people under the policy of {path} are in {folder}. Serve them:")
    show.command("discreet", "serve", folder, "--calls-per-minute", 100_000)
    show.prose("Then ask that server as an analyst would, with the token it knows:")
    more = ("--epsilon", epsilon) if epsilon else ()
    url = "http://127.0.0.1:8000"
    show.command("discreet", "attack", path, *more, "--server", url, "--token", token)


def _show_attacks(found: Attacked, written: Path, voice: Voice) -> None:
    for words in found.story:
        show.prose(voice.of(words))
    rows = [_attack_row(one, voice) for one in found.found]
    columns = (
        *(
            "|" + voice.of(say("attack")),
            voice.of(say("unprotected")),
            voice.of(say("this policy")),
        ),
        *(voice.of(say("computed")), voice.of(say("ceiling")), "|" + voice.of(say("verdict"))),
    )
    show.grid(voice.of(say("Attacks")), columns, rows, tight=True)
    for words in found.sentences():
        show.prose(f"· {voice.of(words)}")
    show.prose(voice.of(say("Report, readable by you alone: {file}", file=str(written))))


def _attack_row(one: Finding, voice: Voice) -> tuple[str, ...]:
    from ..report.attack_report import verdict

    numbers = (one.baseline, one.measured, one.expected, one.ceiling)
    shares = ("–" if share is None else voice.number(f"{share:.1%}") for share in numbers)
    return (voice.of(one.group), *shares, voice.of(verdict(one)))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
