"""Designed p-tables are the same on every machine, whatever its processor makes of floats."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.methods.cellkey.design import least_variance, outcomes, ptable
from discreet.methods.cellkey.entropy import FLOOR, maximum_entropy
from discreet.methods.cellkey.entropy_optimum import Problem, optimum

DIGESTS = [
    ((5, "3", 0), {}, "6f8b5af413658b85158a806c2e7914ed"),
    ((3, "1", 0), {}, "f21a1ebe7fde5b23d6572e3b909400b3"),
    ((10, "9", 2), {}, "04087ff1d3cf33115bebbeb494ab6705"),
    ((8, "5", 0), {"p_stay": "0.4"}, "0971760ab96f9278b9e5d545b11f422a"),
    ((7, "3", 0), {"exact_variance": True}, "69440ea299b7fa10a1f1dcbf2d5cb00b"),
    ((12, "20", 0), {"monotone": False}, "02e28d0430be9a856a541d326baf45ff"),
    ((4, "3.9", 2), {"p_stay": "0.2"}, "9dff66121a443cd46b347ceda120377e"),
]
"""Of tables as one machine made them; a processor that makes others fails here."""

OTHER_PROCESSORS = [
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3"},
    {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
]
"""How an older processor calculates, on this one."""


@pytest.mark.parametrize(("parameters", "named", "digest"), DIGESTS)
def test_a_design_has_one_table(parameters, named, digest) -> None:
    """To the last of 2^64 keys."""
    assert ptable(*parameters, **named).digest[:32] == digest


@pytest.mark.slow
@pytest.mark.parametrize("processor", OTHER_PROCESSORS, ids=["without AVX", "without FMA"])
def test_other_processors_make_the_same_table(processor: dict[str, str]) -> None:
    """Floats differ in their last digits there; the tables do not."""
    script = (
        "from tests.methods.cellkey.test_entropy_optimum import DIGESTS, ptable\n"
        "print(*(ptable(*p, **n).digest[:32] for p, n, _ in DIGESTS))"
    )
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, **processor},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.split() == [digest for _, _, digest in DIGESTS]


@st.composite
def rows(draw: st.DrawFn) -> Problem:
    """A row of any p-table that can be asked for."""
    d = draw(st.sampled_from([1, 2, 3, 5, 8, 13]))
    js = draw(st.integers(0, min(d - 1, 3)))
    low, high = least_variance(js), Fraction(d * (d + 1), 3)
    share = draw(st.integers(1, 99))
    v = round(low + (high - low) * Fraction(share, 100), 3)
    assume(low < v < high)
    reach = outcomes(draw(st.integers(1, d + js + 1)), d, js)
    stay = draw(st.one_of(st.none(), st.integers(2, 80).map(lambda k: Fraction(k, 100))))
    return Problem(
        tuple(reach), v, draw(st.booleans()), draw(st.booleans()), stay, Fraction(1, 10**8)
    )


def floats(problem: Problem) -> np.ndarray:
    p = maximum_entropy(
        list(problem.perturbations),
        float(problem.variance),
        exact_variance=problem.exact_variance,
        monotone=problem.monotone,
        p_stay=None if problem.stay is None else float(problem.stay),
    )
    assume(p is not None)
    return p


@given(rows(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_the_optimum_does_not_depend_on_the_floats_it_began_with(
    problem: Problem, seed: int
) -> None:
    """Floats off by 1e-9 and by nothing lead to the same probabilities, near the floats' own."""
    p = floats(problem)
    found = optimum(problem, p)
    assert found is not None
    assert max(abs(float(x) - y) for x, y in zip(found, p, strict=True)) < 1e-7
    noise = np.random.default_rng(seed).uniform(-1e-9, 1e-9, len(p))
    assert optimum(problem, np.maximum(p * (1 + noise), FLOOR / 2)) == found


@given(rows())
@settings(max_examples=40)
def test_the_optimum_keeps_its_constraints(problem: Problem) -> None:
    """Sum, mean, variance, floor, p_stay and the rise towards 0, to 2^-100."""
    p = optimum(problem, floats(problem))
    assert p is not None
    v, near = problem.perturbations, Fraction(1, 1 << 100)
    assert abs(sum(p) - 1) < near
    assert abs(sum(x * z for x, z in zip(p, v, strict=True))) < near
    spread = sum(x * z * z for x, z in zip(p, v, strict=True)) - problem.variance
    assert abs(spread) < near if problem.exact_variance else spread < near
    assert min(p) > problem.floor - near
    if problem.zero is not None:
        assert p[problem.zero] > problem.stay - near
    assert all(p[i] < p[i + 1] + near for i in range(problem.chain - 1))


@given(rows(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_no_law_nearby_has_more_entropy(problem: Problem, seed: int) -> None:
    """Towards other laws that keep the constraints, entropy falls: a twin off by 1e-6 is caught."""
    p = np.array([float(x) for x in optimum(problem, floats(problem)) or ()])
    other = maximum_entropy(
        list(problem.perturbations),
        float(problem.variance) * np.random.default_rng(seed).uniform(0.5, 1),
        monotone=problem.monotone,
        p_stay=None if problem.stay is None else float(problem.stay),
    )
    assume(other is not None and not problem.exact_variance)
    towards = -((np.log(p) + 1) * (other - p)).sum()  # the slope of the entropy on the way there
    assert towards < 1e-7
