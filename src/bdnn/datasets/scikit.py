"""Data sets that come with scikit-learn, which is imported only when one is asked for."""

from __future__ import annotations

import numpy as np

from bdnn.datasets.dataset import Dataset


def load_iris() -> Dataset:
    """Load the measures of 150 iris flowers of three species."""
    from sklearn.datasets import load_iris as load

    bunch = load()
    names = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    return Dataset(
        "iris",
        np.asarray(bunch.data, dtype=float),
        np.asarray(bunch.target_names)[bunch.target].astype(str),
        names,
        "species",
        "Fisher's iris: length and width in cm of sepals and petals of 150 flowers, 50 of each "
        "of three species.",
    )


def load_digits() -> Dataset:
    """Load 1797 handwritten digits of 8 by 8 pixels."""
    from sklearn.datasets import load_digits as load

    bunch = load()
    return Dataset(
        "digits",
        np.asarray(bunch.data, dtype=float),
        np.asarray(bunch.target),
        tuple(bunch.feature_names),
        "digit",
        "Handwritten digits: 1797 pictures of 8 by 8 pixels with 17 levels of grey, the test part "
        "of the Optical Recognition of Handwritten Digits data.",
    )
