"""Rows of constraints that a user puts on a network (paper, section 2.1: further constraints).

    bounds:     low <= W <= high                                fixed and forbidden weights
    path:       W <= U p, W >= L q                              first layer, one feature
                W <= U (1 - p_j + p_l),  W <= U (1 - q_j + q_l)
                W >= L (1 - p_j + q_l),  W >= L (1 - q_j + p_l)  layers above
    outputs:    lower <= A z <= upper
    decided:    sum_l z_l = 1
    own:        lower <= A (W, t, u) <= upper

p and q say which units a positive and a negative path from the feature may reach; of the outputs
one of the two is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from bdnn.activation import FloatArray
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.constraints.regression import ConstrainedRegression
from bdnn.constraints.rules import OutputRows, PathSigns, QuantityRows, path_signs
from bdnn.formulation.discrete import Layer
from bdnn.formulation.layers import Steps
from bdnn.program import IndexArray, Program, is_integral

# Continuous weights on paths are zero below this, which is what a solver may be off.
_SMALL = 1e-6
# Binary places after which numbers are not taken for whole multiples any more.
_FINEST = 22


@dataclass(frozen=True)
class CustomRows:
    """The rows of a problem's rules, but for counts.

    Parameters
    ----------
    problem : ConstrainedProblem or ConstrainedRegression
    layers : tuple of Layer
    steps : tuple of Steps
    paths : list of (feature, p, q)
        With p and q one array per hidden layer.
    """

    problem: ConstrainedProblem | ConstrainedRegression
    layers: tuple[Layer, ...]
    steps: tuple[Steps, ...]
    paths: list[tuple[int, list[IndexArray], list[IndexArray]]]

    @classmethod
    def add(
        cls,
        program: Program,
        problem: ConstrainedProblem | ConstrainedRegression,
        layers: tuple[Layer, ...],
        steps: tuple[Steps, ...],
    ) -> CustomRows | None:
        """Add the rows of all rules, None if there are none."""
        if not problem.rules:
            return None
        block = cls(problem, layers, steps, [])
        block._add_bounds(program)
        for number, rule in enumerate(problem.rules):
            if isinstance(rule, PathSigns):
                block._add_paths(program, rule, number)
            elif isinstance(rule, OutputRows):
                block._add_outputs(program, rule, number)
            elif isinstance(rule, QuantityRows):
                block._add_own(program, rule, number)
        return block

    def _add_bounds(self, program: Program) -> None:
        for layer, (low, high) in zip(self.layers, self.problem.weight_box, strict=True):
            limit = float(layer.weights.limit)
            tight = np.nonzero((low > -limit) | (high < limit))
            if tight[0].size:
                columns = layer.W[tight][:, None]
                program.add_rows(
                    f"bounds{layer.number}", columns, 1.0, lower=low[tight], upper=high[tight]
                )

    def _add_paths(self, program: Program, rule: PathSigns, number: int) -> None:
        one_output = len(self.layers[-1].W) < self.problem.architecture.n_outputs
        rises: list[IndexArray] = []
        falls: list[IndexArray] = []
        for layer in self.layers[:-1]:
            for name, known in (("rises", rises), ("falls", falls)):
                known.append(
                    program.add_variables(
                        f"{name}{layer.number}_{number}", (len(layer.W),), integer=True
                    )
                )
        self.paths.append((rule.feature, rises, falls))
        # With one output for two classes the second decides.
        outputs = np.array([1]) if one_output else np.arange(len(self.layers[-1].W))
        upward = (outputs == rule.output) == (rule.sign > 0)
        for k, layer in enumerate(self.layers):
            low, high = layer.range
            name = f"path{layer.number}_{number}"
            is_last = k == len(self.layers) - 1
            if k == 0:
                W = layer.W[:, rule.feature]
                if is_last:
                    lower, upper = np.where(upward, 0.0, low), np.where(upward, high, 0.0)
                    program.add_rows(name, W[:, None], 1.0, lower=lower, upper=upper)
                    continue
                for way, limit in ((rises[0], high), (falls[0], low)):
                    _add_side(program, name, [W, way], [1.0, -limit], limit, 0.0)
                continue
            for below, limit, above in (
                (rises[k - 1], high, 0),
                (falls[k - 1], high, 1),
                (rises[k - 1], low, 1),
                (falls[k - 1], low, 0),
            ):
                way = np.broadcast_to(below, layer.W.shape)
                if not is_last:
                    reached = (rises, falls)[above][k][:, None]
                    columns = [layer.W, way, np.broadcast_to(reached, layer.W.shape)]
                    _add_side(program, name, columns, [1.0, limit, -limit], limit, limit)
                    continue
                # An output that must not fall has its q at 0, one that must not rise its p.
                closed = np.flatnonzero(upward == (above == 1))
                if closed.size:
                    columns = [layer.W[closed], way[closed]]
                    _add_side(program, name, columns, [1.0, limit], limit, limit)

    def _add_outputs(self, program: Program, rule: OutputRows, number: int) -> None:
        u = self.steps[-1].u
        n_outputs = self.problem.architecture.n_outputs
        lower, upper, A = rule.lower, rule.upper, rule.A
        if u.shape[1] < n_outputs:
            # The first output is what the second is not: z_0 = 1 - z_1.
            first, second = A[:, 0::2], A[:, 1::2]
            constant = np.asarray(first.sum(axis=1)).ravel()
            lower, upper, A = lower - constant, upper - constant, csr_array(second - first)
        elif rule.decided.size:
            program.add_rows(f"decided_{number}", u[rule.decided], 1.0, lower=1.0, upper=1.0)
        _add_matrix(program, f"outputs_{number}", A, u.ravel(), lower, upper)

    def _add_own(self, program: Program, rule: QuantityRows, number: int) -> None:
        columns, factors, constants = self._quantities()
        A = csr_array(rule.A.multiply(factors[None, :]).tocsr())
        shift = rule.A @ constants
        lower, upper = rule.lower - shift, rule.upper - shift
        # Thresholds are multiples of a power of two; solvers of integers need whole numbers.
        scales = 2.0 ** np.arange(_FINEST)
        scale = next((s for s in scales if is_integral(np.r_[A.data, lower, upper] * s)), 1.0)
        _add_matrix(program, f"own_{number}", A * scale, columns, lower * scale, upper * scale)

    def _quantities(self) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Column, factor and constant of every weight, threshold and activation."""
        columns = [layer.W.ravel() for layer in self.layers]
        factors = [np.ones(part.size) for part in columns]
        constants = [np.zeros(part.size) for part in columns]
        for layer in self.layers:
            units, bounds = len(layer.W), layer.bounds
            has_threshold = layer.t is not None
            columns.append(np.zeros(units, dtype=np.int64) if layer.t is None else layer.t)
            factors.append(np.full(units, bounds.unit * has_threshold))
            constants.append(np.full(units, -bounds.unit * bounds.margin / 2 * has_threshold))
        for step in self.steps:
            columns.append(step.u.ravel())
            factors.append(np.ones(step.u.size))
            constants.append(np.zeros(step.u.size))
        return np.concatenate(columns), np.concatenate(factors), np.concatenate(constants)

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        """Put continuous weights exactly where rows say, which solvers do up to a tolerance."""
        del x
        for k, (layer, box) in enumerate(zip(self.layers, self.problem.weight_box, strict=True)):
            if layer.weights.integer:
                continue
            W = weights[k]
            if W.shape == box[0].shape:
                W = np.clip(W, *box)
            weights[k] = np.where(np.abs(W) < _SMALL, 0.0, W) if self.paths else W

    def lift(self, x: FloatArray) -> bool:
        """Fill in paths; tell whether the start keeps the user's own rows."""
        weights = [x[layer.W] for layer in self.layers]
        for feature, rises, falls in self.paths:
            for k, (up, down) in enumerate(path_signs(weights, feature)[:-1]):
                x[rises[k]], x[falls[k]] = up, down
        own = [rule for rule in self.problem.rules if isinstance(rule, QuantityRows)]
        if not own:
            return True
        columns, factors, constants = self._quantities()
        return all(rule.holds_for(factors * x[columns] + constants) for rule in own)


def _add_side(
    program: Program,
    name: str,
    columns: list[IndexArray],
    values: list[float],
    limit: float,
    side: float,
) -> None:
    """Add rows against the upper end of weights (limit > 0) or their lower end (limit < 0)."""
    terms = np.stack(columns, axis=-1)
    if limit > 0:
        program.add_rows(f"{name}_upper", terms, values, upper=side)
    elif limit < 0:
        program.add_rows(f"{name}_lower", terms, values, lower=side)


def _add_matrix(
    program: Program,
    name: str,
    A: csr_array,
    columns: IndexArray,
    lower: FloatArray,
    upper: FloatArray,
) -> None:
    """Add rows of a sparse matrix over the given columns; short rows are filled up with zeros."""
    counts = np.diff(A.indptr)
    width = max(1, int(counts.max(initial=1)))
    terms, values = np.zeros((A.shape[0], width), dtype=np.int64), np.zeros((A.shape[0], width))
    filled = np.arange(width) < counts[:, None]
    terms[filled], values[filled] = columns[A.indices], A.data
    program.add_rows(name, terms, values, lower=lower, upper=upper)
