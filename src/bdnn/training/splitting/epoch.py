"""The problem of one epoch (the paper's problem 5): one activation pattern per cluster.

All batch samples of a cluster follow the same activations. A unit of the first layer is then a
half-space that cuts no cluster, and everything above it sees one input per cluster. With a radius
it cuts no ball around a sample either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog

from bdnn.activation import BoolArray, FloatArray
from bdnn.formulation import Robust
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.program import IndexArray
from bdnn.search.half_spaces import hulls_meet
from bdnn.training.splitting.partition import majority_loss

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class EpochProblem:
    """A batch and the clusters of its inputs.

    Parameters
    ----------
    problem : TrainingProblem
        The batch.
    groups : array of shape (n_inputs,)
        Number of the cluster of every input, from 0 without gaps.
    robust : Robust or None
        Balls around the inputs in which first-layer activations must hold.
    """

    problem: TrainingProblem
    groups: IndexArray
    robust: Robust | None = None

    @classmethod
    def create(
        cls, batch: TrainingProblem, cluster: IndexArray, robust: Robust | None = None
    ) -> EpochProblem:
        """Number the clusters that occur in the batch."""
        groups = np.unique(cluster, return_inverse=True)[1].reshape(-1)
        return cls(batch, groups, robust)

    @property
    def n_clusters(self) -> int:
        """Clusters of which the batch has samples."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def mass(self) -> FloatArray:
        """Mass of every class in every cluster."""
        return self._mass(self.groups)

    @cached_property
    def majority_bound(self) -> float:
        """Loss of the best answer for every cluster: no network has less."""
        return float(majority_loss(self.mass).sum())

    def hull_bound(self, *, deadline_passed: Callable[[], bool]) -> float:
        """Majority loss after clusters are merged that no unit can tell apart.

        A half-space that cuts neither of two clusters whose convex hulls share a point holds both
        or none. Such pairs are joined until there are no more; each is proven in rational numbers.
        """
        groups = self.groups.copy()
        again = True
        while again and not deadline_passed():
            again = False
            numbers = np.unique(groups)
            for place, one in enumerate(numbers):
                for two in numbers[place + 1 :]:
                    ones, twos = groups == one, groups == two
                    if deadline_passed() or not ones.any():
                        break
                    if twos.any() and self._hulls_meet(ones, twos):
                        groups[twos] = one
                        again = True
        groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        return float(majority_loss(self._mass(groups)).sum())

    def is_feasible(self, network: Network) -> bool:
        """Whether a network keeps constraints, and its first layer cuts no cluster and no ball."""
        if not self.problem.allows(network):
            return False
        if self.robust is not None and not self.robust.holds(network, self.problem.inputs).all():
            return False
        return self.patterns(network.activations(self.problem.inputs)[0]) is not None

    def patterns(self, on: BoolArray) -> BoolArray | None:
        """Activations of every cluster, None where inputs of one differ."""
        first = np.unique(self.groups, return_index=True)[1]
        common = on[first]
        return common if bool((on == common[self.groups]).all()) else None

    def _mass(self, groups: IndexArray) -> FloatArray:
        mass = np.zeros((int(groups.max(initial=-1)) + 1, self.problem.mass.shape[1]))
        np.add.at(mass, groups, self.problem.mass)
        return mass

    def _hulls_meet(self, one: BoolArray, two: BoolArray) -> bool:
        X, positive = self.problem.inputs, one[one | two]
        X = X[one | two]
        inside = X[positive], X[~positive]
        if (inside[0].max(axis=0) < inside[1].min(axis=0)).any() or (
            inside[1].max(axis=0) < inside[0].min(axis=0)
        ).any():
            return False
        signs = np.where(positive, 1.0, -1.0)
        system = np.vstack(((X * signs[:, None]).T, positive, ~positive)).astype(float)
        wanted = np.concatenate((np.zeros(X.shape[1]), [1.0, 1.0]))
        answer = linprog(
            np.zeros(len(X)), A_eq=system, b_eq=wanted, bounds=(0, None), method="highs-ds"
        )
        if answer.status != 0:
            return False
        support = answer.x > _NEGLIGIBLE
        return hulls_meet(X[support], positive[support])
