"""Intervals: exact coverage by enumeration, named, from any file the same; functions of cells by draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import formats
from discreet.core.cell_law import CellLaw, MarginLaw, Source
from discreet.core.law_builders import laplace
from discreet.core.noise_law import AnyLaw
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import CannotConclude, InputError
from discreet.formats.table_files import read_tables
from discreet.inference.cell_sets import cell_range, coverage
from discreet.inference.channel import Treatment, channel
from discreet.inference.functions import divisor, draw_counts, quantiles
from discreet.inference.intervals import interval, total
from discreet.inference.posterior import posterior_of
from discreet.inference.questions import Conclusions
from discreet.inference.rates import rate_range, symbol_law

from .tables import LAWS, TREATMENTS, cell_law, ptable, table


@pytest.mark.parametrize("treatment", TREATMENTS.values(), ids=TREATMENTS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_cell_sets_cover_every_true_count(law: AnyLaw, treatment: Treatment) -> None:
    """At least 95 %, by enumeration, whatever the count; 80 % too, symmetric and shortest."""
    made = channel(law, 1, treatment)
    counts = (0, 1, 3, 6, 14)
    assert coverage(made, counts, 0.95).min() >= 0.95 - 1e-12
    assert coverage(made, counts[::2], 0.8, shortest=True).min() >= 0.8 - 1e-12


def test_a_set_that_is_too_short_is_caught() -> None:
    """The check above rejects an interval that is one value shorter than its law allows."""
    made = channel(LAWS["pure laplace 0.5"])
    inside = sum(
        mass
        for symbol, mass in zip(*(part.tolist() for part in made.row(40)), strict=True)
        if abs(symbol - 40) <= 5
    )
    assert inside < 0.95
    assert cell_range(made, 40, 0.95).size == 13
    assert cell_range(made, 40, 0.95, shortest=True).size == 12


def test_a_zero_of_a_cut_table_says_what_its_window_says() -> None:
    """ε = 0.35, negatives shown as 0: a zero may be up to 9, not 12."""
    made = channel(PureLaplace.of("0.35"), 1, Treatment(least=0))
    assert cell_range(made, 0, 0.95).upper == 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pure laplace 0.5", "p-table 8, 4, blocked 2", "gaussian 25"])
def test_the_rate_interval_covers(name: str) -> None:
    """Both tails inverted: at least 95 % of releases of a mean hold it, by summation."""
    made = channel(LAWS[name])
    for mean in (0.7, 6.0, 25.0):
        symbols, masses = symbol_law(made, mean)
        held = 0.0
        for symbol, mass in zip(symbols.tolist(), masses.tolist(), strict=True):
            if mass > 1e-5:
                low, high = rate_range(made, symbol, 0.95)
                held += mass * (low <= mean <= high)
        assert held >= 0.95 - 1e-3


SUMS = CellLaw(
    (Source("cells", laplace("0.5", 7)),),
    (
        MarginLaw(("region", "cause"), 0),
        MarginLaw(("region",), 0, 3),
        MarginLaw(("cause",), 0, 2),
        MarginLaw((), 0, 6),
    ),
)
"""Totals are sums of the cells' own draws."""
SHOWN = np.array([[30, 14, 9, 53], [22, 25, 11, 58], [52, 39, 20, 111]])


def test_shared_draws_cancel() -> None:
    """A total minus two of its three cells is the third: one draw is left, not five."""
    made = table(SHOWN, SUMS, totals=True)
    row = {"region": "R0"}
    cells = [row, {**row, "cause": "C0"}, {**row, "cause": "C1"}]
    left = total(made, cells, factors=[1, -1, -1])
    alone = interval(made, {**row, "cause": "C2"})
    assert left.value == 9
    assert left.noise_sd == pytest.approx(alone.noise_sd)
    assert (left.upper - left.lower) == 2 * laplace("0.5", 7).half_width("0.95")
    both = total(made, [{**row, "cause": "C0"}, {**row, "cause": "C1"}])
    assert (both.upper - both.lower) == 2 * laplace("0.5", 7).half_width("0.95", 2)


def test_intervals_of_sums_cover_by_enumeration() -> None:
    """Every pair of draws of a small law, a sum and a difference: at least 95 % of them are held."""
    law = laplace("0.7", 4)
    chances = {z: float(law.probability(z)) for z in range(-4, 5)}
    one, other = {"region": "R0"}, {"region": "R1"}
    for factors, true in (((1, 1), 70), ((1, -1), 10)):
        held = 0.0
        for x, p in chances.items():
            for y, q in chances.items():
                made = table(np.array([40 + x, 30 + y]), cell_law(law))
                found = total(made, [one, other], factors=factors)
                held += p * q * (found.lower <= true <= found.upper)
        assert held >= 0.95


def test_totals_with_noise_of_their_own_are_independent() -> None:
    """Another source: nothing cancels."""
    own = CellLaw(
        (Source("cells", laplace("0.5", 7)), Source("total", laplace("1", 7))),
        (*SUMS.cells[:3], MarginLaw((), 1)),
    )
    made = table(SHOWN, own, totals=True)
    rest = total(made, [{}, {"region": "R0"}], factors=[1, -1])
    expected = float(laplace("1", 7).variance + 3 * laplace("0.5", 7).variance) ** 0.5
    assert rest.noise_sd == pytest.approx(expected)


def test_a_total_may_be_the_sum_of_a_measured_margin() -> None:
    """Regions were measured too, and the grand total is their sum: it shares their draws."""
    law, own = laplace("0.5", 7), laplace("1", 7)
    margins = (
        MarginLaw(("region", "cause"), 0),
        MarginLaw(("region",), 1),
        MarginLaw(("cause",), 0, 2),
        MarginLaw((), 1, 2),
    )
    two = CellLaw((Source("cells", law), Source("regions", own)), margins)
    made = table(SHOWN, two, totals=True)
    one = {"region": "R0"}
    rest = total(made, [{}, one], factors=[1, -1])
    assert rest.noise_sd == pytest.approx(float(own.variance) ** 0.5)
    both = total(made, [{}, one])
    assert both.noise_sd == pytest.approx(float(5 * own.variance) ** 0.5)
    apart = total(made, [{}, {"cause": "C0"}], factors=[1, -1])
    assert apart.noise_sd == pytest.approx(float(2 * own.variance + 2 * law.variance) ** 0.5)
    crossed = replace(two, cells=(margins[0], margins[1], MarginLaw(("cause",), 1), margins[3]))
    with pytest.raises(CannotConclude, match="draws of a table that is not shown"):
        total(table(SHOWN, crossed, totals=True), [one, {"cause": "C0"}])


def test_the_two_kinds_are_never_printed_without_their_name() -> None:
    """Every interval says whether it is about what was counted or about the rate behind it."""
    made = Conclusions(table(SHOWN, SUMS, totals=True))
    a, b = {"region": "R0", "cause": "C0"}, {"region": "R1", "cause": "C0"}
    c, d = {"region": "R0", "cause": "C1"}, {"region": "R1", "cause": "C1"}
    answers = [
        made.cell_interval(a), made.cell_interval(a, "sampling"), made.rate(a, "1000"), made.ratio(a, b),
        made.share(a, {"region": "R0"}), made.share(a, kind="sampling"), made.odds_ratio(a, b, c, d),
    ]  # fmt: skip
    for answer in answers:
        assert answer.kind in ("noise", "sampling")
        assert f"{answer.kind} interval" in answer.sentence
        assert answer.lower <= answer.upper
    assert made.rate(a, "1000").upper == pytest.approx(
        made.cell_interval(a, "sampling").upper / 1000
    )


def test_the_posterior_is_bayes_rule() -> None:
    """By definition, with a flat and with a Poisson prior."""
    from scipy.stats import poisson

    made = channel(LAWS["p-table 5, 2"])
    first, shares = posterior_of(made, 4)
    weights = np.array([made.mass(np.array([n]), np.array([4 - n]))[0] for n in range(20)])
    assert np.allclose(shares, weights[first : first + len(shares)] / weights.sum())
    first, shares = posterior_of(made, 4, 2.5)
    joint = weights * poisson.pmf(np.arange(20), 2.5)
    assert np.allclose(shares, joint[first : first + len(shares)] / joint.sum())
    picture = Conclusions(table(SHOWN, SUMS, totals=True)).posterior({"region": "R0"}).picture
    assert picture.split()[0].isdigit()


@pytest.mark.slow
def test_files_give_the_same_intervals(tmp_path: Path) -> None:
    """Draws too: the seed comes from what was released."""
    made = table(SHOWN, SUMS, totals=True)
    a, b = {"region": "R0", "cause": "C0"}, {"region": "R1", "cause": "C0"}

    def answers(of: object) -> list[object]:
        said = Conclusions(of)  # type: ignore[arg-type]
        every = said.cell_interval(a), said.ratio(a, b), said.share(a), said.difference(a, b)
        return [one.to_json() for one in (*every, said.ranking("region"), said.posterior(a))]

    for ending in (".json", ".csv", ".parquet", ".xlsx"):
        formats.write(made, tmp_path / f"t{ending}")
        (again,) = read_tables(tmp_path / f"t{ending}")
        assert answers(again) == answers(made)


def test_intervals_at_any_level_for_every_cell() -> None:
    """As a data frame: 90 % intervals lie inside those of 99 %."""
    from discreet.inference.intervals import with_level

    made = table(SHOWN, cell_law(PureLaplace.of("0.5")), totals=True)
    narrow, wide = with_level(made, "0.9").noise, with_level(made, "0.99").noise
    assert narrow is not None
    assert wide is not None
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper > narrow.upper).all()


def test_what_cannot_be_said_is_refused() -> None:
    """Sums of cut cells, of cells of a p-table with small counts, a cell and its own total by keys."""
    cut = table(SHOWN, cell_law(PureLaplace.of("0.5"), Treatment(least=0)), totals=True)
    a, b = {"region": "R0", "cause": "C0"}, {"region": "R1", "cause": "C0"}
    with pytest.raises(CannotConclude, match="shown as 0"):
        total(cut, [a, b])
    keyed = table(SHOWN, cell_law(ptable(8, "4", 2), shared="keys"), totals=True)
    with pytest.raises(CannotConclude, match="small true count"):
        total(keyed, [{"region": "R0", "cause": "C2"}, b])
    with pytest.raises(CannotConclude, match="share"):
        Conclusions(keyed).share(a, {"region": "R0"})
    with pytest.raises(InputError, match="no category 'R9'"):
        interval(cut, {"region": "R9"})
    with pytest.raises(InputError, match="kind must be"):
        interval(cut, a, "both")
    with pytest.raises(InputError, match="level"):
        interval(cut, a, level="1.5")


def test_ratios_are_of_the_counts_themselves() -> None:
    """With hardly any noise a noise interval is next to the ratio of what was counted, and holds it."""
    made = Conclusions(table(np.array([[15, 24], [7, 0]]), cell_law(PureLaplace.of("8"))))
    a, b, c, d = ({"region": f"R{i}", "cause": f"C{j}"} for i in (0, 1) for j in (0, 1))
    for found, value in (
        (made.ratio(a, b, "noise"), 15 / 24),
        (made.ratio(d, b, "noise"), 0.0),
        (made.odds_ratio(d, b, c, a, "noise"), 0.0),
    ):
        assert found.lower <= value <= found.upper
        assert found.upper - found.lower < 0.01
    assert made.ratio(b, d, "noise").upper == 48


def test_high_levels_have_draws_beyond_their_ends() -> None:
    """More draws at higher levels, so that intervals grow; beyond what can be drawn it is said."""
    made = Conclusions(table(np.array([60, 41]), cell_law(PureLaplace.of("0.2"))))
    a, b = {"region": "R0"}, {"region": "R1"}
    ends = [made.ratio(a, b, level=level) for level in ("0.95", "0.999", "0.9999", "0.99999")]
    assert [one.lower for one in ends] == sorted((one.lower for one in ends), reverse=True)
    assert [one.upper for one in ends] == sorted(one.upper for one in ends)
    assert ends[3].upper > 1.2 * ends[1].upper
    assert "200,000 draws" in ends[2].says()
    with pytest.raises(InputError, match=r"levels up to 0\.99999"):
        made.ratio(a, b, level="0.999999")


MEANS = np.array([1.0, 1.6, 0.8, 2.0])


def drawn_coverage(law: AnyLaw, treatment: Treatment, mean: float, times: int) -> dict[str, float]:
    """How often ratio, share and odds ratio hold, about counts and about rates."""
    made = channel(law, 1, treatment)
    random = np.random.default_rng(17)
    means = mean * MEANS
    functions = {
        "ratio": lambda x: x[0] / divisor(x[1]),
        "share": lambda x: x[0] / (x[0] + x[1]),
        "odds ratio": lambda x: x[0] * x[3] / (divisor(x[1]) * divisor(x[2])),
    }
    held = {f"{kind} {name}": 0 for name in functions for kind in ("noise", "sampling")}
    for number in range(times):
        true = random.poisson(means)
        shown = made.release(true, random).tolist()
        counts = draw_counts([(symbol, made) for symbol in shown], number, 1000)
        rates = random.gamma(counts + 0.5)
        for name, function in functions.items():
            for kind, draws, truth in (
                ("noise", counts, true),
                ("sampling", rates, means),
            ):
                low, _, high = quantiles(np.sort(function(draws)), 0.95)
                value = function(truth.astype(np.float64))
                held[f"{kind} {name}"] += low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
    return {name: 100 * many / times for name, many in held.items()}


CHANNELS = {
    "pure laplace 0.5": (PureLaplace.of("0.5"), Treatment()),
    "pure laplace 1": (PureLaplace.of("1"), Treatment()),
    "normal 0.5, 10": (LAWS["normal 0.5, 10"], Treatment()),
    "p-table 5, 2": (LAWS["p-table 5, 2"], Treatment()),
    "p-table 8, 4": (LAWS["p-table 8, 4, blocked 2"], Treatment()),
    "clipped": (PureLaplace.of("1"), Treatment(least=0)),
    "hidden": (LAWS["p-table 8, 4, blocked 2"], Treatment(hidden_below=3)),
}


def test_functions_of_cells_hold_as_often_as_said() -> None:
    """300 tables of mean 15: between 91 and 99 % (3 standard errors around 92.5 … 97.5)."""
    for share in drawn_coverage(*CHANNELS["pure laplace 0.5"], 15, 300).values():
        assert 88.7 <= share <= 99.5


@pytest.mark.proof
@pytest.mark.parametrize("mean", [15, 60])
@pytest.mark.parametrize("name", CHANNELS)
def test_coverage_of_functions(name: str, mean: float) -> None:
    """2,000 tables: ratio, share and odds ratio hold in 92.5 to 97.5 % at means of 15 and more."""
    for said, share in drawn_coverage(*CHANNELS[name], mean, 2000).items():
        assert 92.5 <= share <= 97.5, said


@pytest.mark.proof
@pytest.mark.parametrize("mean", [15, 60])
@pytest.mark.parametrize("name", CHANNELS)
def test_coverage_of_rates(name: str, mean: float) -> None:
    """By summation over all releases: the interval of a rate holds in 95 to 97.5 % from mean 15 on."""
    law, treatment = CHANNELS[name]
    made = channel(law, 1, treatment)
    held = 0.0
    for symbol, mass in zip(*(part.tolist() for part in symbol_law(made, mean)), strict=True):
        if mass > 1e-6:
            low, high = rate_range(made, symbol, 0.95)
            held += mass * (low <= mean <= high)
    assert 0.9499 <= held <= 0.975
