"""Linear rows of a user's own over weights, thresholds and activations.

own:  lower <= A (W, t, u) <= upper
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from bdnn.errors import BDNNError, ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.builder import Block, Builder, Form
from bdnn.problem.terms.context import AbstractConstraint, Context
from bdnn.problem.terms.expressions import Expression, Rows, joined
from bdnn.problem.terms.outputs import line_places
from bdnn.program import IndexArray

# Rows whose coefficients are no whole numbers are kept up to the solvers' tolerance.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class LinearTerm(AbstractTerm):
    """``lower <= A q <= upper`` for all weights, thresholds and activations q of a network."""

    A: csr_array
    lower: FloatArray
    upper: FloatArray

    sees_samples: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """All that makes a variable stand for something else than the network's own number."""
        return frozenset({"one_output", "one_sided", "signed"})

    @property
    def scale_dependent(self) -> bool:
        return True

    @property
    def names_units(self) -> bool:
        return True

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        """Evaluate the rows on the network's quantities."""
        return self.holds_for(quantities(network, problem.inputs))

    def holds_for(self, q: FloatArray) -> bool:
        """Evaluate the rows on given quantities."""
        values = self.A @ q
        slack = _TOLERANCE * (1.0 + np.abs(values))
        return bool(((self.lower - slack <= values) & (values <= self.upper + slack)).all())

    def restrict(self, lines: IndexArray, problem: Problem[Any]) -> LinearTerm:
        """Leave out the activations of other lines, of which no row may speak."""
        first, parts = self._activations(problem)
        kept = [start + line_places(lines, units) for start, units in parts]
        return replace(self, A=csr_array(self.A[:, np.concatenate([np.arange(first), *kept])]))

    def needed_lines(self, problem: Problem[Any]) -> IndexArray:
        """All lines whose activations a row speaks of."""
        n_lines, seen = problem.samples.n_lines, self.A.indices
        found = [
            (seen[(seen >= start) & (seen < start + n_lines * units)] - start) // units
            for start, units in self._activations(problem)[1]
        ]
        return np.unique(np.concatenate(found)).astype(np.int64)

    def _activations(self, problem: Problem[Any]) -> tuple[int, list[tuple[int, int]]]:
        """Number of the first activation; the first one and the width of every layer."""
        widths, n_lines = problem.architecture.widths[1:], problem.samples.n_lines
        first = self.A.shape[1] - n_lines * sum(widths)
        starts = first + n_lines * np.cumsum([0, *widths[:-1]])
        return first, list(zip(starts.tolist(), widths, strict=True))

    def block(self, builder: Builder) -> Block:
        layers, name = range(len(builder.layers)), f"own_{builder.number}"
        one, nothing = np.ones(1), np.zeros(1)
        forms = [Form(layer.W[..., None], one, nothing) for layer in builder.layers]
        forms += [builder.thresholds(k) for k in layers]
        forms += [builder.activations(k) for k in layers]
        builder.add_matrix(name, self.A, forms, self.lower, self.upper)
        return _OwnRows(self, forms)

    def claim(self) -> dict[str, Any]:
        """Name the rows, which nobody else can check."""
        return {"kind": "own", "name": self.name}


@dataclass(frozen=True, eq=False)
class _OwnRows(Block):
    term: LinearTerm
    forms: list[Form]

    def lift(self, x: FloatArray) -> bool:
        q = [
            form.scale * ((form.coefficients * x[form.columns]).sum(axis=-1) + form.constant)
            for form in self.forms
        ]
        return self.term.holds_for(np.concatenate([part.ravel() for part in q]))


def quantities(network: Network, inputs: FloatArray) -> FloatArray:
    """All weights, thresholds and activations of a network, one long line."""
    on = network.activations(inputs)
    parts = [*network.weights, *network.thresholds, *(u.astype(float) for u in on)]
    return np.concatenate([part.ravel() for part in parts])


@dataclass(frozen=True, eq=False)
class Variables:
    """What a user's function sees: expressions in the shape of the network's arrays.

    Attributes
    ----------
    weights : tuple of Expression
        ``weights[k][unit, input]`` as in ``network_.weights``.
    thresholds : tuple of Expression
        ``thresholds[k][unit, level]`` as in ``network_.thresholds``.
    activations : tuple of Expression
        ``activations[k][sample, unit]``, the values of units on the rows given to ``fit`` that the
        loss counts, which are not those held out or without weight; outputs last, which are numbers
        for a regressor.
    features : tuple of str or None
        Names of the features.
    labels : array
        Index of the class of every such sample.
    """

    weights: tuple[Expression, ...]
    thresholds: tuple[Expression, ...]
    activations: tuple[Expression, ...]
    features: tuple[str, ...] | None
    labels: Any

    @classmethod
    def of(cls, context: Context) -> Variables:
        """Number all quantities: weights, thresholds, activations, layer by layer."""
        widths = context.architecture.widths
        n_lines = context.n_lines
        shapes = [(units, inputs) for inputs, units in pairwise(widths)]
        levels = [
            context.architecture.activation_of(k).n_thresholds for k in range(len(widths) - 1)
        ]
        shapes += list(zip(widths[1:], levels, strict=True))
        shapes += [(n_lines, units) for units in widths[1:]]
        sizes = [int(np.prod(shape)) for shape in shapes]
        ends = np.cumsum(sizes)
        count = int(ends[-1])
        numbers = [
            np.arange(end - size, end).reshape(shape)
            for end, size, shape in zip(ends, sizes, shapes, strict=True)
        ]
        layers = len(widths) - 1
        counted = context.lines >= 0
        lines = context.lines[counted]
        numbers[2 * layers :] = [part[lines] for part in numbers[2 * layers :]]
        parts = [Expression.of_quantities(part, count) for part in numbers]
        return cls(
            tuple(parts[:layers]),
            tuple(parts[layers : 2 * layers]),
            tuple(parts[2 * layers :]),
            context.names,
            context.labels[counted],
        )


@dataclass(frozen=True, eq=False)
class LinearRows(AbstractConstraint):
    """Linear rows over weights, thresholds and activations, made by a function.

    Parameters
    ----------
    function : callable
        Takes :class:`Variables` and returns a comparison such as
        ``v.weights[0][:, 2].sum() <= 1``, or a list of them.

    Examples
    --------
    >>> from bdnn.constraints import LinearRows
    >>> def same_threshold(v):
    ...     return v.thresholds[0][0] == v.thresholds[0][1]
    >>> LinearRows(same_threshold).name
    'LinearRows(same_threshold)'
    """

    function: Callable[[Variables], Rows | Sequence[Rows]]

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Call the function and look at what it returns."""
        if not callable(self.function):
            raise ModelError(
                f"LinearRows must be given a function of the variables, got {self.function!r}: "
                "give for example lambda v: v.weights[0].sum() <= 3."
            )
        try:
            returned = self.function(Variables.of(context))
            rows = [returned] if isinstance(returned, Rows) else list(returned)
        except BDNNError as error:
            raise ModelError(f"{self.name} failed: {error}") from error
        except Exception as error:
            text = " ".join(str(error).split())
            raise ModelError(
                f"{self.name} failed with {type(error).__name__} ({text}): correct the function."
            ) from error
        strange = next((part for part in rows if not isinstance(part, Rows)), None)
        if strange is not None or not rows:
            got = "nothing" if not rows else f"a {type(strange).__name__}"
            raise ModelError(
                f"{self.name} must return comparisons of expressions, got {got}: return for "
                "example [v.weights[0].sum() <= 3]."
            )
        found = joined(rows)
        # Two rows that were built from the same quantity may carry explicit zeros.
        found.matrix.eliminate_zeros()
        return [LinearTerm(self.name, found.matrix, found.lower, found.upper)]

    @property
    def name(self) -> str:
        """What messages call it: by the function's name."""
        return f"LinearRows({getattr(self.function, '__name__', repr(self.function))})"
