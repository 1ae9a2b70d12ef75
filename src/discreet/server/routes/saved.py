"""`/saved`: recipes people keep. A saved table is run on today's data each time it is read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Request, Response

from ...recipe import to_mapping
from ...store.catalogue import ALL, Saved
from .. import responses
from ..asking import Asking, understood
from ..auth import ASKERS, KEEPERS, Asker, CurrentAsker, guarded
from ..problems import documented, not_found
from ..requests import SaveForm
from ..service import Service, Serving
from .parts import MOST, Most, Offset
from .table_parameters import FormatName, LanguageName, Project
from .tables import TABLE, answer

reading = guarded(ASKERS, "tables", "saved tables")
keeping = guarded(KEEPERS, "tables", "saved tables")
ROUTERS = [reading, keeping]

SavedId = Annotated[str, Path(max_length=64)]


@reading.get("/saved", response_model=responses.SavedList)
def saved(
    service: Serving, asker: CurrentAsker, offset: Offset = 0, most: Most = MOST
) -> dict[str, Any]:
    """Saved tables, newest first: one's own, and those shared with who may see their data set.

    `next` says where to go on.
    """
    listed, onward = part(service, asker, offset, most)
    return {"saved": [facts(one) for one in listed], "next": onward}


def readable(
    service: Service, asker: Asker, *, shared: bool = True, offset: int = 0, most: int = ALL
) -> list[Saved]:
    """The saved tables an asker may read, newest first; those of others where they are shared."""
    reader = asker.user if asker.name else None
    return service.catalogue.readable(
        reader, service.visible(asker), shared=shared, offset=offset, most=most
    )


def part(service: Service, asker: Asker, offset: int, most: int) -> tuple[list[Saved], int | None]:
    """Some of them, and where the next ones begin; None where nothing is left."""
    listed = readable(service, asker, offset=offset, most=most + 1)
    return listed[:most], offset + most if len(listed) > most else None


@keeping.post("/saved", status_code=201, responses=documented(409, 415))
def save(
    service: Serving, asker: CurrentAsker, body: SaveForm, response: Response
) -> responses.SavedTable:
    """Keep a recipe; it is refused where asking would be, and not run."""
    with service.dataset(asker, body.dataset) as data:
        asked = understood(asker, data, body.recipe.mapping())
        Asking(service, asker, data, asked).may_be_kept()
        saved = service.catalogue.save(
            asker.user,
            body.dataset,
            body.title or asked.title,
            to_mapping(asked),
            shared=body.shared,
        )
    response.headers["Location"] = f"/api/v1/saved/{saved.id}"
    return facts(saved)


@reading.get("/saved/{saved}")
def one(service: Serving, asker: CurrentAsker, saved: SavedId) -> responses.SavedTable:
    """A saved table's recipe."""
    return facts(find(service, asker, saved))


@keeping.delete("/saved/{saved}", status_code=204, response_class=Response)
def forget(service: Serving, asker: CurrentAsker, saved: SavedId) -> Response:
    """Delete a saved table of one's own."""
    if not service.catalogue.forget(asker.user, saved):
        raise not_found("saved table")
    return Response(status_code=204)


@reading.get("/saved/{saved}/table", response_class=Response, responses=TABLE)
def table(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    saved: SavedId,
    format: FormatName = None,
    language: LanguageName = None,
    project: Project = None,
) -> Response:
    """The table itself, on today's data; charged like any other question, once."""
    found = find(service, asker, saved)
    with service.dataset(asker, found.dataset) as data:
        recipe = understood(asker, data, found.recipe)
        language = language or recipe.layouts[0].language
        return answer(
            Asking.of(request, data, recipe, format=format, language=language, project=project)
        )


def find(service: Service, asker: Asker, identity: str) -> Saved:
    """A saved table this asker may read; another's is as if it were not there."""
    for saved in service.catalogue.saved(identity):
        if _may_read(saved, asker) and saved.dataset in service.visible(asker):
            return saved
    raise not_found("saved table")


def _may_read(one: Saved, asker: Asker) -> bool:
    return one.shared or (bool(asker.name) and one.owner == asker.user)


def facts(one: Saved) -> responses.SavedTable:
    """A saved table as clients see it."""
    return responses.SavedTable(**asdict(one), table=f"/api/v1/saved/{one.id}/table")
