"""The queue between processes: first come, first served, and killed ones vanish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from discreet.store.lock import FAIR, FairLock

from ..patience import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(not FAIR, reason="no open-file locks on this system")

HOLDER = """
import sys, time
from pathlib import Path
from discreet.store.lock import FairLock
lock = FairLock(Path(sys.argv[1]))
print("waiting", flush=True)
with lock:
    print("got", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def await_ticket(path, number):
    """Until so many have come: each leaves its ticket's number in the lock file."""
    wait_until(
        lambda: int.from_bytes(path.read_bytes()[:8], "little") >= number, f"ticket {number}"
    )


def holder(path, seconds):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waiting\n"
    return process


def test_served_in_order_of_arrival(tmp_path):
    """Twelve waiters, told apart by when they came: served in that order, each alone."""
    path = tmp_path / "lock"
    order, inside = [], []
    first = FairLock(path)
    first.acquire()

    def wait(i):
        lock = FairLock(path)
        with lock:
            inside.append(i)
            assert inside == [i]
            order.append(i)
            inside.remove(i)
        lock.close()

    threads = [threading.Thread(target=wait, args=(i,)) for i in range(12)]
    for number, thread in enumerate(threads, 2):
        thread.start()
        await_ticket(path, number)
    first.release()
    for thread in threads:
        thread.join()
    assert order == list(range(12))


@pytest.mark.slow
def test_a_killed_holder_and_a_killed_waiter_leave_the_queue(tmp_path):
    """Holder A, waiters B and C: B is killed, C waits on; A is killed, C goes in at once."""
    path = tmp_path / "lock"
    a = holder(path, PATIENCE)
    assert a.stdout.readline() == "got\n"
    b = holder(path, PATIENCE)
    await_ticket(path, 2)
    c = holder(path, 0)
    await_ticket(path, 3)
    b.send_signal(signal.SIGKILL)
    b.wait()
    time.sleep(0.2)  # time for C to go wrong in; a right one may have any amount
    assert c.poll() is None  # the death of B must not let C past A
    os.kill(a.pid, signal.SIGKILL)
    assert c.stdout.readline() == "got\n"
    assert c.wait(PATIENCE) == 0
    for process in (a, b, c):
        process.wait()
        process.stdout.close()


def test_a_lost_counter_does_no_harm(tmp_path):
    path = tmp_path / "lock"
    lock = FairLock(path)
    with lock:
        path.write_bytes(b"\0")
    with lock:
        pass
    lock.close()
    lock.acquire()  # closed: does nothing, as on systems without such locks
