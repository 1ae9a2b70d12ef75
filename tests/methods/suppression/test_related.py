"""Attributes that are declared related share one δ, and what was declared stays so."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import discreet as dc
from discreet.earlier import history
from discreet.errors import Refusal
from discreet.workspace import DataSet

from . import world

TABLE = {"rows": "eyes", "columns": "hair"}
VALUE = {"value": "0.4", "source": "a survey"}
INTERVAL = {"low": "0.38", "high": "0.42", "source": "a survey"}


def make(into: Path, prior: dict[str, str], related: list[str], **suppression: Any) -> Path:
    """People with a gene and a trait; `prior` is the trait's, `related` what it is related to."""
    random = np.random.default_rng(8)
    head, *rest = world.records()
    lines = [
        f"{head},trait",
        *(f"{one},{'yes' if random.random() < 0.4 else 'no'}" for one in rest),
    ]
    folder = world.make(into)
    (into / "people.csv").write_text("\n".join(lines) + "\n")
    write(folder, prior, related, **suppression)
    dc.load(folder)
    return folder


def write(folder: Path, prior: dict[str, str], related: list[str], **suppression: Any) -> None:
    """discreet.yaml with both attributes."""
    said = world.described(**suppression)
    said["variables"]["trait"] = {**deepcopy(said["variables"]["gene"]), "column": "trait"}
    trait = {"counts": ["yes"], "prior": prior, "related": related}
    said["methods"]["suppression"]["attributes"]["trait"] = trait
    (folder / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))


def spent(folder: Path) -> float:
    """What the ledger holds as spent, at the worst point of each prior."""
    with DataSet.open(folder) as data:
        told = [one.measurements.facts["suppression"] for one in history(data).answers]
    return sum(max(map(float, one["charged"])) for one in told)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [VALUE, INTERVAL], ids=["a value", "an interval"])
@pytest.mark.parametrize("first", ["gene", "trait"])
def test_related_attributes_share_one_delta(tmp_path: Path, prior: dict[str, str], first: str):
    """One has spent nearly all: the other has what is left, whichever has more points of its prior."""
    folder = make(tmp_path, prior, ["gene"], epsilon="0.4", delta="0.05")
    second = "trait" if first == "gene" else "gene"
    with dc.open(folder) as data:
        data.table(**TABLE, where={"half": ["n"]}, attribute=first).release()
        with pytest.raises(Refusal) as caught:
            data.table(**TABLE, where={"half": ["n"]}, attribute=second).release()
        assert caught.value.rule == "overlapping-table"
        before = spent(folder)
        assert before > 0
        with suppress(Refusal):
            data.table(**TABLE, where={"half": ["s"]}, attribute=second).release()
    assert spent(folder) <= 0.05 + 1e-9


@pytest.mark.slow
def test_attributes_that_are_not_related_have_a_delta_each(tmp_path: Path):
    """Tables of both about the same people, each on a history of its own."""
    folder = make(tmp_path, VALUE, [])
    with dc.open(folder) as data:
        for name in ("gene", "trait"):
            assert data.table(**TABLE, attribute=name).release().protected.shown.any()


def test_what_was_declared_related_stays_so(tmp_path: Path):
    """A declaration taken back after a release does not part the histories."""
    folder = make(tmp_path, VALUE, ["gene"])
    with dc.open(folder) as data:
        data.table(**TABLE, attribute="trait").release()
    write(folder, VALUE, [])
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        data.table(**TABLE, attribute="gene").release()
    assert caught.value.rule == "overlapping-table"
