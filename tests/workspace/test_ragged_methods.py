"""Ragged trees through every method and every format, before and after areas have moved.

At so much budget that no noise is left (a cell is off with probability below 1e-9) what is published
is what the file says, at every level of both hierarchies.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import formats
from discreet.core.table import ProtectedTable, Status
from discreet.formats.table_files import read_tables
from discreet.methods import registry

from .hospitals import brute_pairs, page, write

LEVELS = ("hospital", "trust", "region", "kind")
MOVED = {
    "h4": ("t3", "S", "clinic"),  # into a trust of another region
    "h7": ("", "I", "acute"),  # out of its trust, which keeps the one that came
    "h2": ("t2", "N", "clinic"),
}
COUNTED = (Status.OK, Status.UNRELIABLE, Status.DERIVED)


@dataclass(frozen=True)
class Case:
    """A method, how it is asked, and how far off a cell may be."""

    method: str
    asked: dict[str, str] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    budget: dict[str, str] = field(default_factory=lambda: {"epsilon": "100000"})
    slack: int = 0

    def __str__(self) -> str:
        return " ".join([self.method, *self.asked.values()])

    @property
    def family(self) -> str:
        return str(registry.declaration(self.method).family)

    def description(self, **moved: tuple[str, str, str]) -> dict[str, Any]:
        described = page(**moved)
        del described["methods"]
        described |= {"family": self.family, "method": self.method}
        described |= {"methods": {self.method: self.policy}} if self.policy else {}
        if self.family == "dp":
            described["budget"] = self.budget
        if self.method == "suppression":
            described["variables"]["sex"]["role"] = "private"
        return described


APPROXIMATE = {"epsilon": "100000", "delta": "0.1"}
CASES = [
    Case("noise", {"epsilon": "100"}),
    Case("noise", {"epsilon": "100", "consistency": "integers"}),
    Case("noise", {"law": "gaussian", "rho": "50"}, budget={"rho": "100000"}),
    Case("noise", {"law": "normal", "epsilon": "90", "max_perturbation": "9"}, {}, APPROXIMATE, 9),
    Case("noise", {"law": "max-entropy", "epsilon": "90", "max_perturbation": "9"}, {}, APPROXIMATE, 9),
    Case("marginals", {"epsilon": "100"}),
    Case("marginals", {"mode": "classic", "epsilon": "100"}),
    Case("topdown", {"epsilon": "100"}),
    Case("topdown", {"mode": "pilot", "epsilon": "100"}, slack=14),  # it rounds cell by cell
    Case("cell-key", {}, {"max_perturbation": "3", "variance": "1"}, slack=3),
    Case("cell-key", {}, {"max_perturbation": "3", "variance": "1", "additive": "yes"}, slack=12),
    Case("classic", {}, {"threshold": 45}),
]  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def loaded(folder: Path, case: Case, **moved: tuple[str, str, str]) -> Path:
    write(folder, case.description(**moved))
    dc.load(folder)
    return folder


def cells(shown: ProtectedTable) -> dict[tuple[str, ...], int]:
    """Numbers by codes; those that are hidden are left out."""
    codes = [(*axis.level.codes, "_T") for axis in shown.domain.axes]
    return {
        tuple(code[place] for code, place in zip(codes, cell, strict=True)): int(shown.values[cell])
        for cell in np.ndindex(*shown.shape)
        if shown.status[cell] in COUNTED
    }


@pytest.mark.slow
@each_case
def test_every_level_is_what_the_file_says(case: Case, tmp_path: Path) -> None:
    """And again after a reload in which areas moved: the new tree, the same data set."""
    folder = tmp_path / "stays"
    for moved in ({}, MOVED):
        loaded(folder, case, **moved)
        with dc.open(folder) as data:
            for level in LEVELS:
                table = data.table(rows=[level], columns=["sex"], **case.asked).release()
                truth, told = brute_pairs(folder, level, "sex"), cells(table.protected)
                assert len(told) >= len(truth) / 2
                for codes, number in told.items():
                    assert abs(number - truth[codes]) <= case.slack, (level, codes)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_what_suppression_shows_is_exact(level: str, tmp_path: Path) -> None:
    """Shown counts of a private attribute are those of the file, at a level that branches skip too."""
    case = Case("suppression", policy=SUPPRESSED)
    folder = tmp_path / "stays"
    for moved in ({}, MOVED):
        write(folder, case.description(**moved))
        people = brute_pairs(folder, "hospital")
        lines = [f"{h},{people[h,]}" for (h,) in people if h != "_T"]
        (folder / "populations.csv").write_text("\n".join(["place,population", *lines]) + "\n")
        dc.load(folder)
        with dc.open(folder) as data:
            if moved:  # asked once: what is out is not decided again
                told = cells(data.table(rows=[level]).release().protected)
        truth = brute_pairs(folder, level, "sex")
    assert told
    for (code,), number in told.items():
        assert number == truth[code, "f"], code


SUPPRESSED = {
    "epsilon": "0.8",
    "delta": "0.3",
    "populations": {"file": "populations.csv", "source": "a census"},
    "attributes": {"sex": {"counts": ["f"], "prior": {"value": "0.5", "source": "a survey"}}},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [Case("marginals", {"epsilon": "0.5"}), Case("topdown", {"epsilon": "0.5"})],
    ids=str,
)
def test_levels_of_one_release_add_up(case: Case, tmp_path: Path) -> None:
    """With much noise every level sums to the next, a stand-in to the category it stands for."""
    folder = tmp_path / "stays"
    for moved in ({}, MOVED):
        loaded(folder, case, **moved)
        with dc.open(folder) as data:
            tables = [{"rows": [level], "columns": ["sex"]} for level in LEVELS]
            released = data.recipe(
                {"method": case.method, **case.asked, "tables": tables}
            ).release()
        told = dict(zip(LEVELS, map(cells, released.tables), strict=True))
        up = case.description(**moved)["variables"]["place"]["levels"]
        trusts = {code: entry["parent"] for code, entry in up["trust"]["categories"].items()}
        parents = {code: entry["parent"] for code, entry in up["hospital"]["categories"].items()}
        for sex in ("f", "m", "_T"):
            sums: dict[str, Counter[str]] = {level: Counter() for level in LEVELS}
            for hospital, parent in parents.items():
                number = told["hospital"][hospital, sex]
                sums["trust"][parent["trust"]] += number
                sums["region"][trusts.get(parent["trust"], parent["trust"])] += number
                sums["kind"][parent["kind"]] += number
            for level in LEVELS[1:]:
                for code, number in sums[level].items():
                    assert told[level][code, sex] == number, (level, code, sex)


def test_the_same_people_at_two_levels_have_one_number(tmp_path: Path) -> None:
    """Cell keys: what stands in for a region among trusts is perturbed as that region is."""
    case = CASES[9]
    folder = loaded(tmp_path / "stays", case)
    with dc.open(folder) as data:
        trusts, regions = (
            cells(data.table(rows=[level], columns=["sex"]).release().protected)
            for level in ("trust", "region")
        )
    for sex in ("f", "m", "_T"):
        assert trusts["I", sex] == regions["I", sex]  # all of the Isles is without trusts
        assert trusts["t3", sex] == regions["S", sex]  # a chain of one
    assert trusts["N", "_T"] < regions["N", "_T"]


@pytest.mark.slow
@each_case
def test_every_format_says_the_same_of_a_level_with_gaps(case: Case, tmp_path: Path) -> None:
    """Codes, labels and numbers of trusts, read back from each file by what is not the writer."""
    folder = loaded(tmp_path / "stays", case)
    with dc.open(folder) as data:
        table = data.table(rows=["trust"], columns=["sex"], **case.asked).release()
        labels = data.categories("trust")
    numbers = table.protected
    shown = cells(numbers)
    for name, ending in (
        ("csv", "csv"),
        ("parquet", "parquet"),
        ("json-stat", "json"),
        ("xlsx", "xlsx"),
    ):
        path = tmp_path / f"t.{ending}"
        table.write(path, name)
        (again,) = read_tables(path)
        assert np.array_equal(again.values, numbers.values), name
        assert again.domain.axes[0].level.codes == numbers.domain.axes[0].level.codes
        assert again.domain.axes[0].level.labels() == tuple(labels.values())
    sdmx = csv.DictReader(io.StringIO(formats.to_bytes(numbers, "sdmx-csv").decode("utf-8-sig")))
    rows = {(row["TRUST"], row["SEX"]): row["OBS_VALUE"] for row in sdmx}
    assert {codes: int(rows[codes]) for codes in shown} == shown
    px = formats.to_bytes(numbers, "px").decode()
    assert all(f'"{label}"' in px for label in labels.values())
    (data_part,) = re.findall(r"DATA=(.*?);", px, re.DOTALL)
    assert [int(n) for n in re.findall(r"(?<![\w\".-])-?\d+", data_part)] == list(shown.values())
    for text in (str(table), table._repr_html_()):
        assert all(label in text for label in labels.values())
