"""What an operator may watch: counts of requests and jobs, in Prometheus' text form.

Nothing here depends on data: no data set, question, user or time that a count took has a label or a value.
Each process counts for itself and says which it is.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import TYPE_CHECKING

from ..version import __version__

if TYPE_CHECKING:
    from .service import Service

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Requests:
    """How many requests ended how."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: Counter[tuple[str, str]] = Counter()

    def count(self, method: str, status: int) -> None:
        """One request more; statuses are counted by their first digit."""
        kind = (method if method in _METHODS else "other", f"{status // 100}xx")
        with self._lock:
            self._ended[kind] += 1

    def lines(self) -> list[str]:
        """As Prometheus reads them."""
        process = os.getpid()
        with self._lock:
            ended = sorted(self._ended.items())
        return [
            "# HELP discreet_requests_total Requests that were answered.",
            "# TYPE discreet_requests_total counter",
            *(
                f'discreet_requests_total{{process="{process}",method="{method}",status="{status}"}} '
                f"{number}"
                for (method, status), number in ended
            ),
        ]


def text(service: Service, *, ready: bool) -> str:
    """Everything that may be watched."""
    states = Counter(job.state for job in service.jobs.unended()) if ready else Counter()
    lines = [
        "# HELP discreet_info The version that serves.",
        "# TYPE discreet_info gauge",
        f'discreet_info{{version="{__version__}"}} 1',
        "# HELP discreet_ready Whether tables can be asked for.",
        "# TYPE discreet_ready gauge",
        f"discreet_ready {int(ready)}",
        *service.requests.lines(),
        "# HELP discreet_jobs Jobs that wait or run, on all hosts.",
        "# TYPE discreet_jobs gauge",
        *(f'discreet_jobs{{state="{state}"}} {states[state]}' for state in ("waiting", "running")),
    ]
    return "\n".join(lines) + "\n"
