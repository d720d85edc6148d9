"""The built-in data sets by name.

Default of credit card clients: a file of the user's, or a download from OpenML.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bdnn.datasets.bundled import (
    Dataset,
    load_boston_housing,
    load_breast_cancer,
    load_digits,
    load_iris,
    make_uniform,
)
from bdnn.errors import DataError
from bdnn.network.activation import FloatArray

_FEATURES = (
    *("limit_bal", "sex", "education", "marriage", "age"),
    *("pay_0", "pay_2", "pay_3", "pay_4", "pay_5", "pay_6"),
    *(f"bill_amt{month}" for month in range(1, 7)),
    *(f"pay_amt{month}" for month in range(1, 7)),
)
_SHAPE = (30000, 24)
# SHA-256 of the sorted rows as little-endian 64-bit integers, so that copies in another order or
# another format are recognised too.
_CHECKSUM = "cd1e2be26f6b244f2e3d6e31fe11f5ae7f7618e2ae9685c9cf2d845b3c1ed18a"
_OPENML_ID = 42477
_FILENAMES = (
    "default-of-credit-card-clients.csv.gz",
    "default-of-credit-card-clients.csv",
    "default of credit card clients.csv",
    "UCI_Credit_Card.csv",
)


def load_credit_default(path: str | os.PathLike[str] | None = None) -> Dataset:
    """Load 30000 credit card clients, of whom some default the next month.

    A CSV file (also ``.gz``) has the 23 attributes and the label last, with or without header and
    client number. Without a path it is looked for in the folder that the environment variable
    ``BDNN_DATA`` names, and then fetched from OpenML.
    """
    file = Path(path) if path is not None else find_credit_default()
    values = _from_openml() if file is None else _from_file(file)
    if values.shape != _SHAPE or _checksum(values) != _CHECKSUM:
        raise DataError(
            f"the credit-default data of {file or 'OpenML'} differ from the published ones (wrong "
            "checksum): get the file again from the UCI repository."
        )
    return Dataset(
        "credit-default",
        values[:, :-1],
        values[:, -1].astype(int),
        _FEATURES,
        "default",
        "Default of credit card clients (Taiwan, 2005): credit limit, person, six months of "
        "payments and bills of 30000 clients; label 1 for a default in the following month.",
    )


def find_credit_default() -> Path | None:
    """Look for the file in the folder of ``BDNN_DATA``."""
    folder = os.environ.get("BDNN_DATA")
    if not folder:
        return None
    paths = (Path(folder) / name for name in _FILENAMES)
    return next((path for path in paths if path.is_file()), None)


def _from_file(path: Path) -> FloatArray:
    from bdnn.datasets.tables import read_table

    table = read_table(path)
    values = table.numbers
    # The UCI sheet saved as CSV has a second line of names, which reads as one row of text.
    if table.n_rows == _SHAPE[0] + 1:
        values = values[1:]
    # 25 columns: the first one is the client's number.
    values = values[:, 1:] if values.shape[1] == _SHAPE[1] + 1 else values
    return values


def _from_openml() -> FloatArray:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # A retry is announced by a warning, which the error below says better.
            warnings.simplefilter("ignore", UserWarning)
            bunch = fetch_openml(
                data_id=_OPENML_ID, as_frame=False, parser="liac-arff", n_retries=1
            )
    except (OSError, ValueError) as error:
        raise DataError(
            f"credit-default could not be fetched from OpenML ({_first_line(error)}): set "
            f"BDNN_DATA to a folder that holds {_FILENAMES[0]}, or pass its path."
        ) from error
    return np.column_stack([bunch.data, bunch.target]).astype(float)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _checksum(values: FloatArray) -> str:
    if not (np.isfinite(values).all() and (values == np.rint(values)).all()):
        return "not whole numbers"
    rows = values.astype("<i8")
    ordered = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
    return hashlib.sha256(ordered.tobytes()).hexdigest()


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
