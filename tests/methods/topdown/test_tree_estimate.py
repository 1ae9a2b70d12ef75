"""Least squares over a tree against the normal equations, written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.methods.topdown.tree import Tree
from discreet.methods.topdown.tree_estimate import TreeEstimate

from ...examples import examples
from .trees import nested


@examples(60)
@given(st.data())
def test_estimates_and_variances_are_those_of_the_normal_equations(data: st.DataObject) -> None:
    """Every node and every sum of nodes: the least-squares estimate and its exact variance."""
    leaves = data.draw(st.integers(1, 7))
    groups = data.draw(st.integers(1, leaves))
    up = [*range(groups), *(data.draw(st.integers(0, groups - 1)) for _ in range(leaves - groups))]
    area = nested("area", [up])
    tree = Tree("area", (area.levels[1], area.levels[0]), 0)
    precisions = [data.draw(st.sampled_from([0.0, 0.5, 2.0])) for _ in range(3)]
    if not any(precisions):
        return
    finest = np.eye(leaves)
    middle = (np.array(up)[None, :] == np.arange(groups)[:, None]).astype(float)
    sums = [np.ones((1, leaves)), middle, finest]
    every = np.vstack(sums)
    weights = np.repeat(precisions, tree.sizes)
    information = every.T @ (weights[:, None] * every)
    inverse = np.linalg.pinv(information, hermitian=True)
    drawn = np.random.default_rng(data.draw(st.integers(0, 99))).normal(0, 5, len(every))
    solved = inverse @ (every.T @ (weights * drawn))

    def variance(wanted: np.ndarray) -> float:
        known = np.abs(information @ inverse @ wanted - wanted).max() < 1e-8
        return float(wanted @ inverse @ wanted) if known else np.inf

    over = TreeEstimate(tree, precisions)
    parts = np.split(drawn[:, None], np.cumsum(tree.sizes)[:-1])
    measured = [part if p else None for part, p in zip(parts, precisions, strict=True)]
    estimates = over.estimate(measured)
    places = np.array([data.draw(st.integers(-1, 2)) for _ in range(leaves)])
    for level, nodes in enumerate(sums):
        wanted = [variance(node) for node in nodes]
        np.testing.assert_allclose(over.node_variances()[level], wanted, atol=1e-8)
        for node, one in enumerate(nodes):
            if np.isfinite(wanted[node]):
                assert abs(estimates[level][node, 0] - one @ solved) < 1e-8
        if np.isfinite(wanted).all():
            together = nodes @ inverse @ nodes.T
            np.testing.assert_allclose(over.covariance(level), together, atol=1e-8)
    grouped = [variance(finest[places == group].sum(axis=0)) for group in range(3)]
    np.testing.assert_allclose(over.variances(2, places, 3), grouped, atol=1e-8)
