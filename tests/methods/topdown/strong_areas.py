"""A second generator of deaths: the demo's tables, with effects of areas three times as strong.

Areas differ in how old their people are (a tilt of standard deviation 0.36 in the logarithm, from the
youngest to the oldest) and in every cause (0.45 in the logarithm). The prototypes on which the first
figures were found had 0.12 and 0.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.product import Whole
from discreet.demo import deaths

TILT, CAUSE = 0.36, 0.45


def strong_codes(seed: int = 7) -> dict[str, Whole]:
    """Records as positions in their lists of categories; areas under `area`."""
    rng = np.random.default_rng(seed)
    ccg = deaths.codes()["ccg"]
    areas = int(ccg.max()) + 1

    def drawn(weights: Any, rows: Whole) -> Whole:
        shares = np.asarray(weights, dtype=np.float64)
        upto = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        at = (rng.random(len(rows))[:, None] > upto[rows]).sum(axis=1)
        return np.asarray(np.minimum(at, shares.shape[1] - 1), dtype=np.int64)

    ages = np.asarray(deaths._AGE, dtype=np.float64)[2]
    tilt = rng.normal(0, TILT, (areas, 1)) * np.linspace(-1, 1, len(ages))
    age = drawn(ages * np.exp(tilt), ccg)
    sex = drawn([(women, 1000 - women) for women in deaths._FEMALE], age)
    causes = np.asarray(deaths._causes(), dtype=np.float64)
    own = np.exp(rng.normal(0, CAUSE, (areas, causes.shape[1])))
    by_area = (own[:, None, :] * causes[None]).reshape(-1, causes.shape[1])
    cause = drawn(by_area, ccg * len(causes) + age * 2 + sex)
    month = drawn([deaths._season(code) for code, _ in deaths.CAUSES], cause)
    both = zip(deaths._MARITAL_WOMEN, deaths._MARITAL_MEN, strict=True)
    marital = drawn([row for pair in both for row in pair], age * 2 + sex)
    return {"area": ccg, "age": age, "sex": sex, "cause": cause, "month": month} | {
        "marital": marital
    }
