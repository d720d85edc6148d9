"""Small data sets: files inside the package, those of scikit-learn, and the paper's random data.

Scikit-learn is imported only when one of its data sets is asked for.
"""

from __future__ import annotations

import csv
import operator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import DataError
from bdnn.network.activation import FloatArray

# What the authors of the paper put into the 16 empty cells: the mean, rounded up.
_FILLED_BARE_NUCLEI = "4"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their targets.

    Parameters
    ----------
    name : str
    X : array of shape (n_samples, n_features)
        Finite numbers.
    y : array of shape (n_samples,)
        Labels of the classes, or numbers where a regression target was asked for.
    feature_names : tuple of str
    target_name : str
    description : str
        One or two sentences: what a row is, where it comes from.
    """

    name: str
    X: FloatArray
    y: NDArray[np.generic]
    feature_names: tuple[str, ...]
    target_name: str
    description: str


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

    The class tells whether the median value is above the median of all districts, which gives the
    paper's 49.4 % and 50.6 %; ``medv`` is the median value itself, in 1000 dollars.
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


def make_uniform(n_samples: int = 200, n_features: int = 100, random_state: int = 0) -> Dataset:
    """Draw the paper's uniform data.

    Every third row has entries in [0, 10] and label 1, every third has entries in [-10, 0] and
    label 0, and every third has entries in [-1, 1] and a random label. The three kinds take turns,
    as in the files of the paper's authors, so that any first part of the rows is a fair sample.
    """
    n_samples = _count("n_samples", n_samples)
    n_features = _count("n_features", n_features)
    rng = np.random.default_rng(random_state)
    kind = np.arange(n_samples) % 3
    lower = np.array([0.0, -10.0, -1.0])[kind, None]
    upper = np.array([10.0, 0.0, 1.0])[kind, None]
    X = rng.uniform(lower, upper, size=(n_samples, n_features))
    y = np.where(kind == 2, rng.integers(0, 2, size=n_samples), 1 - kind)
    return Dataset(
        "uniform",
        X,
        y,
        tuple(f"x{j}" for j in range(1, n_features + 1)),
        "label",
        "Uniform random points around three centres: one third of them positive with label 1, one "
        "third negative with label 0, one third near the origin with random labels.",
    )


def _read(filename: str) -> tuple[tuple[str, ...], NDArray[np.str_]]:
    text = files("bdnn.datasets").joinpath("files", filename).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return tuple(header), np.array(rows)


def _count(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise DataError(f"{name} must be a whole number of at least 1, got {value!r}: give one.")
    return number
