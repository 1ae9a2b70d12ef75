"""The table of a page by other means: its address, curl, Python, R, the command line."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from ..languages import say
from .address import Place


@dataclass(frozen=True)
class Snippet:
    """A few lines to copy."""

    title: str
    text: str
    says: str = ""


def snippets(place: Place, host: str, *, charged: bool) -> list[Snippet]:
    """The same question in five places; what spends says so."""
    api = f"{host}/api/v1/datasets/{place.address.partition('/build/')[2].partition('?')[0]}/tables"
    asked = f"{api}?{place.question}"
    spends = say("Asked for the first time this spends budget; asked again it is free.")
    paid = spends if charged else ""
    token = ' -H "Authorization: Bearer $DISCREET_TOKEN"'
    return [
        Snippet(say("Address"), f"{host}{place.address}", say("This very page.")),
        Snippet("curl", f"curl{token} {shlex.quote(f'{asked}&format=csv')}", paid),
        Snippet("Python", _python(place, host), paid),
        Snippet("R", _r(asked), paid),
        Snippet(say("Command line"), _command(place), paid),
    ]


def _words(place: Place) -> dict[str, Any]:
    said: dict[str, Any] = {side: list(names) for side, names in place.sides.items() if names}
    if place.where:
        said["where"] = {name: list(codes) for name, codes in place.where.items()}
    return said | {name: value for name, value in place.said.items() if name != "language"}


def _python(place: Place, host: str) -> str:
    words = "".join(
        f"    {name}={json.dumps(value, ensure_ascii=False) if not isinstance(value, bool) else value},\n"
        for name, value in _words(place).items()
    )
    return (
        "import discreet as dc\n\n"
        f'server = dc.connect("{host}", token="…")\n'
        f"data = server.open({json.dumps(place.dataset, ensure_ascii=False)})\n"
        f"table = data.table(\n{words}).release()\n"
        "table.to_pandas()"
    )


def _r(asked: str) -> str:
    return (
        "library(httr2)\n\n"
        f"answer <- request({json.dumps(f'{asked}&format=csv')}) |>\n"
        '  req_auth_bearer_token(Sys.getenv("DISCREET_TOKEN")) |>\n'
        "  req_perform()\n"
        "table <- read.csv(text = resp_body_string(answer))"
    )


def _command(place: Place) -> str:
    words = ["discreet", "table", f"DIR/{place.dataset}"]
    for name, value in _words(place).items():
        if name == "where":
            for level, codes in value.items():
                words += ["--where", f"{level}={','.join(codes)}"]
        else:
            text = ",".join(value) if isinstance(value, list) else str(value)
            words += [f"--{name.replace('_', '-')}", text]
    return " ".join(word if word.startswith("--") else shlex.quote(word) for word in words)
