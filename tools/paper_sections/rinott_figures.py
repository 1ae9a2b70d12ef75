"""rinott Figures 1 to 4: risk–utility plots of Table 1 and two simulated tables, and a test's law."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import discreet as dc
from discreet.core.law import Law
from discreet.inference.channel import channel
from discreet.inference.goodness import binomial
from discreet.quality.association import association, two_way
from discreet.quality.losses import losses
from discreet.quality.results import MEASURES
from discreet.report.charts import Spec, on_white, to_svg
from discreet.report.comparison_charts import Series, bars, box_plot, together

from .bench import Bench, Figure, Grid, Picture, Section, differs, holds

NORMAL_M = {"0.1": 8, "0.5": 10, "1": 12, "1.5": 12, "2": 13, "3": 14}
LAPLACE_M = 7
DRAWS = 100
PEOPLE = 10_000
LOSSES = ("l1", "l2", "l3")
_SEED = 6


@dataclass(frozen=True)
class Table:
    """A table of counts and its shape."""

    name: str
    counts: np.ndarray
    shape: tuple[int, int]

    @property
    def truth(self) -> tuple[float, float]:
        """Its own p-value and Cramér's V."""
        found = association(two_way(self.counts[None], self.shape))
        return float(found.p_value[0]), float(found.cramers_v[0])


def section(bench: Bench) -> Section:
    """Three tables, 100 perturbations for each ε and law, seed 6; Figure 4 by enumeration."""
    census = Table("Table 1", np.array(dc.uk_census().counts), (12, 11))
    small = _independent("small", (10, 10))
    large = _independent("large", (40, 25))
    drawn = {one.name: _perturbed(one) for one in (census, small, large)}
    figures = [
        *_figure_1(census, drawn["Table 1"]),
        *_simulated("Figure 2 (100 cells)", small, drawn["small"]),
        *_simulated("Figure 3 (1,000 cells)", large, drawn["large"]),
        *_tests(large, drawn["large"]),
    ]
    pictures = (
        _picture(bench, 1, census, drawn["Table 1"], ("cramers_v", *LOSSES)),
        _picture(bench, 2, small, drawn["small"], ("p_value", "cramers_v", *LOSSES)),
        _picture(bench, 3, large, drawn["large"], ("p_value", "cramers_v", *LOSSES)),
        _figure_4(bench),
    )
    grids = (
        _grid(census, drawn["Table 1"]),
        _grid(small, drawn["small"]),
        _grid(large, drawn["large"]),
    )
    title = "Figures 1 to 4: risk and utility"
    return Section("rinott", title, tuple(figures), (), grids, pictures)


Drawn = dict[tuple[str, str], dict[str, np.ndarray]]


def _independent(name: str, shape: tuple[int, int]) -> Table:
    """10,000 people in two independent attributes whose margins are Dirichlet, as §5.6.2 says."""
    random = np.random.default_rng(_SEED)
    while True:
        p = random.dirichlet(np.full(shape[0], 5.0))[:, None] * random.dirichlet(
            np.full(shape[1], 5.0)
        )
        table = Table(name, random.multinomial(PEOPLE, p.ravel()), shape)
        if table.truth[0] > 0.3:  # the paper's tables show p-values of about 0.5
            return table


def _laws() -> dict[tuple[str, str], Law]:
    found = {("Laplace", e): dc.laplace(e, LAPLACE_M) for e in NORMAL_M}
    return found | {("normal", e): dc.normal(e, m) for e, m in NORMAL_M.items()}


def _perturbed(table: Table) -> Drawn:
    """Every loss of 100 perturbed tables for each law and ε; the same on every run."""
    random = np.random.default_rng(_SEED)
    found = {}
    for name, law in _laws().items():
        start, masses = law.masses()
        values = np.arange(start, start + len(masses))
        noise = random.choice(values, (DRAWS, table.counts.size), p=masses / masses.sum())
        found[name] = losses(table.counts, table.counts + noise, table.shape)
    return found


def _ahead(drawn: Drawn, names: tuple[str, ...] = LOSSES) -> tuple[int, int]:
    """In how many cases the mean loss of Laplace is the smaller, and of how many."""
    cases = [
        drawn["Laplace", e][name].mean() < drawn["normal", e][name].mean()
        for e in NORMAL_M
        for name in names
    ]
    return sum(cases), len(cases)


def _figure_1(table: Table, drawn: Drawn) -> list[Figure]:
    won, of = _ahead(drawn)
    p_value = max(float(found["p_value"].max()) for found in drawn.values())
    widths = {
        name: float(np.subtract(*np.quantile(drawn[name, "0.5"]["cramers_v"], (0.75, 0.25))))
        for name in ("Laplace", "normal")
    }
    return [
        holds(
            "Figure 1: losses over 100 perturbations",
            "in all cases, the Laplace perturbations show higher utility",
            won == of,
            f"smaller mean loss in {won} of {of} cases",
        ),
        holds(
            "Figure 1: p-values",
            "close to zero throughout",
            p_value < 1e-6,
            f"at most {p_value:.1g}",
        ),
        differs(
            "Figure 1: interquartile range of V at ε = 0.5",
            "less than 0.005 under both",
            f"Laplace {widths['Laplace']:.4f}, normal {widths['normal']:.4f}",
            "over 20,000 draws Laplace 0.0030, normal 0.0050",
        ),
    ]


def _simulated(name: str, table: Table, drawn: Drawn) -> list[Figure]:
    won, of = _ahead(drawn)
    falling = all(
        drawn[law, a][loss].mean() > drawn[law, b][loss].mean()
        for law in ("Laplace", "normal")
        for a, b in pairwise(NORMAL_M)
        for loss in LOSSES
    )
    return [
        holds(
            f"{name}: losses",
            "Laplace perturbations out-perform the Normal",
            won == of,
            f"smaller mean loss in {won} of {of} cases",
        ),
        holds(
            f"{name}: utility", "improves as ε increases", falling, "every mean loss falls with ε"
        ),
    ]


def _wrong(found: dict[str, np.ndarray]) -> int:
    """In how many of 100 perturbed tables the ordinary test rejects an independence that holds."""
    return int((found["p_value"] <= 0.05).sum())


def _tests(table: Table, drawn: Drawn) -> list[Figure]:
    normal = [_wrong(drawn["normal", e]) for e in NORMAL_M]
    at_3 = _wrong(drawn["Laplace", "3"])
    return [
        holds(
            "Figure 3: the ordinary test under normal perturbations",
            "wrong conclusion at every ε",
            min(normal) > 50,
            f"rejects in {min(normal)} to {max(normal)} of 100 tables",
        ),
        holds(
            "Figure 3: the ordinary test under Laplace perturbations, ε = 3",
            "correct inference",
            at_3 < 50,
            f"rejects in {at_3} of 100 tables",
        ),
    ]


def _grid(table: Table, drawn: Drawn) -> Grid:
    p_value, v = table.truth
    rows = tuple(
        (
            e,
            law,
            f"{np.median(drawn[law, e]['p_value']):.3f}",
            f"{np.median(drawn[law, e]['cramers_v']):.4f}",
            *(f"{drawn[law, e][name].mean():.1f}" for name in LOSSES),
        )
        for e in NORMAL_M
        for law in ("Laplace", "normal")
    )
    title = f"{table.name.capitalize()}: medians and means of {DRAWS} draws; true p-value {p_value:.3f}, V {v:.4f}"
    return Grid(title, ("ε", "law", "p-value", "V", "ℓ1", "ℓ2", "ℓ3"), rows)


def _picture(
    bench: Bench, number: int, table: Table, drawn: Drawn, names: tuple[str, ...]
) -> Picture:
    truths = dict(zip(("p_value", "cramers_v"), table.truth, strict=True))
    plots: list[Spec] = []
    for name in names:
        series = [Series(f"{law} {e}", law, drawn[law, e][name]) for law, e in drawn]
        plots.append(box_plot(series, MEASURES[name], truths.get(name)))
    cells = table.counts.size
    title = f"rinott Figure {number}: {cells:,} cells, {DRAWS} perturbations for each ε"
    file = f"rinott-figure-{number}.svg"
    (bench.pictures / file).write_text(to_svg(on_white(together(plots, title))), encoding="utf-8")
    return Picture(
        file, f"Figure {number}: box plots by ε, Laplace and normal; dashed: the true table"
    )


def _figure_4(bench: Bench) -> Picture:
    """The law of 2 log(likelihood ratio) itself, where the paper has histograms of 500 values."""
    ends = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, float("inf")]
    panels = {}
    for share in (0.5, 0.7):
        found = binomial(channel(dc.laplace("0.5", 5)), 80, share)
        above = [1.0, *(found.power(0.5, end - 2e-9) for end in ends[1:-1]), 0.0]
        names = [f"{a:g}–{b:g}" if b < 1e9 else f"{a:g}+" for a, b in pairwise(ends)]
        shares = [one - two for one, two in pairwise(above)]
        panels[f"H0: p = {share}"] = dict(zip(names, shares, strict=True))
    title = "rinott Figure 4: 2 log(likelihood ratio), N = 80, p = 0.5, ε = 0.5, m = 5"
    spec = bars(panels, title, "2 log(likelihood ratio)")
    (bench.pictures / "rinott-figure-4.svg").write_text(to_svg(on_white(spec)), encoding="utf-8")
    return Picture("rinott-figure-4.svg", "Figure 4 by enumeration: the exact law of the statistic")
