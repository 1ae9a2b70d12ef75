"""Names in any case, in addresses and bodies, as PxWeb's own server reads them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from ..auth import GuardedRoute, Handler


def as_spelt(name: str, names: Collection[str]) -> str:
    """A name as it is spelt here; any other stays as it is.

    >>> as_spelt("outputformat", ["lang", "outputFormat"]), as_spelt("sex", ["lang"])
    ('outputFormat', 'sex')
    """
    return next((one for one in names if one.casefold() == name.casefold()), name)


class AnyCaseRoute(GuardedRoute):
    """A route whose parameters may be written in any case."""

    async def answer(self, request: Request, read: Handler) -> Response:
        """What a request gets that was let in, its parameters spelt as they are here."""
        names = [field.alias for field in self.dependant.query_params]
        said: list[tuple[str, Any]] = request.query_params.multi_items()
        spelt = [(as_spelt(name, names), value) for name, value in said]
        if spelt != said:
            scope = {**request.scope, "query_string": urlencode(spelt).encode()}
            request = type(request)(scope, request.receive)
        return await read(request)
