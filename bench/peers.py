"""Peers, each in an environment of its own under `bench/.envs`, made when it is first needed.

A peer runs a small program in its own interpreter and prints one JSON object; nothing of a peer is
ever imported by discreet or by these benches.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVS = Path(__file__).parent / ".envs"


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
            command = [str(python), "-m", "pip", "install", "--quiet", *self.requirements]
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


CELL_KEY_PERTURBATION = Peer(
    "cell-key-perturbation", ("cell-key-perturbation==3.1.0", "pandas==3.1.1", "pyarrow>=18")
)
