"""What a released value loses: printed figures, and every figure against a plain sum."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

from discreet.core.evidence import evidence
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law_builders import exponential, hellinger, laplace, normal
from discreet.core.law_losses import MOST_CLIPPED, losses, root_loss, table_losses, within
from discreet.core.noise_law import AnyLaw
from discreet.core.unchanged import unchanged
from discreet.errors import LawError

# rinott Table 2: rows are true counts 0 … 5 and over, columns ±0 … ±4; negatives become 0.
TABLE_2 = {
    ("laplace", "1.5", 7): """
        0.82 0.96 0.99 1.00 1.00
        0.64 0.96 0.99 1.00 1.00
        0.64 0.92 0.99 1.00 1.00
        0.64 0.92 0.98 1.00 1.00
        0.64 0.92 0.98 1.00 1.00
        0.64 0.92 0.98 1.00 1.00""",
    ("laplace", "0.5", 7): """
        0.63 0.78 0.87 0.93 0.96
        0.25 0.78 0.87 0.93 0.96
        0.25 0.55 0.87 0.93 0.96
        0.25 0.55 0.74 0.93 0.96
        0.25 0.55 0.74 0.85 0.96
        0.25 0.55 0.74 0.85 0.92""",
    ("normal", "1.5", 12): """
        0.57 0.70 0.81 0.89 0.94
        0.14 0.70 0.81 0.89 0.94
        0.14 0.40 0.81 0.89 0.94
        0.14 0.40 0.62 0.89 0.94
        0.14 0.40 0.62 0.78 0.94
        0.14 0.40 0.62 0.78 0.88""",
    ("normal", "0.5", 10): """
        0.54 0.63 0.71 0.78 0.84
        0.09 0.63 0.71 0.78 0.84
        0.09 0.26 0.71 0.78 0.84
        0.09 0.26 0.42 0.78 0.84
        0.09 0.26 0.42 0.57 0.84
        0.09 0.26 0.42 0.57 0.69""",
}


@pytest.mark.parametrize("key", TABLE_2, ids=lambda key: " ".join(map(str, key)))
def test_rinott_table_2(key: tuple[str, str, int]) -> None:
    """All 120 printed probabilities of the four blocks, to two decimals."""
    name, epsilon, m = key
    law = (laplace if name == "laplace" else normal)(epsilon, m)
    printed = [[float(p) for p in line.split()] for line in TABLE_2[key].strip().splitlines()]
    for count, line in enumerate(printed):
        for h, p in enumerate(line):
            found = float(within(law, h, count, clip=True))
            assert round(found + 1e-12, 2) == p, (count, h, found)


def test_interval_of_pure_laplace_is_exact() -> None:
    law = laplace("0.5")
    assert within(law, 6, 3) == 1 - law.tail(6)
    assert within(law, 6, 3, clip=True) == law.cumulative(6)


def test_expected_losses_are_the_corrected_formulas() -> None:
    """rinott 5.6.1: the truncated form, and twice the printed untruncated one (errata)."""
    for text, m in (("0.5", 7), ("1", 10)):
        law, a = laplace(text, m), 2.718281828459045 ** -float(text)
        c = 1 + 2 * (a - a ** (m + 1)) / (1 - a)
        printed = 2 * a * (m * a ** (m + 1) - (m + 1) * a**m + 1) / (c * (a - 1) ** 2)
        assert float(losses(law).absolute) == pytest.approx(printed, rel=1e-12)
    pure = laplace("0.5")
    direct = 2 * sum((z * pure.probability(z) for z in range(1, 80)), Fraction(0))
    assert float(losses(pure).absolute) == pytest.approx(float(direct), rel=1e-12)
    wide = laplace("0.5", 200)
    assert float(losses(wide).absolute) == pytest.approx(float(losses(pure).absolute))


LAWS: dict[str, AnyLaw] = {
    "laplace": laplace("0.7"),
    "laplace cut": laplace("0.5", 7),
    "normal": normal("1", 5),
    "lopsided": exponential({-2: 0, -1: "0.5", 0: 2, 1: 1, 2: "1/3"}, "1", 2),
    "gaussian": DiscreteGaussian.of("4"),
    "hellinger": hellinger("1", 6, 40),
}


@pytest.mark.parametrize("clip", [False, True], ids=["kept", "clipped"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_losses_are_plain_sums_over_released_values(law: AnyLaw, clip: bool) -> None:
    """Every figure of every law is what summing over perturbations gives, clipped after the noise."""
    for count in range(7):
        one = law.for_count(count)
        low, high = one.ends or (-90, 90)
        moved = [
            (max(z, -count) if clip else z, float(one.probability(z))) for z in range(low, high + 1)
        ]
        found = losses(law, count, clip=clip)
        expected = {
            "absolute": sum(abs(z) * p for z, p in moved),
            "squared": sum(z * z * p for z, p in moved),
            "bias": sum(z * p for z, p in moved),
            "unchanged": sum(p for z, p in moved if z == 0),
        }
        assert found.to_dict() == pytest.approx(expected, rel=1e-11, abs=1e-13)
        for h in range(5):
            inside = sum(p for z, p in moved if abs(z) <= h)
            assert float(within(law, h, count, clip=clip)) == pytest.approx(inside, rel=1e-11)
        if clip:
            root = sum(abs(sqrt(count + z) - sqrt(count)) * p for z, p in moved)
            assert root_loss(law, count) == pytest.approx(root, rel=1e-9)


def test_clipping_only_ever_helps() -> None:
    """rinott 5.6.1: "if we replace negative outputs by zero, the loss improves"; bias is its price."""
    for law in (laplace("0.5"), laplace("0.5", 7), normal("0.5", 10)):
        kept = losses(law)
        assert kept.bias == 0
        for count in range(12):
            cut = losses(law, count, clip=True)
            reached = law.cumulative(-count - 1) > 0
            assert (cut.absolute < kept.absolute) == reached
            assert (cut.squared < kept.squared) == reached
            assert (cut.bias > 0) == reached
            assert (cut.unchanged > kept.unchanged) == (count == 0)


def test_losses_of_a_table_are_the_sums_of_its_cells() -> None:
    law, counts = laplace("1", 5), [0, 0, 1, 7, 250]
    for clip in (False, True):
        found = table_losses(law, counts, clip=clip)
        each = [losses(law, n, clip=clip) for n in counts]
        assert found.absolute == pytest.approx(sum(float(one.absolute) for one in each))
        assert found.squared == pytest.approx(sum(float(one.squared) for one in each))
        assert found.unchanged == pytest.approx(sum(float(one.unchanged) for one in each) / 5)
    assert found.root == pytest.approx(sum(root_loss(law, n) for n in counts))
    assert table_losses(law, counts).root is None


def test_what_cannot_be_said_is_refused() -> None:
    law = laplace("1", 5)
    for wrong in (
        lambda: losses(law, clip=True),
        lambda: losses(hellinger("1", 3, 20)),
        lambda: losses(law, -1),
        lambda: losses(law, MOST_CLIPPED + 1, clip=True),
        lambda: within(law, -1),
        lambda: within(law, 1, clip=True),
        lambda: table_losses(law, []),
        lambda: table_losses(law, [1, -1]),
    ):
        with pytest.raises(LawError):
            wrong()


def test_evidence_is_named_by_its_likelihood_ratio() -> None:
    """rinott §4.1: a ratio up to 10, ε up to ln 10 = 2.3, is limited evidence."""
    said = {
        e: evidence(e).words for e in ("0", "2.302", "2.303", "4.605", "4.606", "6.9", "9", "10")
    }
    assert list(said.values()) == [
        "limited evidence",
        "limited evidence",
        "moderate evidence",
        "moderate evidence",
        "moderately strong evidence",
        "moderately strong evidence",
        "strong evidence",
        "very strong evidence",
    ]
    assert evidence("0").ratio == 1
    with pytest.raises(LawError):
        evidence("-1")


def test_shares_unchanged_are_those_of_the_laws() -> None:
    """The discrete Laplace's share is the law's own probability of 0; a smaller δ leaves less alone."""
    found = unchanged("0.5")
    assert found.discrete_laplace == pytest.approx(float(laplace("0.5").probability(0)))
    assert unchanged("0.5", gaussian_delta="1e-6").rounded_gaussian < found.rounded_gaussian
    with pytest.raises(LawError):
        unchanged("0")
