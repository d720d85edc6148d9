"""A model as compiled code that predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numba.core import config
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.frames import object_table
from bdnn.encoding.reading import check_codes, note_gaps, read_codes
from bdnn.errors import DataError
from bdnn.model.kernels import predict_each, predict_row
from bdnn.model.layout import row_arrays, sliced, small_data
from bdnn.model.shorts import predict_few, predict_small_row
from bdnn.model.sliced import predict_rows, write_texts
from bdnn.model.vectors import WIDTH
from bdnn.network.activation import FloatArray

if TYPE_CHECKING:
    from bdnn.model.model import Model

# A block takes about as long for one row as for all: what so many of its groups take, a row takes
# that is done by itself; and so many rows take what is the same for all blocks.
_GROUPS_PER_ROW, _FEWEST_ROWS = 48, 32
_DOUBLE = np.dtype(np.float64)
# What code is compiled for; it would be compiled again for arrays that lie otherwise.
_PLAIN: tuple[Literal["C", "A", "W"], ...] = ("C", "A", "W")


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
        self._n_columns = encoder.n_columns
        self._arrays = row_arrays(encoder, network)
        self._small = None if model.targets else small_data(encoder, network)
        # Instructions on vectors are none of Python's.
        self._sliced = None if config.DISABLE_JIT else sliced(encoder, network)
        groups = [] if self._sliced is None else [*self._sliced.groups, *self._sliced.sum_groups]
        self._many = _FEWEST_ROWS + len(groups) // _GROUPS_PER_ROW

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
        if type(row) is not np.ndarray or not self._takes_codes:
            row = self._codes(row)
        elif row.dtype != _DOUBLE or not row.flags.carray:
            row = np.require(row, float, _PLAIN)
        if row.ndim == 1 and len(row) == self._n_columns:
            if self._small is not None:
                found = predict_small_row(row, self._small)
            else:
                scores = np.empty(self._n_outputs)
                found = predict_row(row, *self._arrays, scores)
            if found < 0:
                self._refuse(row[None])
            if self.model.targets is not None:
                return self.model.targets.inverse(scores)
            return self._labels[found]
        self._check(row)
        if self.model.targets is not None:
            return np.array([self(line) for line in row]).reshape(len(row), self._n_outputs)
        return take(self.model.labels, self.checked_outcomes(row)[0])

    def checked_outcomes(self, codes: FloatArray) -> tuple[NDArray[np.intp], bool]:
        """Index of every row's predicted class, for rows of codes; and whether one is missing."""
        found = np.empty(len(codes), dtype=np.int64)
        rows = np.require(codes, float, _PLAIN)
        if self._sliced is not None and len(rows) >= self._many:
            done = predict_rows(rows, found, self._sliced, *self._arrays)
            has_gaps = done > len(rows)
        else:
            if self._small is not None:
                done = predict_few(rows, found, self._small)
            else:
                done = predict_each(rows, found, *self._arrays, self._n_outputs)
            has_gaps = bool(np.isnan(rows.min(initial=0.0)))
        if done < len(rows):
            self._refuse(rows)
        return found, has_gaps

    def _codes(self, given: ArrayLike | Sequence[Any]) -> FloatArray:
        """Codes of a row or rows of anything but doubles."""
        if self._takes_codes:
            return np.require(given, float, _PLAIN)
        cells = np.asarray(given, dtype=object)
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
        check_codes(rows)


def take(labels: NDArray[Any], outcomes: NDArray[np.intp]) -> NDArray[Any]:
    """Labels of outcomes; those of texts by vectors, as NumPy calls a function for each."""
    size = labels.dtype.itemsize
    if labels.dtype.kind != "U" or size > WIDTH or len(outcomes) == 0 or config.DISABLE_JIT:
        return labels.take(outcomes)
    texts = np.zeros(labels.nbytes + WIDTH, dtype=np.uint8)
    texts[: labels.nbytes] = labels.view(np.uint8)
    found = np.empty(len(outcomes), dtype=labels.dtype)
    write_texts(texts, size, outcomes, found.view(np.uint8))
    return found
