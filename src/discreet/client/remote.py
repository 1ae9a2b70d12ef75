"""A server, its data sets, drafts and tables: the verbs of `discreet.api` over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import formats as writing
from ..core.control import Control
from ..core.exact import exact
from ..core.guarantee import Guarantee
from ..core.preview_portrait import Previewed
from ..core.table import ProtectedTable
from ..errors import InputError, RecipeError, Refusal, did_you_mean
from ..formats import html, reading
from ..verbs import Asks, Released
from .connection import Connection
from .remote_custody import RemoteCustody
from .remote_job import follow
from .remote_trials import RemoteTrials

if TYPE_CHECKING:
    import httpx

_EXACT = ("epsilon", "delta", "rho")


def connect(
    url: str, token: str | None = None, *, insecure: bool = False, timeout: float = 60.0
) -> Server:
    """A server at `url`; with `token`, as the account it belongs to.

    url         where it is: "https://tables.example.org"
    token       as `discreet user add` printed it
    insecure    send the token over plain http too; else to https and to this machine only
    timeout     seconds to wait for one answer; long tables are jobs and take as long as they take

        with dc.connect("http://127.0.0.1:8000") as server:
            print(server.datasets)
            table = server.open("deaths").table(rows=["region"]).release()
    """
    connection = Connection(url, token, insecure=insecure, timeout=timeout)
    try:
        connection.json("GET", "/session")  # is it there, and is the token good?
    except BaseException:
        connection.close()
        raise
    return Server(connection)


class Server(RemoteCustody):
    """A discreet server. Close it, or use it in a `with` block."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def datasets(self) -> dict[str, str]:
        """Names and titles of the data sets one may ask."""
        listed = self._connection.json("GET", "/datasets")["datasets"]
        return {one["id"]: one["title"] for one in listed}

    @property
    def config(self) -> dict[str, Any]:
        """Limits, methods, formats, and every policy in plain words."""
        return dict(self._connection.json("GET", "/config"))

    def search(self, words: str, *, limit: int = 50) -> dict[str, Any]:
        """Variables, categories and ready tables of all data sets that hold every word."""
        query = {"query": words, "limit": str(limit)}
        return dict(self._connection.json("GET", "/search", query=query))

    def open(self, name: str) -> RemoteDataSet:
        """A data set by name."""
        names = self.datasets
        if name not in names:
            known = ", ".join(names) or "none that you may see"
            raise InputError(
                f"There is no data set {name[:60]!r} here; there is {known}."
                f"{did_you_mean(name, names)}"
            )
        return RemoteDataSet(self._connection, name)

    dataset = open

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<server {self._connection.url}: {', '.join(self.datasets)}>"


class RemoteDataSet(RemoteTrials, Asks["RemoteDraft"]):
    """A data set on a server, ready to be asked for tables."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._path = f"/datasets/{quote(name, safe='')}"
        self.name = name

    @property
    def about(self) -> dict[str, Any]:
        """All that is public about it: title, unit, rules, notes."""
        return dict(self._connection.json("GET", self._path))

    @property
    def variables(self) -> dict[str, list[str]]:
        """Names of variables and, finest first, of their levels."""
        listed = self._connection.json("GET", f"{self._path}/variables")["variables"]
        return {one["name"]: [level["name"] for level in one["levels"]] for one in listed}

    def categories(self, name: str, *, query: str = "", parent: str = "") -> dict[str, str]:
        """Codes and labels of a variable, or of one of its levels.

        With `query` those that hold its words, with `parent` those inside a coarser category.
        """
        path = f"{self._path}/codelists/{quote(name, safe=':')}"
        said = {"query": query, "parent": parent}
        listed = self._connection.json("GET", path, query=said)["categories"]
        return {one["code"]: one["label"] for one in listed}

    def options(self, **recipe: Any) -> dict[str, Any]:
        """For every level: whether it may join the table that the words of `table` ask for."""
        path = f"{self._path}/tables:options"
        return dict(self._connection.json("POST", path, body=recipe or {"rows": []}))

    def question(self, name: str) -> dict[str, Any]:
        """What a hash of the ledger, the register or a file stands for: title, recipe, cells."""
        return dict(self._connection.json("GET", f"{self._path}/questions/{quote(name, safe='')}"))

    def _draft(self, recipe: Mapping[str, Any], user: str, project: str) -> RemoteDraft:
        if user:
            raise InputError("A server knows who asks by the token. Leave user out.")
        sent = {name: _sent(name, value) for name, value in recipe.items()}
        draft = RemoteDraft(self._connection, self._path, sent, project)
        # names that are not there are said now; a lawful no when the table is asked for
        with suppress(Refusal):
            draft._understood()
        return draft

    def ledger_facts(self) -> dict[str, Any]:
        """What was allowed, spent and is left, with every entry; for custodians and auditors."""
        return dict(self._connection.json("GET", f"{self._path}/ledger"))


@dataclass(frozen=True, repr=False)
class RemotePreview(Previewed):
    """What would happen, from public facts: verdict, cost, expected error, and what is left."""

    allowed: bool
    affordable: bool
    breaches: tuple[dict[str, Any], ...]
    alternatives: tuple[dict[str, Any], ...]
    """What would work instead: `words`, whether it was `checked`, and the `recipe` to send."""
    cells: int
    method: str
    cost: str
    answered: bool
    left: str | None
    guarantee: Guarantee | None
    errors: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    as_job: bool
    query: str
    recipe: dict[str, Any]

    def to_json(self, *, look_back: bool = True) -> dict[str, Any]:
        """The same as plain values."""
        promise = None if self.guarantee is None else self.guarantee.to_json()
        return {**vars(self), "guarantee": promise, "answered_before": self.answered}


class RemoteDraft:
    """A recipe that the server has understood and not yet released."""

    def __init__(
        self, connection: Connection, path: str, recipe: dict[str, Any], project: str
    ) -> None:
        self._connection, self._path = connection, path
        self._recipe, self._project = recipe, project

    def preview(self) -> RemotePreview:
        """Verdict, cost and expected error, from public facts only."""
        return self._check()

    def _understood(self) -> RemotePreview:
        """What the names mean and the rules say; without a plan, so that no ε is needed."""
        return self._check(free="true")

    def _check(self, **more: str) -> RemotePreview:
        seen = self._connection.json(
            "POST",
            f"{self._path}/tables:check",
            body=self._recipe,
            query={"project": self._project, **more},
        )
        free = seen["cost"] is None or seen["answered_before"]
        cost = "nothing" if free else seen["cost"]
        facts = {
            name: tuple(value) if isinstance(value, list) else value for name, value in seen.items()
        } | {
            "cost": "" if more else cost,
            "answered": seen["answered_before"],
            "guarantee": Guarantee.from_json(seen["guarantee"]) if seen["guarantee"] else None,
            "query": seen["query"] or "",
        }
        return RemotePreview(**{field.name: facts[field.name] for field in fields(RemotePreview)})

    @property
    def cost(self) -> str:
        """What releasing would charge, in words."""
        return self.preview().cost

    @property
    def guarantee(self) -> Guarantee | None:
        """What the released table would promise; None where it may not be asked at all."""
        return self.preview().guarantee

    @property
    def query(self) -> str:
        """The question in its short form."""
        return self._understood().query

    def release(self, *, free: bool = False, control: Control | None = None) -> RemoteTable:
        """Charge what it costs, then give the protected table; long ones are followed as jobs.

        However often the connection is lost, the question is charged once. With `free`, answer
        from earlier releases on today's data and policy only: nothing is charged, no ε needed.
        """
        control = control or Control()
        seen = self._understood() if free else self.preview()
        control.step(0.0, "asking")
        if free:
            answer, _ = self._ask("json-stat", False, free=True)
            return RemoteTable(self, seen, "nothing", reading.tables(answer.json()), free=True)
        answer, lost = self._ask("json-stat", seen.as_job)
        charged = answer.headers.get("Discreet-Charged") == "yes"
        # an attempt whose answer was lost, and a job, were charged before this answer was made
        earlier = lost or answer.status_code == 202
        if answer.status_code == 202:
            answer = self._follow(answer.json(), control)
        cost = seen.cost if charged or earlier else "nothing"
        return RemoteTable(self, seen, cost, reading.tables(answer.json()))

    def file(self, format: str, *, free: bool = False) -> bytes:
        """The released table as a file of that format, as the server writes it."""
        answer, _ = self._ask(format, False, free=free)
        if answer.status_code == 202:
            answer = self._follow(answer.json(), Control())
        return answer.content

    def _ask(self, format: str, as_job: bool, *, free: bool = False) -> tuple[httpx.Response, bool]:
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        if as_job:
            headers["Prefer"] = "respond-async"
        return self._connection.request(
            "POST",
            f"{self._path}/tables",
            body=self._recipe,
            query={"format": format, "project": self._project, "free": "true" if free else ""},
            headers=headers,
        )

    def _follow(self, job: Mapping[str, Any], control: Control) -> httpx.Response:
        """A job to its end: progress is passed on, a stop is passed back."""
        path = f"/jobs/{quote(str(job['id']), safe='')}"
        follow(self._connection, path, job, control)
        answer, _ = self._connection.request("GET", f"{path}/result")
        control.step(1.0, "done")
        return answer

    def __repr__(self) -> str:
        try:
            seen = self.preview()
        except InputError:  # an ε is missing, say, which a free table does not need
            return f"<draft {self.query}>"
        return f"<draft {seen.query or f'of {len(seen.errors)} tables'}; costs {seen.cost}>"

    def _repr_html_(self) -> str:
        try:
            seen = self.preview()
        except InputError:  # an ε is missing, say, which a free table does not need
            seen = self._understood()
        return seen._repr_html_()


class RemoteTable(Released):
    """A released table (or several): numbers, errors, guarantee, and files."""

    def __init__(
        self,
        draft: RemoteDraft,
        seen: RemotePreview,
        cost: str,
        tables: list[ProtectedTable],
        *,
        free: bool = False,
    ) -> None:
        self._draft, self._seen, self._free = draft, seen, free
        self.files: list[str] = []
        self.tables = tuple(tables)
        self.cost = cost
        """What was charged, in words."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.protected.guarantee

    @property
    def query(self) -> str:
        """The question in its short form."""
        return self._seen.query

    def write(self, path: str | Path, formats: str | Sequence[str] | None = None) -> Path:
        """Write a file, where the path's ending or one format says which; else a folder.

        A file is the one the server makes. The folder holds the tables alone, as CSV and XLSX
        unless `formats` lists others: report, manifest, register and synthetic records are made
        where the data are, with `discreet release`.
        """
        target = Path(path)
        name = writing.one_file(target, formats)
        try:
            if name:
                content = self._draft.file(name, free=self._free)
                with writing.new_file(target) as stream:
                    stream.write(content)
                    beside = writing.write_beside(name, self.protected, target)
                self.files = [file.name for file in (target, *beside)]
            else:
                self.files = self._write_folder(target, formats or writing.IN_FOLDERS)
        except OSError as error:
            raise InputError(
                f"Cannot write {target}: {(error.strerror or str(error)).lower()}."
            ) from None
        return target

    def _write_folder(self, folder: Path, wanted: str | Sequence[str]) -> list[str]:
        kinds = [writing.by_name(one) for one in ([wanted] if isinstance(wanted, str) else wanted)]
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        files = []
        for number, table in enumerate(self.tables, 1):
            words = "-".join(axis.level.name for axis in table.domain.axes) or "total"
            for kind in kinds:
                place = folder / "tables" / f"{number}-{words}{kind.extension}"
                files += writing.write(table, place, kind.name)
        return [str(file.relative_to(folder)) for file in files]

    def _repr_html_(self) -> str:
        shown = "".join(html.notebook(table) for table in self.tables)
        return f"{shown}<p>Charged: {escape(self.cost)}.</p>"


def _sent(name: str, value: object) -> object:
    """A parameter as JSON can carry it; exact numbers travel as text, a float is refused."""
    if name in _EXACT or isinstance(value, float):
        exact(value, name, error=RecipeError)
        return str(value)
    return value
