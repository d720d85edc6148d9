"""The built-in data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bdnn.datasets.bundled import (
    Dataset,
    load_boston_housing,
    load_breast_cancer,
    load_digits,
    load_iris,
    make_uniform,
)
from bdnn.datasets.credit import find_credit_default, load_credit_default
from bdnn.errors import DataError


@dataclass(frozen=True)
class Record:
    """What is known of a built-in data set before it is loaded.

    ``load`` takes the options of the data set, ``is_offline`` tells whether it needs no network.
    """

    name: str
    rows: int
    attributes: int
    classes: int
    source: str
    licence: str
    load: Callable[..., Dataset]
    is_offline: Callable[[], bool] = lambda: True

    def to_dict(self) -> dict[str, Any]:
        """List what is known as plain values."""
        shown = ("name", "rows", "attributes", "classes", "source", "licence")
        return {**{key: getattr(self, key) for key in shown}, "offline": self.is_offline()}


DATASETS: dict[str, Record] = {
    record.name: record
    for record in (
        Record(
            name="breast-cancer",
            rows=699,
            attributes=9,
            classes=2,
            source="Breast Cancer Wisconsin (Original), UCI; R package MASS, biopsy",
            licence="CC BY 4.0 (UCI); GPL-2 or GPL-3 (MASS)",
            load=load_breast_cancer,
        ),
        Record(
            name="iris",
            rows=150,
            attributes=4,
            classes=3,
            source="Iris, UCI; scikit-learn",
            licence="CC BY 4.0 (UCI); BSD-3-Clause (scikit-learn)",
            load=load_iris,
        ),
        Record(
            name="digits",
            rows=1797,
            attributes=64,
            classes=10,
            source="Optical Recognition of Handwritten Digits, UCI; scikit-learn",
            licence="CC BY 4.0 (UCI); BSD-3-Clause (scikit-learn)",
            load=load_digits,
        ),
        Record(
            name="boston-housing",
            rows=506,
            attributes=13,
            classes=2,
            source="Harrison and Rubinfeld (1978); R package MASS, Boston",
            licence="none stated by the authors; GPL-2 or GPL-3 (MASS)",
            load=load_boston_housing,
        ),
        Record(
            name="credit-default",
            rows=30000,
            attributes=23,
            classes=2,
            source="Default of Credit Card Clients, UCI; OpenML or a file in BDNN_DATA",
            licence="CC BY 4.0 (UCI)",
            load=load_credit_default,
            is_offline=lambda: find_credit_default() is not None,
        ),
        Record(
            name="uniform",
            rows=200,
            attributes=100,
            classes=2,
            source="random numbers, as described by Kurtz and Bah",
            licence="none needed",
            load=make_uniform,
        ),
    )
}


def names() -> tuple[str, ...]:
    """Names of the built-in data sets."""
    return tuple(DATASETS)


def describe() -> list[dict[str, Any]]:
    """List rows, attributes, classes, source and licence of every built-in data set."""
    return [record.to_dict() for record in DATASETS.values()]


def load(name: str, **options: Any) -> Dataset:
    """Load a built-in data set.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **options
        ``boston-housing`` takes ``target`` ("class" or "medv"), ``credit-default`` takes ``path``,
        ``uniform`` takes ``n_samples``, ``n_features`` and ``random_state``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from bdnn import datasets
    >>> iris = datasets.load("iris")
    >>> iris.X.shape, iris.target_name
    ((150, 4), 'species')
    """
    if name not in DATASETS:
        raise DataError(f"{name!r} is no built-in data set: choose one of {', '.join(DATASETS)}.")
    return DATASETS[name].load(**options)
