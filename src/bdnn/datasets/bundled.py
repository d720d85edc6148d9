"""Data sets that lie as small files inside the package, or inside scikit-learn.

That is imported only when one of its data sets is asked for.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from bdnn.datasets.dataset import Dataset
from bdnn.errors import DataError

# What the authors of the paper put into the 16 empty cells: the mean, rounded up.
_FILLED_BARE_NUCLEI = "4"


def load_breast_cancer() -> Dataset:
    """Load the cytology of 699 breast tumours, benign or malignant."""
    names, cells = _read("breast-cancer.csv")
    attributes = cells[:, :-1]
    attributes[attributes == ""] = _FILLED_BARE_NUCLEI
    return Dataset(
        "breast-cancer",
        attributes.astype(float),
        cells[:, -1],
        names[:-1],
        names[-1],
        "Breast Cancer Wisconsin (Original): nine cytological grades from 1 to 10 of each of 699 "
        "tumours. The 16 missing values of bare_nuclei are filled with 4, as in the paper.",
    )


def load_boston_housing(target: str = "class") -> Dataset:
    """Load 506 districts of Boston with the value of their homes.

    Parameters
    ----------
    target : {"class", "medv"}
        ``high`` or ``low`` for a median value above the median of all districts or not, which
        gives the paper's 49.4 % and 50.6 %; or the median value itself, in 1000 dollars.
    """
    if target not in ("class", "medv"):
        raise DataError(
            f"target of boston-housing must be 'class' or 'medv', got {target!r}: "
            "choose one of these."
        )
    names, cells = _read("boston-housing.csv")
    numbers = cells.astype(float)
    values = numbers[:, -1]
    classes = np.where(values > np.median(values), "high", "low")
    return Dataset(
        "boston-housing",
        numbers[:, :-1],
        values if target == "medv" else classes,
        names[:-1],
        "value" if target == "class" else "medv",
        "Boston housing: thirteen properties of each of 506 districts; classes tell whether the "
        "median value of the homes is above 21.2 thousand dollars, the median of all districts.",
    )


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


def _read(filename: str) -> tuple[tuple[str, ...], NDArray[np.str_]]:
    text = files("bdnn.datasets").joinpath("files", filename).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return tuple(header), np.array(rows)
