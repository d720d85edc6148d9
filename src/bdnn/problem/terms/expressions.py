"""Linear expressions over the quantities of a network, as a user's function combines them.

An :class:`Expression` is an array of linear functions of all weights, thresholds and activations;
it is indexed, added, multiplied by numbers and compared as a numpy array is. A comparison makes
:class:`Rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """``lower <= matrix @ q <= upper``."""

    matrix: csr_array
    lower: FloatArray
    upper: FloatArray

    def __bool__(self) -> bool:
        raise ModelError(
            "a comparison of expressions is a row and neither true nor false: write chains such as "
            "0 <= x <= 1 as two rows."
        )


@dataclass(frozen=True, eq=False)
class Expression:
    """An array of linear functions ``matrix @ q + constant``, one line per entry.

    Supports indexing, ``len``, iteration, ``sum``, ``+``, ``-``, multiplication by numbers,
    ``@`` with an array of numbers, and the comparisons ``<=``, ``>=`` and ``==``.
    """

    matrix: csr_array
    constant: FloatArray

    # Makes numpy leave `array * expression` to this class.
    __array_ufunc__ = None

    @classmethod
    def of_quantities(cls, numbers: NDArray[np.integer], count: int) -> Expression:
        """The quantities of these numbers, of ``count`` in all."""
        flat = numbers.ravel()
        pointer = np.arange(len(flat) + 1)
        matrix = csr_array((np.ones(len(flat)), flat, pointer), shape=(len(flat), count))
        return cls(matrix, np.zeros(numbers.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.constant.shape

    def __len__(self) -> int:
        return len(self.constant)

    def __iter__(self) -> Iterator[Expression]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Expression:
        places = np.arange(self.constant.size).reshape(self.shape)[index]
        return Expression(self.matrix[np.ravel(places)], np.asarray(self.constant[index]))

    def sum(self, axis: int | None = None) -> Expression:
        """Sum of all entries, or along an axis."""
        places = np.arange(self.constant.size).reshape(self.shape)
        if axis is None:
            places = places.reshape(1, -1)
        else:
            places = np.moveaxis(places, axis, -1).reshape(-1, self.shape[axis])
        adder = csr_array(
            (
                np.ones(places.size),
                places.ravel(),
                np.arange(0, places.size + 1, places.shape[1] or 1)[: len(places) + 1],
            ),
            shape=(len(places), self.constant.size),
        )
        return Expression(adder @ self.matrix, np.asarray(self.constant.sum(axis=axis)))

    def __add__(self, other: Any) -> Expression:
        if not isinstance(other, Expression):
            constant = self.constant + _numbers(other, "added to")
            return Expression(self._spread(constant.shape).matrix, np.asarray(constant))
        shape = np.broadcast_shapes(self.shape, other.shape)
        one, two = self._spread(shape), other._spread(shape)
        return Expression(one.matrix + two.matrix, one.constant + two.constant)

    def __mul__(self, factor: Any) -> Expression:
        values = _numbers(factor, "multiplied by")
        shape = np.broadcast_shapes(self.shape, values.shape)
        spread, factors = self._spread(shape), np.broadcast_to(values, shape)
        scaled = spread.matrix.multiply(factors.reshape(-1, 1)).tocsr()
        return Expression(csr_array(scaled), spread.constant * factors)

    def __matmul__(self, factor: Any) -> Expression:
        values = _numbers(factor, "multiplied by")
        if values.ndim != 1 or not self.shape or self.shape[-1] != len(values):
            raise ModelError(
                f"an expression of shape {self.shape} cannot be multiplied by an array of shape "
                f"{values.shape}: give one number per entry of the last axis."
            )
        return self.__mul__(values).sum(axis=-1)

    def __rmatmul__(self, factor: Any) -> Expression:
        if len(self.shape) != 1:
            raise ModelError(
                f"only expressions of one axis can stand right of @, got shape {self.shape}: use "
                "sums and indices."
            )
        return self.__matmul__(factor)

    def __radd__(self, other: Any) -> Expression:
        return self.__add__(other)

    def __rmul__(self, factor: Any) -> Expression:
        return self.__mul__(factor)

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Any) -> Expression:
        return self + (-other if isinstance(other, Expression) else -_numbers(other, "less"))

    def __rsub__(self, other: Any) -> Expression:
        return self.__neg__().__add__(other)

    def __truediv__(self, divisor: Any) -> Expression:
        return self * (1.0 / _numbers(divisor, "divided by"))

    def __le__(self, other: Any) -> Rows:
        return self.__sub__(other)._rows(upper=0.0)

    def __ge__(self, other: Any) -> Rows:
        return self.__sub__(other)._rows(lower=0.0)

    def __eq__(self, other: Any) -> Rows:  # type: ignore[override]
        return self.__sub__(other)._rows(lower=0.0, upper=0.0)

    __hash__ = None  # type: ignore[assignment]

    def _rows(self, lower: float = -np.inf, upper: float = np.inf) -> Rows:
        constant = self.constant.ravel()
        return Rows(self.matrix, lower - constant, upper - constant)

    def _spread(self, shape: tuple[int, ...]) -> Expression:
        if shape == self.shape:
            return self
        places = np.broadcast_to(np.arange(self.constant.size).reshape(self.shape), shape)
        return Expression(self.matrix[places.ravel()], np.broadcast_to(self.constant, shape))


def joined(rows: list[Rows]) -> Rows:
    """Put rows below each other."""
    return Rows(
        csr_array(vstack([part.matrix for part in rows], format="csr")),
        np.concatenate([part.lower for part in rows]),
        np.concatenate([part.upper for part in rows]),
    )


def _numbers(value: Any, use: str) -> FloatArray:
    if isinstance(value, Expression):
        raise ModelError(
            "an expression is multiplied or divided by another one, but rows must be linear: "
            "multiply by numbers only."
        )
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.isfinite(values).all():
        raise ModelError(f"an expression is {use} {value!r}, which is no finite number: check it.")
    return values
