"""Requests that survive a lost connection, and problems as the exceptions they were.

Every request may be sent again: reading changes nothing, and asking for a table is charged once
however often it is asked (one question, one answer). A request that asks for a table carries one
idempotency key for all its attempts, so a server can tell a repetition from a new request.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .. import errors
from ..version import __version__

API = "/api/v1"
ATTEMPTS = 6
_LONGEST_WAIT = 30.0
_AGAIN = {429, 502, 503, 504}
_BUG = " This is a bug in discreet, please report it."


class Connection:
    """One server, one token; a request is tried again when the connection is lost or it is busy."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        insecure: bool = False,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = _base(url)
        parts = urlsplit(self.url)
        if token and parts.scheme == "http" and not insecure and not _loopback(parts.hostname):
            raise errors.InputError(
                f"A token would travel unencrypted to {parts.netloc}. Use https, or say "
                "insecure=True if the way there is protected otherwise."
            )
        headers = {"User-Agent": f"discreet/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token.strip()}"
        self._http = httpx.Client(
            base_url=self.url + API, headers=headers, timeout=timeout, transport=transport
        )
        self.sleep = sleep

    def json(self, method: str, path: str, **more: Any) -> Any:
        """The answer as plain values."""
        return self.request(method, path, **more)[0].json()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[httpx.Response, bool]:
        """An answer that is no error, and whether an earlier attempt may have reached the server."""
        sent = dict(headers or {})
        lost = False
        wait = 0.2
        params = {k: v for k, v in (query or {}).items() if v not in (None, "")}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._http.request(
                    method, path, json=body, content=content, params=params, headers=sent
                )
            except httpx.TransportError as error:
                lost = lost or not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if attempt == ATTEMPTS:
                    raise _unreachable(self.url, error) from None
                self.sleep(wait)
            except (httpx.InvalidURL, httpx.HTTPError) as error:
                raise errors.InputError(f"Cannot ask {self.url}: {error}") from None
            else:
                if answer.status_code < 400 and not 300 <= answer.status_code < 400:
                    return answer, lost
                kind = _kind(_said(answer))
                again = answer.status_code in _AGAIN and kind != "too-many-jobs"
                if not again or attempt == ATTEMPTS:
                    raise problem(answer)
                if kind == "too-long":
                    sent["Prefer"] = "respond-async"
                self.sleep(max(wait, _retry_after(answer)))
            wait = min(wait * 2, _LONGEST_WAIT)
        raise errors.Bug("A request ended without an answer.")

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()


def _said(answer: httpx.Response) -> dict[str, Any]:
    """The problem document of an error response; empty where it holds none."""
    try:
        facts = answer.json()
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def problem(answer: httpx.Response) -> errors.DiscreetError:
    """The exception that an error response stands for."""
    facts = _said(answer)
    if "detail" not in facts:
        return errors.EngineError(
            f"The server answered {answer.status_code} without saying why. Is {answer.url.host} a "
            "discreet server, and is the address right?"
        )
    return from_problem(facts)


def from_problem(facts: Mapping[str, Any]) -> errors.DiscreetError:
    """The exception that a problem document stands for.

    >>> from_problem({"type": "urn:discreet:refusal", "detail": "No.", "rule": "budget"})
    BudgetExceeded('No.')
    """
    kind, text = _kind(facts), str(facts.get("detail", ""))
    if kind == "refusal":
        rule = str(facts.get("rule") or "")
        offers = [
            errors.Alternative(str(offer.get("words", "")), offer.get("change"))
            for offer in facts.get("alternatives") or []
        ]
        refusal = errors.BudgetExceeded if rule == "budget" else errors.Refusal
        return refusal(text, rule=rule, alternatives=offers)
    if kind == "input":
        known = getattr(errors, str(facts.get("error", "")), errors.InputError)
        if isinstance(known, type) and issubclass(known, errors.InputError):
            return known(text)
        return errors.InputError(text)
    simple: dict[str, type[errors.DiscreetError]] = {
        "key-reused": errors.KeyReused,
        "history-moved": errors.HistoryMoved,
        "store": errors.StoreError,
        "dataset": errors.StoreError,
        "engine": errors.EngineError,
        "busy": errors.EngineError,
        "too-long": errors.EngineError,
        "cancelled": errors.Cancelled,
    }
    if kind == "bug":
        return errors.Bug(text.removesuffix(_BUG))
    return simple.get(kind, errors.InputError)(text)


def _kind(facts: Mapping[str, Any]) -> str:
    return str(facts.get("type", "")).removeprefix("urn:discreet:")


def _retry_after(answer: httpx.Response) -> float:
    sent = answer.headers.get("retry-after", "")
    return min(float(sent), _LONGEST_WAIT) if sent.isdigit() else 0.0


def _unreachable(url: str, error: httpx.TransportError) -> errors.EngineError:
    if isinstance(error, httpx.TimeoutException):
        why = "it did not answer in time"
    elif isinstance(error, httpx.ConnectError):
        why = "nothing answers there"
    else:
        why = "the connection was lost"
    return errors.EngineError(
        f"Cannot reach {url}: {why}, after {ATTEMPTS} attempts. Is the server running? Asking again "
        "is safe: a question is charged once."
    )


def _base(url: str) -> str:
    text = str(url).strip().rstrip("/").removesuffix(API).rstrip("/")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise errors.InputError(
            f"A server's address begins with http:// or https://, got {str(url)[:100]!r}. "
            'Write it as in connect("http://127.0.0.1:8000"); a folder is opened with open().'
        )
    if parts.username or parts.password:
        raise errors.InputError("An address must not hold a name or password. Give token= instead.")
    return text


def _loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
