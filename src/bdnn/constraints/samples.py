"""Constraints on what samples get: fair shares, and answers that must be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bdnn.activation import BoolArray, FloatArray
from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.context import Context, amount, is_whole
from bdnn.constraints.rules import AbstractRule, OutputRows
from bdnn.errors import DataError

# Outputs must mean what they say on both sides, also where the loss would let them be.
_TWO_SIDED = frozenset({"one_sided"})


@dataclass(frozen=True, eq=False)
class DemographicParity(AbstractConstraint):
    """Every group gets a class about equally often: shares differ by at most ``eps``.

    Shares are of the training samples, each counted once. The samples of all groups must have
    exactly one output that is on, which is their predicted class.

    Parameters
    ----------
    group : str, int or array of shape (n_samples,)
        A feature whose values are the groups, or the group of every sample given to ``fit``.
    eps : float
        From 0 to 1.
    label : object, default None
        The class; of two classes the second by default.
    """

    group: Any
    eps: float
    label: Any = None

    is_about_samples: ClassVar[bool] = True

    def resolve(self, context: Context) -> list[AbstractRule]:
        """Write a row for every pair of groups."""
        amount(self.eps, f"{self.name}: eps", at_most=1.0)
        output = context.output(self.label, self.name)
        groups = {
            value: members & self._counts(context, output)
            for value, members in context.groups(self.group, self.name).items()
        }
        empty = [value for value, members in groups.items() if not members.any()]
        if empty:
            raise DataError(
                f"{self.name}: the group {empty[0]!r} has no sample of the class "
                f"{context.classes[output]!r}: leave it out or choose other groups."
            )
        is_feature = isinstance(self.group, str) or is_whole(self.group)
        promise = {
            "kind": "parity",
            "feature": context.feature(self.group, self.name) if is_feature else None,
            "class": context.classes[output],
            "at_most": float(self.eps),
            "only_own": isinstance(self, EqualOpportunity),
        }
        rows = _fair_shares(context, list(groups.values()), output, self.eps)
        return [OutputRows(self.name, _TWO_SIDED, *rows, promise)]

    @property
    def name(self) -> str:
        """As the user writes it, without the groups of single samples."""
        group = repr(self.group) if isinstance(self.group, str | int) else "group"
        return f"{type(self).__name__}({group}, {self.eps})"

    def _counts(self, context: Context, output: int) -> BoolArray:
        """Which samples count."""
        del output
        return context.lines >= 0


@dataclass(frozen=True, eq=False)
class EqualOpportunity(DemographicParity):
    """The samples of a class are found about equally often in every group.

    As :class:`DemographicParity`, but only samples count whose class it is: rates of true positives
    differ by at most ``eps``.

    Parameters
    ----------
    group, eps, label
        As for :class:`DemographicParity`.
    """

    def _counts(self, context: Context, output: int) -> BoolArray:
        return np.asarray(context.labels == output)


@dataclass(frozen=True, eq=False)
class MustClassify(AbstractConstraint):
    """Some samples must be right: the output of their class is on and no other one.

    Parameters
    ----------
    samples : sequence of int or mask
        Rows of what is given to ``fit``, counted from 0.
    """

    samples: Sequence[int] | NDArray[np.integer]

    is_about_samples: ClassVar[bool] = True

    def resolve(self, context: Context) -> list[AbstractRule]:
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
        columns = (pairs[:, :1] * n_outputs + np.arange(n_outputs)).ravel()
        wanted = (pairs[:, 1:] == np.arange(n_outputs)).astype(float).ravel()
        shape = (len(columns), _n_lines(context) * n_outputs)
        A = csr_array((np.ones(len(columns)), columns, np.arange(len(columns) + 1)), shape=shape)
        # Rows are counted from 1 among the samples that the loss counts.
        used = np.cumsum(context.lines >= 0)[np.unique(rows)]
        promise = {"kind": "right", "rows": ",".join(map(str, used.tolist()))}
        return [OutputRows(self.name, _TWO_SIDED, A, wanted, wanted, pairs[:0, 0], promise)]

    @property
    def name(self) -> str:
        """As the user writes it, without the samples where they are many."""
        text = ", ".join(str(row) for row in np.ravel(self.samples)[:4].tolist())
        more = ", ..." if np.size(self.samples) > 4 else ""
        return f"MustClassify([{text}{more}])"


def _n_lines(context: Context) -> int:
    return int(context.lines.max(initial=-1)) + 1


def _fair_shares(
    context: Context, groups: list[BoolArray], output: int, eps: float
) -> tuple[csr_array, FloatArray, FloatArray, NDArray[np.intp]]:
    """``|share_a - share_b| <= eps``, multiplied by the sizes so that all numbers are whole."""
    n_lines, n_outputs = _n_lines(context), context.architecture.n_outputs
    counts: list[FloatArray] = [
        np.bincount(context.lines[members], minlength=n_lines).astype(float) for members in groups
    ]
    pairs = list(combinations(range(len(groups)), 2))
    A = np.zeros((len(pairs), n_lines, n_outputs))
    limit = np.zeros(len(pairs))
    for row, (a, b) in enumerate(pairs):
        A[row, :, output] = counts[a] * counts[b].sum() - counts[b] * counts[a].sum()
        limit[row] = np.floor(eps * counts[a].sum() * counts[b].sum() + 1e-9)
    decided = np.unique(context.lines[np.any(groups, axis=0)])
    return csr_array(A.reshape(len(pairs), -1)), -limit, limit, decided
