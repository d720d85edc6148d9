"""A model as a few arrays for the compiled code that predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.bins import make_bins
from bdnn.encoding.encoder import Encoder
from bdnn.encoding.frames import object_table
from bdnn.encoding.reading import note_gaps, read_codes
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.errors import DataError
from bdnn.limits import LARGEST_INPUT
from bdnn.model import kernels
from bdnn.network.activation import STEP, FloatArray
from bdnn.network.network import Network

if TYPE_CHECKING:
    from bdnn.model.model import Model

# A sum of 16 bits, less one on either side for limits that no sum reaches.
_MOST_SUM = 2**15 - 2
_FEW_ROWS = 16


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
        bins = _bins(encoder, network)
        self._arrays = (
            *_inputs(encoder),
            bins.groups,
            bins.cuts,
            bins.table,
            *_parameters(network, encoder.n_numbers),
        )
        self._small = _small_integers(encoder, network, bins)

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
        small = self._small
        if len(rows) < _FEW_ROWS:  # which would leave most of a block empty
            small = (0.0, *small[1:])
        done = kernels.predict_rows(rows, found, *self._arrays, *small)
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
            f"X must hold finite numbers of ordinary size, got {rows[row, column]} in row "
            f"{row + 1}, column {column + 1}: remove, fill or rescale it."
        )


class _Bins(NamedTuple):
    """Groups of bits that one column decides, and what their bins add to the first sums."""

    groups: NDArray[np.int64]
    cuts: FloatArray
    table: FloatArray


def _inputs(encoder: Encoder) -> tuple[FloatArray, NDArray[np.int64], FloatArray, float]:
    """Fills of the columns; which numbers are inputs, and how; the step."""
    fills = [np.nan if column.missing == "error" else column.filling for column in encoder.columns]
    terms, values = np.zeros((encoder.n_numbers, 2), dtype=np.int64), []
    for k, number in enumerate(encoder.numbers):
        terms[k] = number.column, number.value is not None
        values.append((number.shift, number.factor, 0.0))
        if number.value is not None:
            code = encoder.columns[number.column].values.index(number.value)
            values[-1] = (code, *encoder.transform_feature(k, np.array([0.0, 1.0])).tolist())
    return np.array(fills), terms, np.array(values).reshape(-1, 3), encoder.step


def _bins(encoder: Encoder, network: Network) -> _Bins:
    """Bits as bins of their columns: those of a column together, or one by one in their order."""
    W = network.weights[0][:, encoder.n_numbers :]
    columns = [bit.column for bit in encoder.bits]
    parts = [[i] for i in range(encoder.n_bits)]
    if _is_exact(encoder, network):
        parts = [[i for i, j in enumerate(columns) if j == column] for column in sorted({*columns})]
    groups, cuts, tables = [], [np.empty(0)], [np.empty((0, len(W)))]
    for part in parts:
        column = columns[part[0]]
        bits = tuple(replace(encoder.bits[i], column=0) for i in part)
        (own,) = make_bins(Encoder((encoder.columns[column],), bits=bits))
        first, patterns = own.first, own.patterns
        if encoder.columns[column].kind == "category":  # codes above the listed ones are not listed
            first = np.insert(first, -1, first[-2] + 1.0)
            patterns = np.insert(patterns, -1, patterns[0], axis=0)
        # Neighbours that the bits do not tell apart are one; the bin of missing values is the last.
        kept = np.append(True, (patterns[1:] != patterns[:-1]).any(axis=1))
        kept[-1] = True
        groups.append((column, sum(map(len, cuts)), int(kept.sum()) - 2, sum(map(len, tables))))
        cuts.append(first[kept][1:-1])
        tables.append(patterns[kept] @ W[:, part].T)
    found = np.array(groups, dtype=np.int64).reshape(-1, 4)
    found[:, 2] += found[:, 1]
    return _Bins(found, np.concatenate(cuts), np.ascontiguousarray(np.concatenate(tables)))


def _is_exact(encoder: Encoder, network: Network) -> bool:
    """Whether sums of the first layer do not round, so that their terms may come in any order."""
    W = network.weights[0]
    is_on_grid = not encoder.numbers or 0.0 < encoder.step <= 1.0
    is_small = np.abs(W).sum(axis=1).max(initial=0.0) * LARGEST_SCALED < 2.0**53 * encoder.step
    return bool((np.rint(W) == W).all() and is_on_grid and (is_small or not encoder.numbers))


def _parameters(network: Network, n_terms: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Shapes of the layers, and all their numbers; of the first one those of the numbers."""
    shape = network.architecture
    shapes, parts = [], []
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        taken = W if k else W[:, :n_terms]
        is_last = k + 1 == shape.n_layers
        is_score = is_last and (shape.output != "step" or shape.ties != "first")
        n_levels = 0 if is_score else t.shape[1]
        shapes.append((taken.shape[1], W.shape[0], n_levels))
        parts += [taken.T.ravel(), t.ravel()]
        if n_levels:
            parts.append(np.array(shape.activation_of(k).values, dtype=float))
    return np.array(shapes, dtype=np.int64), np.concatenate(parts)


def _small_integers(encoder: Encoder, network: Network, bins: _Bins) -> tuple[Any, ...]:
    """The same for sums of 16 bits, with how large numbers may be; 0 if there is no room at all."""
    unit, n = encoder.step or 1.0, encoder.n_numbers
    table = bins.table / unit
    most = _room(encoder, network, bins, table)
    padding = -table.shape[1] % kernels.LANES
    short = np.pad(table if most else table[:0], ((0, 0), (0, padding)))
    layers = [network.weights[0][:, :n], *network.weights[1:]]
    rows = [row for W in layers for row in (W if most else np.zeros_like(W))]
    # Sums of the first layer are counts of steps.
    units = [unit] + [1.0] * network.architecture.n_layers
    limits = [t[:, 0] / each for t, each in zip(network.thresholds[:-1], units, strict=False)]
    reached = np.ceil(np.concatenate([np.empty(0), *limits]))
    return (
        float(most),
        short.astype(np.int16),
        np.array(network.architecture.widths[1:], dtype=np.int64),
        np.cumsum([0, *(np.count_nonzero(row) for row in rows)]),
        np.concatenate([np.flatnonzero(row) for row in rows]),
        np.concatenate([row[row != 0] for row in rows]).astype(np.int16),
        np.clip(reached, -_MOST_SUM - 1, _MOST_SUM + 1).astype(np.int16),
        np.ascontiguousarray(network.output_thresholds),
        network.architecture.ties == "first",
    )


def _room(encoder: Encoder, network: Network, bins: _Bins, table: FloatArray) -> int:
    """How many steps large a number may be for all sums to have 16 bits, 0 if none may."""
    unit, shape = encoder.step or 1.0, network.architecture
    is_whole = all((np.rint(W) == W).all() for W in network.weights)
    is_step = all(rule.values == STEP.values for rule in shape.activations)
    if not (is_whole and is_step and math.frexp(unit)[0] == 0.5 and unit <= 1.0):
        return 0
    sizes = [np.abs(W) for W in network.weights]
    # Sums of fours go through 16 bits by themselves, whatever their signs.
    above = max((size.sum(axis=1).max(initial=0.0) for size in sizes[1:]), default=0.0)
    by_bits = np.zeros(shape.widths[1])
    for start, end in pairwise([*bins.groups[:, 3].tolist(), len(table)]):
        by_bits += np.abs(table[start:end]).max(axis=0)
    _, terms, values, _ = _inputs(encoder)
    is_text, on_numbers = terms[:, 1] == 1, sizes[0][:, : encoder.n_numbers]
    by_texts = on_numbers[:, is_text] @ np.abs(values[is_text, 1:]).max(axis=1, initial=0.0) / unit
    left = _MOST_SUM - (by_bits + by_texts).max(initial=0.0)
    if above > _MOST_SUM or left < 1:
        return 0
    return int(min(_MOST_SUM, left // max(1.0, on_numbers[:, ~is_text].sum(axis=1).max(initial=0))))
