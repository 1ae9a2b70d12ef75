"""A twin as a workspace: made-up people under a custodian's policy, to be served and attacked.

Everybody in it is made up, and nothing of the custodian's records, keys or ledger goes into it: only
what discreet.yaml says of family, method and parameters.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import workspace
from ...core.control import Control
from ...durable import make_folder, replace_text
from ...errors import InputError
from ...file_names import DESCRIPTION
from ...store.accounts import Accounts
from ...store.workspace_database import WorkspaceDatabase
from ...workspace.yaml_reader import read_file
from .served import AGAIN, SHARED, Sheet, sheets
from .service import CAP, make_people
from .twin import CELL, Twin

if TYPE_CHECKING:
    from ...workspace import DataSet

ANALYST = "analyst"
_ENOUGH = {"epsilon": "1000", "delta": "0.5", "rho": "1000"}
"""Of the twin's budgets: what one question promises is what is attacked."""


def write_twin(
    data: DataSet,
    folder: Path,
    wanted: Sequence[str] = (),
    *,
    epsilon: str = "",
    control: Control | None = None,
) -> str:
    """Write the twin of a data set's policy as a workspace, and give an analyst's token for it."""
    control = control or Control()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty. Name a folder that is not there yet.")
    twin = Twin.of(data, epsilon)
    make_folder(folder)
    control.step(0.0, "planning the games")
    needed = sheets(twin, wanted)
    policy = _policy(data, twin)
    for place, sheet in enumerate(needed):
        control.step(0.1 + 0.8 * place / len(needed), "writing made-up people")
        _write_sheet(folder / sheet.name, sheet, data, twin, policy)
    family = "cell-key" if twin.method == "cell-key" else "dp"
    for name in (AGAIN, SHARED):
        make_people(folder / name, family, str(CAP) if family == "dp" else "")
    database = WorkspaceDatabase(folder)
    try:
        accounts = Accounts(database)
        accounts.add_user(ANALYST, "analyst")
        token, _ = accounts.add_token(ANALYST)
    finally:
        database.close()
    return token


def _policy(data: DataSet, twin: Twin) -> dict[str, Any]:
    """Family, method and parameters as discreet.yaml has them, with a budget that is enough."""
    written = read_file(data.folder / DESCRIPTION).plain()
    methods = written.get("methods") or {}
    own = {k: v for k, v in (methods.get(twin.method) or {}).items() if k != "published"}
    policy: dict[str, Any] = {
        "family": str(data.policy.family),
        "method": twin.method,
        "methods": {twin.method: own},
    }
    if data.policy.budget is not None:
        policy["budget"] = {name: _ENOUGH[name] for name in data.policy.budget.parts}
    return policy


def _write_sheet(
    place: Path, sheet: Sheet, data: DataSet, twin: Twin, policy: Mapping[str, Any]
) -> None:
    make_folder(place)
    columns = [CELL, "more"] if sheet.pairs else [CELL]
    codes = [str(n) for n in range(sheet.counts.size)]
    (place / "cells.csv").write_text(
        "\n".join(["code,label", *(f"{c},{c}" for c in codes), "none,none"]) + "\n"
    )
    (place / "people.csv").write_text("\n".join(_records(sheet)) + "\n")
    records = int(sheet.counts.sum()) + (sheet.counts.size if sheet.pairs else 1)
    described: dict[str, Any] = {
        "dataset": sheet.name,
        "title": "A twin of made-up people",
        "synthetic": "yes",
        "source": {"file": "people.csv"},
        "unit": "person",
        "id": "id",
        "records_per_unit": str(twin.description.records_per_unit),
        "variables": {
            name: {"status": "declared", "column": name, "categories": "cells.csv"}
            for name in columns
        },
        **policy,
    }
    if twin.replaced:
        described["records"] = str(records)
    for file in _files(policy, data.folder):
        make_folder((place / file).parent)
        shutil.copy(data.folder / file, place / file)
    replace_text(place / DESCRIPTION, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
    workspace.load(place)


def _records(sheet: Sheet) -> Iterator[str]:
    """One line for each person; in pairs one more in every set, whom only the second column counts.

    Otherwise one person is in no set that is asked about: a world of nobody can be loaded too.
    """
    cells = np.repeat(np.arange(sheet.counts.size), sheet.counts).tolist()
    if not sheet.pairs:
        yield f"id,{CELL}"
        yield from (f"p{n},{cell}" for n, cell in enumerate(cells))
        yield "q,none"
        return
    yield f"id,{CELL},more"
    yield from (f"p{n},{cell},{cell}" for n, cell in enumerate(cells))
    yield from (f"q{cell},none,{cell}" for cell in range(sheet.counts.size))


def _files(value: object, folder: Path) -> Iterator[str]:
    """Files of the data set that its parameters name, such as a p-table."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _files(inner, folder)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner, folder)
    elif isinstance(value, str) and value and "\n" not in value and len(value) < 200:
        path = Path(value)
        if not path.is_absolute() and ".." not in path.parts and (folder / path).is_file():
            yield value
