"""The flat arrays that compiled moves read and write, and the names of their codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray

IntArray = NDArray[np.int64]
LevelArray = NDArray[np.uint8]
ByteArray = NDArray[np.uint8]

# Codes of the threshold kinds: compiled code compares integers faster than strings.
PER_UNIT, PER_LAYER, NO_THRESHOLD = 0, 1, 2
THRESHOLD_CODES = {"neuron": PER_UNIT, "layer": PER_LAYER, "zero": NO_THRESHOLD}


class Targets(NamedTuple):
    """Numbers that identity outputs should give; all arrays are empty where outputs are steps."""

    first: IntArray  # (n_inputs + 1,): input ``i`` owns the rows ``first[i]:first[i + 1]``
    values: FloatArray  # (outputs, rows)
    weight: FloatArray  # (rows,)
    price: FloatArray  # (outputs,)
    is_squared: bool  # whether errors are squared; otherwise their size counts


class Arrays(NamedTuple):
    """A network and its values on all inputs: one line per unit, one column per input.

    Units of all layers are numbered through from the first hidden layer to the outputs; layer ``k``
    owns the lines ``unit_at[k]:unit_at[k + 1]`` and the weights ``weight_at[k]:weight_at[k + 1]``.
    """

    inputs: FloatArray  # (n_features, n_inputs), without columns where inputs are bits
    # (n_inputs, bytes): inputs that are 0 or 1, see :mod:`bdnn.network.packed`; otherwise no bytes.
    bits: ByteArray
    widths: IntArray  # array of the number of features, hidden units per layer, and outputs
    weights: FloatArray
    weight_at: IntArray
    # (units, most levels): ascending in every line, infinite where a unit has fewer.
    thresholds: FloatArray
    unit_at: IntArray
    sums: FloatArray  # (units, n_inputs): pre-activations
    level: LevelArray  # (units, n_inputs): how many of its thresholds a unit reaches
    # (layers, 2): the values of units that have two, which take a faster way than :class:`Levels`.
    pair: FloatArray
    # (n_inputs,): what every input costs at present, see :mod:`bdnn.search.objective`.
    cost: FloatArray
    # (outputs, n_inputs).
    cost_on: FloatArray
    cost_off: FloatArray
    label_weight: FloatArray  # (classes, n_inputs)
    # Allowed weights of every integer layer, ascending; a continuous layer has none. The last three
    # are -1, 0 and 1.
    values: FloatArray
    value_at: IntArray
    threshold_kind: int
    # Weights of loss, error and hinge, the wanted margin, and whether ties go to the first class.
    goal: FloatArray
    # What makes the cost instead of on, off, label_weight and goal, where outputs are numbers.
    targets: Targets


class Levels(NamedTuple):
    """What networks need of whose units some have more than two values; others have None instead.

    Compiled functions are compiled once for None and once for this, so that those that never meet
    several values neither compile nor pay for what these need.
    """

    sets: FloatArray  # (layers, most values): values that units can take, ascending
    counts: IntArray  # array of the number of thresholds of a unit, one per layer
    # (layers, most levels): distances of the thresholds from a unit's shift, where they are fixed.
    offsets: FloatArray
    fixed: BoolArray  # boolean array, one entry per layer: whether distances are fixed


class Lines(NamedTuple):
    """Inputs of a unit where it matters: one line per weight, as numbers or as one of two."""

    values: FloatArray  # (n, p), without columns where there are codes
    # (n, p): 1 where an input is ``high``, 0 where it is ``low``; without columns for other inputs.
    codes: LevelArray
    low: float
    high: float


class MoveLimits(NamedTuple):
    """What moves may do to weights."""

    # Arrays with one entry per weight: equal where it must not change. Infinite where nothing but
    # the scale of the unit limits it: such a unit may be multiplied by any positive number.
    low: FloatArray
    high: FloatArray
    # (2, layers): largest numbers of weights that are not 0, of one unit and of all units
    # of a layer.
    most: IntArray
    total: int  # the same for the whole network
    copies: int  # how often a weight of an output counts: twice where one output stands for two
