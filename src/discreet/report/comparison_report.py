"""The report of a comparison: box plots, a map with its frontier, heat maps, a table each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..quality.results import MEASURES, Comparison, Result
from ..quality.verdicts import sentences
from . import charts
from .comparison_charts import Series, box_plot, risk_map
from .rehearsal_report import rehearsal_page, write_own
from .release_report import Grid, Line, Picture, Section, Tag
from .utility_pictures import transition_heat_map

DRAWN = ("p_value", "cramers_v", "l1", "l2", "l3", "on_diagonal")
"""The measures that get a box plot: those of rinott Figures 1 to 3, and the bands of ons."""
MOST_HEAT_MAPS = 4


def pictures(comparison: Comparison) -> dict[str, charts.Spec]:
    """Every picture as a Vega-Lite spec, by name."""
    found: dict[str, charts.Spec] = {}
    for table, results in _by_table(comparison):
        truth = comparison.truth[table]
        found[f"{table}: risk and error"] = risk_map(results)
        for measure in DRAWN:
            if all(measure in one.measures for one in results):
                series = [
                    Series(one.contestant.name, one.contestant.group, one.measures[measure])
                    for one in results
                ]
                found[f"{table}: {measure}"] = box_plot(
                    series, MEASURES[measure], truth.get(measure)
                )
        for one in _middle(results)[:MOST_HEAT_MAPS]:
            cells = np.rint(one.transition * one.draws).astype(np.int64)
            title, beside = (
                f"{one.contestant.name}: from band to band",
                f"cells of {one.draws} draws",
            )
            found[f"{table}: {one.contestant.name}"] = transition_heat_map(cells, title, beside)
    return found


def page(comparison: Comparison) -> str:
    """The whole report."""
    drawn = pictures(comparison)
    said = sentences(comparison)
    tables = [table for table, _ in _by_table(comparison)]
    lines = []
    for table in tables:
        about = [w.removeprefix(f"{table}: ") for w in said if w.startswith(f"{table}: ")]
        about = [w[:1].upper() + w[1:] for w in about]
        lines.append(_line(table, *(about or ("Nothing that could not be chance.",))))
    rest = [w for w in said if not any(w.startswith(f"{table}: ") for table in tables)]
    lines += [_line("Left out", *rest)] if rest else []
    sections = [Section(1, "What the numbers say", tuple(lines))]
    for number, (table, results) in enumerate(_by_table(comparison), 2):
        shown = tuple(
            Picture(charts.to_svg(spec), str(spec["description"]))
            for name, spec in drawn.items()
            if name.startswith(f"{table}: ")
        )
        lines = [
            _line("Cells", f"{results[0].cells:,}"),
            _line("Draws", ", ".join(sorted({f"{one.draws:,}" for one in results}))),
            _line(
                "How to read it",
                "A box holds the middle half of the draws, its line the median; the dashed line is "
                "the true table. Risk is how often the best guesser is right about one unit at even "
                "odds: for dp about everything asked at once, for cell keys about one cell asked once.",
            ),
        ]
        grids = (_overview(results), _promises(results), _details(results), _small(results))
        sections.append(Section(number, table, tuple(lines), grids, shown))
    data = str(comparison.findings["data"])
    return rehearsal_page(f"Methods compared on {data}", "Comparison of methods", (), sections)


def write(comparison: Comparison, path: Path) -> Path:
    """Write the report for its owner alone."""
    return write_own(page(comparison), path)


def _line(about: str, *says: str) -> Line:
    return Line(about, says, Tag.COMPUTED)


def _by_table(comparison: Comparison) -> Iterator[tuple[str, list[Result]]]:
    results = comparison.results
    for table in dict.fromkeys(one.table for one in results):
        yield table, [one for one in results if one.table == table]


def _middle(results: Sequence[Result]) -> list[Result]:
    """The middle setting of each method."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(one.contestant.group, []).append(one)
    return [group[len(group) // 2] for group in groups.values()]


def _overview(results: Sequence[Result]) -> Grid:
    rows = tuple(
        (
            one.contestant.name,
            one.kind,
            f"{100 * one.risk:.1f} %",
            f"{one.mean_error:.3g}",
            f"{one.measures['on_diagonal'].mean():.1%}",
            f"{one.measures['changed'].mean():.1%}",
            f"{one.measures['turned'].mean():.2%}",
            f"{one.hidden:.1%}" if one.hidden else "–",
            f"{one.seconds:.2g} s",
        )
        for one in results
    )
    header = (
        *("Setting", "Guarantee", "Best guess right", "Mean error", "Stay in band", "Changed"),
        *("Wrong order", "Hidden", "Took"),
    )
    return Grid("Risk and utility", header, rows)


def _promises(results: Sequence[Result]) -> Grid:
    rows = tuple(
        (
            one.contestant.name,
            one.promise,
            one.evidence or "no ratio is claimed",
            " ".join(one.odds[:2]) or "–",
        )
        for one in results
    )
    return Grid("What each promises", ("Setting", "Promise", "Evidence", "In odds"), rows)


def _quantiles(one: Result, name: str) -> str:
    found = one.distances.get(name)
    return "–" if found is None else ", ".join(f"{found[q]:.3g}" for q in ("0.5", "0.95", "1"))


def _details(results: Sequence[Result]) -> Grid:
    names = ("l1", "l2", "l3", "hellinger", "bias", "cramers_v", "p_value", "covariance", "slope")
    shown = [name for name in names if all(name in one.measures for one in results)]
    rows = tuple(
        (one.contestant.name, *(f"{one.measures[name].mean():.4g}" for name in shown))
        for one in results
    )
    return Grid("Means over the draws", ("Setting", *shown), rows)


def _small(results: Sequence[Result]) -> Grid:
    rows = tuple(
        (
            one.contestant.name,
            f"{one.measures['false_zeros'].mean():.3g}",
            f"{one.measures['false_positives'].mean():.3g}",
            "–" if one.small is None else f"{one.small:.0%}",
            "; ".join(f"{b.group}: {b.mean:+.2g}" for b in one.biases if abs(b.mean) > 4 * b.error)
            or "none that is significant",
            "; ".join(f"{b.group}: {b.mean:+.2g}" for b in one.by_category) or "none",
            *(_quantiles(one, name) for name in ("d1", "d2", "d3")),
        )
        for one in results
    )
    header = (
        *("Setting", "False zeros", "False positives", "Of 1s and 2s, true ones"),
        *("Bias by size of the true count", "By category, a quarter or more"),
        *("d1: half, 95 %, all below", "d2", "d3"),
    )
    return Grid("Small counts", header, rows)
