"""Large-neighbourhood moves: free a part of a network, fix the rest, solve that exactly.

With all other units fixed their activations are constants, and what is left is a small program:
the weights of the freed units and of the layers above them, and the activations of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bdnn.mip import NetworkModel
from bdnn.mip.loss import OutputObjective
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.program import IndexArray, Program


def free_units(
    model: NetworkModel[OutputObjective], start: FloatArray, layer: int, units: IndexArray
) -> Program:
    """Restrict a model to networks that differ from a start in a few units and all above them.

    Parameters
    ----------
    model : NetworkModel[OutputObjective]
    start : array
        A solution of the model's program.
    layer : int
        Number of the layer whose units are freed, from 0.
    units : array of int
        Which of them. Layers above are free; layers below and the other units keep their weights
        and activations.
    """
    free = [np.full(len(part.W), k > layer) for k, part in enumerate(model.layers)]
    free[layer][units] = True
    return free_part(model, start, free)


def free_part(
    model: NetworkModel[OutputObjective],
    start: FloatArray,
    free: Sequence[BoolArray],
    *,
    samples: BoolArray | None = None,
    activations: Mapping[int, BoolArray] | None = None,
) -> Program:
    """Restrict a model to networks whose other units keep their weights and activations.

    Parameters
    ----------
    model : NetworkModel[OutputObjective]
    start : array
        Values of the model's variables, those of the fixed part at least.
    free : one array of bool per layer
        Units that are free. Outputs are whatever the network makes of them.
    samples : array of bool, optional
        Inputs whose activations may differ in free units; by default all.
    activations : mapping of layer numbers to arrays, optional
        What fixed layers must have instead of the start's activations.
    """
    lower, upper = model.program.lower, model.program.upper

    def fix(columns: IndexArray, values: FloatArray | BoolArray | None = None) -> None:
        lower[columns] = upper[columns] = start[columns] if values is None else values

    is_fixed_below = True
    for k, (weights, steps) in enumerate(zip(model.layers, model.steps, strict=True)):
        kept = ~free[k]
        fix(weights.W[kept])
        if weights.v is not None:
            fix(weights.v[kept])
        # A threshold shared by the layer stays, unless all of the layer's units are free.
        if weights.t is not None and (weights.kind == "neuron" or kept.any()):
            fix(weights.t[kept])
        if k > 0 and is_fixed_below:
            fix(model.products[k - 1].s[:, kept])
        if k == len(model.layers) - 1:
            break
        if activations is not None and k in activations:
            fix(steps.u, activations[k])
        else:
            fix(steps.u[:, np.repeat(kept, steps.u.shape[1] // len(kept))])
            if samples is not None:
                fix(steps.u[~samples])
        is_fixed_below = is_fixed_below and bool(kept.all()) and not activations
    return model.program.with_bounds(lower, upper)
