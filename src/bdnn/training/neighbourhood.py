"""Large-neighbourhood moves: free a few units, fix the rest, solve that exactly.

With all other units fixed their activations are constants, and what is left is a small program:
the weights of the freed units and of the layer above them, and the activations of these.
"""

from __future__ import annotations

import numpy as np

from bdnn.activation import FloatArray
from bdnn.formulation import NetworkModel
from bdnn.program import IndexArray, Program


def free_units(model: NetworkModel, start: FloatArray, layer: int, units: IndexArray) -> Program:
    """Restrict a model to networks that differ from a start in a few units and all above them.

    Parameters
    ----------
    model : NetworkModel
    start : array
        A solution of the model's program.
    layer : int
        Number of the layer whose units are freed, from 0.
    units : array of int
        Which of them. Layers above are free; layers below and the other units keep their weights
        and activations.
    """
    lower, upper = model.program.lower, model.program.upper

    def fix(columns: IndexArray) -> None:
        lower[columns] = upper[columns] = start[columns]

    for k in range(layer + 1):
        weights, steps = model.layers[k], model.steps[k]
        kept = np.ones(len(weights.W), dtype=bool)
        if k == layer:
            kept[units] = False
        fix(weights.W[kept])
        fix(steps.u[:, np.repeat(kept, steps.u.shape[1] // len(kept))])
        if weights.v is not None:
            fix(weights.v[kept])
        if k > 0:
            fix(model.products[k - 1].s[:, kept])
        # A threshold shared by the layer stays, unless all of the layer's units are free.
        if weights.t is not None and (weights.kind == "neuron" or kept.any()):
            fix(weights.t[kept])
    return model.program.with_bounds(lower, upper)
