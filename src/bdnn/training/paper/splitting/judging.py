"""How good an epoch's network is, on a bounded number of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray

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
    if len(rows) == len(problem.inputs):
        return problem
    return problem.subset(rows)
