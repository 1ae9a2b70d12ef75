"""What the top-down method is and which settings it has."""

from __future__ import annotations

from typing import Any

from ...core.exact import exact, plain
from ...core.family import Family
from ..declaration import (
    LOSS_LIMITS,
    Declaration,
    Fails,
    Part,
    Setting,
    Spends,
    amount,
    whole,
)

_UNTRUNCATED = (
    "The topdown method spends epsilon (Laplace noise, delta = 0) or rho (Gaussian noise), both "
    "untruncated: {} has no place. Set epsilon or rho."
)


def names(value: Any, name: str, fails: Fails) -> str:
    """Names as they are written, with one blank between words; a number in its plain form.

    >>> names("region,  ccg ", "levels", ValueError), names("+2021.0", "tree", ValueError)
    ('region, ccg', '2021')
    """
    text = " ".join(str(value).split())
    try:
        return plain(exact(text, name, error=ValueError))
    except ValueError:
        return text


DECLARATION = Declaration(
    name="topdown",
    family=Family.DP,
    spends=Spends.LOSS,
    home=(".topdown.method", "TopDownMethod"),
    summary="a whole hierarchy at once: one table of whole counts, every level adding up",
    hints={name: _UNTRUNCATED.format(name) for name in ("delta", "law", "max_perturbation")},
    settings=(
        amount("epsilon", "ε that the whole question costs, with Laplace noise", 100),
        amount(
            "rho",
            "ρ instead of ε, with Gaussian noise (zero-concentrated differential privacy)",
            100,
        ),
        Setting(
            "tree",
            Part.MEASURED,
            "the variable whose levels are the tree",
            names,
            "a geography, else the variable with most levels",
        ),
        Setting(
            "levels",
            Part.MEASURED,
            "the levels of the tree that are used, such as region, ccg",
            names,
            "all that lie in one another",
        ),
        Setting(
            "records_about",
            Part.MEASURED,
            "roughly how many records, if that is public: tables are then measured at the level "
            "where they are thick enough for their noise",
            whole(1, 10**12),
            "not known",
        ),
        *LOSS_LIMITS,
    ),
)
