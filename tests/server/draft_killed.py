"""A draft from its first byte to its data set, killed at a chosen write; run in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from discreet.core.control import Control
from discreet.server import Settings, draft_jobs
from discreet.server.draft_shapes import AnswersForm, DraftForm
from discreet.server.routes import drafts as api
from discreet.server.service import Service
from discreet.workspace import draft_upload
from discreet.workspace.draft_folder import DraftFolder

from .drafting import STAYS, stays

NAME = "stays"
ANSWERS = {
    "name": NAME,
    "unit": {"unit": "person", "id": "patient_id", "records": 4, "drop": True},
    "policy": {"family": "dp", "budget": "3"},
    "declared": ["sex"],
}
CUSTODIAN: Any = SimpleNamespace(user="cas", name="cas", role="custodian")
WRITES = ("fsync", "rename", "replace", "mkdir", "unlink", "write", "open")


def count_down(moment: int) -> None:
    """Be killed at this write from now on, having said how far the draft was."""
    left = moment
    for name in WRITES:
        original = getattr(os, name)

        def counted(*words: Any, _original: Any = original, **more: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
            left -= 1
            return _original(*words, **more)

        setattr(os, name, counted)


def journey(workspace: Path, moment: int | None) -> None:
    """Go on from wherever an earlier process was killed, to the end."""
    service = Service(workspace, Settings())
    said = (workspace.parent / "progress").open("a", encoding="utf-8")
    if moment is not None:
        count_down(moment)
    found = service.drafts.all()
    form = DraftForm(file=STAYS, bytes=len(stays(120)))
    draft = found[0] if found else api.begun(service, CUSTODIAN, form)
    while (state := draft.state).state != "done":
        print(state.state, file=said, flush=True)
        STEPS[state.state](service, draft)
    service.close()


def send_the_rest(service: Service, draft: DraftFolder) -> None:
    """The bytes that are not there yet, in pieces, and what follows when all are."""
    data = stays(120)
    with draft_upload.receiving(draft, draft.received, len(data)) as piece:
        while piece.received < len(data):
            piece.write(data[piece.received : piece.received + 1500])
    api.arrived(service, draft, CUSTODIAN)


def work(service: Service, draft: DraftFolder) -> None:
    """The step that waits, as a worker would do it once the lease of a dead one has ended."""
    claimed = service.jobs.claim(kind=draft_jobs.KIND, seconds=0.05)
    if claimed is None:
        time.sleep(0.05)
        return
    job, lease = claimed
    draft_jobs.made(service, job, Control())
    service.jobs.finish(job.id, lease, "{}")


def answer(service: Service, draft: DraftFolder) -> None:
    """Say what is asked, then have the data set made."""
    api.answered(service, CUSTODIAN, draft, AnswersForm(**ANSWERS), draft.state.edition)
    api.finished(service, CUSTODIAN, draft, draft.state.edition)


STEPS = {"uploading": send_the_rest, "looking": work, "open": answer, "loading": work}


def forked(workspace: Path, moment: int | None) -> int:
    """The journey in a process of its own: 0 where it came to its end, -9 where it was killed."""
    child = os.fork()
    if not child:
        status = 1
        try:
            journey(workspace, moment)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":  # one line a journey: the moment and the workspace
    for line in sys.stdin:
        moment, _, place = line.strip().partition(" ")
        print(forked(Path(place), None if moment == "-" else int(moment)), flush=True)
