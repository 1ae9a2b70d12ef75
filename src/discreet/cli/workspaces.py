"""`discreet demo`, `init`, `load`, `declare`, `check`: a first half hour; and `upgrade`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from . import show, units
from .tables import DataSetPath, Json

if TYPE_CHECKING:
    from ..core.control import Control
    from ..workspace import Finding, Loaded, Started, Workspace
    from ..workspace.description_file import DescribedData

UnitWord = Annotated[
    str, Option("--unit", help="What one unit of protection is: person, household, …")
]
IdColumn = Annotated[
    str | None, Option("--id", metavar="COLUMN", help="The column that names the unit.")
]
RecordsPerUnit = Annotated[
    int | None, Option("--records-per-unit", min=1, help="How many records of one unit count.")
]
NOT_WRITTEN = (
    "The password was not written down. For later loads put it into PGPASSWORD or ~/.pgpass (a token "
    "for Spark into SPARK_CONNECT_AUTHENTICATE_TOKEN)."
)
Drop = Annotated[
    bool, Option("--drop", help="Leave out further records of a unit, instead of stopping.")
]


def demo(
    into: Annotated[Path, Option(help="Where the demo workspace goes.")] = Path("demo"),
    no_serve: Annotated[bool, Option("--no-serve", help="Make the workspace and stop.")] = False,
    port: Annotated[int, Option(min=0, max=65535, help="Where it is served.")] = 8000,
    json: Json = False,
) -> None:
    """Make a workspace with synthetic data sets and serve it on this machine. No real person.

    [bold]discreet demo --into demo[/bold] serves deaths, deaths-dp and genes at 127.0.0.1:8000

    [bold]discreet demo --into demo --no-serve[/bold] makes the workspace and stops
    """
    from ..demo import NAMES, make_demo

    with show.progress(quiet=json) as control:
        made = make_demo(into, control)
    if json:
        show.as_json(workspace=str(into), datasets=list(made.names))
        return
    out = show.console()
    out.print(f"[bold]{into}[/bold] holds synthetic data, no real person:")
    rows = []
    for name in made.names:
        with made.dataset(name) as data:
            rows.append((f"{into}/{name}", f"{data.description.title} ({data.policy.family})"))
    show.pairs(*rows)
    out.print("\nTry:", style="dim")
    keyed, private = (("discreet", "table", into / name, "--rows", "region") for name in NAMES)
    show.command(*keyed, "--columns", "sex")
    show.command(*private, "--columns", "cause", "--epsilon", "0.5", "--dry-run")
    stars = ("--rows", "eyes", "--columns", "hair", "--where", "town=north")
    show.command("discreet", "table", into / "genes", *stars)
    if not no_serve:
        from .serving import serve

        with show.progress(quiet=json) as control:
            _release_featured(made, control)
        out.print()
        serve(into, port=port, public=["all"], public_spends=True, log_level="warning")


def _release_featured(workspace: Workspace, control: Control) -> None:
    """Release what readers see first, so that it is there and free; asked again it costs nothing."""
    from .. import api
    from ..workspace.description_file import read

    shown = [
        (name, one)
        for name in workspace.names
        for one in read(workspace.folder / name).description.featured
    ]
    for number, (name, one) in enumerate(shown):
        part = control.part(number / len(shown), (number + 1) / len(shown), str(one.title))
        with api.open(workspace.folder / name) as data:
            data.recipe(one.mapping).release(control=part)


def init(
    data: Annotated[
        str, Argument(help="A CSV, Parquet or XLSX file, or the address of a database.")
    ],
    into: Annotated[
        Path | None, Option(help="The data set's folder. Default: the file's name.")
    ] = None,
    budget: Annotated[str | None, Option(help="ε allowed for ever (family dp).")] = None,
    family: Annotated[str, Option(help="cell-key, dp or classic.")] = "cell-key",
    delimiter: Annotated[
        str | None, Option(help="Of a CSV file, if it is not recognised: ';' or tab.")
    ] = None,
    encoding: Annotated[str | None, Option(help="Of a CSV file: cp1252, utf-16, …")] = None,
    header: Annotated[
        bool | None, Option(help="Whether a CSV file begins with column names.")
    ] = None,
    table: Annotated[
        str | None, Option(help="Of a database or a cluster: which table, as schema.table.")
    ] = None,
    unit: UnitWord = "",
    id_column: IdColumn = None,
    records_per_unit: RecordsPerUnit = None,
    drop: Drop = False,
    leave_out: Annotated[
        list[str] | None, Option(metavar="COLUMN", help="A column to leave out. Repeatable.")
    ] = None,
    weight: Annotated[
        str, Option(metavar="COLUMN", help="The column of weights; none if there is none.")
    ] = "",
    json: Json = False,
) -> None:
    """Look at a file or a database table, write discreet.yaml to edit, and load.

    Who one unit of protection is must be certain: where the file leaves a doubt it is asked, or
    left undecided, and then nothing is loaded.

    [bold]discreet init deaths.csv --into work/deaths[/bold]

    [bold]discreet init deaths.csv --family dp --budget 2[/bold]

    [bold]discreet init stays.csv --id patient_id --unit person --records-per-unit 4 --drop[/bold]

    [bold]discreet init 'sqlite:///registry.db?table=deaths'[/bold], or 'book.xlsx::Sheet 2'

    [bold]discreet init postgresql://ann@db.example/registry --table public.deaths[/bold]
    """
    from .. import workspace
    from ..core.description import UNDECIDED
    from ..workspace import initialising, unit_choice
    from ..workspace.description_file import read

    options = _csv_options(delimiter, encoding, header)
    folder = into or Path(initialising.folder_name(data, table))
    initialising.refuse_described(folder)
    policy = initialising.PolicyChoice(family, None if budget is None else {"epsilon": budget})
    policy.check()
    with show.progress(quiet=json) as control:
        seen = initialising.look(data, control, options, table)
        draft = initialising.propose(
            seen,
            folder,
            policy,
            unit=workspace.UnitChoice(unit, id_column, records_per_unit, drop),
            columns=workspace.ColumnChoice(tuple(leave_out or ()), weight),
        )
    if draft.unit == UNDECIDED and not json and units.interactive():
        chosen = units.ask(draft)
        if chosen is not None:
            unit_choice.settle(draft, chosen)
    with show.progress(quiet=json) as control:
        started = initialising.begin(draft, folder, control)
    _tell_variables(read(folder), started.loaded, json, started=started)
    if draft.secret and not json:
        show.prose(NOT_WRITTEN)


def _csv_options(
    delimiter: str | None, encoding: str | None, header: bool | None
) -> dict[str, str] | None:
    said = {"delimiter": delimiter, "encoding": encoding}
    said["header"] = None if header is None else "yes" if header else "no"
    return {key: value for key, value in said.items() if value is not None} or None


def load(path: DataSetPath, json: Json = False) -> None:
    """Load the source named in discreet.yaml again, as a new version.

    If it is killed, the data set is whole all the same: the old version or the new one.
    """
    from .. import workspace
    from ..workspace.checks import small_keys
    from ..workspace.description_file import read

    folder = workspace.resolve(path)
    with show.progress(quiet=json) as control:
        loaded = workspace.load(folder, control)
    unfit = [f"{found.what} {found.todo}" for found in small_keys(folder, read(folder))]
    _tell_variables(read(folder), loaded, json, warnings=unfit)


def declare(
    path: DataSetPath,
    variables: Annotated[
        list[str] | None, Argument(help="Variables to declare; none lists them.")
    ] = None,
    all_of_them: Annotated[bool, Option("--all", help="Declare every variable.")] = False,
    unit: UnitWord = "",
    id_column: IdColumn = None,
    records_per_unit: RecordsPerUnit = None,
    drop: Drop = False,
) -> None:
    """Declare categories and hierarchies of variables to be public facts, or who one unit is.

    What `init` found in the data says something about people until the custodian declares it.
    Family dp refuses a variable before that. `discreet check` says what is unsafe.

    [bold]discreet declare work/deaths area sex[/bold]

    [bold]discreet declare work/stays --unit person --id patient_id --records-per-unit 4 --drop[/bold]
    """
    from .. import workspace
    from ..workspace.description_file import read

    folder = workspace.resolve(path)
    out = show.console()
    if unit or id_column or records_per_unit or drop:
        choice = workspace.UnitChoice(unit, id_column, records_per_unit, drop)
        with show.progress() as control:
            written = workspace.declare_unit(folder, choice, control)
        for line in written:
            out.print(line, markup=False)
        if "records_per_unit_from: data" in written:
            show.advice(units.found_in_data(folder))
        out.print("Then run:")
        show.command("discreet", "load", folder)
        if not variables and not all_of_them:
            return
    if not variables and not all_of_them:
        names = ", ".join(read(folder).description.undeclared) or "none: everything is declared"
        out.print(f"Still only found in the data: {names}")
        return
    chosen = None if all_of_them else set(variables or ())
    with show.progress() as control:
        findings = workspace.check(folder, control)
    for finding in findings:
        if finding.severity == "warning" and (chosen is None or finding.where in chosen):
            show.prose(f"{finding.where}: {finding.what}", style="yellow")
    done = workspace.declare(folder, None if all_of_them else variables)
    out.print(f"Declared: {', '.join(done) or 'nothing new'}")


def check(path: DataSetPath, json: Json = False) -> None:
    """Is the data set sound, and what makes it unsafe? For the custodian.

    Ends with 3 while something is to do before questions are answered, with 5 where something is
    broken.

    [bold]discreet check demo/deaths[/bold]
    """
    from .. import rules, workspace
    from ..workspace.description_file import read

    folder = workspace.resolve(path)
    with show.progress(quiet=json) as control:
        findings = workspace.check(folder, control)
    described = read(folder)
    rules.check_rules(described.policy, described.description)
    said = rules.in_words(described.policy)
    family, method = str(described.policy.family), described.policy.method
    if json:
        facts = {"dataset": folder.name, "family": family, "method": method, "rules": said}
        show.as_json(facts, findings=[asdict(finding) for finding in findings])
    else:
        show.pairs(("family", family), ("method", method), *(("rule", r) for r in said))
        _tell_findings(findings)
    found = {finding.severity for finding in findings}
    if not found.isdisjoint(("error", "to do")):
        raise typer.Exit(5 if "error" in found else 3)


def _tell_findings(findings: Sequence[Finding]) -> None:
    """Each finding as a paragraph, with its remedy below it."""
    if not findings:
        show.console().print("Sound; nothing to mend.")
    styles = {"error": "bold red", "to do": "bold", "warning": "yellow", "note": "dim"}
    for finding in findings:
        show.console().print()
        show.prose(f"{finding.severity}: {finding.where}", style=styles[finding.severity])
        show.prose(finding.what, indent=2)
        show.advice(finding.todo, indent=2)


def upgrade(
    folder: Annotated[Path, Argument(metavar="DIR", help="A workspace, or one data set.")],
    json: Json = False,
) -> None:
    """Carry a workspace of discreet 0.1 over: budgets stay spent, old answers are found.

    Stop its server first. A copy is kept beside it; running it again does no harm.

    [bold]discreet upgrade demo[/bold]
    """
    from ..workspace.upgrade import upgrade as carry_over

    done = carry_over(folder)
    if json:
        show.as_json(done.to_json())
        return
    out = show.console()
    if done.copy is None:
        out.print(f"{folder} is of today's form. Nothing was done.")
        return
    rows = [("copy", str(done.copy))]
    for ledger in done.ledgers:
        rows.append((ledger.dataset, ledger.in_words()))
        rows += [("", sentence) for sentence in ledger.left]
    rows.append(("server", f"{done.saved:,} saved tables and {done.jobs:,} jobs carried over"))
    show.pairs(*rows)
    out.print("The copy holds the same people and the same secrets. Delete it when all is well.")


def _tell_variables(
    described: DescribedData,
    loaded: Loaded | None,
    json: bool,
    *,
    started: Started | None = None,
    warnings: Sequence[str] = (),
) -> None:
    folder, description = described.folder, described.description
    left_out = [] if started is None else started.draft.left_out
    warnings = warnings if started is None else started.warnings()
    rows = [
        (
            variable.name,
            " > ".join(f"{level.name} ({len(level)})" for level in reversed(variable.levels)),
            "declared" if variable.declared else "found",
        )
        for variable in description.variables
    ]
    if json:
        show.as_json(
            folder=str(folder),
            version=loaded.manifest.data_version if loaded else None,
            loaded=loaded.facts() if loaded else None,
            variables=[
                {
                    "name": variable.name,
                    "declared": variable.declared,
                    "levels": {level.name: len(level) for level in variable.levels},
                }
                for variable in description.variables
            ],
            left_out=dict(left_out),
            warnings=list(warnings),
            **({} if started is None else {"unit": units.facts(started.draft)}),
        )
        return
    out = show.console()
    if loaded is None or not loaded.unchanged:
        show.grid(f"{folder}", ("variable", "levels (categories)", "status"), rows)
    if left_out:
        show.grid("Left out", ("column", "because it"), left_out)
    for warning in warnings:
        show.prose(warning, style="yellow")
    for line in [] if started is None else units.told(started.draft, folder):
        show.advice(line.strip(), indent=len(line) - len(line.lstrip()))
    for line in [] if loaded is None else loaded.sentences(description):
        show.prose(line)
    if described.policy.budget is not None and started is not None:
        out.print(f"Budget for ever: {described.policy.budget}. Change it before the first table.")
    out.print(f"Edit {folder}/discreet.yaml, then run:", soft_wrap=True)
    show.command("discreet", "check", folder)
