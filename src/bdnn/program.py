"""A mixed-integer program as sparse arrays, filled block by block, known to no solver.

    minimise    c.x + sum_j q_j x_j^2 + offset
    subject to  lower <= A x <= upper,   ||x[cone]||_2 <= x[radius],
                bounds on x, some x integer

Variables and rows are added in bulk: a block of rows is an array of column numbers and an array of
coefficients, one line per row, so that no Python loop runs over samples and units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray

IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class VariableBlock:
    """Consecutive variables with one name, and their column numbers in the block's shape."""

    name: str
    columns: IndexArray
    integer: bool


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows with one name."""

    name: str
    first: int
    count: int
    nonzeros: int


@dataclass(frozen=True)
class ConeBlock:
    """Cones ``||x[members[r]]||_2 <= x[radius[r]]``, one per line."""

    name: str
    members: IndexArray
    radius: IndexArray


@dataclass
class Program:
    """A mixed-integer program to be filled with blocks and handed to a solver."""

    variable_blocks: list[VariableBlock] = field(default_factory=list)
    row_blocks: list[RowBlock] = field(default_factory=list)
    cones: list[ConeBlock] = field(default_factory=list)
    offset: float = 0.0
    _lower: list[FloatArray] = field(default_factory=list)
    _upper: list[FloatArray] = field(default_factory=list)
    _integer: list[BoolArray] = field(default_factory=list)
    _linear: list[tuple[IndexArray, FloatArray]] = field(default_factory=list)
    _quadratic: list[tuple[IndexArray, FloatArray]] = field(default_factory=list)
    _entries: list[tuple[IndexArray, IndexArray, FloatArray]] = field(default_factory=list)
    _row_lower: list[FloatArray] = field(default_factory=list)
    _row_upper: list[FloatArray] = field(default_factory=list)
    n_variables: int = 0
    n_rows: int = 0

    def add_variables(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        integer: bool = False,
    ) -> IndexArray:
        """Add a block of variables and return their column numbers in the given shape.

        Bounds may be scalars or arrays that broadcast to the shape.
        """
        columns = np.arange(self.n_variables, self.n_variables + int(np.prod(shape)))
        columns = columns.astype(np.int64).reshape(shape)
        low, high = _spread(lower, shape), _spread(upper, shape)
        if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
            raise ModelError(f"variables '{name}' have crossed or missing bounds: check them.")
        self.variable_blocks.append(VariableBlock(name, columns, integer))
        self._lower.append(low)
        self._upper.append(high)
        self._integer.append(np.full(columns.size, integer))
        self.n_variables += columns.size
        return columns

    def add_rows(
        self,
        name: str,
        columns: IndexArray,
        coefficients: ArrayLike,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add a block of rows ``lower <= sum(coefficients * x[columns]) <= upper``.

        Parameters
        ----------
        name : str
        columns : array of shape (..., terms)
            Column numbers; every index of the leading axes is a row.
        coefficients : array that broadcasts to the shape of ``columns``
            Zeros are left out of the matrix.
        lower, upper : arrays that broadcast to the leading shape
        """
        values = np.broadcast_to(np.asarray(coefficients, dtype=float), columns.shape)
        if not np.isfinite(values).all():
            raise ModelError(
                f"rows '{name}' have a coefficient that is not finite: check the data."
            )
        shape = columns.shape[:-1]
        low, high = _spread(lower, shape), _spread(upper, shape)
        if not (low <= high).all():
            raise ModelError(f"rows '{name}' have crossed or missing bounds: check them.")
        count = int(np.prod(shape))
        keep = values != 0.0
        numbers = np.broadcast_to(
            np.arange(self.n_rows, self.n_rows + count).reshape(*shape, 1), columns.shape
        )
        self._entries.append((numbers[keep], columns[keep], values[keep]))
        self._row_lower.append(low)
        self._row_upper.append(high)
        self.row_blocks.append(RowBlock(name, self.n_rows, count, int(keep.sum())))
        self.n_rows += count

    def add_cones(self, name: str, members: IndexArray, radius: IndexArray) -> None:
        """Add second-order cones ``||x[members[r]]||_2 <= x[radius[r]]``, one per line."""
        members = members.reshape(-1, members.shape[-1])
        self.cones.append(ConeBlock(name, members, radius.reshape(-1)))

    def minimise(
        self, columns: IndexArray, coefficients: ArrayLike, *, quadratic: bool = False
    ) -> None:
        """Add ``sum(coefficients * x[columns])``, or with squares of x, to the objective."""
        values = np.broadcast_to(np.asarray(coefficients, dtype=float), columns.shape)
        if not np.isfinite(values).all():
            raise ModelError("the objective has a coefficient that is not finite: check the data.")
        terms = self._quadratic if quadratic else self._linear
        terms.append((columns.ravel(), values.ravel()))

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> Program:
        """Share everything with this program but the bounds of the variables."""
        return replace(self, _lower=[lower], _upper=[upper])

    def without_cones(self) -> Program:
        """Copy everything but the cones, so that rows can take their place in the copy alone."""
        return replace(
            self,
            cones=[],
            row_blocks=list(self.row_blocks),
            _entries=list(self._entries),
            _row_lower=list(self._row_lower),
            _row_upper=list(self._row_upper),
        )

    @property
    def lower(self) -> FloatArray:
        """Lower bounds of the variables."""
        return _joined(self._lower)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of the variables."""
        return _joined(self._upper)

    @property
    def integer(self) -> BoolArray:
        """Which variables are integer."""
        return np.concatenate(self._integer) if self._integer else np.zeros(0, dtype=bool)

    @property
    def linear(self) -> FloatArray:
        """Linear objective coefficients."""
        return self._objective(self._linear)

    @property
    def quadratic(self) -> FloatArray:
        """Coefficients of the squares in the objective."""
        return self._objective(self._quadratic)

    @property
    def row_lower(self) -> FloatArray:
        """Left-hand sides of the rows."""
        return _joined(self._row_lower)

    @property
    def row_upper(self) -> FloatArray:
        """Right-hand sides of the rows."""
        return _joined(self._row_upper)

    @property
    def matrix(self) -> csr_array:
        """All rows as one sparse matrix; repeated columns of a row are added up."""
        shape = (self.n_rows, self.n_variables)
        if not self._entries:
            return csr_array(shape)
        rows, columns, values = (
            np.concatenate([entry[part] for entry in self._entries]) for part in range(3)
        )
        # Rows arrive in order, so the row pointer is a count and no sorting is needed.
        pointer = np.zeros(self.n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self.n_rows), out=pointer[1:])
        matrix = csr_array((values, columns, pointer), shape=shape)
        matrix.sum_duplicates()
        return matrix

    def objective(self, x: FloatArray) -> float:
        """Objective value of a point."""
        return float(self.linear @ x + self.quadratic @ (x * x) + self.offset)

    def violation(self, x: FloatArray) -> float:
        """Largest amount by which a point breaks a bound, row, cone or integrality."""
        parts = [np.zeros(1), self.lower - x, x - self.upper]
        parts.append(np.where(self.integer, np.abs(x - np.rint(x)), 0.0))
        if self.n_rows:
            activity = self.matrix @ x
            parts += [self.row_lower - activity, activity - self.row_upper]
        parts += [np.linalg.norm(x[c.members], axis=1) - x[c.radius] for c in self.cones]
        return float(max(part.max() for part in parts if part.size))

    def size_table(self) -> list[tuple[str, str, int, int]]:
        """List (kind, block, count, integers or non-zeros) for every block."""
        table = [
            ("variables", b.name, b.columns.size, b.columns.size if b.integer else 0)
            for b in self.variable_blocks
        ]
        table += [("rows", b.name, b.count, b.nonzeros) for b in self.row_blocks]
        table += [("cones", c.name, len(c.radius), c.members.size) for c in self.cones]
        return table

    def column_names(self) -> Iterator[str]:
        """Names such as ``u1_3_0`` that any LP file accepts, in column order.

        A further block of the same name continues the count of its first index.
        """
        begin: dict[str, int] = {}
        for block in self.variable_blocks:
            first = begin.get(block.name, 0)
            shape = block.columns.shape or (1,)
            begin[block.name] = first + shape[0]
            for index in np.ndindex(shape):
                yield "_".join([block.name, str(first + index[0]), *map(str, index[1:])])

    def row_names(self) -> Iterator[str]:
        """Names such as ``active1_12`` in row order."""
        begin: dict[str, int] = {}
        for block in self.row_blocks:
            first = begin.get(block.name, 0)
            begin[block.name] = first + block.count
            for number in range(first, first + block.count):
                yield f"{block.name}_{number}"

    def _objective(self, terms: list[tuple[IndexArray, FloatArray]]) -> FloatArray:
        total = np.zeros(self.n_variables)
        for columns, values in terms:
            np.add.at(total, columns, values)
        return total


def interleave(*columns: IndexArray) -> IndexArray:
    """Join column arrays along a new last axis, broadcasting what a row has in common.

    Arrays are given with their terms on the last axis and must broadcast on the others.
    """
    lead = np.broadcast_shapes(*(c.shape[:-1] for c in columns))
    return np.concatenate([np.broadcast_to(c, (*lead, c.shape[-1])) for c in columns], axis=-1)


def _spread(values: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    return np.broadcast_to(np.asarray(values, dtype=float), shape).ravel().copy()


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts) if parts else np.zeros(0)


def is_integral(values: FloatArray) -> bool:
    """Tell whether all finite entries are integers."""
    finite = values[np.isfinite(values)]
    return bool((finite == np.rint(finite)).all())


__all__ = [
    "ConeBlock",
    "IndexArray",
    "Program",
    "RowBlock",
    "VariableBlock",
    "interleave",
    "is_integral",
]
