"""Make the environment that the tests' Spark cluster runs from, where it is not there.

    python tools/spark_environment.py [FOLDER]

Spark itself and the client that discreet uses cannot be installed together, so Spark gets an
environment of its own, by default `.venv/spark`. It is made once: some minutes, 470 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPARK = "pyspark==4.0.5"


def make(folder: Path) -> bool:
    """Install Spark into a folder; whether it is there afterwards."""
    mark = folder / f".{SPARK}"
    if mark.exists():
        return True
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    print(f"Installing {SPARK} into {folder}: some minutes, this once.", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=False, **quiet)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input", "--no-compile"]
    done = subprocess.run([*command, "--disable-pip-version-check", SPARK], check=False, **quiet)
    if done.returncode == 0:
        mark.touch()
    return done.returncode == 0


if __name__ == "__main__":
    default = os.environ.get("DISCREET_SPARK_ENVIRONMENT", ROOT / ".venv" / "spark")
    sys.exit(0 if make(Path(sys.argv[1] if sys.argv[1:] else default)) else 1)
