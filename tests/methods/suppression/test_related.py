"""Attributes that are declared related share one δ, and what was declared stays so."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

import discreet as dc
from discreet.earlier import history
from discreet.errors import InputError, Refusal
from discreet.methods.suppression import past, settings
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


def attributes(**related: list[str]) -> dict[str, Any]:
    """Parameters of a policy with these attributes, related as told."""
    text = "eyes,population\nblue,10\n"
    return {
        "epsilon": "0.5",
        "delta": "0.2",
        "populations": {"text": text, "source": "a census"},
        "attributes": {
            name: {"counts": ["yes"], "prior": VALUE, "related": others}
            for name, others in related.items()
        },
    }


def test_relations_hold_both_ways_and_go_on():
    """Of a chain all share one δ: else both ends would spend one each on what is between them."""
    read = settings.read(attributes(gene=["trait"], trait=[], habit=["trait"], other=[]))
    assert {name: one.related for name, one in read.attributes.items()} == {
        "gene": ("habit", "trait"),
        "trait": ("gene", "habit"),
        "habit": ("gene", "trait"),
        "other": (),
    }


def test_a_relation_declared_by_the_other_stays_too(tmp_path: Path):
    """The gene's table came out while the trait declared the relation: taken back, it still holds."""
    folder = make(tmp_path, VALUE, ["gene"])
    with dc.open(folder) as data:
        data.table(**TABLE, attribute="gene").release()
    write(folder, VALUE, [])
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        data.table(**TABLE, attribute="trait").release()
    assert caught.value.rule == "overlapping-table"


def test_a_chain_taken_back_in_part_stays_whole():
    """History joins what a policy no longer does: gene and trait were one when gene came out."""
    said = settings.read(attributes(gene=[], trait=["habit"], habit=[]))
    facts = SimpleNamespace(
        data_version="v1",
        history=SimpleNamespace(
            answers=[
                SimpleNamespace(
                    measurements=SimpleNamespace(
                        facts={
                            "suppression": {
                                "attribute": name,
                                "related": related,
                                "data_version": "v1",
                            }
                        }
                    )
                )
                for name, related in (("gene", ["trait"]), ("other", []))
            ]
        ),
    )
    found = past._of_attribute("habit", said, facts)
    assert [one.measurements.facts["suppression"]["attribute"] for one in found] == ["gene"]


@pytest.mark.parametrize("value", ["1e-17", "0.99999999999999999", "1/10000000000000"])
def test_a_prior_that_floats_take_as_certain_is_refused(value: str):
    """Records against it would be found only when somebody asks; 0 and 1 themselves are checked at load."""
    said = attributes(gene=[])
    said["attributes"]["gene"]["prior"] = {"value": value, "source": "a survey"}
    with pytest.raises(InputError, match="no nearer to either than 1e-12"):
        settings.read(said)
    said["attributes"]["gene"]["prior"] = {"value": "1e-9", "source": "a survey"}
    assert settings.read(said)
    assert settings.chance("1e-17", "p3", of_several=True)
    with pytest.raises(InputError, match="p0 must be"):
        settings.chance("0.99999999999999999", "p0", of_several=True)


def test_the_prior_of_a_related_attribute_cannot_be_edited(tmp_path: Path):
    """Both are one history: what one was decided on holds for what is asked of the other."""
    folder = make(tmp_path, VALUE, ["gene"])
    with dc.open(folder) as data:
        data.table(**TABLE, where={"half": ["n"]}, attribute="trait").release()
    write(folder, {**VALUE, "value": "0.41"}, ["gene"])
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        _ = data.table(**TABLE, where={"half": ["s"]}, attribute="gene").standing
    assert caught.value.rule == "history-changed"


def test_attributes_of_one_column_must_share_a_delta(tmp_path: Path):
    """Those with a gene and those without, as two attributes: refused until they are declared related."""
    folder = world.make(tmp_path)
    said = world.described()
    said["variables"]["lack"] = deepcopy(said["variables"]["gene"])
    attributes = said["methods"]["suppression"]["attributes"]
    attributes["lack"] = {"counts": ["no"], "prior": {"value": "0.6", "source": "a survey"}}
    attributes["more"] = {**deepcopy(attributes["lack"]), "related": ["gene"]}
    said["variables"]["more"] = {**deepcopy(said["variables"]["gene"]), "column": "half"}
    said["variables"]["more"]["categories"] = {"n": "n", "s": "s"}
    attributes["more"]["counts"] = ["n"]
    (folder / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    with pytest.raises(InputError, match=r"gene and lack .* same column.*related: \[lack\]"):
        dc.load(folder)
    attributes["lack"]["related"] = "more"
    (folder / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    dc.load(folder)
