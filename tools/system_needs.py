"""Install what the tests need from the system, where that is allowed.

Run by `make test`. Today: strace, which shows that the ledger is synced before an answer leaves.
Without permission to install, the tests that need it skip and say so; with CI=true a missing
component is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NEEDED = {"strace": "strace"}


def main() -> int:
    """Install missing programs with apt; return an exit code."""
    missing = {program: package for program, package in NEEDED.items() if not shutil.which(program)}
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        packages = sorted(set(missing.values()))
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(command, check=False, **quiet)
        missing = {p: k for p, k in missing.items() if not shutil.which(p)}
    if missing:
        print(f"Not installed: {', '.join(missing)}; tests that need them will skip.")
        if os.environ.get("CI") == "true":
            print("With CI=true a missing component is a failure.")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
