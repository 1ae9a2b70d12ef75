"""Peers, each in an environment of its own under `bench/.envs`, made when it is first needed.

A peer runs a small program in its own interpreter. `run` starts it and reads the one JSON object it
prints; `running` keeps it alive and asks it for one round at a time, so that its rounds and ours
alternate and a machine that is busy for a while is busy for both. Nothing of a peer is ever imported
by discreet or by these benches.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ENVS = Path(__file__).parent / ".envs"

_BEFORE = """
import json, os, sys
_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a package prints is no answer
"""
_AFTER = """
print(json.dumps({}), file=_answers, flush=True)
for _ in sys.stdin:
    print(json.dumps(once()), file=_answers, flush=True)
"""


class PeerFailed(Exception):
    """A peer could not be installed or run; the reason is the last thing it said."""


@dataclass(frozen=True)
class Running:
    """A peer's program, set up and waiting."""

    name: str
    process: subprocess.Popen[str]
    said: IO[str]

    def once(self) -> dict[str, Any]:
        """One round of the program's own `once()`."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, and `answer` says why
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.said.seek(0)
            raise PeerFailed(_reason(self.name, self.said.read()))
        result: dict[str, Any] = json.loads(line)
        return result


def _reason(name: str, said: str) -> str:
    lines = [line for line in said.strip().splitlines() if line.strip()]
    return f"{name} could not run: {lines[-1] if lines else 'it said nothing'}"


@dataclass(frozen=True)
class Peer:
    """A package at one version, with what it needs to run."""

    name: str
    requirements: tuple[str, ...]

    @property
    def _folder(self) -> Path:
        digest = hashlib.sha256("\n".join(self.requirements).encode()).hexdigest()[:8]
        return ENVS / f"{self.name}-{digest}"

    def _python(self) -> Path:
        python = self._folder / "bin" / "python"
        ready = self._folder / ".ready"
        if not ready.exists():
            print(f"Making an environment for {self.name} …", file=sys.stderr)
            venv.create(self._folder, with_pip=True, clear=True)
            command = [str(python), "-m", "pip", "install", "-qq", *self.requirements]
            subprocess.run(command, check=True, stdout=sys.stderr)
            ready.touch()
        return python

    def run(self, program: str, *arguments: str) -> dict[str, Any] | None:
        """What the program printed; None, with the reason on stderr, where the peer cannot run."""
        try:
            done = subprocess.run(
                [str(self._python()), "-c", program, *arguments],
                check=True,
                capture_output=True,
                text=True,
            )
        except (subprocess.CalledProcessError, OSError) as error:
            words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            print(f"{self.name} could not run: {words[-1] if words else error}", file=sys.stderr)
            return None
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return result

    @contextmanager
    def running(self, program: str, *arguments: str) -> Iterator[Running]:
        """The program, set up and alive until the block ends. It defines `once() -> dict`."""
        try:
            command = [str(self._python()), "-c", _BEFORE + program + _AFTER, *arguments]
        except (subprocess.CalledProcessError, OSError) as error:
            raise PeerFailed(f"{self.name} could not be installed: {error}") from error
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
            )
            with process:
                peer = Running(self.name, process, said)
                peer.answer()
                yield peer


CELL_KEY_PERTURBATION = Peer(
    "cell-key-perturbation", ("cell-key-perturbation==3.1.0", "pandas==3.1.1", "pyarrow>=18")
)
OPENDP = Peer("opendp", ("opendp==0.16.0", "polars==1.36.1", "numpy>=2"))
TUMULT = Peer("tumult-analytics", ("tmlt.analytics==0.21.0",))
PYTAUARGUS = Peer("pytauargus", ("pytauargus==0.6.0",))
