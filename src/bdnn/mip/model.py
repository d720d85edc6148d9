"""The exact model of Lemma 1: a whole network and its training samples as one program.

Legend: W^k, t^k weights and thresholds of layer k (the paper's lambda_k, or biases); u^{i,k}
activations of sample i; s^{i,k} products W^k u^{i,k-1}; M big-M values; eps the strictness margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from bdnn.errors import ModelError
from bdnn.mip.bounds import LayerBounds, layer_bounds, unit_of_levels, value_range
from bdnn.mip.layers import Steps, switches_of, turn_round
from bdnn.mip.loss import OutputObjective, unmerged
from bdnn.mip.mccormick import Products
from bdnn.mip.reductions import Reductions
from bdnn.mip.regression import DistanceObjective, OutputValues
from bdnn.mip.robust import DualNorms, Robust, first_layer_bounds
from bdnn.mip.terms import TermBuilder
from bdnn.mip.weights import LayerWeights, weight_range
from bdnn.network.activation import Activation, BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import ThresholdKind, WeightSet
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import Block
from bdnn.program import IndexArray, Program

DEFAULT_EPS = 1e-4

AnyObjective = TypeVar("AnyObjective", bound=OutputObjective | DistanceObjective)


@dataclass(frozen=True)
class NetworkModel(Generic[AnyObjective]):
    """A training problem as a mixed-integer program, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    problem : Problem
    reductions : Reductions
        Those in use.
    program : Program
    layers : tuple of LayerWeights
    steps : tuple of Steps
        Of all layers, but for outputs that are numbers.
    products : tuple of Products
        One per layer of steps but the first.
    loss : OutputObjective or DistanceObjective
    groups : array of shape (n_inputs,)
        Number of the activation pattern that every input follows.
    dual_norms : DualNorms or None
        Of the first layer, where its activations must hold under perturbations.
    blocks : tuple of Block
        What terms have added.
    """

    problem: Problem[Any]
    reductions: Reductions
    program: Program
    layers: tuple[LayerWeights, ...]
    steps: tuple[Steps, ...]
    products: tuple[Products, ...]
    loss: AnyObjective
    groups: IndexArray
    dual_norms: DualNorms | None = None
    blocks: tuple[Block, ...] = ()

    @classmethod
    def build(
        cls,
        problem: Problem[Any],
        *,
        groups: IndexArray | None = None,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
        tangents: bool = False,
    ) -> NetworkModel[Any]:
        """Write down the program of a training problem.

        Parameters
        ----------
        problem : Problem
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
        tangents : bool
            Whether squares are held from below by tangents, for solvers that take none.
        """
        architecture = problem.architecture
        is_class = architecture.output == "step"
        reductions = reductions or Reductions()
        reductions = reductions.without(problem.invalidated).valid_for(architecture)
        if groups is None:
            if not reductions.merge and robust is None and not problem.terms and is_class:
                problem = unmerged(problem)
            groups = np.arange(len(problem.inputs))
        if not architecture.hidden and (robust is not None or len(groups) > groups.max() + 1):
            # Outputs that cost nothing more would be free to differ within a cluster or a ball.
            reductions = replace(reductions, one_sided=False)
        program = Program()
        costs = OutputObjective.of(problem, groups, reductions) if is_class else None
        n_outputs = architecture.n_outputs if costs is None else costs.cost_on.shape[1]
        widths = (*architecture.widths[:-1], n_outputs)
        n_samples = int(groups.max(initial=-1)) + 1
        layers: list[LayerWeights] = []
        steps: list[Steps] = []
        products: list[Products] = []
        dual_norms: DualNorms | None = None
        terms, values = np.zeros((1, 1, 1), dtype=np.int64), np.zeros((1, 1, 1))
        n_steps = architecture.n_layers if is_class else architecture.n_layers - 1
        for k, weights in enumerate(architecture.weights[:n_steps], start=1):
            is_output = k == architecture.n_layers
            signed = is_output and reductions.signed
            bounds = bounds_of_sums(
                problem, k, weights, (n_samples, widths[k - 1]), robust, signed=signed, eps=eps
            )
            size, rule = (widths[k], widths[k - 1]), architecture.activation_of(k - 1)
            kind = architecture.thresholds
            layer = LayerWeights.add(
                program, k, size, weights, kind, bounds, signed=signed, rule=rule
            )
            step = Steps.add_activations(program, layer, n_samples)
            needs_active = needs_inactive = np.ones(step.u.shape, dtype=bool)
            if is_output and reductions.one_sided and costs is not None:
                needs_active = costs.cost_on < costs.cost_off
                needs_inactive = costs.cost_on > costs.cost_off
            if k == 1:
                terms, values = layer.W[None, :, :], (problem.inputs / bounds.unit)[:, None, :]
                # Every input has its rows, all inputs of a cluster with the same activations.
                rows = Steps(layer, step.u[groups])
                needs_active, needs_inactive = needs_active[groups], needs_inactive[groups]
            else:
                rows = step
                product = Products.add(
                    program,
                    layer,
                    architecture.activation_of(k - 2),
                    steps[-1].u,
                    needs_upper=needs_active[:, :: rule.n_thresholds],
                    needs_lower=needs_inactive[:, :: rule.n_thresholds],
                )
                products.append(product)
                terms, values = product.terms(bounds.unit)
            if k == 1 and robust is not None:
                if not rule.is_step:
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
        loss: OutputObjective | DistanceObjective
        if costs is not None:
            costs.add(program, steps[-1].u)
            loss = costs
        else:
            below = steps[-1].u if steps else None
            outputs = OutputValues.add(program, problem, below, signed=reductions.signed)
            loss = DistanceObjective.add(program, problem, outputs, tangents=tangents)
            layers.append(outputs.layer)
        blocks: tuple[Block, ...] = ()
        if problem.terms:
            # Terms speak of inputs, of which those of a cluster share their variables.
            switches = [step.u[groups] for step in steps]
            sums = (terms[groups] if len(steps) > 1 else terms, values)
            blocks = TermBuilder(program, problem, layers, switches, sums).add()
        return NetworkModel[Any](
            problem,
            reductions,
            program,
            tuple(layers),
            tuple(steps),
            tuple(products),
            loss,
            groups,
            dual_norms,
            blocks,
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
        for block in self.blocks:
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
        on = switches_of(network, self.problem.inputs)
        first = np.unique(self.groups, return_index=True)[1]
        if not (on[0] == on[0][first][self.groups]).all():
            return None
        on = [layer[first] for layer in on]
        weights, thresholds = list(network.weights), list(network.thresholds)
        if self.reductions.one_output:
            weights[-1], thresholds[-1], on[-1] = _better_output(self.loss, network, on[-1])
        if self.reductions.signed:
            rule = self.problem.architecture.activation_of(len(self.layers) - 2)
            on[-2] = turn_round(weights, thresholds, on[-2], rule)
        values = self.problem.inputs
        start = np.full(self.program.n_variables, math.nan)
        rigid = self.problem.scale_dependent
        for k, layer in enumerate(self.layers[: len(self.steps)]):
            sums = weighted_sums(values, weights[k])
            kept = on[k][self.groups] if k == 0 else on[k]
            if k == 0 and self.dual_norms is not None:
                sums = self.dual_norms.robust.worst_sums(sums, weights[k], kept)
            if not layer.lift(start, weights[k], thresholds[k], sums, kept, rigid=rigid):
                return None
            values = self.steps[k].lift(start, on[k])
            if k == 0 and self.dual_norms is not None:
                self.dual_norms.lift(start)
            if k > 0:
                self.products[k - 1].lift(start)
        if not self.loss.lift(start, weights[-1], thresholds[-1]):
            return None
        are_kept = [block.lift(start) for block in self.blocks]
        return start if may_break_rules or all(are_kept) else None


def _better_output(
    loss: Any, network: Network, on: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Of two outputs keep the second, or the first turned round if that costs less."""
    W, t = network.weights[-1], network.thresholds[-1]
    on_second, on_first = on[:, 1:], ~on[:, :1]
    if loss.value(on_second) <= loss.value(on_first):
        return W[1:], t[1:], on_second
    return -W[:1], -t[:1], on_first


def bounds_of_sums(
    problem: Problem[Any],
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
        normalised=not weights.integer,
        rule=rule,
    )


def _complement_pair(W: FloatArray, t: FloatArray, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """Two outputs of which exactly one is on: ``a >= t`` and ``-a >= -t'`` with t' just below t.

    An exact layer's sums never equal its thresholds, which lie half-way between integers.
    """
    below = t if exact else np.nextafter(t, -np.inf)
    return np.vstack([-W, W]), np.concatenate([-below, t])
