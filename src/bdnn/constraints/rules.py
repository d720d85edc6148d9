"""What constraints come to once names are numbers: rules that networks keep or break.

Five forms cover all constraints: bounds of single weights, counts of weights that are not zero,
signs of paths from a feature to the outputs, linear rows over outputs of samples, and linear rows
over any quantity of a network. The program, the search and the check of a network all read these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bdnn.activation import BoolArray, FloatArray
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.regression_problem import RegressionProblem

CountKind = Literal["per_unit", "per_layer", "total", "units", "features"]

# Rows whose coefficients are no whole numbers are kept up to the solvers' tolerance.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class AbstractRule(ABC):
    """One demand on networks.

    Parameters
    ----------
    name : str
        As the user wrote it, for messages.
    undoes : frozenset of str
        Reductions of the program that do not keep the optimum under this rule.
    """

    name: str
    undoes: frozenset[str]

    @abstractmethod
    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Tell from weights and forward pass whether a network keeps the rule."""

    @abstractmethod
    def promise(self) -> dict[str, Any]:
        """What a model file promises of this rule, as plain data."""

    def of_lines(self, lines: NDArray[np.integer], problem: TrainingProblem) -> AbstractRule:
        """The rule for some of a problem's lines; one about weights stays as it is."""
        del lines, problem
        return self

    def needed_lines(self, problem: TrainingProblem) -> NDArray[np.intp]:
        """Lines without which a part of the problem does not show the rule."""
        del problem
        return np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class WeightBounds(AbstractRule):
    """``low <= W <= high`` in one layer; infinite where nothing is asked."""

    layer: int
    low: FloatArray
    high: FloatArray
    promised: dict[str, Any]

    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Compare the weights."""
        W = network.weights[self.layer]
        return bool(((self.low <= W) & (self.high >= W)).all())

    def promise(self) -> dict[str, Any]:
        """Say which weights are fixed."""
        return self.promised


@dataclass(frozen=True, eq=False)
class Count(AbstractRule):
    """At most so many weights, units or features: one limit, or one per layer (None for none)."""

    kind: CountKind
    limits: tuple[int | None, ...]

    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Count."""
        return all(
            limit is None or used <= limit
            for used, limit in zip(self.count(network), self.limits, strict=True)
        )

    def count(self, network: Network) -> list[int]:
        """What is counted, one number per limit."""
        used = [W != 0.0 for W in network.weights]
        if self.kind == "per_unit":
            return [int(layer.sum(axis=1).max()) for layer in used]
        if self.kind == "per_layer":
            return [int(layer.sum()) for layer in used]
        if self.kind == "total":
            return [sum(int(layer.sum()) for layer in used)]
        if self.kind == "features":
            return [int(used[0].any(axis=0).sum())]
        return [sum(int(layer.any(axis=0).sum()) for layer in used[1:])]

    def promise(self) -> dict[str, Any]:
        """Say what is counted, and the limits."""
        return {"kind": "count", "what": self.kind, "at_most": list(self.limits)}


@dataclass(frozen=True, eq=False)
class PathSigns(AbstractRule):
    """No path of weights from a feature to an output has the wrong sign.

    A path's sign is the product of its weights' signs. With ``sign = +1`` the paths to ``output``
    must not be negative and those to all other outputs not positive, with -1 the other way round.
    """

    feature: int
    sign: int
    output: int
    label: Any

    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Follow the paths."""
        rising, falling = path_signs(network.weights, self.feature)[-1]
        if self.sign < 0:
            rising, falling = falling, rising
        other = np.arange(len(rising)) != self.output
        return not (falling[self.output] or rising[other].any())

    def promise(self) -> dict[str, Any]:
        """Say which feature moves which class."""
        return {
            "kind": "monotone",
            "feature": self.feature,
            "sign": self.sign,
            "class": self.label,
        }


@dataclass(frozen=True, eq=False)
class OutputRows(AbstractRule):
    """``lower <= A z <= upper`` for the outputs of all lines, some of which must be decided.

    Parameters
    ----------
    A : csr_array of shape (n_rows, n_lines * n_outputs)
    lower, upper : arrays of shape (n_rows,)
    decided : array of int
        Lines of which exactly one output must be on, so that it is the predicted class.
    """

    A: csr_array
    lower: FloatArray
    upper: FloatArray
    decided: NDArray[np.intp]
    promised: dict[str, Any]

    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Evaluate the rows on the outputs."""
        return self.holds_for(network.outputs(problem.inputs))

    def holds_for(self, on: BoolArray) -> bool:
        """Evaluate the rows on given outputs."""
        values = self.A @ on.ravel().astype(float)
        kept = ((self.lower <= values + 1e-9) & (values <= self.upper + 1e-9)).all()
        return bool(kept and (on[self.decided].sum(axis=1) == 1).all())

    def promise(self) -> dict[str, Any]:
        """Say it of the training samples."""
        return self.promised

    def of_lines(self, lines: NDArray[np.integer], problem: TrainingProblem) -> OutputRows:
        """Keep what rows say of these lines.

        Rows about one line stay as they are where it is there. Other rows compare shares of two
        groups, each with as much weight as the other: so it is again among these lines, up to one
        of them, and a row of which one group is missing is left out.
        """
        A = csr_array(self.A[:, _places(lines, problem.mass.shape[1])])
        lower, upper = self.lower.copy(), self.upper.copy()
        is_kept = np.diff(A.indptr) > 0
        for row in np.flatnonzero(np.asarray(self.A.minimum(0).sum(axis=1)).ravel() < 0):
            part = slice(A.indptr[row], A.indptr[row + 1])
            A.data[part], size = _balanced(A.data[part])
            is_kept[row] = size > 0
            room = np.abs(A.data[part]).max(initial=0.0)
            share = size / self.A[[row]].maximum(0).sum()
            lower[row] = np.ceil(lower[row] * share) - room
            upper[row] = np.floor(upper[row] * share) + room
        return replace(
            self,
            A=csr_array(A[is_kept]),
            lower=lower[is_kept],
            upper=upper[is_kept],
            decided=np.flatnonzero(np.isin(lines, self.decided)),
        )

    def needed_lines(self, problem: TrainingProblem) -> NDArray[np.intp]:
        """Lines that a row speaks of alone."""
        seen = self.A.indices // problem.mass.shape[1]
        starts = self.A.indptr[:-1][np.diff(self.A.indptr) > 0]
        if not starts.size:
            return np.zeros(0, dtype=np.intp)
        first, last = np.minimum.reduceat(seen, starts), np.maximum.reduceat(seen, starts)
        return np.unique(first[first == last]).astype(np.intp)


@dataclass(frozen=True, eq=False)
class QuantityRows(AbstractRule):
    """``lower <= A q <= upper`` for the quantities of a network, see :class:`Quantities`."""

    A: csr_array
    lower: FloatArray
    upper: FloatArray

    def holds(self, network: Network, problem: TrainingProblem | RegressionProblem) -> bool:
        """Evaluate the rows on the network's quantities."""
        return self.holds_for(quantities(network, problem.inputs))

    def holds_for(self, q: FloatArray) -> bool:
        """Evaluate the rows on given quantities."""
        values = self.A @ q
        slack = _TOLERANCE * (1.0 + np.abs(values))
        return bool(((self.lower - slack <= values) & (values <= self.upper + slack)).all())

    def promise(self) -> dict[str, Any]:
        """Name the rows, which nobody else can check."""
        return {"kind": "own", "name": self.name}

    def of_lines(self, lines: NDArray[np.integer], problem: TrainingProblem) -> QuantityRows:
        """Leave out the activations of other lines, of which no row may speak."""
        widths, n_lines = problem.architecture.widths, len(problem.inputs)
        first = self.A.shape[1] - n_lines * sum(widths[1:])
        columns = [np.arange(first)]
        for units in widths[1:]:
            columns.append(first + _places(lines, units))
            first += n_lines * units
        return replace(self, A=csr_array(self.A[:, np.concatenate(columns)]))

    def needed_lines(self, problem: TrainingProblem) -> NDArray[np.intp]:
        """All lines whose activations a row speaks of."""
        widths, n_lines = problem.architecture.widths, len(problem.inputs)
        first = self.A.shape[1] - n_lines * sum(widths[1:])
        found = []
        for units in widths[1:]:
            inside = (self.A.indices >= first) & (self.A.indices < first + n_lines * units)
            found.append((self.A.indices[inside] - first) // units)
            first += n_lines * units
        return np.unique(np.concatenate(found)).astype(np.intp)


def _balanced(row: FloatArray) -> tuple[FloatArray, float]:
    """Give positive and negative coefficients the same weight, in whole numbers; and that weight.

    The weight is 0 where one of the two is missing.
    """
    plus, minus = np.maximum(row, 0.0).sum(), np.maximum(-row, 0.0).sum()
    if not plus or not minus:
        return row, 0.0
    common = np.gcd(int(plus), int(minus)) if plus == int(plus) and minus == int(minus) else 1
    return np.where(row > 0, row * (minus / common), row * (plus / common)), plus * minus / common


def _places(lines: NDArray[np.integer], per_line: int) -> NDArray[np.intp]:
    """Where the entries of some lines are among those of all lines."""
    return np.asarray((np.asarray(lines)[:, None] * per_line + np.arange(per_line)).ravel())


def quantities(network: Network, inputs: FloatArray) -> FloatArray:
    """All weights, thresholds and activations of a network, one long line."""
    on = network.activations(inputs)
    parts = [*network.weights, *network.thresholds, *(u.astype(float) for u in on)]
    return np.concatenate([part.ravel() for part in parts])


def path_signs(
    weights: tuple[FloatArray, ...] | list[FloatArray], feature: int
) -> list[tuple[BoolArray, BoolArray]]:
    """For every layer, which units a positive and which a negative path from a feature reaches."""
    column = weights[0][:, feature]
    found = [(column > 0, column < 0)]
    for W in weights[1:]:
        rising, falling = found[-1]
        up, down = W > 0, W < 0
        rises = (up & rising) | (down & falling)
        falls = (up & falling) | (down & rising)
        found.append((np.asarray(rises.any(axis=1)), np.asarray(falls.any(axis=1))))
    return found
