"""A channel is the law of a cell: its weights and rows are those of the exact law, whatever follows."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core import cell_law as letters
from discreet.core.noise_law import AnyLaw
from discreet.errors import CannotConclude
from discreet.inference.channel import HIDDEN, LOW, Treatment, channel
from discreet.inference.information import information, information_at
from discreet.inference.likelihood import Cells, Symbols
from discreet.inference.statistics import Model, batches

from .tables import LAWS, TREATMENTS, cell_law


@pytest.mark.parametrize("treatment", TREATMENTS.values(), ids=TREATMENTS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_channel_is_the_exact_law(law: AnyLaw, treatment: Treatment) -> None:
    """P(symbol | count) by weights and by rows equals the exact probability that the law carries."""
    made, exact = channel(law, 1, treatment), cell_law(law, treatment)
    for count in (0, 1, 4, 9):
        symbols, masses = made.row(count)
        assert abs(masses.sum() - 1) < 1e-12
        for symbol, mass in zip(symbols.tolist()[::3], masses.tolist()[::3], strict=True):
            written = {HIDDEN: letters.HIDDEN, LOW: letters.LOW}.get(symbol, symbol)
            assert float(exact.probability(written, count, {})) == pytest.approx(mass, abs=1e-13)
            if mass > 1e-15:
                first, weights = made.weights(symbol)
                assert weights[count - first] == pytest.approx(mass, abs=1e-13)


def test_sums_of_draws_are_those_of_the_law() -> None:
    """Three draws together have the law of their sum."""
    law = LAWS["pure laplace 0.5"]
    made = channel(law, 3)
    for noise in (-20, -3, 0, 7):
        exact = float(law.for_count(0).probability(noise, 3))
        got = made.mass(np.array([5]), np.array([noise]))[0]
        assert got == pytest.approx(exact, rel=1e-9)


def test_what_a_law_cannot_give_is_refused() -> None:
    """A number below −m, a number inside a cut, a hidden cell where none is hidden."""
    short = channel(LAWS["laplace 0.1, 10"])
    with pytest.raises(CannotConclude, match=r"shows -11, which its law cannot give"):
        short.weights(-11)
    with pytest.raises(CannotConclude, match="hidden cell"):
        short.weights(HIDDEN)
    with pytest.raises(CannotConclude, match="shows 3"):
        channel(LAWS["pure laplace 0.5"], 1, Treatment(least=5)).weights(3)
    with pytest.raises(CannotConclude, match="shows -90"):
        channel(LAWS["pure laplace 0.5"]).weights(-90)


def poisson(mean: float, counts: np.ndarray) -> np.ndarray:
    from scipy.stats import poisson as law

    return np.asarray(law.pmf(counts, mean))


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_the_definition(name: str) -> None:
    """log f, E and Var of true counts, by plain summation, near and far from the mean."""
    made = channel(LAWS[name])
    numbers = [0, 3, 7, 40]
    symbols = Symbols([made], [(0, x) for x in numbers])
    for mean in (0.01, 2.0, 30.0, 200.0):
        logs, expected, variance = symbols.moments(np.arange(4), np.full(4, mean))
        for place, x in enumerate(numbers):
            first, weights = made.weights(x)
            counts = first + np.arange(len(weights))
            joint = weights * poisson(mean, counts)
            if joint.sum() < 1e-15:  # windows end where the law is below 10^-18
                continue
            share = joint / joint.sum()
            assert logs[place] == pytest.approx(np.log(joint.sum()), abs=1e-8)
            assert expected[place] == pytest.approx(share @ counts, rel=1e-6)
            assert variance[place] == pytest.approx(
                share @ (counts - share @ counts) ** 2, abs=1e-5 * max(mean, 1)
            )


def test_the_closed_form_of_the_untruncated_law_agrees_with_sums() -> None:
    """ε = 0.1, whose window is wide: two incomplete gammas against the window."""
    made = channel(letters_free("0.1"))
    symbols = Symbols([made], [(0, x) for x in (-30, -1, 0, 3, 60, 150)])
    sums = Symbols(symbols.channels, symbols.pairs, summed=True)
    which, means = np.repeat(np.arange(6), 4), np.tile([0.2, 4.0, 50.0, 130.0], 6)
    for one, other in zip(symbols.moments(which, means), sums.moments(which, means), strict=True):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "treatment",
    [Treatment(least=0), Treatment(least=5), Treatment(least=0, hidden_below=3, display_floor=9)],
)
def test_the_closed_form_holds_beside_cut_cells(treatment: Treatment) -> None:
    """What is shown as it is has it; 0, hidden and low cells are summed, and only they keep windows."""
    made = channel(letters_free("0.1"), 1, treatment)
    pairs = [(0, x) for x in (HIDDEN, LOW, 0, 9, 60, 150) if treatment.behind(x)]
    symbols, sums = Symbols([made], pairs), Symbols([made], pairs, summed=True)
    which, means = np.repeat(np.arange(len(pairs)), 3), np.tile([2.0, 40.0, 120.0], len(pairs))
    for one, other in zip(symbols.moments(which, means), sums.moments(which, means), strict=True):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-6)
    cut = sum(treatment.behind(x) != [(x, x)] for _, x in pairs)
    assert len(symbols._held) == cut
    assert not hasattr(symbols, "weights")


def test_drawn_tables_are_fitted_in_parts_where_windows_are_wide() -> None:
    """At ε = 0.01 not all 999 tables at once: their windows took 3 GB."""
    made = channel(letters_free("0.01"))
    tables = np.arange(999 * 9).reshape(999, 9)
    model = Model(np.ones((9, 5)))
    assert 999 * 9 * (made.ends[1] - made.ends[0]) / batches([made], tables, model) < 6_000_000
    assert batches([channel(LAWS["laplace 0.1, 10"])], tables, model) == 1


def letters_free(epsilon: str) -> AnyLaw:
    from discreet.core.pure_laplace import PureLaplace

    return PureLaplace.of(epsilon)


def test_information_is_the_mean_square_of_the_slope() -> None:
    """By summation over symbols; the cell without noise has μ, clipping the pure law costs nothing."""
    free = channel(None)
    assert information_at(free, 7.0) == pytest.approx(7.0)
    pure = channel(LAWS["pure laplace 0.5"])
    clipped = channel(LAWS["pure laplace 0.5"], 1, Treatment(least=0))
    assert information_at(pure, 2.0) == pytest.approx(information_at(clipped, 2.0), rel=1e-9)
    means = np.array([0.3, 2.0, 17.0, 90.0])
    spline = information([pure], np.zeros(4, dtype=np.int64), means[None])[0]
    assert np.allclose(spline, [information_at(pure, m) for m in means], rtol=1e-4)


def test_the_saturated_mean_is_the_best_of_a_fine_grid() -> None:
    """For p-tables too, whose likelihood may have several maxima; 0 counts as a mean."""
    for name in ("p-table 8, 4, blocked 2", "laplace 0.1, 10"):
        made = channel(LAWS[name])
        shown = np.array([0, 3, 5, 9, 30])
        cells = Cells([made], np.zeros(5, dtype=np.int64), shown)
        best = cells.symbols.saturated[1]
        grid = np.concatenate([[1e-14], np.linspace(0.001, 60, 20_000)])
        for place in range(5):
            logs = cells.symbols.moments(np.full(len(grid), place), grid)[0]
            assert best[place] >= logs.max() - 1e-9
