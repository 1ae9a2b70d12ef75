"""The custodian's verbs that try a policy out: simulate it from public facts.

import discreet as dc

found = dc.simulate("demo/deaths-dp", within=5, risk=[("10%", "25%")])
print("\\n".join(found.sentences()))
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from . import workspace
from .core.exact import Exact, exact
from .errors import InputError
from .quality.epsilon_scale import Suspicion
from .quality.simulator import Simulation, Wishes
from .quality.simulator import simulate as _simulate


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

    within, of   the accuracy wanted: so many per cent of cells within ± this
    risk         guesses, and how sure each may become at most
    tables       how many tables of that accuracy are to be published
    records      roughly how many records there are, where that may be said
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
