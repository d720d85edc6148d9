"""A share of the samples kept aside to test a network on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import ModelError


def split_holdout(
    y: NDArray[np.generic], share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split samples at random so that every class gives its share to the test part.

    Every class leaves at least one sample in the training part, so that small classes can be
    learned at all.

    Parameters
    ----------
    y : array of shape (n_samples,)
    share : float
        Part of the samples to test on, from 0 up to but not including 1.
    seed : int

    Returns
    -------
    train, test : arrays of int
        Ascending row numbers.
    """
    if not 0.0 <= share < 1.0:
        raise ModelError(
            f"the test size must be at least 0 and less than 1, got {share}: give a share."
        )
    rng = np.random.default_rng(seed)
    test = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        n_test = min(round(share * len(members)), len(members) - 1)
        test[members[:n_test]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)
