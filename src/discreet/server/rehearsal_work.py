"""What the process of a rehearsal does: look, write the report for its owner alone, say how it ended.

Nothing it prints goes anywhere, and what it sends back is how far it is and whether it ended well:
numbers, and errors that might tell of some, are in the report only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..core.control import Control
from ..durable import OWN, replace_text
from ..errors import DiscreetError
from ..languages import told

REPORT = "report.json"
PAGE = "report.html"
Request = Mapping[str, Any]


def run(
    connection: Connection, place: Path, scratch: Path, request: Request, who: str
) -> None:  # pragma: no cover - in a process of its own
    """Do one rehearsal and leave its report in `scratch`."""
    os.umask(0o077)
    os.nice(10)  # requests come first
    tempfile.tempdir = str(scratch)
    with open(os.devnull, "w") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere.fileno(), stream.fileno())
    connection.send(perform(place, scratch, request, who, _control(connection)))


def _control(connection: Connection) -> Control:
    def progress(share: float, doing: str) -> None:
        # the server is gone: so is who asked
        with suppress(BrokenPipeError):
            connection.send((min(share, 0.99), doing))
            return
        os._exit(1)

    return Control(progress)


def perform(place: Path, scratch: Path, request: Request, who: str, control: Control) -> bool:
    """Do it; whether it ended well. What was wrong is in the report then."""
    from . import problems

    try:
        found, page = KINDS[request["what"]](place, request.get("options", {}), who, control)
        found = told(found, request.get("language", ""))
    except DiscreetError as error:
        found, page = problems.behind(error).body(), None
        _write(scratch, found)
        return False
    except Exception as error:
        _write(scratch, problems.bug(error).body())
        return False
    _write(scratch, found)
    if page is not None:
        replace_text(scratch / PAGE, page, mode=OWN)
    return True


def _write(scratch: Path, found: Request) -> None:
    text = json.dumps(found, ensure_ascii=False, default=_plain)
    replace_text(scratch / REPORT, text, mode=OWN)


def _plain(value: object) -> object:
    """numpy's numbers as Python's."""
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


def _compare(
    place: Path, options: Request, who: str, control: Control
) -> tuple[Request, str | None]:
    from .. import trials
    from ..report import comparison_report

    found = trials.compare(place, **options, who=who, control=control)
    return found.to_json(), comparison_report.page(found)


def _attack(
    place: Path, options: Request, who: str, control: Control
) -> tuple[Request, str | None]:
    from .. import trials
    from ..report import attack_report

    found = trials.attack(place, **options, control=control)
    return found.to_json(), attack_report.page(found)


def _simulate(
    place: Path, options: Request, who: str, control: Control
) -> tuple[Request, str | None]:
    from .. import trials, workspace

    draft = options.get("draft")
    wanted = trials.wishes(**{name: part for name, part in options.items() if name != "draft"})
    with workspace.DataSet.open(place) as data:
        found, changes = trials.simulated(data, wanted, draft=draft, control=control.part(0, 0.7))
    control.step(0.7, "counting")
    looked = trials.small_numbers(place, found, who=who)
    more = {} if changes is None else {"difference": list(changes)}
    return found.to_json() | more | {"custodian_only": list(looked.sentences())}, None


KINDS: Mapping[str, Callable[[Path, Request, str, Control], tuple[Request, str | None]]] = {
    "compare": _compare,
    "attack": _attack,
    "simulate": _simulate,
}
