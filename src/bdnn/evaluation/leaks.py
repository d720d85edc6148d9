"""Columns that know too much: the number of the row, or the class itself.

A column that counts the rows says where a row stood in the file, which new rows do not share. One
that tells the class all by itself is often written after the class was known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from bdnn.encoding import Column
from bdnn.network.activation import FloatArray

# Of fewer rows nothing is said.
_FEWEST_ROWS = 30
_MOST_ROWS = 20_000
# Share of every class, on average, that a column has to tell by itself.
_TELLS = 0.995
# Numbers that are whole, all different and this dense are names of rows.
_DENSE = 2.0
# Share of the texts of a column that occur too seldom to be told apart.
_SELDOM = 0.5
# Trees compare single floats.
_LARGEST = 1e30


@dataclass(frozen=True)
class Leak:
    """A column to doubt.

    Parameters
    ----------
    column : str
    kind : {"row", "class", "name"}
        Whether it counts the rows, tells the class, or is a different text in most rows.
    """

    column: str
    kind: Literal["row", "class", "name"]

    def __str__(self) -> str:
        said = {
            "row": "counts the rows, which says nothing of new ones",
            "class": "tells the class all by itself: is it known before the class is?",
            "name": "is a different text in most rows, which says nothing of new ones",
        }
        return f"column {self.column!r} {said[self.kind]}"


def find_leaks(
    codes: FloatArray, columns: Sequence[Column], labels: NDArray[np.intp] | None = None
) -> list[Leak]:
    """Columns of all rows, in the order of the file, that know too much.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
    columns : sequence of Column
    labels : array of int of shape (n_rows,), optional
        Numbers of classes.
    """
    if len(codes) < _FEWEST_ROWS:
        return []
    some = slice(None)
    if len(codes) > _MOST_ROWS:
        some = slice(None, None, -(-len(codes) // _MOST_ROWS))
    leaks = []
    for j, column in enumerate(columns):
        values = codes[:, j]
        if column.kind == "number" and _counts_rows(values):
            leaks.append(Leak(column.name, "row"))
        elif labels is not None and _tells(values[some], labels[some], column):
            leaks.append(Leak(column.name, "class"))
        elif column.kind == "category" and (values == -1).mean() >= _SELDOM:
            leaks.append(Leak(column.name, "name"))
    return leaks


def _counts_rows(values: FloatArray) -> bool:
    """Whether values only rise or only fall, or are whole numbers that name the rows."""
    if np.isnan(values).any():
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    if not (values == np.rint(values)).all() or np.ptp(values) > _DENSE * len(values):
        return False
    return len(np.unique(values)) == len(values)


def _tells(values: FloatArray, labels: NDArray[np.intp], column: Column) -> bool:
    """Whether one column, cut into few parts, tells the class of nearly all rows of every class."""
    n_classes = len(np.unique(labels))
    if n_classes < 2 or len(np.unique(values)) < n_classes:
        return False
    if column.kind == "category":  # a text is a part of its own, so that names tell everything
        places = np.unique(values, return_inverse=True)[1].ravel()
        if places.max() >= len(values) / 10:
            return False
        said = _leading(places, labels)
    else:
        tree = DecisionTreeClassifier(
            max_leaf_nodes=n_classes + 1, class_weight="balanced", random_state=0
        )
        known = np.nan_to_num(values, nan=-_LARGEST).clip(-_LARGEST, _LARGEST)[:, None]
        said = tree.fit(known, labels).predict(known)
    shares = [(said[labels == label] == label).mean() for label in np.unique(labels)]
    return float(np.mean(shares)) >= _TELLS


def _leading(places: NDArray[np.intp], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most frequent class of every row's part."""
    counts = np.zeros((int(places.max()) + 1, int(labels.max()) + 1))
    np.add.at(counts, (places, labels), 1)
    return np.asarray(counts.argmax(axis=1)[places])
