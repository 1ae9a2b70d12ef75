"""A release that is killed at a chosen moment; run in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from discreet import release as flow
from discreet.core.control import Control
from discreet.methods.topdown.fit import kept_parts
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

TABLES = [
    {"rows": ["area:area"], "columns": ["sex", "job"]},
    {"rows": ["region"], "columns": ["sex"]},
]


def asked(data: DataSet, epsilon: str) -> flow.Asked:
    """The question every process asks."""
    said = {"method": "topdown", "epsilon": epsilon, "tables": TABLES, "records_about": 600}
    return flow.ask(data, from_mapping(said, data.description, data.policy))


def release(folder: str, epsilon: str, moment: int) -> None:
    """Release, but be killed at this step of the work or write to disk, having said at which."""
    left = moment
    kept_parts.WORTH = 1  # every node that is done is kept, as nodes are where fitting takes long

    def count(_: Any, doing: str) -> None:
        nonlocal left
        if left == 0:
            print(doing, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    with DataSet.open(folder) as data:
        question = asked(data, epsilon)
        original = os.fsync

        def synced(handle: Any) -> None:
            count(0, "writing")
            original(handle)

        os.fsync = synced  # type: ignore[assignment]
        question.release(control=Control(progress=count))


if __name__ == "__main__":
    release(sys.argv[1], sys.argv[2], int(sys.argv[3]))
