"""The gate every request comes through: limits, who is asking, headers, the audit log.

It is the outermost layer: whatever goes wrong inside becomes a problem without a trace here, and
no answer leaves before its row is in the audit log, where it has one (`FILES`).
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Bug
from . import cross_origin, logs, packing, uploads
from .auth import PUBLIC, Asker, identify
from .negotiation import reader_language
from .problems import Problem, behind

if TYPE_CHECKING:
    from .service import Service

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
POLICY = (
    "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_FIXED = {name.lower().encode(): value.encode() for name, value in SECURITY.items()}
_UNLESS_SAID = ((b"content-security-policy", POLICY.encode()), (b"cache-control", b"no-store"))
_DRAWN = random.Random(secrets.randbits(256))
"""Numbers of requests: no secrets, so that nobody waits for the system to draw them."""
PROGRAMS = ("/api/", "/pxweb/")
"""Where programs ask. What is posted elsewhere is a form of our own pages: it works without
scripts, so it carries its CSRF token in the body."""

PROBES = ("/health", "/ready", "/metrics")
"""What operators watch: the same to everybody, and told while accounts and audit log are out of reach."""
FILES = ("/assets/{name}", "/api/v1/docs/{name}")
"""Style sheets, scripts and icons, the same to everybody: no rows of the audit log."""
OPEN = (*PROBES, "/api/v1/docs", "/api/v1/openapi.json")
"""Pages that need no guard: they say nothing about any data set."""


class Gate:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer for it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            # whatever can be read can be asked about; what would spend or begin a job is refused
            scope = {**scope, "method": "GET", "state": {**scope.get("state", {}), "head": True}}
        passage = Passage(self.service, scope, send)
        try:
            problem = await self._entered(passage)
            asked = cross_origin.preflight(scope, self.service.settings.readable_from)
            if problem is None and asked is not None:
                scope["state"]["guarded"] = True  # it says what may be asked, and answers nothing
                await asked(scope, receive, passage.send)
                return
            if problem is None and uploads.streams(scope):
                paced = uploads.paced(receive, self.service.settings.body_seconds)
                await self.app(scope, paced, passage.send)
                return
            if problem is None:
                body = await self._body(scope, receive)
                if body is not None:
                    await self.app(scope, _replay(body, receive), passage.send)
                return
        except Exception as error:
            problem = behind(error)
        if passage.started:
            return  # the head is out: all we can do is end the connection
        response = await run_in_threadpool(self._shown, scope, receive, problem)
        if problem.status in (408, 413):
            response.headers["Connection"] = "close"
        await response(scope, receive, passage.send)

    async def _entered(self, passage: Passage) -> Problem | None:
        """Let a request in; other requests go on while a shared database is asked who this is."""
        if self.service.shared and passage.says_who:
            return await run_in_threadpool(passage.enter)
        return passage.enter()

    def _shown(self, scope: Scope, receive: Receive, problem: Problem) -> Response:
        """A problem as a document, or on a page for people as a page."""
        from ..web import frame

        accept = Headers(scope=scope).get("accept", "")
        if problem.status in (408, 413, 431) or not frame.asks_for_page(scope["path"], accept):
            return problem.response(reader_language(Request(scope, receive)))
        return frame.problem(Request(scope, receive), problem)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body, within limits of size and time; None where the client hung up before."""
        most = self.service.settings.most_body_bytes
        length = first(scope, b"content-length") or "0"
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.service.settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise _too_large(most)
                    parts.append(part)
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            seconds = self.service.settings.body_seconds
            raise Problem(
                408, "slow", f"The body took longer than {seconds:g} s to arrive. Send it again."
            ) from None
        return b"".join(parts)


class Passage:
    """One request on its way through, and what is remembered of it."""

    def __init__(self, service: Service, scope: Scope, send: Send) -> None:
        self.service = service
        self.scope = scope
        self._send = send
        self.started = False
        self.replaced = False
        self._held: Message | None = None
        self.asker: Asker = PUBLIC
        self.request = f"{_DRAWN.getrandbits(64):016x}"
        self.began = time.perf_counter()
        self.extra: dict[str, str] = {}
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["asker"] = PUBLIC
        self.notes: dict[str, Any] = {}
        state["notes"] = self.notes
        state["request_id"] = self.request
        self.head = bool(state.get("head"))
        self.probe = scope["path"] in PROBES

    @property
    def says_who(self) -> bool:
        """Whether the accounts must be asked who this is."""
        names = {name for name, _ in self.scope["headers"]}
        return not self.probe and not names.isdisjoint((b"authorization", b"cookie"))

    def enter(self) -> Problem | None:
        """Check what can be checked before anything is read; the problem, where there is one."""
        scope, settings = self.scope, self.service.settings
        raw = scope["headers"]
        if len(raw) > 100 or sum(len(k) + len(v) for k, v in raw) > settings.most_header_bytes:
            return Problem(431, "headers", "The headers are too many or too long. Send fewer.")
        if sum(name == b"host" for name, _ in raw) > 1:
            return Problem(400, "host", "The request has more than one Host header. Send one.")
        if settings.hosts and _host(scope) not in settings.hosts:
            # a page elsewhere may have made its own name point to this machine
            return Problem(421, "host", "This server does not answer to that name.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > 8192:
            return Problem(
                413, "too-large", "The address is longer than 8,192 characters. Use POST."
            )
        try:
            self.asker = self._identified() if self.says_who else PUBLIC
        except Problem as problem:
            return self._limited() or problem
        scope["state"]["asker"] = self.asker
        return self._limited()

    def _identified(self) -> Asker:
        scope = self.scope
        return identify(
            self.service.accounts,
            self.service.settings,
            scope["method"],
            Headers(scope=scope),
            form=not scope["path"].startswith(PROGRAMS),
        )

    def _limited(self) -> Problem | None:
        address = (scope_client := self.scope.get("client")) and scope_client[0]
        who = self.asker.via if self.asker.via.startswith("token") else self.asker.name
        allowance = self.service.buckets.take(who or f"ip {address}")
        self.extra = allowance.headers()
        if allowance.allowed:
            return None
        return Problem(
            429,
            "too-often",
            f"More than {allowance.limit} requests in a minute. Wait {allowance.wait_seconds} s.",
        )

    async def send(self, message: Message) -> None:
        """Pass a message on; the head only once its row is in the audit log.

        Where the row cannot be written, the answer stays here and a problem leaves in its place.
        """
        if self.replaced:
            return
        if self._held is not None and message["type"] == "http.response.body":
            start, self._held = self._held, None
            start, message = await self._packed(start, message)
            await self._send(start)
        if message["type"] == "http.response.start" and not self.started:
            if message["status"] < 400 and not self._let_through():
                raise Bug(f"No guard let {self.scope['method']} {self.scope['path'][:80]} through.")
            self._dress(message)
            try:
                await self._note(message["status"])
            except Exception as error:
                self.started = self.replaced = True
                await self._instead(behind(error).response())
                return
            self.started = True
            headers = MutableHeaders(raw=message["headers"])
            if packing.can_be(headers):
                packing.vary(headers)
                if packing.taken(Headers(scope=self.scope)):
                    self._held = message  # what follows says how long the answer is
                    return
        if self.head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def _packed(self, start: Message, message: Message) -> tuple[Message, Message]:
        """The answer packed, where that is worth it and tells nothing."""
        body = message.get("body", b"")
        if len(body) < packing.LEAST or message.get("more_body"):
            return start, message
        csrf = self.service.accounts.csrf(self.asker.session) if self.asker.session else ""
        if packing.holds_secret(body, csrf):
            return start, message
        headers = MutableHeaders(raw=start["headers"])
        work = (headers.get("etag", ""), body)
        large = len(body) > 1 << 16
        packed = (
            await asyncio.to_thread(self.service.packed.body, *work)
            if large
            else self.service.packed.body(*work)
        )
        packing.dress(headers, len(packed))
        return start, {**message, "body": packed}

    def _dress(self, message: Message) -> None:
        """The headers that every answer has."""
        ours = {**_FIXED, b"x-request-id": self.request.encode()}
        ours |= {name.lower().encode(): value.encode() for name, value in self.extra.items()}
        if not self.scope["path"].startswith(PROGRAMS):
            # with no-referrer a browser says `Origin: null` even to the page's own server
            ours[b"referrer-policy"] = b"same-origin"
        raw = [pair for pair in message.get("headers", ()) if pair[0] not in ours]
        said = {name for name, _ in raw}
        raw += [pair for pair in _UNLESS_SAID if pair[0] not in said]
        message["headers"] = [*raw, *ours.items()]
        if self.asker is PUBLIC and self.service.settings.readable_from:
            headers = MutableHeaders(raw=message["headers"])
            cross_origin.dress(headers, self.scope, self.service.settings.readable_from)

    async def _instead(self, response: Response) -> None:
        start: Message = {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": list(response.raw_headers),
        }
        self._dress(start)
        await self._send(start)
        body = b"" if self.head else bytes(response.body)
        await self._send({"type": "http.response.body", "body": body})

    def _let_through(self) -> bool:
        """Whether a guard let this request in; a few pages are open to everybody."""
        return bool(self.scope["state"].get("guarded")) or self.scope["path"].startswith(OPEN)

    async def _note(self, status: int) -> None:
        scope = self.scope
        route = getattr(scope.get("route"), "path", "") or "unknown"
        milliseconds = round((time.perf_counter() - self.began) * 1000, 1)
        self.service.requests.count("HEAD" if self.head else scope["method"], status)
        row = {
            "request": self.request,
            "user": self.asker.name,
            "role": self.asker.role,
            "via": self.asker.via,
            "ip": (scope.get("client") or ("",))[0],
            "method": "HEAD" if self.head else scope["method"],
            "route": route,
            "status": status,
            "milliseconds": milliseconds,
            **self.notes,
        }
        if route not in FILES or status >= 400:
            if self.probe:
                self.service.audit.add(row)
            else:
                # a client that hangs up ends this wait, never the writing of its row
                await self.service.audit.added(row)
        if logs.heard("info"):
            told = {name: value for name, value in row.items() if name in logs.FIELDS}
            logs.say("info", event="request", **told)


def first(scope: Scope, name: bytes) -> str:
    """The first header of this name, or nothing; names are small letters already."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""


def _host(scope: Scope) -> str:
    """The name this server was asked by, without its port."""
    host = first(scope, b"host").rpartition(":")
    return (host[0] if host[2].isdigit() else "".join(host)).lower()


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(most: int) -> Problem:
    return Problem(
        413, "too-large", f"The body is larger than {most:,} bytes, which is the most. Send less."
    )
