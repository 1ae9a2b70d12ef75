"""The custodian's verbs that try a policy out: simulate it, compare methods, run the attacks.

import discreet as dc

found = dc.simulate("demo/deaths-dp", within=5, risk=[("10%", "25%")])      # public facts only
rehearsal = dc.compare("demo/deaths-dp", tables=["region,cause"])           # sees true data
rehearsal.frame(), rehearsal.sentences(), rehearsal.pictures()
dc.attack("demo/deaths-dp").sentences()                                     # made-up people
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import recipe as recipes
from . import workspace
from .core.control import Control
from .core.exact import Exact, exact
from .core.question import TableSpec
from .errors import InputError
from .quality import contestants
from .quality.attacks.run import Attacked
from .quality.attacks.run import attack as _attack
from .quality.comparison import Limits
from .quality.comparison import compare as _compare
from .quality.epsilon_scale import Suspicion
from .quality.results import Comparison
from .quality.simulator import Simulation, Wishes
from .quality.simulator import simulate as _simulate
from .quality.small_numbers import SmallNumbers
from .quality.small_numbers import small_numbers as _small_numbers
from .workspace import rehearsed


def simulate(
    path: str | Path,
    *,
    within: int = 5,
    of: str = "95%",
    risk: Sequence[tuple[str, str]] = (("10%", "25%"),),
    tables: int = 1,
    records: int | None = None,
) -> Simulation:
    """What a data set's policy makes possible, from public facts: no record is read.

    path         the folder of the data set
    within, of   the accuracy wanted: so many per cent of cells within ± this
    risk         guesses, and how sure each may become at most
    tables       how many tables of that accuracy are to be published
    records      roughly how many records there are, where that may be said

        print(dc.simulate("demo/deaths-dp", within=10))
    """
    if within < 0:
        raise InputError(f"within must be a whole number ≥ 0, got {within}.")
    if records is not None and records < 1:
        raise InputError(f"records must be a whole number ≥ 1, got {records}.")
    if not risk:
        raise InputError('Say how much risk is tolerated, such as risk=[("10%", "25%")].')
    suspicions = tuple(Suspicion.of(share(prior), share(most)) for prior, most in risk)
    wishes = Wishes(within, share(of), suspicions, tables, records)
    with workspace.DataSet.open(path) as data:
        return _simulate(data, wishes)


@dataclass(frozen=True)
class Compared(Comparison):
    """A comparison with its pictures and its report; for the custodian alone."""

    def sentences(self) -> tuple[str, ...]:
        """What the numbers say, where it is significant over the draws."""
        from .quality.verdicts import sentences

        return sentences(self)

    def pictures(self) -> dict[str, dict[str, Any]]:
        """Every picture as a Vega-Lite spec, by name; `altair.Chart.from_dict` shows one."""
        from .report import comparison_report

        return comparison_report.pictures(self)

    def write(self, path: str | Path) -> Path:
        """Write the report, readable by its owner alone; refused among published files."""
        from .report import comparison_report

        return comparison_report.write(self, Path(path))


def compare(
    path: str | Path,
    tables: Sequence[str] = (),
    methods: Sequence[str] = ("cell-key", "laplace", "gaussian"),
    *,
    epsilons: Sequence[str] = contestants.EPSILONS,
    p_tables: Sequence[str] = contestants.P_TABLES,
    draws: int = 100,
    fitted_draws: int = Limits.fitted_draws,
    minutes: float = Limits.minutes,
    threads: int = 2,
    recipe: str | Path | None = None,
    who: str = "",
    control: Control | None = None,
) -> Compared:
    """Compare methods on true tables: a rehearsal, which no format, store or route accepts.

    That somebody looked is an entry in the ledger, and every later table says so.

    path       the folder of the data set
    tables     each a list of variables or levels: "region,cause"; default: two small ones
    methods    of cell-key, laplace, normal, gaussian, max-entropy, marginals, topdown, classic
    epsilons   for everything that spends; p_tables: "MAX:VARIANCE" for cell keys
    draws      how often each table is protected; methods that fit are tried `fitted_draws` times
    minutes    a grid that would take longer is refused, with its time and a smaller one
    threads    how many tables are protected at once
    recipe     a file with the tables instead
    who        who looked, for the ledger
    control    progress and cancelling

        found = dc.compare("demo/deaths", ["region,sex"], ["cell-key"], draws=20)
        print(found)
    """
    with workspace.DataSet.open(path) as data:
        grid = contestants.grid(methods, epsilons, p_tables)
        own = contestants.own_policy(data)
        if own is not None and "cell-key" in methods:
            grid.append(own)
        specs = _specs(data, tables, recipe)
        limits = Limits(draws, fitted_draws, minutes, threads)
        found = _compare(data, specs, grid, limits, who=who, control=control)
        compared = Compared(found.about, found.findings)
        rehearsed.keep(data, "compare", compared.sentences())
    return compared


def attack(
    path: str | Path,
    attacks: Sequence[str] = (),
    *,
    epsilon: str = "",
    control: Control | None = None,
) -> Attacked:
    """Run known attacks against a data set's policy, on made-up people: no record is read.

    path      the folder of the data set
    attacks   which ones; default: all of `discreet.quality.attacks.run.ATTACKS`
    epsilon   what one question spends, for policies that spend; default: the policy's, else 1
    control   progress and cancelling

        print(dc.attack("demo/deaths", ["same-set"]))
    """
    with workspace.DataSet.open(path) as data:
        found = _attack(data, attacks, epsilon=epsilon, control=control)
        rehearsed.keep(data, "attack", found.sentences())
    return found


MOST_CATEGORIES = 30
"""Levels with more are not among the tables that are compared by default."""


def _specs(
    data: workspace.DataSet, tables: Sequence[str], recipe: str | Path | None
) -> list[TableSpec]:
    """The tables named, those of a recipe, or two small ones."""
    described = data.described.description
    if recipe is not None:
        from .workspace.yaml_reader import read_file

        mapping = read_file(Path(recipe)).plain()
        return list(recipes.from_mapping(mapping, described, data.policy).question.tables)
    named = [[name.strip() for name in words.split(",") if name.strip()] for words in tables]
    if not named:
        small = [
            next(str(described.axis(ref).ref) for ref in refs)
            for variable in data.description.variables
            if (
                refs := [
                    recipes.find_axis(described, f"{variable.name}:{level.name}")
                    for level in variable.levels
                    if 2 <= len(level) <= MOST_CATEGORIES
                ]
            )
        ]
        named = [small[at : at + 2] for at in (0, 2) if len(small) >= at + 2] or [small[:1]]
    if not all(named):
        raise InputError("Name at least one variable of each table, such as region,cause.")
    return [
        recipes.from_mapping({"rows": names}, described, data.policy).question.tables[0]
        for names in named
    ]


def small_numbers(path: str | Path, found: Simulation, *, who: str = "") -> SmallNumbers:
    """What a small-number rule would blank in the tables a policy allows: a rehearsal.

    That somebody looked is an entry in the ledger, and every later table says so.
    """
    with workspace.DataSet.open(path) as data:
        return _small_numbers(data, found, who)


def share(text: Exact) -> Fraction:
    """A share as people write it: 25% or 0.25.

    >>> share("25%"), share("0.1")
    (Fraction(1, 4), Fraction(1, 10))
    """
    words = str(text).strip()
    number = exact(words.rstrip("% "), "a share", above=0) / (100 if words.endswith("%") else 1)
    if number >= 1:
        raise InputError(f"A share must be below 100 %, got {words}. Write 25% or 0.25.")
    return number
