"""How much every raw column matters: how often another value of it changes the answer.

A row gets the values that the column has in all rows, each as often as it occurs there. The share
of answers that change is computed and not drawn by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bdnn.model import Model
from bdnn.network.activation import FloatArray

# Values of a column that are tried.
_MOST_VALUES = 64


@dataclass(frozen=True)
class Importance:
    """One column.

    Parameters
    ----------
    column : str
    flips : float
        Share of the answers that change; of a regressor the root of the mean square of the change,
        in units of the target.
    loss : float or None
        Accuracy that is lost on average, where labels are known.
    """

    column: str
    flips: float
    loss: float | None = None


def importances(model: Model, codes: FloatArray, y: ArrayLike | None = None) -> list[Importance]:
    """Columns by how often another value of theirs changes the answer, the most important first.

    Parameters
    ----------
    model : Model
    codes : array of shape (n_rows, n_columns)
        Rows, best those that were not trained on.
    y : array of shape (n_rows,), optional
        Labels of a classifier.
    """
    truth = None if y is None or model.kind == "regressor" else model.codes(y, len(codes))
    said = _answers(model, codes)
    used = set(model.encoder.column_of[model.network.weights[0].any(axis=0)].tolist())
    found = []
    for j, name in enumerate(model.feature_names):
        flips, loss = 0.0, 0.0
        if j in used:
            flips, loss = _moved(model, codes, said, truth, j)
        found.append(Importance(name, flips, None if truth is None else loss))
    return sorted(found, key=lambda each: -each.flips)


def _answers(model: Model, codes: FloatArray) -> FloatArray:
    if model.kind == "regressor":
        return np.asarray(model.predict(codes), dtype=float)
    return model.outcomes(codes).astype(float)[:, None]


def _moved(
    model: Model, codes: FloatArray, said: FloatArray, truth: np.ndarray | None, j: int
) -> tuple[float, float]:
    """Share of answers that change with one column, and accuracy that is lost."""
    # Values that the inputs do not tell apart are one.
    own = model.encoder.transform(codes)[:, model.encoder.column_of == j]
    _, first, counts = np.unique(own, axis=0, return_index=True, return_counts=True)
    if len(first) > _MOST_VALUES:
        order = np.sort(codes[:, j][~np.isnan(codes[:, j])])
        places = (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES * len(order)
        values, shares = order[places.astype(int)], np.full(_MOST_VALUES, 1 / _MOST_VALUES)
    else:
        values, shares = codes[first, j], counts / counts.sum()
    flips = loss = 0.0
    right = None if truth is None else said[:, 0] == truth
    for value, share in zip(values.tolist(), shares.tolist(), strict=True):
        changed = codes.copy()
        changed[:, j] = value
        answers = _answers(model, changed)
        if model.kind == "regressor":
            flips += share * float(np.square(answers - said).mean())
            continue
        flips += share * float((answers != said).mean())
        if right is not None:
            loss += share * float(right.mean() - (answers[:, 0] == truth).mean())
    return (float(np.sqrt(flips)) if model.kind == "regressor" else flips), loss
