"""The exact model of regression: hidden layers, identity outputs, and the loss, as one program."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bdnn.activation import FloatArray, weighted_sums
from bdnn.constraints.regression import ConstrainedRegression
from bdnn.formulation.custom import CustomRows
from bdnn.formulation.discrete import (
    Layer,
    LayerLevels,
    on_steps_below,
    switches_of,
    turn_round,
    weighed_products,
)
from bdnn.formulation.layers import Steps
from bdnn.formulation.mccormick import Products
from bdnn.formulation.model import DEFAULT_EPS, bounds_of_sums
from bdnn.formulation.regression import OutputValues, RegressionLoss
from bdnn.formulation.sparsity import Support
from bdnn.formulation.weights import LayerWeights
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
    layers, steps : tuples of LayerWeights or LayerLevels, and of Steps
        One of each per hidden layer.
    products : tuple of Products
        One per hidden layer but the first.
    outputs : OutputValues
    loss : RegressionLoss
    signed : bool
        Whether the output's weights are not negative: with one output and thresholds per neuron a
        unit with a negative weight can be turned round, if its values lie symmetrically.
    demands : tuple of blocks
        What a constrained problem asks for besides a small loss.
    """

    problem: RegressionProblem
    program: Program
    layers: tuple[Layer, ...]
    steps: tuple[Steps, ...]
    products: tuple[Products, ...]
    outputs: OutputValues
    loss: RegressionLoss
    signed: bool
    demands: tuple[Support | CustomRows, ...] = ()

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
        constrained = problem if isinstance(problem, ConstrainedRegression) else None
        signed = (
            signed
            and bool(shape.hidden)
            and shape.n_outputs == 1
            and shape.thresholds == "neuron"
            and shape.activation_of(len(shape.hidden) - 1).is_reversible
            and not (constrained and constrained.has_fixed_weights)
        )
        program = Program()
        n_inputs = len(problem.inputs)
        layers: list[Layer] = []
        steps: list[Steps] = []
        products: list[Products] = []
        for k, width in enumerate(shape.hidden, start=1):
            weights, size = shape.weights[k - 1], (width, shape.widths[k - 1])
            rule, below = shape.activation_of(k - 1), shape.activation_of(k - 2)
            bounds = bounds_of_sums(
                problem, k, weights, (n_inputs, size[1]), None, signed=False, eps=eps
            )
            layer: Layer
            if rule.is_step:
                layer = LayerWeights.add(
                    program, k, size, weights, shape.thresholds, bounds, signed=False
                )
                step = Steps.add_activations(program, layer, n_inputs)
            else:
                layer = LayerLevels.add(program, k, size, weights, shape.thresholds, bounds, rule)
                step = Steps.add_activations(program, layer.steps, n_inputs)
                layer.add_levels(program, step.u)
            if k == 1:
                terms, values = step.layer.W[None, :, :], (problem.inputs / bounds.unit)[:, None, :]
            else:
                needed = np.ones((n_inputs, width), dtype=bool)
                product = Products.add(
                    program,
                    on_steps_below(layer, below),
                    steps[-1].u,
                    needs_upper=needed,
                    needs_lower=needed,
                )
                products.append(product)
                terms, values = weighed_products(product.s, layer.W, below, bounds.unit)
                terms = np.repeat(terms, rule.n_thresholds, axis=1)
            needed = np.ones(step.u.shape, dtype=bool)
            step.add_rows(program, terms, values, needs_active=needed, needs_inactive=needed)
            layers.append(layer)
            steps.append(step)
        outputs = OutputValues.add(program, problem, steps[-1].u if steps else None, signed=signed)
        loss = RegressionLoss.add(program, problem, outputs, tangents=tangents)
        demands: tuple[Support | CustomRows | None, ...] = ()
        if constrained is not None:
            every = (*layers, outputs.layer)
            demands = (
                Support.add(program, constrained.rules, every),
                CustomRows.add(program, constrained, every, tuple(steps)),
            )
        return cls(
            problem,
            program,
            tuple(layers),
            tuple(steps),
            tuple(products),
            outputs,
            loss,
            signed,
            tuple(block for block in demands if block is not None),
        )

    @property
    def margin(self) -> float:
        """Largest margin that the model asks of inactive units and the data do not give."""
        return max((la.bounds.margin for la in self.layers if not la.bounds.exact), default=0.0)

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        parts = [*(layer.read(x) for layer in self.layers), self.outputs.read(x)]
        weights = [W for W, _ in parts]
        for block in self.demands:
            block.read(x, weights)
        return Network(self.problem.architecture, tuple(weights), tuple(t for _, t in parts))

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network into a start, None if it cannot keep the model's margin or ranges."""
        on = switches_of(network, self.layers, self.problem.inputs)
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.signed:
            rule = network.architecture.activation_of(len(self.layers) - 1)
            on[-1] = turn_round(weights, thresholds, on[-1], rule)
        start = np.full(self.program.n_variables, math.nan)
        values, problem = self.problem.inputs, self.problem
        rigid = isinstance(problem, ConstrainedRegression) and problem.has_fixed_weights
        for k, layer in enumerate(self.layers):
            sums = weighted_sums(values, weights[k])
            if not layer.lift(start, weights[k], thresholds[k], sums, on[k], rigid=rigid):
                return None
            self.steps[k].lift(start, on[k])
            if k > 0:
                self.products[k - 1].lift(start)
            values = layer.values(on[k]) if isinstance(layer, LayerLevels) else on[k].astype(float)
        if not self.outputs.lift(start, weights[-1], thresholds[-1]):
            return None
        self.loss.lift(start)
        return start if all(block.lift(start) for block in self.demands) else None
