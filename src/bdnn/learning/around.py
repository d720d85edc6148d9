"""What rows may become, as learning sees it: bits that are certain, and bins in reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
        First and last bin in reach of every column with bits.
    patterns : array of shape (n_bins, n_bits)
        Bits of every bin of all columns.
    scale, rank : arrays of int of shape (n_bits,)
        Raw column of a cut and its place there, the lowest first; -1 for bits that are no cuts.
    """

    regions: Regions
    least: Array
    most: Array
    low: Bins
    high: Bins
    patterns: BoolArray
    scale: IntArray
    rank: IntArray

    @classmethod
    def of(cls, regions: Regions, encoder: Encoder) -> Around:
        """Take the bits of regions apart."""
        n_rows, n_inputs = regions.low.shape
        n_numbers = encoder.n_numbers
        low, high, blocks, start = [], [], [], 0
        for column in regions.bins:
            is_bit = column.inputs >= n_numbers
            n_bins = len(column.patterns)
            block = np.zeros((n_bins, n_inputs - n_numbers), dtype=bool)
            block[:, column.inputs[is_bit] - n_numbers] = column.patterns[:, is_bit] > 0
            first = column.sets.argmax(axis=1)
            last = n_bins - 1 - column.sets[:, ::-1].argmax(axis=1)
            low.append(start + first[column.set_of])
            high.append(start + last[column.set_of])
            blocks.append(block)
            start += n_bins
        ends = [np.stack(each, axis=1) if each else np.zeros((n_rows, 0)) for each in (low, high)]
        return cls(
            regions,
            regions.low[:, n_numbers:].astype(np.float32),
            regions.high[:, n_numbers:].astype(np.float32),
            *(end.astype(np.int64) for end in ends),
            np.concatenate([np.zeros((0, n_inputs - n_numbers), dtype=bool), *blocks]),
            *_scales(encoder),
        )

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
