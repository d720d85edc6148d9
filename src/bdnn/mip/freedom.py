"""Parts of a network set free while the rest stays (problems H1 and H2 of Algorithm 1, and moves).

A model of the whole network is restricted by fixing columns (:func:`free_part`). Where single
layers are free much smaller programs do (:class:`FreeLayer`): the inputs of the free layer are
given, so that its sums are linear in its weights; what stands above it keeps its weights W, t:

    outputs above:       W u - t decides the outputs z, and with them the loss
    hidden layer above:  W u must give the activations that this layer has now
    nothing above:       the free layer's own activations are the outputs

H1 and H2 free every second layer. Between two free layers lies one that keeps its activations, so
that the problem falls apart into one program per free layer, of which only the topmost knows the
loss. Samples that look the same to the free layer share their rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bdnn.blocks.bounds import Reductions
from bdnn.blocks.weights import Given
from bdnn.mip.model import DEFAULT_EPS, NetworkModel
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputBlock, OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray, Program


def free_units(
    model: NetworkModel[OutputBlock],
    start: FloatArray,  # a solution of the model's program
    layer: int,  # number of the layer whose units are freed, from 0
    # Which of them. Layers above are free; layers below and the other units keep their weights and
    # activations.
    units: IndexArray,
) -> Program:
    """Restrict a model to networks that differ from a start in a few units and all above them."""
    free = [np.full(len(part.W), k > layer) for k, part in enumerate(model.layers)]
    free[layer][units] = True
    return free_part(model, start, free)


def free_part(
    model: NetworkModel[OutputBlock],
    start: FloatArray,  # values of the model's variables, those of the fixed part at least
    free: Sequence[BoolArray],  # units that are free
    *,
    # Inputs whose activations may differ in free units; by default all.
    samples: BoolArray | None = None,
    # What fixed layers must have instead of the start's activations.
    activations: Mapping[int, BoolArray] | None = None,
    # Whether outputs are fixed like other activations; else they are whatever the network makes of
    # them.
    fix_outputs: bool = False,
) -> Program:
    """Restrict a model to networks that differ from a start in some units."""
    lower, upper = model.program.lower, model.program.upper

    def fix(columns: IndexArray, values: FloatArray | BoolArray | None = None) -> None:
        lower[columns] = upper[columns] = start[columns] if values is None else values

    is_fixed_below = True
    for k, (weights, steps) in enumerate(zip(model.layers, model.steps, strict=True)):
        if k in model.given.layers:
            break
        kept = ~free[k]
        fix(weights.W[kept])
        if weights.v is not None:
            fix(weights.v[kept])
        # A threshold shared by the layer stays, unless all of the layer's units are free.
        if weights.t is not None and (weights.kind == "neuron" or kept.any()):
            fix(weights.t[kept])
        if k > 0 and is_fixed_below:
            fix(model.products[k - 1].s[:, kept])
        if k == len(model.layers) - 1 and not fix_outputs:
            break
        if activations is not None and k in activations:
            fix(steps.u, activations[k])
        else:
            fix(steps.u[:, np.repeat(kept, steps.u.shape[1] // len(kept))])
            if samples is not None:
                fix(steps.u[~samples])
        is_fixed_below = is_fixed_below and bool(kept.all()) and not activations
    return model.program.with_bounds(lower, upper)


@dataclass(frozen=True)
class FreeLayer:
    """The model of one free layer, with the way to and from networks.

    Build one with :meth:`build`.
    """

    network: Network  # gives all layers but the free one
    number: int  # the free layer, from 0
    units: IndexArray  # its units that the program holds
    samples: IndexArray  # a sample of the problem for every distinct line of inputs
    model: NetworkModel[OutputBlock]  # of the free layer and the one above it

    @classmethod
    def build(
        cls,
        problem: Problem[OutputLoss],
        network: Network,
        number: int,  # the layer that is free, from 0
        *,
        # Outputs to optimise, where the output layer is free: without a shared threshold they do
        # not depend on each other. By default all units.
        units: IndexArray | None = None,
        # Activations that the other hidden layers keep; by default those of the network.
        activations: list[BoolArray] | None = None,
        # (n_units,): prices of active units below a fixed hidden layer, which leaves the choice
        # open.
        wishes: FloatArray | None = None,
        eps: float = DEFAULT_EPS,  # strictness margin of continuous weights
    ) -> FreeLayer:
        """Write down the program of a free layer."""
        shape, top = problem.architecture, problem.architecture.n_layers - 1
        on = network.activations(problem.inputs) if activations is None else activations
        seen = problem.inputs if number == 0 else on[number - 1].astype(float)
        kept = on[number + 1] if number + 1 < top else np.zeros((len(seen), 0), dtype=bool)
        lines = np.hstack([seen, kept])
        _, samples, group = np.unique(lines, axis=0, return_index=True, return_inverse=True)
        units = np.arange(shape.widths[number + 1]) if units is None else units
        is_top, is_kept = number == top, number + 1 < top
        n_outputs = len(units) if is_top else shape.widths[number + 2]
        above = {} if is_top else {1: (network.weights[number + 1], network.thresholds[number + 1])}
        part = replace(
            shape,
            n_features=seen.shape[1],
            hidden=() if is_top else (shape.hidden[number],),
            n_outputs=n_outputs,
            weights=shape.weights[number : number + 2],
            activations=shape.activations[number : number + 1],
        )
        inputs = Samples.merge(seen[samples], apart=True)
        loss, pattern = problem.loss.merged(group.reshape(-1)), problem.loss.pattern
        if pattern is not None and number == 0:
            loss = replace(loss, pattern=pattern.subset(samples))
        model = NetworkModel.build(
            Problem(part, inputs, loss),
            reductions=Reductions(one_output=False, signed=False),
            eps=eps,
            given=Given(above, kept[samples] if is_kept else None, units if is_top else None),
        )
        if is_kept and wishes is not None:
            u = model.steps[0].u
            model.program.minimise(u, np.broadcast_to(wishes, u.shape))
        return cls(network, number, units, samples, model)

    @property
    def program(self) -> Program:
        """What a solver gets."""
        return self.model.program

    @property
    def loss(self) -> OutputBlock | None:
        """None where the program does not touch the loss."""
        return None if self.model.given.outputs is not None else self.model.loss

    @property
    def bound(self) -> float:
        """Loss that no weights of the layer avoid: samples that look the same to it."""
        return -math.inf if self.loss is None else self.loss.least

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        return self.put(self.model.read(x))

    def put(self, part: Network) -> Network:
        """Put a network of the model back into the whole one."""
        weights, thresholds = list(self.network.weights), list(self.network.thresholds)
        W, t = weights[self.number].copy(), thresholds[self.number].copy()
        W[self.units], t[self.units] = part.weights[0], part.thresholds[0]
        weights[self.number], thresholds[self.number] = W, t
        return Network(self.network.architecture, tuple(weights), tuple(thresholds))

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network that differs in the free layer only into a start, None if it is none."""
        parts = slice(self.number, self.number + len(self.model.layers))
        weights, thresholds = list(network.weights[parts]), list(network.thresholds[parts])
        weights[0], thresholds[0] = weights[0][self.units], thresholds[0][self.units]
        shape = self.model.problem.architecture
        start = self.model.lift(Network(shape, tuple(weights), tuple(thresholds)))
        if start is None or self.program.violation(start) > 1e-6:
            return None
        return start

    def restricted(
        self, start: FloatArray, units: BoolArray, samples: BoolArray | None = None
    ) -> Program:
        """Free only some units, and of these the activations of some samples only.

        What is not free keeps its value of the start; ``units`` and ``samples`` tell what is free.
        """
        free = [units[self.units], *(np.ones(len(part.W), bool) for part in self.model.layers[1:])]
        rows = None if samples is None else samples[self.samples]
        return free_part(self.model, start, free, samples=rows, fix_outputs=True)
