"""A small made-up data set on disk, for attacks through the real flow."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import discreet as dc
from discreet import release as flow
from discreet.core.control import Control
from discreet.recipe import from_mapping
from discreet.release import Release
from discreet.workspace import DataSet

from ..kept import kept_folder


def records(size: int = 600) -> list[str]:
    """Lines of a CSV: id, area, sex, job and a weight, with empty cells among them."""
    lines = ["id,area,sex,job,w"]
    for i in range(size):
        area, sex = f"a{i % 5}", "f" if i % 10 else "m"
        job = "z" if i % 97 == 0 else "xy"[i % 2]
        weight = (3 if area == "a0" else 11) + i % 3
        lines.append(f"{i},{area},{sex},{job},{weight}")
    return lines


def make(into: Path, family: str, lines: list[str] | None = None, **changes: Any) -> Path:
    """A loaded data set; before loading, `changes` are set at the top of its discreet.yaml.

    What is made alike is a copy of one: `make_anew` gives a data set with secrets of its own.
    """
    text = "\n".join(lines or records()) + "\n"
    made = _made(family, text, yaml.safe_dump(changes, sort_keys=False))
    shutil.copytree(made, into, dirs_exist_ok=True)
    return into / "people"


@cache
def _made(family: str, text: str, changes: str) -> Path:
    into = kept_folder()
    folder = make_anew(into, family, text)
    if changes != "{}\n":
        change(folder, load=True, **yaml.safe_load(changes))
    return into


def make_anew(into: Path, family: str, text: str) -> Path:
    """A loaded data set of this text, with secrets of its own."""
    into.mkdir(parents=True, exist_ok=True)
    source, folder = into / "people.csv", into / "people"
    source.write_text(text)
    budget = {"epsilon": "10"} if family == "dp" else None
    dc.init(source, folder, Control(), family=family, budget=budget)
    dc.declare(folder)
    return folder


def change(folder: Path, *, load: bool = False, **changes: Any) -> None:
    """Set keys at the top of discreet.yaml; None takes one away."""
    from discreet.workspace import load as load_again

    file = folder / "discreet.yaml"
    said = yaml.safe_load(file.read_text())
    for key, value in changes.items():
        said.pop(key, None)
        if value is not None:
            said[key] = value
    file.write_text(yaml.safe_dump(said, sort_keys=False, allow_unicode=True))
    if load:
        load_again(folder)


def ask(data: DataSet, **recipe: Any) -> Release:
    """Release a recipe given as a mapping, its names read as the custodian's."""
    description = data.described.description
    return flow.ask(data, from_mapping(recipe, description, data.policy)).release()
