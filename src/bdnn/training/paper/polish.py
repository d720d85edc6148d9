"""Which network of the epochs is best, and the last step: train it further.

Networks are judged on a bounded number of samples. Where validation samples have chosen the best
one and then count as well, it is trained further by gradients with noise, which does best on
samples that no one has seen. Elsewhere, and where there are more samples than a polish looks at, it
is trained on the true loss and its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.search.descent import descend
from bdnn.search.embedding import embed
from bdnn.search.loading import wait_until_ready
from bdnn.search.margin import widen_margin
from bdnn.search.objective import default_margin
from bdnn.search.walk import search_within
from bdnn.training.paper.epoch import Candidate
from bdnn.training.phases.choice import clearly_best
from bdnn.training.phases.trials import noisy_gradients
from bdnn.training.run import Run

# Samples that judge an epoch: more would make the time of an epoch grow with the data.
_MOST_JUDGING = 4000
# The polish sees at most this many inputs, so that it does not depend on the size of the data.
_MOST_INPUTS = 3000
_SWEEPS = 64
# Margins to try, as multiples of the default, for two classes and for more: with many classes a
# wide margin over each of the others leaves the annealing too little to gain.
_FACTORS = ((2.0, 1.0), (0.5, 1.0))


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
    """Measures candidates on samples of the training and the validation data."""

    def __init__(
        self,
        problem: Problem[OutputLoss],
        validation: Problem[OutputLoss] | None,
        rng: np.random.Generator,
    ) -> None:
        self.rows = some_rows(problem, _MOST_JUDGING, rng)
        self.problem = part_of(problem, self.rows)
        self.validation = None
        if validation is not None:
            self.validation = part_of(validation, some_rows(validation, _MOST_JUDGING, rng))

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


def polish(
    run: Run[OutputLoss],
    best: Candidate,
    *,
    slot: Slot,
    rng: np.random.Generator,
    settle: Callable[[Network], Network | None],
) -> Iterator[Candidate]:
    """Yield networks with wider margins, at the price of some loss and at the same loss.

    A network that copies a shallow one is polished in its shallow form, which is all it computes.
    ``settle`` gives a network what else is asked of it, or says None. Under constraints it is
    searched on instead, because margins are widened by moves that know none.
    """
    if run.problem.terms:
        within = _searched_within(run.problem, best.network, slot, rng)
        yield from (Candidate(network) for network in map(settle, within) if network is not None)
        return
    begun = best.cheaper
    problem = _some_samples(run, begun, rng)
    wanted = default_margin(problem.architecture)
    recipes = [
        *((("margin",), factor * wanted) for factor in _FACTORS[begun.architecture.n_outputs > 2]),
        (("loss", "margin"), wanted),
    ]
    for (objectives, margin), share in zip(recipes, run.schedule.polish, strict=True):
        part = slot.part(share)
        if part.remaining <= 0.01 or part.is_over():
            return
        start = begun
        if objectives[0] == "loss":
            start = descend(
                problem,
                slot=part.part(0.5),
                seed=np.random.SeedSequence(int(rng.integers(2**63))),
                start=begun,
                max_sweeps=_SWEEPS,
            ).network
        wider = widen_margin(
            problem,
            start,
            slot=part,
            seed=int(rng.integers(2**31)),
            objectives=objectives,
            wanted_margin=margin,
        )
        found = settle(wider)
        if found is not None:
            yield _whole(found, best.network.architecture)


def is_learnt(run: Run[OutputLoss]) -> bool:
    """Whether gradients are the better polish: on all samples, of which there are not too many.

    On credit-default, where they would see a tenth of the samples, wider margins do better.
    """
    is_large = len(run.problem.inputs) > _MOST_INPUTS
    return run.training_part is not None and run.problem.is_free and not is_large


def learnt(
    run: Run[OutputLoss], best: Candidate, *, slot: Slot, rng: np.random.Generator
) -> Candidate | None:
    """Train the best network by gradients with noise, or say None where that is clearly worse.

    Where they were cut short, None unless they are better: the noise is felt before the gain.
    """
    if slot.is_over():
        return None
    begun = best.cheaper
    problem = _some_samples(run, begun, rng)
    # All units of a network that says the same for all inputs have the same gradients.
    is_constant = len(np.unique(begun.predict(problem.inputs))) == 1
    found = noisy_gradients(problem, rng=rng, slot=slot, start=None if is_constant else begun)
    mistakes = np.array(
        [problem.loss.mistakes(network, problem.samples) for network in (found, begun)]
    )
    is_better = mistakes[0].sum() < mistakes[1].sum()
    is_cut = slot.remaining <= 0
    if run.interrupted or clearly_best(mistakes) == 1 or (is_cut and not is_better):
        return None
    return _whole(found, best.network.architecture)


def _some_samples(
    run: Run[OutputLoss], network: Network, rng: np.random.Generator
) -> Problem[OutputLoss]:
    """A bounded part of the problem, for networks of this shape."""
    part = part_of(run.problem, some_rows(run.problem, _MOST_INPUTS, rng))
    return Problem(network.architecture, part.samples, part.loss)


def _whole(network: Network, shape: Architecture) -> Candidate:
    """A candidate of the shape wanted, which copies the network if that is shallower."""
    if network.architecture == shape:
        return Candidate(network)
    return Candidate(embed(network, shape), network)


def _searched_within(
    problem: Problem[OutputLoss], network: Network, slot: Slot, rng: np.random.Generator
) -> list[Network]:
    """Better and better networks that keep the constraints, the best one first."""
    rows = np.union1d(some_rows(problem, _MOST_INPUTS, rng), problem.needed_lines)
    found: list[Network] = []
    if wait_until_ready(slot, problem.architecture, objectives=("loss",)):
        search_within(
            problem.subset(rows),
            network,
            rng=np.random.default_rng(int(rng.integers(2**31))),
            sweeps=_SWEEPS,
            slot=slot,
            on_network=found.append,
        )
    return found[::-1]
