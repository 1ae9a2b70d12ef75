"""What solvers print themselves stays out of tables on standard output."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PRINTS = """
import ctypes, threading
from discreet.methods.shared.solver_output import kept_apart

def solve():
    with kept_apart():
        started.wait()
        ctypes.CDLL(None).puts(b"a solver's own words")

started = threading.Barrier(3)
print("a table")
solvers = [threading.Thread(target=solve) for _ in range(2)]
for one in solvers:
    one.start()
started.wait()
for one in solvers:
    one.join()
print("its end")
"""


@pytest.mark.skipif(os.name == "nt", reason="C's standard library has no name there")
def test_a_solver_that_prints_leaves_tables_alone():
    """Two at once, written through C's own buffer: both on standard error, and nothing else is."""
    done = subprocess.run(
        [sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a table\nits end\n"
    assert done.stderr == "a solver's own words\n" * 2
