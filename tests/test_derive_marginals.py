"""Further tables follow from a release of consistent margins: its numbers, its noise, no charge."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import release as flow
from discreet.core.control import Control
from discreet.core.table import ProtectedTable, Status
from discreet.errors import Refusal
from discreet.fit import fitted
from discreet.methods import registry
from discreet.methods.base import Measurements
from discreet.methods.marginals.design import Design, design_of
from discreet.methods.marginals.measured_tables import read_all
from discreet.methods.marginals.method import MarginalsMethod
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

from .attacks.people import change, make

AREAS = {f"a{i}": {"label": f"Area {i}", "parent": "n" if i < 2 else "s"} for i in range(5)}
VARIABLES = {
    "area": {
        "status": "declared",
        "levels": {
            "area": {"column": "area", "categories": AREAS},
            "region": {"categories": {"n": "North", "s": "South"}},
        },
    },
    "sex": {"status": "declared", "column": "sex", "categories": {"f": "women", "m": "men"}},
    "job": {"status": "declared", "column": "job", "categories": {"x": "X", "y": "Y", "z": "Z"}},
}
PAIRS = {"method": "marginals", "epsilon": "2", "workload": "all 2-way of area, sex, job"}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Made-up records with regions, under a budget of 10."""
    return make(tmp_path, "dp", variables=VARIABLES)


SUMS: list[dict[str, Any]] = [
    {"rows": "job"},
    {"rows": "region", "columns": "job"},
    {"rows": "job", "where": {"region": "s"}},
    {"rows": "area", "where": {"job": "x,z"}, "totals": False},
    {"rows": "region"},
    {},
]


@pytest.mark.slow
def test_numbers_are_sums_of_the_synthetic_records(people: Path, tmp_path: Path):
    """Values are what anybody gets by tabulating the released records; nothing is charged."""
    import pyarrow.parquet as pq

    with dc.open(people) as data:
        made = data.recipe(PAIRS).release()
        records = pq.read_table(
            made.write(tmp_path / "out", formats=["csv"]) / "microdata.parquet"
        ).to_pylist()
        drafts = [data.table(**asked, method="marginals") for asked in SUMS]
        parts = [draft.release(free=True) for draft in drafts]
        assert data.ledger_facts()["spent"] == "epsilon = 2"
    for record in records:
        record["region"] = AREAS[record["area"]]["parent"]
    for asked, part in zip(SUMS, parts, strict=True):
        assert part.cost == "nothing"
        _is_counted(part.protected, records, asked)


def _is_counted(table: ProtectedTable, records: list[dict[str, str]], asked: dict[str, Any]):
    for name, codes in asked.get("where", {}).items():
        records = [record for record in records if record[name] in codes.split(",")]
    sides = [table.codes(position) for position in range(len(table.domain.axes))]
    for place in itertools.product(*(range(len(side)) for side in sides)):
        wanted = {
            axis.name: sides[position][place[position]]
            for position, axis in enumerate(table.domain.axes)
            if sides[position][place[position]] != "_T"
        }
        counted = sum(all(record[k] == v for k, v in wanted.items()) for record in records)
        assert table.values[place] == counted
    assert "everything made from it" in table.guarantee.sentence()
    assert "ε = 2" in table.guarantee.sentence()


MEASURED: list[dict[str, Any]] = [
    {"rows": "area", "columns": "job"},
    {"rows": "region", "columns": "job"},
    {"rows": "region", "where": {"sex": "f"}},
    {"rows": "sex"},
    {},
]


@pytest.mark.parametrize("records", [None, 600])
@pytest.mark.slow
def test_error_figures_are_those_of_the_best_unbiased_estimate(people: Path, records: int | None):
    """Estimate and standard error equal those of generalised least squares written out in full."""
    if records:
        change(people, records=records)
    with DataSet.open(people) as data:
        facts = data.description, data.policy
        flow.ask(data, from_mapping(PAIRS, *facts)).release()
        mappings = [{"rows": [], "totals": "none", "method": "marginals", **a} for a in MEASURED]
        parts = [flow.ask(data, from_mapping(mapping, *facts)).derive() for mapping in mappings]
        stored = data.ledger().find(parts[0].plan.question_hash)
        assert stored is not None
    for made in parts:
        _is_best(made, Measurements.from_bytes(stored.measurements), records)


def _is_best(made: flow.Release, measurements: Measurements, records: int | None):
    design = design_of(made.plan)
    numbers = read_all(design.allocation.measured, measurements.arrays, design.shape)
    cells = list(itertools.product(*(range(n) for n in design.shape)))
    lines, values, precision = [], [], []
    for measured, table in zip(design.allocation.measured, numbers, strict=True):
        for place in itertools.product(*(range(n) for n in table.shape)):
            line = []
            for cell in cells:
                weight = 1
                for position, axis in enumerate(measured.margin):
                    if axis in measured.contrast:
                        weight *= 1 - 2 * cell[axis]
                    elif cell[axis] != place[position]:
                        weight = 0
                line.append(weight)
            lines.append(line)
            values.append(table[place])
            precision.append(1 / measured.variance)
    if records:
        lines.append([1] * len(cells))
        values.append(records)
        precision.append(1e9)
    matrix = np.array(lines, dtype=float) * np.sqrt(precision)[:, None]
    inverse = np.linalg.pinv(matrix.T @ matrix, rcond=1e-13)
    solved = inverse @ matrix.T @ (np.array(values) * np.sqrt(precision))
    (wanted,) = design.workload.tables
    table = made.tables[0]
    assert table.noise is not None
    for place in itertools.product(*(range(n) for n in table.shape)):
        pick = np.array(
            [
                all(
                    (cell[axis] if places is None else places[cell[axis]]) == at
                    for axis, (_, places), at in zip(
                        wanted.axes, wanted.projection.sides, place, strict=True
                    )
                )
                and all(passing[cell[a]] for a, passing in wanted.passes)
                for cell in cells
            ],
            dtype=float,
        )
        sd = math.sqrt(max(0.0, pick @ inverse @ pick))
        assert abs(table.noise.sd[place] - sd) < 1e-3
        assert abs(table.extra["unbiased"][place] - pick @ solved) < 0.51


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Two variables too wide to be measured together when only their own margins are asked for."""
    lines = ["id,ward,month"] + [f"{i},w{i % 20},m{i * 7 // 20 % 20}" for i in range(4000)]
    return make(tmp_path, "dp", lines)


ALONE = {
    "method": "marginals",
    "epsilon": "2",
    "tables": [{"rows": ["ward"]}, {"rows": ["month"]}],
}


@pytest.mark.slow
def test_what_was_not_measured_together_says_so(wide: Path):
    """Numbers follow from the model: no interval, a plain sentence, and no dry run offers it."""
    with dc.open(wide) as data:
        data.recipe(ALONE).release()
        draft = data.table(rows="ward", columns="month", method="marginals", epsilon="1")
        whole = draft.release(free=True).protected
        assert whole.noise is None
        assert whole.values.min() >= 0
        assert any("Not measured" in note and "no interval" in note for note in whole.notes)
        assert draft.preview().follows_from is None


@pytest.mark.slow
def test_the_release_that_measured_it_answers(wide: Path):
    """Of two releases, one of which knows a table only by its model, the other one answers."""
    with dc.open(wide) as data:
        table = {"method": "marginals", "epsilon": "1/10", "tables": [{"rows": ["ward", "month"]}]}
        both = data.recipe(table).release()
        data.recipe(ALONE).release()
        draft = data.table(rows="ward", columns="month", totals=False, method="marginals")
        found = draft.release(free=True)
        assert found.detail.plan.question_hash == both.detail.plan.question_hash
        assert found.protected.noise is not None


def test_any_method_of_the_family_may_have_released_it(people: Path):
    """A question for method noise is read off a release of margins, and says which method made it."""
    with dc.open(people) as data:
        margins = data.recipe(PAIRS).release()
        draft = data.table(rows="region", columns="sex", epsilon="1")
        assert draft.preview().plan.method == "noise"
        assert draft.preview().follows_from == margins.detail.plan.question_hash
        part = draft.release(free=True)
        assert part.protected.provenance.method == "marginals"
        with pytest.raises(Refusal):  # clipping is noise's own
            data.table(rows="region", negatives="clip", epsilon="1").release(free=True)


def test_what_lies_outside_the_release_is_refused(people: Path):
    """Another variable, or a finer level than was measured, does not follow."""
    with dc.open(people) as data:
        data.recipe(
            {"method": "marginals", "epsilon": "1", "tables": [{"rows": ["region", "sex"]}]}
        ).release()
        for asked in ({"rows": "job"}, {"rows": "area"}, {"rows": "sex", "where": {"area": "a1"}}):
            with pytest.raises(Refusal) as caught:
                data.table(**asked, method="marginals").release(free=True)
            assert caught.value.rule == "nothing-released"


def test_classic_mode_gives_intervals_of_its_own_tables_only(people: Path):
    """Bits give errors of tables at the level measured; filters and coarser levels say none."""
    with dc.open(people) as data:
        data.recipe(PAIRS | {"mode": "classic"}).release()
        plain = data.table(rows="area", method="marginals").release(free=True).protected
        assert plain.noise is not None
        coarse = data.table(rows="region", method="marginals").release(free=True).protected
        assert coarse.noise is None
        assert coarse.values.sum() > 0


def test_one_fit_serves_many_tables(people: Path):
    """Within a process the synthetic table is fitted once for all tables read off it."""
    method = registry.get("marginals")
    assert isinstance(method, MarginalsMethod)
    with dc.open(people) as data:
        data.recipe(PAIRS).release()
        before = len(method._made)
        for rows in ("area", "sex", "job", "region"):
            data.table(rows=rows, method="marginals").release(free=True)
        assert len(method._made) == before


@pytest.mark.slow
def test_a_coarse_category_that_holds_nothing_is_zero(tmp_path: Path):
    """A region without areas is a category like any other, in a release and in what follows."""
    levels = dict(VARIABLES["area"]["levels"]) | {
        "region": {"categories": {"n": "North", "s": "South", "e": "East, no areas yet"}}
    }
    areas = {**VARIABLES["area"], "levels": levels}
    folder = make(tmp_path, "dp", variables=VARIABLES | {"area": areas})
    with dc.open(folder) as data:
        asked = {"rows": "region", "columns": "sex", "method": "marginals"}
        made = data.table(**asked, epsilon="1").release()
        assert made.protected.values[2].tolist() == [0, 0, 0]
        data.table(rows="area", columns="sex", method="marginals", epsilon="5").release()
        assert data.table(**asked).release(free=True).protected.values[2].tolist() == [0, 0, 0]


def test_a_table_measured_wider_than_asked_for_is_kept(people: Path):
    """All pairs of a small product are measured as one table: that table comes out as measured."""
    with dc.open(people) as data:
        pairs = data.recipe(PAIRS).release()
        measured = design_of(pairs.detail.plan).allocation.measured
        assert any(len(m.margin) == 3 for m in measured)
        whole = data.table(rows="area", columns="sex,job", method="marginals")
        table = whole.release(free=True).protected
        assert table.noise is not None
        assert not any("not fitted" in note.lower() for note in table.notes)
        assert (np.abs(table.values - table.extra["unbiased"]) <= 6 * table.noise.sd).all()


def test_a_table_measured_but_not_fitted_says_so(people: Path, monkeypatch):
    """A table too wide for the fit: the estimate is given, and counts far from it are marked."""
    monkeypatch.setattr(Design, "fitted", property(lambda design: design.margins))
    with dc.open(people) as data:
        data.recipe(PAIRS).release()
        whole = data.table(rows="area", columns="sex,job", method="marginals")
        table = whole.release(free=True).protected
        assert table.noise is not None
        assert any("Measured but not fitted" in note for note in table.notes)
        off = (table.values < table.noise.lower) | (table.values > table.noise.upper)
        assert not (off & (table.status == Status.OK)).any()
        plain = data.table(rows="area", columns="sex", method="marginals").release(free=True)
        assert not any("not fitted" in note for note in plain.protected.notes)


def test_a_fit_is_kept_for_the_next_process(people: Path):
    """What one process fitted another reads: the same records, and the same tables."""
    method = registry.get("marginals")
    assert isinstance(method, MarginalsMethod)
    with dc.open(people) as data:
        before = data.recipe(PAIRS).release()
    method._made.clear()  # as a new process has it
    with DataSet.open(people) as data:
        stored = data.ledger().find(before.detail.plan.question_hash)
        assert stored is not None
        measured = Measurements.from_bytes(stored.measurements)
        again = fitted(data, before.detail.plan, measured, Control())
        assert set(again.arrays) > set(measured.arrays)
    with dc.open(people) as data:
        after = data.recipe(PAIRS).release()
    for old, new in zip(before.tables, after.tables, strict=True):
        assert np.array_equal(old.values, new.values)


@pytest.mark.slow
def test_what_no_release_measured_is_read_off_the_one_with_less_noise(people: Path):
    """All three variables follow from models only; a newer release of mere noise does not answer."""
    pairs = {**PAIRS, "mode": "classic"}
    with dc.open(people) as data:
        data.recipe(pairs).release()
        data.recipe({**pairs, "epsilon": "1/1000"}).release()
        found = data.table(rows="area", columns="sex", layers="job").release(free=True)
        assert found.tables[0].noise is None
        assert found.guarantee.epsilon == 2
