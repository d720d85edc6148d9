"""All half-spaces again: the same as the compiled enumeration, and exact where floats are not."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.bounds.one_plane import best_plane, lattice_points
from bdnn.checker.claims import Deadline, OutOfTimeError
from bdnn.checker.planes import best_sum, few_columns, sweep
from bdnn.clock import Slot


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
def test_the_best_half_space_is_found_again(n_features):
    rng = np.random.default_rng(n_features)
    for n, largest in ((8, 1), (12, 2), (16, 5)):
        X = np.unique(rng.integers(0, largest + 1, (n, n_features)), axis=0).astype(float)
        gains = rng.integers(-3, 4, len(X))
        plane = best_plane(lattice_points(X), gains, Slot())
        points = few_columns([tuple(row) for row in X.astype(int).tolist()])
        missed = int(np.abs(gains).sum()) - best_sum(points, gains.tolist(), Deadline())
        assert missed == 2 * plane.cost


def test_columns_that_follow_from_others_are_left_out():
    points = [(0, 1, 7), (2, 5, 7), (4, 9, 7), (8, 17, 7)]
    assert few_columns(points) == [(0,), (1,), (2,), (4,)]
    assert few_columns([(1, 2)]) == [()]
    with pytest.raises(ValueError, match="dimensions"):
        few_columns([tuple(int(i == j) for i in range(9)) for j in range(9)])


def test_quotients_that_floats_do_not_tell_apart():
    big = 2**60
    # The two right signs exist together only between the two quotients.
    assert big / (big + 1) == (big + 1) / (big + 2)
    assert sweep([big + 1, big + 2], [big, big + 1], [-1, 1]) == 2
    # Of equal quotients neither can change without the other.
    assert sweep([big + 1, 2 * big + 2], [big, 2 * big], [-1, 1]) == 0
    assert sweep([1, 1], [10**400, -(10**400)], [-1, 1]) == 2
    assert sweep([0, 0, 1], [1, -1, 0], [2, 1, 3]) == 4


def test_time_and_size_are_limited():
    points = [(i, i * i, i**3) for i in range(2000)]
    gains = [(-1) ** i for i in range(2000)]
    with pytest.raises(ValueError, match="too many inputs"):
        best_sum(points, gains, Deadline())
    with pytest.raises(OutOfTimeError):
        best_sum(points[:100], gains[:100], Deadline(-1))
