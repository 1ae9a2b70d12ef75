"""The demo workspace: three synthetic data sets, the same on every machine. No real person is in it.

    deaths      529,655 deaths by area, cause, age, sex, month, marital status; family cell-key
    deaths-dp   the same records and description under differential privacy, budget ε = 10
    genes       4,352 people by town, eyes and hair; who has a gene is private; family suppression

The records are fixed; the keys are drawn afresh in every workspace, so two demo workspaces publish
different noise about the same records, as two custodians would.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from ..core.control import Control
from ..durable import make_folder, plain_errors, replace_text, replacing
from ..errors import InputError
from ..file_names import CATEGORIES, DESCRIPTION
from ..workspace import loading, versions
from ..workspace.dataset import DataSet, Workspace
from ..workspace.description_file import read
from ..workspace.draft import Draft
from ..workspace.writer import write
from . import deaths, featured, genes
from .uk_census import uk_census

NAMES = ("deaths", "deaths-dp")
SOURCE = "source/records.parquet"
_BEGUN = {"source", CATEGORIES, "populations.csv", "prior.csv"}
"""What may lie in the folder of a demo data set that was begun and not ended."""


def draft(name: str) -> Draft:
    """The description a demo data set ships with.

    >>> draft("deaths-dp").budget
    {'epsilon': '10'}
    """
    if name not in NAMES:
        raise InputError(f"There is no demo data set {name!r}; there are {', '.join(NAMES)}.")
    described = deaths.draft(name, {"file": SOURCE})
    if name == "deaths-dp":
        described.title = "Synthetic deaths (DP)"
        described.family, described.method = "dp", "noise"
        described.methods, described.budget = {}, {"epsilon": "10"}
        described.featured = list(featured.PRIVATE)
        described.notes.append(
            "Only a demo may hold the same records under two families: what one publishes is not "
            "counted in the other's guarantee."
        )
    return described


def make_demo(into: str | Path, control: Control | None = None) -> Workspace:
    """Make the demo workspace in the folder `into`; what is there and whole is kept as it is."""
    control = control or Control()
    folder = Path(into)
    if (folder / DESCRIPTION).exists():
        raise InputError(f"{folder} is a data set itself; choose another folder for the demo.")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose a folder for the demo.")
    for name in (*NAMES, genes.NAME):
        _may_use(folder / name)
    for number, name in enumerate(NAMES):
        share = 0.95 / len(NAMES)
        _make(folder, name, control.part(number * share, (number + 1) * share, name))
    genes.make(folder / genes.NAME, control.part(0.95, 1.0, genes.NAME))
    for recipe in sorted((Path(__file__).parent / "recipes").glob("*.yaml")):
        if not (folder / "recipes" / recipe.name).exists():
            make_folder(folder / "recipes")
            replace_text(folder / "recipes" / recipe.name, recipe.read_text(encoding="utf-8"))
    example = folder / "examples" / "uk-census-2001.csv"
    if not example.exists():
        make_folder(example.parent)
        replace_text(example, uk_census().records())
    return Workspace.open(folder)


def _may_use(folder: Path) -> None:
    """A folder is free, empty, or a demo data set made (or begun) before."""
    if not folder.exists():
        return
    if (folder / DESCRIPTION).is_file():
        if read(folder).description.synthetic:
            return
        raise InputError(f"{folder} holds a data set of yours; choose another folder for the demo.")
    if not folder.is_dir() or set(os.listdir(folder)) - _BEGUN:
        raise InputError(
            f"{folder} holds something else; choose another folder for the demo, or remove it."
        )


def _make(workspace: Path, name: str, control: Control) -> None:
    folder = workspace / name
    if (folder / DESCRIPTION).is_file() and versions.current(folder) is not None:
        DataSet.open(folder).close()
        control.step(1.0, "made before")
        return
    control.step(0.0, "making records")
    make_folder(folder / SOURCE.rpartition("/")[0])
    path = folder / SOURCE
    twin = workspace / "deaths" / SOURCE
    with plain_errors(f"Writing {path}"), replacing(path) as stream:
        if name == "deaths-dp" and twin.is_file():
            stream.write(twin.read_bytes())
        else:
            parquet: Any = importlib.import_module("pyarrow.parquet")
            parquet.write_table(deaths.table(), stream, compression="zstd")
    write(draft(name), folder)
    loading.load(folder, control)
