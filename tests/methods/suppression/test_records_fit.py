"""Records that do not fit the public facts are told to the custodian, never by an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import discreet as dc
from discreet.errors import DataError, InputError

from . import world

CERTAIN = "hair,p\nblonde,1\nblack,0.4\nbrown,0.3\n"
NEVER = "hair,p\nblonde,0\nblack,0.4\nbrown,0.3\n"


def lines(of_blonde: str) -> list[str]:
    """Records in which everybody blonde has this value."""
    head, *rest = world.records()
    return [
        head,
        *(one.rpartition(",")[0] + f",{of_blonde}" if "blonde" in one else one for one in rest),
    ]


def with_prior(into: Path, prior: str, records: list[str]) -> Path:
    """A data set whose prior is as given from the start."""
    folder = world.make(into, records)
    (folder / "prior.csv").write_text(prior)
    return folder


@pytest.mark.parametrize(
    ("prior", "value", "other"), [(CERTAIN, "yes", "no"), (NEVER, "no", "yes")]
)
def test_a_value_that_the_prior_rules_out_is_found_at_load(
    tmp_path: Path, prior: str, value: str, other: str
):
    """One record against a certain prior: loading and `check` say it; all as it says: tables come out."""
    folder = with_prior(tmp_path, prior, lines(value))
    dc.load(folder)
    with dc.open(folder) as data:
        assert data.table(rows="eyes", columns="hair").release().protected.shown.any()
    records = lines(value)
    records[1] = records[1].rpartition(",")[0] + f",{other}"
    (tmp_path / "people.csv").write_text("\n".join(records) + "\n")
    with pytest.raises(DataError, match="rules out cannot be protected"):
        dc.load(folder)


def test_a_missing_record_counts_as_none(tmp_path: Path):
    """A person of the populations without a record cannot be certain to have the attribute."""
    folder = with_prior(tmp_path, CERTAIN, lines("yes"))
    (tmp_path / "people.csv").write_text("\n".join(lines("yes")[:1] + lines("yes")[2:]) + "\n")
    with pytest.raises(DataError, match="rules out cannot be protected"):
        dc.load(folder)


def test_a_prior_that_becomes_certain_must_be_loaded_against(tmp_path: Path):
    """Edited after loading: nothing is answered, whatever the records, until they are compared again."""
    folder = world.make(tmp_path)
    (folder / "prior.csv").write_text("hair,p\nblonde,0.45\nblack,0.4\nbrown,0.3\n")
    assert not [one for one in dc.check(folder) if one.severity == "error"]
    (folder / "prior.csv").write_text(CERTAIN)
    found = [str(one) for one in dc.check(folder) if one.severity == "error"]
    assert any("changed after loading" in one for one in found)
    with pytest.raises(InputError, match="load"), dc.open(folder) as data:
        data.table(rows="eyes", columns="hair").release()
    with pytest.raises(DataError, match="rules out"):
        dc.load(folder)


@pytest.mark.parametrize("said", ["1e0", "7/7", "+1.00", "0e3", "0/4"])
def test_certain_is_certain_however_it_is_written(tmp_path: Path, said: str):
    """A prior edited to 0 or 1 after loading needs a load, as a fraction or with an exponent too."""
    folder = world.make(tmp_path)
    (folder / "prior.csv").write_text(CERTAIN.replace(",1\n", f",{said}\n"))
    with pytest.raises(InputError, match="discreet load"):
        dc.open(folder)
    (folder / "prior.csv").write_text(
        f"hair,low,high\nblonde,{said},{said}\nblack,0.4,0.5\nbrown,0.3,0.4\n"
    )
    with pytest.raises(InputError, match="discreet load"):
        dc.open(folder)


def test_a_prior_of_whole_numbers_says_something_of_every_code(tmp_path: Path):
    """A value without a column was found in records only when somebody asked; as 0 it is at load."""
    head, *rest = world.records()
    folder = world.make(tmp_path)
    records = [head, *(one.rpartition(",")[0] + f",{k % 3}" for k, one in enumerate(rest))]
    (tmp_path / "people.csv").write_text("\n".join(records) + "\n")
    said = world.described()
    said["variables"]["gene"]["categories"] = {str(k): str(k) for k in range(3)}
    attribute = said["methods"]["suppression"]["attributes"]["gene"]
    del attribute["counts"]
    attribute["integers"] = "yes"
    (folder / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    for columns, chances, error, words in (
        ("p0,p1", "0.4,0.6", InputError, "codes are 0 to 2"),
        ("p0,p1,p2,p3", "0.4,0.2,0.2,0.2", InputError, "codes are 0 to 2"),
        ("p0,p1,p2", "0.4,0.6,0", DataError, "has the value 2"),
    ):
        rows = "".join(f"{hair},{chances}\n" for hair in world.HAIR)
        (folder / "prior.csv").write_text(f"hair,{columns}\n{rows}")
        with pytest.raises(error, match=words):
            dc.load(folder)
