"""The mechanism run again on a released table: free, centred on it where the fit is unbiased."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.noise.method import NoiseMethod
from discreet.methods.shared.rerun import reruns
from discreet.methods.shared.synthetic_table import SyntheticTable

from ..marginals.people import count, described, facts_of, latent, question
from ..noise.conftest import World


def test_reruns_of_margins_lie_around_the_released_table() -> None:
    """40 reruns of a 3 × 4 table of about 40 a cell: the mean within 6 standard errors (1e-8 a cell)."""
    made = described((3, 4))
    rows = latent((3, 4), 480, 2)
    facts, method = facts_of(made), MarginalsMethod()
    plan = method.plan(*question(made, [["v0", "v1"]], epsilon="1"), facts)
    measured = method.measure(plan, count(rows, made, plan.counts), None, Control())
    table = method.synthesise(plan, measured, Control())
    domain = method.synthetic_domain(plan)
    values = np.array(
        [run[0].values for run in reruns(method, plan, table, domain, facts, 40)], dtype=float
    )
    (released,) = method.fit(plan, measured, facts, Control())
    assert len({tuple(run.ravel()) for run in values}) > 1
    error = values.std(axis=0) / 40**0.5 + 0.3  # whole numbers, none below 0
    assert (np.abs(values.mean(axis=0) - released.values) < 6 * error).all()


def test_filters_and_levels_are_counted_from_the_synthetic_records(people) -> None:
    """With hardly any noise a rerun gives back the synthetic table's own margins."""
    world: World = people()
    plan = world.plan(
        world.spec("region:half", "sex"), world.spec("sex", where={"ill": ["yes"]}), epsilon="100"
    )
    domain = world.description.domain(world.spec("region", "sex", "ill").axes)
    rng = np.random.default_rng(5)
    dense = rng.integers(0, 900, domain.shape)
    rows = np.stack(np.unravel_index(np.arange(dense.size), dense.shape), axis=1)
    table = SyntheticTable(domain.shape, rows, dense.ravel())
    ((halves, ill),) = reruns(NoiseMethod(), plan, table, domain, world.facts, 1)
    by_half = np.stack([dense[:2].sum(axis=(0, 2)), dense[2].sum(axis=1)])
    assert np.abs(halves.values[:2, :2] - by_half).max() <= 2
    assert np.abs(ill.values[:2] - dense[:, :, 1].sum(axis=0)).max() <= 2


@pytest.fixture
def people():
    from discreet.core.domain import variable

    region = variable("region", ["n", "s", "e"], levels={"half": {"n": "1", "s": "1", "e": "2"}})
    return lambda: World([region, variable("sex", ["f", "m"]), variable("ill", ["no", "yes"])])
