"""The exact model of regression: step layers, identity outputs, and the loss, as one program."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bdnn.activation import FloatArray, weighted_sums
from bdnn.formulation.bounds import LayerBounds, layer_bounds
from bdnn.formulation.layers import Steps
from bdnn.formulation.mccormick import Products
from bdnn.formulation.model import DEFAULT_EPS
from bdnn.formulation.regression import OutputValues, RegressionLoss
from bdnn.formulation.robust import first_layer_bounds
from bdnn.formulation.weights import LayerWeights, weight_range
from bdnn.network import Network
from bdnn.program import Program
from bdnn.regression_problem import RegressionProblem


@dataclass(frozen=True)
class RegressionModel:
    """A regression problem as a mixed-integer program, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    problem : RegressionProblem
    program : Program
    layers, steps : tuples of LayerWeights and Steps
        One of each per hidden layer.
    products : tuple of Products
        One per hidden layer but the first.
    outputs : OutputValues
    loss : RegressionLoss
    signed : bool
        Whether the output's weights are not negative: with one output and thresholds per neuron a
        unit with a negative weight can be turned round.
    """

    problem: RegressionProblem
    program: Program
    layers: tuple[LayerWeights, ...]
    steps: tuple[Steps, ...]
    products: tuple[Products, ...]
    outputs: OutputValues
    loss: RegressionLoss
    signed: bool

    @classmethod
    def build(
        cls,
        problem: RegressionProblem,
        *,
        tangents: bool = False,
        signed: bool = True,
        eps: float = DEFAULT_EPS,
    ) -> RegressionModel:
        """Write down the program of a regression problem.

        Parameters
        ----------
        problem : RegressionProblem
        tangents : bool
            Whether squares are held from below by tangents, for solvers that take none.
        signed : bool
            Whether to turn units round where that is valid.
        eps : float
            Distance that inactive units keep from their threshold, relative to the largest input;
            for continuous weights.
        """
        shape = problem.architecture
        signed = (
            signed and bool(shape.hidden) and shape.n_outputs == 1 and shape.thresholds == "neuron"
        )
        program = Program()
        n_inputs = len(problem.inputs)
        everywhere = np.ones((n_inputs, 1), dtype=bool)
        layers: list[LayerWeights] = []
        steps: list[Steps] = []
        products: list[Products] = []
        for k, width in enumerate(shape.hidden, start=1):
            bounds = _hidden_bounds(problem, k, eps)
            layer = LayerWeights.add(
                program,
                k,
                (width, shape.widths[k - 1]),
                shape.weights[k - 1],
                shape.thresholds,
                bounds,
                signed=False,
            )
            step = Steps.add_activations(program, layer, n_inputs)
            needed = np.broadcast_to(everywhere, step.u.shape)
            if k == 1:
                terms, values = layer.W[None, :, :], (problem.inputs / bounds.unit)[:, None, :]
            else:
                product = Products.add(
                    program, layer, steps[-1].u, needs_upper=needed, needs_lower=needed
                )
                products.append(product)
                terms, values = product.s, np.ones(1)
            step.add_rows(program, terms, values, needs_active=needed, needs_inactive=needed)
            layers.append(layer)
            steps.append(step)
        outputs = OutputValues.add(program, problem, steps[-1].u if steps else None, signed=signed)
        loss = RegressionLoss.add(program, problem, outputs, tangents=tangents)
        return cls(
            problem,
            program,
            tuple(layers),
            tuple(steps),
            tuple(products),
            outputs,
            loss,
            signed,
        )

    @property
    def margin(self) -> float:
        """Largest margin that the model asks of inactive units and the data do not give."""
        return max((la.bounds.margin for la in self.layers if not la.bounds.exact), default=0.0)

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        parts = [*(layer.read(x) for layer in self.layers), self.outputs.read(x)]
        return Network(
            self.problem.architecture, tuple(W for W, _ in parts), tuple(t for _, t in parts)
        )

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network into a start, None if it cannot keep the model's margin or ranges."""
        on = network.activations(self.problem.inputs)[:-1]
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.signed:
            flip = weights[-1][0] < 0
            sign = np.where(flip, -1.0, 1.0)
            thresholds[-1] = thresholds[-1] - np.minimum(weights[-1], 0.0).sum(axis=1)
            weights[-1] = np.abs(weights[-1])
            weights[-2], thresholds[-2] = weights[-2] * sign[:, None], thresholds[-2] * sign
            on[-1] = on[-1] ^ flip
        start = np.full(self.program.n_variables, math.nan)
        values = self.problem.inputs
        for k, layer in enumerate(self.layers):
            sums = weighted_sums(values, weights[k])
            if not layer.lift(start, weights[k], thresholds[k], sums, on[k]):
                return None
            self.steps[k].lift(start, on[k])
            if k > 0:
                self.products[k - 1].lift(start)
            values = on[k].astype(float)
        if not self.outputs.lift(start, weights[-1], thresholds[-1]):
            return None
        self.loss.lift(start)
        return start


def _hidden_bounds(problem: RegressionProblem, k: int, eps: float) -> LayerBounds:
    """Bounds of hidden layer ``k``, whose inputs are the samples (k = 1) or activations."""
    shape = problem.architecture
    weights = shape.weights[k - 1]
    low, high = weight_range(weights, signed=False)
    if k == 1:
        unit, exact, lowest, highest = first_layer_bounds(
            problem.inputs, weights, (low, high), None
        )
    else:
        unit, exact = 1.0, weights.integer
        lowest = np.full(len(problem.inputs), shape.widths[k - 1] * low)
        highest = np.full(len(problem.inputs), shape.widths[k - 1] * high)
    return layer_bounds(
        lowest,
        highest,
        unit=unit,
        exact=exact,
        thresholds=shape.thresholds,
        eps=eps,
        normalised=not weights.integer,
    )
