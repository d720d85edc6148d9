"""The bins of a raw column: sets of raw values that a network's bits do not tell apart.

A column of numbers has one bin per interval ``[c, c')`` between neighbouring cuts, a truth value or
a text is a bin of its own, and so is a missing value, which comes last. Raw values are doubles: the
largest one below a cut is the end of the bin below it, so that every bin has both of its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn import limits
from bdnn.encoding.encoder import Encoder
from bdnn.network.activation import FloatArray


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one column, the one of missing values last.

    Attributes
    ----------
    inputs : array of int
        Places of the network's inputs that the bin decides: bits, and all inputs of a column of
        truth values or texts. A number of a column of numbers is none of them.
    first, last : arrays of shape (n_bins,)
        Least and largest raw value of every bin, NaN for the missing one.
    patterns : array of shape (n_bins, n_inputs)
        Values of these inputs.
    is_listed : bool
        Whether bins are single values that have no distance: truth values and texts.
    """

    inputs: NDArray[np.intp]
    first: FloatArray
    last: FloatArray
    patterns: FloatArray
    is_listed: bool

    @property
    def n_bins(self) -> int:
        """Number of bins, the one of missing values included."""
        return len(self.first)

    def of(self, values: FloatArray) -> NDArray[np.intp]:
        """Bins of raw values."""
        found = np.searchsorted(self.first[:-1], values, side="right") - 1
        if self.first[0] == -1.0 and self.is_listed:  # nor are texts of larger codes listed
            found = np.where(values > self.first[-2], 0, found)
        return np.where(np.isnan(values), self.n_bins - 1, np.maximum(found, 0))


def make_bins(encoder: Encoder, further: Sequence[Sequence[float]] = ()) -> tuple[Bins, ...]:
    """Bins of every column of an encoder.

    Parameters
    ----------
    encoder : Encoder
    further : sequence of sequences of float
        More cuts of every column, where bins are to tell more values apart than the bits do.
    """
    ends = [_ends(encoder, j, further[j] if len(further) else ()) for j in range(encoder.n_columns)]
    sizes = [len(first) for first, _ in ends]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # One row per bin, with something harmless in the other columns.
    codes = np.zeros((int(starts[-1]), encoder.n_columns))
    for j, (first, _) in enumerate(ends):
        codes[starts[j] : starts[j + 1], j] = first
    inputs, column_of = encoder.transform(codes), encoder.column_of
    found = []
    for j, (first, last) in enumerate(ends):
        is_listed = encoder.columns[j].kind != "number"
        own = np.flatnonzero(column_of == j)
        own = own if is_listed else own[own >= encoder.n_numbers]
        patterns = inputs[starts[j] : starts[j + 1]][:, own]
        found.append(Bins(own, first, last, patterns, is_listed))
    return tuple(found)


def _ends(encoder: Encoder, j: int, further: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Least and largest raw value of every bin of a column."""
    column = encoder.columns[j]
    if column.kind == "boolean":
        codes = np.array([0.0, 1.0, np.nan])
        return codes, codes
    if column.kind == "category":
        # A text that is not listed has the code -1.
        codes = np.append(np.arange(-1.0, len(column.values)), np.nan)
        return codes, codes
    _, columns, values = encoder.literals["ge"]
    cuts = np.unique(np.concatenate([values[columns == j], np.asarray(further, dtype=float)]))
    first = np.concatenate([[-limits.LARGEST_INPUT], cuts])
    last = np.append(np.nextafter(cuts, -np.inf), limits.LARGEST_INPUT)
    return np.append(first, np.nan), np.append(last, np.nan)
