"""A release as a folder: everything whole, checksummed, and the margins agree with the microdata."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import InputError

from .attacks.people import change, make


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Made-up records under a budget of 5."""
    lines = ["id,area,sex,job"]
    lines += [f"{i},a{i % 5},{'fm'[i % 2]},{'xyz'[i % 3]}" for i in range(600)]
    return make(tmp_path, "dp", lines, budget={"epsilon": "5"})


@pytest.mark.slow
def test_checksums_manifest_and_register_agree(people: Path, tmp_path: Path):
    """Every file is in the manifest with its SHA-256; asking again costs nothing."""
    recipe = {
        "epsilon": "1",
        "title": "Two tables",
        "tables": [{"rows": ["area"], "columns": ["sex"]}, {"rows": ["job"], "name": "jobs"}],
    }
    with dc.open(people) as data:
        made = data.recipe(recipe).release()
        out = made.write(tmp_path / "out", formats=["csv", "json-stat"])
        again = data.recipe(recipe).release()
        assert again.cost == "nothing"
        assert [t.values.tolist() for t in again.tables] == [t.values.tolist() for t in made.tables]
    manifest = json.loads((out / "manifest.json").read_text())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert "tables/jobs.csv" in manifest["sha256"]
    assert manifest["guarantee"]["epsilon"] == "1"
    assert len(json.loads((out / "register.json").read_text())["charges"]) == 1
    assert "confidential" in (out / "report-internal.html").read_text().lower()


def test_microdata_of_margins_give_the_published_tables(people: Path, tmp_path: Path):
    """Anybody who tabulates the synthetic records gets the tables, cell by cell."""
    with dc.open(people) as data:
        made = data.recipe(
            {"method": "marginals", "epsilon": "2", "workload": "all 2-way of area, sex, job"}
        ).release()
        out = made.write(tmp_path / "out", formats=["csv"])
    records = pq.read_table(out / "microdata.parquet").to_pylist()
    for path in sorted((out / "tables").glob("*.csv")):
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        axes = [name for name in rows[0] if f"{name}_label" in rows[0]]
        counted = Counter(tuple(record[name] for name in axes) for record in records)
        for row in rows:
            cell = tuple(row[name] for name in axes)
            if "_T" not in cell:
                assert int(row["count"]) == counted[cell]


@pytest.mark.slow
def test_the_report_of_margins_draws_the_noise_that_was_drawn(people: Path, tmp_path: Path):
    """The shares of ε that tables were measured with, never the whole ε as if each had it."""
    with dc.open(people) as data:
        made = data.recipe(
            {"method": "marginals", "epsilon": "2", "workload": "all 1-way of area, sex, job"}
        ).release()
        out = made.write(tmp_path / "out", formats=["csv"])
    laws = made.tables[0].law.sources
    whole = sum(law.tables for law in laws)
    assert whole > 1
    assert all(law.law.epsilon < 2 for law in laws)
    page = (out / "report.html").read_text()
    assert "Law laplace, ε = 2<" not in page
    assert f" of {whole} measurements" in page or f"all {whole} measurements" in page
    measured = pq.read_table(out / "measurements.parquet").to_pydict()["noise_sd"]
    for law in laws:
        ratio = math.exp(-law.law.epsilon)
        assert any(
            math.isclose(sd, math.sqrt(2 * ratio) / (1 - ratio), rel_tol=1e-6) for sd in measured
        )


def test_bad_targets_get_one_sentence(people: Path, tmp_path: Path):
    """A file in the way, or a format there is not."""
    with dc.open(people) as data:
        made = data.table(rows="area", epsilon="1").release()
        (tmp_path / "taken").write_text("")
        with pytest.raises(InputError, match="is a file"):
            made.write(tmp_path / "taken")
        with pytest.raises(InputError, match="csv"):
            made.write(tmp_path / "out", formats=["cvs"])


@pytest.mark.slow
def test_the_report_says_what_was_declared_and_draws_the_law_used(people: Path, tmp_path: Path):
    """`report:` in discreet.yaml is printed; the picture is of the law, its ends and its reach."""
    file = people / "discreet.yaml"
    before = file.read_text()
    budget = {"epsilon": "5", "delta": "0.001"}
    report = {"purpose": "To be read by a test.", "chosen_by_looking": False}
    change(people, load=True, budget=budget, records_per_unit=2, report=report)
    with dc.open(people) as data:
        asked = {"rows": ["area"], "epsilon": "1"}
        made = data.recipe({**asked, "max_perturbation": "40"}).release()
        first = made.write(tmp_path / "cut", formats=["csv"]) / "report.html"
        second = data.recipe(asked).release().write(tmp_path / "whole", formats=["csv"])
    page, other = first.read_text(), (second / "report.html").read_text()
    for text in (page, other):
        assert "To be read by a test." in text
        assert "No: parameters were set without looking" in text
    assert "Law laplace, ε = 0.5, at most ±40</dt>" in page
    assert "perturbations from -40 to +40" in page
    assert "Law laplace, ε = 1, where a unit moves a cell by up to 2</dt>" in other
    assert "any whole number" in other
    assert "no change in 24.5 % of cells" in other  # tanh(1/4), not tanh(1/2)
    file.write_text(before + "report: {purpos: x}\n")
    with pytest.raises(InputError, match="Did you mean purpose"):
        dc.open(people)
