"""The exact model of Lemma 1: a whole network and its training samples as one program.

Legend: W^k, t^k weights and thresholds of layer k (the paper's lambda_k, or biases); u^{i,k}
activations of sample i; s^{i,k} products W^k u^{i,k-1}; M big-M values; eps the strictness margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bdnn.activation import Activation, BoolArray, FloatArray, weighted_sums
from bdnn.architecture import ThresholdKind, WeightSet
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.errors import ModelError
from bdnn.formulation.bounds import LayerBounds, layer_bounds
from bdnn.formulation.custom import CustomRows
from bdnn.formulation.discrete import (
    LayerLevels,
    on_steps_below,
    switches_of,
    turn_round,
    unit_of_levels,
    value_range,
    weighed_products,
)
from bdnn.formulation.layers import Steps
from bdnn.formulation.loss import OutputLoss
from bdnn.formulation.mccormick import Products
from bdnn.formulation.reductions import Reductions
from bdnn.formulation.regularizer import Penalties
from bdnn.formulation.robust import DualNorms, Robust, first_layer_bounds
from bdnn.formulation.sparsity import Support
from bdnn.formulation.weights import LayerWeights, weight_range
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.program import IndexArray, Program
from bdnn.regression_problem import RegressionProblem

DEFAULT_EPS = 1e-4

Demand = Support | Penalties | CustomRows


@dataclass(frozen=True)
class NetworkModel:
    """A training problem as a mixed-integer program, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    problem : TrainingProblem
    reductions : Reductions
        Those in use.
    program : Program
    layers : tuple of LayerWeights or LayerLevels
    steps : tuple of Steps
    products : tuple of Products
        One per layer but the first.
    loss : OutputLoss
    groups : array of shape (n_inputs,)
        Number of the activation pattern that every input follows.
    dual_norms : DualNorms or None
        Of the first layer, where its activations must hold under perturbations.
    demands : tuple of blocks
        What a constrained problem asks for besides a small loss.
    """

    problem: TrainingProblem
    reductions: Reductions
    program: Program
    layers: tuple[LayerWeights | LayerLevels, ...]
    steps: tuple[Steps, ...]
    products: tuple[Products, ...]
    loss: OutputLoss
    groups: IndexArray
    dual_norms: DualNorms | None = None
    demands: tuple[Demand, ...] = ()

    @classmethod
    def build(
        cls,
        problem: TrainingProblem,
        *,
        groups: IndexArray | None = None,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
    ) -> NetworkModel:
        """Write down the program of a training problem.

        Parameters
        ----------
        problem : TrainingProblem
        groups : array of shape (n_inputs,), optional
            Numbers 0, 1, ... of clusters: inputs of the same number must have the same activations
            in every layer (the paper's problem 5). By default every input is its own cluster.
        reductions : Reductions, optional
            Exact reductions to use where they are valid; by default all.
        eps : float
            Distance that inactive units keep from their threshold, relative to the largest input.
            Integer weights on integer data need none: there it is one unit of the data's grid.
        robust : Robust, optional
            Balls around the inputs in which no first-layer activation may change.
        """
        architecture = problem.architecture
        reductions = reductions or Reductions()
        constrained = problem if isinstance(problem, ConstrainedProblem) else None
        if constrained is not None:
            reductions = reductions.without(constrained.undoes)
        reductions = reductions.valid_for(architecture)
        if groups is None:
            if not reductions.merge and robust is None and constrained is None:
                problem = problem.unmerged()
            groups = np.arange(len(problem.inputs))
        if not architecture.hidden and (robust is not None or len(groups) > groups.max() + 1):
            # Outputs that cost nothing more would be free to differ within a cluster or a ball.
            reductions = replace(reductions, one_sided=False)
        loss = OutputLoss.of_groups(problem, groups)
        if reductions.one_output:
            loss = OutputLoss(2 * loss.cost_on[:, 1:], 2 * loss.cost_off[:, 1:])
        if constrained is not None:
            loss = replace(loss, is_all=not constrained.has_penalty)
        program = Program()
        widths = (*architecture.widths[:-1], loss.cost_on.shape[1])
        n_samples = len(loss.cost_on)
        layers: list[LayerWeights | LayerLevels] = []
        steps: list[Steps] = []
        products: list[Products] = []
        dual_norms: DualNorms | None = None
        for k, weights in enumerate(architecture.weights, start=1):
            is_output = k == architecture.n_layers
            signed = is_output and reductions.signed
            bounds = bounds_of_sums(
                problem, k, weights, (n_samples, widths[k - 1]), robust, signed=signed, eps=eps
            )
            size, rule = (widths[k], widths[k - 1]), architecture.activation_of(k - 1)
            layer: LayerWeights | LayerLevels
            if rule.is_step:
                layer = LayerWeights.add(
                    program, k, size, weights, architecture.thresholds, bounds, signed=signed
                )
                step = Steps.add_activations(program, layer, n_samples)
            else:
                layer = LayerLevels.add(
                    program, k, size, weights, architecture.thresholds, bounds, rule
                )
                step = Steps.add_activations(program, layer.steps, n_samples)
                layer.add_levels(program, step.u)
            needs_active = needs_inactive = np.ones(step.u.shape, dtype=bool)
            if is_output and reductions.one_sided:
                needs_active = loss.cost_on < loss.cost_off
                needs_inactive = loss.cost_on > loss.cost_off
            if k == 1:
                terms, values = step.layer.W[None, :, :], (problem.inputs / bounds.unit)[:, None, :]
                # Every input has its rows, all inputs of a cluster with the same activations.
                rows = Steps(step.layer, step.u[groups])
                needs_active, needs_inactive = needs_active[groups], needs_inactive[groups]
            else:
                rows = step
                below = architecture.activation_of(k - 2)
                product = Products.add(
                    program,
                    on_steps_below(layer, below),
                    steps[-1].u,
                    needs_upper=needs_active[:, :: rule.n_thresholds],
                    needs_lower=needs_inactive[:, :: rule.n_thresholds],
                )
                products.append(product)
                terms, values = weighed_products(product.s, layer.W, below, bounds.unit)
                terms = np.repeat(terms, rule.n_thresholds, axis=1)
            if k == 1 and robust is not None:
                if not isinstance(layer, LayerWeights):
                    raise ModelError(
                        f"activation '{rule.name}' cannot be held within a radius: use "
                        "activation 'step', or no radius."
                    )
                dual_norms = DualNorms.add(program, layer, robust)
                dual_norms.add_rows(program, rows, values, needs_active, needs_inactive)
            else:
                rows.add_rows(
                    program,
                    terms,
                    values,
                    needs_active=needs_active,
                    needs_inactive=needs_inactive,
                )
            layers.append(layer)
            steps.append(step)
        loss.add(program, steps[-1].u)
        demands: tuple[Demand | None, ...] = ()
        if constrained is not None:
            # Constraints speak of inputs, of which those of a cluster share their variables.
            if len(layers) > 1:
                terms = terms[groups]
            demands = (
                Support.add(
                    program,
                    constrained.rules,
                    tuple(layers),
                    price=constrained.penalty.weight,
                ),
                Penalties.add(program, constrained, tuple(layers), terms, values),
                CustomRows.add(
                    program,
                    constrained,
                    tuple(layers),
                    tuple(Steps(step.layer, step.u[groups]) for step in steps),
                ),
            )
        return cls(
            problem,
            reductions,
            program,
            tuple(layers),
            tuple(steps),
            tuple(products),
            loss,
            groups,
            dual_norms,
            tuple(block for block in demands if block is not None),
        )

    @property
    def margin(self) -> float:
        """Largest margin that the model asks of inactive units and the data do not give."""
        margins = [layer.bounds.margin for layer in self.layers if not layer.bounds.exact]
        return max(margins, default=0.0)

    def keeps_promises(self, network: Network) -> bool:
        """Tell whether perturbations leave a network's first-layer activations as they must."""
        if self.dual_norms is None:
            return True
        return bool(self.dual_norms.robust.holds(network, self.problem.inputs).all())

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        parts = [layer.read(x) for layer in self.layers]
        weights, thresholds = [W for W, _ in parts], [t for _, t in parts]
        for block in self.demands:
            block.read(x, weights)
        if self.reductions.one_output:
            exact = self.layers[-1].bounds.exact
            weights[-1], thresholds[-1] = _complement_pair(weights[-1], thresholds[-1], exact=exact)
        return Network(self.problem.architecture, tuple(weights), tuple(thresholds))

    def lift(self, network: Network, *, may_break_rules: bool = False) -> FloatArray | None:
        """Turn a network into a start, None if it cannot keep the model's margin or groups.

        Nor if it breaks rows of the user's own, unless that is wanted: the part of a start that is
        fixed may keep them with another rest.
        """
        on = switches_of(network, self.layers, self.problem.inputs)
        first = np.unique(self.groups, return_index=True)[1]
        if not (on[0] == on[0][first][self.groups]).all():
            return None
        on = [layer[first] for layer in on]
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.reductions.one_output:
            weights[-1], thresholds[-1], on[-1] = self._better_output(network, on[-1])
        if self.reductions.signed:
            rule = self.problem.architecture.activation_of(len(self.layers) - 2)
            on[-2] = turn_round(weights, thresholds, on[-2], rule)
        values = self.problem.inputs
        start = np.full(self.program.n_variables, math.nan)
        problem = self.problem
        rigid = isinstance(problem, ConstrainedProblem) and problem.sees_scale
        for k, layer in enumerate(self.layers):
            sums = weighted_sums(values, weights[k])
            kept = on[k][self.groups] if k == 0 else on[k]
            if k == 0 and self.dual_norms is not None:
                sums = self.dual_norms.robust.worst_sums(sums, weights[k], kept)
            if not layer.lift(start, weights[k], thresholds[k], sums, kept, rigid=rigid):
                return None
            self.steps[k].lift(start, on[k])
            if k == 0 and self.dual_norms is not None:
                self.dual_norms.lift(start)
            if k > 0:
                self.products[k - 1].lift(start)
            values = layer.values(on[k]) if isinstance(layer, LayerLevels) else on[k].astype(float)
        are_kept = [block.lift(start) for block in self.demands]
        return start if may_break_rules or all(are_kept) else None

    def _better_output(
        self, network: Network, on: BoolArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Of two outputs keep the second, or the first turned round if that costs less."""
        W, t = network.weights[-1], network.thresholds[-1]
        on_second, on_first = on[:, 1:], ~on[:, :1]
        if self.loss.of(on_second) <= self.loss.of(on_first):
            return W[1:], t[1:], on_second
        return -W[:1], -t[:1], on_first


def bounds_of_sums(
    problem: TrainingProblem | RegressionProblem,
    k: int,
    weights: WeightSet,
    shape: tuple[int, int],
    robust: Robust | None,
    *,
    signed: bool,
    eps: float,
) -> LayerBounds:
    """Bounds of layer ``k``, whose inputs are the samples (k = 1) or activations of this shape."""
    thresholds: ThresholdKind = problem.architecture.thresholds
    rule: Activation = problem.architecture.activation_of(k - 1)
    box = weight_range(weights, signed=signed)
    if k == 1:
        whole, exact, lowest, highest = first_layer_bounds(problem.inputs, weights, box, robust)
    else:
        whole, exact = 1.0, weights.integer
        n_samples, width = shape
        low, high = value_range(box, problem.architecture.activation_of(k - 2).values)
        lowest, highest = np.full(n_samples, width * low), np.full(n_samples, width * high)
    unit, exact = unit_of_levels(whole, exact=exact, rule=rule, kind=thresholds)
    lowest, highest = lowest * (whole / unit), highest * (whole / unit)
    return layer_bounds(
        lowest,
        highest,
        unit=unit,
        exact=exact,
        thresholds=thresholds,
        eps=eps,
        normalised=not weights.integer and rule.thresholds is None,
    )


def _complement_pair(W: FloatArray, t: FloatArray, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """Two outputs of which exactly one is on: ``a >= t`` and ``-a >= -t'`` with t' just below t.

    An exact layer's sums never equal its thresholds, which lie half-way between integers.
    """
    below = t if exact else np.nextafter(t, -np.inf)
    return np.vstack([-W, W]), np.concatenate([-below, t])
