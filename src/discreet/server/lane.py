"""The short way for the commonest request: one table asked with POST, and nothing unusual.

Matching routes, solving dependencies and checking parameters takes the framework longer than a
count of a small data set. A request whose body has the documented form, from somebody who may ask,
goes straight to the route's own function here. Whatever is unusual (an unknown data set or
parameter, a body that does not fit, a header with a meaning) goes the whole way, so that each
refusal is made in one place.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.types import Scope

from ..errors import DiscreetError
from . import problems
from .auth import ASKERS, Asker
from .problems import Problem
from .repeats import ROUTE
from .requests import RecipeForm, read_json
from .routes import tables

if TYPE_CHECKING:
    from .service import Service

_PATH = re.compile(r"/api/v1/datasets/([^/]{1,200})/tables")
_QUERY = re.compile(rb"(?:format=([a-z-]{1,40}))?")


async def straight(service: Service, scope: Scope, body: bytes, asker: Asker) -> Response | None:
    """The answer to an ordinary request for a table; None where it must go the whole way."""
    path, query = _PATH.fullmatch(scope["path"]), _QUERY.fullmatch(scope["query_string"])
    if scope["method"] != "POST" or path is None or query is None:
        return None
    if asker.role not in ASKERS or "tables" not in asker.scopes:
        return None
    if Headers(scope=scope).get("content-type") != "application/json":
        return None
    try:
        service.must_see(asker, path[1])
        form = RecipeForm.model_validate(read_json(body, service.settings.most_json_depth))
    except (Problem, ValidationError, DiscreetError):
        return None
    request = Request(scope)
    request.state.guarded = True
    request.state.notes["route"] = ROUTE
    ask = partial(
        tables.ask,
        request,
        service,
        asker,
        path[1],
        form,
        format=query[1].decode() if query[1] else None,
    )
    try:
        return await asyncio.get_running_loop().run_in_executor(service.pool, ask)
    except DiscreetError as error:
        return problems.of(error).response()
