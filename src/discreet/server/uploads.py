"""Files on their way in: requests whose body is too large to be held, and is read as it comes.

Everything else the gate reads whole, within its limits. Here each part of the body must come within
some seconds of the one before; how many there may be in all the route decides, piece by piece, and
nothing is read before its guard let the request in.
"""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from ..languages import say
from .problems import Problem

PIECE = re.compile(r"/api/v1/drafts/[^/]+/file")
FORM = re.compile(r"/custodian/new(/version/[^/]+)?")


def streams(scope: Scope) -> bool:
    """Whether a request carries the bytes of a file."""
    path, headers = scope["path"], Headers(scope=scope)
    if scope["method"] == "PATCH":
        return PIECE.fullmatch(path) is not None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    form = scope["method"] == "POST" and FORM.fullmatch(path) is not None
    return form and kind == "multipart/form-data"


def paced(receive: Receive, seconds: float) -> Receive:
    """The same messages; a sender that falls silent is not waited for."""

    ended = False

    async def next_message() -> Message:
        nonlocal ended
        try:
            async with asyncio.timeout(None if ended else seconds):
                message = await receive()
                ended = not message.get("more_body")
                return message
        except TimeoutError:
            raise Problem(
                408,
                "slow",
                say(
                    "Nothing arrived for {seconds} s. Go on from where it stopped.",
                    seconds=round(seconds),
                ),
                headers={"Connection": "close"},
            ) from None

    return next_message
