"""Studies of maximum-entropy laws against the figures of sadeghi."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, floor

import numpy as np
import pytest

from discreet.core.audit import audit, delta, probabilistic_delta
from discreet.core.law_builders import hellinger, laplace, max_entropy, normal
from discreet.core.law_studies import (
    delta_curve,
    deltas_by_formula,
    key_sizes,
    least_delta,
    matching_normal,
)
from discreet.core.masses import gamma_for_variance
from discreet.errors import LawError


def delta_as_printed(gamma: float, d: int, epsilon: float) -> float:
    """sadeghi (21), term by term."""
    p = {z: exp(-gamma * z * z) for z in range(-d, d + 1)}
    last = floor(0.5 - epsilon / (2 * gamma))
    extra = sum(p[z] - exp(epsilon) * p[z - 1] for z in range(1 - d, min(last, 0) + 1))
    return (p[-d] + extra) / sum(p.values())


def test_figure_1_plateaus_at_the_boundary_mass() -> None:
    """sadeghi Fig. 1: D = 11 and 15, V = 4 and 10; the printed formula equals the audit of the law."""
    epsilons = ["0.25", "0.5", "1", "2", "3", "4"]
    for d, v in product((11, 15), ("4", "10")):
        law = max_entropy(d, v)
        gamma = float(gamma_for_variance(d, Fraction(v)))
        found = [float(delta) for _, delta in delta_curve(law, epsilons)]
        printed = [delta_as_printed(gamma, d, float(e)) for e in epsilons]
        assert found == pytest.approx(printed, rel=1e-9)
        assert found[-1] == pytest.approx(float(law.pmf[d]), rel=1e-9)
    at = {
        (v, e): delta_curve(max_entropy(11, v), [e])[0][1]
        for v in ("4", "10")
        for e in ("0.5", "4")
    }
    assert at["10", "0.5"] < at["4", "0.5"]  # before the plateau
    assert at["10", "4"] > at["4", "4"]  # after it


@pytest.mark.parametrize("d", [1, 4, 11, 15])
def test_no_variance_has_a_smaller_delta(d: int) -> None:
    """sadeghi Fig. 2a: no γ of the paper's grid, nor of a finer one, beats the kink that is found."""
    for e in ("0.1", "0.5", "1", "2", "3"):
        found = least_delta(e, d)
        epsilon = float(e)
        assert float(found.delta) == pytest.approx(
            delta_as_printed(float(found.gamma) * (1 - 1e-12), d, epsilon), rel=1e-6
        )
        grid = np.arange(1, 3001) * 1e-4
        fine = np.geomspace(epsilon / (2 * d), 4 * epsilon + 4, 5000)
        least = min(deltas_by_formula(gammas, d, epsilon).min() for gammas in (grid, fine))
        assert float(found.delta) <= least * (1 + 1e-9)
        assert found.delta <= found.rule_delta
        assert found.variance <= found.rule_variance
        assert found.rule_gamma == Fraction(e) / (2 * d - 1)


def test_the_rule_has_no_plateau() -> None:
    """sadeghi Fig. 2a and 2b: δ and V by the rule fall with ε all the way."""
    rows = [least_delta(Fraction(k, 10), 11) for k in range(1, 31, 4)]
    for figures in ([r.rule_delta for r in rows], [r.rule_variance for r in rows]):
        assert figures == sorted(figures, reverse=True)
    gains = [float(r.delta / r.rule_delta) for r in rows]
    assert min(gains) < 0.8  # "from being small to zero": at most a quarter here
    assert max(gains) == 1


def test_key_sizes_of_section_v_c() -> None:
    """sadeghi §V-C, D = 10: bias, lost support, and the two-sided truth beside (45)."""
    rows = {(float(r.epsilon), r.key_bits): r for r in key_sizes()}
    for (epsilon, bits), row in rows.items():
        assert row.bias == Fraction(-10, 2**bits)  # printed as −0.04, −1.5e-4, −2.3e-9
        full = not row.unreachable
        if bits == 32:
            assert full
            assert row.epsilon_both <= row.epsilon
            assert abs(row.variance_error) < 3e-9
        if bits == 16:
            assert full == (epsilon <= 1.7)
        if bits == 8:
            assert full == (epsilon <= 0.6)
            assert not full or row.epsilon_both > row.epsilon
        assert row.enough == (full and row.epsilon_both <= row.epsilon)
        assert row.epsilon_forward <= row.epsilon_both
    # (45) sees nothing wrong with 2^16 at ε = 1; both directions do.
    assert rows[1.0, 16].epsilon_forward < 1 < rows[1.0, 16].epsilon_both


def test_variance_errors_of_section_v_c() -> None:
    """Errata: 6.5e-12 to 1.9e-9 at 2^32 and 1.7e-6 to 1.2e-4 at 2^16 at full support, 1 % at 2^8."""
    errors: dict[int, list[float]] = {}
    for row in key_sizes():
        if not row.unreachable:
            errors.setdefault(row.key_bits, []).append(abs(float(row.variance_error)))
    spans = {bits: (f"{min(found):.1e}", f"{max(found):.1e}") for bits, found in errors.items()}
    assert spans[32] == ("6.5e-12", "1.9e-09")
    assert spans[16] == ("1.7e-06", "1.2e-04")
    assert 0.001 < max(errors[8]) < 0.02


def test_normal_matched_to_laplace() -> None:
    """rinott §5.6.2 with Laplace m = 7: smallest m with δ no larger is 8, 11, 12, 13, 13, 14 (errata)."""
    for e, m in (("0.1", 8), ("0.5", 11), ("1", 12), ("1.5", 13), ("2", 13), ("3", 14)):
        wanted = audit(laplace(e, 7)).delta
        assert matching_normal(laplace(e, 7)).weights == normal(e, m).weights
        assert audit(normal(e, m)).delta <= wanted < audit(normal(e, m - 1)).delta
    with pytest.raises(LawError, match="Use a Laplace law"):
        matching_normal(laplace("1", 30), most=10)


def test_probabilistic_delta_counts_what_exceeds() -> None:
    """rinott (4.5), Lemma 1: the chance of a ratio above e^ε, by plain enumeration; δ is no larger."""
    law = laplace("0.5", 7)
    assert probabilistic_delta(law, "0.5") == law.pmf[7] == delta(law, "0.5")
    for one in (law, normal("1", 5), max_entropy(11, "10")):
        for e in ("0", "0.1", "0.45", "0.9"):
            p = one.pmf
            over = sum(q for z, q in p.items() if float(q) > exp(float(e)) * float(p.get(z - 1, 0)))
            assert probabilistic_delta(one, e) == over
            assert over >= delta(one, e)
    rows = hellinger("1", 4, 30)
    assert probabilistic_delta(rows, "1") == 0 < probabilistic_delta(rows, "0.1")


def test_a_study_refuses_what_is_no_law() -> None:
    for wrong in (
        lambda: least_delta("1", 0),
        lambda: least_delta("-1", 5),
        lambda: key_sizes(0),
        lambda: key_sizes(5, ["1"], [7]),
        lambda: key_sizes(5, ["1"], quantiser="floor"),
    ):
        with pytest.raises(LawError):
            wrong()
