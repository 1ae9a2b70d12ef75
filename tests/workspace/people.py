"""A small data set to load, break and kill; and processes that do so apart from the tests'."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ..kept import kept_folder
from ..patience import PATIENCE

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["discreet.workspace", "discreet.engines.duckdb.loading", "duckdb", "pyarrow"]
)

YAML = """\
dataset: people
source: {file: people.csv}
id: person
variables:
  area:
    status: declared
    levels:
      ward:
        column: ward
        categories:
          a: {label: Alder, parent: n}
          b: {label: Birch, parent: n}
          c: {label: Cedar, parent: s}
      side:
        column: side
        categories: {n: North, s: South}
  sex:
    column: sex
    categories: {f: Female, m: Male}
"""


def write_people(folder: Path, records: int, *, first: int = 0) -> None:
    """So many people as CSV, in one step."""
    lines = ["person,ward,side,sex"]
    for number in range(first, first + records):
        ward = "abc"[number % 3]
        lines.append(f"p{number},{ward},{'s' if ward == 'c' else 'n'},{'fm'[number % 2]}")
    spare = folder / "spare.csv"
    spare.write_text("\n".join(lines) + "\n")
    os.replace(spare, folder / "people.csv")


def make_people(folder: Path, records: int = 60, yaml: str = YAML) -> Path:
    """A described data set with its source, not loaded."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "discreet.yaml").write_text(yaml)
    write_people(folder, records)
    return folder


def loaded_people(folder: Path) -> Path:
    """The data set of `make_people`, loaded: all that are made here are copies of one."""
    shutil.copytree(_loaded(), folder, dirs_exist_ok=True)
    return folder


@cache
def _loaded() -> Path:
    from discreet.workspace import load

    folder = make_people(kept_folder())
    load(folder)
    return folder


def start(target: Any, *arguments: Any) -> BaseProcess:
    """Run a function of this module in a process of its own."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def finish(process: BaseProcess) -> int:
    """Its exit code."""
    process.join(PATIENCE)
    assert process.exitcode is not None
    return process.exitcode


def load_here(folder: str, tell: str = "", begun: Any = None) -> None:
    """Load; exits with the code of the error, whose sentence goes to the file `tell`.

    `begun` is a pipe that gets a word when the load begins.
    """
    from discreet.engines.duckdb import loading
    from discreet.errors import DiscreetError
    from discreet.workspace import load

    assert loading
    if begun is not None:
        begun.send("begun")
    try:
        load(folder)
    except DiscreetError as problem:
        if tell:
            Path(tell).write_text(problem.message)
        sys.exit(problem.exit_code)


def load_and_die_at_step(folder: str, step: int, wrong: bool = False) -> None:
    """Load, but end as if killed just before the `step`-th change that lasts (0, 1, …).

    `wrong` names the new version in `current` before it is there: what the tests must catch.
    """
    from discreet.workspace import load, versions

    if wrong:
        publish = versions.publish

        def too_early(where: Path, filled: Path, made: versions.Manifest) -> Path:
            number = len(versions.every(where)) + 1
            versions.point(where, Path(f"{number:04d}-{made.data_version[:8]}"))
            return publish(where, filled, made)

        versions.publish = too_early
    left = step
    for name in ("fsync", "rename", "replace", "chmod", "mkdir", "unlink"):
        original = getattr(os, name)

        def counted(*args: Any, _original: Any = original, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
            left -= 1
            return _original(*args, **named)

        setattr(os, name, counted)
    load(folder)


def load_interrupted(folder: str, share: float) -> None:
    """Load, with Ctrl-C pressed once so much is done."""
    from discreet.core.control import Control
    from discreet.errors import Cancelled
    from discreet.workspace import load

    # a shell that starts tests in the background has them ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed = False

    def progress(done: float, doing: str) -> None:
        nonlocal pressed
        if done >= share and not pressed:
            pressed = True
            signal.raise_signal(signal.SIGINT)

    try:
        load(folder, Control(progress))
    except Cancelled as problem:
        sys.exit(130 if "nothing was lost" in problem.message else 1)


def load_without_room(folder: str, most_bytes: int, tell: str) -> None:
    """Load where no file may grow beyond a size, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    try:
        load_here(folder, "")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    Path(tell).write_text("")


def load_as_nobody(folder: str, tell: str) -> None:
    """Load without the right to write into the folder."""
    from discreet.engines.duckdb import loading
    from discreet.errors import DiscreetError
    from discreet.workspace import load
    from discreet.workspace.description_file import read

    assert loading
    assert read(Path(folder))  # imports what reading needs, while the interpreter's files are open
    told = os.open(tell, os.O_WRONLY | os.O_CREAT, 0o666)
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)
    try:
        load(folder)
    except DiscreetError as problem:
        os.write(told, problem.message.encode())
        sys.exit(problem.exit_code)
