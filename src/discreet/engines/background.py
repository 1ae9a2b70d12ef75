"""Work of an engine in a thread of its own, while the caller's watches for cancel and Ctrl-C."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from ..core.control import Control
from ..errors import Cancelled

T = TypeVar("T")

POLL_SECONDS = 0.05


@contextlib.contextmanager
def turn(
    turns: threading.Lock | threading.Semaphore, control: Control | None, doing: str
) -> Iterator[None]:
    """A turn among those who ask at once; whoever waits for it can be cancelled too."""
    while not turns.acquire(timeout=POLL_SECONDS):
        if control is not None and control.cancelled():
            raise Cancelled(f"Stopped while {doing}; nothing was lost.")
    try:
        yield
    finally:
        turns.release()


def in_background(
    work: Callable[[], T],
    interrupt: Callable[[], None],
    control: Control | None,
    doing: str,
    tell: Callable[[], None] | None = None,
) -> T:
    """What `work` returns. `interrupt` makes the engine give up; it is repeated until it has.

    `tell` is called now and then while the work goes on.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    finished = threading.Event()

    def carry_out() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=carry_out, name="discreet-statement", daemon=True)
    thread.start()
    try:
        while not finished.wait(POLL_SECONDS):
            if control is not None and control.cancelled():
                raise Cancelled(f"Stopped while {doing}; nothing was lost.")
            if tell is not None:
                tell()
    except BaseException as error:
        # An interrupt that arrives before the statement has begun is forgotten: repeat.
        while not finished.wait(POLL_SECONDS):
            interrupt()
        thread.join()
        if isinstance(error, KeyboardInterrupt):
            raise Cancelled(f"Stopped while {doing}; nothing was lost.") from None
        raise
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
