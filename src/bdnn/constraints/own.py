"""A user's own constraints: a function from named variables to linear rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.context import Context
from bdnn.constraints.expressions import Expression, Rows, joined
from bdnn.constraints.rules import AbstractRule, QuantityRows
from bdnn.errors import BDNNError, ModelError

# Everything that would make a variable stand for something else than the network's own number.
_ALL = frozenset({"one_output", "one_sided", "signed"})


@dataclass(frozen=True, eq=False)
class Variables:
    """What a user's function sees: expressions in the shape of the network's arrays.

    Attributes
    ----------
    weights : tuple of Expression
        ``weights[k][unit, input]`` as in ``network_.weights``.
    thresholds : tuple of Expression
        ``thresholds[k][unit]`` as in ``network_.thresholds``.
    activations : tuple of Expression
        ``activations[k][sample, unit]``, 0 or 1, for the rows given to ``fit``; outputs last.
    features : tuple of str or None
        Names of the features.
    labels : array
        Index of every sample's class.
    """

    weights: tuple[Expression, ...]
    thresholds: tuple[Expression, ...]
    activations: tuple[Expression, ...]
    features: tuple[str, ...] | None
    labels: Any

    @classmethod
    def of(cls, context: Context) -> Variables:
        """Number all quantities in the order of :func:`bdnn.constraints.rules.quantities`."""
        widths = context.architecture.widths
        n_lines = int(context.lines.max(initial=-1)) + 1
        shapes = [(units, inputs) for inputs, units in pairwise(widths)]
        shapes += [(units,) for units in widths[1:]]  # type: ignore[misc]
        shapes += [(n_lines, units) for units in widths[1:]]
        sizes = [int(np.prod(shape)) for shape in shapes]
        ends = np.cumsum(sizes)
        count = int(ends[-1])
        numbers = [
            np.arange(end - size, end).reshape(shape)
            for end, size, shape in zip(ends, sizes, shapes, strict=True)
        ]
        layers = len(widths) - 1
        # A sample that nothing is trained on shows the activations of the first line, which is
        # checked for below.
        numbers[2 * layers :] = [part[context.lines] for part in numbers[2 * layers :]]
        parts = [Expression.of_quantities(part, count) for part in numbers]
        return cls(
            tuple(parts[:layers]),
            tuple(parts[layers : 2 * layers]),
            tuple(parts[2 * layers :]),
            context.names,
            context.labels,
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

    is_about_samples: ClassVar[bool] = True

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Call the function and look at what it returns."""
        if not callable(self.function):
            raise ModelError(
                f"LinearRows must be given a function of the variables, got {self.function!r}: "
                "give for example lambda v: v.weights[0].sum() <= 3."
            )
        if (context.lines < 0).any():
            raise ModelError(
                f"{self.name} sees the activations of all samples, but some have no weight or are "
                "kept for validation: leave these out."
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
        return [QuantityRows(self.name, _ALL, found.matrix, found.lower, found.upper)]

    @property
    def name(self) -> str:
        """What messages call it: by the function's name."""
        return f"LinearRows({getattr(self.function, '__name__', repr(self.function))})"
