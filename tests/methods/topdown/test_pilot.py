"""Mode pilot: ons method 2 as written, its figures from the printed noise, its bias."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.table import Rehearsal
from discreet.errors import InputError, RecipeError
from discreet.methods.topdown.design import design_of
from discreet.methods.topdown.fit.pilot import CLIP, adjusted, largest_remainders
from discreet.methods.topdown.measured_tables import Measured
from discreet.methods.topdown.rehearsal import VARIANTS, rehearse_pilot

from .test_method import TABLES, small


def test_figure_2_from_the_printed_noise() -> None:
    """National: 3,398 over the noisy cells. The region's printed cells take the same form."""
    national = adjusted(np.array([891.0, 739.0, 879.0, 870.0]), 3398)
    assert national.round(2).tolist() == [896.01, 743.16, 883.94, 874.89]


def test_table_12_from_the_printed_noise() -> None:
    """Clipped at 0.001, times the printed 0.8, largest remainders to 10: six records became ten."""
    counts = np.array([2, 0, 0, 1, 0, 1, 0, 0, 1, 1])
    noise = np.array([0.1, 0.2, -1.1, 1.4, -0.9, 0.6, -3.3, -5.2, 4.3, 0.8])
    post = np.maximum(counts + noise, CLIP)
    printed = [2.1, 0.2, 0.001, 2.4, 0.001, 1.6, 0.001, 0.001, 5.3, 1.8]
    assert post.round(3).tolist() == printed
    adjustment = 0.8 * post
    shown = [1.68, 0.16, 0.001, 1.92, 0.001, 1.28, 0.001, 0.001, 4.24, 1.44]
    assert adjustment.round(3).tolist() == pytest.approx(shown, abs=2.1e-4)
    final = largest_remainders(adjustment, 10)
    assert final.tolist() == [2, 0, 0, 2, 0, 1, 0, 0, 4, 1]
    assert (int(counts.sum()), int(final.sum())) == (6, 10)


@pytest.mark.parametrize("first", ["variables", "geography"])
@pytest.mark.parametrize("said", [{"epsilon": "2"}, {"rho": "1"}])
@pytest.mark.slow
def test_every_level_adds_up(first: str, said: dict[str, str]) -> None:
    """Whole, not negative, and the synthetic table's total is the noisy one."""
    world = small(300)
    plan, measured, tables = world.release(TABLES, mode="pilot", first=first, **said)
    one = design_of(plan).allocation.measured[0]
    total = round(float(measured.arrays[one.name].ravel()[0]) / one.unit)
    for table in tables:
        assert (table.values >= 0).all()
        assert int(table.values.reshape(-1)[-1]) == total


def test_shares_are_the_articles() -> None:
    """0.01 of the total, the rest by square roots; as numbers, words or in reverse."""
    world = small(300)

    def shares(**said: str) -> list[float]:
        plan = world.plan(TABLES, mode="pilot", epsilon="1", **said)
        return [float(m.rate) for m in design_of(plan).allocation.measured]

    roots = np.sqrt([6, 12, 18, 36])
    wanted = [0.01, *(0.99 * roots / roots.sum())]
    assert shares() == pytest.approx(wanted, abs=1e-5)
    assert shares(level_shares="top-heavy") == pytest.approx([0.01, *wanted[:0:-1]], abs=1e-5)
    assert shares(level_shares="equal") == [0.2] * 5
    assert shares(level_shares="0.1, 0.1, 0.2, 0.2, 0.4") == [0.1, 0.1, 0.2, 0.2, 0.4]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"level_shares": "0.1, 0.1"}, "must add up to 1, they add up to 0.2"),
        ({"level_shares": "0.5, 0.5"}, "measures 5 levels"),
        ({"level_shares": "some"}, "level_shares must be one of"),
        ({"mode": "modern", "first": "geography"}, "for mode pilot only"),
        ({"epsilon": "0.01"}, "three decimals needs 0.001 at least"),
    ],
)
def test_bad_settings_get_one_sentence(said: dict[str, str], words: str) -> None:
    """Before anything is spent."""
    with pytest.raises((InputError, RecipeError), match=words):
        small().plan(TABLES, **{"mode": "pilot", "epsilon": "1", **said})


@pytest.mark.slow
def test_what_is_not_private_is_a_rehearsal() -> None:
    """Zeros left alone stay zero, nobody can ask for it in a recipe, and nothing takes it away."""
    world = small(60)
    plan = world.plan(TABLES, mode="pilot", epsilon="1")
    for variant in VARIANTS:
        found = rehearse_pilot(plan, world.engine.count(plan.counts), variant)
        assert isinstance(found, Rehearsal)
        before, after = (found.findings[name] for name in ("before", "after"))
        assert before[0].sum() == 60
        if variant == "zeros kept":
            assert not after[0][before[0] == 0].any()
        with pytest.raises(TypeError, match="stays with the custodian"):
            pickle.dumps(found)
    with pytest.raises(InputError, match="variant must be one of"):
        rehearse_pilot(plan, world.engine.count(plan.counts), "no noise at all")
    with pytest.raises(RecipeError):
        world.plan(TABLES, mode="pilot", epsilon="1", variant="zeros kept")


def divergence(law: Any, shift: int, loss: float) -> float:
    """δ at this loss between a number and the same shifted: Σ max(0, P(k) − e^loss · P(k − shift))."""
    none, one = (float(law.probability(k)) for k in (0, 1))
    here = np.arange(-2000, 2001)
    chance = none * (one / none) ** np.abs(here)
    moved = none * (one / none) ** np.abs(here - shift)
    return float(np.maximum(0.0, chance - math.exp(loss) * moved).sum())


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1), Fraction(5, 2)])
def test_noise_in_parts_tells_no_more_than_whole_noise(rate: Fraction) -> None:
    """At every loss, for one record and for two; at a smaller rate whole noise would tell less."""
    parts = Measured(0, (0,), rate, unit=10)
    less = Measured(0, (0,), rate * 9 / 10, unit=10)
    for records in (1, 2):
        losses = [float(rate) * records * step / 8 for step in range(-8, 9)]
        fine = [divergence(parts.law, 10 * records, loss) for loss in losses]
        whole = [divergence(parts.worst_law, records, loss) for loss in losses]
        below = [divergence(less.worst_law, records, loss) for loss in losses]
        assert all(a <= b + 1e-9 for a, b in zip(fine, whole, strict=True))
        assert any(a > b + 1e-6 for a, b in zip(fine, below, strict=True))
