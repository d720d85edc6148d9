"""The exact model of Lemma 1: a whole network and its training samples as one program.

Legend: W^k, t^k weights and thresholds of layer k (the paper's lambda_k, or biases); u^{i,k}
activations of sample i; s^{i,k} products W^k u^{i,k-1}; M big-M values; eps the strictness margin.

Growing data: further samples bring activations, products and rows of their own, and change costs.
Rows that are there already stay right as long as they say the same: the grid and the margin of the
inputs and the range of the thresholds, from which the big-M values follow, must not change. Where
the preferred answer to an earlier sample changes, one-sided outputs get the row they did without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from bdnn.blocks.bounds import Reductions
from bdnn.blocks.input_sets import DualNorms, InputSets
from bdnn.blocks.layers import Products, Steps
from bdnn.blocks.weights import Given, LayerWeights
from bdnn.mip.starts import fill_switches, lift_points, lift_sets
from bdnn.mip.writing import LayerWriter
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.create import led_by, unmerged
from bdnn.problem.losses.base import LossBlock
from bdnn.problem.losses.output import OutputBlock, OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.terms.builder import Block, Builder
from bdnn.program import IndexArray, Program

DEFAULT_EPS = 1e-4

AnyBlock = TypeVar("AnyBlock", bound=LossBlock)


@dataclass(frozen=True)
class NetworkModel(Generic[AnyBlock]):
    """A training problem as a mixed-integer program, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    problem : Problem
    reductions : Reductions
        Those in use.
    program : Program
    eps : float
    given : Given
    loss : LossBlock
    groups : array of shape (n_inputs,)
        Number of the activation pattern that every input follows.
    layers : tuple of LayerWeights
        Or GivenWeights, for layers that are not to be found.
    steps : tuple of Steps
        Of all layers, but for outputs that are numbers or leads.
    ways : tuple of Steps
        What boxes and balls alone say of the first layer, where both are there.
    products : tuple of Products
        One per layer of free weights but the first.
    dual_norms : DualNorms or None
        Of the first layer, where lines are sets of inputs.
    blocks : tuple of Block
        What terms have added.
    points : NetworkModel or None
        The samples themselves, beside their regions, where terms speak of them.
    """

    problem: Problem[Any]
    reductions: Reductions
    program: Program
    eps: float
    given: Given
    loss: AnyBlock
    groups: IndexArray
    layers: tuple[LayerWeights, ...] = ()
    steps: tuple[Steps, ...] = ()
    ways: tuple[Steps, ...] = ()
    products: tuple[Products, ...] = ()
    dual_norms: DualNorms | None = None
    blocks: tuple[Block, ...] = ()
    points: NetworkModel[Any] | None = None

    @classmethod
    def build(
        cls,
        problem: Problem[Any],
        *,
        groups: IndexArray | None = None,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        takes_squares: bool = True,
        given: Given | None = None,
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
        takes_squares : bool
            Whether the solver minimises squares; where not, tangents hold them from below.
        given : Given, optional
            Layers and outputs that are not to be found.
        """
        architecture, counts_outputs = problem.architecture, problem.loss.counts_outputs
        reductions = reductions or Reductions()
        reductions = reductions.without(problem.invalidated)
        reductions = reductions.valid_for(architecture, counts_outputs=counts_outputs)
        if groups is None:
            if not reductions.merge and problem.is_free and counts_outputs:
                problem = unmerged(problem)
            groups = np.arange(len(problem.inputs))
        if not architecture.hidden and (problem.loss.pattern or len(groups) > groups.max() + 1):
            # Outputs that cost nothing more would be free to differ within a cluster or a ball.
            reductions = replace(reductions, one_sided=False)
        nothing: Any = None
        empty = cls(problem, reductions, Program(), eps, given or Given(), nothing, groups[:0])
        model = LayerWriter(empty, problem, groups, takes_squares=takes_squares).write()
        if not problem.terms:
            return model
        seen = model
        is_set = problem.loss.input_regions is not None
        if is_set and any(term.sees_samples for term in problem.terms):
            seen = model._with_points()
            model = replace(model, points=seen)
        terms = Builder(model.program, problem, groups, model.layers, seen.steps, seen.products)
        return replace(model, blocks=terms.add())

    def _with_points(self) -> NetworkModel[OutputBlock]:
        """Add the samples themselves beside their regions, on the same weights."""
        both = Reductions(one_output=False, one_sided=False, signed=False)
        nothing: Any = None
        empty = replace(self, reductions=both, loss=nothing, steps=(), ways=(), products=())
        _, classes = self.problem.loss.as_classes(self.problem.architecture)
        plain = self.problem.with_loss(replace(classes, counts=0 * classes.counts))
        return LayerWriter(empty, plain, self.groups, is_beside=True).write()

    def append(self, problem: Problem[OutputLoss]) -> NetworkModel[OutputBlock] | None:
        """Append the variables and rows of further inputs; this model must not be used any more.

        The model's inputs come first, in the same order; weights of samples may differ. None, and
        nothing is changed, where rows that are there already would have to change.
        """
        earlier, total = self.problem, len(problem.inputs)
        known = len(earlier.inputs)
        is_continued = (
            earlier.is_free
            and problem.is_free
            and earlier.loss.counts_outputs
            and problem.loss.counts_outputs
            and self.reductions.merge
            and np.array_equal(self.groups, np.arange(known))
            and problem.architecture == earlier.architecture
            and np.array_equal(problem.inputs[:known], earlier.inputs)
        )
        if not is_continued:
            return None
        writer = LayerWriter(self, problem, np.arange(total))
        if not all(writer.bounds(k).leaves(old.bounds) for k, old in enumerate(self.layers)):
            return None
        return writer.write()

    def input_sets(self, problem: Problem[Any]) -> list[InputSets]:
        """What first-layer sums are of: points, balls around them, or regions."""
        sets: list[InputSets] = problem.loss.input_sets(problem.samples)
        return sets

    @property
    def margin(self) -> float:
        """Largest margin that the model asks of inactive units and the data do not give."""
        free = [layer.bounds for k, layer in enumerate(self.layers) if k not in self.given.layers]
        return max(self.loss.margin, *(bounds.margin for bounds in free if not bounds.exact), 0.0)

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
        x = np.full(self.program.n_variables, math.nan)
        weights, thresholds = list(network.weights), list(network.thresholds)
        is_set = self.problem.loss.input_regions is not None
        if is_set and not lift_sets(self, x, weights, thresholds):
            return None
        if not is_set and not lift_points(self, x, network, weights, thresholds):
            return None
        if len(self.steps) < len(self.layers):
            # Outputs that are compared with each other, or with targets, keep their size.
            self.layers[-1].lift(x, weights[-1], thresholds[-1], rigid=True)
            if len(self.products) == len(self.steps) > 0:
                self.products[-1].lift(x)
        if not self.loss.lift(x, weights[-1], thresholds[-1]):
            return None
        if self.points is not None:
            fill_switches(self.points, x)
        are_kept = [block.lift(x) for block in self.blocks]
        if is_set and self.program.violation(x) > 1e-6:
            return None
        return x if may_break_rules or all(are_kept) else None


class GrowingModel:
    """Builds models; each continues the one before where that is possible."""

    def __init__(self) -> None:
        # The last one. The program of an earlier one is used up by it.
        self.model: NetworkModel[OutputBlock] | None = None
        self._settings: tuple[Reductions | None, float] | None = None

    def __getstate__(self) -> dict[str, None]:
        # A program is many times larger than the samples and soon written again.
        return {"model": None, "_settings": None}

    def build(
        self,
        problem: Problem[OutputLoss],
        *,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
    ) -> NetworkModel[OutputBlock]:
        """Make a model like :meth:`~bdnn.mip.NetworkModel.build`."""
        last, self.model = self.model, None
        grown = None
        if last is not None and self._settings == (reductions, eps):
            grown = last.append(led_by(problem, last.problem.samples))
        self.model = grown or NetworkModel.build(problem, reductions=reductions, eps=eps)
        self._settings = (reductions, eps)
        return self.model


def _complement_pair(W: FloatArray, t: FloatArray, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """Two outputs of which exactly one is on: ``a >= t`` and ``-a >= -t'`` with t' just below t.

    An exact layer's sums never equal its thresholds, which lie half-way between integers.
    """
    below = t if exact else np.nextafter(t, -np.inf)
    return np.vstack([-W, W]), np.concatenate([-below, t])
