"""A program under construction, as terms see it: forms of a network's own numbers, and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bdnn.blocks.layers import Products, Steps, Sums
from bdnn.blocks.weights import LayerWeights
from bdnn.network.activation import FloatArray
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray, Program


class Form(NamedTuple):
    """Numbers of a network, ``scale * (coefficients @ x[columns] + constant)`` in a program."""

    columns: IndexArray  # (..., summands)
    coefficients: FloatArray  # array that broadcasts to this shape
    constant: FloatArray  # array that broadcasts to the leading axes
    scale: float = 1.0
    whole: bool = False  # whether what is in brackets is a whole number
    reach: float = np.inf  # what it is in size at most

    def matrix(self, n_columns: int) -> tuple[csr_array, FloatArray]:
        """The same as a matrix over all columns of a program, and constants."""
        shape = self.columns.shape
        count, summands = int(np.prod(shape[:-1])), shape[-1]
        values = self.scale * np.broadcast_to(self.coefficients, shape)
        rows = np.repeat(np.arange(count), summands)
        constant = self.scale * np.broadcast_to(self.constant, shape[:-1])
        entries = (values.ravel(), (rows, self.columns.ravel()))
        return csr_array(entries, shape=(count, n_columns)), constant.ravel()


class Block:
    """What a term has added to a program; by default nothing that it would have to fill in."""

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Put weights exactly where the term wants them, which solvers do up to a tolerance."""

    def lift(self, x: FloatArray) -> bool:
        """Fill in own columns of a start; tell whether the start keeps the term."""
        del x
        return True


class Builder:
    """A program whose layers are there, for the terms of its problem."""

    def __init__(
        self,
        program: Program,
        problem: Problem[Any],
        groups: IndexArray,  # (n_inputs,): inputs of a cluster share their columns
        layers: Sequence[LayerWeights],
        steps: Sequence[Steps],
        products: Sequence[Products],
    ) -> None:
        self.program, self.problem, self.layers = program, problem, layers
        self._groups, self._steps, self._products = groups, steps, products
        self.number = 0  # of the term that is being added, to tell names apart
        self._support: dict[int, IndexArray] = {}

    def add(self) -> tuple[Block, ...]:
        """Add all terms; what they count comes first in a start."""
        blocks: list[Block | None] = []
        for number, term in enumerate(self.problem.terms):
            self.number = number
            blocks.append(term.block(self))
        counted = [_Support(self.layers, self._support)] if self._support else []
        return (*counted, *(block for block in blocks if block is not None))

    def support(self, k: int) -> IndexArray:
        """Columns ``b`` that are 1 where a weight of a layer is not 0: ``L b <= W <= U b``.

        They are added when first asked for. Weights of a set without zero are all counted.
        """
        if k not in self._support:
            layer = self.layers[k]
            low, high = layer.range
            least = 0.0 if layer.weights.zero else 1.0
            b = self.program.add_variables(
                f"nonzero{layer.number}", layer.W.shape, lower=least, integer=True
            )
            pairs = np.stack([layer.W, b], axis=-1)
            name = f"support_{{}}{layer.number}"
            self.program.add_rows(name.format("upper"), pairs, [1.0, -high], upper=0.0)
            if low < 0.0:
                self.program.add_rows(name.format("lower"), pairs, [1.0, -low], lower=0.0)
            self._support[k] = b
        return self._support[k]

    def thresholds(self, k: int) -> Form:
        """Thresholds lie half a margin below what the program holds; twice that may be whole."""
        layer, bounds = self.layers[k], self.layers[k].bounds
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
        u, rule = self._steps[k].u[self._groups], self.layers[k].rule
        columns = u.reshape(len(u), -1, rule.n_thresholds)
        coefficients, constant = rule.jumps, np.array(float(rule.values[0]))
        if k == len(self.layers) - 1 and u.shape[1] < self.problem.architecture.n_outputs:
            columns = np.repeat(columns, 2, axis=1)
            coefficients, constant = np.array([[-1.0], [1.0]]), np.array([1.0, 0.0])
        return Form(columns, coefficients, constant)

    def scores(self) -> Form:
        """Sums of the outputs less their thresholds."""
        layer, bounds = self.layers[-1], self.layers[-1].bounds
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

    def add_matrix(
        self, name: str, A: csr_array, forms: Sequence[Form], lower: FloatArray, upper: FloatArray
    ) -> None:
        """Add rows ``lower <= A q <= upper`` for the numbers q of forms, one after the other.

        Rows are multiplied by a power of two that makes their numbers whole, if there is one:
        solvers of integers need that.
        """
        parts = [form.matrix(self.program.n_variables) for form in forms]
        ends = np.cumsum([0, *(len(constant) for _, constant in parts)])
        total, shift = csr_array((A.shape[0], self.program.n_variables)), np.zeros(A.shape[0])
        for (matrix, constant), first, last in zip(parts, ends, ends[1:], strict=False):
            total = total + A[:, first:last] @ matrix
            shift = shift + A[:, first:last] @ constant
        rows = csr_array(total)
        rows.eliminate_zeros()
        lower, upper = lower - shift, upper - shift
        numbers = np.r_[rows.data, lower, upper]
        numbers = numbers[np.isfinite(numbers)]
        scales = 2.0 ** np.arange(_FINEST)
        scale = next((s for s in scales if (np.rint(numbers * s) == numbers * s).all()), 1.0)
        counts = np.diff(rows.indptr)
        width = max(1, int(counts.max(initial=1)))
        columns = np.zeros((len(counts), width), dtype=np.int64)
        values = np.zeros(columns.shape)
        filled = np.arange(width) < counts[:, None]
        columns[filled], values[filled] = rows.indices, scale * rows.data
        self.program.add_rows(name, columns, values, lower=lower * scale, upper=upper * scale)


# Binary places after which numbers are not taken for whole multiples any more.
_FINEST = 22


@dataclass(frozen=True, eq=False)
class _Support(Block):
    layers: Sequence[LayerWeights]
    columns: dict[int, IndexArray]

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        # Zeros of weights that a tolerance kept from being zero.
        for k, b in self.columns.items():
            if not self.layers[k].weights.integer:
                weights[k] = np.where(x[b] < 0.5, 0.0, weights[k])

    def lift(self, x: FloatArray) -> bool:
        for k, b in self.columns.items():
            x[b] = x[self.layers[k].W] != 0.0
        return True


@dataclass(frozen=True, eq=False)
class LeastValues(Block):
    """Columns that are at least some forms, and 0 where nothing asks for more."""

    known: list[tuple[IndexArray, IndexArray, FloatArray, FloatArray]]

    def add(
        self,
        program: Program,
        name: str,
        columns: IndexArray,
        terms: IndexArray,
        coefficients: FloatArray,
        constant: FloatArray,
    ) -> None:
        """Add rows ``x[columns] >= coefficients @ x[terms] + constant``, one per line."""
        joint = np.concatenate([columns[:, None], terms], axis=1)
        values = np.concatenate([np.ones((len(columns), 1)), -coefficients], axis=1)
        program.add_rows(name, joint, values, lower=constant)
        self.known.append((columns, terms, coefficients, constant))

    def lift(self, x: FloatArray) -> bool:
        for columns, *_ in self.known:
            x[columns] = 0.0
        for columns, terms, coefficients, constant in self.known:
            needed = (coefficients * x[terms]).sum(axis=1) + constant
            np.maximum.at(x, columns, needed)
        return True
