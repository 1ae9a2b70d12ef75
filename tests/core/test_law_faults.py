"""Faults put in on purpose: each check passes on the product and must fail on the faulty twin.

A check takes one function, the one that a fault replaces. That a check fails on the twin shows
that the same check elsewhere in the suite would notice the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product
from math import ceil, exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.audit import audit, delta
from discreet.core.brackets import exp_bracket, ln_bracket
from discreet.core.composition import delta_of_cells, pairs_of
from discreet.core.law import Law
from discreet.core.law_builders import (
    laplace,
    max_entropy,
    max_entropy_for,
    normal,
)
from discreet.core.law_losses import losses, within
from discreet.core.law_studies import matching_normal
from discreet.core.masses import gamma_for_variance
from discreet.core.odds import odds, percent_up
from discreet.core.pure_laplace import PureLaplace
from discreet.core.quantise import ceil_weights, nearest_weights
from discreet.core.random_source import SystemSource
from discreet.errors import LawError

from .draws import draw

Function = Callable[..., Any]


@dataclass(frozen=True)
class Fault:
    name: str
    check: Callable[[Function], None]
    right: Function
    wrong: Function


# ── auditing ────────────────────────────────────────────────────────────────


def two_sided(epsilon_of: Function) -> None:
    law = max_entropy_for("0.5", 25, key_bits=16, quantiser="ceil")
    assert round(float(epsilon_of(law)), 4) == 0.6061


def one_sided_epsilon(law: Law) -> float:
    pairs, _ = pairs_of(law)
    return float(ln_bracket(max(Fraction(p, q) for p, q in pairs if p and q))[1])


def unsafe_end(delta_of: Function) -> None:
    law = max_entropy(11, "4")
    pairs, total = pairs_of(law)
    low = exp_bracket(Fraction(1, 2))[0]
    least = sum((max(Fraction(0), p - low * q) for p, q in pairs), Fraction(0)) / total
    assert delta_of(law, "0.5") >= least


def rounded_down_delta(law: Law, epsilon: str) -> Fraction:
    pairs, total = pairs_of(law)
    high = exp_bracket(Fraction(epsilon))[1]
    return sum((max(Fraction(0), p - high * q) for p, q in pairs), Fraction(0)) / total


def whole_excess(delta_of: Function) -> None:
    law = laplace("0.5", 7)
    total = sum(
        float(max(Fraction(0), law.pmf[z] - Fraction(exp(0.2)) * law.pmf.get(z - 1, 0)))
        for z in law.pmf
    )
    assert float(delta_of(law, "0.2")) == pytest.approx(total, rel=1e-12)


def every_pair(epsilon_of: Function) -> None:
    even, steep = Law("a", {}, -1, (64, 128, 64), 8), Law("b", {}, -1, (1, 254, 1), 8)
    for rows in ([steep, even], [even, steep], [even, steep, even]):
        assert epsilon_of(rows) >= audit(Law("c", {}, -1, (2, 252, 2), 8)).epsilon


def only_the_last_row(rows: list[Law]) -> Fraction:
    return audit(rows[-1]).epsilon


def cells_together(delta_of: Function) -> None:
    law = laplace("0.7", 3)
    pairs, total = pairs_of(law)
    factor = exp_bracket(Fraction(1))[0]
    over = sum(
        (max(Fraction(0), a * c - factor * b * d) for (a, b), (c, d) in product(pairs, pairs)),
        Fraction(0),
    )
    assert abs(delta_of(law, "1", 2) - over / total**2) < Fraction(1, 10**12)


# ── building ────────────────────────────────────────────────────────────────


def published_thresholds(quantise: Function) -> None:
    side = [exp(-(0.5 / 49 - 1 / 24990) * z * z) for z in range(-25, 26)]
    weights = quantise([int(p * 10**15) for p in side], 32)
    assert tuple(accumulate(weights))[:3] == (425760, 1126343, 2255949)


def floor_weights(masses: list[int], bits: int) -> tuple[int, ...]:
    total = sum(masses)
    cut = [(c << bits) // total for c in accumulate(masses)]
    return tuple(b - a for a, b in zip([0, *cut], cut, strict=False))


def no_bias(quantise: Function) -> None:
    masses = [3, 5, 11, 5, 3]
    weights = quantise(masses, 16)
    law = Law("x", {}, -2, weights, 16)
    assert law.mean == 0


def within_asked(gamma_of: Function) -> None:
    law = normal(gamma_of(Fraction(1, 2), 25) * 51, 25)
    assert audit(law).epsilon <= Fraction(1, 2)


def full_precision(gamma_of: Function) -> None:
    gamma = gamma_of(11, Fraction(4))
    assert len(str(gamma).strip("0.")) > 60


def weight_in_the_shift(build: Function) -> None:
    law = build("1", 40, 5)
    assert audit(law, "1").delta == sum((law.pmf[z] for z in range(36, 41)), Fraction(0))


def unsensed(epsilon: str, m: int, weight: int) -> Law:
    law = laplace(epsilon, m)
    parameters = {**law.parameters, "sensitivity": str(weight)}
    return Law(law.name, parameters, law.start, law.weights, law.key_bits)


def ratio_spends_no_more(ratio_of: Function) -> None:
    law = PureLaplace(Fraction(1), 1, ratio_of(Fraction(1)))
    assert audit(law).epsilon <= 1


def unreachable_told(find: Function) -> None:
    law = max_entropy_for("0.5", 25, key_bits=8, quantiser="ceil")
    assert set(find(law)) == {z for z in range(-25, 26) if law.weight(z) == 0}


# ── looking up and drawing ──────────────────────────────────────────────────


def draws_from(law: PureLaplace, sample: Function) -> None:
    """n = 2^20: counts of 0 and of the far tail within 6.5 standard deviations (10^-10)."""
    n = 1 << 20
    values = np.asarray(sample(law, n), dtype=np.int64)
    reach = law.half_width("0.9999")
    for chance, seen in (
        (float(law.probability(0)), int((values == 0).sum())),
        (float(law.tail(reach)), int((np.abs(values) > reach).sum())),
        (0.5 + float(law.probability(0)) / 2, int((values >= 0).sum())),
    ):
        assert abs(seen - n * chance) < 6.5 * (n * chance * (1 - chance)) ** 0.5


def fair(sample: Function) -> None:
    draws_from(laplace("0.5"), sample)


def clipped(law: PureLaplace, n: int) -> NDArray[np.integer]:
    reach = law.half_width("0.9999")
    return np.clip(draw(law, n), -reach, reach)


def sign_twice(law: PureLaplace, n: int) -> NDArray[np.integer]:
    """A geometric number with a random sign: zero is drawn as +0 and as −0."""
    size = np.abs(draw(law, 4 * n))
    return size[size > 0][:n] - 1


def independent(sample: Function) -> None:
    """n = 2^18: no pair of blocks equal, and lag correlation within 6.5 standard errors."""
    law, n = laplace("0.1"), 1 << 18
    values = np.asarray(sample(law, n), dtype=np.float64)
    half = n // 2
    r = np.corrcoef(values[:half], values[half:])[0, 1]
    assert abs(r) < 6.5 / half**0.5


def reused(law: PureLaplace, n: int) -> NDArray[np.integer]:
    return np.tile(draw(law, n // 2), 2)


def fresh(make: Function) -> None:
    source = make()
    assert source.take(1 << 12) != source.take(1 << 12)


class Stuck(SystemSource):
    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        buffer[:count] = 7


# ── reading ─────────────────────────────────────────────────────────────────


def clip_after_noise(chance_of: Function) -> None:
    """rinott Table 2, Laplace ε = 0.5, m = 7, count 1 within ±1: 0.78."""
    assert round(float(chance_of(laplace("0.5", 7), 1, 1)), 2) == 0.78


def clip_before_noise(law: Law, count: int, h: int) -> Any:
    """max(0, count) + z instead of max(0, count + z)."""
    return within(law, h, max(0, count))


def untruncated_loss(loss_of: Function) -> None:
    law = laplace("0.5")
    direct = sum((abs(z) * law.probability(z) for z in range(-60, 61)), Fraction(0))
    assert float(loss_of(law)) == pytest.approx(float(direct), rel=1e-9)


def smallest_match(match: Function) -> None:
    wanted = audit(laplace("1.5", 7)).delta
    assert audit(match(laplace("1.5", 7))).delta <= wanted


def against_the_custodian(say: Function) -> None:
    share = odds(laplace("1")).rightly
    assert Fraction(say(share)) >= share * 100


FAULTS = [
    Fault("one-sided ratio", two_sided, lambda law: audit(law).epsilon, one_sided_epsilon),
    Fault("δ rounded down", unsafe_end, delta, rounded_down_delta),
    Fault(
        "δ is the boundary mass only",
        whole_excess,
        delta,
        lambda law, epsilon: audit(law).boundary_mass,
    ),
    Fault("pairs of rows skipped", every_pair, lambda r: audit(r).epsilon, only_the_last_row),
    Fault(
        "δ of cells added up",
        cells_together,
        lambda law, e, d: delta_of_cells(law, e, d).high,
        lambda law, e, d: d * delta(law, e),
    ),
    Fault("floor for ceil", published_thresholds, ceil_weights, floor_weights),
    Fault("lopsided rounding", no_bias, nearest_weights, ceil_weights),
    Fault(
        "total off by one",
        no_bias,
        nearest_weights,
        lambda m, b: tuple(round(x * 2**b / sum(m)) + (i == 2) for i, x in enumerate(m)),
    ),
    Fault(
        "ι with the printed sign",
        within_asked,
        lambda e, d: e / (2 * d - 1) - e / (5 * (4 * d * d - 1)),
        lambda e, d: e / (2 * d - 1) + e / (5 * (4 * d * d - 1)),
    ),
    Fault(
        "γ in floats",
        full_precision,
        gamma_for_variance,
        lambda d, v: float(gamma_for_variance(d, v)),
    ),
    Fault(
        "wrong sensitivity",
        weight_in_the_shift,
        lambda e, m, w: laplace(e, m, sensitivity=w),
        unsensed,
    ),
    Fault(
        "ratio rounded down",
        ratio_spends_no_more,
        lambda e: PureLaplace.of(e).ratio,
        lambda e: Fraction(ceil(exp_bracket(-e)[1] * 2**64) - 1, 2**64),
    ),
    Fault("unreachable kept silent", unreachable_told, lambda law: law.unreachable, lambda law: ()),
    Fault(
        "normal m as printed",
        smallest_match,
        matching_normal,
        lambda law: normal("1.5", 12),
    ),
    Fault(
        "clip before noise",
        clip_after_noise,
        lambda law, n, h: within(law, h, n, clip=True),
        clip_before_noise,
    ),
    Fault(
        "loss as printed, half",
        untruncated_loss,
        lambda law: losses(law).absolute,
        lambda law: losses(law).absolute / 2,
    ),
    Fault("tails cut off", fair, draw, clipped),
    Fault("zero drawn twice", fair, draw, sign_twice),
    Fault("shifted by one", fair, draw, lambda law, n: draw(law, n) + 1),
    Fault("noise reused", independent, draw, reused),
    Fault("a stuck source", fresh, SystemSource, Stuck),
    Fault(
        "rounded for the custodian",
        against_the_custodian,
        percent_up,
        lambda share: str(int(share * 100)),
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_product_passes_and_the_fault_is_caught(fault: Fault) -> None:
    fault.check(fault.right)
    with pytest.raises((AssertionError, LawError)):
        fault.check(fault.wrong)
