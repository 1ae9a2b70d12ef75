"""A data set served from a release: any table of its records, its guarantee, nothing charged."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.core.control import Control
from discreet.core.origin import Origin
from discreet.errors import InputError
from discreet.languages import says
from discreet.methods.base import Measurements
from discreet.methods.marginals.design import design_of
from discreet.server import Settings
from discreet.workspace import DataSet
from discreet.workspace.description_file import read

from .attacks.people import make
from .languages.german import english_in
from .server.serving import serving

AREAS = {f"a{i}": {"label": f"Area {i}", "parent": "n" if i < 2 else "s"} for i in range(5)}
VARIABLES = {
    "area": {
        "label": {"en": "Area", "de": "Gebiet"},
        "status": "declared",
        "kind": "geography",
        "levels": {
            "area": {"column": "area", "categories": AREAS},
            "region": {"categories": {"n": {"label": {"en": "North", "de": "Nord"}}, "s": "South"}},
            "coast": {
                "of": "area",
                "categories": {
                    "sea": {"label": "By the sea", "members": ["a0", "a2", "a4"]},
                    "land": {"label": "Inland", "members": ["a1", "a3"]},
                },
            },
        },
    },
    "sex": {"status": "declared", "column": "sex", "categories": {"f": "women", "m": "men"}},
    "job": {"status": "declared", "column": "job", "categories": {"x": "X", "y": "Y", "z": "Z"}},
}
ZEROS = [{"where": {"region": ["n"], "job": ["z"]}, "reason": "no such work there"}]
PAIRS = {"method": "marginals", "epsilon": "2", "workload": "all 2-way of area, sex, job"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`people` under a budget, its release in `out`, and `open`, made of that release's records."""
    folder = tmp_path_factory.mktemp("served")
    words = {
        "title": {"en": "Tenants", "de": "Mieter"},
        "unit": {"en": "tenant", "de": "Mieter"},
    }
    people = make(folder, "dp", variables=VARIABLES, structural_zeros=ZEROS, **words)
    with dc.open(people) as data:
        made = data.recipe(PAIRS).release()
        made.write(folder / "out", formats=["csv"], microdata=["csv", "parquet"])
    dc.synthetic(people, folder / "open")
    return folder


@pytest.mark.slow
def test_tables_are_counts_of_the_released_records(world: Path):
    """Any combination, level and filter gives what anybody counts in microdata.parquet."""
    records = pq.read_table(world / "out" / "microdata.parquet").to_pylist()
    with dc.open(world / "open") as data:
        table = data.table(rows="area", columns="sex,job", totals=False).release().protected
        counted = Counter((r["area"], r["sex"], r["job"]) for r in records)
        sides = [table.domain.axes[i].level.codes for i in range(3)]
        names = [axis.name for axis in table.domain.axes]
        for place in itertools.product(*(range(len(side)) for side in sides)):
            cell = {name: side[at] for name, side, at in zip(names, sides, place, strict=True)}
            assert table.values[place] == counted[cell["area"], cell["sex"], cell["job"]]
        coast = data.table(rows="coast", where={"region": "s"}, totals=False).release().protected
        sea = sum(r["area"] in ("a2", "a4") for r in records)
        assert coast.values.tolist() == [sea, sum(r["area"] == "a3" for r in records)]


def test_a_german_reader_is_told_the_guarantee_in_german(world: Path):
    """Unit, odds and limits that were sealed with the records; older ones are plain and load."""
    with dc.open(world / "open") as data:
        table = data.table(rows="area", language="de").release().protected
    told = table.guarantee.to_json("de")
    assert "Mieter" in told["sentence"]
    assert "tenant" not in json.dumps(told)
    assert english_in([told["sentence"], *told["odds"], *told["caveats"], *told["notices"]]) == {}
    assert "tenant" in table.guarantee.to_json("en")["sentence"]
    assert english_in([table.tells(note) for note in table.notes]) == {}
    with DataSet.open(world / "open") as served:
        stored = dict(served.manifest.origin or {})
        assert served.description.title.says("de") == "Mieter: synthetische Datensätze"
        assert english_in([says(note, "de") for note in served.description.notes]) == {}
    before = {key: words for key, words in stored["guarantee"].items() if key != "languages"}
    assert before != stored["guarantee"]
    old = Origin.from_json({**stored, "guarantee": before})
    assert (old.guarantee.unit, old.guarantee) == ("tenant", Origin.from_json(stored).guarantee)


def test_every_table_keeps_the_guarantee_and_says_what_it_is(world: Path):
    """ε of the release, for everything made from it; the footnote; nothing charged anywhere."""
    with dc.open(world / "people") as source:
        spent = source.ledger_facts()["spent"]
        (release,) = [e["question"] for e in source.ledger_facts()["entries"] if e["question"]]
    with dc.open(world / "open") as data:
        draft = data.table(rows="region", columns="job")
        assert draft.cost == "nothing"
        table = draft.release().protected
        assert table.guarantee.epsilon == Fraction(2)
        assert f"release {release[:12]} of people" in table.guarantee.sentence()
        assert table.provenance.release == release
        assert any(note.startswith("Synthetic figures") for note in table.notes)
        assert any("standard error" in note or "Not fitted" in note for note in table.notes)
        with pytest.raises(InputError, match="epsilon"):
            data.table(rows="sex", epsilon="1").release()
    with dc.open(world / "people") as source:
        assert source.ledger_facts()["spent"] == spent == "epsilon = 2"
    assert not (world / "open" / "ledger.anchor").exists()


def test_the_description_is_carried_over(world: Path):
    """Labels in every language, hierarchies of both kinds, structural zeros; and read back whole."""
    before, after = read(world / "people").description, read(world / "open").description
    assert [v.name for v in after.variables] == [v.name for v in before.variables]
    area, was = after.variable("area"), before.variable("area")
    assert area.levels == was.levels
    assert area.label.says("de") == "Gebiet"
    assert area.kind == "geography"
    assert all(variable.declared for variable in after.variables)
    (zero,) = after.structural_zeros
    assert zero.reason == "no such work there"
    assert {c.variable: c.codes for c in zero.conditions} == {"area": ("a0", "a1"), "job": ("z",)}
    assert dc.check(world / "open") == []


@pytest.mark.slow
def test_levels_finer_than_measured_are_left_out(tmp_path: Path):
    """A release by region makes a data set whose finest areas are regions."""
    people = make(tmp_path, "dp", variables=VARIABLES)
    with dc.open(people) as data:
        data.recipe(
            {"method": "marginals", "epsilon": "2", "tables": [{"rows": ["region", "sex"]}]}
        ).release()
    folder = dc.synthetic(people, tmp_path / "served")
    with dc.open(folder) as data:
        assert data.variables == {"area": ["region"], "sex": ["sex"]}
        with pytest.raises(InputError):
            data.table(rows="job")


def test_the_files_of_a_release_tell_the_same(world: Path):
    """CSV and Parquet hold the same records; every stored measurement is in the file with its sd."""
    out = world / "out"
    records = pq.read_table(out / "microdata.parquet").to_pylist()
    with (out / "microdata.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.DictReader(stream)) == records
    with DataSet.open(world / "people") as data:
        (entry,) = [e for e in data.ledger().entries() if e.kind == "charge"]
        stored = data.ledger().find(entry.body["question"])
        assert stored is not None
        numbers = Measurements.from_bytes(stored.measurements).arrays
    with dc.open(world / "people") as source:
        measured = design_of(source.recipe(PAIRS).preview().plan).allocation.measured
    rows = pq.read_table(out / "measurements.parquet").to_pylist()
    assert sorted(int(row["measured"]) for row in rows) == sorted(
        int(number) for array in numbers.values() for number in array.ravel()
    )
    assert {round(row["noise_sd"], 6) for row in rows} == {
        round(math.sqrt(m.variance), 6) for m in measured
    }
    for row in rows:
        named = [name for name in ("area", "job", "sex") if row[name] is not None]
        assert row["margin"] == (" × ".join(named) or "total")
    sums = json.loads((out / "manifest.json").read_text())["sha256"]
    assert {"microdata.csv", "measurements.csv", "measurements.parquet"} <= set(sums)


@pytest.mark.slow
def test_the_command_line_makes_and_serves_it(world: Path, tmp_path: Path):
    """One command makes it, the next ones ask it; a wrong target or a taken name is one sentence."""
    run, target = CliRunner(), tmp_path / "ws" / "served"
    made = run.invoke(app, ["synthetic", str(world / "people"), "--into", str(target), "--json"])
    assert made.exit_code == 0, made.output
    facts = json.loads(made.stdout)
    assert facts["guarantee"]["epsilon"] == "2"
    said = run.invoke(app, ["table", str(target), "--rows", "region", "--columns", "sex"])
    assert "Synthetic figures" in " ".join(said.stdout.split())
    with pytest.raises(InputError, match="there already"):
        dc.synthetic(world / "people", target)
    with pytest.raises(InputError, match="must begin with a letter"):
        dc.synthetic(world / "people", tmp_path / "ws" / "1x")
    assert [path.name for path in (tmp_path / "ws").iterdir()] == ["served"]


def test_a_stopped_making_leaves_nothing(world: Path, tmp_path: Path):
    """Stopped at any step there is no data set, half or whole."""
    steps: list[str] = []
    control = Control(lambda share, doing: steps.append(doing), lambda: len(steps) > 3)
    with pytest.raises(dc.DiscreetError):
        dc.synthetic(world / "people", tmp_path / "ws" / "served", control)
    assert not list((tmp_path / "ws").iterdir() if (tmp_path / "ws").exists() else ())


@pytest.mark.slow
def test_the_server_serves_it_like_any_other(world: Path):
    """API, check and page: the table, no cost, no budget."""
    settings = Settings(public=("*",))
    with serving(world, settings) as url, httpx.Client(base_url=url, timeout=300) as web:
        answer = web.get("/api/v1/datasets/open/tables?rows=region&columns=sex")
        assert answer.status_code == 200, answer.text
        assert answer.headers["Discreet-Guarantee"] == "dp"
        assert answer.headers["Discreet-Charged"] == "no"
        checked = web.post("/api/v1/datasets/open/tables:check", json={"rows": ["area"]})
        assert checked.json()["cost"] is None
        page = web.get("/build/open?rows=region&columns=sex")
        assert page.status_code == 200
        assert "Synthetic figures" in page.text
        assert web.get("/").status_code == 200
        assert web.get("/api/v1/datasets/open").status_code == 200
        with dc.connect(url) as server:
            draft = server.open("open").table(rows="region", columns="sex")
            assert draft.cost == "nothing"
            assert "costs      nothing" in repr(draft.preview())
            table = draft.release().protected
            assert table.guarantee.epsilon == Fraction(2)
            free = server.open("people").table(rows="region", columns="sex", epsilon="1")
            assert np.array_equal(free.release(free=True).protected.values, table.values)
