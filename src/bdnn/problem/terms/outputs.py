"""Linear rows over the 0/1 outputs of samples, and samples that must be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, OutputRows
from bdnn.problem.terms.builder import Builder
from bdnn.problem.terms.context import AbstractConstraint, Context
from bdnn.program import IndexArray


@dataclass(frozen=True, eq=False)
class OutputTerm(AbstractTerm):
    """``lower <= A z <= upper`` for the outputs of all lines, some of which must be decided.

    outputs:  lower <= A z <= upper
    decided:  sum_l z_l = 1
    """

    A: csr_array  # (n_rows, n_lines * n_outputs)
    # (n_rows,).
    lower: FloatArray
    upper: FloatArray
    # Lines of which exactly one output must be on, so that it is the predicted class.
    decided: NDArray[np.integer]
    promised: dict[str, Any]

    sees_samples: ClassVar[bool] = True

    def invalidates(self, architecture: Architecture) -> frozenset[str]:
        """Outputs must mean what they say on both sides, also where the loss lets them be."""
        return frozenset({"one_sided"})

    def refusal(self, architecture: Architecture) -> str | None:
        """Numbers are neither on nor off."""
        if architecture.output == "step":
            return None
        return f"{self.name} is about classes, which a regressor has none of: leave it out."

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        """Evaluate the rows on the outputs."""
        return self.holds_for(network.outputs(problem.inputs))

    def holds_for(self, on: BoolArray) -> bool:
        """Evaluate the rows on given outputs."""
        values = self.A @ on.ravel().astype(float)
        kept = ((self.lower <= values + 1e-9) & (values <= self.upper + 1e-9)).all()
        return bool(kept and (on[self.decided].sum(axis=1) == 1).all())

    def restrict(self, lines: IndexArray, problem: Problem[Any]) -> OutputTerm:
        """Keep what rows say of these lines.

        Rows about one line stay as they are where it is there. Other rows compare shares of two
        groups, each with as much weight as the other: so it is again among these lines, up to one
        of them, and a row of which one group is missing is left out.
        """
        A = csr_array(self.A[:, line_places(lines, problem.architecture.n_outputs)])
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

    def needed_lines(self, problem: Problem[Any]) -> IndexArray:
        """Lines that a row speaks of alone."""
        seen = self.A.indices // problem.architecture.n_outputs
        starts = self.A.indptr[:-1][np.diff(self.A.indptr) > 0]
        if not starts.size:
            return np.zeros(0, dtype=np.int64)
        first, last = np.minimum.reduceat(seen, starts), np.maximum.reduceat(seen, starts)
        return np.unique(first[first == last]).astype(np.int64)

    def output_rows(self, problem: Problem[Any]) -> OutputRows:
        """The rows, and one per line that must be decided."""
        n_outputs = problem.architecture.n_outputs
        columns = line_places(self.decided, n_outputs)
        pointer = np.arange(0, len(columns) + 1, n_outputs)
        shape = (len(self.decided), self.A.shape[1])
        decided = csr_array((np.ones(len(columns)), columns, pointer), shape=shape)
        ones = np.ones(len(self.decided))
        return OutputRows(
            csr_array(vstack([self.A, decided], format="csr")),
            np.concatenate([self.lower, ones]),
            np.concatenate([self.upper, ones]),
        )

    def block(self, builder: Builder) -> None:
        z = builder.activations(len(builder.layers) - 1)
        is_single = len(builder.layers[-1].W) < builder.problem.architecture.n_outputs
        if self.decided.size and not is_single:
            u, name = z.columns[self.decided, :, 0], f"decided_{builder.number}"
            builder.program.add_rows(name, u, 1.0, lower=1.0, upper=1.0)
        name = f"outputs_{builder.number}"
        builder.add_matrix(name, self.A, [z], self.lower, self.upper)

    def claim(self) -> dict[str, Any]:
        """Say it of the training samples."""
        return self.promised


def line_places(lines: NDArray[np.integer], per_line: int) -> IndexArray:
    """Where the entries of some lines are among those of all lines."""
    return np.asarray((np.asarray(lines)[:, None] * per_line + np.arange(per_line)).ravel())


def _balanced(row: FloatArray) -> tuple[FloatArray, float]:
    """Give positive and negative coefficients the same weight, in whole numbers; and that weight.

    The weight is 0 where one of the two is missing.
    """
    plus, minus = np.maximum(row, 0.0).sum(), np.maximum(-row, 0.0).sum()
    if not plus or not minus:
        return row, 0.0
    common = np.gcd(int(plus), int(minus)) if plus == int(plus) and minus == int(minus) else 1
    return np.where(row > 0, row * (minus / common), row * (plus / common)), plus * minus / common


@dataclass(frozen=True, eq=False)
class MustClassify(AbstractConstraint):
    """Some samples must be right: the output of their class is on and no other one."""

    samples: Sequence[int] | NDArray[np.integer]  # rows of what is given to ``fit``, counted from 0

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Fix the outputs of the samples."""
        rows = context.samples(self.samples, self.name)
        lines, labels = context.lines[rows], context.labels[rows]
        pairs = np.unique(np.stack([lines, labels], axis=1), axis=0)
        twice = np.flatnonzero(np.diff(pairs[:, 0]) == 0)
        if twice.size:
            one, two = (rows[lines == pairs[twice[0], 0]][i] for i in (0, -1))
            raise DataError(
                f"{self.name}: samples {one} and {two} have equal inputs and different classes, "
                "so that no network can get both right: leave one out."
            )
        n_outputs = context.architecture.n_outputs
        columns = line_places(pairs[:, 0], n_outputs)
        wanted = (pairs[:, 1:] == np.arange(n_outputs)).astype(float).ravel()
        shape = (len(columns), context.n_lines * n_outputs)
        A = csr_array((np.ones(len(columns)), columns, np.arange(len(columns) + 1)), shape=shape)
        # Rows are counted from 1 among the samples that the loss counts.
        used = np.cumsum(context.lines >= 0)[np.unique(rows)]
        promise = {"kind": "right", "rows": ",".join(map(str, used.tolist()))}
        return [OutputTerm(self.name, A, wanted, wanted, pairs[:0, 0], promise)]

    @property
    def name(self) -> str:
        """As the user writes it, without the samples where they are many."""
        text = ", ".join(str(row) for row in np.ravel(self.samples)[:4].tolist())
        more = ", ..." if np.size(self.samples) > 4 else ""
        return f"MustClassify([{text}{more}])"
