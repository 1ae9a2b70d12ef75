"""What the noise method is and which settings it has."""

from __future__ import annotations

from typing import Any

from ...core.family import Family
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
    one_of,
    portion,
    whole,
)

LAWS = ("laplace", "normal", "gaussian")
PLANS = ("best", "interior", "wanted", "once", "everything")
NEGATIVES = ("keep", "clip", "balance", "threshold")
CONSISTENCY = ("none", "least squares", "integers")


def negatives(value: Any, name: str, fails: Fails) -> str:
    """`keep`, `clip`, `balance`, `threshold`, or `threshold 3` in one go.

    >>> negatives("Threshold  3.0", "negatives", ValueError)
    'threshold 3'
    """
    words = str(value).split()
    if len(words) == 2 and words[0].casefold() == "threshold":
        return f"threshold {whole(1)(words[1], 'threshold', fails)}"
    return one_of(*NEGATIVES)(value, name, fails)


DECLARATION = Declaration(
    name="noise",
    family=Family.DP,
    spends=Spends.LOSS,
    home=(".noise.method", "NoiseMethod"),
    summary="independent noise on chosen margins, each unit's whole contribution paid for",
    default=True,
    settings=(
        amount(
            "epsilon",
            "ε that the whole question costs; in a policy, what one table costs if nobody says",
            100,
        ),
        amount(
            "rho",
            "ρ instead of ε, for law gaussian (zero-concentrated differential privacy)",
            10_000,
        ),
        Setting(
            "within",
            Part.MEASURED,
            "instead of ε: the least ε that brings cells within ± this of the truth …",
            whole(0),
        ),
        Setting("of", Part.MEASURED, "… in so many per cent of releases", portion, "95%"),
        choice("law", Part.MEASURED, "laplace, normal or gaussian", LAWS, "laplace"),
        Setting(
            "delta",
            Part.MEASURED,
            "δ, for laws that have one; laplace alone has δ = 0",
            number(above=0, below=1),
            exact=True,
        ),
        Setting(
            "max_perturbation", Part.MEASURED, "cut the law at ± this, which brings a δ", whole(1)
        ),
        choice(
            "plan",
            Part.MEASURED,
            "which margins get noise of their own: best, interior, wanted, once or everything",
            PLANS,
            "best",
        ),
        Setting(
            "negatives",
            Part.TREATED,
            "what is displayed for values below 0: keep, clip (show 0), balance (values ≥ 0 that keep "
            "the totals measured) or threshold (show less than `threshold` as 0); a policy's choice "
            "can be strengthened only, in this order",
            negatives,
            "keep",
            words=NEGATIVES,
        ),
        Setting(
            "threshold",
            Part.TREATED,
            "with negatives threshold: show less than this as 0",
            whole(1),
        ),
        choice(
            "consistency",
            Part.TREATED,
            "bring separately noised margins into agreement: none, least squares or integers",
            CONSISTENCY,
            "none",
        ),
        *LOSS_LIMITS,
    ),
)
