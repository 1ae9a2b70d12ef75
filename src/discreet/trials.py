"""The custodian's verbs that try a policy out: simulate it, compare methods, run the attacks.

import discreet as dc

found = dc.simulate("demo/deaths-dp", within=5, risk=[("10%", "25%")])      # public facts only
rehearsal = dc.compare("demo/deaths-dp", tables=["region,cause"])           # sees true data
rehearsal.frame(), rehearsal.sentences(), rehearsal.pictures()
dc.attack("demo/deaths-dp").sentences()                                     # made-up people
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from .quality.attacks.run import Attacked, check_served, checked
from .quality.attacks.run import attack as _attack
from .quality.attacks.served import Ask
from .quality.attacks.twin_workspace import write_twin as _write_twin
from .quality.comparison import Limits
from .quality.comparison import compare as _compare
from .quality.epsilon_scale import Suspicion
from .quality.policy_difference import difference
from .quality.results import Comparison
from .quality.simulator import MOST_TABLES, Simulation, Wishes
from .quality.simulator import simulate as _simulate
from .quality.small_numbers import SmallNumbers
from .quality.small_numbers import small_numbers as _small_numbers
from .workspace import rehearsed
from .workspace.policy_draft import drafted

RISK = (("10%", "25%"),)
"""Who is 10 % sure may become 25 % sure, where nothing else is said."""


def simulate(
    path: str | Path,
    *,
    within: int = 5,
    of: str = "95%",
    risk: Sequence[tuple[str, str]] = RISK,
    tables: int = 1,
    records: int | None = None,
    most: int = MOST_TABLES,
    draft: Mapping[str, Any] | None = None,
) -> Simulation:
    """What a data set's policy makes possible, from public facts: no record is read.

    path         the folder of the data set
    within, of   the accuracy wanted: so many per cent of cells within ± this
    risk         guesses, and how sure each may become at most
    tables       how many tables of that accuracy are to be published
    records      roughly how many records there are, where that may be said
    most         how many tables are simulated one by one, at most
    draft        what the policy part of discreet.yaml would say instead

        print(dc.simulate("demo/deaths-dp", within=10))
        dc.simulate("demo/deaths-dp", draft={"rules": {"max_variables": 2}})
    """
    wanted = wishes(within=within, of=of, risk=risk, tables=tables, records=records, most=most)
    with workspace.DataSet.open(path) as data:
        return _simulate(data if draft is None else drafted(data, draft), wanted)


def wishes(
    *,
    within: int = 5,
    of: str = "95%",
    risk: Sequence[tuple[str, str]] = RISK,
    tables: int = 1,
    records: int | None = None,
    most: int = MOST_TABLES,
) -> Wishes:
    """A custodian's answers, read and checked."""
    if within < 0:
        raise InputError(f"within must be a whole number ≥ 0, got {within}.")
    for name, number in (("records", records), ("most", most)):
        if number is not None and number < 1:
            raise InputError(f"{name} must be a whole number ≥ 1, got {number}.")
    if not risk:
        raise InputError('Say how much risk is tolerated, such as risk=[("10%", "25%")].')
    suspicions = tuple(Suspicion.of(share(prior), share(sure)) for prior, sure in risk)
    return Wishes(within, share(of), suspicions, tables, records, min(most, MOST_TABLES))


def simulated(
    data: workspace.DataSet,
    wanted: Wishes,
    *,
    draft: Mapping[str, Any] | None = None,
    against: workspace.DataSet | None = None,
    control: Control | None = None,
) -> tuple[Simulation, tuple[str, ...] | None]:
    """A simulation, and what another policy changes: a draft's, or another data set's.

    The simulation is the draft's where there is one. The second policy of the sentences is the draft
    or the other data set; None where there is nothing to compare with.
    """
    control = control or Control()
    both = draft is not None or against is not None
    first = _simulate(data, wanted, control.part(0, 0.5 if both else 1))
    if against is not None and draft is not None:
        raise InputError("Compare with a draft or with another data set, not with both at once.")
    if against is not None:
        return first, difference(first, _simulate(against, wanted, control.part(0.5, 1)))
    if draft is not None:
        second = _simulate(drafted(data, draft), wanted, control.part(0.5, 1))
        return second, difference(first, second)
    return first, None


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

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the custodian alone."""
        return {
            "rehearsal": True,
            "for": "the custodian alone",
            "results": [one.summary() for one in self.results],
            "left_out": dict(self.left_out),
            "sentences": list(self.sentences()),
        }

    def write(self, path: str | Path, language: str = "") -> Path:
        """Write the report, readable by its owner alone; refused among published files.

        language   in which; default: the data set's own
        """
        from .report import comparison_report

        return comparison_report.write(self, Path(path), language)


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
        grid = settings(data, methods, epsilons, p_tables)
        specs = table_specs(data, tables, recipe)
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
    ask: Ask | None = None,
    control: Control | None = None,
) -> Attacked:
    """Run known attacks against a data set's policy, on made-up people: no record is read.

    path      the folder of the data set
    attacks   which ones; default: all of `discreet.quality.attacks.run.ATTACKS`
    epsilon   what one question spends, for policies that spend; default: the policy's, else 1
    ask       asks a live server that serves the twin (`write_twin`), by data set and recipe
    control   progress and cancelling

        print(dc.attack("demo/deaths", ["same-set"]))
    """
    with workspace.DataSet.open(path) as data:
        found = _attack(data, attacks, epsilon=epsilon, ask=ask, control=control)
        rehearsed.keep(data, "attack", found.sentences())
    return found


def write_twin(
    path: str | Path,
    folder: str | Path,
    attacks: Sequence[str] = (),
    *,
    epsilon: str = "",
    control: Control | None = None,
) -> str:
    """Write a workspace of made-up people under a data set's policy, to be served and attacked.

    Gives an analyst's token for it. No record is read.

    path      the folder of the data set
    folder    where the workspace goes; it must not be there yet
    attacks   which ones it has to serve; default: all that go over HTTP
    epsilon   what one question spends, for policies that spend
    control   progress and cancelling
    """
    with workspace.DataSet.open(path) as data:
        said = checked(data, attacks, epsilon)
        check_served(data, attacks)
        return _write_twin(data, Path(folder), attacks, epsilon=said, control=control)


def settings(
    data: workspace.DataSet,
    methods: Sequence[str],
    epsilons: Sequence[str] = contestants.EPSILONS,
    p_tables: Sequence[str] = contestants.P_TABLES,
) -> list[contestants.Contestant]:
    """What is compared: every setting named, and the policy as it is where that needs no ε."""
    grid = contestants.grid(methods, epsilons, p_tables)
    own = contestants.own_policy(data)
    return [*grid, own] if own is not None and "cell-key" in methods else grid


MOST_CATEGORIES = 30
"""Levels with more are not among the tables that are compared by default."""


def table_specs(
    data: workspace.DataSet, tables: Sequence[str], recipe: str | Path | None = None
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
