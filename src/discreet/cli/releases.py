"""`discreet releases`: the releases of a workspace's server, made, approved, published, withdrawn.

The same states and rules as over HTTP, in the same place (`store/published.py`). Whoever runs these
commands can write the workspace's files; the name they give is that of a custodian's account, and
the audit log says which system user it was.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..errors import InputError, Refusal
from . import show
from .serving import Workspace
from .tables import Json

if TYPE_CHECKING:
    from ..server.auth import Asker
    from ..server.service import Service

releases_app = typer.Typer(
    help="Releases of a workspace's server: make, approve, publish, withdraw.",
    no_args_is_help=True,
)

Identity = Annotated[str, Argument(metavar="RELEASE", help="Its id, as `list` shows it.")]
By = Annotated[str, Option("--by", help="The custodian's account in whose name this is done.")]
Reason = Annotated[str, Option("--reason", help="Why; it stays with the release.")]
At = Annotated[str | None, Option("--at", help="When: 2030-01-01T09:30:00+00:00.")]


@releases_app.command("list")
def list_releases(path: Workspace, json: Json = False) -> None:
    """Every release with its state.

    [bold]discreet releases list work[/bold]
    """
    with _service(path) as service:
        listed = [_told(service, one.id) for one in service.releases.all()]
    if json:
        show.as_json(releases=listed)
        return
    rows = [(one["id"], one["dataset"], one["state"], one["title"]) for one in listed]
    show.grid("Releases", ("id", "data set", "state", "title"), rows)


@releases_app.command("make")
def make(
    path: Workspace,
    dataset: Annotated[str, Argument(help="A data set of the workspace.")],
    recipe: Annotated[Path, Argument(metavar="RECIPE.yaml", help="What to publish.")],
    title: Annotated[str, Option("--title", help="What readers see.")],
    by: By,
    supersedes: Annotated[str | None, Option(help="The release it takes the place of.")] = None,
    json: Json = False,
) -> None:
    """Make a release, charged now, that waits to be approved.

    [bold]discreet releases make work people tables.yaml --title "People, 2026" --by cora[/bold]
    """
    from ..server import publishing
    from ..server.requests import RecipeForm, ReleaseForm
    from ..workspace.yaml_reader import read_file

    mapping = read_file(recipe).plain()
    mapping.pop("title", None)
    with _service(path) as service, _plainly():
        body = ReleaseForm(
            dataset=dataset,
            recipe=RecipeForm(**mapping),
            title=title,
            supersedes=supersedes,
            draft=True,
        )
        made = publishing.make(service, _custodian(service, by), body)
        _record(service, made.id, f"made by {by}")
        _tell(service, made.id, json=json)


@releases_app.command("approve")
def approve(
    path: Workspace, release: Identity, by: By, reason: Reason, at: At = None, json: Json = False
) -> None:
    """Approve a release that is ready; name, reason and date stay with it.

    [bold]discreet releases approve work 7b11… --by dora --reason "checked"[/bold]
    """
    from ..server import publishing

    with _service(path) as service, _plainly():
        publishing.approved(service, _custodian(service, by), release, reason, at)
        _record(service, release, f"approved by {by}: {reason}")
        _tell(service, release, json=json)


@releases_app.command("publish")
def publish(path: Workspace, release: Identity, by: By, at: At = None, json: Json = False) -> None:
    """Publish an approved release, now or at a time.

    [bold]discreet releases publish work 7b11… --by dora[/bold]
    """
    from ..server import publishing

    with _service(path) as service, _plainly():
        publishing.published(service, _custodian(service, by), release, at)
        _record(service, release, f"published by {by}")
        _tell(service, release, json=json)


@releases_app.command("withdraw")
def withdraw(
    path: Workspace, release: Identity, by: By, reason: Reason, json: Json = False
) -> None:
    """Withdraw a release; the reason stays for everybody to read.

    [bold]discreet releases withdraw work 7b11… --by dora --reason "wrong codes"[/bold]
    """
    from ..server import publishing

    with _service(path) as service, _plainly():
        publishing.withdrawn(service, _custodian(service, by), release, reason)
        _record(service, release, f"withdrawn by {by}: {reason}")
        _tell(service, release, json=json)


@contextmanager
def _service(path: Path) -> Iterator[Service]:
    from ..server.service import Service
    from ..server.settings import Settings
    from ..workspace import Workspace as Folder

    Folder.open(path)
    service = Service(path, Settings())
    try:
        yield service
    finally:
        service.close()


@contextmanager
def _plainly() -> Iterator[None]:
    """What the server would answer as a problem, as one sentence of the command line."""
    from pydantic import ValidationError

    from ..server.problems import Problem

    try:
        yield
    except Problem as problem:
        if problem.status == 403:
            raise Refusal(problem.detail, rule=problem.kind) from None
        raise InputError(problem.detail) from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"The recipe cannot be read at {where}: {first['msg']}.") from None


def _custodian(service: Service, name: str) -> Asker:
    from ..server.auth import Asker
    from ..store.accounts import SCOPES

    known = service.accounts.custodians()
    if name not in known:
        listed = ", ".join(sorted(known)) or "none yet: discreet user add DIR NAME --role custodian"
        raise InputError(f"--by must name a custodian's account, got {name!r}; there is {listed}.")
    return Asker(name, "custodian", SCOPES, "command line")


def _record(service: Service, release: str, what: str) -> None:
    dataset = service.releases.all(release)[0].dataset
    reason = f"release {release} {what}; by the system user {getpass.getuser()}"
    row = {"event": "release changed at the command line", "dataset": dataset, "reason": reason}
    service.audit.add(row).result()


def _told(service: Service, identity: str) -> dict[str, Any]:
    from ..server import publishing

    known = publishing.facts(service, service.releases.all(identity)[0])
    names = ("id", "dataset", "title", "state", "by", "publish_at", "approved", "withdrawn")
    return {name: known[name] for name in names}


def _tell(service: Service, identity: str, *, json: bool) -> None:
    told = _told(service, identity)
    if json:
        show.as_json(told)
        return
    show.console().print(f"{told['id']} ({told['title']}) is {told['state']}.", markup=False)
