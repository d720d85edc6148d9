"""A network and the surroundings of one sample in flat arrays, as compiled code takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray

IntArray = NDArray[np.int64]


class Layers(NamedTuple):
    """A network, one layer after the other in flat arrays."""

    widths: IntArray  # number of inputs, then of the units of every layer
    levels: IntArray  # thresholds per unit of every layer
    weights: FloatArray
    thresholds: FloatArray
    values: FloatArray  # of activations, one more per layer than thresholds
    error: FloatArray  # of the units of all layers: the most by which sums are off
    lead_error: FloatArray  # (n_outputs,): of the scores
    # (n_outputs,): what limits of the label's lead over another class have to be above.
    needed: FloatArray
    label: int
    influence: FloatArray  # (n_units of the first layer, n_features)
    # (n_features, n_units): weights of the first layer, and their sizes.
    first: FloatArray
    first_size: FloatArray
    # Whether boxes are settled by lines below the leads too, see `relaxation`.
    is_relaxed: bool


class Space(NamedTuple):
    """One sample and how far away coordinates are."""

    current: FloatArray
    centre: FloatArray
    unit: FloatArray
    whole: BoolArray
    step: float  # what a coordinate of 1 is as an input
    free: float  # how far rounding moves an input, which costs nothing
    slack: float
    norm: int
    narrow: FloatArray
