"""Groups that get a class about equally often."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.context import AbstractConstraint, Context, amount, is_whole
from bdnn.problem.terms.outputs import OutputTerm


@dataclass(frozen=True, eq=False)
class DemographicParity(AbstractConstraint):
    """Every group gets a class about equally often: shares differ by at most ``eps``.

    Shares are of the training samples, each counted once. The samples of all groups must have
    exactly one output that is on, which is their predicted class.

    Parameters
    ----------
    group : str, int, None or array of shape (n_samples,)
        A feature whose values are the groups; None for the ``groups`` given to ``fit``. For a
        problem of one's own also the group of every sample.
    eps : float
        From 0 to 1.
    label : object, default None
        The class; of two classes the second by default.
    """

    group: Any
    eps: float
    label: Any = None

    only_own: ClassVar[bool] = False

    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Write a row for every pair of groups."""
        amount(self.eps, f"{self.name}: eps", at_most=1.0)
        output = context.output(self.label, self.name)
        counted = context.labels == output if self.only_own else context.lines >= 0
        groups = {
            value: members & counted
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
            "only_own": self.only_own,
        }
        rows = _fair_shares(context, list(groups.values()), output, self.eps)
        return [OutputTerm(self.name, *rows, promise)]

    @property
    def name(self) -> str:
        """As the user writes it, without the groups of single samples."""
        group = repr(self.group) if isinstance(self.group, str | int | None) else "group"
        return f"{type(self).__name__}({group}, {self.eps})"


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

    only_own: ClassVar[bool] = True


def _fair_shares(
    context: Context, groups: list[BoolArray], output: int, eps: float
) -> tuple[csr_array, FloatArray, FloatArray, NDArray[np.intp]]:
    """``|share_a - share_b| <= eps``, multiplied by the sizes so that all numbers are whole."""
    n_lines, n_outputs = context.n_lines, context.architecture.n_outputs
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
