"""Records that do not fit the public facts are told to the custodian, never by an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

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
