"""Opening data sets and workspaces: what a path means, what is derived, what is hidden."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InputError, StoreError
from discreet.formats import footnote
from discreet.methods.base import Facts, Secrets
from discreet.workspace import DataSet, Workspace, load, resolve
from discreet.workspace.secrets import DataSetSecrets, create, open_to_others
from discreet.workspace.secrets import read as read_secrets

from .people import YAML, loaded_people, make_people, write_people


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name in ("alpha", "beta"):
        loaded_people(folder / name)
    (folder / "not-data").mkdir()
    return folder


def test_a_path_means_one_data_set(workspace: Path) -> None:
    assert resolve(workspace / "alpha") == workspace / "alpha"
    with pytest.raises(InputError, match="holds 2 data sets: alpha, beta"):
        resolve(workspace)
    with pytest.raises(InputError, match=r"has no data set 'alhpa'\. Did you mean alpha\?"):
        resolve(workspace / "alhpa")
    with pytest.raises(InputError, match="holds no data set"):
        resolve(workspace / "not-data")
    with pytest.raises(InputError, match="does not exist"):
        resolve(workspace / "nowhere" / "at" / "all")
    (workspace / "beta" / "discreet.yaml").unlink()
    assert resolve(workspace) == workspace / "alpha"


def test_a_workspace_lists_its_data_sets(workspace: Path) -> None:
    assert Workspace.open(workspace).names == ("alpha", "beta")
    assert Workspace.open(workspace / "alpha").names == ("alpha",)
    Workspace.open(workspace).dataset("beta").close()
    with pytest.raises(InputError, match="no data set 'gamma'"):
        Workspace.open(workspace).dataset("gamma")
    with pytest.raises(InputError, match="is not a folder"):
        Workspace.open(workspace / "nowhere")


def test_an_open_data_set_has_public_facts_and_one_engine(workspace: Path) -> None:
    with DataSet.open(workspace / "alpha") as opened:
        assert isinstance(opened.facts, Facts)
        assert opened.facts.data_version == opened.data_version
        assert opened.facts.policy_version == opened.policy.version
        assert opened.engine() is opened.engine()
    shown = repr(opened).replace(str(workspace), "").replace(opened.version.name, "")
    assert "60" not in shown  # the number of records; folder and digest may hold any digits


def test_keys_are_derived_by_purpose_and_epoch_and_never_shown(tmp_path: Path) -> None:
    create(tmp_path)
    secrets: Secrets = read_secrets(tmp_path)
    keys = {
        secrets.derive("cell keys"),
        secrets.derive("empty cells"),
        read_secrets(tmp_path, "epoch-2").derive("cell keys"),
    }
    assert len(keys) == 3
    assert all(len(key) == 32 for key in keys)
    create(tmp_path)
    assert read_secrets(tmp_path).derive("cell keys") == secrets.derive("cell keys")
    master = (tmp_path / "secret" / "master.key").read_bytes()
    for shown in (repr(secrets), str(secrets), f"{secrets!r}"):
        assert master.hex()[:8] not in shown
        assert repr(master)[2:8] not in shown
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(secrets)


def test_derivation_is_hkdf_sha256() -> None:
    """Against the definition of RFC 5869, written out: extract with no salt, one block of expand."""
    import hashlib
    import hmac

    master = bytes(range(32))
    extracted = hmac.digest(bytes(32), master, hashlib.sha256)
    context = b"discreet 1\x00epoch-1\x00cell keys"
    wanted = hmac.digest(extracted, context + b"\x01", hashlib.sha256)
    assert DataSetSecrets(master, bytes(32)).derive("cell keys") == wanted


def test_secret_files_are_the_owners_alone(tmp_path: Path) -> None:
    create(tmp_path)
    assert open_to_others(tmp_path) == []
    (tmp_path / "secret" / "salt").chmod(0o644)
    assert [path.name for path in open_to_others(tmp_path)] == ["salt"]
    (tmp_path / "secret" / "salt").write_bytes(b"short")
    with pytest.raises(StoreError, match="must hold 32 bytes, got 5"):
        read_secrets(tmp_path)


def test_a_data_set_keeps_the_family_it_served(workspace: Path) -> None:
    """Before the first table the family may change; afterwards it is refused in one sentence."""
    yaml = workspace / "alpha" / "discreet.yaml"
    cell_key = yaml.read_text()
    yaml.write_text(cell_key + 'family: dp\nbudget: {epsilon: "1"}\n')
    with DataSet.open(workspace / "alpha") as opened:
        opened.engine()
    with DataSet.open(workspace / "alpha") as opened:
        opened.engine()
    yaml.write_text(cell_key)
    with (
        DataSet.open(workspace / "alpha") as opened,
        pytest.raises(InputError, match="has served tables of family dp"),
    ):
        opened.engine()


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.slow
def test_a_new_key_epoch_and_the_notes_are_said_under_every_table(tmp_path: Path, keyed: bool):
    """A reader of a later table is told that unchanged cells have other noise; ids prevent that."""
    yaml = YAML.replace("dataset: people\n", "dataset: people\nnotes: [Counted on one day.]\n")
    folder = make_people(tmp_path / "people", yaml=yaml if keyed else yaml.replace("id:", "# id:"))
    law = "methods: {cell-key: {max_perturbation: 3, variance: 2}}\n"
    (folder / "discreet.yaml").write_text((folder / "discreet.yaml").read_text() + law)
    for records, anew in ((60, False), (70, not keyed)):
        write_people(folder, records)
        load(folder)
        with dc.open(folder) as people:
            made = people.table(rows=["sex"]).release()
            notes = footnote(made.protected)
            assert "Counted on one day." in notes
            assert any("Record keys began anew (epoch-2)" in note for note in notes) == anew
            text = made.write(tmp_path / "t.json").read_text("utf-8")
            assert ("began anew" in text) == anew
