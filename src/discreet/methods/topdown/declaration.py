"""What the top-down method is and which settings it has."""

from __future__ import annotations

from typing import Any

from ...core.exact import exact, plain, shown
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
    whole,
)

_UNTRUNCATED = (
    "The topdown method spends epsilon (Laplace noise, delta = 0) or rho (Gaussian noise), both "
    "untruncated: {} has no place. Set epsilon or rho."
)
MODES = ("modern", "pilot")
FIRST = ("variables", "geography")
PILOT_NOISE = ("laplace", "geometric")
LEVEL_SHARES = ("square root", "equal", "top heavy")


def level_shares(value: Any, name: str, fails: Fails) -> str:
    """A word, or a share for each level from the total down; they add up to 1.

    >>> level_shares("0.010, 0.05, 0.165, 0.775", "level_shares", ValueError)
    '0.01, 0.05, 0.165, 0.775'
    """
    words = " ".join(str(value).replace("-", " ").casefold().split())
    if words in LEVEL_SHARES:
        return words
    try:
        shares = [exact(part, name, above=0, error=ValueError) for part in str(value).split(",")]
    except ValueError:
        raise fails(
            f"{name} must be one of {', '.join(LEVEL_SHARES)}, or numbers above 0 such as 0.01, 0.05, "
            f"0.165, 0.775, got {shown(value)}.{did_you_mean(words, LEVEL_SHARES)}"
        ) from None
    if sum(shares) != 1:
        whole_sum = plain(sum(shares, start=0 * shares[0]))
        raise fails(f"{name} must add up to 1, they add up to {whole_sum}.")
    return ", ".join(plain(share) for share in shares)


def names(value: Any, name: str, fails: Fails) -> str:
    """Names in small letters, with one blank between words; a number in its plain form.

    >>> names("Region,  ccg ", "levels", ValueError), names("+2021.0", "tree", ValueError)
    ('region, ccg', '2021')
    """
    text = " ".join(str(value).casefold().split())
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
        choice("mode", Part.MEASURED, "modern, or pilot: ons method 2 as written", MODES, "modern"),
        Setting(
            "level_shares",
            Part.MEASURED,
            "pilot only: the share of the budget of the total and of each level, or square root "
            "(0.01 for the total, the rest by the root of how many cells), equal, top heavy",
            level_shares,
            "square root",
            words=LEVEL_SHARES,
        ),
        choice(
            "pilot_noise",
            Part.MEASURED,
            "pilot only, with epsilon: Laplace noise to three decimals, or geometric",
            PILOT_NOISE,
            "laplace",
        ),
        choice(
            "first",
            Part.MEASURED,
            "pilot only: the national table of all variables first, or the totals of areas",
            FIRST,
            "variables",
        ),
        Setting(
            "published", Part.MEASURED, "margins that are public already, kept exactly", asked=False
        ),
        *LOSS_LIMITS,
    ),
)
