"""The demo is the same on every machine, has the published region counts and no real person."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from discreet.core.domain import AxisRef
from discreet.core.loss import PureLoss
from discreet.demo import NAMES, deaths, draft, make_demo
from discreet.demo.places import REGIONS, areas
from discreet.demo.uk_census import uk_census
from discreet.errors import InputError
from discreet.workspace import DataSet, Workspace, check

# ONS, differential privacy pilot on mortality data (2021), Table 8, column "Actual".
TABLE_8 = {
    "_U": 965,
    "E12000001": 28075,
    "E12000002": 71299,
    "E12000003": 51692,
    "E12000004": 45015,
    "E12000005": 54562,
    "E12000006": 56406,
    "E12000007": 50541,
    "E12000008": 81052,
    "E12000009": 56667,
    "N99999999": 13,
    "S99999999": 170,
    "W99999999": 33198,
}


def test_region_counts_are_those_of_table_8() -> None:
    found = np.bincount(deaths.codes()["region"], minlength=len(REGIONS))
    assert {one.code: int(n) for one, n in zip(REGIONS, found, strict=True)} == TABLE_8
    assert found.sum() == 529_655


def test_the_census_table_lies_beside_as_records(demo: Path) -> None:
    """rinott's Table 1 with a line for each person counted, so that it counts back to the print."""
    lines = (demo / "examples" / "uk-census-2001.csv").read_text("utf-8").splitlines()
    table = uk_census()
    counted = Counter(lines[1:])
    assert lines[0] == "age,occupation"
    assert [counted[f"{a},{o}"] for a in table.ages for o in table.occupations] == list(
        table.counts
    )
    assert len(lines) - 1 == sum(table.counts) == 5784


def test_the_records_are_the_same_on_every_machine() -> None:
    """A digest of the positions; it changes only when the demo is changed on purpose."""
    found = deaths.codes()
    content = b"".join(found[name].astype("<i8").tobytes() for name in sorted(found))
    assert hashlib.sha256(content).hexdigest() == DIGEST


def test_the_shape_is_the_one_the_papers_use() -> None:
    """251 areas nested in 13 regions; ccg × cause × age × sex is 251 × 15 × 10 × 2."""
    found = deaths.codes()
    sizes = {name: len(np.unique(values)) for name, values in found.items()}
    assert sizes == {
        "ccg": 251, "region": 13, "cause": 15, "age": 10, "sex": 2, "month": 12, "marital": 6,
    }  # fmt: skip
    assert len({area.name for area in areas()}) == 251
    of_region = np.array([area.region for area in areas()])
    assert (of_region[found["ccg"]] == found["region"]).all()


def test_dependence_is_believable_and_cells_are_sparse() -> None:
    found = deaths.codes()
    cause = {code: i for i, (code, _) in enumerate(deaths.CAUSES)}
    winter = np.isin(found["month"], (0, 1, 11))
    breath, neoplasm = found["cause"] == cause["J00-J99"], found["cause"] == cause["C00-D48"]
    assert winter[breath].mean() > winter[neoplasm].mean() + 0.05
    old = found["age"] >= 8
    widowed = found["marital"] == 4
    assert (
        widowed[old & (found["sex"] == 0)].mean() > 0.5 > widowed[old & (found["sex"] == 1)].mean()
    )
    assert found["age"][found["cause"] == cause["P00-P96"]].mean() < 1
    young = found["age"] <= 1
    assert set(np.unique(found["marital"][young])) == {0}
    cells = ((found["ccg"] * 15 + found["cause"]) * 10 + found["age"]) * 2 + found["sex"]
    filled = np.bincount(cells, minlength=75_300)
    assert 0.3 < (filled > 0).mean() < 0.6
    assert np.median(filled[filled > 0]) < 10


@pytest.mark.slow
def test_the_workspace_opens_with_its_families(demo: Path) -> None:
    assert set(NAMES) <= set(Workspace.open(demo).names)
    families = []
    for name in NAMES:
        with DataSet.open(demo / name) as opened:
            families.append(str(opened.policy.family))
            assert opened.description.synthetic
            said = opened.description.notes
            assert any("everything else is made up" in note for note in said)
            assert opened.description.undeclared == ()
            assert [f for f in check(demo / name) if f.severity != "note"] == []
    assert families == ["cell-key", "dp"]
    with DataSet.open(demo / "deaths-dp") as opened:
        assert opened.policy.budget == PureLoss(10)
        axes = (("area", "ccg"), ("cause", "cause"), ("age", "age"), ("sex", "sex"))
        domain = opened.description.domain(tuple(AxisRef(*axis) for axis in axes))
        assert domain.shape == (251, 15, 10, 2)
        assert domain.size == 75_300


def test_no_record_lies_in_a_structural_zero() -> None:
    found = deaths.codes()
    ((where, _),) = draft("deaths").structural_zeros
    lists = {"age": deaths.AGES, "marital": deaths.MARITAL}
    inside = np.ones(len(found["age"]), dtype=bool)
    for name, codes in where.items():
        positions = [i for i, (code, _) in enumerate(lists[name]) if code in codes]
        inside &= np.isin(found[name], positions)
    assert not inside.any()


def test_what_is_there_is_kept_and_what_is_not_ours_is_left_alone(
    fresh_demo: Path, tmp_path: Path
) -> None:
    """Made again: reused, keys too; begun and not ended: finished; someone else's: refused."""
    key = (fresh_demo / "deaths" / "secret" / "master.key").read_bytes()
    (fresh_demo / "deaths-dp" / "current").unlink()
    make_demo(fresh_demo)
    assert (fresh_demo / "deaths" / "secret" / "master.key").read_bytes() == key
    DataSet.open(fresh_demo / "deaths-dp").close()
    with pytest.raises(InputError, match="is a data set itself"):
        make_demo(fresh_demo / "deaths")
    mine = tmp_path / "mine"
    (mine / "deaths-dp").mkdir(parents=True)
    (mine / "deaths-dp" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        make_demo(mine)
    assert [path.name for path in mine.iterdir()] == ["deaths-dp"]
    yaml = fresh_demo / "deaths-dp" / "discreet.yaml"
    yaml.write_text(yaml.read_text().replace("synthetic: yes", "synthetic: no"))
    with pytest.raises(InputError, match="a data set of yours"):
        make_demo(fresh_demo)


def test_an_unknown_demo_is_one_sentence() -> None:
    with pytest.raises(InputError, match="no demo data set 'births'"):
        draft("births")


DIGEST = "2279a6281f8bcbeda6dd83bfeab24e07a70f7d8fecec71d9a87f36ebf95c22b5"
