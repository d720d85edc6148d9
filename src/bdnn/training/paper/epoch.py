"""The problem of one epoch (the paper's problem 5): one activation pattern per cluster.

All batch samples of a cluster follow the same activations. A unit of the first layer is then a
half-space that cuts no cluster, and everything above it sees one input per cluster. With a radius
it cuts no ball around a sample either. Its network is judged on a bounded number of samples.
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
from bdnn.training.paper.clusters import joint_loss, numbered

# Samples that judge an epoch: more would make the time of an epoch grow with the data.
_MOST_INPUTS = 4000


@dataclass(frozen=True, eq=False)
class Candidate:
    """A network, and the one with a single hidden layer that it copies, if any.

    Both have the same outputs on every input, so that the cheaper one can be judged.
    """

    network: Network
    shallow: Network | None = None

    @property
    def cheaper(self) -> Network:
        """The one with fewer layers."""
        return self.network if self.shallow is None else self.shallow


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
        return cls(batch, numbered(cluster), robust)

    @property
    def n_clusters(self) -> int:
        """Clusters of which the batch has samples."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def mass(self) -> FloatArray:
        """Mass of every class in every cluster."""
        return joint_loss(self.problem.loss, self.groups).label_weight

    @property
    def majority_bound(self) -> float:
        """Loss of the best answer for every cluster: no network has less."""
        return float(joint_loss(self.problem.loss, self.groups).conflicts)

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
        return float(joint_loss(self.problem.loss, numbered(groups)).conflicts)

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

    def _hulls_meet(self, one: BoolArray, two: BoolArray) -> bool:
        X, positive = self.problem.inputs, one[one | two]
        X = X[one | two]
        inside = X[positive], X[~positive]
        if (inside[0].max(axis=0) < inside[1].min(axis=0)).any() or (
            inside[1].max(axis=0) < inside[0].min(axis=0)
        ).any():
            return False
        return hulls_meet(X, positive)


@dataclass(frozen=True)
class Judgement:
    """Errors and loss of a candidate; the smaller the key, the better it is.

    Where weights or margins have prices, these are part of the loss, and errors of the training
    samples are no measure of their own.
    """

    train_error: float
    validation_error: float | None
    loss: float
    has_prices: bool = False

    @property
    def key(self) -> tuple[float, float]:
        """Validation error, or training error without validation; then the loss."""
        first = self.validation_error
        if first is None:
            first = self.loss if self.has_prices else self.train_error
        return first, self.loss

    @property
    def pooled_key(self) -> tuple[float, float]:
        """Training and validation error together, which few samples distort less; then the loss."""
        if self.has_prices:
            return self.key
        return self.train_error + (self.validation_error or 0.0), self.loss


class Judge:
    """Measures candidates on samples of the training and the validation data.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    validation : Problem[OutputLoss] or None
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        problem: Problem[OutputLoss],
        validation: Problem[OutputLoss] | None,
        rng: np.random.Generator,
    ) -> None:
        self.rows = some_rows(problem, _MOST_INPUTS, rng)
        self.problem = part_of(problem, self.rows)
        self.validation = None
        if validation is not None:
            self.validation = part_of(validation, some_rows(validation, _MOST_INPUTS, rng))

    def judge(self, candidate: Candidate) -> Judgement:
        """Measure a candidate."""
        network = candidate.cheaper
        error = None if self.validation is None else self.validation.error(network)
        problem = self.problem
        return Judgement(
            problem.error(network), error, float(problem.objective(network)), problem.has_price
        )

    def losses(self, candidate: Candidate) -> FloatArray:
        """What every judging sample of the training data costs."""
        on = candidate.cheaper.outputs(self.problem.inputs)
        costs = np.where(on, self.problem.loss.cost_on, self.problem.loss.cost_off)
        return np.asarray(costs.sum(axis=1))


def some_rows(problem: Problem[OutputLoss], most: int, rng: np.random.Generator) -> IndexArray:
    """All inputs of a problem, or so many of them at random."""
    n = len(problem.inputs)
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def part_of(problem: Problem[OutputLoss], rows: IndexArray) -> Problem[OutputLoss]:
    """The problem of some inputs."""
    return problem if len(rows) == len(problem.inputs) else problem.subset(rows)
