"""Counts that are published as they are: only of records that a release made, by no trick of others.

Every attack here tries to have `method: synthetic` count confidential records, or to have synthetic
records promise what they do not keep. Each must end in one sentence and no number.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.origin import Origin
from discreet.core.question import Treatment
from discreet.errors import Bug, DiscreetError, InputError, Refusal
from discreet.methods.synthetic.method import SyntheticMethod
from discreet.recipe import Question
from discreet.workspace import DataSet, versions
from discreet.workspace.loading import load_synthetic

from .people import change, make


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`people`, confidential under a budget, and `open`, the synthetic records of one release."""
    folder = tmp_path_factory.mktemp("synthetic")
    people = make(folder, "dp")
    with dc.open(people) as data:
        data.recipe(
            {"method": "marginals", "epsilon": "2", "workload": "all 2-way of area, sex, job"}
        ).release()
    dc.synthetic(people, folder / "open")
    return folder


@pytest.fixture
def here(world: Path, tmp_path: Path) -> Path:
    """A copy to attack."""
    shutil.copytree(world, tmp_path / "w")
    return tmp_path / "w"


def version_of(folder: Path) -> Path:
    return folder / "versions" / (folder / "current").read_text().strip()


def rewritten(version: Path, **changes: object) -> None:
    """A manifest changed by someone who knows how its own digest is made."""
    path = version / "manifest.json"
    body = json.loads(path.read_text())
    body.pop("digest")
    body |= changes
    body["data_bytes"] = (version / "data.duckdb").stat().st_size
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    path.write_text(json.dumps(body | {"digest": hashlib.sha256(text.encode()).hexdigest()}))


def refused(folder: Path, words: str) -> None:
    """Opening, and so every table, is refused in one sentence without a number of the data."""
    with pytest.raises(InputError, match=words) as caught:
        DataSet.open(folder)
    assert "600" not in str(caught.value)
    assert any(finding.severity == "error" for finding in dc.check(folder))


@pytest.mark.slow
def test_the_untouched_data_set_answers(here: Path):
    """What the attacks below break works before."""
    with dc.open(here / "open") as data:
        table = data.table(rows="area", columns="sex").release()
        assert table.protected.guarantee.kind is Kind.DP
        assert table.cost == "nothing"


@pytest.mark.parametrize("family", ["dp", "cell-key"])
def test_discreet_yaml_cannot_make_confidential_records_synthetic(tmp_path: Path, family: str):
    """Neither family nor method can be set on records that came from a source."""
    folder = make(tmp_path, family)
    change(folder, family="synthetic", method="synthetic", methods=None, budget=None)
    refused(folder, "not made from a release")
    with pytest.raises(InputError, match="synthetic"):
        dc.load(folder, Control())
    change(folder, family=family, budget={"epsilon": "1"} if family == "dp" else None)
    with pytest.raises(InputError, match="belongs to family synthetic"):
        DataSet.open(folder)


def test_a_question_cannot_name_the_method(here: Path):
    """The method of another family is refused whoever names it."""
    with dc.open(here / "people") as data, pytest.raises(Refusal) as caught:
        data.table(rows="area", method="synthetic").release()
    assert caught.value.rule == "one-family"


def test_nothing_else_can_be_loaded_into_it(here: Path):
    """Not by load, not by another source, not under another family for a while."""
    target = here / "open"
    for changes in (
        {},
        {"source": {"file": "../people.csv"}},
        {"family": "cell-key", "method": "cell-key"},
    ):
        change(target, **changes)
        with pytest.raises(InputError, match="nothing else can be loaded"):
            dc.load(target, Control())
    with pytest.raises(InputError, match="from a release"):
        dc.init(here / "people.csv", here / "new", Control(), family="synthetic")


def test_other_records_under_the_seal_are_noticed(here: Path):
    """The confidential data file in the place of the synthetic one, sizes and digests made to fit."""
    target, source = version_of(here / "open"), version_of(here / "people")
    shutil.copy(source / "data.duckdb", target / "data.duckdb")
    digest = versions.file_digest(target / "data.duckdb")
    rewritten(target, data_digest=digest)
    refused(here / "open", "not those that were made")


def test_records_added_to_the_data_file_are_noticed(here: Path):
    """One confidential record more, written by DuckDB itself, in the file or in a log beside it."""
    target = version_of(here / "open")
    (target / "data.duckdb").chmod(0o600)
    with duckdb.connect(str(target / "data.duckdb")) as connection:
        connection.execute("INSERT INTO records SELECT * FROM records LIMIT 1")
    rewritten(target)
    refused(here / "open", "not those that were made")


def test_other_arrays_under_the_seal_are_noticed(here: Path):
    """The confidential records as arrays in the place of the synthetic ones."""
    target, source = version_of(here / "open"), version_of(here / "people")
    shutil.copy(source / "records.arrays", target / "records.arrays")
    path = target / "records.arrays"
    digest = versions.file_digest(path)
    rewritten(target, arrays_digest=digest, arrays_bytes=path.stat().st_size)
    refused(here / "open", "not those that were made")


@pytest.mark.parametrize("name", ["data.duckdb", "records.arrays"])
def test_a_changed_byte_is_noticed(here: Path, name: str):
    """Same size, same manifest, another byte."""
    path = version_of(here / "open") / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)
    refused(here / "open", "not those that were made")


def test_records_changed_after_opening_are_noticed(here: Path):
    """A server opens a data set long before the first question is counted."""
    path = version_of(here / "open") / "data.duckdb"
    with dc.open(here / "open") as data:
        draft = data.table(rows="area")
        path.chmod(0o600)
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises(InputError, match="not those that were made"):
            draft.release()


def test_a_write_ahead_log_beside_it_is_noticed(here: Path):
    """DuckDB would replay it on opening."""
    target = version_of(here / "open")
    (target / "data.duckdb.wal").write_bytes(b"anything")
    refused(here / "open", "not those that were made")


def test_an_origin_written_into_a_confidential_manifest_is_noticed(here: Path):
    """With the origin and even the seal of a true synthetic version."""
    source, target = version_of(here / "open"), version_of(here / "people")
    facts = json.loads((source / "manifest.json").read_text())
    for seal in ("", facts["seal"]):
        rewritten(target, origin=facts["origin"], seal=seal)
        change(here / "people", family="synthetic", method="synthetic", budget=None)
        refused(here / "people", "not those that were made")


def test_a_synthetic_version_in_a_confidential_data_set_is_noticed(here: Path):
    """Its whole version, moved over and pointed to: the seal is of other secrets."""
    source, folder = version_of(here / "open"), here / "people"
    shutil.copytree(source, folder / "versions" / source.name)
    (folder / "current").write_text(source.name + "\n")
    change(folder, family="synthetic", method="synthetic", budget=None)
    refused(folder, "not those that were made")


def test_the_guarantee_cannot_be_edited(here: Path):
    """A smaller epsilon in the manifest breaks the seal."""
    target = version_of(here / "open")
    origin = json.loads((target / "manifest.json").read_text())["origin"]
    origin["guarantee"]["epsilon"] = "0.01"
    rewritten(target, origin=origin)
    refused(here / "open", "not those that were made")


def test_unit_and_neighbours_come_from_the_release(here: Path):
    """What discreet.yaml says of the unit later does not change what is promised."""
    with dc.open(here / "open") as data:
        before = data.table(rows="sex").guarantee
    change(here / "open", unit="household", records=None, title="All true")
    with dc.open(here / "open") as data:
        assert data.table(rows="sex").guarantee == before
        notes = data.table(rows="sex").release().protected.notes
        assert any(note.startswith("Synthetic figures") for note in notes)


@pytest.mark.parametrize("family", ["dp", "cell-key"])
def test_synthetic_records_get_no_second_guarantee(here: Path, family: str):
    """Noise on them would claim its own epsilon for people who already lost the release's."""
    budget = {"epsilon": "1"} if family == "dp" else None
    change(here / "open", family=family, method=None, budget=budget)
    refused(here / "open", "no other")


def test_only_releases_of_margins_become_records(here: Path, tmp_path: Path):
    """Not a release of independent noise, not a keyed table, not the data themselves."""
    keyed = make(tmp_path / "keyed", "cell-key")
    other = make(tmp_path / "noise", "dp")
    with dc.open(other) as data:
        data.table(rows="area", epsilon="1").release()
    for folder in (keyed, other, here / "open"):
        with pytest.raises(Refusal) as caught:
            dc.synthetic(folder, tmp_path / "made")
        assert caught.value.rule == "no-synthetic-records"
    with pytest.raises(Refusal, match="0123"):
        dc.synthetic(here / "people", tmp_path / "made", release="0123")
    assert not (tmp_path / "made").exists()


def test_the_method_does_nothing_without_an_origin(here: Path):
    """Called by itself, with facts or a plan of confidential records."""
    method = SyntheticMethod()
    question = Question("people", (), "synthetic")
    with DataSet.open(here / "people") as data:
        assert data.facts.origin is None
        with pytest.raises(Refusal, match="not made from a release"):
            method.plan(question, Treatment(), data.facts)
    with DataSet.open(here / "open") as data:
        plan = method.plan(question, Treatment(), data.facts)
    with pytest.raises(Bug):
        method.measure(replace(plan, detail=None), (), None, Control())  # type: ignore[arg-type]


def test_loading_with_an_origin_takes_the_written_records_only(here: Path):
    """The one door for synthetic records opens for a new data set and the digest it was told."""
    origin = Origin("people", "0" * 64, Guarantee(Kind.DP, "person", "add or remove one"), "0" * 64)
    for folder in (here / "people", here / "open"):
        with pytest.raises(Bug):
            load_synthetic(folder, origin)
    fresh = here / "fresh"
    fresh.mkdir()
    shutil.copy(here / "open" / "discreet.yaml", fresh)
    shutil.copy(here / "people.csv", fresh / "microdata.parquet")
    with pytest.raises(DiscreetError):
        load_synthetic(fresh, origin)
    assert not (fresh / "current").exists()
