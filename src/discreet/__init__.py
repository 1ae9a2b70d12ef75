"""discreet: publish the table, not the people.

Turns confidential microdata into protected frequency tables, and says exactly how well each is
protected and how far off its numbers may be.

    open(path)                      a data set: draft tables, look at their cost, release them
    connect(url, token)             the same verbs on a server
    laplace, normal, hellinger,     exact integer laws
    max_entropy, exponential
    audit(law)                      its exact (ε, δ), both directions; delta_curve, probabilistic_delta
    losses(law), within(law, 2)     how far off a number is on average; how often it is near
    design(epsilon, delta)          a law from what is wanted; matching_normal, least_delta, key_sizes
    unchanged(epsilon), evidence(epsilon)   what ε means for cells, and for a reader
    ptable(…)                       a maximum-entropy p-table
    init, load, declare, check      a custodian's verbs
    synthetic(path, into)           a data set anybody may tabulate, made from a release
    compare(path, tables)           methods side by side on true tables: the custodian's alone
    attack(path)                    known attacks on a policy, run on made-up people
    simulate(path)                  what a policy makes possible, from public facts
    upgrade(path)                   a workspace of version 0.1, carried over
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__

_ROOMS = {
    "api": "open",
    "client": "connect",
    "core.audit": "audit delta probabilistic_delta",
    "core.design": "design",
    "core.evidence": "evidence",
    "core.law_builders": "discrete_normal exponential hellinger laplace max_entropy max_entropy_for normal",
    "core.law_losses": "losses table_losses within",
    "core.law_studies": "delta_curve key_sizes least_delta matching_normal",
    "core.law_utilities": "exponential_counts",
    "core.odds": "odds",
    "core.unchanged": "unchanged",
    "demo.uk_census": "uk_census",
    "errors": "BudgetExceeded Bug Cancelled CannotConclude DataError DescriptionError DiscreetError "
    "EngineError HistoryMoved InputError KeyReused LawError LedgerDamaged RecipeError Refusal "
    "StoreError",
    "methods.cellkey.design": "ptable",
    "synthesis": "synthetic",
    "trials": "attack compare simulate",
    "workspace": "ColumnChoice UnitChoice check declare declare_unit init load",
    "workspace.upgrade": "upgrade",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "BudgetExceeded",
    "Bug",
    "Cancelled",
    "CannotConclude",
    "ColumnChoice",
    "DataError",
    "DescriptionError",
    "DiscreetError",
    "EngineError",
    "HistoryMoved",
    "InputError",
    "KeyReused",
    "LawError",
    "LedgerDamaged",
    "RecipeError",
    "Refusal",
    "StoreError",
    "UnitChoice",
    "__version__",
    "attack",
    "audit",
    "check",
    "compare",
    "connect",
    "declare",
    "declare_unit",
    "delta",
    "delta_curve",
    "design",
    "discrete_normal",
    "evidence",
    "exponential",
    "exponential_counts",
    "hellinger",
    "init",
    "key_sizes",
    "laplace",
    "least_delta",
    "load",
    "losses",
    "matching_normal",
    "max_entropy",
    "max_entropy_for",
    "normal",
    "odds",
    "open",
    "probabilistic_delta",
    "ptable",
    "simulate",
    "synthetic",
    "table_losses",
    "uk_census",
    "unchanged",
    "upgrade",
    "within",
]

if TYPE_CHECKING:
    from .api import open as open
    from .client import connect
    from .core.audit import audit, delta, probabilistic_delta
    from .core.design import design
    from .core.evidence import evidence
    from .core.law_builders import (
        discrete_normal,
        exponential,
        hellinger,
        laplace,
        max_entropy,
        max_entropy_for,
        normal,
    )
    from .core.law_losses import losses, table_losses, within
    from .core.law_studies import delta_curve, key_sizes, least_delta, matching_normal
    from .core.law_utilities import exponential_counts
    from .core.odds import odds
    from .core.unchanged import unchanged
    from .demo.uk_census import uk_census
    from .errors import (
        BudgetExceeded,
        Bug,
        Cancelled,
        CannotConclude,
        DataError,
        DescriptionError,
        DiscreetError,
        EngineError,
        HistoryMoved,
        InputError,
        KeyReused,
        LawError,
        LedgerDamaged,
        RecipeError,
        Refusal,
        StoreError,
    )
    from .methods.cellkey.design import ptable
    from .synthesis import synthetic
    from .trials import attack, compare, simulate
    from .workspace import ColumnChoice, UnitChoice, check, declare, declare_unit, init, load
    from .workspace.upgrade import upgrade


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `discreet --help` must answer at once."""
    if name in _HOMES:
        module = import_module(f"{__name__}.{_HOMES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
