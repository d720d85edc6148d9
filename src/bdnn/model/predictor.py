"""A model as a few arrays for the compiled code that predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.frames import object_table
from bdnn.encoding.reading import note_gaps, read_codes
from bdnn.errors import DataError
from bdnn.limits import LARGEST_INPUT
from bdnn.model import kernels
from bdnn.network.activation import STEP, FloatArray
from bdnn.network.network import Network

if TYPE_CHECKING:
    from bdnn.model.model import Model

# A sum of 16 bits, less one on either side for limits that no sum reaches.
_MOST_SUM = 2**15 - 2
_KINDS = {"ge": kernels.AT_LEAST, "is": kernels.IS, "missing": kernels.MISSING}


class Predictor:
    """A model that is called with a row, or with rows, and answers as :meth:`Model.predict` does.

    It is compiled, checks no more than it must, and warns of nothing. Gaps in columns that had
    none in training are filled in silence.

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> predictor = classifier.predictor()  # doctest: +SKIP
    >>> predictor(np.array([5.1, 3.5, 1.4, 0.2]))  # doctest: +SKIP
    'setosa'
    """

    def __init__(self, model: Model) -> None:
        encoder, network = model.encoder, model.network
        self.model = model
        self._encoder = encoder
        self._takes_codes = all(column.kind == "number" for column in encoder.columns)
        self._n_outputs = network.architecture.n_outputs
        self._labels = model.labels.tolist()
        self._arrays = (*_inputs(encoder), *_parameters(network))
        self._small = _small_integers(encoder, network)

    def __call__(self, row: ArrayLike | Sequence[Any]) -> Any:
        """Predict the label of a row, or the labels of rows.

        Parameters
        ----------
        row : array of shape (n_columns,) or (n_rows, n_columns)
            Numbers, NaN where one is missing; or a list of cells with texts, in the order of
            ``model.feature_names``.

        Returns
        -------
        label or array of labels
            Of a regressor an array of shape (n_outputs,) or (n_rows, n_outputs).
        """
        if not (type(row) is np.ndarray and row.dtype == np.float64 and self._takes_codes):
            row = self._codes(row)
        if row.ndim == 1 and len(row) == len(self._arrays[0]):
            scores = np.empty(self._n_outputs)
            found = kernels.predict_row(row, *self._arrays, scores)
            if found < 0:
                self._refuse(row[None])
            if self.model.targets is not None:
                return self.model.targets.inverse(scores)
            return self._labels[found]
        self._check(row)
        if self.model.targets is not None:
            return np.array([self(line) for line in row]).reshape(len(row), -1)
        return self.model.labels[self.outcomes(row)]

    def outcomes(self, codes: FloatArray) -> NDArray[np.intp]:
        """Index of every row's predicted class, for rows of codes."""
        found = np.empty(len(codes), dtype=np.int64)
        rows = np.ascontiguousarray(codes, dtype=float)
        done = kernels.predict_rows(rows, found, *self._arrays, *self._small)
        if done < len(rows):
            self._refuse(rows)
        return found

    def _codes(self, given: ArrayLike | Sequence[Any]) -> FloatArray:
        """Codes of a row or rows of anything but doubles."""
        cells = np.asarray(given, dtype=float if self._takes_codes else object)
        if self._takes_codes:
            return cells
        rows = cells[None] if cells.ndim == 1 else cells
        self._check(rows)
        table = object_table(rows)
        table = replace(table, names=self._encoder.names, header=self._encoder.header)
        codes = read_codes(self._encoder, table)[0]
        return codes[0] if cells.ndim == 1 else codes

    def _check(self, rows: NDArray[Any]) -> None:
        n_columns = self._encoder.n_columns
        if rows.ndim != 2 or rows.shape[1] != n_columns:
            raise DataError(
                f"the model takes rows of {n_columns} columns, got an array of shape {rows.shape}: "
                "give one row, or rows of these."
            )

    def _refuse(self, rows: FloatArray) -> None:
        """Say what is wrong with rows of which one was refused."""
        note_gaps(self._encoder, rows)
        row, column = np.argwhere(~(np.abs(rows) <= LARGEST_INPUT) & ~np.isnan(rows))[0]
        raise DataError(
            f"X must hold finite numbers of ordinary size, got {rows[row, column]} in row {row}, "
            f"column {column}: remove, fill or rescale it."
        )


def _inputs(encoder: Encoder) -> tuple[FloatArray, NDArray[np.int64], FloatArray, float]:
    """Fills of the columns; what the inputs are, and their numbers; the step."""
    fills = [np.nan if column.missing == "error" else column.filling for column in encoder.columns]
    terms, values = [], []
    for k, number in enumerate(encoder.numbers):
        if number.value is None:
            terms.append((number.column, kernels.NUMBER, 1))
            values.append((number.shift, number.factor, 0.0, 0.0))
        else:
            code = encoder.columns[number.column].values.index(number.value)
            off, on = encoder.transform_feature(k, np.array([0.0, 1.0])).tolist()
            terms.append((number.column, kernels.IS, 1))
            values.append((code, 0.0, off, on))
    for bit in encoder.bits:
        column = encoder.columns[bit.column]
        is_text = isinstance(bit.value, str)
        value = column.values.index(str(bit.value)) if is_text else float(bit.value or 0.0)
        is_filled = column.missing != "bit" and bit.kind != "missing"
        terms.append((bit.column, _KINDS[bit.kind], int(is_filled)))
        values.append((value, 0.0, 0.0, 1.0))
    return np.array(fills), np.array(terms, dtype=np.int64), np.array(values), encoder.step


def _parameters(network: Network) -> tuple[NDArray[np.int64], FloatArray]:
    """Shapes of the layers, and all their numbers."""
    shape = network.architecture
    shapes, parts = [], []
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        is_last = k + 1 == shape.n_layers
        is_score = is_last and (shape.output != "step" or shape.ties != "first")
        n_levels = 0 if is_score else t.shape[1]
        shapes.append((W.shape[1], W.shape[0], n_levels))
        parts += [W.T.ravel(), t.ravel()]
        if n_levels:
            parts.append(np.array(shape.activation_of(k).values, dtype=float))
    return np.array(shapes, dtype=np.int64), np.concatenate(parts)


def _small_integers(encoder: Encoder, network: Network) -> tuple[Any, ...]:
    """The same for sums of 16 bits, with how large numbers may be; 0 if there is no room at all."""
    most = _room(encoder, network)
    used = [row != 0 for W in network.weights for row in W]
    weights = [row[row != 0] for W in network.weights for row in W]
    # Sums of the first layer are counts of steps.
    units = [encoder.step or 1.0] + [1.0] * network.architecture.n_layers
    limits = [t[:, 0] / unit for t, unit in zip(network.thresholds[:-1], units, strict=False)]
    reached = np.ceil(np.concatenate([np.empty(0), *limits]))
    return (
        float(most),
        np.array(network.architecture.widths[1:], dtype=np.int64),
        np.cumsum([0, *map(len, weights)]),
        np.concatenate([np.flatnonzero(row) for row in used]),
        (np.concatenate(weights) if most else np.zeros(sum(map(len, weights)))).astype(np.int16),
        np.clip(reached, -_MOST_SUM - 1, _MOST_SUM + 1).astype(np.int16),
        np.ascontiguousarray(network.output_thresholds),
        network.architecture.ties == "first",
    )


def _room(encoder: Encoder, network: Network) -> int:
    """How many steps large a number may be for all sums to have 16 bits, 0 if none may."""
    unit, shape = encoder.step or 1.0, network.architecture
    is_whole = all((np.rint(W) == W).all() for W in network.weights)
    if not is_whole or math.frexp(unit)[0] != 0.5 or unit > 1.0:
        return 0
    if any(rule.values != STEP.values for rule in shape.activations):
        return 0
    sizes = [np.abs(W) for W in network.weights]
    most = max((size.sum(axis=1).max(initial=0.0) for size in sizes[1:]), default=0.0)
    _, terms, values, _ = _inputs(encoder)
    fixed = np.abs(values[:, 2:]).max(axis=1) / unit
    left = _MOST_SUM - (sizes[0] @ fixed).max(initial=0.0)
    if most > _MOST_SUM or left < 1:
        return 0
    by_numbers = sizes[0][:, terms[:, 1] == kernels.NUMBER].sum(axis=1).max(initial=0.0)
    return int(min(_MOST_SUM, left // max(1.0, by_numbers)))
