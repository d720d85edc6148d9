"""The flat arrays that compiled moves read and write, and the names of their codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray

IntArray = NDArray[np.int64]
LevelArray = NDArray[np.uint8]

# Codes of the threshold kinds: compiled code compares integers faster than strings.
PER_UNIT, PER_LAYER, NO_THRESHOLD = 0, 1, 2
THRESHOLD_CODES = {"neuron": PER_UNIT, "layer": PER_LAYER, "zero": NO_THRESHOLD}


class Targets(NamedTuple):
    """Numbers that identity outputs should give; all arrays are empty where outputs are steps.

    Parameters
    ----------
    first : array of shape (n_inputs + 1,)
        Input ``i`` owns the rows ``first[i]:first[i + 1]``.
    values : array of shape (outputs, rows)
    weight : array of shape (rows,)
    price : array of shape (outputs,)
    is_squared : bool
        Whether errors are squared; otherwise their size counts.
    """

    first: IntArray
    values: FloatArray
    weight: FloatArray
    price: FloatArray
    is_squared: bool


class Arrays(NamedTuple):
    """A network and its values on all inputs: one line per unit, one column per input.

    Units of all layers are numbered through from the first hidden layer to the outputs; layer ``k``
    owns the lines ``unit_at[k]:unit_at[k + 1]`` and the weights ``weight_at[k]:weight_at[k + 1]``.

    Parameters
    ----------
    inputs : array of shape (n_features, n_inputs)
    widths : array of the number of features, hidden units per layer, and outputs
    weights, weight_at, unit_at : arrays
    thresholds : array of shape (units, most levels)
        Ascending in every line, infinite where a unit has fewer.
    sums : array of shape (units, n_inputs)
        Pre-activations.
    level : array of shape (units, n_inputs)
        How many of its thresholds a unit reaches.
    pair : array of shape (layers, 2)
        The values of units that have two, which take a faster way than :class:`Levels`.
    cost : array of shape (n_inputs,)
        What every input costs at present, see :mod:`bdnn.search.objective`.
    cost_on, cost_off : arrays of shape (outputs, n_inputs)
    mass : array of shape (classes, n_inputs)
    values, value_at : arrays
        Allowed weights of every integer layer, ascending; a continuous layer has none. The last
        three are -1, 0 and 1.
    threshold_kind : code
    goal : array
        Weights of loss, error and hinge, the wanted margin, and whether ties go to the first class.
    targets : Targets
        What makes the cost instead of on, off, mass and goal, where outputs are numbers.
    """

    inputs: FloatArray
    widths: IntArray
    weights: FloatArray
    weight_at: IntArray
    thresholds: FloatArray
    unit_at: IntArray
    sums: FloatArray
    level: LevelArray
    pair: FloatArray
    cost: FloatArray
    cost_on: FloatArray
    cost_off: FloatArray
    mass: FloatArray
    values: FloatArray
    value_at: IntArray
    threshold_kind: int
    goal: FloatArray
    targets: Targets


class Levels(NamedTuple):
    """What networks need of whose units some have more than two values; others have None instead.

    Compiled functions are compiled once for None and once for this, so that those that never meet
    several values neither compile nor pay for what these need.

    Parameters
    ----------
    sets : array of shape (layers, most values)
        Values that units can take, ascending.
    counts : array of the number of thresholds of a unit, one per layer
    offsets : array of shape (layers, most levels)
        Distances of the thresholds from a unit's shift, where they are fixed.
    fixed : boolean array, one entry per layer
        Whether distances are fixed.
    """

    sets: FloatArray
    counts: IntArray
    offsets: FloatArray
    fixed: BoolArray


class MoveLimits(NamedTuple):
    """What moves may do to weights.

    Parameters
    ----------
    low, high : arrays with one entry per weight
        Equal where it must not change. Infinite where nothing but the scale of the unit limits it:
        such a unit may be multiplied by any positive number.
    most : array of shape (2, layers)
        Largest numbers of weights that are not 0, of one unit and of all units of a layer.
    total : int
        The same for the whole network.
    copies : int
        How often a weight of an output counts: twice where one output stands for two.
    """

    low: FloatArray
    high: FloatArray
    most: IntArray
    total: int
    copies: int
