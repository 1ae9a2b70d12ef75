"""Variances of least-squares estimates, against plain linear algebra on the joint table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.methods.shared import least_squares
from discreet.methods.shared.least_squares import estimate_variances


def plainly(size, readings, impossible, targets, total_known):
    """The covariance of the best linear unbiased estimate, by a pseudo-inverse."""
    free = np.flatnonzero(~impossible)
    rows = [np.eye(cells)[:, address[free]] / np.sqrt(v) for address, cells, v in readings]
    covariance = np.linalg.pinv(np.concatenate(rows).T @ np.concatenate(rows), rcond=1e-11)
    if total_known:
        ones = np.ones(len(free))
        common = covariance @ ones
        covariance = covariance - np.outer(common, common) / (ones @ common)
    sums = [np.eye(cells)[:, address[free]] for address, cells in targets]
    return [np.einsum("ij,jk,ik->i", one, covariance, one) for one in sums]


def system(seed, shape=(6, 4, 3), interior=True):
    """Readings of a joint table at several levels, some cells impossible, and targets they give."""
    random = np.random.default_rng(seed)
    a, b, c = np.indices(shape).reshape(3, -1)
    size, (la, lb, lc) = len(a), shape
    pair = a // 2
    readings = [
        (a * lb + b, la * lb, 2.0),
        (pair * lc + c, ((la + 1) // 2) * lc, 0.7),
        (b, lb, 5.0),
        (np.zeros(size, dtype=np.int64), 1, 0.3),
    ]
    if interior:
        readings.append((np.arange(size), size, 1.5))
    targets = [(a, la), (pair, (la + 1) // 2), (b, lb), (a * lb + b, la * lb)]
    if interior:
        targets.append((np.arange(size), size))
    return size, readings, random.random(size) < 0.2, targets


@pytest.mark.parametrize("total_known", [False, True])
@pytest.mark.parametrize("way", ["low rank", "cells", "readings"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_variances_are_those_of_the_estimator(monkeypatch, way, total_known, seed):
    """By each way, structural zeros and a public total included."""
    size, readings, impossible, targets = system(seed, interior=way == "low rank")
    if way == "readings":
        monkeypatch.setattr(least_squares, "_alike", lambda *_: False)
    wanted = plainly(size, readings, impossible, targets, total_known)
    found = estimate_variances(size, readings, impossible, targets, total_known=total_known)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("total_known", [False, True])
def test_one_by_one_and_all_at_once_are_the_same(monkeypatch, total_known):
    """Cells of a large target are looked up pair by pair: the same numbers."""
    size, readings, impossible, targets = system(5)
    first = estimate_variances(size, readings, impossible, targets, total_known=total_known)
    monkeypatch.setattr(least_squares, "_MOST_WORK", 200_000)
    again = estimate_variances(size, readings, impossible, targets, total_known=total_known)
    for one, other in zip(again, first, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    monkeypatch.setattr(least_squares, "_MOST_WORK", 10)
    assert estimate_variances(size, readings, None, targets, total_known=True)[0] is None


def test_a_large_joint_table_has_its_variances_too():
    """7,200 cells, measured with margins at two levels: never above what the cells alone give."""
    size, readings, _, targets = system(1, shape=(12, 10, 60))
    found = estimate_variances(size, readings, None, targets, total_known=False)
    alone = [1.5 * size / cells for _, cells in targets]
    for spread, most, (_, cells) in zip(found, alone, targets, strict=True):
        assert spread.shape == (cells,)
        assert spread.max() < most
    assert found[-1] == pytest.approx(np.full(size, 1.5), rel=0.2)
    for (_, fine), (_, coarse) in pairwise(sorted(targets, key=lambda t: -t[1])):
        assert fine >= coarse


def test_too_many_readings_are_left_alone():
    """No reading of every cell and too many numbers: no variance is claimed."""
    size, readings, _, targets = system(1, shape=(90, 80, 5), interior=False)
    found = estimate_variances(size, readings, None, targets, total_known=False)
    assert found == [None] * len(targets)
