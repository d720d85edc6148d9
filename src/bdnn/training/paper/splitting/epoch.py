"""The problem of one epoch (the paper's problem 5): one activation pattern per cluster.

All batch samples of a cluster follow the same activations. A unit of the first layer is then a
half-space that cuts no cluster, and everything above it sees one input per cluster. With a radius
it cuts no ball around a sample either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bdnn.bounds.separation import hulls_meet
from bdnn.clock import Slot
from bdnn.mip import Robust
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.training.paper.splitting.partition import majority_loss


@dataclass(frozen=True, eq=False)
class EpochProblem:
    """A batch and the clusters of its inputs.

    Parameters
    ----------
    problem : Problem[OutputLoss]
        The batch.
    groups : array of shape (n_inputs,)
        Number of the cluster of every input, from 0 without gaps.
    robust : Robust or None
        Balls around the inputs in which first-layer activations must hold.
    """

    problem: Problem[OutputLoss]
    groups: IndexArray
    robust: Robust | None = None

    @classmethod
    def create(
        cls, batch: Problem[OutputLoss], cluster: IndexArray, robust: Robust | None = None
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

    def hull_bound(self, slot: Slot) -> float:
        """Majority loss after clusters are merged that no unit can tell apart.

        A half-space that cuts neither of two clusters whose convex hulls share a point holds both
        or none. Such pairs are joined until there are no more; each is proven in rational numbers.
        """
        groups = self.groups.copy()
        again = True
        while again and not slot.is_over():
            again = False
            numbers = np.unique(groups)
            for place, one in enumerate(numbers):
                for two in numbers[place + 1 :]:
                    ones, twos = groups == one, groups == two
                    if slot.is_over() or not ones.any():
                        break
                    if twos.any() and self._hulls_meet(ones, twos):
                        groups[twos] = one
                        again = True
        groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        return float(majority_loss(self._mass(groups)).sum())

    def is_feasible(self, network: Network) -> bool:
        """Whether a network keeps constraints, and its first layer cuts no cluster and no ball."""
        if not self.problem.is_feasible(network):
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
        mass = np.zeros((int(groups.max(initial=-1)) + 1, self.problem.loss.label_weight.shape[1]))
        np.add.at(mass, groups, self.problem.loss.label_weight)
        return mass

    def _hulls_meet(self, one: BoolArray, two: BoolArray) -> bool:
        X, positive = self.problem.inputs, one[one | two]
        X = X[one | two]
        inside = X[positive], X[~positive]
        if (inside[0].max(axis=0) < inside[1].min(axis=0)).any() or (
            inside[1].max(axis=0) < inside[0].min(axis=0)
        ).any():
            return False
        return hulls_meet(X, positive)
