"""Each key of discreet.yaml changed in turn: either the question's hash moves or no number does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from discreet.errors import DiscreetError
from discreet.file_names import CACHE
from discreet.recipe import from_mapping
from discreet.release import ask
from discreet.workspace import DataSet, load

from .people import make, records

pytestmark = pytest.mark.slow

WEIGHT = {"column": "w", "decimals": 0, "bound": 20}
ZERO = [{"where": {"sex": ["m"], "job": ["z"]}, "reason": "cannot be"}]
COMMON: dict[str, Any] = {
    "title": "Another title",
    "population": "everybody",
    "period": "2030",
    "licence": "CC0",
    "contact": "a@b.example",
    "notes": ["A note."],
    "language": "fr",
    "unit": "household",
    "records_per_unit": 3,
    "records": 600,
    "structural_zeros": ZERO,
    "reliable": {"noise_sd_over_count": "1/100"},
    "rules": {"max_variables": 3, "max_cells": 5000, "declared_groups": "yes"},
    "rules.max_cells_per_record": "5",
    "weight.bound": 40,
    "id": None,
    "variables.area.label": "Zone",
    "variables.area.kind": None,
    "variables.sex.categories": {"f": "women", "m": "men"},
    "variables.sex.status": "found",
    "variables.job.categories": {"x": "x", "y": "y", "z": "z", "q": "nobody"},
}
OF_METHOD: dict[str, dict[str, Any]] = {
    "cell-key": {
        "max_perturbation": 7,
        "variance": 3,
        "blocked_below": 2,
        "p_stay": "1/4",
        "monotone": "no",
        "exact_variance": "yes",
        "keys": "sadeghi",
        "key_bits": 32,
        "sameness": "participants and description",
        "zeros": "kept",
        "threshold": 40,
        "display_floor": 30,
        "additive": "yes",
        "prior": "geometric 0.8",
        "law": "private",
    },
    "noise": {
        "epsilon": "0.5",
        "law": "gaussian",
        "delta": "1e-6",
        "max_perturbation": 50,
        "plan": "everything",
        "negatives": "clip",
        "consistency": "integers",
        "epsilon_most": "9",
        "rho_most": "9",
    },
}
SHOWN_ONLY = {"threshold", "display_floor", "additive", "negatives", "consistency"}
"""What is done to measurements: the hash stays, and so does everything that was measured."""
QUESTION = {"rows": ["area"], "columns": ["sex"], "layers": ["job"]}


def changed(text: str, key: str, value: Any) -> str:
    """The description with one key set, or taken away."""
    said = yaml.safe_load(text)
    *path, last = key.split(".") if not key.startswith("rules.") else ("rules", key[6:])
    at = said
    for part in path:
        at = at.setdefault(part, {})
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True)


def measured(folder: Path, asked: dict[str, Any]) -> tuple[str, list[Any], list[Any]]:
    """Hash of the question, what was measured for it, and the numbers that are published."""
    (folder / CACHE).unlink(missing_ok=True)  # keyed methods compute anew
    with DataSet.open(folder) as data:
        question = ask(data, from_mapping(asked, data.description, data.policy))
        made = question.release()
        stored = None
        if question.declaration.spends != "nothing":
            stored = data.ledger().find(made.plan.question_hash)
        else:
            stored = data.results().get(made.plan.question_hash)
        bytes_ = stored if isinstance(stored, bytes) or stored is None else stored.measurements
        (table,) = made.tables
        return made.plan.question_hash, [bytes_], table.values.tolist()


@pytest.fixture(scope="module", params=["cell-key", "dp"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A data set that answered one question, to be copied for every change."""
    family = request.param
    lines = [f"{line},{line.rpartition(',')[2]}" for line in records()]
    lines[0] = "id,area,sex,job,v,w"
    folder = make(tmp_path_factory.mktemp(family), family, lines)
    file = folder / "discreet.yaml"
    file.write_text(changed(changed(file.read_text(), "weight", WEIGHT), "variables.w", None))
    load(folder)
    method = "noise" if family == "dp" else "cell-key"
    asked = {**QUESTION, **({"epsilon": "1"} if family == "dp" else {})}
    return folder, method, asked, measured(folder, asked)


def keys(method: str) -> dict[str, Any]:
    return COMMON | {f"methods.{method}.{name}": v for name, v in OF_METHOD[method].items()}


def test_every_key_moves_the_hash_or_no_number(world, tmp_path: Path, another_machine):
    """Numbers with the same hash are the same; treatments change what is shown and nothing else."""
    folder, method, asked, (digest, stored, numbers) = world
    moved, kept, refused = set(), set(), set()
    for position, (key, value) in enumerate(keys(method).items()):
        copy = tmp_path / str(position) / folder.name
        shutil.copytree(folder.parent, copy.parent)
        another_machine()
        file = copy / "discreet.yaml"
        file.write_text(changed(file.read_text(), key, value))
        try:
            try:
                now = measured(copy, asked)
            except DiscreetError:
                load(copy)
                now = measured(copy, asked)
        except DiscreetError:
            refused.add(key)  # such a change cannot be served at all
            continue
        if now[0] != digest:
            moved.add(key)
            continue
        kept.add(key)
        assert now[1] == stored, key
        if key.rpartition(".")[2] not in SHOWN_ONLY:
            assert now[2] == numbers, key
    assert {"title", "reliable", "rules", "rules.max_cells_per_record"} <= kept
    assert "structural_zeros" in moved
    treatments = {f"methods.{method}.{name}" for name in SHOWN_ONLY & set(OF_METHOD[method])}
    assert treatments <= kept
    if method == "cell-key":
        assert {f"methods.cell-key.{n}" for n in ("variance", "keys", "sameness")} <= moved
    assert len(moved | kept | refused) == len(keys(method))


def test_the_comparison_sees_a_change_of_numbers(world, tmp_path: Path):
    """The twin: another question has other numbers, so equal ones mean something."""
    folder, _, asked, (digest, _, numbers) = world
    copy = tmp_path / folder.name
    shutil.copytree(folder.parent, copy.parent / "other")
    other = measured(copy.parent / "other" / folder.name, {**asked, "where": {"job": ["x", "y"]}})
    assert other[0] != digest
    assert np.shape(other[2]) != np.shape(numbers)
