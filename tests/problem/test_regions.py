"""The bound by overlapping balls against brute force over what is given up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bdnn.problem.regions import overlap_bound

DISTANCES = {
    "linf": lambda d: np.abs(d).max(axis=-1),
    "l1": lambda d: np.abs(d).sum(axis=-1),
    "l2": lambda d: np.sqrt((d**2).sum(axis=-1)),
}


def smallest_cover(points, labels, radius, mass, norm):
    """Least mass of samples that touches every pair of meeting balls, by trying all sets."""
    m = len(points)
    pairs = [
        (i, j)
        for i, j in combinations(range(m), 2)
        if labels[i] != labels[j]
        and DISTANCES[norm](points[i] - points[j]) <= radius[i] + radius[j]
    ]
    best = np.inf
    for given_up in range(2**m):
        chosen = [given_up >> i & 1 for i in range(m)]
        if all(chosen[i] or chosen[j] for i, j in pairs):
            best = min(best, sum(mass[i] for i in range(m) if chosen[i]))
    return best


@pytest.mark.parametrize("norm", DISTANCES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_bound_is_below_the_smallest_cover(norm, n_classes, weighted):
    tight = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = rng.random((9, 2))
        labels = rng.integers(n_classes, size=9)
        radius = rng.uniform(0.05, 0.3, size=9)
        mass = rng.integers(1, 9, size=9) if weighted else np.full(9, 3)
        bound = overlap_bound(points, labels, radius, mass, norm)
        cover = smallest_cover(points, labels, radius, mass, norm)
        assert 0.0 <= bound <= cover + 1e-12
        tight += bound == cover
        if n_classes == 2 and not weighted:
            assert bound == cover
    assert tight > 0


def test_balls_that_are_apart_cost_nothing():
    points = np.array([[0.0], [1.0]])
    assert overlap_bound(points, np.array([0, 1]), np.full(2, 0.4), np.ones(2), "linf") == 0.0
    assert overlap_bound(points, np.array([0, 1]), np.full(2, 0.6), np.ones(2), "linf") == 1.0
    assert overlap_bound(points, np.array([1, 1]), np.full(2, 0.6), np.ones(2), "linf") == 0.0
    assert overlap_bound(np.zeros((0, 1)), np.zeros(0, int), np.zeros(0), np.zeros(0), "l1") == 0.0
