"""What the noise method is and which settings it has."""

from __future__ import annotations

from itertools import pairwise
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
    choice,
    number,
    one_of,
    portion,
    whole,
)

LAWS = ("laplace", "normal", "gaussian", "max-entropy", "exponential", "hellinger")
PLANS = ("best", "interior", "wanted", "once", "everything")
NEGATIVES = ("keep", "clip", "balance", "threshold")
CONSISTENCY = ("none", "least squares", "integers")
MOST_UTILITIES = 1_001
MOST_COUNTED = 10_000


def negatives(value: Any, name: str, fails: Fails) -> str:
    """`keep`, `clip`, `balance`, `threshold`, or `threshold 3` in one go.

    >>> negatives("Threshold  3.0", "negatives", ValueError)
    'threshold 3'
    """
    words = str(value).split()
    if len(words) == 2 and words[0].casefold() == "threshold":
        return f"threshold {whole(1)(words[1], 'threshold', fails)}"
    return one_of(*NEGATIVES)(value, name, fails)


def utility(value: Any, name: str, fails: Fails) -> str:
    """What a perturbation of 0, ±1, ±2, … is worth, as exact numbers that never rise.

    The same up to a constant and a factor is the same law, so it is written in one way: 0 first,
    and 1 for the largest step down.

    >>> utility([5, 3, -1], "utility", ValueError), utility("0 -1 -3", "utility", ValueError)
    ('0 -0.5 -1.5', '0 -0.5 -1.5')
    """
    words = value if isinstance(value, list | tuple) else str(value).replace(",", " ").split()
    if not 2 <= len(words) <= MOST_UTILITIES:
        raise fails(
            f"{name} gives a number for a perturbation of 0, ±1, ±2 and so on, from 2 to "
            f"{MOST_UTILITIES:,} of them, got {len(words)}. Write {name}: 0 -1 -4 -9, say."
        )
    worth = [exact(word, name, error=fails) for word in words]
    steps = [inner - outer for inner, outer in pairwise(worth)]
    if min(steps) < 0:
        place = next(i for i, step in enumerate(steps, 1) if step < 0)
        raise fails(
            f"{name} must not rise away from 0: no perturbation may be worth more than a smaller "
            f"one, got {plain(worth[place])} at ±{place} after {plain(worth[place - 1])}. Lower it."
        )
    widest = max(steps)
    if widest == 0:
        raise fails(f"{name} must fall somewhere, got {plain(worth[0])} for every perturbation.")
    return " ".join(plain((one - worth[0]) / widest) for one in worth)


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
            budget=True,
        ),
        Setting(
            "of", Part.MEASURED, "… in so many per cent of releases", portion, "95%", budget=True
        ),
        choice(
            "law",
            Part.MEASURED,
            "laplace, normal, gaussian, max-entropy, exponential or hellinger",
            LAWS,
            "laplace",
        ),
        Setting(
            "utility",
            Part.MEASURED,
            "with law exponential: what a perturbation of 0, ±1, ±2, … is worth, never rising, the "
            "last being the largest there is",
            utility,
        ),
        Setting(
            "variance",
            Part.MEASURED,
            "with law max-entropy and max_perturbation, instead of ε: the variance of each measured "
            "cell; what it costs is what its law is audited to lose",
            number(above=0, most=10**9),
            exact=True,
        ),
        Setting(
            "max_count",
            Part.MEASURED,
            "with law hellinger: the largest count that is told from larger ones",
            whole(1, MOST_COUNTED),
        ),
        Setting(
            "max_value",
            Part.MEASURED,
            "with law hellinger: the largest number that can be published; twice max_count if "
            "nobody says",
            whole(1, MOST_COUNTED),
        ),
        Setting(
            "delta",
            Part.MEASURED,
            "δ, for laws that have one; laplace alone has δ = 0",
            number(above=0, below=1),
            exact=True,
            budget=True,
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
