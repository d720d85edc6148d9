"""What rows may become, as learning sees it: bits that are certain, and bins in reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bdnn.encoding import Encoder
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.problem.regions import Regions

Array = NDArray[np.float32]
Bins = NDArray[np.int64]
IntArray = NDArray[np.intp]


class Surroundings(Protocol):
    """What training rows may become, whatever the encoder."""

    def reach(self, rows: IntArray, encoder: Encoder) -> FloatArray:
        """How far every raw value of some rows may move."""

    def regions(self, rows: IntArray, encoder: Encoder, wider: float) -> Regions:
        """Inputs that some rows may become within so many times the radius."""


@dataclass(frozen=True, eq=False)
class FewBins:
    """Bins that some bits tell apart, numbered along all columns.

    Attributes
    ----------
    bits : sparse array of shape (n_bins, n_bits)
        Which bits are on in every bin.
    low, high : arrays of shape (n_rows, n_columns)
        First and last bin in reach.
    column_of : array of shape (n_bits,)
    """

    bits: csr_array
    low: Bins
    high: Bins
    column_of: IntArray


@dataclass(frozen=True, eq=False)
class Around:
    """Regions around rows. Build it with :meth:`of`.

    A row reaches a literal if its bit has that value somewhere in the region. Bins in reach are
    neighbours, so that a row reaches a box of bins, such as a leaf of a tree, exactly if it reaches
    all literals of the box.

    Attributes
    ----------
    regions : Regions
        What certificates are about; numbers come before bits.
    least, most : arrays of shape (n_rows, n_bits)
        Bits that are certainly on, and those that can be.
    low, high : arrays of shape (n_rows, n_columns)
        First and last bin in reach of every column that has bins.
    scale, rank : arrays of int of shape (n_bits,)
        Raw column of a cut and its place there, the lowest first; -1 for bits that are no cuts.
    """

    regions: Regions
    least: Array
    most: Array
    low: Bins
    high: Bins
    scale: IntArray
    rank: IntArray

    @classmethod
    def of(cls, regions: Regions, encoder: Encoder) -> Around:
        """Take the bits of regions apart."""
        n_rows, n_numbers = len(regions.low), encoder.n_numbers
        low, high = np.zeros((2, n_rows, len(regions.bins)), np.int64)
        for j, column in enumerate(regions.bins):
            low[:, j] = column.sets.argmax(axis=1)[column.set_of]
            last = column.sets.shape[1] - 1 - column.sets[:, ::-1].argmax(axis=1)
            high[:, j] = last[column.set_of]
        least, most = (end[:, n_numbers:].astype(np.float32) for end in (regions.low, regions.high))
        return cls(regions, least, most, low, high, *_scales(encoder))

    def told_apart(self, used: BoolArray) -> FewBins:
        """Bins that some of the bits tell apart."""
        low, high = np.empty_like(self.low), np.empty_like(self.high)
        places, n_used = np.cumsum(used) - 1, int(used.sum())
        n_numbers, start = self.regions.low.shape[1] - len(used), 0
        blocks, column_of = [csr_array((0, n_used))], np.zeros(n_used, dtype=np.intp)
        for j, column in enumerate(self.regions.bins):
            bits = column.inputs - n_numbers
            own = (bits >= 0) & used[bits]
            patterns = column.patterns[:, own]
            is_new = np.append(True, (patterns[1:] != patterns[:-1]).any(axis=1))
            number = start + np.cumsum(is_new) - 1
            low[:, j], high[:, j] = number[self.low[:, j]], number[self.high[:, j]]
            bins, chosen = np.nonzero(patterns[is_new])
            target = places[bits[own]]
            column_of[target] = j
            shape = int(is_new.sum()), n_used
            blocks.append(csr_array((np.ones(len(bins)), (bins, target[chosen])), shape=shape))
            start += shape[0]
        return FewBins(csr_array(vstack(blocks)), low, high, column_of)

    def rows(self, chosen: NDArray[np.intp]) -> Around:
        """What is around some of the rows."""
        parts = {name: getattr(self, name)[chosen] for name in ("least", "most", "low", "high")}
        return replace(self, regions=self.regions.subset(chosen), **parts)


def _scales(encoder: Encoder) -> tuple[IntArray, IntArray]:
    """Column and place of every cut."""
    scale, rank = np.full((2, encoder.n_bits), -1, dtype=np.intp)
    places, columns, values = encoder.literals["ge"]
    for column in np.unique(columns):
        own = columns == column
        scale[places[own]] = column
        rank[places[own]] = np.argsort(np.argsort(values[own]))
    return scale, rank
