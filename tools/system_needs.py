"""Install what the tests need from the system, where that is allowed.

Run by `make test`. Today: strace, which shows that the ledger is synced before an answer leaves;
Chromium, in which the pages are tried; axe-core, which looks for what stands in a reader's way;
Postgres, of which tests start servers of their own; nginx and curl, with which the guide to several
hosts is tried; and Java with a Spark of its own, which is a cluster on this machine. And other people's
tools that read what discreet writes (`other_tools.py`).
Without permission to install, the tests that need it skip and say so; with CI=true a missing
component is a failure.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import other_tools

NEEDED = {
    "strace": "strace",
    "chromium": "chromium",
    "npm": "npm",
    "pg_ctlcluster": "postgresql",
    "nginx": "nginx",
    "curl": "curl",
    "java": "openjdk-17-jre-headless",
}
AXE = "axe-core@4.14.0"
ROOT = Path(__file__).resolve().parent.parent


def fetch_axe(folder: Path) -> bool:
    """Fetch axe-core where it is not there; only tests use it, so it is not part of the source."""
    if (folder / "axe.min.js").is_file():
        return True
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(OSError, StopIteration):
        subprocess.run(
            ["npm", "pack", AXE],
            cwd=name,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with tarfile.open(next(Path(name).glob("*.tgz"))) as packed:
            packed.extractall(name, filter="data")
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("LICENSE", "axe.min.js"):
            shutil.copy(Path(name) / "package" / file, folder / file)
        return True
    return False


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
    if not fetch_axe(ROOT / ".venv" / "axe-core"):
        missing[AXE] = AXE
    other_tools.PLACE.mkdir(parents=True, exist_ok=True)
    missing |= {tool: tool for tool in other_tools.fetch()}
    spark = Path(__file__).with_name("spark_environment.py")
    if subprocess.run([sys.executable, str(spark)], check=False).returncode:
        missing["Spark"] = "pyspark"
    if missing:
        print(f"Not installed: {', '.join(missing)}; tests that need them will skip.")
        if os.environ.get("CI") == "true":
            print("With CI=true a missing component is a failure.")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
