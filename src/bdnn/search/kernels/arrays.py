"""The flat arrays that compiled moves read and write, and the names of their codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray

IntArray = NDArray[np.int64]

# Codes of the threshold kinds: compiled code compares integers faster than strings.
PER_UNIT, PER_LAYER, NO_THRESHOLD = 0, 1, 2
THRESHOLD_CODES = {"neuron": PER_UNIT, "layer": PER_LAYER, "zero": NO_THRESHOLD}


class Arrays(NamedTuple):
    """A network and its values on all inputs: one line per unit, one column per input.

    Units of all layers are numbered through from the first hidden layer to the outputs; layer ``k``
    owns the lines ``unit_at[k]:unit_at[k + 1]`` and the weights ``weight_at[k]:weight_at[k + 1]``.

    Parameters
    ----------
    inputs : array of shape (n_features, n_inputs)
    widths : array of the number of features, hidden units per layer, and outputs
    weights, weight_at, thresholds, unit_at : arrays
    sums : array of shape (units, n_inputs)
        Pre-activations.
    on : boolean array of shape (units, n_inputs)
    cost : array of shape (n_inputs,)
        What every input costs at present, see :mod:`bdnn.search.objective`.
    cost_on, cost_off : arrays of shape (outputs, n_inputs)
    mass : array of shape (classes, n_inputs)
    values, value_at : arrays
        Allowed weights of every integer layer, ascending; a continuous layer has none.
    frozen : boolean array, one entry per weight
        Weights that no move may change.
    threshold_kind : array of one code
    goal : array
        Weights of loss, error and hinge, the wanted margin, and whether ties go to the first class.
    """

    inputs: FloatArray
    widths: IntArray
    weights: FloatArray
    weight_at: IntArray
    thresholds: FloatArray
    unit_at: IntArray
    sums: FloatArray
    on: BoolArray
    cost: FloatArray
    cost_on: FloatArray
    cost_off: FloatArray
    mass: FloatArray
    values: FloatArray
    value_at: IntArray
    frozen: BoolArray
    threshold_kind: IntArray
    goal: FloatArray


class Levels(NamedTuple):
    """What hidden units of several values need besides :class:`Arrays`.

    Their thresholds are here; those of the outputs, which are steps, are with the other arrays.

    Parameters
    ----------
    thresholds : array of shape (hidden units, most thresholds)
        Ascending, infinite where a unit has fewer.
    values : array of shape (hidden units, n_inputs)
        What the units are at present.
    sets : array of shape (hidden layers, most values)
        Values that units can take, ascending.
    counts : array of the number of thresholds of a unit, one per hidden layer
    offsets : array of shape (hidden layers, most thresholds)
        Distances of the thresholds from a unit's shift, where they are fixed.
    fixed : boolean array, one entry per hidden layer
        Whether distances are fixed.
    """

    thresholds: FloatArray
    values: FloatArray
    sets: FloatArray
    counts: IntArray
    offsets: FloatArray
    fixed: BoolArray
