"""A loss said as odds: what the best-informed guess about one unit can gain."""

from __future__ import annotations

from fractions import Fraction

from ...core.brackets import exp_bracket
from ...core.exact import rounded_up

_PRIORS = (Fraction(1, 2), Fraction(1, 10))


def odds(epsilon: Fraction, delta: Fraction, unit: str) -> tuple[str, ...]:
    """Sentences with worst-case odds, rounded against the spender.

    >>> odds(Fraction(1), Fraction(0), "person")[0]
    'A guess about one person that was 50 % sure becomes at most 73.2 % sure.'
    """
    ratio = exp_bracket(epsilon)[1]
    said = []
    for prior in _PRIORS:
        after = prior * ratio / (1 - prior + prior * ratio)
        percent = min(Fraction(-(-after * 1000 // 1), 10), Fraction(100))
        said.append(
            f"A guess about one {unit} that was {int(prior * 100)} % sure becomes at most "
            f"{float(percent):g} % sure."
        )
    if delta:
        said.append(
            f"In a part of at most {rounded_up(delta, 3)} of all possible releases no such bound holds."
        )
    return tuple(said)
