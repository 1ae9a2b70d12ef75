"""The API's own page: made from the OpenAPI document, usable offline, nothing from elsewhere."""

from __future__ import annotations

import html
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

_KINDS = {"docs.js": "text/javascript", "docs.css": "text/css"}


def router(prefix: str) -> APIRouter:
    """The page with its script and style, and a sign of life; open to everybody."""
    made = APIRouter()

    @made.get(f"{prefix}/docs")
    async def docs(request: Request) -> HTMLResponse:
        return HTMLResponse(page(request.app.openapi(), prefix))

    @made.get(f"{prefix}/docs/{{name}}")
    async def part(name: str) -> Response:
        if name not in _KINDS:
            return Response(status_code=404)
        text = files("discreet.server").joinpath("static", name).read_bytes()
        return Response(text, media_type=_KINDS[name])

    @made.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "serving"})

    return made


def page(schema: dict[str, Any], prefix: str) -> str:
    """The whole page; readable without scripts, with them every route can be tried."""
    tags: dict[str, list[str]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            tags.setdefault(tag, []).append(_operation(path, method, operation))
    body = "".join(
        f"<section><h2>{html.escape(tag)}</h2>{''.join(parts)}</section>"
        for tag, parts in tags.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>discreet API</title><link rel="stylesheet" href="{prefix}/docs/docs.css">'
        f'<script type="module" src="{prefix}/docs/docs.js"></script></head><body><main>'
        f"<h1>discreet API <small>{html.escape(schema['info']['version'])}</small></h1>"
        f"<p>{html.escape(schema['info'].get('summary', ''))} "
        f"{html.escape(schema['info'].get('description', ''))} "
        f'The same as a document for tools: <a href="{prefix}/openapi.json">openapi.json</a>.</p>'
        '<p><label>Token <input id="token" type="password" autocomplete="off"></label></p>'
        f"{body}</main></body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(p['name'])}</code></td><td>{p['in']}</td>"
        f"<td>{'needed' if p.get('required') else ''}</td>"
        f"<td>{html.escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", [])
    )
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    has_body = "requestBody" in operation
    words = html.escape(operation.get("description") or operation.get("summary") or "")
    fields = "".join(
        f"<label>{html.escape(p['name'])} "
        f'<input data-in="{p["in"]}" data-name="{html.escape(p["name"])}"></label>'
        for p in operation.get("parameters", [])
    )
    area = '<label>body <textarea rows="5">{}</textarea></label>' if has_body else ""
    answers = ", ".join(operation["responses"])
    return (
        f'<details data-path="{html.escape(path)}" data-method="{method}">'
        f"<summary><b>{method.upper()}</b> <code>{html.escape(path)}</code></summary>"
        f"<p>{words}</p>{table}<p>Answers: {answers}</p>"
        f"<form>{fields}{area}<button>Try</button></form><pre></pre></details>"
    )
