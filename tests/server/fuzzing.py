"""Requests that schemathesis makes up from an OpenAPI document."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)


def fuzzed(
    document: str,
    folder: Path,
    examples: int,
    seed: int,
    *more: str,
    checks: str = CHECKS,
    phases: str = "examples,coverage,fuzzing",
) -> int:
    """Cases tried; fails where one broke the document or the server."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", document),
            *("--checks", checks, "--max-examples", str(examples), "--seed", str(seed)),
            *("--phases", phases, "--workers", "1"),
            # long on purpose: a busy machine is no fault of the document
            *("--request-timeout", "600", "--no-color", "--mode", "all", *more),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        cwd=folder,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text[-6000:]
    found = re.search(r"([\d,]+) generated", text)
    assert found, text[-3000:]
    return int(found[1].replace(",", ""))
