"""How busy the machine is, and how much of that is others': a bench's own work is not load."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path


def _busy_seconds() -> float | None:
    """Processor seconds of everything on the machine since it started; None outside Linux."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft, steal, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Load:
    """The load average when a bench began, and the cores that others kept busy while it ran."""

    before: float
    others: float | None

    def __str__(self) -> str:
        others = "" if self.others is None else f", others {self.others:.1f} cores"
        return f"{self.before:.1f}{others}"


class Watch:
    """Made before a child process starts, read after it has ended and been waited for."""

    def __init__(self) -> None:
        self._before = os.getloadavg()[0]
        self._start = time.perf_counter(), _busy_seconds(), _children_seconds()

    def read(self) -> Load:
        clock, busy, children = self._start
        now = _busy_seconds()
        if busy is None or now is None:
            return Load(self._before, None)
        others = (now - busy) - (_children_seconds() - children)
        return Load(self._before, max(0.0, others / (time.perf_counter() - clock)))
