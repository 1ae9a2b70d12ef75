"""Do the covariates of a regression matter at all? The null without their effects inside the model with them.

At the fitted null, with X the whole design, s = X'(E[a | released] − μ̂₀) and I = X' diag(i(μ̂₀)) X, the
score statistic is s' I⁻¹ s: the slopes of what the null fits vanish, so its degrees of freedom are the
effects. The likelihood ratio is twice what they add to the log likelihood. Which p-value is *the* one
is decided as for every test (`verdict`): by χ² of the score where counts are well above the noise, by
the larger of that and tables drawn from the null elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import chi_square
from .channel import Channel, Reals, Whole
from .design_matrix import Informed
from .evidence import Evidence
from .grouped import null_score
from .information import information
from .likelihood import Cells
from .maximum import GAIN, Fit
from .starts import STARTS, maximise_globally
from .statistics import BOOTSTRAPS, ROUGHLY, Model, batches, drawn, naive_statistic
from .verdict import LEVEL, dwarfs, is_sparse

_RIDGE = 1e-12


def effects(cells: Cells, null: Model, whole: Model, loglik: float) -> dict[str, Any]:
    """Both statistics of one table and the p-value; `loglik` is that of the fitted whole model."""
    released = cells.released[0]
    evidence = Evidence(released, cells.kinds, cells.channels, np.ones(len(released), bool))
    df = whole.design.shape[1] - null.design.shape[1]
    score, fit = scores(cells.channels, cells.kinds, cells.released, null, whole)
    lr = max(2 * (loglik - float(fit.loglik[0])), 0.0)
    by_chi2 = float(chi_square.tail(score[0], df))
    means = fit.means[0]
    made = drawn(cells.channels, cells.kinds, means, evidence.seed, BOOTSTRAPS)
    share = None
    if is_sparse(evidence, means, df):
        parts = np.array_split(made, batches(cells.channels, made, whole))
        again = np.concatenate(
            [
                scores(cells.channels, cells.kinds, part, null, whole, 1, ROUGHLY)[0]
                for part in parts
            ]
        )
        share = float((1 + (again >= score[0] - 1e-9).sum()) / (len(made) + 1))
    naive = _ordinary(released[None], null, whole)
    wrong = chi_square.tail(_ordinary(made, null, whole), df) <= LEVEL
    safe = dwarfs(float(means.mean()), float(evidence.variance.max()))
    return {
        "p": by_chi2 if share is None else max(by_chi2, share),
        "p_by": "chi-square" if share is None else "larger of chi-square and bootstrap",
        "score": float(score[0]),
        "lr": lr,
        "df": df,
        "p_score_chi_square": by_chi2,
        "p_score_bootstrap": share,
        "p_lr_chi_square": float(chi_square.tail(lr, df)) if safe else None,
        "naive": float(naive[0]),
        "naive_p": float(chi_square.tail(naive[0], df)),
        "naive_level": float(wrong.mean()),
    }


def effects_of_many(cells: Cells, terms: Reals, loglik: float) -> dict[str, Any]:
    """The same for the odds of very many groups, by χ²; nobody fits those by an ordinary design."""
    score, null = null_score(cells, terms)
    df = terms.shape[1] - 1
    p = float(chi_square.tail(score, df))
    numbers = {"p": p, "p_by": "chi-square", "score": score, "lr": max(2 * (loglik - null), 0.0)}
    return {**numbers, "df": df, "p_score_chi_square": p}


def scores(
    channels: Sequence[Channel],
    kinds: Whole,
    released: Whole,
    null: Model,
    whole: Model,
    starts: int = STARTS,
    gain: float = GAIN,
) -> tuple[Reals, Fit]:
    """The score statistic of every table, and the fit of the null behind it."""
    cells = Cells(channels, kinds, released)
    fit = maximise_globally(cells, null.design, null.offset, starts, gain=gain)
    known = information(cells.channels, cells.kinds, fit.means)
    slope = (fit.expected - fit.means) @ whole.design
    matrix = Informed(whole.design)(known)
    size = np.trace(matrix, axis1=1, axis2=2)[:, None, None] / matrix.shape[1]
    solved = np.linalg.solve(matrix + _RIDGE * size * np.eye(matrix.shape[1]), slope[..., None])
    return np.asarray((slope * solved[..., 0]).sum(1)), fit


def _ordinary(released: Whole, null: Model, whole: Model) -> Reals:
    """The likelihood ratio of a reader who takes the published numbers for counts."""
    gained = naive_statistic(released, null) - naive_statistic(released, whole)
    return np.maximum(gained, 0.0)
