"""What a unit computes: its pre-activation and what it makes of it, each written once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import ModelError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Entries of rows that are numbers at the same time.
_ROW_ENTRIES = 1 << 20
# Rows handled at once in `weighted_sums`: small enough for the accumulator to stay in cache.
_CHUNK_ENTRIES = 1 << 16
# Products of blocks of this size are not worth several threads to a BLAS, and stay in cache.
_PRODUCT_ENTRIES = 1 << 19
# Weights from which zeros are left out where all but one of so many are 0, rows at a time then.
_MANY_WEIGHTS, _SPARSE, _SPARSE_ROWS = 4096, 10, 256
# Sums of multiples of 2**-20, as scaled inputs are, with integer weights do not round.
_GRID = 2.0**20
_EXACT = 2.0**53
# Every value costs a 0/1 variable per unit and sample, so that large sets are a mistake.
_MOST_VALUES = 16
_LARGEST_VALUE = 1024
_NAMES = "'step', 'sign', 'ternary', 'levels:N', 'values:V/V/...' or an Activation"


def step(preactivation: FloatArray, threshold: FloatArray) -> BoolArray:
    """Switch a unit on iff its pre-activation reaches its threshold."""
    return preactivation >= threshold


def _listed(values: object) -> tuple[Any, ...]:
    """Entries of a sequence or an array; nothing else is a list of numbers."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return tuple(values)
    return ()


@dataclass(frozen=True)
class Activation:
    """A finite set of values and the rule that chooses one.

    A unit with thresholds ``t_1 <= t_2 <= ...`` takes ``values[l]``, where l is the number of
    thresholds its pre-activation reaches: below ``t_1`` the first value, from ``t_1`` to below
    ``t_2`` the second, and so on. The step is the case of the values 0 and 1.

    Parameters
    ----------
    values : sequence of int
        From 2 to 16 integers, ascending.
    thresholds : sequence of float, optional
        Fixed distances: a unit's thresholds are these plus its own shift, its layer's or none, as
        the network's kind of thresholds says. Without them all thresholds are free, and for
        ``thresholds="zero"`` they lie half-way between the values, at 0 for two values.
    """

    values: tuple[int, ...] = (0, 1)
    thresholds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        values = _listed(self.values)
        if not (
            2 <= len(values) <= _MOST_VALUES
            and all(isinstance(v, Integral) and not isinstance(v, bool) for v in values)
            and all(abs(v) <= _LARGEST_VALUE for v in values)
            and all(a < b for a, b in pairwise(values))
        ):
            raise ModelError(
                f"an activation needs from 2 to {_MOST_VALUES} different integers in ascending "
                f"order, none beyond {_LARGEST_VALUE}, got {self.values!r}: give for example "
                "(-1, 0, 1)."
            )
        object.__setattr__(self, "values", tuple(int(v) for v in values))
        if self.thresholds is None:
            return
        limits = _listed(self.thresholds)
        if not (
            len(limits) == len(values) - 1
            and all(isinstance(t, Real) and not isinstance(t, bool) for t in limits)
            and all(abs(t) < 2.0**30 for t in limits)
            and all(a < b for a, b in pairwise(limits))
        ):
            raise ModelError(
                f"an activation of {len(values)} values needs {len(values) - 1} finite thresholds "
                f"in ascending order, got {self.thresholds!r}: give one between every two values, "
                "or None to learn them."
            )
        object.__setattr__(self, "thresholds", tuple(float(t) + 0.0 for t in limits))

    @classmethod
    def parse(cls, name: str | Activation) -> Activation:
        """Turn a name such as ``"sign"``, ``"levels:4"`` or ``"values:-1/0/3"`` into a rule.

        Fixed thresholds follow the values after ``@``, as in ``"values:-1/0/1@-0.5/0.5"``.
        """
        if isinstance(name, Activation):
            return name
        if isinstance(name, str):
            named = {"step": (0, 1), "sign": (-1, 1), "ternary": (-1, 0, 1)}
            if name in named:
                return cls(named[name])
            match = re.fullmatch(r"levels:([0-9]{1,4})", name)
            if match and int(match[1]) > _MOST_VALUES:
                raise ModelError(
                    f"an activation has at most {_MOST_VALUES} values, got {name!r}: use fewer."
                )
            if match:
                return cls(tuple(range(int(match[1]))))
            match = re.fullmatch(r"values:([-+0-9/]+)(?:@([-+.0-9e/]+))?", name)
            try:
                if match:
                    limits = match[2] and tuple(float(t) for t in match[2].split("/"))
                    return cls(tuple(int(v) for v in match[1].split("/")), limits or None)
            except ValueError as error:
                if isinstance(error, ModelError):
                    raise
        raise ModelError(f"activation must be {_NAMES}, got {name!r}: choose one of these.")

    @property
    def name(self) -> str:
        """What :meth:`parse` makes the same rule of."""
        known = {(0, 1): "step", (-1, 1): "sign", (-1, 0, 1): "ternary"}
        if self.thresholds is not None:
            limits = "/".join(repr(t) for t in self.thresholds)
            return f"values:{'/'.join(map(str, self.values))}@{limits}"
        if self.values in known:
            return known[self.values]
        if self.values == tuple(range(len(self.values))):
            return f"levels:{len(self.values)}"
        return f"values:{'/'.join(map(str, self.values))}"

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds of a unit, one less than values."""
        return len(self.values) - 1

    @property
    def is_step(self) -> bool:
        """Whether this is the step from 0 to 1."""
        return self == STEP

    @property
    def is_reversible(self) -> bool:
        """Whether a unit with negated weights can take the values in reverse order."""
        return self.thresholds is None and bool((self.jumps == self.jumps[::-1]).all())

    @property
    def jumps(self) -> FloatArray:
        """What reaching each threshold adds to the value."""
        return np.diff(np.array(self.values, dtype=float))

    @property
    def offsets(self) -> FloatArray:
        """Thresholds of a unit whose shift is 0."""
        if self.thresholds is not None:
            return np.array(self.thresholds)
        if len(self.values) == 2:
            return np.zeros(1)
        return np.array([0.5 * (a + b) for a, b in pairwise(self.values)])

    def levels(self, preactivation: FloatArray, thresholds: FloatArray) -> NDArray[np.intp]:
        """Count the thresholds that every unit reaches.

        Parameters
        ----------
        preactivation : array of shape (n_samples, units)
        thresholds : array of shape (units, n_thresholds)
        """
        count = np.zeros(preactivation.shape, dtype=np.intp)
        for limit in thresholds.T:
            count += step(preactivation, limit)
        return count

    def __call__(self, preactivation: FloatArray, thresholds: FloatArray) -> NDArray[Any]:
        """Values of units: truth values for the step, numbers for all others."""
        if self.values == STEP.values:
            return step(preactivation, thresholds[:, 0])
        return np.array(self.values, dtype=float)[self.levels(preactivation, thresholds)]


STEP = Activation()


def weighted_sums(inputs: FloatArray, weights: FloatArray) -> FloatArray:
    """Pre-activations ``inputs @ weights.T``, summed in feature order.

    A matrix product may add in any order, so that a row's last bits depend on the rows beside it.
    Adding feature by feature gives every row the same bits alone, in a batch, and in plain C.
    Where all partial sums are exact (integer weights on 0/1 activations, or on inputs that lie on
    the scaler's grid) the order is irrelevant and the fast product is used.
    """
    n_samples, n_inputs = inputs.shape
    n_units = weights.shape[0]
    sums = np.empty((n_samples, n_units))
    columns = np.ascontiguousarray(weights.T)
    largest = _largest_exact(weights)
    chunk = _CHUNK_ENTRIES // max(1, n_units)
    if largest:
        chunk = min(chunk, _PRODUCT_ENTRIES // max(1, n_units * n_inputs))
    chunk = max(1, chunk)
    sparse = None
    if largest and np.count_nonzero(weights) * _SPARSE < weights.size > _MANY_WEIGHTS:
        from scipy.sparse import csr_array  # slow to load

        sparse, chunk = csr_array(weights), _SPARSE_ROWS
    for first in range(0, n_samples, chunk):
        rows = slice(first, first + chunk)
        block, target = inputs[rows], sums[rows]
        if largest and _is_on_grid(block, largest):
            if sparse is None:
                np.matmul(block, columns, out=target)
            else:
                target[:] = (sparse @ np.ascontiguousarray(block.T)).T
            continue
        # Units in lines and samples along them: long vectors also where units are few.
        lines = np.ascontiguousarray(block.T)
        total, part = np.zeros((n_units, len(block))), np.empty((n_units, len(block)))
        for j in range(n_inputs):
            total += np.multiply(columns[j][:, None], lines[j], out=part)
        target[:] = total.T
    return sums


def _largest_exact(weights: FloatArray) -> float:
    """Find how large inputs may be for no sum to round, 0 if the weights are no integers."""
    if not np.array_equal(weights, np.rint(weights)):
        return 0.0
    return _EXACT / _GRID / max(1.0, float(np.abs(weights).sum(axis=1).max(initial=0.0)))


def _is_on_grid(inputs: FloatArray, largest: float) -> bool:
    """Tell whether all inputs are multiples of the grid's step and below a limit."""
    if not inputs.size:
        return True
    if not (inputs.max() < largest and inputs.min() > -largest):
        return False
    multiples = inputs * _GRID
    return bool((multiples == np.rint(multiples)).all())


def row_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Parts of the rows of an array that are small as numbers."""
    size = max(1, _ROW_ENTRIES // max(1, shape[1]))
    return [slice(first, first + size) for first in range(0, shape[0], size)]
