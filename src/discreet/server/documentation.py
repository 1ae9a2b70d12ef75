"""The API's own page: made from the OpenAPI document, usable offline, nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from ..formats.html import template
from . import metrics

_KINDS = {"docs.js": "text/javascript", "docs.css": "text/css"}


def router(prefix: str) -> APIRouter:
    """The page with its script and style, and a sign of life; open to everybody."""
    pages = APIRouter()

    @pages.get(f"{prefix}/docs")
    async def docs(request: Request) -> HTMLResponse:
        return HTMLResponse(page(request.app.openapi(), prefix))

    @pages.get(f"{prefix}/docs/{{name}}")
    async def part(name: str) -> Response:
        if name not in _KINDS:
            return Response(status_code=404)
        text = files("discreet.server").joinpath("static", name).read_bytes()
        return Response(text, media_type=_KINDS[name])

    @pages.get("/health")
    async def health(request: Request) -> JSONResponse:
        state = request.app.state
        parts = {"audit log": state.service.audit.alive, "jobs": state.worker.alive}
        ended = [name for name, alive in parts.items() if not alive]
        if ended:
            return JSONResponse({"status": "failing", "ended": ended}, 503)
        return JSONResponse({"status": "serving"})

    @pages.get("/ready")
    def ready(request: Request) -> JSONResponse:
        failing = request.app.state.service.ready()
        if failing:
            return JSONResponse({"status": "not ready", "failing": failing}, 503)
        return JSONResponse({"status": "ready"})

    @pages.get("/metrics")
    def watched(request: Request) -> Response:
        service = request.app.state.service
        if not service.settings.metrics:
            return Response(status_code=404)
        text = metrics.text(service, ready=not service.ready())
        return Response(text, media_type="text/plain; version=0.0.4")

    return pages


def page(schema: dict[str, Any], prefix: str) -> str:
    """The whole page; readable without scripts, with them every route can be tried."""
    tags: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            tags.setdefault(tag, []).append((path, method, operation))
    docs = template("discreet.server", "docs.html")
    return docs.render(info=schema["info"], prefix=prefix, tags=tags)
