"""One layer set free while the rest of the network stays (problems H1 and H2 of Algorithm 1).

The inputs of the free layer are given, so that its sums are linear in its weights; what stands
above it keeps its weights W, t:

    outputs above:       W u - t decides the outputs z, and with them the loss
    hidden layer above:  W u must give the activations that this layer has now
    nothing above:       the free layer's own activations are the outputs

H1 and H2 free every second layer. Between two free layers lies one that keeps its activations, so
that the problem falls apart into one program per free layer, of which only the topmost knows the
loss. Samples that look the same to the free layer share their rows. A free first layer has robust
rows where its activations must hold in balls around the inputs, see :mod:`bdnn.mip.robust`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bdnn.mip.bounds import (
    INTEGRALITY_TOLERANCE,
    LayerBounds,
    box_bounds,
    layer_bounds,
)
from bdnn.mip.layers import Steps
from bdnn.mip.loss import OutputObjective
from bdnn.mip.model import DEFAULT_EPS
from bdnn.mip.robust import DualNorms, Robust, first_layer_bounds
from bdnn.mip.weights import LayerWeights, weight_range
from bdnn.network.activation import BoolArray, FloatArray, step, weighted_sums
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray, Program


@dataclass(frozen=True)
class FreeLayer:
    """The program of one free layer, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    network : Network
        Gives all layers but the free one.
    number : int
        The free layer, from 0.
    units : array of int
        Its units that the program holds.
    samples : array of int
        A sample of the problem for every distinct line of inputs.
    inputs : array of shape (n_lines, n_inputs)
        What the layer sees.
    program : Program
    layer : LayerWeights
    steps : Steps
    outputs : array or None
        Columns of the outputs where the layer above is the output layer.
    loss : OutputObjective or None
        None where the program does not touch the loss.
    dual_norms : DualNorms or None
        Of a first layer whose activations must hold under perturbations.
    """

    network: Network
    number: int
    units: IndexArray
    samples: IndexArray
    inputs: FloatArray
    program: Program
    layer: LayerWeights
    steps: Steps
    outputs: IndexArray | None
    loss: OutputObjective | None
    dual_norms: DualNorms | None = None

    @classmethod
    def build(
        cls,
        problem: Problem[OutputLoss],
        network: Network,
        number: int,
        *,
        units: IndexArray | None = None,
        activations: list[BoolArray] | None = None,
        wishes: FloatArray | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
    ) -> FreeLayer:
        """Write down the program of a free layer.

        Parameters
        ----------
        problem : Problem[OutputLoss]
        network : Network
        number : int
            The layer that is free, from 0.
        units : array of int, optional
            Outputs to optimise, where the output layer is free: without a shared threshold they do
            not depend on each other. By default all units.
        activations : list of arrays, optional
            Activations that the other hidden layers keep; by default those of the network.
        wishes : array of shape (n_units,), optional
            Prices of active units below a fixed hidden layer, which leaves the choice open.
        eps : float
            Strictness margin of continuous weights.
        robust : Robust, optional
            Balls around the inputs in which no activation of a free first layer may change.
        """
        shape = problem.architecture
        on = network.activations(problem.inputs) if activations is None else activations
        top = shape.n_layers - 1
        seen = problem.inputs if number == 0 else on[number - 1].astype(float)
        kept = on[number + 1] if number + 1 < top else np.zeros((len(seen), 0), dtype=bool)
        samples, lines = _distinct(np.hstack([seen, kept]))
        inputs = seen[samples]
        robust = None if robust is None or number > 0 else robust.of_inputs(samples)
        units = np.arange(shape.widths[number + 1]) if units is None else units
        program = Program()
        bounds = _bounds(problem, inputs, number, eps, robust)
        weights = shape.weights[number]
        size = (len(units), inputs.shape[1])
        layer = LayerWeights.add(program, number + 1, size, weights, shape.thresholds, bounds)
        steps = Steps.add_activations(program, layer, len(inputs))
        needs_active = needs_inactive = np.ones(steps.u.shape, dtype=bool)
        outputs = loss = None
        if number >= top - 1:
            loss = OutputObjective.of_groups(problem, lines)
        if number == top and loss is not None:
            loss = OutputObjective(loss.cost_on[:, units], loss.cost_off[:, units])
            if robust is None:
                needs_active, needs_inactive = (
                    loss.cost_on < loss.cost_off,
                    loss.cost_on > loss.cost_off,
                )
            loss.add(program, steps.u)
        values = (inputs / bounds.unit)[:, None, :]
        dual_norms = None if robust is None else DualNorms.add(program, layer, robust)
        if dual_norms is not None:
            dual_norms.add_rows(program, steps, values, needs_active, needs_inactive)
        else:
            steps.add_rows(
                program,
                layer.W[None, :, :],
                values,
                needs_active=needs_active,
                needs_inactive=needs_inactive,
            )
        if number < top:
            fixed = _Fixed.above(network, number, eps)
            if loss is None:
                fixed.keep(program, steps.u, kept[samples])
                if wishes is not None:
                    program.minimise(steps.u, np.broadcast_to(wishes, steps.u.shape))
            else:
                outputs = fixed.decide(program, steps.u, loss)
        return cls(
            network, number, units, samples, inputs, program, layer, steps, outputs, loss,
            dual_norms,
        )  # fmt: skip

    @property
    def bound(self) -> float:
        """Loss that no weights of the layer avoid: samples that look the same to it."""
        if self.loss is None:
            return -math.inf
        return self.loss.least

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        weights, thresholds = list(self.network.weights), list(self.network.thresholds)
        W, t = weights[self.number].copy(), thresholds[self.number].copy()
        W[self.units], t[self.units] = self.layer.read(x)
        weights[self.number], thresholds[self.number] = W, t
        return Network(self.network.architecture, tuple(weights), tuple(thresholds))

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network that differs in the free layer only into a start, None if it is none."""
        W = network.weights[self.number][self.units]
        t = network.thresholds[self.number][self.units]
        sums = weighted_sums(self.inputs, W)
        on = step(sums, t[:, 0])
        if self.dual_norms is not None:
            sums = self.dual_norms.robust.worst_sums(sums, W, on)
        start = np.full(self.program.n_variables, math.nan)
        if not self.layer.lift(start, W, t, sums, on):
            return None
        self.steps.lift(start, on)
        if self.dual_norms is not None:
            self.dual_norms.lift(start)
        if self.outputs is not None:
            above = weighted_sums(on.astype(float), network.weights[self.number + 1])
            start[self.outputs] = step(above, network.step_thresholds[self.number + 1])
        return start if self.program.violation(start) <= 1e-6 else None

    def restricted(
        self, start: FloatArray, units: BoolArray, samples: BoolArray | None = None
    ) -> Program:
        """Free only some units, and of these the activations of some samples only.

        What is not free keeps its value of the start; ``units`` and ``samples`` tell what is free.
        """
        lower, upper = self.program.lower, self.program.upper

        def fix(columns: IndexArray) -> None:
            lower[columns] = upper[columns] = start[columns]

        held = ~units[self.units]
        fix(self.layer.W[held])
        fix(self.steps.u[:, held])
        if self.layer.v is not None:
            fix(self.layer.v[held])
        if self.layer.t is not None and (self.layer.kind == "neuron" or held.any()):
            fix(self.layer.t[held])
        if samples is not None:
            fix(self.steps.u[~samples[self.samples]])
        return self.program.with_bounds(lower, upper)


@dataclass(frozen=True)
class _Fixed:
    """A layer above with given weights: on if ``W u >= least``, off if ``W u <= most``."""

    number: int
    W: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def above(cls, network: Network, number: int, eps: float) -> _Fixed:
        W, t = network.weights[number + 1], network.step_thresholds[number + 1]
        if network.architecture.weights[number + 1].integer:
            return cls(number + 2, W, np.ceil(t), np.ceil(t) - 1.0)
        reach = np.abs(W).sum(axis=1).max(initial=0.0)
        margin = max(eps, 4 * INTEGRALITY_TOLERANCE * (2 * reach + 1))
        return cls(number + 2, W, t + margin / 2, t - margin / 2)

    def keep(self, program: Program, u: IndexArray, on: BoolArray) -> None:
        """Rows that hold the layer's activations to given ones."""
        columns = np.broadcast_to(u[:, None, :], (*on.shape, u.shape[1]))
        values = np.broadcast_to(self.W[None, :, :], columns.shape)
        least = np.broadcast_to(self.least, on.shape)
        most = np.broadcast_to(self.most, on.shape)
        name = f"kept{self.number}"
        program.add_rows(f"{name}_on", columns[on], values[on], lower=least[on])
        program.add_rows(f"{name}_off", columns[~on], values[~on], upper=most[~on])

    def decide(self, program: Program, u: IndexArray, loss: OutputObjective) -> IndexArray:
        """Outputs that the layer decides, held to the answer that would lower the loss."""
        z = program.add_variables(f"u{self.number}", loss.cost_on.shape, integer=True)
        columns = np.concatenate(
            [np.broadcast_to(u[:, None, :], (*z.shape, u.shape[1])), z[:, :, None]], axis=-1
        )
        lowest, highest = np.minimum(self.W, 0.0).sum(axis=1), np.maximum(self.W, 0.0).sum(axis=1)
        sides = {
            "active": (loss.cost_on < loss.cost_off, np.maximum(0.0, self.least - lowest)),
            "inactive": (loss.cost_on > loss.cost_off, np.maximum(0.0, highest - self.most)),
        }
        for name, (needed, M) in sides.items():
            values = np.broadcast_to(np.column_stack([self.W, -M]), columns.shape)
            limit: dict[str, FloatArray] = {"upper": self.most}
            if name == "active":
                limit = {"lower": self.least - M}
            limit = {side: np.broadcast_to(v, z.shape)[needed] for side, v in limit.items()}
            program.add_rows(f"{name}{self.number}", columns[needed], values[needed], **limit)
        loss.add(program, z)
        return z


def _bounds(
    problem: Problem[OutputLoss], inputs: FloatArray, number: int, eps: float, robust: Robust | None
) -> LayerBounds:
    """Bounds of the layer's sums over the box of its weights, for these inputs."""
    weights = problem.architecture.weights[number]
    box = weight_range(weights, signed=False)
    if number == 0:
        unit, exact, lowest, highest = first_layer_bounds(inputs, weights, box, robust)
    else:
        unit, exact = 1.0, weights.integer
        lowest, highest = box_bounds(inputs, box)
    return layer_bounds(
        lowest,
        highest,
        unit=unit,
        exact=exact,
        thresholds=problem.architecture.thresholds,
        eps=eps,
        normalised=not weights.integer,
    )


def _distinct(lines: FloatArray) -> tuple[IndexArray, IndexArray]:
    """First sample of every distinct line, and the line of every sample."""
    _, first, group = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
