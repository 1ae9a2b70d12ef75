"""The app: gate, guards, routes under /api/v1, and the page that documents them."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from .. import __version__
from ..errors import Bug, DiscreetError
from ..web import frame
from ..web.routes import ROUTERS as PAGES
from . import documentation, logs, problems, pxweb, routes
from .auth import Guard, GuardedRoute, cookie_name
from .gate import Gate
from .negotiation import reader_language
from .problems import Problem, ProblemDocument
from .service import Service
from .settings import Settings
from .worker import Worker

_ARENA_MAX = -8
"""M_ARENA_MAX of the C library."""

PREFIX = "/api/v1"

TAGS = {
    "catalogue": "What there is: data sets, variables, code lists, search.",
    "tables": "What a table would cost and say, the table itself, and what may be concluded from it.",
    "saved tables": "Recipes people keep.",
    "releases": "Tables published once, with their documents.",
    "jobs": "Long work: progress, results, cancelling.",
    "questions": "What a question's hash stands for.",
    "requests": "What people ask of custodians.",
    "budgets": "What may be spent, what was, and shares of it.",
    "oversight": "Ledger, policies and audit log, for custodians and auditors.",
    "drafts": "New data sets and new versions: a file, what was found, what is said of it.",
    "custody": "What waits for a custodian.",
    "policies": "Policies tried out on public facts.",
    "rehearsals": "What a policy does to true tables, for custodians only.",
    "session": "Logging in and out.",
    "tokens": "Tokens of one's own.",
    "users": "Accounts.",
    "pxweb": "PxWebApi v2: saved tables as PxWeb's tools read them; nothing here spends.",
}
"""What the parts of the API are, for its document."""


def _operation_name(route: APIRoute) -> str:
    """What generated clients call an operation: its part of the API and its verb."""
    words = " ".join((*map(str, route.tags[:1]), route.name)).lower()
    return re.sub(r"[^a-z0-9]+", "_", words)


def create_app(workspace: Path, settings: Settings | None = None) -> FastAPI:
    """The server of a workspace as an ASGI app; opens its files at once, data sets when asked."""
    settings = settings or Settings()
    service = Service(Path(workspace), settings)
    worker = Worker(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = max(
            40, settings.slots + settings.waiting + 24
        )
        worker.start()
        try:
            yield
        finally:
            worker.stop()
            service.close()

    app = FastAPI(
        title="discreet",
        version=__version__,
        summary="Protected frequency tables with exact guarantees.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        openapi_tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        servers=[{"url": "/", "description": "This server."}],
        generate_unique_id_function=_operation_name,
    )
    app.state.service, app.state.settings, app.state.worker = service, settings, worker
    for error in (Problem, DiscreetError, RequestValidationError, HTTPException):
        app.add_exception_handler(error, _on_error)
    for router, prefix in guarded_routers():
        refuse_unguarded(router)
        app.include_router(router, prefix=prefix)
    app.include_router(documentation.router(PREFIX), include_in_schema=False)
    app.add_middleware(Gate, service=service)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def guarded_routers() -> list[tuple[APIRouter, str]]:
    """Every router behind a guard, and where it is mounted."""
    mounted = [(router, PREFIX) for router in routes.routers()]
    return [*mounted, *((router, "") for router in (*PAGES, *pxweb.ROUTERS))]


async def _on_error(request: Request, error: Exception) -> Response:
    """Whatever a route raised: a problem document, or on a page for people a page."""
    problem = problems.behind(error)
    if problem.status == 422 and request.url.path.startswith(pxweb.PREFIX):
        problem.status = 400  # as PxWebApi documents it
    if problem.status == 405:
        problem.headers = {**(problem.headers or {}), "Allow": ", ".join(_methods(request))}
    if rule := problem.more.get("rule"):
        request.state.notes["rule"] = rule
    if frame.asks_for_page(request.url.path, request.headers.get("accept", "")):
        return await run_in_threadpool(frame.problem, request, problem)
    return problem.response(reader_language(request))


def _methods(request: Request) -> list[str]:
    """All methods that the address takes, by whatever routes; what can be read, HEAD too."""
    taken: set[str] = set()
    path = request.url.path
    for router, prefix in guarded_routers():
        scope = {**request.scope, "path": path.removeprefix(prefix), "root_path": ""}
        for route in router.routes:
            if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
                taken |= route.methods or set()
    return sorted(taken | ({"HEAD"} if "GET" in taken else set()))


def from_environment() -> FastAPI:
    """The app of a worker process, from what `discreet serve` wrote into the environment."""
    _few_arenas()
    workspace, settings = Settings.from_environment()
    logs.set_up(settings.log_level)
    return create_app(workspace, settings)


def _few_arenas() -> None:
    """Threads share two arenas of the allocator: with one for each, memory freed in one is kept.

    Where the C library has no such setting nothing is changed.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def refuse_unguarded(router: APIRouter) -> None:
    """Deny by default: a route that lets nobody in particular through is our mistake.

    The gate holds to it as well: an answer that no guard let through becomes an error.
    """
    for route in router.routes:
        if not isinstance(route, GuardedRoute) or not isinstance(route.guard, Guard):
            raise Bug(f"The route {getattr(route, 'path', '')} has no guard.")


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            routes=app.routes,
            tags=app.openapi_tags,
            servers=app.servers,
            description="Errors are application/problem+json. ε, δ and ρ are text.",
        )
        parts = schema.setdefault("components", {})
        forms = parts.setdefault("schemas", {})
        forms["ProblemDocument"] = ProblemDocument.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        for name, form in forms["ProblemDocument"].pop("$defs", {}).items():
            forms.setdefault(name, form)
        parts["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": cookie_name(app.state.settings),
            },
        }
        schema["security"] = [{}, {"token": []}, {"session": []}]
        for path in schema["paths"].values():
            for operation in path.values():
                # the framework documents its own validation error; ours is a problem
                if invalid := operation["responses"].get("422"):
                    invalid["content"] = problems.documented(422)[422]["content"]
        for name in ("HTTPValidationError", "ValidationError"):
            forms.pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
