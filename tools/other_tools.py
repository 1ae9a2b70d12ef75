"""Fetch other people's tools that read what discreet writes, into a place of their own.

They need other versions of what discreet stands on, so they get an environment beside it
(`.venv/other-tools`): a generator of API clients, readers of SDMX, validators of HTML, OpenAPI and
JSON-stat. Only tests use them; none is part of the source. What is there is left as it is.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / ".venv" / "other-tools"
PYTHON = PLACE / "python" / "bin" / "python"
NODE = PLACE / "node_modules"
PYTHON_TOOLS = (
    "openapi-python-client==0.29.1",
    "openapi-spec-validator==0.9.0",
    "sdmx1==2.28.0",
    "pysdmx[data,xml]==1.21.0",
    "pyarrow>=18",
)
NODE_TOOLS = ("vnu-jar@26.9.27", "jsonstat-toolkit@2.2.2", "@stoplight/spectral-cli@6.16.3")


def fetch() -> list[str]:
    """What could not be fetched; nothing where all is there."""
    missing = []
    if not _noted("python.txt", PYTHON_TOOLS):
        made = _done([sys.executable, "-m", "venv", str(PLACE / "python")])
        if not made or not _done([str(PYTHON), "-m", "pip", "install", "-q", *PYTHON_TOOLS]):
            missing += PYTHON_TOOLS
        else:
            _note("python.txt", PYTHON_TOOLS)
    if not _noted("node.txt", NODE_TOOLS):
        install = ["npm", "install", "--prefix", str(PLACE), "--no-audit", "--no-fund", "--silent"]
        if not _done([*install, *NODE_TOOLS]):
            missing += NODE_TOOLS
        else:
            _note("node.txt", NODE_TOOLS)
    return missing


def _done(command: list[str]) -> bool:
    quiet = subprocess.DEVNULL
    try:
        return not subprocess.run(command, check=False, stdout=quiet, stderr=quiet).returncode
    except OSError:
        return False


def _noted(name: str, tools: tuple[str, ...]) -> bool:
    note = PLACE / name
    return note.is_file() and note.read_text("utf-8") == "\n".join(tools)


def _note(name: str, tools: tuple[str, ...]) -> None:
    (PLACE / name).write_text("\n".join(tools), "utf-8")


if __name__ == "__main__":
    PLACE.mkdir(parents=True, exist_ok=True)
    lacking = fetch()
    print(f"Not fetched: {', '.join(lacking)}" if lacking else f"All there: {PLACE}")
    sys.exit(bool(lacking))
