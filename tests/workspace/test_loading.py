"""Loading is atomic and versioned: whatever happens, the data set is the old one or the new one."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from discreet.core.domain import AxisRef, Count
from discreet.errors import DataError, InputError, StoreError
from discreet.workspace import DataSet, load, versions

from ..patience import PATIENCE
from .people import (
    CONTEXT,
    YAML,
    finish,
    load_and_die_at_step,
    load_as_nobody,
    load_here,
    load_interrupted,
    load_without_room,
    make_people,
    start,
    write_people,
)


def state(folder: Path) -> tuple[str, int]:
    """Version and number of records served, after opening the data and counting once."""
    with DataSet.open(folder) as opened:
        (table,) = opened.engine().count([Count((AxisRef("area", "side"),))])
        assert table.domain.shape == (2,)
        return opened.data_version, opened.manifest.records


def test_a_load_makes_a_version_and_serves_it(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    with pytest.raises(InputError, match="not loaded yet"):
        DataSet.open(folder)
    done = load(folder)
    assert (done.unchanged, done.new_epoch, done.manifest.records) == (False, False, 60)
    assert state(folder) == (done.manifest.data_version, 60)
    files = ["data.duckdb", "manifest.json", "records.arrays"]
    assert sorted(p.name for p in done.version.iterdir()) == files
    assert (folder / "current").read_text().strip() == done.version.name


@pytest.mark.slow
def test_the_same_data_and_coding_are_the_same_version(tmp_path: Path) -> None:
    """Loaded again, or with labels changed: one version, one name. Under another custodian's
    secret another name: a name made from the data alone would confirm guesses of a record."""
    folder = make_people(tmp_path / "people")
    first = load(folder)
    assert load(folder).unchanged
    (folder / "discreet.yaml").write_text(YAML.replace("Alder", "Alder Hill"))
    again = load(folder)
    assert again.unchanged
    assert again.manifest == first.manifest
    other = make_people(tmp_path / "other")
    assert load(other).manifest.content == first.manifest.content
    assert load(other).manifest.data_version != first.manifest.data_version
    write_people(folder, 61)
    assert load(folder).manifest.data_version != first.manifest.data_version
    write_people(folder, 60)
    back = load(folder)
    assert back.unchanged
    assert back.version == first.version


def test_a_changed_coding_asks_for_a_load(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    before = load(folder).manifest.data_version
    (folder / "discreet.yaml").write_text(YAML.replace("f: Female, m: Male", "m: Male, f: Female"))
    with pytest.raises(InputError, match=r"changed after the data were loaded.*discreet load"):
        DataSet.open(folder)
    assert load(folder).manifest.data_version != before
    DataSet.open(folder).close()


def test_records_keep_their_epoch_while_ids_match(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    assert load(folder).manifest.epoch == "epoch-1"
    write_people(folder, 70)
    assert load(folder).manifest.epoch == "epoch-1"


def test_without_ids_new_data_begin_a_new_epoch(tmp_path: Path) -> None:
    """The epoch belongs to the version; keys of one epoch say nothing of another's."""
    folder = make_people(tmp_path / "people", yaml=YAML.replace("id: person\n", ""))
    assert load(folder).manifest.epoch == "epoch-1"
    with DataSet.open(folder) as one:
        first = one.secrets.derive("cell keys")
    assert load(folder).unchanged
    write_people(folder, 70)
    second = load(folder)
    assert second.new_epoch
    assert second.manifest.epoch == "epoch-2"
    with DataSet.open(folder) as two:
        assert two.secrets.derive("cell keys") != first
    (folder / "discreet.yaml").write_text(YAML)
    assert load(folder).manifest.epoch == "epoch-3"


def test_a_declared_number_of_records_must_be_true(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people", yaml=YAML + "records: 61\n")
    with pytest.raises(DataError, match="declares 61 records, but the data hold another") as caught:
        load(folder)
    assert "60" not in caught.value.message
    write_people(folder, 61)
    load(folder)
    (folder / "discreet.yaml").write_text(YAML + "records: 62\n")
    with pytest.raises(InputError, match="declares 62 records"):
        DataSet.open(folder)


@pytest.mark.slow
def test_a_failed_load_leaves_the_old_version(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    load(folder)
    before = state(folder)
    for spoilt in (
        "person,ward,side,sex\np1,z,n,f\n",  # a code that is not declared
        "person,ward,side,sex\np1,a,s,f\n",  # under another parent
        "person,ward,side,sex\np1,a,n,f\np1,b,n,f\n",  # a unit twice
        "person,ward,side,sex\np1,a,n\n",  # ragged
        "person,ward,sex\np1,a,f\n",  # a column gone
        "",
    ):
        (folder / "people.csv").write_text(spoilt)
        with pytest.raises(DataError) as caught:
            load(folder)
        assert "\n" not in caught.value.message
        assert "p1" not in caught.value.message
        assert state(folder) == before
    (folder / "people.csv").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        load(folder)
    assert state(folder) == before
    assert not list((folder / "versions").glob(".loading*"))


def test_two_loads_at_once_one_is_told(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    with versions.loading(folder), pytest.raises(InputError, match="Another process is loading"):
        load(folder)
    load(folder)


def test_a_damaged_version_is_found_and_loaded_again(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    first = load(folder)
    manifest = first.version / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"records": 60', '"records": 59'))
    with pytest.raises(StoreError, match=r"manifest\.json is damaged"):
        DataSet.open(folder)
    assert load(folder).version != first.version
    assert state(folder)[1] == 60
    (folder / "current").write_text("../../etc")
    with pytest.raises(StoreError, match="does not name a version"):
        DataSet.open(folder)


def test_lost_secrets_are_never_drawn_anew(tmp_path: Path) -> None:
    """A new master key under old versions would give old questions new answers."""
    folder = make_people(tmp_path / "people")
    load(folder)
    (folder / "secret" / "master.key").unlink()
    with pytest.raises(StoreError, match="restore it from a backup"):
        load(folder)
    with DataSet.open(folder) as opened, pytest.raises(StoreError, match="backup"):
        _ = opened.secrets


@pytest.mark.slow
def test_killed_before_any_lasting_step_the_data_set_is_old_or_new(tmp_path: Path) -> None:
    """Every crash point in turn: before each sync, rename, replace, chmod, mkdir and unlink."""
    folder = make_people(tmp_path / "people")
    load(folder)
    old = state(folder)
    seen: list[tuple[str, int]] = []
    for step in range(60):
        write_people(folder, 61)
        code = finish(start(load_and_die_at_step, str(folder), step))
        seen.append(state(folder))
        if code == 0:
            break
        assert code == -9
        if seen[-1] != old:  # the new version is served already: begin again from the old one
            shutil.rmtree(folder / "versions" / (folder / "current").read_text().strip())
            write_people(folder, 60)
            load(folder)
        else:
            for version in versions.every(folder)[1:]:
                shutil.rmtree(version)
    assert code == 0, "the load never came to its end"
    assert len(seen) > 6
    assert set(seen) == {old, seen[-1]}
    assert seen[-1][1] == 61
    assert not list((folder / "versions").glob(".loading*"))


@pytest.mark.slow
def test_a_first_load_that_is_killed_can_be_made_again(tmp_path: Path) -> None:
    """Secrets half made included: nothing has to be removed by hand."""
    for step in (1, 4, 7, 10, 13, 16):
        folder = make_people(tmp_path / f"people{step}")
        assert finish(start(load_and_die_at_step, str(folder), step)) == -9
        load(folder)
        assert state(folder)[1] == 60


@pytest.mark.slow
def test_a_loader_that_points_too_early_is_caught(tmp_path: Path) -> None:
    """The twin: at some crash point the data set cannot be opened."""
    folder = make_people(tmp_path / "people")
    load(folder)
    write_people(folder, 61)
    for step in range(60):
        code = finish(start(load_and_die_at_step, str(folder), step, True))
        try:
            state(folder)
        except StoreError:
            return
        assert code != 0
    pytest.fail("no crash point showed the fault")


def begin(folder: Path) -> BaseProcess:
    """A process that has begun to load."""
    ours, theirs = CONTEXT.Pipe()
    process = start(load_here, str(folder), "", theirs)
    assert ours.poll(PATIENCE)
    return process


def kills(folder: Path, wanted: int) -> tuple[int, int]:
    """So many kills of loads under way; how many loads were begun, how many new versions survived.

    A load that ended before its kill does not count. The moment is uniform over the time that a
    whole load takes, from its beginning.
    """
    make_people(folder, 20_000)
    load(folder)
    write_people(folder, 20_001)
    process = begin(folder)
    began = time.monotonic()
    assert finish(process) == 0
    whole = time.monotonic() - began
    chance = random.Random(7)
    hit = begun = survived = 0
    while hit < wanted:
        begun += 1
        assert begun < 10 * wanted, "too few kills met a load under way"
        records = 20_001 + begun
        write_people(folder, records)
        before = state(folder)
        process = begin(folder)
        time.sleep(chance.random() * whole)
        process.kill()
        process.join()
        after = state(folder)
        assert after == before or after[1] == records, f"load {begun}: {before} → {after}"
        killed = process.exitcode == -9
        assert killed or after[1] == records
        hit += killed
        if not killed:  # loads are quicker now than the one that was timed
            whole *= 0.8
        survived += killed and after != before
        for version in versions.every(folder)[:-3]:
            if version.name != (folder / "current").read_text().strip():
                shutil.rmtree(version)
    load(folder)
    assert state(folder)[1] == 20_001 + begun
    assert not list((folder / "versions").glob(".loading*"))
    return begun, survived


@pytest.mark.slow
def test_15_kills_while_loading(tmp_path: Path) -> None:
    """After each of 15 kills of a load the old version is served, or the new one, whole."""
    kills(tmp_path / "people", 15)


@pytest.mark.proof
def test_200_kills_while_loading(tmp_path: Path) -> None:
    """After each of 200 kills of a load the old version is served, or the new one, whole."""
    begun, survived = kills(tmp_path / "people", 200)
    print(f"200 loads killed under way, of {begun} begun; {survived} had served the new version")


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.99])
def test_ctrl_c_loses_nothing(tmp_path: Path, share: float) -> None:
    folder = make_people(tmp_path / "people")
    load(folder)
    before = state(folder)
    write_people(folder, 80)
    assert finish(start(load_interrupted, str(folder), share)) == 130
    assert state(folder) == before
    assert not list((folder / "versions").glob(".loading*"))


def test_no_room_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people")
    load(folder)
    before = state(folder)
    write_people(folder, 80)
    assert finish(start(load_without_room, str(folder), 50_000, str(tmp_path / "told"))) == 5
    assert state(folder) == before
    assert not list((folder / "versions").glob(".loading*"))
    load(folder)


def test_a_read_only_folder_is_one_sentence() -> None:
    base = Path(tempfile.mkdtemp())
    try:
        os.chmod(base, 0o755)
        folder = make_people(base / "people")
        os.chmod(folder, 0o555)
        assert finish(start(load_as_nobody, str(folder), str(base / "told"))) == 5
        told = (base / "told").read_text()
        assert "permission is denied" in told
        assert "\n" not in told
    finally:
        os.chmod(base / "people", 0o755)
        shutil.rmtree(base)
