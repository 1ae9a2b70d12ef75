"""The command line, run from its first word to its exit code without a process of its own."""

from __future__ import annotations

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from discreet.cli import main


def run(*words: str | Path, cwd: Path | None = None) -> CompletedProcess[str]:
    """`discreet` with these words: its exit code and what it wrote."""
    command = ["discreet", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        chdir(cwd or "."),
        mock.patch.object(sys, "argv", command),
        mock.patch.dict("os.environ", COLUMNS="100"),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code
    assert isinstance(code, int)
    return CompletedProcess(command, code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
