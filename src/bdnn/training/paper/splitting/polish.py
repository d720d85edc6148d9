"""The last step of data splitting: train the best network further.

Where validation samples have chosen it and then count as well, by gradients with noise, which does
best on samples that no one has seen. Elsewhere, and where there are more samples than a polish
looks at, on the true loss and its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.descent import descend
from bdnn.search.embedding import embed
from bdnn.search.loading import wait_until_ready
from bdnn.search.margin import widen_margin
from bdnn.search.objective import default_margin
from bdnn.search.walk import search_within
from bdnn.training.choice import clearly_best
from bdnn.training.paper.splitting.judging import Candidate, part_of, some_rows
from bdnn.training.recipes import noisy_gradients
from bdnn.training.run import Run

# The polish sees at most this many inputs, so that it does not depend on the size of the data.
_MOST_INPUTS = 3000
_SWEEPS = 64
# Margins to try, as multiples of the default, for two classes and for more: with many classes a
# wide margin over each of the others leaves the annealing too little to gain.
_FACTORS = ((2.0, 1.0), (0.5, 1.0))
# Part of the time that is left for every recipe.
_SHARES = (0.5, 0.6, 1.0)


def polish(
    recorder: Run[OutputLoss],
    best: Candidate,
    *,
    seconds: float,
    rng: np.random.Generator,
    settle: Callable[[Network], Network | None],
) -> Iterator[Candidate]:
    """Yield networks with wider margins, at the price of some loss and at the same loss.

    A network that copies a shallow one is polished in its shallow form, which is all it computes.
    ``settle`` gives a network what else is asked of it, or says None. Under constraints it is
    searched on instead, because margins are widened by moves that know none.
    """
    if recorder.problem.terms:
        within = _searched_within(recorder, recorder.problem, best.network, seconds, rng)
        yield from (Candidate(network) for network in map(settle, within) if network is not None)
        return
    shape, begun = best.network.architecture, best.cheaper
    problem = _some_samples(recorder, begun, rng)
    wanted = default_margin(problem.architecture)
    recipes = [
        *((("margin",), factor * wanted) for factor in _FACTORS[begun.architecture.n_outputs > 2]),
        (("loss", "margin"), wanted),
    ]
    ends = recorder.seconds + seconds
    for (objectives, margin), share in zip(recipes, _SHARES, strict=True):
        left = share * (ends - recorder.seconds)
        if left <= 0.01 or recorder.interrupted:
            return
        start = begun
        if objectives[0] == "loss":
            start = _descended(recorder, problem, begun, seconds=left / 2, rng=rng)
            left = max(0.01, min(left, ends - recorder.seconds))
        wider = widen_margin(
            problem,
            start,
            slot=recorder.slot("polish", left, until_close=False),
            seed=int(rng.integers(2**31)),
            objectives=objectives,
            wanted_margin=margin,
        )
        found = settle(wider)
        if found is not None:
            yield _whole(found, shape)


def is_learnt(recorder: Run[OutputLoss]) -> bool:
    """Whether gradients are the better polish: on all samples, of which there are not too many.

    On credit-default, where they would see a tenth of the samples, wider margins do better.
    """
    problem = recorder.problem
    is_bound = bool(problem.terms)
    is_large = len(problem.inputs) > _MOST_INPUTS
    return recorder.training_part is not None and not is_bound and not is_large


def learnt(
    recorder: Run[OutputLoss], best: Candidate, *, seconds: float, rng: np.random.Generator
) -> Candidate | None:
    """Train the best network by gradients with noise, or say None where that is clearly worse.

    Where they were cut short, None unless they are better: the noise is felt before the gain.
    """
    if seconds <= 0:
        return None
    slot = recorder.slot("polish", seconds, until_close=False)
    begun = best.cheaper
    problem = _some_samples(recorder, begun, rng)
    # All units of a network that says the same for all inputs have the same gradients.
    is_constant = len(np.unique(begun.predict(problem.inputs))) == 1
    found = noisy_gradients(
        problem,
        rng=rng,
        slot=slot,
        start=None if is_constant else begun,
    )
    mistakes = np.array(
        [problem.loss.mistakes(network, problem.samples) for network in (found, begun)]
    )
    is_better = mistakes[0].sum() < mistakes[1].sum()
    is_cut = slot.remaining <= 0
    if recorder.interrupted or clearly_best(mistakes) == 1 or (is_cut and not is_better):
        return None
    return _whole(found, best.network.architecture)


def _some_samples(
    recorder: Run[OutputLoss], network: Network, rng: np.random.Generator
) -> Problem[OutputLoss]:
    """A bounded part of the problem, for networks of this shape."""
    part = part_of(recorder.problem, some_rows(recorder.problem, _MOST_INPUTS, rng))
    return Problem(network.architecture, part.samples, part.loss)


def _whole(network: Network, shape: Architecture) -> Candidate:
    """A candidate of the shape wanted, which copies the network if that is shallower."""
    if network.architecture == shape:
        return Candidate(network)
    return Candidate(embed(network, shape), network)


def _searched_within(
    recorder: Run[OutputLoss],
    problem: Problem[OutputLoss],
    network: Network,
    seconds: float,
    rng: np.random.Generator,
) -> list[Network]:
    """Better and better networks that keep the constraints, the best one first."""
    rows = np.union1d(some_rows(problem, _MOST_INPUTS, rng), problem.needed_lines)
    slot = recorder.slot("polish", seconds, until_close=False)
    found: list[Network] = []
    if wait_until_ready(slot):
        search_within(
            problem.subset(rows),
            network,
            rng=np.random.default_rng(int(rng.integers(2**31))),
            sweeps=_SWEEPS,
            slot=slot,
            on_network=found.append,
        )
    return found[::-1]


def _descended(
    recorder: Run[OutputLoss],
    problem: Problem[OutputLoss],
    network: Network,
    *,
    seconds: float,
    rng: np.random.Generator,
) -> Network:
    """Lower the loss by exact one-unit moves."""
    found = descend(
        problem,
        slot=recorder.slot("polish", seconds, until_close=False),
        seed=np.random.SeedSequence(int(rng.integers(2**63))),
        start=network,
        max_sweeps=_SWEEPS,
    )
    return found.network
