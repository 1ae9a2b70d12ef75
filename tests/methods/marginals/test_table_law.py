"""What a table of consistent margins says of its unbiased column is what the estimator does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.core.cell_law import CellLaw
from discreet.core.control import Control
from discreet.core.question import Treatment
from discreet.methods.marginals.method import MarginalsMethod, _estimated, design_of
from discreet.methods.marginals.publish.protected_tables import _unbiased
from discreet.recipe import from_mapping

from .people import described, facts_of, question, released
from .test_method import people


def _responses(design, wanted):
    """How the unbiased cells answer to each measured number: the columns of the estimator."""
    tables = [np.zeros(m.shape(design.shape), dtype=np.int64) for m in design.allocation.measured]
    still = _unbiased(design, wanted, _estimated(design, tables, design.margins))
    for number, m in enumerate(design.allocation.measured):
        for place in np.ndindex(*tables[number].shape):
            moved = [table.copy() for table in tables]
            moved[number][place] = 1
            found = _unbiased(design, wanted, _estimated(design, moved, design.margins))
            yield m.variance, found - still


def _cells(names, shape):
    for place in np.ndindex(*shape):
        yield (
            place,
            {
                name: None if at == n - 1 else at
                for name, at, n in zip(names, place, shape, strict=True)
            },
        )


@pytest.mark.parametrize("noise", [{"epsilon": "1"}, {"rho": "0.2"}])
@pytest.mark.parametrize("records", [None, 50])
def test_covariances_are_those_of_the_estimator(noise, records):
    """Every pair of cells and totals: Σ variance × response × response, from the measured numbers."""
    made = described((2, 3, 2), records=records)
    asked = question(made, [["v0", "v1"], ["v1", "v2"]], **noise)
    rows = np.stack([np.random.default_rng(1).integers(0, n, 50) for n in (2, 3, 2)], axis=1)
    plan, _, tables = released(rows, made, asked)
    design = design_of(plan)
    for wanted, table in zip(design.workload.tables, tables, strict=True):
        law = table.law
        assert law.column == "unbiased"
        assert law.consistency == "synthetic table"
        assert sum(source.tables for source in law.sources) == len(design.allocation.measured)
        responses = list(_responses(design, wanted))
        cells = list(_cells(table.domain.names, table.shape))
        for (one, here), (two, there) in itertools.product(cells, repeat=2):
            true = sum(v * moved[one] * moved[two] for v, moved in responses)
            said = law.residual_variance.covariance(here, there)
            assert said == pytest.approx(float(true), rel=1e-9, abs=1e-9)
        assert CellLaw.from_json(law.to_json()) == law


def test_levels_and_filters_say_which_categories_are_summed():
    """Coarser levels and filters: the said variances are those of the published intervals."""
    made = people()
    rows = np.stack([np.random.default_rng(1).integers(0, n, 300) for n in (6, 3, 2, 3)], axis=1)
    rows[(rows[:, 1] == 0), 3] = 2
    recipe = from_mapping(
        {
            "tables": [
                {"rows": "region", "columns": "work"},
                {"rows": "area", "columns": "age"},
                {"rows": "age", "columns": "work", "where": {"sex": "F"}},
            ],
            "method": "marginals",
            "epsilon": "3",
        },
        made,
        facts_of(made).policy,
    )
    _, _, tables = released(rows, made, (recipe.question, Treatment()))
    for table in tables:
        for place, cell in _cells(table.domain.names, table.shape):
            sd = table.law.residual_variance.covariance(cell) ** 0.5
            assert sd == pytest.approx(float(table.noise.sd[place]), rel=1e-9)


def test_classic_mode_says_its_laws_only():
    """It measures bits: no variance by set of axes, yet every law that was drawn."""
    made = described((2, 3))
    rows = np.stack([np.random.default_rng(1).integers(0, n, 50) for n in (2, 3)], axis=1)
    _, _, (table,) = released(
        rows, made, question(made, [["v0", "v1"]], epsilon="1", mode="classic")
    )
    assert table.law.residual_variance is None
    assert table.law.about["mode"] == "classic"
    assert all(source.law.name == "laplace" for source in table.law.sources)


def test_a_table_that_follows_from_the_model_says_so():
    """Read off a release that never measured its variables together: no law, no variance."""
    made = described((2, 3, 2, 2))
    rows = np.stack([np.random.default_rng(1).integers(0, n, 80) for n in (2, 3, 2, 2)], axis=1)
    asked = question(made, [["v0", "v1"], ["v2", "v3"]], epsilon="2")
    plan, kept, _ = released(rows, made, asked)
    method, facts = MarginalsMethod(), facts_of(made)
    free = method.derive(plan, *question(made, [["v1", "v2", "v3"]]), facts)
    (table,) = method.fit(free, kept, facts, Control())
    assert not table.law.measured
    assert table.law.residual_variance is None
    assert table.noise is None
