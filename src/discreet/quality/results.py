"""What a comparison found: one result for each contestant and table, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.noise_law import Floats
from ..core.table import Rehearsal
from ..languages import say
from .contestants import Contestant
from .losses import Bias

MEASURES = {
    "l1": say("ℓ1: sum of absolute errors"),
    "l2": say("ℓ2: sum of squared errors"),
    "l3": say("ℓ3: sum of errors of square roots"),
    "hellinger": say("Hellinger's distance"),
    "on_diagonal": say("share of cells that stay in their band"),
    "changed": say("share of cells changed"),
    "false_zeros": say("cells with somebody, published as 0"),
    "false_positives": say("empty cells, published with somebody"),
    "bias": say("sum of errors (bias)"),
    "turned": say("share of pairs of large cells in the wrong order"),
    "cramers_v": say("Cramér's V"),
    "p_value": say("p-value of the ordinary test"),
}


@dataclass(frozen=True)
class Sums:
    """The categories of one variable in a table: true sums over the others, and protected ones."""

    level: str
    labels: tuple[str, ...]
    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    """The mean over the draws."""
    of_places: bool = False

    @property
    def rarest(self) -> int:
        """The category with fewest records that has any."""
        some = np.flatnonzero(self.before > 0)
        return int(some[np.argmin(self.before[some])]) if len(some) else 0


@dataclass(frozen=True)
class Result:
    """One contestant on one table."""

    contestant: Contestant
    table: str
    cells: int
    draws: int
    risk: float
    """How often the best guesser is right about one unit, at even odds."""
    kind: str
    """dp: about everything asked at once. law: about one cell asked once."""
    promise: str
    measures: Mapping[str, Floats] = field(repr=False)
    transition: Floats = field(repr=False)
    biases: Sequence[Bias] = field(repr=False)
    distances: Mapping[str, Mapping[str, float]] = field(repr=False)
    by_category: Sequence[Bias] = field(default=(), repr=False)
    """Categories whose cells lean one way, by more than chance and a quarter of a count."""
    odds: tuple[str, ...] = field(default=(), repr=False)
    """What the guarantee says in odds."""
    evidence: str = ""
    """How strong the evidence about one unit can get, in rinott's words (§4.1)."""
    hidden: float = 0.0
    """The mean share of cells that are not shown."""
    small: float | None = None
    """Of cells published as 1 or 2, the share whose true count that is."""
    seconds: float = 0.0
    sums: Sequence[Sums] = field(default=(), repr=False)
    """What its cells sum to by variable; not where cells are hidden."""

    @property
    def mean_error(self) -> float:
        """The mean absolute error of a cell."""
        return float(self.measures["l1"].mean()) / self.cells

    def summary(self) -> dict[str, Any]:
        """One row of a data frame: mean and quartiles of every measure."""
        row: dict[str, Any] = {
            "table": self.table,
            "method": self.contestant.group,
            "setting": str(self.contestant.setting),
            "draws": self.draws,
            "cells": self.cells,
            "kind": self.kind,
            "risk": self.risk,
            "promise": str(self.promise),
            "mean_error": self.mean_error,
            "hidden": self.hidden,
            "small_recognised": self.small,
        }
        for name, values in self.measures.items():
            low, middle, high = (
                np.nanquantile(values, (0.25, 0.5, 0.75)) if _some(values) else 3 * (None,)
            )
            row |= {
                name: _mean(values),
                f"{name}_25": low,
                f"{name}_50": middle,
                f"{name}_75": high,
            }
        return row


def _some(values: Floats) -> bool:
    return bool(np.isfinite(values).any())


def _mean(values: Floats) -> float | None:
    return float(np.nanmean(values)) if _some(values) else None


@dataclass(frozen=True)
class Comparison(Rehearsal):
    """What a comparison found; made from true data, so it stays with the custodian.

    `frame()` and `draws()` are data frames; `discreet.report.comparison_report` draws and writes it.
    """

    @property
    def results(self) -> list[Result]:
        """One for each contestant and table."""
        return list(self.findings["results"])

    @property
    def language(self) -> str:
        """The data set's own, in which its custodian reads the report."""
        return str(self.findings.get("language", ""))

    @property
    def truth(self) -> Mapping[str, Mapping[str, float]]:
        """The same measures of the true tables, where they have some: V, p-value, moments."""
        return dict(self.findings["truth"])

    @property
    def left_out(self) -> Mapping[str, str]:
        """Which contestants could not answer, and why."""
        return dict(self.findings["left_out"])

    def frame(self) -> Any:
        """A data frame: a row for each contestant and table."""
        import pandas as pd

        return pd.DataFrame([result.summary() for result in self.results])

    def draws(self) -> Any:
        """A data frame: a row for each draw."""
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "table": one.table,
                    "method": one.contestant.group,
                    "setting": str(one.contestant.setting),
                    **one.measures,
                }
            )
            for one in self.results
        ]
        return pd.concat(parts, ignore_index=True)
