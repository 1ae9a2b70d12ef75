"""The report of a comparison: box plots, a map with its frontier, heat maps, a table each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..core.noise_law import Floats
from ..languages import Sentence, number, say, says, together
from ..quality.losses import Bias
from ..quality.results import MEASURES, Comparison, Result
from ..quality.verdicts import by_table, left_out
from . import charts
from .comparison_charts import Series, box_plot, risk_map
from .rehearsal_report import rehearsal_page, write_own
from .sections import Grid, Line, Picture, Section, Tag
from .utility_pictures import before_and_after, errors_beside, transition_heat_map

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
            title = say("{name}: from band to band", name=one.contestant.name)
            beside = say("cells of {draws} draws", draws=one.draws)
            found[f"{table}: {one.contestant.name}"] = transition_heat_map(cells, title, beside)
        found |= {f"{table}: {name}": spec for name, spec in _by_category(results).items()}
    return found


def _by_category(results: Sequence[Result]) -> dict[str, charts.Spec]:
    """Sums of one variable before and after, areas where there are any; bias of rare categories."""
    shown = [one for one in _middle(results) if one.sums][:MOST_HEAT_MAPS]
    if not shown:
        return {}
    many = range(len(shown[0].sums))
    chosen = max(many, key=lambda i: (shown[0].sums[i].of_places, -i))
    drawn = {one.contestant.name: one.sums[chosen].after for one in shown}
    first = shown[0].sums[chosen]
    rare: dict[str, dict[str, float]] = {}
    for i in many:
        side = shown[0].sums[i]
        name = say(
            "{level} {label} ({count})",
            level=side.level,
            label=side.labels[side.rarest],
            count=round(float(side.before[side.rarest])),
        )
        rare[name] = {
            one.contestant.name: abs(float((one.sums[i].after - side.before)[side.rarest]))
            for one in shown
        }
    mean = say("mean of the draws")
    return {
        f"{first.level} before and after": before_and_after(
            first.labels,
            first.before,
            drawn,
            say("{level}, before and after", level=first.level),
            mean,
        ),
        "rarest categories": errors_beside(
            rare,
            say("Rarest category of each variable"),
            say("by how much it is off on average"),
            mean,
        ),
    }


def errors_by_table(comparison: Comparison) -> charts.Spec | None:
    """The mean error of a cell in every table, widest tables last; nothing for a single table."""
    tables = [results for _, results in _by_table(comparison)]
    if len(tables) < 2:
        return None
    found = {
        results[0].table: {one.contestant.name: one.mean_error for one in _middle(results)}
        for results in sorted(tables, key=lambda results: results[0].cells)
    }
    return errors_beside(found, say("Error by table"), say("mean absolute error of a cell"))


def page(comparison: Comparison, language: str = "") -> str:
    """The whole report, in a language; else the data set's own."""
    language = language or comparison.language
    drawn = pictures(comparison)
    lines = [_what_is_said(table, about, language) for table, about in by_table(comparison).items()]
    rest = left_out(comparison)
    lines += [_line(say("Left out"), *rest)] if rest else []
    errors = errors_by_table(comparison)
    every = () if errors is None else (_picture(errors, language),)
    sections = [Section(1, say("What the numbers say"), tuple(lines), (), every)]
    for place, (table, results) in enumerate(_by_table(comparison), 2):
        shown = tuple(
            _picture(spec, language)
            for name, spec in drawn.items()
            if name.startswith(f"{table}: ")
        )
        draws = (number(one) for one in sorted({one.draws for one in results}))
        lines = [
            _line(say("Cells"), number(results[0].cells)),
            _line(say("Draws"), together(*draws, between=", ")),
            _line(say("How to read it"), _READING),
        ]
        grids = (_overview(results), _promises(results), _details(results), _small(results))
        sections.append(Section(place, table, tuple(lines), grids, shown))
    return rehearsal_page(
        say("Methods compared on {data}", data=str(comparison.findings["data"])),
        say("Comparison of methods"),
        (),
        sections,
        language=language,
    )


_READING = say(
    "A box holds the middle half of the draws, its line the median; the dashed line is the true table. "
    "Risk is how often the best guesser is right about one unit at even odds: for dp about everything "
    "asked at once, for cell keys about one cell asked once."
)


def _what_is_said(table: str, about: Sequence[str], language: str) -> Line:
    told = [says(words, language) for words in about]
    told = [words[:1].upper() + words[1:] for words in told]
    return _line(table, *(told or (say("Nothing that could not be chance."),)))


def write(comparison: Comparison, path: Path, language: str = "") -> Path:
    """Write the report for its owner alone."""
    return write_own(page(comparison, language), path)


def _picture(spec: charts.Spec, language: str) -> Picture:
    return Picture(charts.to_svg(spec, language), spec["description"])


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
            KINDS.get(one.kind, one.kind),
            number(f"{100 * one.risk:.1f} %"),
            number(f"{one.mean_error:.3g}"),
            number(f"{one.measures['on_diagonal'].mean():.1%}"),
            number(f"{one.measures['changed'].mean():.1%}"),
            number(f"{one.measures['turned'].mean():.2%}"),
            number(f"{one.hidden:.1%}") if one.hidden else "–",
            number(f"{one.seconds:.2g} s"),
        )
        for one in results
    )
    header = (
        *(say("Setting"), say("Guarantee"), say("Best guess right"), say("Mean error")),
        *(say("Stay in band"), say("Changed"), say("Wrong order"), say("Hidden"), say("Took")),
    )
    return Grid(say("Risk and utility"), header, rows)


def _promises(results: Sequence[Result]) -> Grid:
    rows = tuple(
        (
            one.contestant.name,
            one.promise,
            one.evidence or say("no ratio is claimed"),
            together(*one.odds[:2]) if one.odds else "–",
        )
        for one in results
    )
    header = (say("Setting"), say("Promise"), say("Evidence"), say("In odds"))
    return Grid(say("What each promises"), header, rows)


def _quantiles(one: Result, name: str) -> str:
    found = one.distances.get(name)
    if found is None:
        return "–"
    return together(*(number(f"{found[q]:.3g}") for q in ("0.5", "0.95", "1")), between="; ")


_COLUMNS = {
    "l1": "ℓ1",
    "l2": "ℓ2",
    "l3": "ℓ3",
    "hellinger": say("Hellinger's distance"),
    "bias": say("bias"),
    "cramers_v": say("Cramér's V"),
    "p_value": say("p-value"),
    "covariance": say("covariance"),
    "slope": say("slope"),
}


KINDS = {"dp": "dp", "law": say("law"), "semantic": say("semantic"), "none": say("none")}
"""The kinds of guarantees, as the custodian reads them."""


def _mean(values: Floats) -> str:
    mean = float(values.mean())
    return number(f"{mean:.4g}") if np.isfinite(mean) else "–"


def _details(results: Sequence[Result]) -> Grid:
    shown = [name for name in _COLUMNS if all(name in one.measures for one in results)]
    rows = tuple(
        (one.contestant.name, *(_mean(one.measures[name]) for name in shown)) for one in results
    )
    header = (say("Setting"), *(_COLUMNS[name] for name in shown))
    return Grid(say("Means over the draws"), header, rows)


def _biases(found: Sequence[Bias]) -> Sentence:
    parts = (together(f"{b.group}:", number(f"{b.mean:+.2g}")) for b in found)
    return together(*parts, between="; ")


def _small(results: Sequence[Result]) -> Grid:
    rows = tuple(
        (
            one.contestant.name,
            number(f"{one.measures['false_zeros'].mean():.3g}"),
            number(f"{one.measures['false_positives'].mean():.3g}"),
            "–" if one.small is None else f"{one.small:.0%}",
            _biases([b for b in one.biases if abs(b.mean) > 4 * b.error])
            or say("none that is significant"),
            _biases(one.by_category) or say("none"),
            *(_quantiles(one, name) for name in ("d1", "d2", "d3")),
        )
        for one in results
    )
    header = (
        *(say("Setting"), say("False zeros"), say("False positives")),
        *(say("Of 1s and 2s, true ones"), say("Bias by size of the true count")),
        *(say("By category, a quarter or more"), say("d1: half, 95 %, all below"), "d2", "d3"),
    )
    return Grid(say("Small counts"), header, rows)
