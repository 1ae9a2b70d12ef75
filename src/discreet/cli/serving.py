"""`discreet serve` and `discreet user`: a workspace behind HTTP, and who may use it."""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ..errors import InputError
from . import show
from .tables import Json

if TYPE_CHECKING:
    from ..store.accounts import Accounts

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Listening here only, the server answers to these names only."""

Workspace = Annotated[Path, Argument(metavar="DIR", help="A workspace.")]
Origins = Annotated[
    list[str] | None,
    Option(
        metavar="ORIGIN",
        help="Pages of this origin (https://…), or of any (*), may read what is public.",
    ),
]
DraftSources = Annotated[
    list[str] | None,
    Option(
        "--draft-source",
        metavar="HOST/DATABASE",
        help="A database that custodians may make data sets of, read with this server's rights.",
    ),
]
user_app = typer.Typer(help="Accounts of a workspace's server.", no_args_is_help=True)


def serve(
    path: Workspace,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535)] = 8000,
    workers: Annotated[int, Option(min=1, max=64, help="Processes.")] = 1,
    public: Annotated[
        list[str] | None,
        Option(help="A data set anybody may ask without login; 'all' for every one."),
    ] = None,
    public_spends: Annotated[
        bool, Option("--public-spends", help="Asking without login may spend budget.")
    ] = False,
    https: Annotated[
        bool, Option("--https", help="Clients come over https: cookies are Secure.")
    ] = False,
    proxy: Annotated[
        str, Option(help="Addresses of proxies whose X-Forwarded-For is believed.")
    ] = "",
    cors: Origins = None,
    draft_source: DraftSources = None,
    calls_per_minute: Annotated[int, Option(min=1, help="Rate limit of one asker.")] = 600,
    metrics: Annotated[
        bool, Option("--metrics", help="Serve /metrics; keep it from the outside at the proxy.")
    ] = False,
    log_level: Annotated[str, Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve a workspace over HTTP, on this machine only unless told otherwise.

    [bold]discreet serve demo --public all[/bold]

    [bold]discreet serve work --workers 4 --https --proxy 10.0.0.2[/bold]
    """
    from ..server.settings import Settings
    from ..workspace import hosts

    if log_level not in ("debug", "info", "warning", "error"):
        raise InputError(f"--log-level is debug, info, warning or error, got {log_level!r}.")
    hosts.follow(path)  # what other hosts serve, where it is not here yet
    names = _public(path, public or [])
    settings = Settings(
        public=tuple(names),
        public_spends=public_spends,
        workers=workers,
        secure=https,
        calls_per_minute=calls_per_minute,
        log_level=log_level,
        metrics=metrics,
        readable_from=tuple(map(_origin, cors or ())),
        draft_sources=tuple(draft_source or ()),
        hosts=LOOPBACK if host in LOOPBACK and not proxy else (),
    )
    port = _free(host, port)
    os.environ.update(settings.to_environment(path))
    _tell(path, host, port, names, public_spends)
    _tell_hidden(path)
    _listen(host, port, workers, proxy)


def _public(path: Path, names: list[str]) -> list[str]:
    """The data sets that anybody may ask; `*` for every one."""
    from ..workspace import Workspace as Folder

    known = Folder.open(path).names
    for name in names:
        if name not in ("all", "*", *known):
            raise InputError(
                f"--public names {name!r}; {path} has {', '.join(known) or 'no data set'}."
            )
    return ["*"] if "all" in names else names


_ORIGIN = re.compile(
    r"(?P<scheme>https?)://([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?P<port>:[1-9][0-9]{0,4})?"
)
_USUAL_PORTS = {"https": ":443", "http": ":80"}


def _origin(text: str) -> str:
    """An origin as browsers write it: scheme, name and port, nothing after them."""
    parts = _ORIGIN.fullmatch(text)
    if text != "*" and (parts is None or parts["port"] == _USUAL_PORTS[parts["scheme"]]):
        raise InputError(
            "--cors takes an origin as browsers write it, https://name or https://name:port, in "
            f"small letters and without the usual port, got {text!r}."
        )
    return text


def _listen(host: str, port: int, workers: int, proxy: str) -> None:
    """Run the server that the environment describes, until it is stopped."""
    import uvicorn

    os.umask(0o077)  # whatever a library writes meanwhile is the server's alone
    uvicorn.run(
        "discreet.server.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxy),
        forwarded_allow_ips=proxy or "",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
        limit_concurrency=1000,
        http="discreet.server.slow_clients:HeadTimeout",
        ws="none",
    )


def _free(host: str, port: int) -> int:
    """The port to listen on, any free one for 0; refused in a sentence where it cannot be."""
    import socket

    try:
        kind = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind[0], kind[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(kind[4])
            return int(probe.getsockname()[1])
    except OSError as problem:
        raise InputError(
            f"{host}:{port} cannot be listened on ({problem.strerror or 'unknown address'}). "
            "Stop what uses it, or choose another with --port."
        ) from None


def _tell(path: Path, host: str, port: int, public: list[str], spends: bool) -> None:
    out = show.console(error=True)
    at = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
    out.print(
        f"[bold]{path}[/bold] at {at} · API documentation at {at}/api/v1/docs", soft_wrap=True
    )
    if public:
        said = "every data set" if public == ["*"] else ", ".join(public)
        budgets = "; asking may spend their budgets" if spends else ""
        out.print(f"Without login: {said}{budgets}.")
    else:
        out.print("Nothing is public. Accounts:")
        out.print(f"  discreet user add {path} NAME --role analyst", soft_wrap=True)


def _tell_hidden(path: Path) -> None:
    """Warn of variables that only custodians will see, because they were found in the data."""
    from ..errors import DiscreetError
    from ..workspace import Workspace as Folder
    from ..workspace.description_file import read

    folder = Folder.open(path)
    for name in folder.names:
        try:
            described = read(folder.folder / name)
        except DiscreetError:
            continue  # the server goes on without it, and `discreet check` says why
        hidden = described.description.undeclared
        if hidden and not described.policy.family.shows_found:
            show.console(error=True).print(
                f"{name}: {', '.join(hidden)} were found in the data and are not declared. Only "
                "custodians see them, and nobody can ask for them. Where the lists are public "
                f"knowledge: discreet declare {folder.folder / name} {' '.join(hidden)}",
                style="yellow",
                markup=False,
                soft_wrap=True,
            )


@user_app.command("add")
def add(
    path: Workspace,
    name: Annotated[str, Argument(help="a–z, 0–9, . _ @ -")],
    role: Annotated[str, Option(help="analyst, custodian or auditor.")] = "analyst",
    password: Annotated[
        bool, Option("--password", help="Read a password from standard input.")
    ] = False,
    days: Annotated[int, Option(min=1, max=3660, help="How long the token lives.")] = 90,
    json: Json = False,
) -> None:
    """Add an account and print its first token, which is shown only once.

    [bold]discreet user add work ana --role analyst[/bold]
    """
    secret = None
    if password:
        secret = (
            typer.prompt("Password", hide_input=True)
            if sys.stdin.isatty()
            else sys.stdin.readline().rstrip("\n")
        )
    with _accounts(path) as accounts:
        user = accounts.add_user(name, role, password=secret)
        token, _ = accounts.add_token(name, label="first", days=days)
        _record(path, f"add {role} {name}")
    if json:
        show.as_json(user=user.name, role=user.role, token=token, days=days)
        return
    out = show.console()
    out.print(f"Added {user.name} ({user.role}). The token, shown only now and valid {days} days:")
    print(token)
    out.print("Send it as `Authorization: Bearer …`.", style="dim")


@user_app.command("list")
def list_users(path: Workspace, json: Json = False) -> None:
    """Every account and its tokens.

    [bold]discreet user list work[/bold]
    """
    with _accounts(path) as accounts:
        users = accounts.users()
        active = {
            user.name: sum(token.revoked is None for token in accounts.tokens(user.name))
            for user in users
        }
    if json:
        listed = [
            {
                "name": user.name,
                "role": user.role,
                "revoked": user.revoked is not None,
                "tokens": active[user.name],
            }
            for user in users
        ]
        show.as_json(users=listed)
        return
    rows = [
        (u.name, u.role, "revoked" if u.revoked else "active", str(active[u.name])) for u in users
    ]
    show.grid("Accounts", ("name", "role", "", ">tokens"), rows)


@user_app.command("revoke")
def revoke(path: Workspace, name: Annotated[str, Argument()]) -> None:
    """End an account with its tokens and sessions, at once and for ever.

    [bold]discreet user revoke work ana[/bold]
    """
    with _accounts(path) as accounts:
        accounts.revoke_user(name)
        _record(path, f"revoke {name}")
    show.console().print(f"{name} is revoked, with all tokens and sessions.")


def _record(path: Path, what: str) -> None:
    """Say in the audit log what was done to accounts here, and by which system user."""
    from ..store.audit_log import AuditLog

    log = AuditLog(path)
    try:
        reason = f"{what}, by the system user {getpass.getuser()}"
        log.add({"event": "account changed at the command line", "reason": reason}).result()
    finally:
        log.close()


@contextmanager
def _accounts(path: Path) -> Iterator[Accounts]:
    from ..store.accounts import Accounts
    from ..store.workspace_database import WorkspaceDatabase
    from ..workspace import Workspace as Folder

    Folder.open(path)
    with closing(WorkspaceDatabase(path)) as database:
        yield Accounts(database)
