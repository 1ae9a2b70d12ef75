"""What the marginals method is and which settings it has."""

from __future__ import annotations

from typing import Any

from ...core.exact import shown
from ...core.family import Family
from ...errors import did_you_mean
from ..declaration import (
    LOSS_LIMITS,
    Declaration,
    Fails,
    Part,
    Setting,
    Spends,
    amount,
    choice,
    number,
    whole,
)

MODES = ("modern", "classic")
NOISE_ON = ("coefficients", "cells")
PROGRAMS = ("largest", "total", "hybrid")
OBJECTIVES = (*PROGRAMS, "shift")
_UNTRUNCATED = (
    "The marginals method spends epsilon (Laplace noise, delta = 0) or rho (Gaussian noise), both "
    "untruncated: {} has no place. Set epsilon or rho."
)


def objective(value: Any, name: str, fails: Fails) -> str:
    """`largest`, `total` or `hybrid`, alone or with "in margins" after it; or `shift`.

    >>> objective("Total in-margins", "objective", ValueError)
    'total in margins'
    """
    words = " ".join(str(value).replace("-", " ").casefold().split())
    first = words.removesuffix(" in margins")
    if first not in OBJECTIVES or words == "shift in margins":
        raise fails(
            f"objective must be one of {', '.join(OBJECTIVES)}, all but shift alone or with 'in "
            f"margins' after it, got {shown(value)!r}.{did_you_mean(first, OBJECTIVES)}"
        )
    return words


DECLARATION = Declaration(
    name="marginals",
    family=Family.DP,
    spends=Spends.LOSS,
    home=(".marginals.method", "MarginalsMethod"),
    summary="consistent, non-negative, whole margins of one synthetic table",
    hints={name: _UNTRUNCATED.format(name) for name in ("delta", "law", "max_perturbation")},
    settings=(
        amount("epsilon", "ε that the whole question costs, with Laplace noise", 100),
        amount(
            "rho",
            "ρ instead of ε, with Gaussian noise (zero-concentrated differential privacy)",
            100,
        ),
        choice("mode", Part.MEASURED, "modern, or classic: barak as written", MODES, "modern"),
        choice(
            "noise_on",
            Part.MEASURED,
            "classic only: noise on Fourier coefficients, or on the cells of the margins",
            NOISE_ON,
            "coefficients; cells for a single margin",
        ),
        Setting(
            "one_way_share",
            Part.MEASURED,
            "share of ε or ρ for one-way margins of their own",
            number(least=0, below=1),
            "a quarter where thin tables are left out",
            exact=True,
        ),
        Setting(
            "records_about",
            Part.MEASURED,
            "roughly how many records, if that is public: thin tables are then left out",
            whole(1, 10**12),
            "not known",
        ),
        Setting(
            "objective",
            Part.TREATED,
            "classic only: which distance the fit makes small: largest, total or hybrid; 'in margins' "
            "after it: over cells of margins; shift: no fit, records spread over all cells (barak §4.3)",
            objective,
            "largest",
            words=OBJECTIVES,
        ),
        Setting(
            "published", Part.MEASURED, "margins that are public already, kept exactly", asked=False
        ),
        *LOSS_LIMITS,
    ),
)
