"""A network of one plane per class, for data whose classes planes can tell apart."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.starts.simple import nearest_weights

# Numbers in the inputs beyond which least squares are no longer a matter of milliseconds.
_LARGEST_TABLE = 1_000_000


def separating_start(problem: Problem[OutputLoss]) -> Network | None:
    """Put every class on one side of a least-squares plane of its own.

    With more features than samples that is a network without errors. None where the architecture
    is not one hidden layer with a unit per class and weights that can be zero.
    """
    shape, X = problem.architecture, problem.inputs
    n_classes = shape.n_outputs
    if (
        len(shape.hidden) != 1
        or shape.has_levels
        or shape.hidden[0] < n_classes
        or not all(kind.zero for kind in shape.weights)
        or not 0 < X.size <= _LARGEST_TABLE
    ):
        return None
    wanted = np.where(problem.loss.label_weight > problem.loss.cost_on, 1.0, -1.0)
    has_biases = shape.thresholds == "neuron"
    design = np.column_stack([X, np.ones(len(X))]) if has_biases else X
    planes = np.linalg.lstsq(design, wanted, rcond=None)[0].T
    size = np.maximum(np.abs(planes[:, : X.shape[1]]).max(axis=1, keepdims=True), 1e-300)
    W = np.zeros((shape.hidden[0], X.shape[1]))
    W[:n_classes] = nearest_weights(planes[:, : X.shape[1]] / size, shape.weights[0])
    V = np.eye(n_classes, shape.hidden[0])
    t, T = np.zeros(len(W)), np.zeros(n_classes)
    if has_biases:
        t[:n_classes] = _between(weighted_sums(X, W[:n_classes]), wanted > 0)
    if shape.thresholds == "zero":
        # An output at threshold 0 is on unless something speaks against it.
        W[:n_classes], V = -W[:n_classes], -V
    else:
        T[:] = 0.5
    return Network(shape, (W, V * shape.weights[1].limit), (t, T))


def _between(sums: FloatArray, above: BoolArray) -> FloatArray:
    """Half-way between the sums that should be above a threshold and those below."""
    least = np.where(above, sums, np.inf).min(axis=0)
    most = np.where(above, -np.inf, sums).max(axis=0)
    # A class that is everywhere or nowhere has sums on one side only.
    least = np.where(np.isinf(least), most + 1.0, least)
    most = np.where(np.isinf(most), least - 1.0, most)
    return np.asarray(0.5 * (least + most))
