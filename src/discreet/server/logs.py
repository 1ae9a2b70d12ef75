"""Structured logs: one JSON object a line, from an allow-list of fields and nothing else.

No message is formatted from values, no exception text or trace is written: whatever a library
logs is reduced to its name, its level and the format string, which holds no values.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

FIELDS = (
    *("event", "request", "method", "route", "status", "milliseconds"),
    *("user", "role", "dataset", "cells", "question"),
    *("job", "attempt", "error", "place", "workspace", "address"),
)
"""All a line may hold beside time, level and logger."""

_LOGGER = logging.getLogger("discreet.server")


class OneLine(logging.Formatter):
    """A record as JSON; only allowed fields get through."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line |= {name: fields[name] for name in FIELDS if fields.get(name) not in (None, "")}
        else:
            line["event"] = str(record.msg)[:200] if not record.args else "library"
            if record.args:
                line["place"] = f"{record.module}:{record.lineno}"
            if record.exc_info and record.exc_info[0] is not None:
                line |= {"event": "exception", "error": record.exc_info[0].__name__}
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up(level: str) -> None:
    """Send all logs of this process to standard error in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = name != "uvicorn.access"


def heard(level: str) -> bool:
    """Whether lines of this level are written."""
    return _LOGGER.isEnabledFor(getattr(logging, level.upper()))


def say(level: str, **fields: Any) -> None:
    """One line."""
    if heard(level):
        _LOGGER.log(getattr(logging, level.upper()), "", extra={"fields": fields})
