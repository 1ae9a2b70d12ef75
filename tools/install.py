"""Make a virtual environment, install discreet into it, and say how far that is.

    python3 tools/install.py .venv          what discreet needs to run: `make demo`
    python3 tools/install.py .venv dev      the tools of its developers too: `make setup`

pip says nothing for a minute while it unpacks; here there is a line every few seconds, in a
terminal one line that changes. What pip says is shown where it fails.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVERY = 3.0
"""Seconds between two lines where the output is no terminal."""


class Ticker:
    """Says what is being done, and for how long, until it is done."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._began = time.monotonic()
        self._last = -EVERY

    def tell(self, doing: str, *, end: bool = False) -> None:
        """Show a line: at once in a terminal, every few seconds elsewhere."""
        seconds = time.monotonic() - self._began
        line = f"  {seconds:3.0f} s  {doing}"
        if self._live:
            sys.stdout.write(f"\r\x1b[K{line[:78]}" + ("\n" if end else ""))
        elif end or seconds - self._last >= EVERY:
            sys.stdout.write(f"{line}\n")
            self._last = seconds
        sys.stdout.flush()

    def run(self, command: list[str], doing: Callable[[list[str]], str]) -> None:
        """Run a command and tell what it does, from the lines it has written; stop where it fails."""
        with subprocess.Popen(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            lines: list[str] = []
            reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
            reader.start()
            while process.poll() is None:
                self.tell(doing(lines))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
            reader.join()
        if process.returncode:
            self.tell(f"{doing(lines)}: failed", end=True)
            sys.stdout.writelines(lines[-40:])
            raise SystemExit(f"{' '.join(command[:4])} … ended with {process.returncode}.")


def packages(folder: Path) -> int:
    """How many packages are installed in an environment."""
    return sum(1 for _ in folder.glob("lib/python*/site-packages/*.dist-info"))


def progress(folder: Path, before: int) -> Callable[[list[str]], str]:
    """What pip does, from what it wrote and what is installed."""

    def doing(lines: list[str]) -> str:
        listed = [line for line in lines if line.startswith("Installing collected packages:")]
        if listed:
            wanted = listed[-1].count(",") + 1
            ready = min(max(packages(folder) - before, 0), wanted)
            return f"installing packages, {ready} of {wanted}"
        collected = sum(line.startswith("Collecting ") for line in lines)
        return f"fetching packages, {collected} so far" if collected else "starting pip"

    return doing


def main(folder: Path, extras: str = "") -> int:
    """Make the environment where there is none, and install into it."""
    python = folder / "bin" / "python"
    what = "discreet and its developers' tools" if extras else "discreet and what it needs to run"
    print(f"Installing {what} into {folder}: a minute or so, this once.", flush=True)
    ticker = Ticker()
    if not (folder / "bin" / "pip").exists():  # not made, or not to its end
        command = [sys.executable, "-m", "venv", str(folder)]
        ticker.run(command, lambda _: f"making {folder}")
    source = f"{ROOT}[{extras}]" if extras else str(ROOT)
    command = [str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    # modules are compiled when they are first imported: most of them never are
    command += ["--no-compile", "--constraint", str(ROOT / "constraints.txt")]
    command += ["--editable", source]
    ticker.run(command, progress(folder, packages(folder)))
    ticker.tell(f"{packages(folder)} packages are installed", end=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3]))
