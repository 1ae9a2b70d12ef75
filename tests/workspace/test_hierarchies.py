"""Hierarchies as they are: branches that skip a level, several hierarchies, areas that move."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

import discreet as dc
from discreet.core.description import Description
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import reveal
from discreet.errors import DataError, DescriptionError
from discreet.workspace import DataSet
from discreet.workspace.description_file import read

from .hospitals import HOSPITALS, brute, page, write


def described(folder: Path, description: dict[str, Any]) -> Description:
    """What a description says, without data."""
    folder.mkdir(exist_ok=True)
    (folder / "discreet.yaml").write_text(yaml.safe_dump(description, sort_keys=False))
    return read(folder).description


def counted(folder: Path, *levels: str) -> dict[tuple[str, ...], int]:
    with DataSet.open(folder) as data:
        refs = tuple(
            AxisRef("sex", "sex") if level == "sex" else AxisRef("place", level) for level in levels
        )
        (table,) = data.engine().count([Count(refs)])
        cells = reveal(table)
        codes = [axis.level.codes for axis in data.description.domain(refs).axes]
        rows = table.domain.coordinates(cells.addresses)
        return {
            tuple(code[place] for code, place in zip(codes, row, strict=True)): int(n)
            for row, n in zip(rows, cells.counts, strict=True)
        }


@pytest.mark.parametrize("level", ["hospital", "trust", "region", "kind"])
def test_every_level_counts_what_the_file_says(tmp_path: Path, level: str):
    """What lies directly under a region is one category of the trusts, under the region's code."""
    folder = write(tmp_path / "stays", page())
    dc.load(folder)
    assert {code: n for (code,), n in counted(folder, level).items()} == dict(brute(folder)[level])


def test_a_stand_in_says_what_it_is(tmp_path: Path):
    """Its label names the level that has nothing there; every other category is as written."""
    description = read(write(tmp_path / "stays", page())).description
    trust = description.variable("place").level("trust")
    assert trust.labels() == (
        "Trust t1",
        "Trust t2",
        "Trust t3",
        "North (trust: –)",
        "Isles (trust: –)",
    )
    assert [c.stands_in for c in trust.categories] == [False, False, False, True, True]
    for fine, coarse in itertools.permutations(["hospital", "trust", "region", "kind"], 2):
        nests = description.variable("place").level_map(fine, coarse) is not None
        assert nests == (
            (fine, coarse)
            in {
                ("hospital", "trust"),
                ("hospital", "region"),
                ("hospital", "kind"),
                ("trust", "region"),
            }
        )


@pytest.mark.parametrize(
    ("family", "recipe"),
    [
        ("cell-key", {}),
        ("dp", {"method": "noise", "epsilon": "100"}),
        ("dp", {"method": "marginals", "epsilon": "100"}),
    ],
)
def test_margins_add_up_through_every_method(tmp_path: Path, family: str, recipe: dict[str, Any]):
    """At much budget (or little noise) every level is near the file, and DP levels agree."""
    folder = write(tmp_path / "stays", page(family))
    dc.load(folder)
    truth = brute(folder)
    people = dc.open(folder)
    for level in ("trust", "region", "kind"):
        frame = people.table(rows=[level], **recipe).release().to_pandas()
        for code, value in zip(frame[level], frame["count"], strict=True):
            if code != "_T":
                assert abs(value - truth[level][code]) <= 6, (level, code)
    people.close()


def test_areas_may_move_between_versions(tmp_path: Path):
    """A reload with another hierarchy is another version, counted by the new one."""
    folder = write(tmp_path / "stays", page())
    first = dc.load(folder)
    write(folder, page(h4=("t3", "S", "clinic"), h7=("", "I", "acute"), h2=("t2", "N", "clinic")))
    second = dc.load(folder)
    assert second.manifest.data_version != first.manifest.data_version
    truth = brute(folder)
    for level in ("hospital", "trust", "region", "kind"):
        assert {c: n for (c,), n in counted(folder, level).items()} == dict(truth[level])


def test_records_under_another_parent_than_declared_stop_the_load(tmp_path: Path):
    """An empty trust is right only where a region stands in."""
    folder = write(tmp_path / "stays", page())
    source = tmp_path / "stays.csv"
    text = source.read_text()
    source.write_text(text.replace("h1,t1,", "h1,,", 1))
    with pytest.raises(DataError, match="'h1', declared under 't1'"):
        dc.load(folder)
    source.write_text(text.replace("h5,,", "h5,t1,", 1))
    with pytest.raises(DataError, match="'h5', declared under 'I'"):
        dc.load(folder)


def test_members_of_a_coarser_level_may_be_named_there(tmp_path: Path):
    """`members` says the same as `parent`, also across a level."""
    by_parent = page()
    by_members = page()
    levels = by_members["variables"]["place"]["levels"]
    for entry in levels["hospital"]["categories"].values():
        del entry["parent"]
    del levels["trust"]["column"]
    for code, entry in levels["trust"]["categories"].items():
        del entry["parent"]
        entry["members"] = [h for h, (t, _, _) in HOSPITALS.items() if t == code]
    levels["region"]["categories"] = {
        r: {
            "label": label,
            "members": [
                *dict.fromkeys(t for t, region, _ in HOSPITALS.values() if t and region == r),
                *(h for h, (t, region, _) in HOSPITALS.items() if not t and region == r),
            ],
        }
        for r, label in levels["region"]["categories"].items()
    }
    levels["kind"]["categories"] = {
        k: {"label": label, "members": [h for h, (_, _, kind) in HOSPITALS.items() if kind == k]}
        for k, label in levels["kind"]["categories"].items()
    }
    first, second = (
        described(tmp_path / name, each) for name, each in (("a", by_parent), ("b", by_members))
    )
    for one, other in zip(
        first.variable("place").levels, second.variable("place").levels, strict=True
    ):
        assert (one.codes, one.of_finest) == (other.codes, other.of_finest)


def test_what_is_no_tree_is_told_in_one_sentence(tmp_path: Path):
    """Two parents, none, or one that is nowhere."""
    for change, words in (
        ({"trust": "t9", "kind": "acute"}, "has the parent 't9', which trust does not have"),
        ({"kind": "acute"}, "has no parent in trust"),
        ({"trust": "t1"}, "has no parent in kind"),
    ):
        description = page()
        hospitals = description["variables"]["place"]["levels"]["hospital"]["categories"]
        hospitals["h1"]["parent"] = change
        with pytest.raises(DescriptionError) as told:
            described(tmp_path / "stays", description)
        assert words in str(told.value), change
