"""Folds: classes spread evenly, groups together."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.learning.comparison import folds_of, same_rows


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_classes_are_spread_as_evenly_as_can_be(n_folds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=83)
    fold = folds_of(labels, np.arange(83), n_folds, rng)
    for label in range(4):
        counts = np.bincount(fold[labels == label], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 4


@pytest.mark.parametrize("seed", range(5))
def test_groups_stay_together_and_folds_stay_even(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=120)
    groups = np.unique(rng.integers(60, size=120), return_inverse=True)[1]
    fold = folds_of(labels, groups, 4, rng)
    for group in range(groups.max() + 1):
        assert len(set(fold[groups == group])) == 1
    sizes = np.bincount(fold, minlength=4)
    assert sizes.min() > 15


def test_equal_rows_have_one_number_and_gaps_are_equal() -> None:
    codes = np.array([[1.0, np.nan], [1.0, 2.0], [1.0, np.nan], [np.nan, 2.0]])
    number = same_rows(codes)
    assert number[0] == number[2]
    assert len(set(number)) == 3
