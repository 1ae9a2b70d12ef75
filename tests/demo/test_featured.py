"""The demo's headlines are true of what it publishes, whatever the noise."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import discreet as dc
from discreet.demo import genes
from discreet.workspace.description_file import read


def shown(folder: Path, title: str):
    """The published table under a headline."""
    one = next(one for one in read(folder).description.featured if str(one.title) == title)
    with dc.open(folder) as data:
        return data.recipe(one.mapping).release().to_pandas()


def of(frame, column: str, **where: str) -> float:
    """One number of a published table; the total where a variable is not named."""
    for name in frame.columns:
        if f"{name}_label" in frame.columns:
            frame = frame[frame[name] == where.get(name, "_T")]
    (number,) = frame[column].tolist()
    return float(number)


def test_headlines_of_cell_key_tables(demo: Path):
    """Each number moves by 5 at most, so what holds by more than that always holds."""
    folder = demo / "deaths"
    causes = shown(folder, "What people die of changes with age")
    assert 62 < of(causes, "percent", cause="V01-Y98", age="15-24") < 72
    assert 44 < of(causes, "percent", cause="C00-D48", age="55-64") < 50
    months = shown(folder, "Winter is hard on the lungs")
    assert of(months, "count", month="12") > 1.6 * of(months, "count", month="8")
    marital = shown(folder, "Most widowed people who die are women")
    assert 68 < of(marital, "percent", marital="widowed", sex="F") < 73
    assert 65 < of(marital, "percent", marital="married", sex="M") < 70
    regions = shown(folder, "The South East has most deaths, London far from it")
    assert regions["region_label"][0] == "South East"
    assert of(regions, "count", region="E12000008") > 1.55 * of(
        regions, "count", region="E12000007"
    )


@pytest.mark.slow
def test_headlines_of_private_tables(demo: Path, tmp_path: Path):
    """Noise of all three methods is many times smaller than what the headlines speak of."""
    folder = tmp_path / "deaths-dp"
    shutil.copytree(demo / "deaths-dp", folder)
    external = shown(folder, "External causes take twice as many men as women")
    assert 1.8 < of(external, "count", sex="M") / of(external, "count", sex="F") < 2.2
    for age in ("15-24", "25-34", "35-44"):
        men, women = (of(external, "count", age=age, sex=sex) for sex in "MF")
        assert 2.5 < men / women < 3.2
    causes = shown(folder, "After 85 the heart comes first")
    assert 27 < of(causes, "percent", cause="I00-I99", age="85+") < 31
    oldest = causes[(causes["age"] == "85+") & (causes["cause"] != "_T")]
    assert oldest.sort_values("count")["cause"].iloc[-1] == "I00-I99"
    cancers = causes[(causes["age"] == "65-74") & (causes["cause"] != "_T")]
    assert cancers.sort_values("count")["cause"].iloc[-1] == "C00-D48"
    months = shown(folder, "Regions whose areas add up")
    for month in map(str, range(1, 13)):
        inside = months[(months["month"] == month) & (months["region"] != "_T")]
        assert inside.sort_values("count")["region"].iloc[-1] == "E12000008"


def test_four_counts_are_stars_and_all_others_exact(demo: Path, tmp_path: Path):
    """The featured table of suppression shows what its words say, each number as it is in the records."""
    folder = tmp_path / "genes"
    shutil.copytree(demo / "genes", folder)
    (one,) = read(folder).description.featured
    assert str(one.says).startswith("Four of these sixteen counts are withheld")
    table = shown(folder, "An exact count, or a star")
    cells = table[(table["eyes"] != "_T") & (table["hair"] != "_T")]
    assert (len(cells), (cells["status"] == "s").sum()) == (16, 4)
    assert set(table["status"]) == {"", "s", "d"}
    assert table["count"].isna().tolist() == (table["status"] == "s").tolist()
    lines = (line.split(",") for line in genes.records().splitlines()[1:])
    north = [
        (eyes, hair) for _, town, eyes, hair, gene in lines if (town, gene) == ("north", "yes")
    ]
    for row in table[table["status"] != "s"].itertuples():
        true = sum(row.eyes in ("_T", eyes) and row.hair in ("_T", hair) for eyes, hair in north)
        assert row.count == true
