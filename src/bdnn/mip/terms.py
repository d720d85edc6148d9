"""What terms see of a model: columns and forms of a network's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bdnn.mip.layers import Products, Steps, Sums
from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import FloatArray
from bdnn.problem.problem import Problem
from bdnn.problem.terms.builder import Builder, Form, LayerColumns
from bdnn.program import IndexArray, Program


class TermBuilder(Builder):
    """A model's program for the terms of its problem; inputs of a cluster share their columns."""

    def __init__(
        self,
        program: Program,
        problem: Problem[Any],
        groups: IndexArray,
        layers: tuple[LayerWeights, ...],
        steps: tuple[Steps, ...],
        products: tuple[Products, ...],
    ) -> None:
        columns = [LayerColumns(part.number, part.weights, part.W, part.range) for part in layers]
        super().__init__(program, problem, columns)
        self._groups, self._layers, self._steps, self._products = groups, layers, steps, products

    def thresholds(self, k: int) -> Form:
        """Thresholds lie half a margin below what the program holds; twice that may be whole."""
        layer, bounds = self._layers[k], self._layers[k].bounds
        shape = (len(layer.W), layer.rule.n_thresholds)
        if layer.t is None or layer.kind == "zero":
            nothing = np.zeros((*shape, 1), dtype=np.int64)
            fixed = np.broadcast_to(layer.rule.offsets, shape)
            return Form(nothing, np.zeros(1), fixed, reach=float(np.abs(fixed).max()))
        factor = 2.0 if bounds.exact else 1.0
        reach = factor * (max(map(abs, bounds.threshold)) + bounds.margin)
        constant = np.array(-factor * bounds.margin / 2)
        scale = bounds.unit / factor
        return Form(layer.t[..., None], np.array([factor]), constant, scale, bounds.exact, reach)

    def activations(self, k: int) -> Form:
        """Values, 1 - z for an output that is left out, and scores where outputs are numbers."""
        if k == len(self._steps):
            return self.scores()
        u, rule = self._steps[k].u[self._groups], self._layers[k].rule
        columns = u.reshape(len(u), -1, rule.n_thresholds)
        coefficients, constant = rule.jumps, np.array(float(rule.values[0]))
        if k == len(self._layers) - 1 and u.shape[1] < self.problem.architecture.n_outputs:
            columns = np.repeat(columns, 2, axis=1)
            coefficients, constant = np.array([[-1.0], [1.0]]), np.array([1.0, 0.0])
        return Form(columns, coefficients, constant)

    def scores(self) -> Form:
        """Sums of the outputs less their thresholds."""
        layer, bounds = self._layers[-1], self._layers[-1].bounds
        sums = Sums(layer.W[None], (self.problem.inputs / bounds.unit)[:, None, :])
        if self._products:
            found = self._products[-1].sums(bounds.unit)[0]
            sums = Sums(found.columns[self._groups], found.coefficients)
        factor = 2.0 if bounds.exact else 1.0
        shape = (len(self.problem.inputs), len(layer.W), sums.columns.shape[-1])
        columns = np.broadcast_to(sums.columns, shape)
        coefficients: FloatArray = factor * np.broadcast_to(sums.coefficients, shape)
        constant = 0.0
        if layer.t is not None:
            t = np.broadcast_to(layer.t.reshape(1, -1, 1), (*shape[:2], 1))
            columns = np.concatenate([columns, t], axis=-1)
            coefficients = np.concatenate([coefficients, np.full(t.shape, -factor)], axis=-1)
            constant = factor * bounds.margin / 2
        largest = np.abs(np.stack([bounds.lowest, bounds.highest])).max(initial=0.0)
        reach = factor * (largest + max(map(abs, bounds.threshold)) + 1)
        scale = bounds.unit / factor
        return Form(columns, coefficients, np.array(constant), scale, bounds.exact, float(reach))
