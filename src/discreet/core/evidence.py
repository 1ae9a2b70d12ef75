"""What a likelihood ratio of e^ε is called: the verbal scale that rinott §4.1 refers to.

Evett, Jackson, Lambert and McCrossan (2000) name ranges of a likelihood ratio; up to 10, ε = 2.3, it
is "limited evidence". A word is no guarantee: ε is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..errors import LawError
from ..languages import say
from .brackets import exp_bracket
from .exact import Exact, exact

_SCALE = (
    (10, say("limited evidence")),
    (100, say("moderate evidence")),
    (1_000, say("moderately strong evidence")),
    (10_000, say("strong evidence")),
)
_BEYOND = say("very strong evidence")


@dataclass(frozen=True)
class Evidence:
    """The largest likelihood ratio that ε allows, not rounded down, and its name."""

    epsilon: Fraction
    ratio: Fraction
    words: str


def evidence(epsilon: Exact) -> Evidence:
    """How strong the evidence for one person being in the data can get under ε with δ = 0.

    epsilon           exact, as text: "0.5", "1/3"

    >>> found = evidence("0.5")
    >>> round(float(found.ratio), 3), found.words
    (1.649, 'limited evidence')
    """
    number = exact(epsilon, "epsilon", least=0, most=1000, error=LawError)
    ratio = exp_bracket(number)[1]
    return Evidence(
        number, ratio, next((words for most, words in _SCALE if ratio <= most), _BEYOND)
    )
