"""ons §4 method 2 and §5: the top-down method, its bias, transition matrices, utility."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import discreet.demo
from discreet.demo.places import REGIONS
from discreet.methods.topdown.fit.pilot import CLIP, adjusted, largest_remainders
from discreet.quality.measures import on_diagonal, transition_matrix
from discreet.report.charts import on_white, to_svg
from discreet.report.utility_pictures import (
    before_and_after,
    errors_beside,
    transition_heat_map,
    transition_heat_maps,
    utility_curves,
)
from discreet.workspace import DataSet

from .bench import Bench, Figure, Grid, Picture, Section, all_equal, compare, differs, holds
from .studies.topdown import Study

EPSILONS = ("0.1", "0.5", "1", "2", "5", "10")
SHARED, ALONE = "independent noise, ε/14 for each table", "independent noise, ε for each table"
PILOT, MODERN = "mode pilot", "mode modern"
ACTUAL = (
    *(965, 28075, 71299, 51692, 45015, 54562, 56406),
    *(50541, 81052, 56667, 13, 170, 33198),
)
TABLE_8 = {
    "10": "2509 28425 70582 51260 44338 54143 55968 49548 79785 56103 1716 1827 33352",
    "2": "7711 29551 67087 49579 43530 52287 54104 47367 75941 54139 7266 7363 33632",
    "0.1": "32563 38200 46605 41818 40356 43373 43759 42160 50629 44709 32742 33704 38962",
}
"""As printed, in the order of the article; each region is known by its actual count."""
TABLE_10_IRELAND = "25"
TABLE_12 = (
    ("2", "0.1", "2.1", "1.68", "2"),
    ("0", "0.2", "0.2", "0.16", "0"),
    ("0", "-1.1", "0.001", "0.001", "0"),
    ("1", "1.4", "2.4", "1.92", "2"),
    ("0", "-0.9", "0.001", "0.001", "0"),
    ("1", "0.6", "1.6", "1.28", "1"),
    ("0", "-3.3", "0.001", "0.001", "0"),
    ("0", "-5.2", "0.001", "0.001", "0"),
    ("1", "4.3", "5.3", "4.24", "4"),
    ("1", "0.8", "1.8", "1.44", "1"),
)


class Found:
    """Every release the section speaks of, made once."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.after: dict[str, dict[str, Any]] = {
            PILOT: {e: study.pilot(e) for e in EPSILONS},
            MODERN: {e: study.modern(e) for e in EPSILONS},
            SHARED: {e: study.independent(Fraction(e) / 14) for e in EPSILONS},
            ALONE: {e: study.independent(Fraction(e)) for e in EPSILONS},
        }
        self.zeros_kept = study.pilot("2", "zeros kept")
        self.utility = {
            method: {e: study.utility(tables) for e, tables in by_epsilon.items()}
            for method, by_epsilon in self.after.items()
        }

    def mean(self, method: str, epsilon: str, name: str) -> float | None:
        """A measure, its mean over the 14 tables; None where it is not defined."""
        values = [getattr(one, name) for one in self.utility[method][epsilon]]
        return None if None in values else float(np.mean(values))

    def ratio(self, name: str, above: str, below: str, epsilon: str) -> float:
        """One method's measure over another's."""
        return (self.mean(above, epsilon, name) or 0.0) / (self.mean(below, epsilon, name) or 1.0)

    def regions(self, method: str, epsilon: str) -> Any:
        """The counts of regions."""
        return self.study.margin(self.after[method][epsilon], "region")

    def matrix(self, method: str, epsilon: str, table: str) -> Any:
        """How many cells of a table go from each band of counts to each."""
        at = self.study.names.index(table)
        return transition_matrix(self.study.before[at], self.after[method][epsilon][at])


def section(bench: Bench) -> Section:
    """Figure 2, Tables 6 to 12 and Figures 3 to 6, on the synthetic deaths of the demo."""
    recipe = Path(discreet.demo.__file__).parent / "recipes" / "hierarchy.yaml"
    with DataSet.open(bench.demo / "deaths-dp") as data:
        found = Found(Study(data, yaml.safe_load(recipe.read_text("utf-8"))))
    figures = (*_printed_noise(), *_regions(found), *_matrices(found), *_curves(found))
    grids = (_region_grid(found), _utility_grid(found), _table_grid(found))
    return Section(
        "ons",
        "§4 method 2 and §5: top-down",
        figures,
        grids=grids,
        pictures=tuple(_drawn(bench, found)),
    )


def _printed_noise() -> list[Figure]:
    """Figure 2 and Table 12, from the noise that is printed."""
    national = adjusted(np.array([891.0, 739.0, 879.0, 870.0]), 3398)
    printed = ("896.01", "743.16", "883.94", "874.89")
    post = [max(float(count) + float(noise), CLIP) for count, noise, *_ in TABLE_12]
    adjustment = 0.8 * np.array(post)
    final = largest_remainders(adjustment, 10)
    pairs: list[tuple[str, object]] = []
    for row, one, two, three in zip(TABLE_12, post, adjustment, final, strict=True):
        pairs += [(row[2], one), (row[4], float(three))]
        if one > CLIP:
            pairs.append((row[3], two))
    return [
        *(
            compare(f"Figure 2: national cell {i}", p, f)
            for i, (p, f) in enumerate(zip(printed, national.tolist(), strict=True), 1)
        ),
        all_equal("Table 12: post-noise, adjustment and final counts", pairs),
        differs(
            "Table 12: clipped cells after the adjustment",
            "0.001",
            "0.0008",
            "the adjustment multiplies them by 0.8 like the others",
        ),
        compare("Table 12: region count, final", "10", int(final.sum())),
    ]


def _printed(epsilon: str) -> dict[int, int]:
    """Table 8 by actual count."""
    return dict(zip(ACTUAL, map(int, TABLE_8[epsilon].split()), strict=True))


def _regions(found: Found) -> list[Figure]:
    """Tables 8 and 10: whose counts came out far too large."""
    names = [one.name for one in REGIONS]
    ireland = [one.deaths for one in REGIONS].index(13)
    unknown = [one.deaths for one in REGIONS].index(965)
    said = []
    for epsilon, bound in (("10", 1000), ("2", 5000), ("0.1", 25000)):
        printed = _printed(epsilon)
        after = found.regions(PILOT, epsilon)
        both = int(after[ireland]), int(after[unknown])
        said.append(
            holds(
                f"Table 8, ε = {epsilon}: {names[ireland]} (13), {names[unknown].lower()} (965)",
                f"{printed[13]:,} and {printed[965]:,}",
                min(both) > bound,
                f"{both[0]:,} and {both[1]:,}: both above {bound:,}",
            )
        )
    kept = int(found.study.margin(found.zeros_kept, "region")[ireland])
    with_zeros = int(found.regions(PILOT, "2")[ireland])
    said.append(
        holds(
            f"Table 10, ε = 2: {names[ireland]} (13) without perturbed zeros",
            TABLE_10_IRELAND,
            kept < with_zeros / 10,
            f"{kept:,}: less than a tenth of {with_zeros:,}",
        )
    )
    true = np.array([one.deaths for one in REGIONS])
    off = {e: np.abs(found.regions(MODERN, e) - true)[true < 1000] for e in ("2", "0.1")}
    said.append(
        holds(
            "beyond the article, mode modern: largest error of the three small regions, ε = 2, 0.1",
            "–",
            bool(off["2"].max() <= 30 and off["0.1"].max() <= 500),
            f"{off['2'].max()}, {off['0.1'].max()}",
        )
    )
    return said


def _matrices(found: Found) -> list[Figure]:
    """Tables 6 and 7: near the diagonal, and far above it."""
    poor, desired = found.matrix(PILOT, "0.1", "t11"), found.matrix(MODERN, "2", "t12")
    small, large = int(poor[:5].sum()), int(poor[:5, 7:].sum())
    near = sum(int(np.diagonal(desired, k).sum()) for k in (-1, 0, 1))
    cells = int(desired.sum())
    better = [
        on_diagonal(found.matrix(MODERN, e, name)) > on_diagonal(found.matrix(PILOT, e, name))
        for e in EPSILONS
        for name in found.study.names
    ]
    return [
        holds(
            "Table 7: counts of 0 to 4 observed above 25 (region × cause × age, pilot, ε = 0.1)",
            "all of the real ones",
            large > 0.95 * small,
            f"{100 * large / small:.1f} %",
        ),
        holds(
            "Table 6: cells within a band of the diagonal (region × cause × month, modern, ε = 2)",
            "most",
            near > 0.9 * cells,
            f"{100 * near / cells:.0f} %",
        ),
        holds(
            "beyond the article: tables and ε where more cells stay in their band, modern and pilot",
            "–",
            sum(better) >= 0.9 * len(better),
            f"modern in {sum(better)} of {len(better)}",
        ),
    ]


def _curves(found: Found) -> list[Figure]:
    """Figures 3 to 6 in words."""
    falling = all(
        (found.mean(PILOT, a, name) or 0) > (found.mean(PILOT, b, name) or 0)
        for a, b in pairwise(EPSILONS)
        for name in ("l1", "l2", "hellinger")
    )
    alone = [found.ratio(n, PILOT, ALONE, e) for e in EPSILONS for n in ("l1", "l2")]
    gain = [found.ratio("mean_error", PILOT, MODERN, e) for e in EPSILONS]
    distance = [found.ratio("l1", PILOT, MODERN, e) for e in EPSILONS]
    beside = [found.ratio("mean_error", SHARED, MODERN, e) for e in EPSILONS]
    said = f"ε = {', '.join(EPSILONS)}"
    return [
        holds("Figures 4 to 6: distances fall as ε grows", "yes", falling, "at every step"),
        holds(
            "§5: L1 and L2 of the pilot beside independent noise of ε for each table alone",
            "much greater",
            min(alone) > 2,
            f"{_times([min(alone)])} at least",
        ),
        differs(
            f"the same at ε/14 for each table, one ε for all: pilot's L1 ÷ theirs, {said}",
            "much greater",
            _times([found.ratio("l1", PILOT, SHARED, e) for e in EPSILONS]),
            "the article does not say at which ε a table; at one ε for all, the pilot's L1 is "
            "greater for large ε only",
        ),
        differs(
            f"the same: pilot's L2 ÷ theirs, {said}",
            "much greater",
            _times([found.ratio("l2", PILOT, SHARED, e) for e in EPSILONS]),
            "as before",
        ),
        holds(
            f"beyond the article: error a cell, pilot ÷ modern, {said}",
            "–",
            min(gain) > 10,
            _times(gain),
        ),
        holds(
            f"beyond the article: L1, pilot ÷ modern, {said}",
            "–",
            min(distance) > 2,
            _times(distance),
        ),
        holds(
            f"beyond the article: error a cell, independent noise of ε/14 ÷ modern, {said}",
            "–",
            min(beside) > 1,
            _times(beside),
        ),
    ]


def _times(values: list[float]) -> str:
    return ", ".join(f"{value:.2g}" if value < 100 else f"{value:.0f}" for value in values) + " ×"


# -- tables ---------------------------------------------------------------------------------------


def _region_grid(found: Found) -> Grid:
    """Table 8 beside what was found, and mode modern."""
    heads = [f"{words}, ε = {e}" for e in ("2", "0.1") for words in ("printed", "pilot", "modern")]
    rows = []
    for i, one in enumerate(REGIONS):
        cells = [one.name, f"{one.deaths:,}"]
        for e in ("2", "0.1"):
            cells.append(f"{_printed(e)[one.deaths]:,}")
            cells += [f"{int(found.regions(method, e)[i]):,}" for method in (PILOT, MODERN)]
        rows.append(tuple(cells))
    title = (
        "Table 8: deaths by region before and after; printed, and on the demo's synthetic deaths"
    )
    return Grid(title, ("region", "actual", *heads), tuple(rows))


def _utility_grid(found: Found) -> Grid:
    """All measures over ε, means over the 14 tables."""
    names = ("on_diagonal", "mean_error", "l1", "l2", "hellinger")
    rows = [
        (method, e, *(_shown(name, found.mean(method, e, name)) for name in names))
        for method in found.after
        for e in EPSILONS
    ]
    heads = ("method", "ε", "in their band", "error a cell", "L1", "L2", "Hellinger")
    return Grid("Figures 3 to 6 in numbers: means over the 14 tables", heads, tuple(rows))


def _table_grid(found: Found) -> Grid:
    """Every table at ε = 2."""
    names, rows = ("on_diagonal", "l1", "l2", "hellinger"), []
    for i, axes in enumerate(found.study.axes):
        cells = [" × ".join(axes), f"{found.study.before[i].size:,}"]
        for method in (PILOT, MODERN, SHARED):
            one = found.utility[method]["2"][i]
            cells.append(" · ".join(_shown(name, getattr(one, name)) for name in names))
        rows.append(tuple(cells))
    title = "All 14 tables at ε = 2: cells in their band · L1 · L2 · Hellinger"
    return Grid(title, ("table", "cells", PILOT, MODERN, SHARED), tuple(rows))


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name == "on_diagonal":
        return f"{100 * value:.0f} %"
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


# -- pictures -------------------------------------------------------------------------------------


def _drawn(bench: Bench, found: Found) -> list[Picture]:
    """Every picture, written."""
    study = found.study
    curves = {
        method: {float(e): tables for e, tables in by_epsilon.items()}
        for method, by_epsilon in found.utility.items()
    }
    ways = {PILOT: found.regions(PILOT, "2"), MODERN: found.regions(MODERN, "2")}
    places = [one.name for one in REGIONS]
    true = np.array([one.deaths for one in REGIONS])
    words = {
        name: f"{name}: {' × '.join(axes)}"
        for name, axes in zip(study.names, study.axes, strict=True)
    }
    made = [
        (
            "ons-figures-3-6.svg",
            utility_curves(
                curves,
                "Utility of the pilot's 14 tables",
                "Means over tables. Dashed: ε for each table alone, which is 14 ε for all of them. "
                "Hellinger's distance is not defined for negative numbers.",
                (ALONE,),
            ),
            "Figures 3 to 6 on the demo deaths: independent noise, the pilot, and mode modern",
        ),
        (
            "ons-table-6.svg",
            transition_heat_map(
                found.matrix(MODERN, "2", "t12"), "Region × cause × month, ε = 2, mode modern"
            ),
            "A transition matrix like Table 6: near its diagonal",
        ),
        (
            "ons-table-7.svg",
            transition_heat_map(
                found.matrix(PILOT, "0.1", "t11"), "Region × cause × age, ε = 0.1, mode pilot"
            ),
            "A transition matrix like Table 7: small counts became large",
        ),
        *(
            (
                f"ons-matrices-{method.split()[1]}.svg",
                transition_heat_maps(
                    {words[n]: found.matrix(method, "2", n) for n in study.names},
                    f"Transition matrices of all 14 tables, ε = 2, {method}",
                    "Counts before from top to bottom, after from left to right: 0, 1, 2, 3, 4, "
                    "5-10, 11-25, 26-50, 51-100, 101-1000, 1000+. Outlined: unchanged.",
                ),
                f"The transition matrices of all 14 tables, ε = 2, {method}",
            )
            for method in (PILOT, MODERN)
        ),
        (
            "ons-table-8.svg",
            before_and_after(places, true, ways, "Deaths by region, ε = 2"),
            "Counts of regions before and after (Table 8), on logarithmic axes",
        ),
        (
            "ons-errors.svg",
            errors_beside(
                _errors(found),
                "Error by level, and of the rarest categories, ε = 2",
                "absolute error, one release",
            ),
            "Mean error of the counts of each level, and the error of the rarest category of each "
            "variable, one release",
        ),
    ]
    for file, spec, _ in made:
        (bench.pictures / file).write_text(to_svg(on_white(spec)), encoding="utf-8")
    return [Picture(file, shows) for file, _, shows in made]


def _errors(found: Found) -> dict[str, dict[str, float]]:
    """By level the mean error of its counts; by variable that of its rarest category."""
    study, out = found.study, {}
    for level in ("region", "ccg"):
        true = study.margin(study.before, level)
        out[f"{level}: mean of {len(true)} counts"] = {
            m: float(np.abs(study.margin(found.after[m]["2"], level) - true).mean())
            for m in (PILOT, MODERN)
        }
    for name in ("region", "cause", "marital", "age"):
        true = study.margin(study.before, name)
        at = int(np.argmin(true))
        out[f"rarest {name} ({int(true[at]):,})"] = {
            m: float(abs(study.margin(found.after[m]["2"], name)[at] - true[at]))
            for m in (PILOT, MODERN)
        }
    return out
