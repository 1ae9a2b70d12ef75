"""The test of independence: right level, one maximum, the same digits from every file, one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from discreet import formats
from discreet.core.cell_law import CellLaw, MarginLaw, Source
from discreet.core.law_builders import laplace
from discreet.core.law_kinds import PrivateLaw
from discreet.core.pure_laplace import PureLaplace
from discreet.core.table import Status
from discreet.errors import CannotConclude, InputError
from discreet.formats.table_files import read_tables
from discreet.inference.channel import Channel, Treatment, channel
from discreet.inference.design_matrix import hierarchical, independent_columns
from discreet.inference.independence import independence_test
from discreet.inference.likelihood import Cells
from discreet.inference.starts import maximise_globally

from .tables import LAWS, cell_law, ptable, released, table

TWO_WAY = [(0,), (1,)]


def loglik(made: Channel, shown: np.ndarray) -> Callable[[np.ndarray], float]:
    """The log likelihood of means by its definition, Σ w e^−μ μ^a / a!: no shared code."""
    windows = [made.weights(x) for x in shown.tolist()]
    counts = np.concatenate([first + np.arange(len(w)) for first, w in windows])
    weights = np.concatenate([w for _, w in windows])
    cell = np.repeat(np.arange(len(windows)), [len(w) for _, w in windows])
    factorials = gammaln(counts + 1.0)

    def of(means: np.ndarray) -> float:
        mean = means[cell]
        masses = weights * np.exp(counts * np.log(mean) - mean - factorials)
        return float(np.log(np.maximum(np.bincount(cell, masses), 1e-300)).sum())

    return of


def best_of(made: Channel, shown: np.ndarray, design: np.ndarray, starts: int) -> float:
    """The best of several starts of scipy's own search."""
    random = np.random.default_rng(5)
    level = np.log(max(np.maximum(shown, 0).mean(), 0.5))
    best, of = -np.inf, loglik(made, shown)
    for _ in range(starts):
        start = random.normal(0, 0.7, design.shape[1])
        start[0] += level
        found = minimize(
            lambda b: -of(np.exp(np.clip(design @ b, -40, 30))),
            start,
            method="BFGS",
        )
        best = max(best, -float(found.fun))
    return best


def misses(tables: int, starts: int, share: float) -> tuple[int, int]:
    """Tables whose maximum is more than 10^-6 below the best known, and those that say so."""
    random = np.random.default_rng(3)
    missed = said = 0
    for number in range(tables):
        name = list(LAWS)[number % len(LAWS)]
        made = channel(LAWS[name])
        shape = tuple(random.integers(2, 5, 2))
        mean = share * max(made.sd, 1.0) * np.exp(random.uniform(0, 1))
        effects = [np.exp(random.uniform(-0.4, 0.4, n)) for n in shape]
        shown = made.release(random.poisson(mean * np.outer(*effects)).ravel(), random)
        design = hierarchical(shape, TWO_WAY)
        fit = maximise_globally(Cells([made], np.zeros(shown.size, dtype=np.int64), shown), design)
        if fit.loglik[0] < best_of(made, shown, design, starts) - 1e-6:
            missed += 1
            said += bool(fit.starts[0] > 1)
    return missed, said


@pytest.mark.slow
def test_the_maximum_is_that_of_independent_code() -> None:
    """Means above twice the noise: the best of 3 starts of other code is never better."""
    assert misses(7, 3, 2.0) == (0, 0)


@pytest.mark.proof
def test_the_maximum_over_200_tables() -> None:
    """200 tables above twice the noise, 20 starts of other code: none missed by 10^-6."""
    assert misses(200, 20, 2.0) == (0, 0)


@pytest.mark.proof
def test_the_maximum_of_sparse_tables() -> None:
    """200 sparse tables, 20 starts: at most 5 % missed, and each of them says that it may be."""
    missed, said = misses(200, 20, 0.5)
    assert missed <= 10
    assert said == missed


@pytest.mark.parametrize("name", LAWS)
def test_the_certificate_holds_at_a_maximum(name: str) -> None:
    """Converged, positive definite, and no small step in any direction is better."""
    shown, made = released(LAWS[name], np.full((4, 5), 40.0))
    design = hierarchical((4, 5), TWO_WAY)
    cells = Cells([made], np.zeros(20, dtype=np.int64), shown.ravel())
    fit = maximise_globally(cells, design)
    assert fit.converged[0]
    assert fit.eigenvalue[0] > 0
    for step in np.random.default_rng(1).normal(0, 1e-3, (20, design.shape[1])):
        logs = cells.moments(np.exp((fit.parameters[0] + step) @ design.T)[None])[0]
        assert logs.sum() <= fit.loglik[0]


def test_without_noise_it_is_pearsons_test() -> None:
    """Counts as they are: score is X², the likelihood ratio is G²."""
    from scipy.stats import chi2_contingency

    counts = np.array([[30, 14, 9], [22, 25, 11]])
    answer = independence_test(table(counts, CellLaw(cells=(MarginLaw(None, None),))))
    pearson = chi2_contingency(counts, correction=False)
    ratio = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    assert answer.score == pytest.approx(pearson.statistic, rel=1e-5)
    assert answer.p_score_chi_square == pytest.approx(pearson.pvalue, rel=1e-5)
    assert answer.lr == pytest.approx(ratio.statistic, rel=1e-5)
    assert answer.naive == pytest.approx(ratio.statistic, rel=1e-5)
    assert answer.df == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "treatment"),
    [("max entropy 5, 2", Treatment()), ("p-table 8, 4, blocked 2", Treatment(hidden_below=3))],
)
def test_every_file_gives_the_same_digits(name: str, treatment: Treatment, tmp_path: Path) -> None:
    """A table in memory and its four files, sparse enough to draw tables: equal to the last digit."""
    shown, _ = released(LAWS[name], np.full((4, 3), 5.0), 2, treatment)
    made = table(shown, cell_law(LAWS[name], treatment))
    answer = independence_test(made)
    for ending in (".json", ".csv", ".parquet", ".xlsx"):
        formats.write(made, tmp_path / f"t{ending}")
        (again,) = read_tables(tmp_path / f"t{ending}")
        assert independence_test(again).to_json() == answer.to_json()


def test_dependence_is_found_and_said_first() -> None:
    """A strong dependence behind noise: the sentence says it; three axes given one."""
    counts = np.array([[200, 40, 90], [60, 180, 95]])
    answer = independence_test(table(counts, cell_law(laplace("0.5", 7))))
    assert answer.sentence.startswith("Region and cause depend on each other (p = 0.001")
    assert str(answer).splitlines()[0] == answer.sentence
    cube = np.stack([counts, counts], axis=-1)
    within = independence_test(table(cube, cell_law(laplace("0.5", 7))), given="sex")
    assert within.df == 4
    assert "within each sex" in within.sentence


def test_cells_that_cannot_exist_are_left_out() -> None:
    """Structural zeros take their degree of freedom with them."""
    counts = np.array([[50, 40, 0], [60, 45, 30], [20, 35, 40]])
    status = np.where(counts == 0, Status.STRUCTURAL_ZERO, Status.OK)
    answer = independence_test(table(counts, cell_law(laplace("1", 7)), status=status))
    assert answer.df == 3
    assert "cannot exist" in " ".join(answer.caveats)


def test_the_columns_kept_span_the_same_space() -> None:
    """A design with a repeated column loses one of them."""
    design = hierarchical((3, 3), TWO_WAY)
    twice = np.column_stack([design, design[:, 1] + design[:, 2]])
    assert independent_columns(twice).shape == design.shape


def refused(made: object, words: str) -> None:
    with pytest.raises(CannotConclude) as problem:
        independence_test(made)  # type: ignore[arg-type]
    assert words in problem.value.message
    assert problem.value.message.count("\n") == 0


COUNTS = np.array([[30, 14, 9], [22, 25, 11]])
LAW = cell_law(laplace("0.5", 7))


@pytest.mark.slow
def test_bad_input_gets_one_sentence() -> None:
    """Every table that is no evidence says why, and what would be."""
    refused(table(COUNTS, CellLaw()), "carries no law")
    refused(table(COUNTS - 60, LAW), "cannot give")
    refused(table(COUNTS, replace(LAW, mean_weight=True)), "weighted cell-key")
    refused(table(COUNTS, replace(LAW, unit=10), measure="weighted count"), "weighted count")
    refused(table(COUNTS, replace(LAW, consistency="least squares")), "no covariance")
    refused(table(COUNTS, replace(LAW, measured=False)), "never measured together")
    refused(table(COUNTS[:1], LAW), "one category")
    refused(table(COUNTS[0], LAW), "needs two variables")
    refused(table(COUNTS * 0, LAW), "No cell of this table shows a number above 0")
    hidden = np.where(COUNTS == 9, Status.SUPPRESSED, Status.OK)
    refused(table(COUNTS, LAW, status=hidden), "1 of 6 cells are suppressed")
    private = CellLaw((Source("cell", PrivateLaw("p-table")),), (MarginLaw(None, 0),))
    refused(table(COUNTS, private), "kept by the custodian")
    synthetic = CellLaw(cells=(MarginLaw(None, None),), about={"counts": "synthetic records"})
    refused(table(COUNTS, synthetic), "synthetic records")
    for epsilon in ("0.01", "0.001", "0.000001"):
        refused(table(COUNTS, cell_law(PureLaplace.of(epsilon))), "othing can be concluded")
    with pytest.raises(InputError, match="has no axis 'sexx'"):
        independence_test(table(COUNTS, LAW), given="sexx")


def test_a_zero_row_is_named() -> None:
    """A row that shows nothing above 0 is said to add nothing; the others are tested."""
    counts = np.array([[40, 44, 39], [0, -2, 0], [52, 55, 41]])
    answer = independence_test(table(counts, LAW))
    assert any("region 1 shows nothing above 0" in words for words in answer.caveats)
    assert answer.p > 0.05


@pytest.mark.parametrize("cut", [Treatment(least=120), Treatment(hidden_below=120)])
def test_cuts_far_above_small_means(cut: Treatment) -> None:
    """A law that ends, and a cut that small means never reach: tested; refused where all is hidden."""
    shown, _ = released(ptable(5, "2"), np.full((3, 4), 140.0), 5, cut)
    assert 0 < independence_test(table(shown, cell_law(ptable(5, "2"), cut))).p <= 1
    nothing, _ = released(ptable(5, "2"), np.full((3, 4), 40.0), 5, cut)
    with pytest.raises(CannotConclude, match="shows a number above 0"):
        independence_test(table(nothing, cell_law(ptable(5, "2"), cut)))


def test_what_is_left_beside_suppressed_cells() -> None:
    """The axis that leaves most is named; where none leaves two categories, that is said."""
    counts = np.full((3, 4), 40)
    status = np.zeros(counts.shape, dtype=np.uint8)
    status[0, 1] = status[2, 1] = Status.SUPPRESSED
    law = cell_law(laplace("0.5", 7))
    with pytest.raises(CannotConclude, match="without cause cause 1: the other 3 can be tested"):
        independence_test(table(counts, law, status=status))
    status[1, 0] = status[0, 2] = Status.SUPPRESSED
    with pytest.raises(CannotConclude, match="fewer, larger categories"):
        independence_test(table(counts, law, status=status))
